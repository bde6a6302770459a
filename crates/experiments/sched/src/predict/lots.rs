//! What the kernel leaves to chance.

/// Share of the times that a CPU that becomes idle looks for threads to take. The kernel draws it by how often that
/// succeeded before (NI_RANDOM in kernel/sched/features.h); in guests with Linux 6.12 and two CPUs it is 8 to 15 %. Kernels
/// without that feature always look.
const LOOKS: f64 = 0.125;
/// Share of ticks at which the kernel's threads of SCHED_FIFO 1 for timers and RCU run on PREEMPT_RT, as seen there.
const KTHREADS: f64 = 0.5;

/// Share of wakeups with no CPU idle that go to the other CPU than the loads known to the simulation would have it. The
/// kernel's averages also contain what its own threads and the past of the experiment's threads left.
const MISJUDGES: f64 = 0.1;

/// The generator splitmix64.
#[derive(Clone, Debug)]
pub(super) struct Lots {
    state: u64,
    looks: f64,
}

impl Lots {
    /// The outcomes 0 and 1 are the extremes: a CPU that becomes idle never looks for threads, or always.
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

    /// A number below `end`, 0 if that is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn is(&mut self, share: f64) -> bool {
        (self.next() as f64) < share * u64::MAX as f64
    }

    /// A CPU that becomes idle looks for waiting threads.
    pub fn looks(&mut self) -> bool {
        self.is(self.looks)
    }

    /// The loads of two CPUs compare otherwise than known.
    pub fn misjudges(&mut self) -> bool {
        self.is(MISJUDGES)
    }

    /// The kernel's own real-time threads run at a tick.
    pub fn kthreads(&mut self) -> bool {
        self.is(KTHREADS)
    }
}
