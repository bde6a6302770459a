//! Passes values between threads and programs.

mod log;
mod mailbox;
mod ordinary;
mod pipe;
mod queue;
mod rendezvous;
mod shared;

pub use log::{Arg, Level, Log, LogCounts, Recorder};
pub use mailbox::{Mailbox, MailboxCounts, NotSent};
pub use pipe::{At, Bridge, Fifo, Frame, Line, NotOpened, Parsed, PipeCounts, RtReceiver, RtSender, pipe, pipe_out};
pub use queue::{CapacityError, Full, QueueCounts, Receiver, Sender, queue};
pub use rendezvous::{Received, Rendezvous, Request, SendError, ServeError, Server};
pub use shared::{Shared, SharedWriter, Unsteady, Words};

/// What happens to a value that does not fit because the queue is full. Every such value is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The value is returned to the sender.
    Refuse,
    /// The value is dropped, and the sender is not notified.
    DropNewest,
    /// The oldest waiting value is dropped to make room. [`Mailbox`] only: in a ring with one writer and one reader,
    /// only the reader may take values.
    DropOldest,
}
