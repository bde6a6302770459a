//! Compares two kernels, each booted several times with the same seeds.
//!
//! One boot is one sample: its wakeups share memory layout, order of loads and phase.

use crate::boots::{LabObserver, Proven, prove_boots};
use crate::error::LabError;
use crate::options::LabOptions;
use punctual_compare::{Refused, Side};
use punctual_model::{Comparison, ComparisonDrawings};
use punctual_vm::Cache;
use std::fs;
use std::path::Path;

#[derive(Debug)]
pub struct Compared {
    pub comparison: Comparison,
    /// Data for the charts.
    pub drawings: ComparisonDrawings,
    pub a: Proven,
    pub b: Proven,
}

/// Boots each kernel `boots` times with consecutive seeds starting at `seed`, into `out/a` and `out/b`.
///
/// # Errors
/// A boot reaches no verdict, or machines or settings differ in more than the kernel.
pub fn compare(
    [a, b]: [&LabOptions; 2],
    seed: u64,
    boots: usize,
    jobs: usize,
    out: &Path,
    cache: &Cache,
    observer: &dyn LabObserver,
) -> Result<Compared, LabError> {
    comparable(a, b)?;
    LabError::make(out)?;
    let group = |options: &LabOptions, name: &str| {
        // A group has several boots even if it is only one: the directory layout must not depend on the number.
        let folder = out.join(name);
        let folder = if boots == 1 { folder.join("boot-1") } else { folder };
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent).map_err(LabError::file("make", parent))?;
        }
        prove_boots(options, seed, boots, jobs, &folder, cache, observer)
    };
    let (a_runs, b_runs) = (group(a, "a")?, group(b, "b")?);
    let name = |options: &LabOptions| options.kernel.release.clone().unwrap_or_else(|| options.kernel.name.clone());
    let (mut first, mut second) = (name(a), name(b));
    if first == second {
        // The same release, built or booted in two ways, needs distinct names.
        (first, second) = (with_append(first, a), with_append(second, b));
    }
    let sides = sides(&a_runs, &b_runs, (first, second));
    let comparison = punctual_compare::compare(&sides).map_err(|e| refused(&e))?;
    let drawings = punctual_compare::drawings(&sides, &comparison);
    Ok(Compared { comparison, drawings, a: a_runs, b: b_runs })
}

fn with_append(name: String, options: &LabOptions) -> String {
    match options.append.is_empty() {
        true => format!("{name} ({})", options.kernel.name),
        false => format!("{name} {}", options.append.join(" ")),
    }
}

fn comparable(a: &LabOptions, b: &LabOptions) -> Result<(), LabError> {
    match a.machine == b.machine {
        true => Ok(()),
        false => Err(LabError::Usage(format!(
            "{} boots on {}, {} on {}: two machines have two clocks; compare on the same machine",
            a.kernel.name, a.machine, b.kernel.name, b.machine
        ))),
    }
}

fn sides<'a>(a: &'a Proven, b: &'a Proven, names: (String, String)) -> [Side<'a>; 2] {
    let side = |proven: &'a Proven, name: String| Side {
        name,
        folder: proven.runs.first().and_then(|r| r.root.parent()).map(|p| p.display().to_string()),
        runs: proven.runs.iter().map(|r| (format!("seed {}", r.seed), &r.recording)).collect(),
        own_boots: true,
    };
    [side(a, names.0), side(b, names.1)]
}

/// Converts a refusal to compare. Machine and CPUs are checked before booting, so the only remaining reason is that
/// nothing was measured.
fn refused(refused: &Refused) -> LabError {
    LabError::Usage(format!("nothing can be compared ({refused:?}): see the run directories of both kernels"))
}
