//! Tests symbolic and hard links at the names of results: before, while and after the results are created.

use super::{Field, TARGETS, attacker};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Names that a run creates or uses for incomplete files, in addition to [`TARGETS`].
const OTHERS: [&str; 7] =
    [".run.json.new", ".manifest.json.new", ".report.html.new", ".worst.jsonl.new", "hist", "traces", "segments"];

pub(super) fn run(field: &Field) -> Result<String, String> {
    let before = before(field)?;
    let (runs, links) = during(field)?;
    let after = after(field)?;
    Ok(format!(
        "links: {before} at the folder's own name refused; {links} created inside during {runs} runs; {after} at files that are \
         replaced afterwards; 0 files outside changed"
    ))
}

/// Tests a folder whose own name is a link, and one that belongs to another user.
fn before(field: &Field) -> Result<u64, String> {
    let out = field.home().join("run");
    let shown = out.display().to_string();
    let words = ["measure", "--quiet", "--duration", "100ms", "--out", &shown];
    let mut refused = 0;
    for target in [field.victim(), field.victim().join("new"), field.victim().join("secret")] {
        {
            let _attacker = attacker()?;
            symlink(&target, &out).map_err(|e| e.to_string())?;
        }
        for output in [field.sudo(&words)?, field.root(&words)?] {
            if output.status.success() {
                return Err(format!("a link to {} at the folder's name was followed", target.display()));
            }
            refused += 1;
        }
        field.is_untouched("a link at the folder's name")?;
        fs::remove_file(&out).map_err(|e| e.to_string())?;
    }
    // Runs as root, in a directory of another user.
    let output = field.root(&words)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() || !said.contains("--owner") {
        return Err(format!("root wrote in another user's folder: {}, {said}", output.status));
    }
    Ok(refused + 1)
}

/// Tests a run while a thread creates links at every possible name as soon as the folder exists.
fn during(field: &Field) -> Result<(u64, u64), String> {
    let (stop, links) = (AtomicBool::new(false), AtomicU64::new(0));
    let out = field.home().join("run");
    let shown = out.display().to_string();
    std::thread::scope(|scope| {
        // The attacker creates symbolic links; root creates hard links, as with fs.protected_hardlinks = 0.
        scope.spawn(|| inject(field, &out, &stop, &links, true));
        scope.spawn(|| inject(field, &out, &stop, &links, false));
        let mut runs = 0;
        let tried = (0..6).try_for_each(|n| {
            let command = if n % 2 == 0 { "prove" } else { "measure" };
            let words =
                [command, "--quiet", "--duration", "1s", "--load", "idle", "--trace", "always", "--out", &shown];
            field.sudo(&words)?;
            runs += 1;
            field.is_untouched("links inside during a run")?;
            let _ = fs::remove_dir_all(&out);
            Ok(())
        });
        stop.store(true, Relaxed);
        tried.map(|()| (runs, links.load(Relaxed)))
    })
}

fn inject(field: &Field, out: &Path, stop: &AtomicBool, links: &AtomicU64, symbolic: bool) {
    let victim = field.victim();
    let _attacker = symbolic.then(attacker);
    while !stop.load(Relaxed) {
        for name in TARGETS.iter().chain(&OTHERS).chain(&["traces/1-idle-2.dat", "traces/1-idle-1.json"]) {
            let at = out.join(name);
            let made = match symbolic {
                true => {
                    // What the run creates belongs to the attacker, who owns the directory and can remove and replace
                    // it at will.
                    let _ = fs::remove_file(&at).or_else(|_| fs::remove_dir(&at));
                    symlink(victim.join(TARGETS.iter().find(|known| *known == name).unwrap_or(&"secret")), &at)
                }
                false => fs::hard_link(victim.join("secret"), &at).and_then(|()| {
                    std::thread::yield_now();
                    fs::remove_file(&at)
                }),
            };
            links.fetch_add(u64::from(made.is_ok()), Relaxed);
        }
        // Pauses so that the program can continue; otherwise nothing would be written at all.
        std::thread::sleep(Duration::from_micros(500));
    }
    let _ = fs::remove_dir_all(out);
}

/// Tests a finished run: its files, and the files next to a report, are replaced by links before they are written
/// again.
fn after(field: &Field) -> Result<u64, String> {
    let out = field.home().join("bench");
    let shown = out.display().to_string();
    let page = field.home().join("page.html");
    let run = field.home().join("done");
    let done = run.display().to_string();
    let output = field.sudo(&["measure", "--quiet", "--duration", "200ms", "--out", &done])?;
    if !output.status.success() {
        return Err(format!("a run without an attack failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let mut tried = 0;
    for target in ["secret", "run.json"] {
        for (path, words) in [
            (page.clone(), vec!["report", &done, "--format", "html", "--out", page.to_str().unwrap_or_default()]),
            (out.clone(), vec!["bench", "memory", "--quiet", "--resume", &shown]),
        ] {
            {
                let _attacker = attacker()?;
                symlink(field.victim().join(target), &path).map_err(|e| e.to_string())?;
            }
            for output in [field.sudo(&words)?, field.root(&words)?] {
                tried += u64::from(!output.status.success());
            }
            field.is_untouched("a link at a file that is written afterwards")?;
            fs::remove_file(&path).map_err(|e| e.to_string())?;
        }
    }
    Ok(tried)
}
