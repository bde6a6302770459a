//! Measures the time to leave idle states: compares the same sleeps with all idle states allowed, and with those that
//! have an exit latency disabled.

use punctual_rt::{Attributes, Refused, monotonic, sleep_until};
use punctual_units::{CpuId, Nanos, Scheduling};
use std::fs::File;
use std::io::{self, Write};

/// Median latency of a wakeup on an idle CPU, with and without idle states that have an exit latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleExit {
    /// Median latency with all idle states allowed.
    pub free: Nanos,
    /// Median latency while /dev/cpu_dma_latency is held at 0.
    pub held: Nanos,
}

impl IdleExit {
    /// Returns the latency that idle states add.
    pub fn cost(&self) -> Nanos {
        Nanos(self.free.0.saturating_sub(self.held.0))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum IdleError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("cannot hold /dev/cpu_dma_latency: {0}")]
    Request(#[from] io::Error),
    #[error("cannot create a thread: {0}; see `ulimit -u` and pids.max of the cgroup")]
    Thread(io::Error),
}

/// Number of sleeps per block. Blocks with and without the latency request alternate; the whole measurement takes 0.8
/// s.
const SLEEPS: usize = 50;
const BLOCKS: usize = 4;
/// Duration of a sleep, long enough for the governor to choose the deepest state, whose target residency is below 2 ms
/// on all machines except tablets.
const PAUSE: Nanos = Nanos::from_millis(4);

/// Measures on one CPU in a separate thread. The latency request ends with the measurement, even after kill -9.
///
/// # Errors
/// The policy, the CPU or the latency request is refused.
pub fn idle_exit(cpu: CpuId, scheduling: Scheduling) -> Result<IdleExit, IdleError> {
    let builder = std::thread::Builder::new().name("idle".into());
    let thread = builder.spawn(move || {
        Attributes { scheduling, cpu: Some(cpu), lock_stack: false }.apply()?;
        let (mut free, mut held) = (Vec::new(), Vec::new());
        for block in 0..BLOCKS {
            let request = if block % 2 == 1 { Some(hold()?) } else { None };
            let into = if request.is_some() { &mut held } else { &mut free };
            into.extend((0..SLEEPS).map(|_| lateness()));
            drop(request);
        }
        Ok(IdleExit { free: median(&mut free), held: median(&mut held) })
    });
    let thread = thread.map_err(IdleError::Thread)?;
    thread.join().unwrap_or_else(|_| Err(io::Error::other("the measuring thread ended").into()))
}

fn hold() -> io::Result<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency")?;
    file.write_all(&0_i32.to_ne_bytes())?;
    Ok(file)
}

fn lateness() -> Nanos {
    let at = monotonic() + PAUSE;
    while sleep_until(at).is_err() {}
    monotonic() - at
}

fn median(all: &mut [Nanos]) -> Nanos {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_is_the_difference_and_never_negative() {
        let exit = |free, held| IdleExit { free: Nanos(free), held: Nanos(held) };
        assert_eq!((exit(50, 8).cost(), exit(8, 50).cost()), (Nanos(42), Nanos(0)));
        assert_eq!(median(&mut [Nanos(5), Nanos(1), Nanos(3)]), Nanos(3));
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused() {
        let error = idle_exit(CpuId(8000), punctual_rt::granted_nice(Scheduling::Other { nice: 0 })).unwrap_err();
        assert!(matches!(error, IdleError::Refused(_)), "{error}");
    }
}
