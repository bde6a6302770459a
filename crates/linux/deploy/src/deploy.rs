//! Installs a kernel beside the running one and arms it for one boot.

use crate::check::{Check, worst};
use crate::error::DeployError;
use crate::inventory::{Inventory, default_route};
use crate::loader;
use crate::package::Package;
use crate::place;
use crate::preflight::{self, Before};
use crate::record::{Record, Stage, Store};
use crate::request::Request;
use crate::rollback::rollback;
use crate::site::Site;
use crate::watchdog;
use punctual_boot::{Chain, Kind, NewKernel, detect, kernel_place, kernel_trial};
use punctual_kernel::Outcome;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Deployed {
    pub checks: Vec<Check>,
    /// Record of the deployment; `None` if a check failed and nothing was written.
    pub record: Option<Record>,
    /// Notes about leftovers of an earlier deployment, which were removed first.
    pub notes: Vec<String>,
}

/// Checks the package and the machine, copies the files, creates the boot entry and arms it. Does not reboot. `program`
/// is the file of this program, which guards the trial boot.
///
/// # Errors
/// After any failure the machine boots what it booted before; the next deployment or [`rollback`] removes the
/// leftovers.
pub fn deploy(site: &Site, source: &Path, request: &Request, program: &Path) -> Result<Deployed, DeployError> {
    let store = site.store();
    fs::create_dir_all(store.folder()).map_err(crate::error::file("make", store.folder()))?;
    // If an earlier deployment was started over a connection that has since been lost, wait for it to finish.
    let _lock = crate::lock::take(store.folder())?;
    let mut notes = Vec::new();
    let before = clear(site, &store, &mut notes)?;
    let staging = store.folder().join("staging");
    let _ = fs::remove_dir_all(&staging);
    let result = made(site, source, request, program, before.clone(), notes);
    let _ = fs::remove_dir_all(&staging);
    if store.load()?.is_none() {
        store.clear()?;
    }
    result
}

fn made(
    site: &Site,
    source: &Path,
    request: &Request,
    program: &Path,
    before: Option<Record>,
    notes: Vec<String>,
) -> Result<Deployed, DeployError> {
    let package = Package::open(source, &site.store().folder().join("staging"))?;
    let chain = detect(site.view).map_err(|error| DeployError::Refused(error.to_string()))?;
    let (early, prelude) = watchdog::early(site, chain.kind);
    let record = Record { before: before.map(Box::new), ..record(site, &package, &chain, request)? };
    let kernel = NewKernel { prelude, ..new_kernel(&record) };
    let trial = kernel_trial(site.view, &chain, &kernel);
    let wanted: Vec<PathBuf> = record.folders.iter().chain(&record.files).cloned().collect();
    let look = Before { package: &package, request, chain: &chain, trial: &trial, early: &early, wanted: &wanted };
    let checks = accepted(preflight::checks(site, &look)?, request);
    let (Ok(trial), Outcome::Pass) = (trial, worst(&checks)) else {
        return Ok(Deployed { checks, record: None, notes });
    };
    let store = site.store();
    // From here on the record lists everything that may exist.
    let mut record = Record { reboot: trial.reboot.0.clone(), unattended: trial.unattended, ..record };
    store.save(&record)?;
    place::place(site, &record, &package, program)?;
    record.stage = Stage::Placed;
    store.save(&record)?;
    record.stage = Stage::Armed;
    store.save(&record)?;
    let armed = loader::arm(site, &record, &trial).and_then(|()| match chain.kind {
        Kind::RaspberryPi => loader::firmware_agrees(site, &record),
        _ => Ok(()),
    });
    if let Err(error) = armed {
        record.stage = Stage::Placed;
        store.save(&record)?;
        return Err(error);
    }
    Ok(Deployed { checks, record: Some(record), notes })
}

/// Turns accepted failures into warnings.
fn accepted(checks: Vec<Check>, request: &Request) -> Vec<Check> {
    let is_skipped = |check: &Check| request.skips(check.id) && check.outcome != Outcome::Pass;
    let accept = |check: Check| match is_skipped(&check) {
        true => Check { outcome: Outcome::Warn, found: format!("{} (--skip {})", check.found, check.id), ..check },
        false => check,
    };
    checks.into_iter().map(accept).collect()
}

