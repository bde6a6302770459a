//! Determines the init system: files for systemd have no effect with another one.

use crate::carry::Doing;
use crate::system::System;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Init {
    Systemd,
    /// Name of process 1: `init` (OpenRC, sysvinit, busybox), `runit`, `s6-svscan`, or a container's program.
    Other(String),
    Unknown,
}

impl Init {
    /// Recognises systemd as sd_booted(3) does; any other init system is identified by the name of process 1.
    pub fn of(sys: &dyn System) -> Init {
        if sys.look(Path::new("/run/systemd/system")).is_ok() {
            return Init::Systemd;
        }
        match sys.read(Path::new("/proc/1/comm")).map(|name| String::from_utf8_lossy(&name).trim().to_owned()) {
            Ok(name) if name == "systemd" => Init::Systemd,
            Ok(name) if !name.is_empty() => Init::Other(name),
            _ => Init::Unknown,
        }
    }

    /// Returns why files and commands of systemd have no effect here; `None` if they have an effect, or it is unknown.
    pub fn without_systemd(&self) -> Option<String> {
        match self {
            Init::Other(name) => Some(format!("this machine does not use systemd: process 1 is `{name}`")),
            Init::Systemd | Init::Unknown => None,
        }
    }

    /// Returns why tmpfiles.d(5) is not read at boot; `None` if it is. On OpenRC, another program may read it.
    pub fn without_tmpfiles(&self, sys: &dyn System) -> Option<String> {
        let has_reader = ["systemd-tmpfiles", "tmpfiles"].iter().any(|program| !sys.lacks(program));
        self.without_systemd().filter(|_| !has_reader).map(|why| format!("{why}, and nothing here reads tmpfiles.d"))
    }
}

/// Returns a message about a missing program that one of these steps or its inverse needs; `None` if none is missing.
pub(super) fn missing<'s>(sys: &dyn System, steps: impl IntoIterator<Item = &'s Doing>) -> Option<String> {
    steps.into_iter().find_map(|step| match step {
        Doing::Run { command, .. } => crate::carry::missing(sys, command),
        _ => None,
    })
}
