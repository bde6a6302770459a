//! Threads that had a CPU before and after missing lines.

use punctual_trace::{Event, Kind, Task};
use std::collections::BTreeMap;

/// For each CPU, the last switch before missing lines, as long as all later lines of that CPU are of the thread that got it.
#[derive(Debug, Default)]
pub(super) struct Held(BTreeMap<u32, (u64, Task)>);

impl Held {
    /// Handles missing lines, with the last switch of each CPU before them.
    pub fn missing(&mut self, event: &Event, switches: impl Iterator<Item = (u32, (u64, Task))>) {
        if event.kind == Kind::Restart {
            self.0.clear();
            return;
        }
        self.0.extend(switches);
    }

    pub fn seen(&mut self, event: &Event) {
        if event.tid.is_some() && self.0.get(&event.cpu).is_some_and(|(_, task)| Some(task.tid) != event.tid) {
            self.0.remove(&event.cpu);
        }
    }

    /// Handles a switch; returns how long before the thread that leaves the CPU had got it, ns.
    pub fn left(&mut self, cpu: u32, t: u64) -> Option<u64> {
        self.0.remove(&cpu).map(|(at, _)| t.saturating_sub(at))
    }
}
