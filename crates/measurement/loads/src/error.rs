use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("`{given}` is not a load: use {known}, or cmd:'ANY SHELL COMMAND'")]
    Unknown { given: String, known: String },
    #[error("`cmd:` needs a command, for example cmd:'make -j4'")]
    NoCommand,
    #[error(
        "the load `network` needs another machine: run `punctual serve` there, and here add `--peer HOST` \
         (on one machine alone, use the load `loopback`)"
    )]
    NoPeer,
    #[error("a load needs at least one CPU")]
    NoCpu,
    #[error("the load `{load}` did not start: {why}")]
    NotStarted { load: String, why: String },
    #[error("{call}({on}): {source}{}{advice}", if .advice.is_empty() { "" } else { "; " })]
    System { call: &'static str, on: String, source: io::Error, advice: &'static str },
    #[error("{0}")]
    Refused(String),
}

impl LoadError {
    /// Returns true for an error in the command line (exit code 2), false for an error of the machine (exit code 4).
    pub fn is_usage(&self) -> bool {
        matches!(self, LoadError::Unknown { .. } | LoadError::NoCommand | LoadError::NoPeer | LoadError::NoCpu)
    }

    pub(crate) fn system(call: &'static str, on: impl Into<String>, source: impl Into<io::Error>) -> LoadError {
        let source = source.into();
        let advice = advice(&source);
        LoadError::System { call, on: on.into(), source, advice }
    }

    /// Returns a function for `map_err` that converts the error of a system call.
    pub(crate) fn on<E: Into<io::Error>>(call: &'static str, on: impl Into<String>) -> impl FnOnce(E) -> LoadError {
        let on = on.into();
        move |source| LoadError::system(call, on, source)
    }
}

fn advice(error: &io::Error) -> &'static str {
    use io::ErrorKind::{OutOfMemory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, WouldBlock};
    match error.kind() {
        StorageFull => "the disk is full: free space (`df -h`) or choose another folder with --scratch DIR",
        QuotaExceeded => "the disk quota is used up: choose another folder with --scratch DIR",
        ReadOnlyFilesystem => "mounted read-only: choose a writable folder with --scratch DIR",
        PermissionDenied => "not permitted for this user: see `ls -ld`, or choose another folder with --scratch DIR",
        OutOfMemory => "out of memory: see `free -m` and the memory limit of the cgroup",
        WouldBlock => "a limit is reached: see `ulimit -u`, `ulimit -n` and pids.max of the cgroup",
        _ if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => {
            "the device reports errors: see `dmesg | tail`"
        }
        _ if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            "too many open files: raise `ulimit -n`"
        }
        _ => "",
    }
}

impl From<punctual_uapi::Error> for LoadError {
    fn from(error: punctual_uapi::Error) -> Self {
        LoadError::system(error.call, error.on, error.source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::io::Errno;

    #[test]
    fn known_errors_come_with_advice() {
        for (errno, word) in [
            (Errno::NOSPC, "--scratch"),
            (Errno::ROFS, "--scratch"),
            (Errno::ACCESS, "--scratch"),
            (Errno::DQUOT, "quota"),
            (Errno::IO, "dmesg"),
            (Errno::AGAIN, "ulimit -u"),
            (Errno::MFILE, "ulimit -n"),
            (Errno::NOMEM, "free -m"),
        ] {
            let text = LoadError::system("write", "/x", errno).to_string();
            assert!(text.starts_with("write(/x): ") && text.contains(word), "{text}");
        }
    }
}
