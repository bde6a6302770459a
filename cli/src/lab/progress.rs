//! Boots as they end.

use punctual_lab::{LabError, LabObserver, LabRun};
use punctual_report as report;
use punctual_units::Nanos;

/// One line a boot on standard error.
pub struct Progress;

impl LabObserver for Progress {
    fn booted(&self, kernel: &str, number: usize, of: usize, run: &Result<LabRun, LabError>) {
        match run {
            Ok(run) => {
                let worst = run.verdict.worst.as_ref().map_or("nothing".into(), |w| Nanos(w.max_ns).to_string());
                let word = report::words::word(run.verdict.outcome);
                let seconds = run.lasted.as_secs_f64();
                tell!("[{number}/{of}] {kernel}, seed {}: worst {worst}, {word} ({seconds:.0} s)\n", run.seed);
            }
            Err(e) => tell!("[{number}/{of}] {kernel}: {e}\n"),
        }
    }
}
