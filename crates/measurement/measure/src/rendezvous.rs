//! A barrier that can be cancelled. With a barrier of the standard library, threads would wait forever for a thread
//! that could not be created.

use std::sync::{Condvar, Mutex, PoisonError};

/// A reusable barrier for a fixed number of threads.
pub(crate) struct Rendezvous {
    parties: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    arrived: usize,
    round: u64,
    called_off: bool,
}

impl Rendezvous {
    pub fn new(parties: usize) -> Rendezvous {
        Rendezvous { parties, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Waits until all threads have arrived. Returns false if the rendezvous was cancelled.
    pub fn meet(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.round;
        state.arrived += 1;
        if state.arrived == self.parties {
            state.arrived = 0;
            state.round += 1;
            self.changed.notify_all();
        }
        while state.round == round && !state.called_off {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.round != round
    }

    /// Releases all threads that wait now or later.
    pub fn cancel(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).called_off = true;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn all_meet_or_nobody_waits() {
        let place = Arc::new(Rendezvous::new(3));
        let go = |place: &Arc<Rendezvous>| {
            let place = Arc::clone(place);
            std::thread::spawn(move || [place.meet(), place.meet()])
        };
        let (a, b) = (go(&place), go(&place));
        assert!(place.meet());
        place.cancel();
        assert_eq!(a.join().unwrap(), [true, false]);
        assert_eq!(b.join().unwrap(), [true, false]);
    }
}
