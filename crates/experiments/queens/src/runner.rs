use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;

use crate::board::Unit;
use crate::error::Error;
use crate::kernel::{Join, Kernel};
use crate::worker::Worker;

/// Counts units on several threads. A thread that has finished a unit takes the next one.
#[derive(Clone, Copy, Debug)]
pub struct Runner {
    threads: NonZeroUsize,
    join: Join,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    pub total: u64,
    pub finished: usize,
    /// True if all units are complete. If false, `total` is not the count of the board.
    pub complete: bool,
}

impl Runner {
    /// Creates a runner. Its threads inherit the policy and affinity of the calling thread.
    ///
    /// # Errors
    /// [`Error::Kernel`] if the CPU lacks the kernel's instructions.
    pub fn new(threads: NonZeroUsize, kernel: Kernel) -> Result<Self, Error> {
        Ok(Self { threads, join: kernel.select()? })
    }

    /// Counts `units` until all are complete or `stop` is true. `finished` is called in the calling thread with each
    /// completed unit and its count, in any order. Completed units need not be counted again; a unit that was stopped
    /// has no count.
    ///
    /// # Errors
    /// [`Error::Thread`] if a thread cannot be started. By then, `finished` has been called for every complete unit.
    pub fn run(
        &self,
        units: &[Unit],
        stop: &AtomicBool,
        mut finished: impl FnMut(&Unit, u64),
    ) -> Result<Outcome, Error> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let (sender, counts) = channel();
        let mut outcome = Outcome { total: 0, finished: 0, complete: false };
        let started = thread::scope(|scope| {
            let started = (0..self.threads.get()).try_for_each(|index| {
                let (sender, next, failed) = (sender.clone(), &next, &failed);
                let work = move || self.work(units, next, [stop, failed], &sender);
                let spawned = thread::Builder::new().name(format!("queens-{index}")).spawn_scoped(scope, work);
                spawned.map(drop).map_err(|error| Error::Thread { index, reason: error.to_string() })
            });
            failed.store(started.is_err(), Ordering::Relaxed);
            drop(sender);
            for (index, count) in counts {
                finished(&units[index], count);
                outcome.total += count;
                outcome.finished += 1;
            }
            started
        });
        started?;
        outcome.complete = outcome.finished == units.len();
        Ok(outcome)
    }

    fn work(&self, units: &[Unit], next: &AtomicUsize, stops: [&AtomicBool; 2], sender: &Sender<(usize, u64)>) {
        let mut worker = Worker::with(self.join);
        let [stop, failed] = stops;
        while !stop.load(Ordering::Relaxed) && !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(unit) = units.get(index) else { return };
            let Some(count) = worker.count_until(unit, stop) else { return };
            if sender.send((index, count)).is_err() {
                return;
            }
        }
    }
}
