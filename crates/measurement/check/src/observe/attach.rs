//! Opens the events of a program that starts, and of processes that are running.

use super::{CheckError, CheckOptions, Session, monotonic, threads_of, tids};
use crate::recorder::Probeable;
use crate::sources::{ALLOCATORS, MARK};
use crate::subject::{mappings, program_file};
use punctual_journal::Journal;
use punctual_perf::{Buffer, Source, Spec, Target};
use punctual_stacks::Images;
use punctual_tracefs::{Place, Tracefs, Uprobe};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Paths of C libraries, for probes before the program has mapped its own.
const C_LIBRARIES: [&str; 8] = [
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/aarch64-linux-gnu/libc.so.6",
    "/usr/lib/arm-linux-gnueabihf/libc.so.6",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib64/libc.so.6",
    "/lib64/libc.so.6",
    "/usr/lib/libc.so.6",
    "/lib/libc.so.6",
];

/// Finds the file to execute.
pub(super) fn runnable(words: &[std::ffi::OsString]) -> Result<PathBuf, CheckError> {
    use std::os::unix::fs::MetadataExt;
    let word =
        words.first().ok_or_else(|| CheckError::Usage("no program specified: punctual check -- PROGRAM".into()))?;
    let shown = word.to_string_lossy();
    let file = program_file(word).ok_or_else(|| {
        let advice = match (shown.contains('/'), fs::exists(word)) {
            (true, _) => "",
            (false, Ok(true)) => " in PATH; for the one in this directory: punctual check -- ./",
            (false, _) => " in PATH",
        };
        let named = if advice.ends_with('/') { shown.as_ref() } else { "" };
        CheckError::Usage(format!("program {shown} not found{advice}{named}"))
    })?;
    let meta = fs::metadata(&file).map_err(|e| CheckError::Usage(format!("{}: {e}", file.display())))?;
    if !meta.is_file() || meta.mode() & 0o111 == 0 {
        return Err(CheckError::Usage(format!("{} is not an executable file", file.display())));
    }
    let is_own = meta.uid() == rustix::process::geteuid().as_raw();
    if meta.mode() & 0o6000 != 0 && !is_own {
        return Err(CheckError::Environment(format!(
            "{} is set-user-ID: the kernel ends the observation when such a program starts. Start it yourself, then: punctual check --pid PID",
            file.display()
        )));
    }
    Ok(file)
}

/// The function at which real-time work begins.
pub(super) struct Mark {
    function: String,
    path: PathBuf,
    offset: u64,
}

/// Finds the function of [`CheckOptions::from`] in the program.
///
/// # Errors
/// The program has no such function.
pub(super) fn mark_of(
    options: &CheckOptions,
    program: Option<&Path>,
    pids: &[i32],
) -> Result<Option<Mark>, CheckError> {
    let Some(function) = &options.from else { return Ok(None) };
    let running = || pids.iter().find_map(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok());
    let path = program.and_then(|program| fs::canonicalize(program).ok()).or_else(running);
    let found = path.map(|path| {
        let elf = Images::default().of_process(pids.first().copied().unwrap_or(0), &path);
        let place = elf.as_ref().map(|elf| elf.functions(&[function]).into_iter().next());
        (path, place)
    });
    match found {
        Some((path, Some(Some((_, offset))))) => Ok(Some(Mark { function: function.clone(), path, offset })),
        Some((path, Some(None))) => Err(CheckError::Usage(format!(
            "--from {function}: {0} has no function of this name, or it is inlined (declare it noinline), or the symbols were stripped: nm {0} \
             lists those it has. If {0} only starts the program, check that itself, or give --after TIME",
            path.display()
        ))),
        Some((path, None)) => Err(CheckError::Usage(format!(
            "--from {function}: {} is no ELF file, so its functions are unknown; give the time with --after TIME",
            path.display()
        ))),
        None => {
            Err(CheckError::Usage(format!("--from {function}: the program's file cannot be read; give --after TIME")))
        }
    }
}

impl Session {
    pub(super) fn open_starting(
        &mut self,
        mark: Option<Mark>,
        pid: i32,
        program: Option<&Path>,
    ) -> Result<(), CheckError> {
        self.recorder.add_thread(pid, pid, 0);
        self.open(Target::Starting(pid))?;
        self.mark_from(mark, Target::Starting(pid));
        // These are the files that the program will map, as far as known.
        let mut images = Images::default();
        let files = program.into_iter().chain(C_LIBRARIES.iter().map(Path::new));
        for path in files.filter_map(|path| fs::canonicalize(path).ok()) {
            let Some(elf) = images.of_process(pid, &path) else { continue };
            let functions = elf.functions(ALLOCATORS);
            if !functions.is_empty() {
                let file = Probeable { elf, functions };
                self.probes.add(&mut self.observer, &mut self.recorder, &file, Target::Starting(pid));
            }
        }
        Ok(())
    }

    pub(super) fn attach(&mut self, mark: Option<Mark>, pids: &[i32]) -> Result<(), CheckError> {
        let threads = threads_of(pids);
        self.open(Target::Threads(&tids(&threads)))?;
        let now = monotonic();
        for (pid, tid) in &threads {
            self.recorder.add_thread(*pid, *tid, now);
        }
        for pid in pids {
            for (start, length, offset, path) in mappings(*pid) {
                self.recorder.add_mapping(*pid, start, length, offset, &path);
            }
        }
        self.mark_from(mark, Target::Threads(&tids(&threads)));
        self.probe();
        // What happened before is not observed anyway.
        self.late.clear();
        let known: HashSet<i32> = threads.iter().map(|(_, tid)| *tid).collect();
        let missed = threads_of(pids).into_iter().filter(|(_, tid)| !known.contains(tid)).count();
        if missed > 0 {
            self.miss(
                "threads created while attaching",
                format!("{missed} may not be observed completely: check again"),
            );
        }
        self.notes.push("attached while it was running: the origin of policies and earlier events are unknown".into());
        Ok(())
    }

    /// Observes the function at which real-time work begins.
    fn mark_from(&mut self, mark: Option<Mark>, target: Target) {
        let Some(Mark { function, path, offset }) = mark else { return };
        let name = format!("the call of {function}");
        let place = Place::new(&path, offset);
        let defined = Tracefs::find().and_then(|tracefs| Uprobe::define(&tracefs, &Journal::of_user(), &place));
        let uprobe = match defined {
            Ok(uprobe) => uprobe,
            Err(error) => return self.miss(&name, error.to_string()),
        };
        let spec = Spec { source: Source::Tracepoint(uprobe.id()), stack: 0, tag: MARK, filter: None };
        self.mark = Some(uprobe);
        match self.observer.open(&spec, target, Buffer::Main, true) {
            Err(error) => self.miss(&name, error.to_string()),
            Ok(_) => self.found(&name),
        }
    }
}
