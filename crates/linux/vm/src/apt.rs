//! Packages of the distribution for any architecture, without installing anything: apt with its own state, cache and
//! architecture (apt.conf(5)), and the machine's own sources.

use crate::arch::Arch;
use crate::cache::Cache;
use crate::error::VmError;
use crate::tools;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Package lists older than this are fetched again.
const FRESH: Duration = Duration::from_secs(86_400);
const REMEDY: &str = "without apt, give a kernel image or build folder with --kernel, its modules with --modules, and a static \
                      BusyBox with --busybox";

/// Files of /etc/apt that name the distribution itself, not third parties.
const OWN_SOURCES: [&str; 5] = ["debian.sources", "ubuntu.sources", "raspi.sources", "raspi.list", "debian.list"];

/// Arguments of apt-get that select the packages of a minimal new system (apt-patterns(7)).
const SYSTEM: [&str; 5] = ["install", "-y", "-q", "--no-install-recommends", "?essential"];

pub(crate) struct Apt {
    root: PathBuf,
    arch: Arch,
    /// Suffix appended to the name of each suite.
    suffix: &'static str,
}

impl Apt {
    /// Creates the private state if it is missing and fetches outdated package lists again.
    pub fn open(cache: &Cache, arch: Arch) -> Result<Apt, VmError> {
        Apt::open_suite(cache, arch, "")
    }

    /// Like [`Apt::open`] for another suite of the machine's own source, such as `-backports`: the source is the
    /// machine's entry with another suite, so no host is hard-coded.
    pub fn open_suite(cache: &Cache, arch: Arch, suffix: &'static str) -> Result<Apt, VmError> {
        let name = format!("apt-{arch}{suffix}");
        let apt = Apt { root: cache.root().join(&name), arch, suffix };
        let _lock = cache.lock(&name)?;
        for folder in ["lists/partial", "archives/partial", "sources", "tmp"] {
            let path = apt.root.join(folder);
            fs::create_dir_all(&path).map_err(VmError::file("make", &path))?;
        }
        let status = apt.root.join("status");
        fs::write(&status, "").map_err(VmError::file("write", &status))?;
        let stamp = apt.root.join("updated");
        let age = stamp.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if age.is_none_or(|age| age > FRESH) {
            apt.copy_sources()?;
            tools::output(apt.command("apt-get").args(["update", "-q"]), REMEDY)?;
            fs::write(&stamp, "").map_err(VmError::file("write", &stamp))?;
        }
        Ok(apt)
    }

    pub fn names(&self, prefix: &str) -> Result<Vec<String>, VmError> {
        let out = tools::output(self.command("apt-cache").args(["pkgnames", prefix]), REMEDY)?;
        Ok(String::from_utf8_lossy(&out).lines().map(str::to_owned).collect())
    }

    /// Returns the candidate version; `None` if there is no such package.
    pub fn version(&self, package: &str) -> Result<Option<String>, VmError> {
        let out = tools::output(self.command("apt-cache").args(["policy", package]), REMEDY)?;
        let text = String::from_utf8_lossy(&out).into_owned();
        let candidate = text.lines().find_map(|l| l.trim().strip_prefix("Candidate: ").map(str::to_owned));
        Ok(candidate.filter(|version| version != "(none)"))
    }

    /// Downloads a package into `folder`; apt verifies its signature chain and checksum.
    pub fn download(&self, package: &str, folder: &Path) -> Result<PathBuf, VmError> {
        tools::output(self.command("apt-get").args(["download", "-q", package]).current_dir(folder), REMEDY)?;
        let entries = fs::read_dir(folder).map_err(VmError::file("read", folder))?;
        let deb = entries.flatten().map(|e| e.path()).find(|p| p.extension().is_some_and(|e| e == "deb"));
        deb.ok_or_else(|| VmError::NoKernel(format!("apt-get download {package} left no file")))
    }

    /// Returns the names of the package files (which include the versions) of a system with these packages, the
    /// essential packages and all dependencies. A name followed by `-` is excluded.
    pub fn closure(&self, packages: &[&str]) -> Result<Vec<String>, VmError> {
        let mut command = self.command("apt-get");
        let out = tools::output(command.args(SYSTEM).arg("--print-uris").args(packages), REMEDY)?;
        let text = String::from_utf8_lossy(&out).into_owned();
        let lines = text.lines().filter(|line| line.starts_with('\''));
        let mut names: Vec<String> = lines.filter_map(|l| l.split_whitespace().nth(1)).map(str::to_owned).collect();
        names.sort();
        Ok(names)
    }

