//! Sets of alarms at times relative to one epoch; a late alarm does not delay the others.

use crate::{monotonic, sleep_until};
use punctual_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Up to `N` alarms, each with a time after a common epoch and an action. Neither setting nor running them allocates.
///
/// Each alarm is a [`crate::sleep_until`] with an absolute time (a hard timer on PREEMPT_RT for a real-time thread): if
/// one is late, the next still runs on time. An example of use is sending the bits of a radio message.
///
/// ```
/// use punctual_rt::{AlarmSet, monotonic};
/// use punctual_units::Nanos;
/// let mut pulse = AlarmSet::<bool, 4>::new();
/// pulse.at(Nanos::ZERO, true)?;
/// pulse.at(Nanos::from_micros(360), false)?;
/// let mut levels = Vec::with_capacity(2);
/// pulse.run(monotonic(), &Default::default(), |level, _| levels.push(*level));
/// assert_eq!(levels, [true, false]);
/// # Ok::<(), punctual_rt::AlarmsFull>(())
/// ```
#[derive(Clone, Debug)]
pub struct AlarmSet<A, const N: usize> {
    alarms: [Option<(Nanos, A)>; N],
    count: usize,
}

/// The set is full; contains its capacity.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the alarm set is full: its capacity is {0}")]
pub struct AlarmsFull(usize);

/// An alarm that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rung {
    /// Time at which the alarm was due, CLOCK_MONOTONIC.
    pub due: Nanos,
    /// Time at which the thread woke for the alarm, CLOCK_MONOTONIC.
    pub woke: Nanos,
}

impl Rung {
    /// Returns the lateness of the thread's wakeup.
    pub fn lateness(&self) -> Nanos {
        self.woke.saturating_sub(self.due)
    }
}

impl<A, const N: usize> Default for AlarmSet<A, N> {
    fn default() -> Self {
        AlarmSet::new()
    }
}

impl<A, const N: usize> AlarmSet<A, N> {
    /// Creates an empty set.
    pub const fn new() -> AlarmSet<A, N> {
        AlarmSet { alarms: [const { None }; N], count: 0 }
    }

    /// Adds an alarm at `after` past the epoch. Alarms with the same time run in the order in which they were added.
    ///
    /// # Errors
    /// [`AlarmsFull`] if the set has `N` alarms.
    pub fn at(&mut self, after: Nanos, action: A) -> Result<(), AlarmsFull> {
        if self.count == N {
            return Err(AlarmsFull(N));
        }
        let earlier = |alarm: &Option<(Nanos, A)>| alarm.as_ref().is_some_and(|(at, _)| *at <= after);
        let place = self.alarms[..self.count].partition_point(earlier);
        self.alarms[self.count] = Some((after, action));
        self.alarms[place..=self.count].rotate_right(1);
        self.count += 1;
        Ok(())
    }

    /// Returns the number of alarms.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there is no alarm.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Removes all alarms.
    pub fn clear(&mut self) {
        self.alarms = [const { None }; N];
        self.count = 0;
    }

    /// Runs all alarms in the calling thread, which should be real-time. Sleeps until each alarm is due, with one
    /// system call per alarm; alarms that are already due run at once. Ends early if `stop` is set, which is checked
    /// when a signal interrupts the sleep. Returns the number of alarms that ran.
    pub fn run(&self, epoch: Nanos, stop: &AtomicBool, mut carry_out: impl FnMut(&A, Rung)) -> usize {
        for (done, (after, action)) in self.alarms[..self.count].iter().flatten().enumerate() {
            let due = epoch + *after;
            while sleep_until(due).is_err() {
                if stop.load(Relaxed) {
                    return done;
                }
            }
            if stop.load(Relaxed) {
                return done;
            }
            carry_out(action, Rung { due, woke: monotonic() });
        }
        self.count
    }
}

punctual_units::debug_as_display!(AlarmsFull);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_full_set_says_so() {
        let mut set = AlarmSet::<u8, 1>::new();
        set.at(Nanos(5), 1).unwrap();
        assert_eq!(set.at(Nanos(6), 2), Err(AlarmsFull(1)));
        set.clear();
        assert!(set.is_empty() && set.at(Nanos(6), 2).is_ok());
    }

    #[test]
    fn a_set_stop_ends_it() {
        let mut set = AlarmSet::<u8, 2>::new();
        set.at(Nanos::from_secs(3_600), 1).unwrap();
        set.at(Nanos::ZERO, 0).unwrap();
        let stop = AtomicBool::new(false);
        let mut rung = Vec::new();
        let far = std::thread::scope(|scope| {
            let (send, receive) = std::sync::mpsc::channel();
            let (set, stop, rung) = (&set, &stop, &mut rung);
            punctual_uapi::install_wakeup().unwrap();
            let thread = scope.spawn(move || {
                send.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
                set.run(monotonic(), stop, |n, _| rung.push(*n))
            });
            let tid = receive.recv().unwrap();
            stop.store(true, Relaxed);
            while !thread.is_finished() {
                let _ = punctual_uapi::wake(tid);
                std::thread::yield_now();
            }
            thread.join().unwrap()
        });
        assert_eq!(far, rung.len());
        assert!(far <= 1);
    }

    proptest! {
        #[test]
        fn they_come_in_the_order_of_their_times(times in proptest::collection::vec(0u64..50, 0..32)) {
            let mut set = AlarmSet::<usize, 32>::new();
            for (n, time) in times.iter().enumerate() {
                set.at(Nanos(*time), n).unwrap();
            }
            let mut expected: Vec<usize> = (0..times.len()).collect();
            expected.sort_by_key(|n| times[*n]);
            let (mut got, epoch) = (Vec::new(), monotonic());
            let carried = set.run(epoch, &AtomicBool::new(false), |n, rung| {
                assert!(rung.woke >= rung.due && rung.due == epoch + Nanos(times[*n]));
                got.push(*n);
            });
            prop_assert_eq!(carried, times.len());
            prop_assert_eq!(got, expected);
        }
    }
}
