//! Swaps a folder in the path of a result with a link to the victim's folder, and back, as fast as possible.

use super::{Field, attacker};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Attacks whole runs: the folder that is swapped is the run directory itself, or the one above it.
pub(super) fn runs(field: &Field, swaps: u64, least: u64) -> Result<String, String> {
    let mut said = Vec::new();
    for (what, out) in [("its run directory", "deep/run"), ("the folder above", "deep")] {
        let swapped = field.home().join(out);
        let (count, runs, whole) = under(field, &swapped, swaps, least, |field, n| {
            let run =
                field.home().join(format!("deep/{}", if out == "deep" { format!("run-{n}") } else { "run".into() }));
            let shown = run.display().to_string();
            let command = if n % 2 == 0 { "prove" } else { "measure" };
            let words =
                [command, "--quiet", "--duration", "1s", "--load", "idle", "--trace", "always", "--out", &shown];
            field.sudo(&words)
        })?;
        said.push(format!("{count} swaps of {what} during {runs} runs, {whole} of them with a result"));
    }
    Ok(format!("runs: {}; 0 files outside changed", said.join("; ")))
}

/// Attacks the writing of single files.
pub(super) fn files(field: &Field, swaps: u64) -> Result<String, String> {
    let done = field.home().join("source");
    let done = done.display().to_string();
    field.sudo(&["measure", "--quiet", "--duration", "200ms", "--out", &done])?;
    let (count, runs, whole) = under(field, &field.home().join("deep"), swaps, 20, |field, n| {
        let page = field.home().join(format!("deep/page-{n}.html")).display().to_string();
        let words = ["report", &done, "--format", "html", "--out", &page];
        if n % 2 == 0 { field.sudo(&words) } else { field.root(&words) }
    })?;
    Ok(format!(
        "files: {count} swaps of the folder during {runs} reports, {whole} of them written; 0 files outside changed"
    ))
}

/// Swaps the folder at least `swaps` times, during at least `least` runs. Returns how many swaps and runs there were,
/// and how many runs succeeded.
fn under(
    field: &Field,
    swapped: &Path,
    swaps: u64,
    least: u64,
    one: impl Fn(&Field, u64) -> Result<std::process::Output, String>,
) -> Result<(u64, u64, u64), String> {
    let _ = fs::remove_dir_all(field.home().join("deep"));
    make(&field.home().join("deep"))?;
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| swap(swapped, &field.victim(), &stop, &count));
        let (mut runs, mut whole) = (0, 0);
        while runs < least || count.load(Relaxed) < swaps {
            // Removes the results of the previous run, wherever they are.
            let _ = fs::remove_dir_all(swapped.with_extension("real"));
            // This may have removed the directory that is swapped, without which there would be no further swap.
            make(&field.home().join("deep"))?;
            let tried = one(field, runs).and_then(|output| field.is_untouched("a swapped folder").map(|()| output));
            match tried {
                Ok(output) => whole += u64::from(output.status.success()),
                Err(e) => {
                    stop.store(true, Relaxed);
                    return Err(e);
                }
            }
            runs += 1;
        }
        stop.store(true, Relaxed);
        Ok((count.load(Relaxed), runs, whole))
    })
}

/// Creates a folder as the attacker. An existing link or folder is kept.
fn make(folder: &Path) -> Result<(), String> {
    let _attacker = attacker()?;
    match fs::create_dir(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(e.to_string()),
        _ => Ok(()),
    }
}

fn swap(folder: &Path, victim: &Path, stop: &AtomicBool, count: &AtomicU64) {
    let Ok(_attacker) = attacker() else { return };
    let aside = folder.with_extension("real");
    while !stop.load(Relaxed) {
        if fs::rename(folder, &aside).is_ok() && symlink(victim, folder).is_ok() {
            std::thread::yield_now();
            count.fetch_add(u64::from(fs::remove_file(folder).is_ok()), Relaxed);
        }
        let _ = fs::rename(&aside, folder);
        // Pauses so that the program can continue; otherwise nothing would be written at all.
        std::thread::sleep(Duration::from_micros(200));
    }
}
