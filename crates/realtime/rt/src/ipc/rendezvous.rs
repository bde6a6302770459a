//! Synchronous messages: send, receive, reply. The sender sleeps until the answer arrives, and lends its priority
//! meanwhile.

use crate::sync::Bell;
use punctual_uapi::{LockError, Mutex, PiFutex, ThreadId};
use punctual_units::Nanos;
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Why a message was not answered.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No thread serves the rendezvous.
    #[error("nobody serves this rendezvous: call serve() in the thread that is to answer, before the first send")]
    NobodyServes,
    /// All places are taken by waiting senders.
    #[error("all places of the rendezvous are taken: make it with as many as there are senders")]
    Full,
    /// No answer in time. The receiver may have received the message.
    #[error("no answer came before the timeout (ETIMEDOUT)")]
    TimedOut,
    /// The receiver dropped the request without an answer, stopped serving, or its thread ended.
    #[error("the receiver let the message go without an answer, or ended")]
    Unanswered,
    /// The calling thread serves this rendezvous itself, or its receiver waits for the caller (`EDEADLK`).
    #[error("the answer would never come: the receiver is the calling thread, or waits for it (EDEADLK)")]
    Deadlock,
    /// Another error of a lock.
    #[error("the rendezvous cannot be entered: {0}")]
    Lock(LockError),
}

impl From<LockError> for SendError {
    fn from(error: LockError) -> SendError {
        match error {
            LockError::Deadlock => SendError::Deadlock,
            LockError::TimedOut => SendError::TimedOut,
            LockError::OwnerDied => SendError::Unanswered,
            other => SendError::Lock(other),
        }
    }
}

/// Why a thread cannot serve.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// Another thread already serves the rendezvous.
    #[error("another thread serves this rendezvous already: one rendezvous has one receiver")]
    Taken,
    /// The rendezvous's lock could not be taken, or the time limit passed.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// A meeting point for messages `M` that are answered with `R`. Share it by reference, `Arc` or `static`.
///
/// From the moment a message waits until it is answered, the receiving thread runs at least at its sender's priority,
/// whatever it is doing: each sender sleeps on a futex with priority inheritance that the receiver owns, and the answer
/// unlocks it. So messages can be received in order of arrival, not of priority, without waiting behind threads of
/// intermediate priority.
///
/// ```
/// use punctual_rt::Rendezvous;
/// let squares = Rendezvous::<u32, u32>::new(4);
/// std::thread::scope(|s| {
///     let server = squares.serve().unwrap();
///     s.spawn(|| assert_eq!(squares.send(7), Ok(49)));
///     let (message, request) = server.receive().unwrap();
///     request.reply(message * message);
/// });
/// ```
#[derive(Debug)]
pub struct Rendezvous<M, R> {
    state: Mutex<State<M, R>>,
    /// One per place: free, or owned by the receiver from the arrival of the message until the answer.
    gates: Vec<PiFutex>,
    bell: Bell,
}

#[derive(Debug)]
struct State<M, R> {
    server: Option<ThreadId>,
    places: Vec<Place<M, R>>,
    /// Places with a message not yet received, oldest first.
    waiting: VecDeque<usize>,
}

#[derive(Debug)]
enum Place<M, R> {
    Free,
    Waiting(M),
    Received,
    /// The message was received, but its sender has given up.
    Abandoned,
    Answered(Option<R>),
}

impl<M, R> Rendezvous<M, R> {
    /// A rendezvous for `places` concurrent senders. Only this call allocates.
    pub fn new(places: usize) -> Rendezvous<M, R> {
        let state = State {
            server: None,
            places: (0..places).map(|_| Place::Free).collect(),
            waiting: VecDeque::with_capacity(places),
        };
        let gates = (0..places).map(|_| PiFutex::new()).collect();
        Rendezvous { state: Mutex::new(state), gates, bell: Bell::default() }
    }

    /// Makes the calling thread the receiver, until the [`Server`] is dropped.
    ///
    /// # Errors
    /// [`ServeError`].
    pub fn serve(&self) -> Result<Server<'_, M, R>, ServeError> {
        let mut state = self.state.lock()?;
        if state.server.is_some() {
            return Err(ServeError::Taken);
        }
        state.server = Some(ThreadId::current());
        Ok(Server { rendezvous: self, stays: PhantomData })
    }

    /// Sends `message` and sleeps until the answer.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(&self, message: M) -> Result<R, SendError> {
        self.exchange(message, None)
    }

    /// Like [`Rendezvous::send`], but waits at most until `until` on CLOCK_MONOTONIC. A message not yet received by
    /// then is withdrawn.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send_until(&self, message: M, until: Nanos) -> Result<R, SendError> {
        self.exchange(message, Some(until))
    }

    fn exchange(&self, message: M, until: Option<Nanos>) -> Result<R, SendError> {
        let place = self.leave(message)?;
        self.bell.ring(false);
        match self.gates[place].lock(until) {
            Ok(_) => self.answer(place),
            Err(error) => {
                self.give_up(place)?;
                Err(error.into())
            }
        }
    }

    /// Puts the message into a free place, and makes the receiver the owner of its gate.
    fn leave(&self, message: M) -> Result<usize, SendError> {
        let mut state = self.state.lock()?;
        let server = state.server.ok_or(SendError::NobodyServes)?;
        let is_free = |place: &Place<M, R>| matches!(place, Place::Free);
        let place = state.places.iter().position(is_free).ok_or(SendError::Full)?;
        if !self.gates[place].assign(server) {
            return Err(SendError::Full);
        }
        state.places[place] = Place::Waiting(message);
        state.waiting.push_back(place);
        Ok(place)
    }

    /// Takes the answer at a place. The caller owns the gate: the receiver has unlocked it, or its thread has ended.
    fn answer(&self, place: usize) -> Result<R, SendError> {
        let state = self.state.lock();
        let unlocked = self.gates[place].unlock();
        let mut state = state?;
        unlocked?;
        state.waiting.retain(|waiting| *waiting != place);
        match std::mem::replace(&mut state.places[place], Place::Free) {
            Place::Answered(Some(answer)) => Ok(answer),
            _ => Err(SendError::Unanswered),
        }
    }

    /// Withdraws a message whose wait failed or timed out, so that the caller never got the gate.
    fn give_up(&self, place: usize) -> Result<(), SendError> {
        let mut state = self.state.lock()?;
        if matches!(state.places[place], Place::Received) {
            // The receiver frees place and gate when it answers.
            state.places[place] = Place::Abandoned;
            return Ok(());
        }
        // Only the caller has ever waited at this gate, and the receiver unlocks it only under this lock.
        self.gates[place].reset();
        state.waiting.retain(|waiting| *waiting != place);
        let message = std::mem::replace(&mut state.places[place], Place::Free);
        drop(state);
        drop(message);
        Ok(())
    }
}

