//! Synchronous messages: send, receive, reply. The sender sleeps until the answer arrives, and lends its priority to
//! the receiver until then.

use crate::sync::Bell;
use punctual_uapi::{LockError, Mutex, PiFutex, ThreadId};
use punctual_units::Nanos;
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Why a message was not answered.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No thread serves the rendezvous.
    #[error("no thread serves this rendezvous: call serve() in the answering thread before the first send")]
    NobodyServes,
    /// All places are taken by senders that wait for an answer.
    #[error("all places of the rendezvous are taken: create it with as many places as there are senders")]
    Full,
    /// No answer arrived in time. The receiver may have received the message.
    #[error("no answer came before the timeout (ETIMEDOUT)")]
    TimedOut,
    /// The receiver dropped the request without an answer, stopped serving, or its thread ended.
    #[error("the receiver dropped the message without an answer, or ended")]
    Unanswered,
    /// The calling thread serves this rendezvous itself, or its receiver waits for the caller (`EDEADLK`).
    #[error("the answer would never come: the receiver is the calling thread, or waits for it (EDEADLK)")]
    Deadlock,
    /// The rendezvous's lock could not be taken for another reason.
    #[error("the rendezvous cannot be locked: {0}")]
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

/// Exchanges messages `M` for answers `R` between threads. Share it by reference, in an `Arc` or as a `static`.
///
/// From the moment a message waits until it is answered, the receiving thread runs at least at its sender's priority,
/// whatever it is doing: each sender sleeps on a futex with priority inheritance that the receiver owns, and the answer
/// unlocks it. Messages can therefore be received in order of arrival instead of priority: threads of intermediate
/// priority do not delay the answer.
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
    /// One futex per place: free, or owned by the receiver from the arrival of the message until its answer.
    gates: Vec<PiFutex>,
    bell: Bell,
}

#[derive(Debug)]
struct State<M, R> {
    server: Option<ThreadId>,
    places: Vec<Place<M, R>>,
    /// Indices of places whose message has not been received yet, oldest first.
    waiting: VecDeque<usize>,
}

#[derive(Debug)]
enum Place<M, R> {
    Free,
    Waiting(M),
    Received,
    /// The message was received, but its sender no longer waits for the answer.
    Abandoned,
    Answered(Option<R>),
}

impl<M, R> Rendezvous<M, R> {
    /// Creates a rendezvous for up to `places` concurrent senders. No other call allocates.
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

    /// Sends `message`, sleeps until the answer arrives, and returns it.
    ///
    /// # Errors
    /// [`SendError`].
    pub fn send(&self, message: M) -> Result<R, SendError> {
        self.exchange(message, None)
    }

    /// Like [`Rendezvous::send`], but waits at most until `until` on CLOCK_MONOTONIC. A message that has not been
    /// received by then is withdrawn.
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

    /// Puts the message into a free place, makes the receiver the owner of its futex, and returns the index of the
    /// place.
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

    /// Takes the answer from a place. The caller owns the place's futex: the receiver has unlocked it, or its thread
    /// has ended.
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

    /// Withdraws a message whose wait failed or timed out. The caller has therefore never owned the futex.
    fn give_up(&self, place: usize) -> Result<(), SendError> {
        let mut state = self.state.lock()?;
        if matches!(state.places[place], Place::Received) {
            // The receiver frees the place and the gate when it answers.
            state.places[place] = Place::Abandoned;
            return Ok(());
        }
        // Only the caller has ever waited at this gate, and the receiver unlocks it only while holding the state lock.
        self.gates[place].reset();
        state.waiting.retain(|waiting| *waiting != place);
        let message = std::mem::replace(&mut state.places[place], Place::Free);
        drop(state);
        drop(message);
        Ok(())
    }
}

/// The receiving side of a [`Rendezvous`]. It cannot leave the thread that created it (it is not `Send`), since that
/// thread inherits the priorities. Dropping it leaves all messages unanswered and allows another thread to serve.
#[derive(Debug)]
pub struct Server<'r, M, R> {
    rendezvous: &'r Rendezvous<M, R>,
    stays: PhantomData<*const ()>,
}

impl<M, R> Server<'_, M, R> {
    /// Takes the oldest message, if one is waiting. Waits at most while a sender copies a message.
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

    /// Takes the oldest message. Sleeps until there is one.
    ///
    /// # Errors
    /// [`LockError`]: the rendezvous's lock could not be taken.
    pub fn receive(&self) -> Result<Received<'_, M, R>, LockError> {
        self.sleep(None)
    }

    /// Like [`Server::receive`], but waits at most until `until` on CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// [`LockError::TimedOut`] if no message arrived in time. Any other [`LockError`]: the rendezvous's lock could not
    /// be taken.
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

    /// Stores the answer and unlocks the place's futex, which wakes the sender and ends the priority inheritance.
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
            // The gate belongs to the receiver since the message arrived. It is unlocked under the state lock, so that
            // a sender that gives up sees either state.
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

/// A message, and the request through which it must be answered.
pub type Received<'s, M, R> = (M, Request<'s, M, R>);

/// A received message that awaits an answer. If it is dropped without an answer, its sender gets
/// [`SendError::Unanswered`].
#[must_use = "if this is dropped, the sender gets no answer"]
#[derive(Debug)]
pub struct Request<'s, M, R> {
    server: &'s Server<'s, M, R>,
    place: usize,
    answer: Option<R>,
}

impl<M, R> Request<'_, M, R> {
    /// Sends the answer and wakes the sender, without waiting for it.
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
