//! Reads and edits /etc/kernel/cmdline, from which kernel-install(8) and u-boot-update take the parameters of later
//! kernels.

use crate::Change;
use crate::plan::Stop;
use crate::read::{BootError, text, unclear};
use crate::words::rewrite;
use punctual_machine::Machine;
use punctual_model::Edit;

pub(crate) const PATH: &str = "/etc/kernel/cmdline";

/// Returns the parameters in the file; `None` if it does not exist. Comments are an error, because some programs that
/// read the file do not ignore them.
pub(crate) fn read(view: &dyn Machine) -> Result<Option<String>, BootError> {
    let Some(line) = text(view, PATH)? else { return Ok(None) };
    if line.lines().any(|line| line.trim_start().starts_with('#')) {
        return Err(unclear(PATH, "has comments, which some of its readers do not ignore"));
    }
    Ok(Some(line))
}

pub(crate) const ABSENT: &str = "no /etc/kernel/cmdline: kernels installed later get the parameters of the running kernel, so reboot before installing one";

/// Plans an edit of the file; `None` if it does not exist or does not change.
pub(crate) fn edit(view: &dyn Machine, change: &Change) -> Result<Option<Edit>, Stop> {
    let Some(old) = read(view)? else { return Ok(None) };
    let new = rewrite(&old, change)?;
    Ok((new != old).then(|| Edit::write(PATH, new)))
}
