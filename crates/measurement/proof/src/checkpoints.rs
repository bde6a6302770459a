//! Saves results while the audit runs and tracing starts. Both may take longer than the warm-up, and results measured
//! until then must survive if the process is killed.

use punctual_measure::{self as measure, Cell, Recorder};
use punctual_rt::monotonic;
use punctual_units::{CpuId, Nanos};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that saves results every five seconds, from the first period on, and once more when it is dropped. After
/// that the context thread saves them.
pub(crate) struct Checkpoints {
    /// Dropping this end of the channel ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

pub(crate) struct Results {
    pub phase: String,
    pub cells: Vec<(CpuId, Arc<Cell>)>,
    /// CLOCK_MONOTONIC of the first period.
    pub start: Nanos,
}

impl Checkpoints {
    /// Starts the thread, which saves `results` with `recorder`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start<R: Recorder + 'static>(results: Results, recorder: Arc<Mutex<R>>) -> std::io::Result<Checkpoints> {
        let (stop, stopped) = channel::<()>();
        let builder = std::thread::Builder::new().name("checkpoints".into()).stack_size(256 * 1024);
        let thread = builder.spawn(move || {
            let every = Duration::from(measure::Pace::default().results());
            let mut next = Duration::from(results.start.saturating_sub(monotonic())) + every;
            while stopped.recv_timeout(next) == Err(RecvTimeoutError::Timeout) {
                hand_on(&results, &recorder);
                next = every;
            }
            if monotonic() > results.start {
                hand_on(&results, &recorder);
            }
        })?;
        Ok(Checkpoints { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.stop.take());
        // A panicked thread has already saved what it could.
        self.thread.take().map(JoinHandle::join);
    }
}

fn hand_on<R: Recorder>(results: &Results, recorder: &Mutex<R>) {
    let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    for (cpu, cell) in &results.cells {
        recorder.progress(&results.phase, *cpu, cell);
    }
    recorder.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Event;

    #[derive(Default)]
    struct Counted {
        progress: u32,
        flushes: u32,
    }

    impl Recorder for Counted {
        fn event(&mut self, _: &Event) {}
        fn progress(&mut self, _: &str, _: CpuId, _: &Cell) {
            self.progress += 1;
        }
        fn flush(&mut self) {
            self.flushes += 1;
        }
    }

    /// Returns the number of saves in a phase on two CPUs that starts at `start` and is observed for `time`.
    fn saves(start: Nanos, time: Duration) -> (u32, u32) {
        let cells = (0..2).map(|cpu| (CpuId(cpu), Arc::new(Cell::new(1)))).collect();
        let recorder = Arc::new(Mutex::new(Counted::default()));
        let results = Results { phase: "1-idle".into(), cells, start };
        let checkpoints = Checkpoints::start(results, Arc::clone(&recorder)).unwrap();
        std::thread::sleep(time);
        drop(checkpoints);
        let counted = recorder.lock().unwrap();
        (counted.progress, counted.flushes)
    }

    #[test]
    #[ignore = "live: timing"]
    fn results_are_handed_on_meanwhile_and_at_the_end() {
        let (progress, flushes) = saves(monotonic(), Duration::from_millis(5_500));
        assert!(flushes >= 2 && progress == 2 * flushes, "{progress} {flushes}");
    }

    #[test]
    fn nothing_is_handed_on_before_the_first_period() {
        assert_eq!(saves(monotonic() + Nanos::from_secs(3600), Duration::ZERO), (0, 0));
    }
}
