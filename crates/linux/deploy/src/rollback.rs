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
    /// The release was removed; the machine's files are as before.
    Gone {
        release: String,
    },
    /// The entry was removed, but not the files, because the kernel is running.
    Running {
        release: String,
    },
}

/// Removes the deployment, committed or not: first the loader's files, then the kernel's. The files of a running kernel
/// stay until another kernel runs.
///
/// # Errors
/// A file of the loader was changed by someone else; nothing more is removed, because the loader may still boot those
/// files.
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
        let what = format!("{}; undo that change manually, then run again: punctual kernel rollback", left.join("; "));
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
