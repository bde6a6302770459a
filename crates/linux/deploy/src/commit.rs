use crate::deploy::new_kernel;
use crate::error::DeployError;
use crate::loader;
use crate::record::{Record, Stage, What};
use crate::site::Site;
use punctual_boot::{detect, kernel_kept};

/// Makes the kernel on trial the default. The old kernel and its entry stay. With `unverified`, commits even if no
/// verification passed in this boot.
///
/// # Errors
/// The kernel is not on trial or was not verified, or the loader's files cannot be changed.
pub fn commit(site: &Site, unverified: bool) -> Result<Record, DeployError> {
    let store = site.store();
    let refused = |what: String| Err(DeployError::Refused(what));
    let Some(mut record) = store.load()? else {
        return refused("nothing is deployed: run punctual kernel deploy PACKAGE".to_owned());
    };
    match record.stage {
        Stage::Committed => return Ok(record),
        Stage::Armed => {}
        _ => return refused(format!("{} is not on trial: see punctual kernel status", record.release)),
    }
    if site.is_trial_of(&record.id) != Some(true) {
        return refused(format!(
            "this boot is not the trial of {}: for the reason see punctual kernel status",
            record.release
        ));
    }
    let boot_id = site.sys.boot_id().map_err(crate::error::file("read", "/proc/sys/kernel/random/boot_id".as_ref()))?;
    let last = store
        .events(&record.id)?
        .into_iter()
        .rev()
        .find(|event| event.boot_id == boot_id && matches!(event.what, What::Verified | What::NotVerified));
    match last {
        Some(event) if event.what == What::Verified => {}
        _ if unverified => {}
        Some(event) => {
            return refused(format!("its verification did not pass ({}): run punctual kernel verify", event.detail));
        }
        None => return refused("it was not verified in this boot: run punctual kernel verify".to_owned()),
    }
    let chain = detect(site.view).map_err(|error| DeployError::Refused(error.to_string()))?;
    let edits = kernel_kept(site.view, &chain, &new_kernel(&record)).map_err(|r| DeployError::Refused(r.why))?;
    loader::keep(site, &record, edits)?;
    record.stage = Stage::Committed;
    store.save(&record)?;
    Ok(record)
}