    /// Downloads the closure into `folder`; apt verifies signatures and checksums.
    pub fn download_closure(&self, packages: &[&str], folder: &Path) -> Result<(), VmError> {
        let partial = folder.join("partial");
        fs::create_dir_all(&partial).map_err(VmError::file("make", &partial))?;
        let mut command = self.command("apt-get");
        command.args(["-o", &format!("Dir::Cache::archives={}", folder.display())]);
        tools::output(command.args(SYSTEM).arg("--download-only").args(packages), REMEDY).map(drop)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let arch = self.arch.debian();
        let dir = |name: &str| self.root.join(name).display().to_string();
        for (key, value) in [
            ("APT::Architecture", arch.to_owned()),
            ("APT::Architectures", arch.to_owned()),
            ("Dir::State", dir("")),
            ("Dir::State::lists", dir("lists")),
            ("Dir::State::status", dir("status")),
            ("Dir::Cache", dir("")),
            ("Dir::Cache::archives", dir("archives")),
            ("Dir::Etc::sourcelist", dir("sources.list")),
            ("Dir::Etc::sourceparts", dir("sources")),
            ("Acquire::Languages", "none".to_owned()),
            // The cache belongs to the calling user; apt's own user could not write there.
            ("APT::Sandbox::User", "root".to_owned()),
        ] {
            command.args(["-o", &format!("{key}={value}")]);
        }
        command.env("LC_ALL", "C");
        command
    }

    /// Copies the machine's own distribution entries. Third-party sources may lack foreign architectures.
    fn copy_sources(&self) -> Result<(), VmError> {
        let list = Path::new("/etc/apt/sources.list");
        let own = fs::read_to_string(list).unwrap_or_default();
        let path = self.root.join("sources.list");
        fs::write(&path, suite(&own, self.suffix)).map_err(VmError::file("write", &path))?;
        for name in OWN_SOURCES {
            let from = Path::new("/etc/apt/sources.list.d").join(name);
            if let Ok(text) = fs::read_to_string(&from) {
                let to = self.root.join("sources").join(name);
                fs::write(&to, suite(&text, self.suffix)).map_err(VmError::file("write", &to))?;
            }
        }
        Ok(())
    }
}

/// Appends `suffix` to the first suite of each entry (sources.list(5), both formats); entries of other kinds (security,
/// updates) are dropped. Without a suffix the text is unchanged.
fn suite(text: &str, suffix: &str) -> String {
    if suffix.is_empty() {
        return text.to_owned();
    }
    let is_release = |word: &str| word.chars().all(|c| c.is_ascii_lowercase()) && !word.is_empty();
    let mut out = String::new();
    for entry in text.split("\n\n") {
        let mut kept = String::new();
        let mut has_suite = false;
        for line in entry.lines().filter(|line| !line.trim_start().starts_with('#')) {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let place = match words.first().map(String::as_str) {
                Some("Suites:") => Some(1),
                // deb [options] uri suite component…
                Some("deb") => words.iter().position(|word| word.contains("://")).map(|at| at + 1),
                _ => None,
            };
            if let Some(at) = place {
                let Some(name) = words.get(at).filter(|name| is_release(name)) else { continue };
                let name = format!("{name}{suffix}");
                if words[0] == "Suites:" {
                    words.truncate(1);
                    words.push(name);
                } else {
                    words[at] = name;
                }
                has_suite = true;
                kept += &(words.join(" ") + "\n");
            } else if words.first().is_some_and(|word| word != "deb-src") {
                kept += &format!("{line}\n");
            }
        }
        if has_suite {
            out += &(kept + "\n");
        }
    }
    out
}

/// Unpacks a package's files into `folder` (dpkg-deb(1)); nothing is installed and none of its scripts runs.
pub(crate) fn unpack(deb: &Path, folder: &Path) -> Result<(), VmError> {
    let mut command = Command::new("dpkg-deb");
    tools::output(
        command.arg("-x").arg(deb).arg(folder),
        "install dpkg, or unpack the package and give the kernel image",
    )
    .map(drop)
}

pub(crate) fn field(deb: &Path, name: &str) -> Result<String, VmError> {
    let out = tools::output(Command::new("dpkg-deb").arg("-f").arg(deb).arg(name), "install dpkg")?;
    Ok(String::from_utf8_lossy(&out).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suite_beside_the_machines_own_is_derived_from_its_entries() {
        let deb822 = "Types: deb\n# a remark\nURIs: http://mirror/debian\nSuites: bookworm bookworm-updates\nComponents: main\n\n\
                      Types: deb\nURIs: http://mirror/debian-security\nSuites: bookworm-security\nComponents: main\n";
        let wanted = "Types: deb\nURIs: http://mirror/debian\nSuites: bookworm-backports\nComponents: main\n\n";
        assert_eq!(suite(deb822, "-backports"), wanted);
        let lines = "deb [signed-by=/k] http://mirror/debian bookworm main\ndeb http://mirror/s bookworm-security main\ndeb-src http://m/d bookworm main\n";
        assert_eq!(suite(lines, "-backports"), "deb [signed-by=/k] http://mirror/debian bookworm-backports main\n\n");
        assert_eq!(suite(lines, ""), lines);
    }
}
