//! Everything taken away again, to the byte.

use crate::error::DeployError;
use crate::loader;
use crate::place;
use crate::record::Stage;
use crate::site::Site;

/// What a rollback came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Back {
    /// Nothing was deployed.
    Nothing,
    /// This release is gone; the machine's files are as before it.
    Gone(String),
    /// Its entry is gone, its files are not: it runs.
    Running(String),
}

/// Takes the deployment away, committed or not: the loader's files first, then the kernel's. Of a kernel that runs the files
/// stay until another runs.
///
/// # Errors
/// A file of the loader was changed since by somebody else: nothing more is taken away, as it may boot what would go.
pub fn rollback(site: &Site) -> Result<Back, DeployError> {
    let store = site.store();
    let Some(mut record) = store.load()? else { return Ok(Back::Nothing) };
    record.stage = Stage::Removing;
    store.save(&record)?;
    let undone = loader::back(site, &record.id)?;
    let left: Vec<String> = undone
        .changes
        .iter()
        .filter(|taken| !taken.outcome.is_settled())
        .map(|taken| taken.outcome.sentence())
        .collect();
    if !left.is_empty() {
        let what = format!("{}; take that change out by hand, then again: punctual kernel rollback", left.join("; "));
        return Err(DeployError::Refused(what));
    }
    if site.release().as_deref() == Some(record.release.as_str()) {
        return Ok(Back::Running(record.release));
    }
    place::remove(site, &record)?;
    match record.before {
        Some(before) => store.save(&before)?,
        None => store.clear()?,
    }
    Ok(Back::Gone(record.release))
}
