//! Takes larger copies of stacks where the small copies were too short.

use super::Session;
use crate::sources::{DEEP, DEEP_STACK};
use punctual_perf::{Buffer, Spec, Target};

/// Time in ns for which larger copies of stacks are taken at first; it doubles each time.
const BURST: u64 = 50_000_000;
const BURSTS: u32 = 6;

impl Session {
    /// Takes larger copies of stacks for a while, if any place needs them.
    pub(super) fn deepen(&mut self, now: u64) {
        let wanted = self.recorder.wants_deep();
        match self.deep.take() {
            Some((handles, until)) if now < until && !wanted.is_empty() => self.deep = Some((handles, until)),
            Some((handles, _)) => handles.into_iter().for_each(|handle| self.observer.close(handle)),
            None if wanted.is_empty() => {}
            None if self.bursts >= BURSTS => self.recorder.give_up_deep(),
            None => {
                let threads = self.recorder.real_time_tids();
                if threads.is_empty() {
                    return;
                }
                let mut handles = Vec::new();
                for tag in wanted {
                    let spec =
                        self.specs.iter().find(|spec| spec.tag == tag).copied().or_else(|| self.probes.spec(tag));
                    let Some(spec) = spec else { continue };
                    let spec = Spec { stack: DEEP_STACK, tag: tag | DEEP, ..spec };
                    // If this fails, the short stack is reported, marked as truncated.
                    handles.extend(self.observer.open(&spec, Target::Only(&threads), Buffer::Spare, true));
                }
                self.deep = Some((handles, now + (BURST << self.bursts)));
                self.bursts += 1;
            }
        }
    }
}
