use crate::error::LabError;
use crate::options::LabOptions;
use crate::script::{PROGRAM, RUN, script};
use punctual_judge::VIRTUAL_CONTROLS;
use punctual_model::{Recording, Verdict};
use punctual_vm::{self as vm, Booted, Cache, Disk, FileIn, Guest, Qemu};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug)]
pub struct LabRun {
    /// The run directory as the guest wrote it.
    pub root: PathBuf,
    pub recording: Recording,
    pub verdict: Verdict,
    pub seed: u64,
    /// Duration on the host's clock.
    pub lasted: Duration,
}

/// Boots the kernel, proves it inside, and copies the run directory to `out`, which must be missing or empty.
///
/// # Errors
/// The guest reaches no verdict. In that case `out` is unchanged.
pub fn prove(options: &LabOptions, seed: u64, out: &Path, cache: &Cache) -> Result<LabRun, LabError> {
    refuse_used(out)?;
    let mut guest = guest(options);
    let model = options.model(seed, &Qemu::for_guest(&guest, cache)?);
    guest.script = script(&with_control(options), seed, &model);
    let aside = aside(out);
    LabError::make(&aside)?;
    let result = boot_into(&guest, &aside, out, cache);
    // The temporary folder is empty, or unusable.
    let removed = fs::remove_dir_all(&aside).map_err(LabError::file("remove", &aside));
    let booted = result?;
    removed?;
    let recording = punctual_rundir::read(out)?;
    let verdict = punctual_judge::judge_with_tails(&recording, &recording.run.settings.claims);
    Ok(LabRun { root: out.to_owned(), recording, verdict, seed, lasted: booted.lasted })
}

fn boot_into(guest: &Guest, aside: &Path, out: &Path, cache: &Cache) -> Result<Booted, LabError> {
    let booted = vm::boot(guest, cache, Some(aside))?;
    let run = aside.join(RUN.trim_start_matches('/'));
    // 0 (pass), 1 (fail) and 3 (inconclusive) are verdicts. With any other code there is no result.
    if !matches!(booted.exit_code, 0 | 1 | 3) || !run.join("run.json").is_file() {
        let lines: Vec<&str> = booted.console.lines().collect();
        let said = lines[lines.len().saturating_sub(12)..].join("\n");
        return Err(LabError::Guest { code: booted.exit_code, said });
    }
    if out.is_dir() {
        fs::remove_dir(out).map_err(LabError::file("replace", out))?;
    }
    fs::rename(&run, out).map_err(LabError::file("rename", &run))?;
    Ok(booted)
}

fn guest(options: &LabOptions) -> Guest {
    let mut guest = Guest::new(options.machine, options.kernel.clone(), "");
    guest.cpus = options.cpus;
    guest.memory_mib = options.memory_mib;
    guest.clock = options.clock();
    guest.files = vec![FileIn { path: PROGRAM.into(), mode: 0o755, content: options.program.clone() }];
    guest.fetch = vec![RUN.into()];
    guest.disk = Disk::Memory { mib: 192 };
    guest.append = options.append.clone();
    guest.busybox = options.busybox.clone();
    guest.limit = options.limit;
    guest
}

/// Adds the control loads if the guest has several virtual CPUs.
fn with_control(options: &LabOptions) -> LabOptions {
    let mut options = options.clone();
    if options.cpus > 1 {
        options.loads.retain(|l| l != "idle" && !VIRTUAL_CONTROLS.contains(&l.as_str()));
        let front = ["idle"].into_iter().chain(VIRTUAL_CONTROLS).map(String::from);
        options.loads.splice(0..0, front);
    }
    options
}

fn refuse_used(out: &Path) -> Result<(), LabError> {
    let first = match fs::read_dir(out) {
        Ok(mut entries) => entries.next(),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
        Err(source) => return Err(LabError::File { what: "use", path: out.into(), source }),
    };
    match first {
        None => Ok(()),
        Some(_) => Err(LabError::Usage(format!("{} is not empty: give a new folder with --out", out.display()))),
    }
}

/// Returns a temporary folder on the same file system, so that the run directory is complete from the moment at which
/// it appears.
fn aside(out: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(out.file_name().unwrap_or_default());
    name.push(".booting");
    out.with_file_name(name)
}
