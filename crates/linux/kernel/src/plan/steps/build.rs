//! Steps that build a package from a kernel source with this program's own commands.

use super::{line, small};
use crate::plan::{Estimate, Request, Situation, Source, Step};
use crate::{Patched, Series};

const MEASURED: &str = "on 2 CPUs of a PC, Debian's linux-source-6.12";
/// Folder of the kernel source, relative to the folder in which the commands are run.
pub const SOURCE: &str = "source";
pub const BUILD: &str = "build";
const PACKAGES: &str = "packages";
const PI_TREE: &str = "https://github.com/raspberrypi/linux";
/// Signers of kernel.org's tarballs and checksum lists.
const TREE_KEYS: &str = "torvalds@kernel.org gregkh@kernel.org autosigner@kernel.org";
/// Placeholder for the key that signed a patch; the signers differ between series.
const PATCH_KEY: &str = "SIGNER";
const KERNEL_ORG: &str = "https://cdn.kernel.org/pub/linux/kernel";

pub fn preflight(at: &Situation, source: &Source) -> Step {
    let series = source.built().map(|series| format!(" --series {series}")).unwrap_or_default();
    let command = format!("punctual kernel preflight --board {}{series}", at.board.key);
    let mut step = small(
        "preflight",
        vec![command.clone(), format!("{command} --config {BUILD}/.config   # again, after it is configured")],
        "missing parts are found before an hour is spent on the build",
        "",
    );
    step.time = Some(Estimate { minutes_min: 0, minutes_max: 1, basis: "it only reads" });
    step
}

pub fn fetch(source: &Source) -> Vec<Step> {
    match source {
        Source::Running | Source::CoKernel { .. } | Source::Package { .. } => Vec::new(),
        Source::DistributionSource { package, series } => vec![package_source(package, *series)],
        Source::PiTree { branch, .. } => vec![pi_tree(branch)],
        Source::PiTreePatched { branch, series, .. } => vec![keys(&[PATCH_KEY]), pi_tree_patched(branch, *series)],
        Source::Mainline { series } => vec![keys(&[TREE_KEYS]), tarball(*series)],
        Source::StableRt { patched, series } => vec![keys(&[TREE_KEYS, PATCH_KEY]), tarball_patched(*series, *patched)],
    }
}

fn package_source(package: &str, series: Series) -> Step {
    Step {
        title: format!("fetch {package}"),
        commands: vec![format!("punctual kernel fetch --debian --series {series} --out {SOURCE}")],
        why: "apt verifies the signature chain and the checksum; nothing is installed".to_owned(),
        time: Some(Estimate {
            minutes_min: 1,
            minutes_max: 5,
            basis: "unpacking took 14 s; the download of 150 MB depends on the connection",
        }),
        disk_mb: Some(1850),
        risk: "the package must be available on the build machine: see apt-cache policy".to_owned(),
    }
}

fn pi_tree(branch: &str) -> Step {
    Step {
        title: format!("fetch the tree, branch {branch}"),
        commands: vec![format!("punctual kernel fetch --git {PI_TREE} --branch {branch} --unsigned --out {SOURCE}")],
        why: "PREEMPT_RT is already in the tree, so one commit is enough; its commits are not signed: only TLS is trusted, or the \
              commit that you give (--commit HASH instead of --unsigned)"
            .to_owned(),
        time: None,
        disk_mb: None,
        risk: String::new(),
    }
}

/// Returns the step that imports the signers' keys. It is left to the user, who decides whom to trust.
fn keys(of: &[&str]) -> Step {
    let mut commands = Vec::new();
    if of.contains(&TREE_KEYS) {
        commands.push(format!("gpg --locate-keys {TREE_KEYS}"));
    }
    if of.contains(&PATCH_KEY) {
        let remark = "the signer of the patch, from https://git.kernel.org/pub/scm/docs/kernel/pgpkeys.git";
        commands.push(format!("gpg --import {PATCH_KEY}.asc   # {remark}"));
    }
    commands.push(format!("gpg --export {} > keys.gpg", of.join(" ")));
    small(
        "keys",
        commands,
        "you decide whose signature to trust, so no command of this program fetches keys; a missing key is named when \
         the fetch is refused; https://www.kernel.org/signature.html",
        "every key in keys.gpg is trusted: check each of them (gpg --list-keys)",
    )
}

fn pi_tree_patched(branch: &str, series: Series) -> Step {
    Step {
        title: format!("fetch the tree, branch {branch}, at a release that has a patch, and patch it"),
        commands: vec![format!(
            "punctual kernel fetch --git {PI_TREE} --branch {branch} --unsigned --patch {} --keyring keys.gpg --out {SOURCE}",
            patches(series)
        )],
        why: "a patch fits one sublevel exactly, and only some sublevels were merged: the newest commit whose release has a signed \
              patch is used, and patched with fuzz 0; the tree's commits are not signed: only TLS is trusted"
            .to_owned(),
        time: None,
        disk_mb: None,
        risk: "the patch may not fit files that the tree has changed: it is refused, never forced; then try another release (--release A.B.C)"
            .to_owned(),
    }
}

fn patches(series: Series) -> String {
    format!("{KERNEL_ORG}/projects/rt/{series}/")
}

fn of_kernel_org(series: Series, release: &str, more: &str) -> String {
    let url = format!("{KERNEL_ORG}/v{}.x/linux-{release}.tar.xz", series.major);
    format!("punctual kernel fetch --url {url}{more} --keyring keys.gpg --out {SOURCE}")
}

