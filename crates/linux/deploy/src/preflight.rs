use crate::check::Check;
use crate::error::DeployError;
use crate::package::{Package, rt_option, wrong_modules};
use crate::request::Request;
use crate::site::Site;
use crate::watchdog::Early;
use punctual_boot::{Chain, Refusal, Trial};
use punctual_kernel::{Outcome, host};

/// Space in bytes for the files that mkinitramfs and depmod write.
const SPARE: u64 = 96 << 20;

pub(crate) struct Before<'b> {
    pub package: &'b Package,
    pub request: &'b Request,
    pub chain: &'b Chain,
    pub trial: &'b Result<Trial, Refusal>,
    pub early: &'b Early,
    /// Paths that must not exist yet.
    pub wanted: &'b [std::path::PathBuf],
}

pub(crate) fn checks(site: &Site, before: &Before) -> Result<Vec<Check>, DeployError> {
    Ok(vec![
        running(site, before),
        theirs(site, before),
        processor(site, before),
        real_time(before)?,
        modules(before)?,
        space(site, before),
        entry(before),
        unattended(before),
        early(before),
    ])
}

fn running(site: &Site, before: &Before) -> Check {
    let release = &before.package.release;
    let fix = "build it with another LOCALVERSION: make LOCALVERSION=-mine";
    match site.release() {
        Some(now) => {
            Check::holds("running", now != *release, format!("{now} is running, {release} is to be deployed"), fix)
        }
        None => Check::new(
            "running",
            Outcome::Unknown,
            "/proc/sys/kernel/osrelease cannot be read",
            "mount -t proc proc /proc",
        ),
    }
}

fn theirs(site: &Site, before: &Before) -> Check {
    let there = before.wanted.iter().find(|path| site.at(path).symlink_metadata().is_ok());
    let found = there.map_or("no files of that release exist".to_owned(), |path| {
        format!("{} already exists and does not come from a deployment", path.display())
    });
    let fix = "remove that kernel with the tool that installed it (apt-get remove …), or build yours with another LOCALVERSION";
    Check::holds("files", there.is_none(), found, fix)
}

fn processor(site: &Site, before: &Before) -> Check {
    let (id, fix) = ("processor", "use the package for this machine (uname -m)");
    match (site.machine(), before.package.arch) {
        (Some(here), Some(arch)) => {
            // A 64-bit kernel may run a 32-bit system, so the loader's default decides which one is expected.
            let is_same = here == arch || (here.starts_with("armv") && arch == "armv7l");
            Check::holds(id, is_same, format!("the image is for {arch}, this is {here}"), fix)
        }
        (here, arch) => {
            let said = |text: Option<&str>| text.unwrap_or("not known").to_owned();
            let found = format!("the image is for {}, this machine is {}", said(arch), said(here.as_deref()));
            Check::new(id, Outcome::Warn, found, fix)
        }
    }
}

fn real_time(before: &Before) -> Result<Check, DeployError> {
    let (id, fix) =
        ("preempt-rt", "build it with EXPERT and PREEMPT_RT; for a kernel without real-time support: --not-rt");
    if !before.request.is_rt {
        return Ok(Check::new(id, Outcome::Skip, "not requested", ""));
    }
    Ok(match before.package.options()? {
        None => Check::new(
            id,
            Outcome::Unknown,
            "the package has no boot/config-RELEASE",
            "use a package with its configuration",
        ),
        Some(options) => {
            let (release, option) = (&before.package.release, rt_option(&before.package.release));
            let is_rt = options.get(option).is_some_and(|value| value.text() == "y");
            let found = format!("CONFIG_{option} of {release} is {}", if is_rt { "y" } else { "not y" });
            Check::holds(id, is_rt, found, fix)
        }
    })
}

fn modules(before: &Before) -> Result<Check, DeployError> {
    let fix = "rebuild and install the modules with the kernel: make modules_install";
    let is_rt = before.request.is_rt.then_some(true);
    let magic = wrong_modules(&before.package.modules, &before.package.release, is_rt)?;
    Ok(crate::verify::magic_check("vermagic", &magic, fix))
}

fn space(site: &Site, before: &Before) -> Check {
    let (id, fix) = ("space", "free some space: apt-get clean, or remove old kernels");
    let needed = before.package.bytes + SPARE;
    let folders = ["/boot", "/lib/modules"].map(|folder| (folder, host::free(&site.at(folder))));
    match folders.iter().find(|(_, free)| free.is_none_or(|free| free < needed)) {
        Some((folder, None)) => Check::new(id, Outcome::Unknown, format!("the free space on {folder} is unknown"), fix),
        Some((folder, Some(free))) => {
            let found = format!("{folder} has {} MB free, {} MB are needed", free >> 20, needed >> 20);
            Check::new(id, Outcome::Fail, found, fix)
        }
        None => Check::new(id, Outcome::Pass, format!("the {} MB that are needed are free", needed >> 20), ""),
    }
}

fn entry(before: &Before) -> Check {
    let name = before.chain.kind.name();
    match before.trial {
        Ok(_) => Check::new("loader", Outcome::Pass, format!("{name}: the new kernel gets a separate entry"), ""),
        Err(refusal) => {
            let hand = refusal.by_hand.as_ref().map(|hand| format!("; manually: {hand}")).unwrap_or_default();
            let fix = "a separate /boot, ext4 on a plain partition, lets GRUB save that the entry was used";
            Check::new("loader", Outcome::Fail, format!("{name}: {}{hand}", refusal.why), fix)
        }
    }
}

fn unattended(before: &Before) -> Check {
    let fix = "if someone is at the console: --manual-recovery";
    match before.trial {
        Err(_) => Check::new("one-shot", Outcome::Skip, "no entry found", ""),
        Ok(trial) if trial.unattended => Check::new("one-shot", Outcome::Pass, trial.fallback.clone(), ""),
        Ok(trial) => excused(before, Check::new("one-shot", Outcome::Fail, trial.fallback.clone(), fix)),
    }
}

fn early(before: &Before) -> Check {
    let fix = "if someone can press reset: --manual-recovery";
    match before.early {
        Early::Armed(by) => Check::new("early-hang", Outcome::Pass, by.clone(), ""),
        Early::None(why) => {
            let found = format!("a kernel that hangs before its first process would not be reset: {why}");
            excused(before, Check::new("early-hang", Outcome::Fail, found, fix))
        }
    }
}

/// Turns a failure into a warning if someone at the machine accepts it.
fn excused(before: &Before, check: Check) -> Check {
    match before.request.manual_recovery {
        true => Check { outcome: Outcome::Warn, found: format!("{} (--manual-recovery)", check.found), ..check },
        false => check,
    }
}
