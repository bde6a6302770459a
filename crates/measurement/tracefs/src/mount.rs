use crate::error::TracefsError;
use punctual_journal::tracefs;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A mounted tracefs, or a detached mount of this process.
#[derive(Clone, Debug)]
pub struct Tracefs {
    root: PathBuf,
    is_own: bool,
}

impl Tracefs {
    /// Finds the mounted tracefs, or creates a detached mount ([`tracefs::own`]), which exists until this process ends
    /// and appears in no mount table.
    ///
    /// # Errors
    /// [`TracefsError::NotMounted`], [`TracefsError::Denied`].
    pub fn find() -> Result<Tracefs, TracefsError> {
        let usual = Path::new("/sys/kernel/tracing");
        if let Some(root) = tracefs::mounted().or_else(|| readable(usual)) {
            return Ok(Tracefs::at(root));
        }
        let refused = match tracefs::own() {
            Ok(root) => return Ok(Tracefs { root: root.into(), is_own: true }),
            Err(e) => e,
        };
        // Tried last, because accessing it mounts tracefs if debugfs is mounted.
        if let Some(root) = readable(Path::new("/sys/kernel/debug/tracing")) {
            return Ok(Tracefs::at(root));
        }
        match fs::read_dir(usual) {
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                Err(TracefsError::Denied { path: usual.into(), source })
            }
            _ => Err(TracefsError::NotMounted { own: why_no_own(&refused) }),
        }
    }

    /// Uses a directory with the layout of tracefs, for tests.
    pub fn at(root: impl Into<PathBuf>) -> Tracefs {
        Tracefs { root: root.into(), is_own: false }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Describes this tracefs for the user, for example `mounted at /sys/kernel/tracing` or `own detached mount`.
    pub fn place(&self) -> String {
        match self.is_own {
            true => "own detached mount".into(),
            false => format!("mounted at {}", self.root.display()),
        }
    }

    /// Like [`Tracefs::find`], for callers that look up threads by the IDs in events.
    ///
    /// # Errors
    /// Those of [`Tracefs::find`], and [`TracefsError::Namespace`].
    pub fn of_threads() -> Result<Tracefs, TracefsError> {
        match is_initial(fs::read_link("/proc/self/ns/pid")) {
            true => Tracefs::find(),
            false => Err(TracefsError::Namespace),
        }
    }

    /// Returns the tracers of this kernel, for example `timerlat`, `wakeup_rt`, `function`.
    ///
    /// # Errors
    /// `available_tracers` cannot be read.
    pub fn tracers(&self) -> Result<Vec<String>, TracefsError> {
        let path = self.root.join("available_tracers");
        let list = fs::read_to_string(&path).map_err(TracefsError::on(path))?;
        Ok(list.split_whitespace().map(String::from).collect())
    }
}

/// Returns true if the link /proc/self/ns/pid refers to the initial PID namespace, whose inode number is fixed
/// (PROC_PID_INIT_INO, include/linux/proc_ns.h), or if there is no such link because the kernel lacks CONFIG_PID_NS.
fn is_initial(link: io::Result<PathBuf>) -> bool {
    const INITIAL: &str = "pid:[4026531836]";
    link.map_or_else(|e| e.kind() == io::ErrorKind::NotFound, |link| link.as_os_str() == INITIAL)
}

fn readable(folder: &Path) -> Option<PathBuf> {
    folder.join("trace_clock").exists().then(|| folder.into())
}

fn why_no_own(refused: &io::Error) -> String {
    use rustix::io::Errno;
    match Errno::from_io_error(refused) {
        Some(Errno::PERM) => "that requires CAP_SYS_ADMIN: run as root".into(),
        Some(Errno::NOSYS) => "this kernel has no fsopen(2), which came with Linux 5.2".into(),
        Some(Errno::NODEV) => "this kernel has no tracefs".into(),
        _ => format!("fsopen(2), fsmount(2): {refused}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_there_is_no_own_mount_is_told_with_what_to_do() {
        let said = |code| {
            let own = why_no_own(&io::Error::from_raw_os_error(code));
            TracefsError::NotMounted { own }.to_string()
        };
        for (errno, word) in [
            (rustix::io::Errno::PERM, "CAP_SYS_ADMIN: run as root"),
            (rustix::io::Errno::NOSYS, "Linux 5.2"),
            (rustix::io::Errno::NODEV, "no tracefs"),
            (rustix::io::Errno::NOMEM, "fsopen(2)"),
        ] {
            let text = said(errno.raw_os_error());
            assert!(text.contains(word) && text.contains("mount -t tracefs nodev /sys/kernel/tracing"), "{text}");
        }
    }

    #[test]
    fn thread_ids_of_events_are_those_of_the_initial_namespace() {
        assert!(is_initial(Ok("pid:[4026531836]".into())));
        assert!(!is_initial(Ok("pid:[4026532281]".into())));
        assert!(is_initial(Err(io::ErrorKind::NotFound.into())));
        assert!(!is_initial(Err(io::ErrorKind::PermissionDenied.into())));
        let said = TracefsError::Namespace.to_string();
        assert!(said.contains("thread IDs of the initial one") && said.contains("--pid=host"), "{said}");
    }

    #[test]
    fn a_folder_is_told_by_its_path() {
        assert_eq!(Tracefs::at("/t").place(), "mounted at /t");
    }
}