/// Removes an earlier deployment that was not committed; a committed one stays.
fn clear(site: &Site, store: &Store, notes: &mut Vec<String>) -> Result<Option<Record>, DeployError> {
    let Some(old) = store.load()? else { return Ok(None) };
    if old.stage == Stage::Committed {
        return Ok(Some(old));
    }
    if site.is_trial_of(&old.id) != Some(false) && old.stage == Stage::Armed && crate::place::is_live(site) {
        let what = format!(
            "{} is on trial in this boot: run `punctual kernel commit` or `punctual kernel rollback` first",
            old.release
        );
        return Err(DeployError::Refused(what));
    }
    rollback(site)?;
    notes.push(format!("an earlier deployment of {} was never committed and is removed", old.release));
    store.load()
}

fn record(site: &Site, package: &Package, chain: &Chain, request: &Request) -> Result<Record, DeployError> {
    let boot_id =
        site.sys.boot_id().map_err(crate::error::file("read", Path::new("/proc/sys/kernel/random/boot_id")))?;
    let is_pi = chain.kind == Kind::RaspberryPi;
    let release = package.release.clone();
    let (boot_folder, folder) = folders(site, package, chain)?;
    let has_tools = site.at("/etc/initramfs-tools").is_dir() && !is_pi;
    let parent = Path::new("/boot/punctual").to_owned();
    let is_new = !is_pi && !site.at(&parent).exists();
    let unique = format!("{} {boot_id} {}", package.sum, site.sys.boottime_s());
    Ok(Record {
        schema: String::new(),
        stage: Stage::Placing,
        id: crate::hash::of_bytes(unique.as_bytes()).chars().take(16).collect(),
        version: package.version.clone(),
        is_rt: request.is_rt,
        package: package.sum.clone(),
        boot_id,
        old_release: site.release().unwrap_or_default(),
        limit_s: request.limit_s,
        folders: vec![place::modules_folder(&release), boot_folder.clone()],
        files: if has_tools { configuration(package) } else { Vec::new() },
        boot_folder,
        folder,
        image: Some(image(site, package, is_pi)?),
        initrd: has_tools.then(|| "initrd.img".to_owned()),
        trees: (!is_pi && !package.trees.is_empty()).then(|| "dtbs".to_owned()),
        add: request.add.clone(),
        parents: is_new.then_some(parent).into_iter().collect::<Vec<PathBuf>>(),
        inventory: Inventory::of(site.view),
        route: default_route(site.view),
        reboot: Vec::new(),
        unattended: false,
        watchdog: watchdog::hardware(site).and_then(|hardware| hardware.driver),
        before: None,
        release,
    })
}

/// Returns the path at which mkinitramfs(8) reads the kernel's configuration; empty if the package has none.
fn configuration(package: &Package) -> Vec<PathBuf> {
    let path = Path::new("/boot").join(format!("config-{}", package.release));
    package.config.iter().map(|_| path.clone()).collect()
}

fn folders(site: &Site, package: &Package, chain: &Chain) -> Result<(PathBuf, String), DeployError> {
    let refused = |what: &str| DeployError::Refused(what.to_owned());
    let boot = kernel_place(site.view, chain).ok_or_else(|| {
        refused("the folder for kernels is unknown for this loader: install the distribution's package")
    })?;
    let (is_pi, release) = (chain.kind == Kind::RaspberryPi, &package.release);
    if is_pi && package.trees.is_empty() {
        return Err(refused(
            "the package has no device trees (*.dtb): without them the firmware ignores the kernel's folder",
        ));
    }
    let folder = if is_pi { format!("punctual-{release}") } else { format!("punctual/{release}") };
    Ok((Path::new(boot).join(&folder), folder))
}

/// Returns the name of the image. The Raspberry Pi's firmware uses it to tell 32-bit from 64-bit kernels:
/// `kernel8.img`, or the 32-bit names of each model (Raspberry Pi documentation, config.txt, `arm_64bit`).
fn image(site: &Site, package: &Package, is_pi: bool) -> Result<String, DeployError> {
    match (is_pi, package.arch) {
        (false, _) => Ok("vmlinuz".to_owned()),
        (true, Some("armv7l")) => crate::pi::name_of_32_bits(site).ok_or_else(|| {
            DeployError::Refused(
                "the package is a 32-bit kernel, and the name under which the firmware starts one on this model is unknown \
                 (/proc/device-tree/model): deploy a 64-bit kernel"
                    .to_owned(),
            )
        }),
        (true, _) => Ok(crate::pi::KERNEL8.to_owned()),
    }
}

pub(crate) fn new_kernel(record: &Record) -> NewKernel {
    NewKernel {
        release: record.release.clone(),
        folder: record.folder.clone(),
        image: place::image_name(record).to_owned(),
        initrd: record.initrd.clone(),
        trees: record.trees.clone(),
        mark: record.id.clone(),
        add: record.add.clone(),
        prelude: Vec::new(),
    }
}
