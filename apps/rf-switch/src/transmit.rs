//! The real-time thread: takes jobs from a ring and drives the line. It touches no FIFO and no file, and does not
//! allocate.

use crate::code::Code;
use crate::waveform::{FrameEnd, Waveform};
use punctual_rt::{Next, Receiver, Rung, Sender, monotonic};
use punctual_units::Nanos;
use punctual_wires::{GpioError, Out};
use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The time stamp written by the sender.
    Written(Nanos),
    /// The time at which the ordinary thread read the command.
    Read(Nanos),
    /// Not measured, because the command waited for the previous one, or was pending when the program started.
    Waited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    pub number: u64,
    pub code: Code,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    pub job: Job,
    /// Time just after the line was driven for the first edge, CLOCK_MONOTONIC; `None` if that failed.
    pub first_edge: Option<Nanos>,
    /// Number of frames sent completely.
    pub frames: u32,
    /// Complete frames in which an edge was late by more than half of T.
    pub spoiled: u32,
    pub whole: bool,
}

/// An edge that this program has driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// When the edge was due, CLOCK_MONOTONIC.
    pub due: Nanos,
    /// Time at which the call that drove the line returned, on CLOCK_MONOTONIC.
    pub at: Nanos,
    pub level: bool,
}

/// State shared by the real-time and the ordinary thread, in addition to the rings.
#[derive(Debug)]
pub struct Shared {
    pub ending: AtomicBool,
    /// A non-blocking eventfd(2) that wakes the ordinary thread.
    pub wake: OwnedFd,
    pub failure: Mutex<Option<GpioError>>,
}

