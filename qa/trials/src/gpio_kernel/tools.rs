use std::collections::BTreeSet;
use std::env;
use std::process::{Command, Stdio};

const PROGRAMS: [(&str, &str); 9] = [
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
    ("nice", "coreutils"),
];
/// Headers that the build needs, and their packages: objtool reads objects with libelf, and x86-64 builds always use it
/// (HAVE_UACCESS_VALIDATION).
const HEADERS: [(&str, &str); 2] = [("gelf.h", "libelf-dev"), ("stdlib.h", "libc6-dev")];

/// Checks for all tools. The error lists everything that is missing.
pub fn check() -> Result<(), String> {
    if env::consts::ARCH != "x86_64" {
        return Err(format!("gpio-kernel builds for x86-64 on x86-64; this machine is {}", env::consts::ARCH));
    }
    said(&missing(is_installed, has_header))
}

fn missing(program: impl Fn(&str) -> bool, header: impl Fn(&str) -> bool) -> Vec<(&'static str, &'static str)> {
    let gcc = program("gcc");
    let programs = PROGRAMS.into_iter().filter(|(name, _)| !program(name));
    // Without a compiler the headers cannot be checked.
    let headers = HEADERS.into_iter().filter(|(name, _)| gcc && !header(name));
    programs.chain(headers).collect()
}

fn said(missing: &[(&str, &str)]) -> Result<(), String> {
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: BTreeSet<&str> = missing.iter().map(|(_, package)| *package).collect();
    let packages: Vec<&str> = packages.into_iter().collect();
    Err(format!("a kernel cannot be built without {}: apt-get install {}", names.join(", "), packages.join(" ")))
}

fn is_installed(program: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn has_header(name: &str) -> bool {
    let mut gcc = Command::new("gcc");
    gcc.args(["-E", "-x", "c", "-include", name, "/dev/null", "-o", "/dev/null"]);
    gcc.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_missing_is_named_at_once() {
        let found = missing(|program| program != "flex" && program != "xz", |header| header != "gelf.h");
        let text = said(&found).unwrap_err();
        assert!(text.contains("without flex, xz, gelf.h: apt-get install flex libelf-dev xz-utils"), "{text}");
        assert!(said(&missing(|_| true, |_| true)).is_ok());
    }

    #[test]
    fn without_a_compiler_headers_are_not_guessed() {
        let found = missing(|program| program != "gcc", |_| false);
        assert_eq!(found, [("gcc", "gcc")]);
    }
}
