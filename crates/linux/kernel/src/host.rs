//! The build machine: programs, headers, compiler, free space.

use crate::programs::{last_lines, run};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that a build needs (Documentation/process/changes.rst), each with a package name that [`install`]
/// translates.
pub(crate) const PROGRAMS: [(&str, &str); 13] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("cpio", "cpio"),
    ("depmod", "kmod"),
    ("perl", "perl"),
    ("tar", "tar"),
    ("xz", "xz"),
    ("patch", "patch"),
    ("gpgv", "gpgv"),
];

/// Headers of libraries that the build uses, each with a package name that [`install`] translates.
pub(crate) const HEADERS: [(&str, &str); 2] = [("openssl/opensslv.h", "openssl-dev"), ("gelf.h", "elf-dev")];

/// Properties of the build machine; `None` for those that could not be determined.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// ID and ID_LIKE of os-release(5).
    pub distribution: Option<String>,
    pub machine: Option<String>,
    pub programs: BTreeSet<&'static str>,
    /// Headers that were found; `None` without a compiler to find them.
    pub headers: Option<BTreeSet<&'static str>>,
    /// Output of the compiler's `-dumpmachine`, or why it does not run.
    pub compiler: Option<Result<String, String>>,
    /// Free space on the file system of the build.
    pub free_bytes: Option<u64>,
}

impl Host {
    /// Examines the build machine. `compiler` is the full name of the program, `out` the build folder.
    pub fn look(compiler: &str, out: &Path) -> Host {
        let release = std::fs::read_to_string("/etc/os-release").ok();
        let field = |name: &str| {
            let value = release.as_deref()?.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
            Some(value.trim_matches(['"', '\'']).to_owned())
        };
        let distribution = field("ID").map(|id| format!("{id} {}", field("ID_LIKE").unwrap_or_default()));
        let programs: BTreeSet<&str> =
            PROGRAMS.iter().map(|(name, _)| *name).filter(|name| is_installed(name)).collect();
        let headers = programs
            .contains("gcc")
            .then(|| HEADERS.iter().map(|(name, _)| *name).filter(|name| has_header(name)).collect());
        let machine = std::fs::read_to_string("/proc/sys/kernel/arch").ok().map(|text| text.trim().to_owned());
        Host { distribution, machine, programs, headers, compiler: Some(dumpmachine(compiler)), free_bytes: free(out) }
    }
}

fn is_installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    // depmod is only in root's PATH.
    let more = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    std::env::split_paths(&paths).chain(more).any(|folder| folder.join(program).is_file())
}

fn has_header(name: &str) -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-E", "-x", "c", "-include", name, "/dev/null", "-o", "/dev/null"]);
    gcc.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Runs the compiler with `-dumpmachine`. A compiler that was built for another machine fails here with "Exec format
/// error".
fn dumpmachine(compiler: &str) -> Result<String, String> {
    let ran = run(Command::new(compiler).arg("-dumpmachine"), b"", "see the line below").map_err(|e| e.to_string())?;
    match ran.status.success() {
        true => Ok(String::from_utf8_lossy(&ran.stdout).trim().to_owned()),
        false => Err(format!("{compiler} ended with {}: {}", ran.status, last_lines(&ran.stderr, 1))),
    }
}

/// Returns the number of bytes available to this user on the file system of `folder`, which need not exist yet
/// (statvfs(3)).
pub fn free(folder: &Path) -> Option<u64> {
    let absolute = std::path::absolute(folder).ok()?;
    let there = absolute.ancestors().find(|path| path.is_dir())?;
    let found = rustix::fs::statvfs(there).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Returns the distribution's command for installing packages; only the package names if the distribution is unknown.
pub(crate) fn install(distribution: Option<&str>, packages: &[&str]) -> String {
    let is = |name: &str| distribution.is_some_and(|d| d.split_whitespace().any(|word| word == name));
    let (command, column) = if is("debian") || is("ubuntu") || is("raspbian") {
        ("sudo apt-get install", 0)
    } else if is("fedora") || is("rhel") || is("centos") {
        ("sudo dnf install", 1)
    } else if is("arch") {
        ("sudo pacman -S", 2)
    } else if is("suse") || is("opensuse") {
        ("sudo zypper install", 3)
    } else {
        ("install, under your distribution's names,", 0)
    };
    let names: BTreeSet<&str> = packages.iter().map(|name| named(name, column)).collect();
    format!("{command} {}", names.into_iter().collect::<Vec<_>>().join(" "))
}

/// Returns the package's name on the distribution of `column`: Debian, Fedora, Arch or openSUSE.
fn named(package: &str, column: usize) -> &str {
    let other = [
        ("openssl-dev", ["libssl-dev", "openssl-devel", "openssl", "libopenssl-devel"]),
        ("elf-dev", ["libelf-dev", "elfutils-libelf-devel", "libelf", "libelf-devel"]),
        ("xz", ["xz-utils", "xz", "xz", "xz"]),
        ("gpgv", ["gpgv", "gnupg2", "gnupg", "gpg2"]),
        (
            "gcc-aarch64-linux-gnu",
            ["gcc-aarch64-linux-gnu", "gcc-aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "cross-aarch64-gcc14"],
        ),
    ];
    other.iter().find(|(name, _)| *name == package).map_or(package, |(_, names)| names[column])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_as_the_distribution_names_them() {
        let of = |distribution| install(distribution, &["flex", "openssl-dev", "flex"]);
        assert_eq!(of(Some("ubuntu debian")), "sudo apt-get install flex libssl-dev");
        assert_eq!(of(Some("fedora ")), "sudo dnf install flex openssl-devel");
        assert_eq!(of(Some("arch ")), "sudo pacman -S flex openssl");
        assert!(of(None).starts_with("install, under your distribution's names, flex"));
    }

    #[test]
    fn free_space_is_known_for_missing_directories() {
        assert!(free(Path::new("/no/such/folder")).is_some());
        assert_eq!(free(Path::new("")), None);
    }

    #[test]
    fn a_compiler_that_is_not_there_or_no_program_is_no_compiler() {
        assert!(dumpmachine("no-such-compiler-gcc").unwrap_err().contains("is not installed"));
        assert!(dumpmachine(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")).unwrap_err().contains("cannot run"));
    }
}
