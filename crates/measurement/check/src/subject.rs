//! The subject of a check: a program to start, processes, or a control group.

use crate::system::{Live, System};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Command(Vec<OsString>),
    Pid(i32),
    /// A directory of cgroup v2 or of a v1 hierarchy.
    Cgroup(PathBuf),
}

impl Subject {
    pub fn name(&self) -> String {
        match self {
            Subject::Command(words) => {
                words.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
            }
            Subject::Pid(pid) => {
                let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
                format!("{} (process {pid})", name.trim_end())
            }
            Subject::Cgroup(path) => path.display().to_string(),
        }
    }

    /// Returns the IDs of the subject's current processes; empty for a program that has not been started.
    ///
    /// # Errors
    ///
    /// Fails if the process or group does not exist.
    pub fn pids(&self) -> Result<Vec<i32>, String> {
        match self {
            Subject::Command(_) => Ok(Vec::new()),
            Subject::Pid(pid) => match Live.who(*pid) {
                Some((name, true)) => Err(format!(
                    "{pid} ({name}) is a thread of the kernel, not of a program; to find its delays, use punctual prove or punctual sections"
                )),
                Some((_, false)) => Ok(vec![*pid]),
                None => Err(format!("no process {pid}: ps -e lists the running processes")),
            },
            Subject::Cgroup(path) => {
                if !path.join("cgroup.procs").exists() {
                    return Err(format!(
                        "no control group {}: give its directory, which has a file cgroup.procs; /proc/PID/cgroup names that of a process",
                        path.display()
                    ));
                }
                let mut pids = Vec::new();
                of_group(path, &mut pids);
                pids.retain(|pid| Live.who(*pid).is_none_or(|(_, is_kernel)| !is_kernel));
                match pids.is_empty() {
                    true => Err(format!("no process in the control group {}", path.display())),
                    false => Ok(pids),
                }
            }
        }
    }
}

/// Adds the processes of the group and of its descendants.
fn of_group(path: &Path, pids: &mut Vec<i32>) {
    let text = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    pids.extend(text.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            of_group(&entry.path(), pids);
        }
    }
}

/// Returns the executable mappings of a process: start, length, offset, path.
pub fn mappings(pid: i32) -> Vec<(u64, u64, u64, PathBuf)> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

/// Parses a line such as `7f00-7f10 r-xp 00001000 08:01 42   /usr/lib/libc.so.6`: proc_pid_maps(5).
fn mapping(line: &str) -> Option<(u64, u64, u64, PathBuf)> {
    let mut words = line.splitn(6, ' ');
    let (start, end) = words.next()?.split_once('-')?;
    let is_executable = words.next()?.contains('x');
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let (start, end, offset) = (hex(start)?, hex(end)?, hex(words.next()?)?);
    let path = words.nth(2)?.trim();
    is_executable.then(|| Some((start, end.checked_sub(start)?, offset, PathBuf::from(path)))).flatten()
}

/// Returns the file that a command executes, as execvp(3) finds it.
pub fn program_file(word: &OsString) -> Option<PathBuf> {
    let path = Path::new(word);
    if word.to_string_lossy().contains('/') {
        return path.exists().then(|| path.to_owned());
    }
    let search = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    std::env::split_paths(&search).map(|folder| folder.join(path)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_mappings_are_read() {
        let line = "7f0000-7f2000 r-xp 00001000 08:01 42                 /opt/my app/lib.so";
        assert_eq!(mapping(line), Some((0x7f_0000, 0x2000, 0x1000, PathBuf::from("/opt/my app/lib.so"))));
        assert_eq!(mapping("7f0000-7f2000 rw-p 00001000 08:01 42 /a"), None);
        for bad in ["", "x", "7f-", "2-1 r-xp 0 0:0 0 /a"] {
            assert_eq!(mapping(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_there_is_refused() {
        assert!(Subject::Pid(i32::MAX).pids().is_err());
        assert!(Subject::Pid(std::process::id().cast_signed()).pids().is_ok());
        let group = tempfile::tempdir().unwrap();
        let refused = || Subject::Cgroup(group.path().to_owned()).pids().unwrap_err();
        assert!(refused().starts_with("no control group "));
        std::fs::write(group.path().join("cgroup.procs"), "").unwrap();
        assert!(refused().starts_with("no process in the control group "));
        assert_eq!(program_file(&"no-such-program-anywhere".into()), None);
    }
}
