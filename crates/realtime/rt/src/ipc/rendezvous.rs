//! Synchronous messages: send, receive, reply. The sender sleeps until it is answered, and lends its priority meanwhile.

use crate::sync::Bell;
use punctual_uapi::{LockError, Mutex, PiFutex, ThreadId};
use punctual_units::Nanos;
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Why a message was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// No thread serves.
    #[error("nobody serves this rendezvous: call serve() in the thread that is to answer, before the first send")]
    NobodyServes,
    /// As many senders wait as there are places.
    #[error("all places of the rendezvous are taken: make it with as many as there are senders")]
    Full,
    /// No answer in time. The receiver may have taken the message.
    #[error("no answer came before the time was over (ETIMEDOUT)")]
    TimedOut,
    /// The receiver let the message go without an answer, or stopped serving, or its thread ended.
    #[error("the receiver let the message go without an answer, or ended")]
    Unanswered,
    /// The calling thread serves this rendezvous itself, or its receiver waits for the caller (`EDEADLK`).
    #[error("the answer would never come: the receiver is the calling thread, or waits for it (EDEADLK)")]
    Deadlock,
    /// Another reason of a lock.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ServeError {
    /// Another thread does.
    #[error("another thread serves this rendezvous already: one rendezvous has one receiver")]
    Taken,
    /// Its lock cannot be had, or its time came.
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// A place for messages `M` that are answered with `R`. Share it by reference, `Arc` or `static`.
///
/// From the moment a message waits until it is answered, the receiving thread runs at least at its sender's priority, whatever it is
/// busy with: each sender sleeps on a futex with priority inheritance that belongs to the receiver, and the answer lets it go. So
/// messages are taken in order of arrival, not of priority, and none waits behind a thread of a priority in between.
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
    /// One a place: free, or of the receiver from the message until the answer.
    gates: Vec<PiFutex>,
    bell: Bell,
}

#[derive(Debug)]
struct State<M, R> {
    server: Option<ThreadId>,
    places: Vec<Place<M, R>>,
    /// Places that wait to be received, oldest first.
    waiting: VecDeque<usize>,
}

#[derive(Debug)]
enum Place<M, R> {
    Free,
    Waiting(M),
    Received,
    /// Received, and its sender has given up.
    Abandoned,
    Answered(Option<R>),
}

impl<M, R> Rendezvous<M, R> {
    /// For so many senders at once. Allocates here and nowhere else.
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
    /// [`ServeError::Taken`]; its lock cannot be had.
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

    /// As [`Rendezvous::send`], until `until` on CLOCK_MONOTONIC at the latest. A message not yet received is taken back then.
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

    /// Puts the message into a free place whose gate is the receiver's from now on.
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

    /// The gate is the caller's: the receiver has let it go, or its thread has ended.
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

    /// The caller never got the gate, and leaves.
    fn give_up(&self, place: usize) -> Result<(), SendError> {
        let mut state = self.state.lock()?;
        if matches!(state.places[place], Place::Received) {
            // The receiver frees both when it answers.
            state.places[place] = Place::Abandoned;
            return Ok(());
        }
        // Nobody but the caller has ever waited at this gate, and the receiver opens it under this lock only.
        self.gates[place].reset();
        state.waiting.retain(|waiting| *waiting != place);
        let message = std::mem::replace(&mut state.places[place], Place::Free);
        drop(state);
        drop(message);
        Ok(())
    }
}

/// The receiving side of a [`Rendezvous`], of the thread that made it: not `Send`, since that thread inherits the priorities.
/// Dropping it leaves all messages unanswered and makes room for another receiver.
#[derive(Debug)]
pub struct Server<'r, M, R> {
    rendezvous: &'r Rendezvous<M, R>,
    stays: PhantomData<*const ()>,
}

impl<M, R> Server<'_, M, R> {
    /// The oldest message, where one waits. Waits for the copy of another one at most.
    ///
    /// # Errors
    /// [`LockError`]: its lock cannot be had.
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

    /// The oldest message; sleeps until there is one.
    ///
    /// # Errors
    /// [`LockError`]: its lock cannot be had.
    pub fn receive(&self) -> Result<Received<'_, M, R>, LockError> {
        self.sleep(None)
    }

    /// As [`Server::receive`], until `until` on CLOCK_MONOTONIC at the latest.
    ///
    /// # Errors
    /// [`LockError::TimedOut`]; otherwise its lock cannot be had.
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

    /// Puts the answer into a received place and opens its gate, which wakes the sender and gives its priority back.
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
            // Ours from the message until now; under the lock, so that a sender that gives up sees one or the other.
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

/// A message, and the duty to answer it.
pub type Received<'s, M, R> = (M, Request<'s, M, R>);

/// A received message that is to be answered. Dropped without, its sender gets [`SendError::Unanswered`].
#[must_use = "the sender gets no answer"]
#[derive(Debug)]
pub struct Request<'s, M, R> {
    server: &'s Server<'s, M, R>,
    place: usize,
    answer: Option<R>,
}

impl<M, R> Request<'_, M, R> {
    /// Answers, which wakes the sender. Does not wait for it.
    pub fn reply(mut self, answer: R) {
        self.answer = Some(answer);
    }
}

impl<M, R> Drop for Request<'_, M, R> {
    fn drop(&mut self) {
        self.server.finish(self.place, self.answer.take());
    }
}
