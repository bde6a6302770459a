//! Runs this program on another machine: copies it, starts it so that it continues if the connection is lost, and waits
//! until it has ended.

use crate::error::{RemoteError, file};
use crate::link::{quoted, shown};
use crate::{Ended, Job, Link, upload};
use punctual_model::Argv;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// A machine that has a copy of this program.
#[derive(Debug)]
pub struct Remote<'l> {
    pub link: &'l Link,
    /// Path of the program on the target, relative to the home directory.
    pub program: String,
    pub needs_sudo: bool,
    pub has_root: bool,
}

impl<'l> Remote<'l> {
    /// Copies the program to the target.
    ///
    /// # Errors
    /// The program is for another architecture, or the target cannot be reached.
    pub fn with_program(link: &'l Link, program: &Path) -> Result<Remote<'l>, RemoteError> {
        let (machine, is_root, has_sudo) = link.who()?;
        let refused = |what: String| Err(RemoteError::Refused(what));
        match arch_of_program(program)? {
            Some(arch) if is_same(arch, &machine) => {}
            Some(arch) => {
                let what = format!(
                    "{} is for {arch}, but {} is {machine}: choose a matching one with --binary FILE (cargo xtask cross)",
                    program.display(),
                    link.target
                );
                return refused(what);
            }
            None => {
                return refused(format!(
                    "{} is not an executable for a supported architecture: choose another with --binary FILE",
                    program.display()
                ));
            }
        }
        let there = upload(link, program)?;
        link.output(&format!("chmod 700 {}", quoted(&there)))?;
        let said = link.output(&format!("\"$HOME\"/{} --version 2>&1 || true", quoted(&there)))?;
        if !said.starts_with("punctual ") {
            let what = format!(
                "{} does not run on {}: {}: choose a statically linked program with --binary FILE",
                program.display(),
                link.target,
                shown(&said)
            );
            return refused(what);
        }
        Ok(Remote { link, program: there, needs_sudo: !is_root && has_sudo, has_root: is_root || has_sudo })
    }

    /// Starts the program with these arguments, as [`Job::start`] does.
    pub fn start(&self, job: &Job, words: &[String]) -> Result<(), RemoteError> {
        let argv = std::iter::once(format!("{{home}}/{}", self.program)).chain(words.iter().cloned()).collect();
        job.start(self.link, &Argv(argv), self.needs_sudo)
    }

    /// Runs the program until it ends.
    ///
    /// # Errors
    /// The target could not be reached for longer than `patience`.
    pub fn run(&self, name: &str, words: &[String], patience: Duration) -> Result<Ended, RemoteError> {
        let job = Job::new(name);
        self.start(&job, words)?;
        let ended = job.wait(self.link, patience)?;
        job.remove(self.link)?;
        Ok(ended)
    }
}

/// Values of e_machine (elf(5)), each with the architecture in the form of `uname -m`.
const MACHINES: [(u16, &str); 4] = [(62, "x86_64"), (183, "aarch64"), (40, "armv7l"), (243, "riscv64")];

/// Returns the architecture of a program in the form of `uname -m`; `None` if it is unknown or the file is not a
/// program.
fn arch_of_program(path: &Path) -> Result<Option<&'static str>, RemoteError> {
    let mut head = Vec::new();
    let opened = File::open(path).map_err(file("open", path))?;
    opened.take(20).read_to_end(&mut head).map_err(file("read", path))?;
    let machine = head.get(18..20).and_then(|bytes| <[u8; 2]>::try_from(bytes).ok()).map(u16::from_le_bytes);
    let is_elf = head.starts_with(b"\x7fELF");
    Ok(MACHINES.iter().find(|(number, _)| is_elf && machine == Some(*number)).map(|(_, arch)| *arch))
}

/// Returns true if a program for `arch` runs on `machine`. 32-bit Arm programs also run on armv8 in 32-bit mode, for
/// which `uname -m` prints `armv8l`.
fn is_same(arch: &str, machine: &str) -> bool {
    arch == machine || (arch == "armv7l" && (machine.starts_with("armv7") || machine.starts_with("armv8")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_tell_their_processor() {
        let home = tempfile::tempdir().unwrap();
        // This is what uname(2) returns.
        let own = if cfg!(target_arch = "arm") { "armv7l" } else { std::env::consts::ARCH };
        assert_eq!(arch_of_program(Path::new("/proc/self/exe")).unwrap(), Some(own));
        let script = home.path().join("script");
        std::fs::write(&script, b"#!/bin/sh\n").unwrap();
        assert_eq!(arch_of_program(&script).unwrap(), None);
    }
}
