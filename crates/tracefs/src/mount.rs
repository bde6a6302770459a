//! Where tracefs is.

use crate::error::TracefsError;
use std::fs;
use std::path::{Path, PathBuf};

/// A mounted tracefs.
#[derive(Clone, Debug)]
pub struct Tracefs {
    root: PathBuf,
}

impl Tracefs {
    /// The one of this system.
    ///
    /// # Errors
    /// [`TracefsError::NotMounted`], [`TracefsError::Denied`].
    pub fn find() -> Result<Tracefs, TracefsError> {
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let usual = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(String::from);
        // Looking into /sys/kernel/debug/tracing mounts it where debugfs is mounted.
        let found = mounted(&mounts).into_iter().chain(usual).find(|path| Path::new(path).join("trace_clock").exists());
        if let Some(root) = found {
            return Ok(Tracefs { root: root.into() });
        }
        match fs::read_dir("/sys/kernel/tracing") {
            Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                Err(TracefsError::Denied { path: "/sys/kernel/tracing".into(), source })
            }
            _ => Err(TracefsError::NotMounted),
        }
    }

    /// A folder that looks like tracefs, for tests.
    pub fn at(root: impl Into<PathBuf>) -> Tracefs {
        Tracefs { root: root.into() }
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Tracers that the kernel has, such as `timerlat`, `wakeup_rt`, `function`.
    pub fn tracers(&self) -> Vec<String> {
        let list = fs::read_to_string(self.root.join("available_tracers")).unwrap_or_default();
        list.split_whitespace().map(String::from).collect()
    }
}

/// Mount points of type tracefs; blanks in them are written as octal (proc_pid_mounts(5)).
fn mounted(mounts: &str) -> Vec<String> {
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    fields.filter(|f| f.get(2) == Some(&"tracefs")).filter_map(|f| Some(f.get(1)?.replace("\\040", " "))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_points_by_type() {
        let mounts = "proc /proc proc rw 0 0\nt /a\\040b tracefs rw,relatime 0 0\nx /y ext4 rw 0 0\nbroken\n";
        assert_eq!(mounted(mounts), ["/a b"]);
    }
}
