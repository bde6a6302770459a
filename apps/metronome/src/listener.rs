//! Reads edges and matches them with beats in an ordinary thread, while the real-time task runs.

use crate::edges::{EdgeSource, Lost};
use crate::error::Error;
use crate::matcher::{EdgeCounts, Matcher};
use crate::toggler::Beat;
use punctual_rt::{Receiver, monotonic};
use punctual_units::Nanos;
use punctual_wires::GpioError;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;

/// Longest wait for edges before the thread checks for beats and for a request to end.
const LOOK: Nanos = Nanos::from_millis(20);
/// Longest wait for the edge of the last beat.
const LAST_EDGE: Nanos = Nanos::from_millis(100);

/// State that is passed from one measurement to the next.
#[derive(Debug)]
pub(crate) struct Heard {
    /// Source of the edges; `None` if there is no second line, in which case beats are only counted.
    pub(crate) source: Option<EdgeSource>,
    pub(crate) beats: Receiver<Beat>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Listened {
    pub(crate) edges: Option<(EdgeCounts, Lost)>,
    pub(crate) beats: u64,
}

pub(crate) struct Listener {
    thread: JoinHandle<(Heard, Result<Listened, GpioError>)>,
    stop: Arc<AtomicBool>,
}

impl Listener {
    /// Starts the thread with the caller's scheduling, which must be SCHED_OTHER.
    pub(crate) fn start(heard: Heard) -> Result<Listener, Error> {
        let stop = Arc::new(AtomicBool::new(false));
        let theirs = stop.clone();
        let thread = std::thread::Builder::new().name("edges".into());
        let thread = thread.spawn(move || {
            let mut heard = heard;
            let listened = listen(&mut heard, &theirs);
            (heard, listened)
        });
        Ok(Listener { thread: thread.map_err(Error::Thread)?, stop })
    }

    /// Reads the remaining edges and returns the state and the results. Must be called after the task has ended.
    pub(crate) fn end(self) -> Result<(Heard, Listened), Error> {
        self.stop.store(true, Relaxed);
        let (heard, listened) =
            self.thread.join().map_err(|_| Error::Ended("the thread that reads edges panicked".into()))?;
        Ok((heard, listened.map_err(|source| Error::Line { what: "--listen", source })?))
    }
}

fn listen(heard: &mut Heard, stop: &AtomicBool) -> Result<Listened, GpioError> {
    let (mut matcher, mut beats, mut give_up) = (Matcher::default(), 0, None);
    let before = heard.source.as_ref().map(EdgeSource::lost).unwrap_or_default();
    loop {
        // Checked before reading, so that everything available when it was set is still read.
        let stopping = stop.load(Relaxed);
        let mut edges = Vec::new();
        match &mut heard.source {
            Some(source) => source.read(LOOK, |edge| edges.push(edge))?,
            None => std::thread::sleep(LOOK.into()),
        }
        // Each beat is sent before its edge occurs.
        while let Some(beat) = heard.beats.receive() {
            beats += 1;
            if heard.source.is_some() {
                matcher.beat(beat);
            }
        }
        let quiet = edges.is_empty();
        edges.into_iter().for_each(|edge| matcher.edge(edge));
        let mut over = || monotonic() >= *give_up.get_or_insert_with(|| monotonic() + LAST_EDGE);
        if stopping && (heard.source.is_none() || (quiet && over())) {
            break;
        }
    }
    let lost = |source: &EdgeSource| Lost { dropped: source.lost().dropped - before.dropped };
    let edges = heard.source.as_ref().map(|source| (matcher.end(), lost(source)));
    Ok(Listened { edges, beats })
}
