//! Largest latency of each CPU in blocks of a few minutes, computed from the one-second windows of the context thread.

use punctual_model::{BlockMaximum, WindowMax};
use punctual_units::{CpuId, Nanos};

/// Combines windows into blocks. Only one block per CPU is kept in memory.
#[derive(Debug)]
pub struct Blocks {
    length: Nanos,
    running: Vec<BlockMaximum>,
}

impl Blocks {
    /// Creates an empty set. Each block lasts at least `length`.
    pub fn new(length: Nanos) -> Blocks {
        Blocks { length, running: Vec::new() }
    }

    /// Adds a window. Returns the blocks that are then complete.
    pub fn add(&mut self, window: &WindowMax) -> Vec<BlockMaximum> {
        let from_mono_ns = window.mono_ns.saturating_sub(window.interval_ns);
        for (cpu, max) in &window.max_ns {
            // 0 means that the window contains no wakeup.
            let seen = Some(*max).filter(|max| *max > 0);
            match self.of(&window.phase, *cpu) {
                Some(block) => {
                    block.to_mono_ns = window.mono_ns;
                    block.max_ns = block.max_ns.max(seen);
                }
                None => self.running.push(BlockMaximum {
                    phase: window.phase.clone(),
                    cpu: *cpu,
                    from_mono_ns,
                    to_mono_ns: window.mono_ns,
                    max_ns: seen,
                }),
            }
        }
        let length = self.length;
        self.running.extract_if(.., |block| block.is_whole(length)).collect()
    }

    /// Returns the incomplete blocks, one per CPU.
    pub fn running(&self) -> &[BlockMaximum] {
        &self.running
    }

    /// Ends the incomplete blocks and returns them, at the end of a phase or of one of its rounds.
    pub fn end(&mut self) -> Vec<BlockMaximum> {
        std::mem::take(&mut self.running)
    }

    fn of(&mut self, phase: &str, cpu: CpuId) -> Option<&mut BlockMaximum> {
        self.running.iter_mut().find(|block| block.cpu == cpu && block.phase == phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;

    fn window(n: u64, max_ns: &[u64]) -> WindowMax {
        WindowMax {
            mono_ns: (n + 1) * SECOND,
            interval_ns: SECOND,
            phase: "1-idle".into(),
            max_ns: (0..).map(CpuId).zip(max_ns.iter().copied()).collect(),
        }
    }

    #[test]
    fn a_cpu_that_never_woke_has_no_maximum() {
        let mut blocks = Blocks::new(Nanos::from_secs(2));
        assert!(blocks.add(&window(0, &[5, 0])).is_empty());
        let done = blocks.add(&window(1, &[3, 0]));
        assert_eq!(done.iter().map(|b| b.max_ns).collect::<Vec<_>>(), [Some(5), None]);
        assert!(blocks.end().is_empty());
    }

    proptest! {
        #[test]
        fn blocks_cover_all(maxima in proptest::collection::vec(1u64..1_000_000, 1..200), length in 1u64..20) {
            let mut blocks = Blocks::new(Nanos::from_secs(length));
            let mut all = Vec::new();
            for (n, max) in (0..).zip(&maxima) {
                all.extend(blocks.add(&window(n, &[*max])));
            }
            prop_assert!(all.iter().all(|b| b.is_whole(Nanos::from_secs(length))));
            all.extend(blocks.end());
            let expected: Vec<_> = maxima.chunks(length as usize).map(|c| c.iter().copied().max()).collect();
            prop_assert_eq!(all.iter().map(|b| b.max_ns).collect::<Vec<_>>(), expected);
            prop_assert!(all.windows(2).all(|pair| pair[0].to_mono_ns == pair[1].from_mono_ns));
            prop_assert_eq!((all[0].from_mono_ns, all[all.len() - 1].to_mono_ns), (0, maxima.len() as u64 * SECOND));
        }
    }
}