impl Shared {
    /// Adds one to the eventfd. The write fails if the counter is at its maximum, in which case the eventfd is readable
    /// anyway.
    pub fn wake(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub fn failed(&self) -> Option<GpioError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[derive(Debug)]
pub struct Transmitter {
    pub out: Out,
    pub waveform: Waveform,
    pub repeats: u32,
    /// Maximum number of frames sent to replace spoiled ones.
    pub replace: u32,
    /// Maximum lateness of an edge, half of T. A later edge spoils its frame.
    pub half: Nanos,
    pub jobs: Receiver<Job>,
    pub done: Sender<Done>,
    pub edges: Sender<Emitted>,
    pub shared: Arc<Shared>,
}

impl Transmitter {
    /// Sends waiting jobs one after the other. Between frames, when the line is low, checks whether it should end.
    pub fn work(&mut self) -> Next {
        while !self.shared.ending.load(Relaxed) {
            let Some(job) = self.jobs.receive() else { return Next::Continue };
            let (done, end) = self.message(job);
            // The ring is as large as that of the jobs, so there is always room.
            let _ = self.done.send(done);
            self.shared.wake();
            if end == FrameEnd::Failed {
                return Next::Stop;
            }
        }
        Next::Stop
    }

    fn message(&mut self, job: Job) -> (Done, FrameEnd) {
        let Transmitter { out, waveform, edges, shared, half, .. } = self;
        let mut done = Done { job, first_edge: None, frames: 0, spoiled: 0, whole: false };
        // The start of every frame is absolute, relative to this time.
        let epoch = monotonic();
        while done.frames < self.repeats + done.spoiled.min(self.replace) {
            let frame = done.frames;
            if frame > 0 && shared.ending.load(Relaxed) {
                return (done, FrameEnd::Sent);
            }
            let mut spoiled = false;
            let end = waveform.send(job.code, waveform.start(epoch, frame), |level, rung| {
                let at = drive(out, level, rung, edges, shared);
                done.first_edge = done.first_edge.or(at);
                spoiled |= at.is_some_and(|at| at.saturating_sub(rung.due) > *half);
                at.is_some()
            });
            if end == FrameEnd::Failed {
                let _ = out.set(false);
                return (done, end);
            }
            done.frames += 1;
            done.spoiled += u32::from(spoiled);
        }
        done.whole = true;
        (done, FrameEnd::Sent)
    }
}

/// Drives the line and returns the time afterwards. Returns `None` if that fails, and stores the reason for the
/// ordinary thread; this takes a lock, once, at the end of the task.
fn drive(out: &mut Out, level: bool, rung: Rung, edges: &mut Sender<Emitted>, shared: &Shared) -> Option<Nanos> {
    match out.set(level) {
        Ok(()) => {
            let at = monotonic();
            // Values for which the ring has no room are counted and reported.
            let _ = edges.send(Emitted { due: rung.due, at, level });
            Some(at)
        }
        Err(error) => {
            *shared.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Addresses;
    use crate::waveform::Timing;
    use punctual_rt::{Overflow, queue};
    use punctual_wires::wire;
    use rustix::event::{EventfdFlags, eventfd};

    /// Returns a timing with T = 20 µs, with which a message takes 10 ms.
    fn timing() -> Timing {
        Timing::new(Nanos::from_micros(20), 36).unwrap()
    }

    struct Bench {
        transmitter: Transmitter,
        jobs: Sender<Job>,
        done: Receiver<Done>,
        edges: Receiver<Emitted>,
        wire: Receiver<punctual_wires::EdgeAt>,
        shared: Arc<Shared>,
    }

    fn bench() -> Bench {
        let (out, _, wire) = wire(4_096).unwrap();
        let (jobs, jobs_in) = queue(8, Overflow::Refuse).unwrap();
        let (done_out, done) = queue(8, Overflow::Refuse).unwrap();
        let (edges_out, edges) = queue(4_096, Overflow::DropNewest).unwrap();
        let wake = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
        let shared = Arc::new(Shared { ending: AtomicBool::new(false), wake, failure: Mutex::new(None) });
        let waveform = Waveform::new(&timing()).unwrap();
        let theirs = shared.clone();
        let transmitter = Transmitter {
            out,
            waveform,
            repeats: 4,
            replace: 0,
            half: Nanos(timing().t.0 / 2),
            jobs: jobs_in,
            done: done_out,
            edges: edges_out,
            shared: theirs,
        };
        Bench { transmitter, jobs, done, edges, wire, shared }
    }

    fn job(number: u64) -> Job {
        let code = Addresses::Usual.codes().nth(number as usize).unwrap();
        Job { number, code, origin: Origin::Waited }
    }

    #[test]
    fn messages_are_sent_in_order_without_an_allocation_and_leave_the_line_low() {
        let mut b = bench();
        (0..3).for_each(|n| b.jobs.send(job(n)).unwrap());
        let allocated = allocation_counter::measure(|| assert_eq!(b.transmitter.work(), Next::Continue));
        assert_eq!(allocated.count_total, 0);
        for n in 0..3 {
            let done = b.done.receive().unwrap();
            assert_eq!((done.job, done.frames), (job(n), 4));
            assert!(done.first_edge.is_some());
        }
        let emitted: Vec<Emitted> = std::iter::from_fn(|| b.edges.receive()).collect();
        let seen: Vec<_> = std::iter::from_fn(|| b.wire.receive()).collect();
        assert_eq!((emitted.len(), seen.len()), (3 * 4 * 50, 3 * 4 * 50));
        assert!(emitted.iter().zip(&seen).all(|(e, s)| e.level == s.level && e.due <= s.at && s.at <= e.at));
        assert!(!seen.last().unwrap().level);
        // Absolute from the message's start: the last falling edge is due exactly 3 frames and 96 T + T later.
        let (first, last) = (emitted[0], emitted[199]);
        assert_eq!(last.due - first.due, Nanos(3 * timing().frame().0 + timing().times(97).0));
    }

    /// The counts of spoiled and replaced frames match the edges. Half of T is only 10 µs here, so many edges are late.
    #[test]
    fn spoiled_frames_are_replaced_up_to_a_bound_and_reported() {
        for half in [Nanos(0), Nanos(timing().t.0 / 2), Nanos(u64::MAX)] {
            let mut b = bench();
            (b.transmitter.replace, b.transmitter.half) = (3, half);
            b.jobs.send(job(0)).unwrap();
            assert_eq!(b.transmitter.work(), Next::Continue);
            let done = b.done.receive().unwrap();
            let emitted: Vec<Emitted> = std::iter::from_fn(|| b.edges.receive()).collect();
            let late = |frame: &&[Emitted]| frame.iter().any(|edge| edge.at.saturating_sub(edge.due) > half);
            assert_eq!(emitted.len() as u32, done.frames * 50);
            assert_eq!(emitted.chunks(50).filter(late).count() as u32, done.spoiled);
            assert!(done.whole && done.frames >= 4 + done.spoiled.min(3).min(done.frames - 4), "{done:?}");
            match half.0 {
                0 => assert_eq!((done.frames, done.spoiled), (7, 7)),
                u64::MAX => assert_eq!((done.frames, done.spoiled), (4, 0)),
                _ => assert!((4..=7).contains(&done.frames), "{done:?}"),
            }
        }
    }

    #[test]
    #[ignore = "live: timing"]
    fn an_end_comes_between_two_frames() {
        let mut b = bench();
        b.jobs.send(job(0)).unwrap();
        b.jobs.send(job(1)).unwrap();
        let shared = b.shared.clone();
        let waker = std::thread::spawn(move || {
            let mut edges = b.edges;
            while edges.receive().is_none() {
                std::thread::yield_now();
            }
            shared.ending.store(true, Relaxed);
        });
        assert_eq!(b.transmitter.work(), Next::Stop);
        waker.join().unwrap();
        // How many were sent by then depends on the machine; none of them is incomplete.
        let frames: u32 = std::iter::from_fn(|| b.done.receive()).map(|done| done.frames).sum();
        let seen: Vec<_> = std::iter::from_fn(|| b.wire.receive()).collect();
        assert!(frames >= 1 && seen.len() == 50 * frames as usize, "{frames} frames, {} edges", seen.len());
        assert!(!seen.last().unwrap().level);
    }
}