fn tarball(series: Series) -> Step {
    let release = format!("{series}.N");
    Step {
        title: format!("fetch linux-{release}"),
        commands: vec![of_kernel_org(series, &release, "")],
        why: "both the tarball's signature and the signed list of checksums must be valid".to_owned(),
        time: Some(FETCHED),
        disk_mb: Some(1850),
        risk: "N: the newest release of the series on https://www.kernel.org".to_owned(),
    }
}

const FETCHED: Estimate = Estimate {
    minutes_min: 1,
    minutes_max: 10,
    basis: "unpacking took 14 s; the download of 150 MB depends on the connection",
};

fn tarball_patched(series: Series, patched: Option<Patched>) -> Step {
    let release = patched.map_or(format!("{series}.N"), |p| p.release.as_released());
    let name = patched.map_or("its patch".to_owned(), |p| format!("patch-{p}.patch"));
    Step {
        title: format!("fetch linux-{release} and {name}"),
        commands: vec![of_kernel_org(series, &release, &format!(" --patch {}", patches(series)))],
        why: "the patch for exactly this release is searched for, including in older/, its signature is verified, and it is applied with fuzz 0"
            .to_owned(),
        time: Some(FETCHED),
        disk_mb: Some(1860),
        risk: match patched {
            Some(_) => String::new(),
            None => format!("N: a release for which {} has a patch", patches(series)),
        },
    }
}

pub fn is_native(at: &Situation) -> bool {
    at.machine.as_ref().is_some_and(|machine| at.board.machines.contains(machine))
}

fn cross(at: &Situation) -> String {
    if is_native(at) { String::new() } else { format!(" --cross {}", at.board.cross) }
}

/// Returns true if the kernel is configured with the Raspberry Pi tree's defconfig for the board, rather than like the
/// running kernel.
pub fn has_own_defconfig(source: &Source) -> bool {
    matches!(source, Source::PiTree { .. } | Source::PiTreePatched { .. })
}

/// Returns the path of the running kernel's configuration, if the machine is also the build machine.
fn running_config(at: &Situation) -> Option<&str> {
    at.config.as_deref().filter(|_| is_native(at))
}

pub fn configure(at: &Situation, request: &Request, source: &Source) -> Step {
    let pi = at.board.pi.as_ref().filter(|_| has_own_defconfig(source)).map(|pi| &pi.defconfig);
    let mut commands = Vec::new();
    let base = match (pi, running_config(at)) {
        (Some(defconfig), _) => format!("--defconfig {defconfig}"),
        (None, Some(path)) => format!("--config {}", quoted(path)),
        (None, None) => {
            let release = at.release.as_deref().unwrap_or("$(uname -r)");
            commands.push(format!(
                "# running.config: from the target machine: cp /boot/config-{release} running.config, or zcat /proc/config.gz > \
                 running.config"
            ));
            "--config running.config".to_owned()
        }
    };
    commands.push(line("# put the lines below into rt.config"));
    let more: String = request.fragments.iter().map(|name| format!(" --fragment {}", quoted(name))).collect();
    commands.push(format!(
        "punctual kernel configure --tree {SOURCE} --out {BUILD} --arch {}{} {base} --fragment rt.config{more}",
        at.board.arch.name(),
        cross(at)
    ));
    let why = match pi {
        Some(_) => KCONFIG.to_owned(),
        None => format!(
            "the running kernel's configuration has the drivers for this machine's root disk, network card and console, which a \
             defconfig may lack; {KCONFIG}"
        ),
    };
    let risk = match pi {
        Some(_) => "",
        None => {
            "drivers from outside the kernel source (a vendor's tree, dkms, ZFS) are not included: preflight \
             --config compares with the devices in use, on the machine or with --root"
        }
    };
    let mut step = small("configure", commands, &why, risk);
    step.disk_mb = Some(10);
    step
}

const KCONFIG: &str = "kconfig drops options whose dependencies are not met, PREEMPT_RT among them, with exit code 0: each one is checked in the result";

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

pub fn compile(at: &Situation, source: &Source) -> Step {
    let is_small = has_own_defconfig(source);
    let time = match at.board.arch {
        crate::Arch::Arm64 if is_small && !is_native(at) => {
            Some(Estimate { minutes_min: 12, minutes_max: 50, basis: MEASURED })
        }
        _ => None,
    };
    let heat = if is_native(at) && at.board.pi.is_some() {
        "on the board itself this takes hours: set a temperature at which it pauses (--pause-at), or build on a PC"
    } else {
        "a full disk stops it: the same command resumes the build"
    };
    let target = &at.board.target;
    Step {
        title: "build".to_owned(),
        commands: vec![format!("punctual kernel build --tree {SOURCE} --out {BUILD}{} --target {target}", cross(at))],
        why: "image, modules and device trees must come from the same build".to_owned(),
        time,
        disk_mb: is_small.then_some(4000),
        risk: heat.to_owned(),
    }
}

pub fn package(at: &Situation) -> Step {
    let mut step = small(
        "package",
        vec![format!("punctual kernel package --build {BUILD} --board {} --out {PACKAGES}", at.board.key)],
        "image, options, modules and the drivers the board needs are checked in the files themselves: a kernel that is -rt only by \
         name is not packaged",
        "",
    );
    step.time = None;
    step.disk_mb = None;
    step
}

/// Returns a pattern for the tarball that `package` writes for a board.
pub fn packaged(at: &Situation) -> String {
    format!("{PACKAGES}/linux-*-{}.tar.gz", at.board.arch.name())
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn names_of_files_are_quoted_for_a_shell() {
        assert_eq!(
            (quoted("a/b.config").as_str(), quoted("a b").as_str(), quoted("it's").as_str()),
            ("a/b.config", "'a b'", r"'it'\''s'")
        );
    }
}