/// The receiving side of a [`Rendezvous`]. It stays in the thread that created it (not `Send`), since that thread
/// inherits the priorities. Dropping it leaves all messages unanswered and allows another receiver.
#[derive(Debug)]
pub struct Server<'r, M, R> {
    rendezvous: &'r Rendezvous<M, R>,
    stays: PhantomData<*const ()>,
}

impl<M, R> Server<'_, M, R> {
    /// Takes the oldest message, if one is waiting. Waits at most for the copy of another message.
    ///
    /// # Errors
    /// [`LockError`]: the rendezvous's lock could not be taken.
    pub fn try_receive(&self) -> Result<Option<Received<'_, M, R>>, LockError> {
        let mut state = self.rendezvous.state.lock()?;
        let Some(place) = state.waiting.pop_front() else { return Ok(None) };
        match std::mem::replace(&mut state.places[place], Place::Received) {
            Place::Waiting(message) => Ok(Some((message, Request { server: self, place, answer: None }))),
            other => {
                state.places[place] = other;
                Ok(None)
            }
        }
    }

    /// Takes the oldest message; sleeps until there is one.
    ///
    /// # Errors
    /// [`LockError`]: the rendezvous's lock could not be taken.
    pub fn receive(&self) -> Result<Received<'_, M, R>, LockError> {
        self.sleep(None)
    }

    /// Like [`Server::receive`], but waits at most until `until` on CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`LockError::TimedOut`]; any other: the rendezvous's lock could not be taken.
    pub fn receive_until(&self, until: Nanos) -> Result<Received<'_, M, R>, LockError> {
        self.sleep(Some(until))
    }

    fn sleep(&self, until: Option<Nanos>) -> Result<Received<'_, M, R>, LockError> {
        loop {
            let heard = self.rendezvous.bell.heard();
            if let Some(received) = self.try_receive()? {
                return Ok(received);
            }
            if self.rendezvous.bell.wait(heard, until).is_err() {
                return self.try_receive()?.ok_or(LockError::TimedOut);
            }
        }
    }

    /// Stores the answer and unlocks the gate, which wakes the sender and ends the priority inheritance.
    fn finish(&self, place: usize, answer: Option<R>) {
        let Ok(mut state) = self.rendezvous.state.lock() else { return };
        let is_abandoned = matches!(state.places[place], Place::Abandoned);
        state.places[place] = Place::Answered(answer);
        if is_abandoned {
            self.rendezvous.gates[place].reset();
            let unwanted = std::mem::replace(&mut state.places[place], Place::Free);
            drop(state);
            drop(unwanted);
        } else {
            // Owned since the message arrived. Unlocked under the state lock, so that a sender that gives up sees
            // either state.
            let _ = self.rendezvous.gates[place].unlock();
        }
    }
}

impl<M, R> Drop for Server<'_, M, R> {
    fn drop(&mut self) {
        let Ok(mut state) = self.rendezvous.state.lock() else { return };
        state.server = None;
        while let Some(place) = state.waiting.pop_front() {
            state.places[place] = Place::Answered(None);
            let _ = self.rendezvous.gates[place].unlock();
        }
    }
}

/// A message, and the request that must be answered.
pub type Received<'s, M, R> = (M, Request<'s, M, R>);

/// A received message that awaits an answer. If it is dropped without one, its sender gets [`SendError::Unanswered`].
#[must_use = "the sender gets no answer"]
#[derive(Debug)]
pub struct Request<'s, M, R> {
    server: &'s Server<'s, M, R>,
    place: usize,
    answer: Option<R>,
}

impl<M, R> Request<'_, M, R> {
    /// Answers and wakes the sender, without waiting for it.
    pub fn reply(mut self, answer: R) {
        self.answer = Some(answer);
    }
}

impl<M, R> Drop for Request<'_, M, R> {
    fn drop(&mut self) {
        self.server.finish(self.place, self.answer.take());
    }
}

punctual_units::debug_as_display!(SendError, ServeError);
