//! Shows the progress of the boots of a `lab` command.

use punctual_lab::{LabError, LabObserver, LabRun};
use punctual_report as report;
use punctual_units::Nanos;

/// Prints a line on standard error for each boot that ends.
pub struct Progress;

impl LabObserver for Progress {
    fn booted(&self, kernel: &str, number: usize, of: usize, run: &Result<LabRun, LabError>) {
        match run {
            Ok(run) => {
                let worst = run.verdict.worst.as_ref().map_or("none".into(), |w| Nanos(w.max_ns).to_string());
                let word = report::words::word(run.verdict.outcome);
                let seconds = run.lasted.as_secs_f64();
                progress!("[{number}/{of}] {kernel}, seed {}: worst {worst}, {word} ({seconds:.0} s)\n", run.seed);
            }
            Err(e) => progress!("[{number}/{of}] {kernel}: {e}\n"),
        }
    }
}
