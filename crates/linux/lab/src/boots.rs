use crate::error::LabError;
use crate::options::LabOptions;
use crate::prove::{LabRun, prove};
use punctual_model::Outcome;
use punctual_units::Arrange;
use punctual_vm::Cache;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub trait LabObserver: Sync {
    fn booted(&self, _kernel: &str, _number: usize, _of: usize, _run: &Result<LabRun, LabError>) {}
}

impl LabObserver for () {}

#[derive(Debug)]
pub struct Proven {
    /// Runs, in the order of their seeds.
    pub runs: Vec<LabRun>,
}

impl Proven {
    /// Returns the worst outcome of all boots: a single failing boot makes the whole proof fail.
    pub fn outcome(&self) -> Outcome {
        self.runs.iter().map(|r| r.verdict.outcome).max().unwrap_or(Outcome::Inconclusive)
    }
}

/// Boots `boots` times with consecutive seeds starting at `seed`, `jobs` at once: in virtual time they do not disturb
/// each other. The run directory of a single boot is `out`; with several boots, they are `out/boot-1` and so on.
///
/// # Errors
/// A boot reaches no verdict; the run directories of the others stay.
pub fn prove_boots(
    options: &LabOptions,
    seed: u64,
    boots: usize,
    jobs: usize,
    out: &Path,
    cache: &Cache,
    observer: &dyn LabObserver,
) -> Result<Proven, LabError> {
    if boots == 0 || boots > 10_000 {
        return Err(LabError::Usage(format!("{boots} boots: choose 1 to 10000")));
    }
    let place = |i: usize| -> PathBuf { if boots == 1 { out.into() } else { out.join(format!("boot-{}", i + 1)) } };
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<(usize, Result<LabRun, LabError>)>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= boots {
                return;
            }
            let run = prove(options, seed.wrapping_add(i as u64), &place(i), cache);
            observer.booted(&options.kernel.name, i + 1, boots, &run);
            if run.is_err() {
                // Running boots finish, but no further one is started.
                next.store(boots, Ordering::Relaxed);
            }
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((i, run));
        }
    };
    thread::scope(|scope| {
        for _ in 1..jobs.clamp(1, boots) {
            // With one thread fewer, one guest fewer runs at a time; the first one runs in this thread.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.arrange_by_key(|(i, _)| *i);
    let runs = results.into_iter().map(|(_, run)| run).collect::<Result<Vec<_>, _>>()?;
    Ok(Proven { runs })
}
