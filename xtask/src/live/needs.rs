//! Requirements of live tests: which of them are not met, and how to meet them.

use super::find::Marked;
use std::path::Path;
use std::process::Command;

/// Programs, and the Debian packages that contain them.
const PROGRAMS: &[(&str, &str)] = &[
    ("bash", "bash"),
    ("cargo", "cargo"),
    ("cc", "gcc"),
    ("chromium", "chromium"),
    ("chrt", "util-linux"),
    ("curl", "curl"),
    ("debugfs", "e2fsprogs"),
    ("dpkg-deb", "dpkg"),
    ("fish", "fish"),
    ("git", "git"),
    ("g++", "g++"),
    ("gpgv", "gpgv"),
    ("gzip", "gzip"),
    ("ip", "iproute2"),
    ("make", "make"),
    ("mke2fs", "e2fsprogs"),
    ("npm", "npm"),
    ("patch", "patch"),
    ("pkg-config", "pkg-config"),
    ("podman", "podman"),
    ("prlimit", "util-linux"),
    ("python3", "python3"),
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("rtl_433", "rtl-433"),
    ("runuser", "util-linux"),
    ("setpriv", "util-linux"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("systemd-analyze", "systemd"),
    ("xz", "xz-utils"),
    ("zsh", "zsh"),
];

fn package(need: &str) -> Option<&'static str> {
    PROGRAMS.iter().find(|(program, _)| *program == need).map(|(_, package)| *package)
}

/// Returns `true` if this is a requirement that can be checked.
#[cfg(test)]
pub fn is_known(need: &str) -> bool {
    ["root", "tracefs", "devpts", "kvm", "landlock", "timing"].contains(&need) || package(need).is_some()
}

fn is_there(need: &str) -> bool {
    match need {
        "root" => rustix::process::geteuid().is_root(),
        // Root mounts a tracefs if none is mounted.
        "tracefs" => rustix::process::geteuid().is_root() || Path::new("/sys/kernel/tracing/trace").exists(),
        "kvm" => Path::new("/dev/kvm").exists(),
        "devpts" => Path::new("/dev/ptmx").exists(),
        // The active security modules: Documentation/userspace-api/landlock.rst.
        "landlock" => std::fs::read_to_string("/sys/kernel/security/lsm").is_ok_and(|all| all.contains("landlock")),
        // Cannot be checked beforehand: a failure while other work runs is reported as disturbed.
        "timing" => true,
        program => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let system = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
            std::env::split_paths(&path).chain(system).any(|folder| folder.join(program).is_file())
        }
    }
}

/// Returns each requirement that is not met, once.
pub fn missing(marked: &[Marked]) -> Vec<String> {
    let mut needs: Vec<String> = marked.iter().flat_map(|mark| mark.needs.clone()).collect();
    needs.sort();
    needs.dedup();
    needs.retain(|need| !is_there(need));
    needs
}

/// Returns what the user can do to meet a requirement: a command, or where to run the tests.
pub fn advice(need: &str) -> String {
    match (need, package(need)) {
        (_, Some(package)) => format!("apt-get install {package}, or cargo xtask live --install"),
        ("root" | "tracefs", _) => "run it as root".into(),
        ("kvm", _) => "run it on a machine with /dev/kvm".into(),
        ("landlock", _) => {
            "boot a kernel with CONFIG_SECURITY_LANDLOCK, and mount -t securityfs nodev /sys/kernel/security".into()
        }
        _ => "mount -t devpts devpts /dev/pts".into(),
    }
}

/// Installs the missing programs with apt-get. Requirements without a package remain unmet.
pub fn install(missing: &[String]) -> Result<(), String> {
    let mut packages: Vec<&str> = missing.iter().filter_map(|need| package(need)).collect();
    packages.dedup();
    if packages.is_empty() {
        return Ok(());
    }
    for words in
        [&["update", "-qq"][..], &[&["install", "-y", "-qq", "--no-install-recommends"][..], &packages].concat()]
    {
        let status = Command::new("apt-get").args(words).env("DEBIAN_FRONTEND", "noninteractive").status();
        if !status.map_err(|e| format!("apt-get: {e}"))?.success() {
            return Err(format!("apt-get {} failed", words.join(" ")));
        }
    }
    Ok(())
}
