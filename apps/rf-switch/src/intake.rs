//! The ordinary thread: passes commands from the FIFO to the ring, and turns the results into counts, distributions and
//! pulse text.

use crate::command::{BadCommand, Command, Decoder};
use crate::error::Error;
use crate::figures::Figures;
use crate::ook::{EdgeAt, OokWriter};
use crate::pending::Pending;
use crate::tap::{MAX, Tap};
use crate::transmit::{Done, Emitted, Job, Origin, Shared};
use crate::warnings::Warnings;
use punctual_rt::{Eventfd, Receiver, Sender, monotonic};
use punctual_units::Nanos;
use rustix::event::{Timespec, epoll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Stderr;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const LOOK: Nanos = Nanos::from_millis(100);

#[derive(Debug, Default)]
pub struct Board {
    figures: Mutex<Figures>,
    pub stop: AtomicBool,
}

impl Board {
    pub fn figures(&self) -> MutexGuard<'_, Figures> {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes the edges driven by this program as pulse text.
#[derive(Debug)]
pub struct Sink {
    pub writer: OokWriter<File>,
    /// Edges of the simulated line; `None` for a real line, for which the times at which the program drove the line are
    /// used.
    pub wire: Option<Receiver<punctual_wires::EdgeAt>>,
}

#[derive(Debug)]
pub struct Intake {
    /// The FIFO; `None` if the commands are given as arguments.
    pub tap: Option<Tap>,
    pub decoder: Decoder,
    pub pending: Option<Pending>,
    /// Waiting commands. The first is the one being sent.
    pub waiting: VecDeque<Command>,
    pub most: usize,
    pub next: u64,
    pub jobs: Sender<Job>,
    pub raise: Eventfd,
    pub done: Receiver<Done>,
    pub edges: Receiver<Emitted>,
    pub shared: Arc<Shared>,
    pub board: Arc<Board>,
    pub sink: Option<Sink>,
    pub warnings: Warnings<Stderr>,
    pub half: Nanos,
    pub dropped: u64,
}

impl Intake {
    /// Runs until it is stopped. Commands that are still waiting stay in the pending file, and are returned.
    ///
    /// # Errors
    /// The FIFO or the pulse text file failed.
    pub fn run(mut self) -> Result<VecDeque<Command>, Error> {
        let end = self.carry_on();
        self.settle()?;
        if let Some(sink) = self.sink.take() {
            let written = sink.writer.finish().map_err(Error::file("write", "the file of --ook"))?;
            self.board.figures().written = Some(written);
        }
        self.warnings.write_omitted();
        end.map(|()| self.waiting)
    }

    fn carry_on(&mut self) -> Result<(), Error> {
        let epoll = self.epoll()?;
        let mut more = false;
        while !self.board.stop.load(Relaxed) {
            if !more {
                self.sleep(&epoll);
            }
            let _ = rustix::io::read(&self.shared.wake, &mut [0u8; 8]);
            self.settle()?;
            // Only one chunk at a time, so that a writer that never stops does not keep finished messages from being
            // processed.
            more = self.read()?;
            self.warnings.look(monotonic());
        }
        Ok(())
    }

    /// Creates the epoll descriptor. A write to the FIFO wakes the thread (edge-triggered); part of a command left in
    /// the FIFO does not. Since Linux 5.14 a write also wakes it if the FIFO was not empty (commit 3a34b13a88ca, also
    /// in the stable kernels).
    fn epoll(&self) -> Result<OwnedFd, Error> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(Error::call("epoll_create1"))?;
        let add = |fd: BorrowedFd<'_>, flags| {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(0), flags).map_err(Error::call("epoll_ctl"))
        };
        add(self.shared.wake.as_fd(), epoll::EventFlags::IN)?;
        if let Some(tap) = &self.tap {
            add(tap.as_fd(), epoll::EventFlags::IN | epoll::EventFlags::ET)?;
        }
        Ok(epoll)
    }

    /// Sleeps until there is something to do; may also return spuriously.
    fn sleep(&self, epoll: &OwnedFd) {
        let looks = self.sink.is_some() || self.warnings.holds();
        let limit = looks.then_some(Timespec { tv_sec: 0, tv_nsec: LOOK.0 as _ });
        let mut events = [const { MaybeUninit::uninit() }; 2];
        let _ = epoll::wait(epoll, &mut events, limit.as_ref());
    }

    /// Reads a chunk from the FIFO, up to an incomplete command, which stays in the FIFO: copies the chunk, writes it
    /// to the pending file, removes it from the FIFO, and passes it to the transmitter. Returns `false` if there is
    /// nothing to read.
    fn read(&mut self) -> Result<bool, Error> {
        let mut bytes = [0; MAX];
        let (whole, jobs) = self.write_down(&mut bytes)?;
        // After a kill at this point, the next start reads all of it again.
        if self.tap.as_ref().is_some_and(|tap| !tap.take(whole).unwrap_or(false)) {
            let text = "another program also reads this FIFO and consumes commands: find it with fuser -v";
            self.warnings.warn(monotonic(), text);
        }
        self.hand_over(jobs);
        Ok(!whole.is_empty())
    }

    /// Reads the FIFO without consuming it, and writes the complete commands to the pending file. Returns the bytes to
    /// consume, and the jobs for the transmitter.
    fn write_down<'a>(&mut self, bytes: &'a mut [u8; MAX]) -> Result<(&'a [u8], Vec<Job>), Error> {
        let Some(tap) = &self.tap else { return Ok((&[], Vec::new())) };
        let seen = tap.look(bytes)?;
        let at = monotonic();
        let rest = self.decoder.rest().to_vec();
        let said: Vec<_> = seen.iter().filter_map(|byte| self.decoder.push(*byte)).collect();
        let whole = &seen[..seen.len() - self.decoder.hold_back().min(seen.len())];
        let jobs = self.accept(said, at);
        if !jobs.is_empty() || self.decoder.rest() != rest {
            self.keep(jobs.len() as u64, at);
        }
        // Counted once they are in the file: a command counted as accepted survives kill -9.
        self.board.figures().commands.accepted += jobs.len() as u64;
        Ok((whole, jobs))
    }

    /// Returns jobs for the parsed commands, and warns about those that are invalid or do not fit into the queue.
    fn accept(&mut self, said: Vec<Result<Command, BadCommand>>, at: Nanos) -> Vec<Job> {
        let mut jobs = Vec::new();
        for one in said {
            let mut count = self.board.figures();
            match one {
                Err(bad) => {
                    count.commands.bad += 1;
                    self.warnings.warn(at, &bad.to_string());
                }
                Ok(command) if self.waiting.len() >= self.most => {
                    count.commands.dropped += 1;
                    let (code, most) = (command.code, self.most);
                    self.warnings
                        .warn(at, &format!("{code} is dropped: {most} commands are already waiting, see --queue"));
                }
                Ok(command) => {
                    // A time stamp in the future is invalid.
                    let written = command.stamp.filter(|stamp| *stamp <= at).map(Origin::Written);
                    let alone = self.waiting.is_empty();
                    let origin = if alone { written.unwrap_or(Origin::Read(at)) } else { Origin::Waited };
                    jobs.push(Job { number: self.next, code: command.code, origin });
                    self.next += 1;
                    self.waiting.push_back(command);
                }
            }
        }
        jobs
    }

    /// Writes the waiting commands, of which the last `new` are new, to the pending file.
    fn keep(&mut self, new: u64, at: Nanos) {
        let Some(pending) = &self.pending else { return };
        if let Err(error) = pending.keep(&self.waiting, self.decoder.rest()) {
            self.board.figures().commands.not_kept += new;
            self.warnings.warn(at, &format!("{error}; kill -9 would lose the waiting commands"));
        }
    }

    pub fn hand_over(&mut self, jobs: Vec<Job>) {
        if jobs.is_empty() {
            return;
        }
        for job in jobs {
            // The ring has room for as many as may wait.
            let _ = self.jobs.send(job);
        }
        let _ = self.raise.raise(1);
    }

    /// Processes the messages that the transmitter has finished, and their edges.
    fn settle(&mut self) -> Result<(), Error> {
        let at = monotonic();
        // In this order, the edges of all finished messages are available.
        let done: Vec<Done> = std::iter::from_fn(|| self.done.receive()).collect();
        let edges: Vec<Emitted> = std::iter::from_fn(|| self.edges.receive()).collect();
        let dropped = self.edges.counts().dropped;
        let whole = done.iter().filter(|done| done.whole).count();
        {
            let mut figures = self.board.figures();
            edges.iter().for_each(|edge| figures.edge(*edge, self.half));
            done.iter().for_each(|done| figures.done(done));
            figures.unrecorded += dropped - std::mem::replace(&mut self.dropped, dropped);
        }
        if whole > 0 {
            self.waiting.drain(..whole.min(self.waiting.len()));
            self.keep(0, at);
        }
        self.write(edges, at)
    }

    fn write(&mut self, driven: Vec<Emitted>, now: Nanos) -> Result<(), Error> {
        let Some(Sink { writer, wire }) = &mut self.sink else { return Ok(()) };
        let failed = |source| Error::file("write", "the file of --ook")(source);
        match wire {
            None => {
                let mut edges = driven.into_iter().map(|edge| EdgeAt { at: edge.at, level: edge.level });
                edges.try_for_each(|edge| writer.edge(edge)).map_err(failed)?;
                writer.lost(self.dropped);
            }
            Some(wire) => {
                while let Some(edge) = wire.receive() {
                    writer.edge(EdgeAt { at: edge.at, level: edge.level }).map_err(failed)?;
                }
                writer.lost(wire.counts().dropped);
            }
        }
        writer.quiet_until(now).map_err(failed)?;
        self.board.figures().written = Some(writer.written());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
