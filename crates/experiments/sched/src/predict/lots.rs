//! Draws the outcomes that the kernel leaves to chance.

/// Probability that a CPU that becomes idle looks for threads to take. The kernel derives it from how often that
/// succeeded before (NI_RANDOM in kernel/sched/features.h); in guests with Linux 6.12 and two CPUs it is 8 to 15 %.
/// Kernels without that feature always look.
const LOOKS: f64 = 0.125;
/// Observed share of ticks at which the kernel's threads for timers and RCU, with SCHED_FIFO priority 1, run on
/// PREEMPT_RT.
const KTHREADS: f64 = 0.5;

/// Share of wakeups without an idle CPU in which the thread does not go to the CPU that the simulated loads suggest.
/// The kernel's averages also contain the load of its own threads and the earlier load of the experiment's threads.
const MISJUDGES: f64 = 0.1;

/// The splitmix64 pseudo-random number generator.
#[derive(Clone, Debug)]
pub(super) struct Lots {
    state: u64,
    looks: f64,
}

impl Lots {
    /// Creates a generator. The seeds 0 and 1 yield the extremes: a CPU that becomes idle never looks for threads, or
    /// always does.
    pub fn new(seed: u64) -> Lots {
        let looks = match seed {
            0 => 0.0,
            1 => 1.0,
            _ => LOOKS,
        };
        Lots { state: seed, looks }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn is(&mut self, share: f64) -> bool {
        (self.next() as f64) < share * u64::MAX as f64
    }

    /// Draws whether a CPU that becomes idle looks for waiting threads.
    pub fn looks(&mut self) -> bool {
        self.is(self.looks)
    }

    /// Draws whether the kernel compares the loads of two CPUs differently from the simulation.
    pub fn misjudges(&mut self) -> bool {
        self.is(MISJUDGES)
    }

    /// Draws whether the kernel's own real-time threads run at a tick.
    pub fn kthreads(&mut self) -> bool {
        self.is(KTHREADS)
    }
}
