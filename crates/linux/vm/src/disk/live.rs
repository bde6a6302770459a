//! A guest that runs in the background until the caller kills it.

use super::guest::DiskGuest;
use super::run::ended;
use super::said::DiskBoot;
use super::steps::{Step, archive};
use crate::boot::{Log, Running, in_memory};
use crate::error::VmError;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

/// A running boot of a [`DiskGuest`], killed on drop: only what the guest has synced is on its disk. It also ends with
/// the thread that started it.
#[derive(Debug)]
pub struct LiveBoot {
    pub(super) child: Running,
    pub(super) log: Log,
    pub(super) complaints: File,
}

impl DiskGuest {
    /// Starts one boot with these steps and returns at once. The caller has to enforce [`DiskGuest::limit`].
    ///
    /// # Errors
    /// The emulator is missing or too old, or could not be started.
    pub fn start(&self, steps: &[Step]) -> Result<LiveBoot, VmError> {
        let plan = self.folder().join("steps.img");
        fs::write(&plan, archive(steps, &self.tools)?).map_err(VmError::file("write", &plan))?;
        self.spawn(&plan)
    }

    pub(super) fn spawn(&self, plan: &Path) -> Result<LiveBoot, VmError> {
        let log = Log::open(None)?;
        let complaints = in_memory("complaints", b"")?;
        let mut command = self.command(plan, &log.path())?;
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(complaints.try_clone().map_err(VmError::file("duplicate", "a descriptor"))?);
        let child = Running(command.spawn().map_err(VmError::file("run", command.get_program()))?);
        Ok(LiveBoot { child, log, complaints })
    }
}

impl LiveBoot {
    pub fn said(&self) -> DiskBoot {
        DiskBoot::of(self.log.text())
    }

    /// Returns true if the boot has ended. [`DiskBoot::ended`] distinguishes an end from a restart.
    ///
    /// # Errors
    /// The emulator failed.
    pub fn has_ended(&mut self) -> Result<bool, VmError> {
        match self.child.has_ended()? {
            Some(status) => ended(self.said(), status, &self.complaints).map(|_| true),
            None => Ok(false),
        }
    }
}
