//! Opens the events of a program that starts, and of processes that are running.

use super::{CheckError, CheckOptions, Session, monotonic, threads_of, tids};
use crate::recorder::Probeable;
use crate::sources::{ALLOCATORS, MARK};
use crate::subject::{Subject, mappings, program_file};
use punctual_journal::Journal;
use punctual_perf::{Buffer, Source, Spec, Target};
use punctual_stacks::Images;
use punctual_tracefs::{Tracefs, Uprobe};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

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

impl Session {
    pub(super) fn open_starting(
        &mut self,
        options: &CheckOptions,
        pid: i32,
        program: Option<&Path>,
    ) -> Result<(), CheckError> {
        self.recorder.add_thread(pid, pid, 0);
        self.open(Target::Starting(pid))?;
        self.mark_from(options, Target::Starting(pid));
        // The files that the program will map, as far as they are known.
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

    pub(super) fn attach(&mut self, options: &CheckOptions, pids: &[i32]) -> Result<(), CheckError> {
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
        self.mark_from(options, Target::Threads(&tids(&threads)));
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
    pub(super) fn mark_from(&mut self, options: &CheckOptions, target: Target) {
        let Some(function) = &options.from else { return };
        let pids: HashSet<i32> = self.recorder.tids().map(|(pid, _)| pid).collect();
        let file = match &options.subject {
            Subject::Command(words) => words.first().and_then(program_file),
            _ => pids.iter().find_map(|pid| fs::read_link(format!("/proc/{pid}/exe")).ok()),
        };
        let place = file.as_ref().and_then(|file| {
            let real = fs::canonicalize(file).ok()?;
            let (_, offset) = Images::default().of_process(0, &real)?.functions(&[function]).into_iter().next()?;
            Some((real, offset))
        });
        let name = format!("the call of {function}");
        let Some((path, offset)) = place else {
            self.miss(&name, format!("the program has no function {function}, or it is inlined (declare it noinline): nm lists those it has"));
            return;
        };
        let defined =
            Tracefs::find().and_then(|tracefs| Uprobe::define(&tracefs, &Journal::of_user(), &path, offset, ""));
        let uprobe = match defined {
            Ok(uprobe) => uprobe,
            Err(error) => return self.miss(&name, error.to_string()),
        };
        let spec = Spec { source: Source::Tracepoint(uprobe.id()), stack: 0, tag: MARK };
        self.mark = Some(uprobe);
        match self.observer.open(&spec, target, Buffer::Main, true) {
            Err(error) => self.miss(&name, error.to_string()),
            Ok(_) => self.found(&name),
        }
    }
}
