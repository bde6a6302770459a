use crate::error::DeployError;
use crate::loader;
use crate::place;
use crate::record::Stage;
use crate::site::Site;
use serde::Serialize;

/// The result of `kernel rollback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Back {
    Nothing,
    /// This release is removed; the machine's files are as before.
    Gone {
        release: String,
    },
    /// Its entry is removed, its files are not: it runs.
    Running {
        release: String,
    },
}

/// Removes the deployment, committed or not: first the loader's files, then the kernel's. The files of a running kernel
/// stay until another runs.
///
/// # Errors
/// If somebody else has changed a file of the loader since: nothing more is removed, as it may boot those files.
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
        return Ok(Back::Running { release: record.release });
    }
    place::remove(site, &record)?;
    match record.before {
        Some(before) => store.save(&before)?,
        None => store.clear()?,
    }
    Ok(Back::Gone { release: record.release })
}
