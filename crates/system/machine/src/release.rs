//! Parses the names of Linux releases.

/// Major and minor number.
pub(crate) type Release = (u32, u32);

/// Returns the major and minor number of a kernel release.
pub(crate) fn series(release: &str) -> Option<Release> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Returns true for a version without a vendor's addition: `6.12.9`, `6.12.9-rc2`, `6.12.9-rt1`.
pub(crate) fn is_mainline(version: &str) -> bool {
    let (numbers, rest) = version.split_once('-').unwrap_or((version, ""));
    let is_plain = numbers.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    is_plain && (rest.is_empty() || rest.starts_with("rc") || rest.starts_with("rt"))
}

/// Returns true if the name of a release shows that features of later ones were backported: enterprise kernels of the
/// RHEL family (`5.14.0-503.el9`) and of SUSE (`6.4.0-150600.23-default`).
pub fn backports(release: &str) -> bool {
    let has_digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let is_rhel = release.match_indices(".el").any(|(at, el)| has_digit(&release[at + el.len()..]));
    let suse = release.split_once('-').map_or("", |(_, build)| build.split('.').next().unwrap_or_default());
    is_rhel || (suse.len() == 6 && suse.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Parts of release names, each with the machine (`uname -m`) that they identify, as these distributions use them:
/// Fedora and the RHEL family, Debian, openSUSE, Arch Linux ARM, Raspberry Pi OS, Nvidia's Jetson.
const MACHINES: &[(&str, &str)] = &[
    ("686", "i686"),
    ("aarch64", "aarch64"),
    ("amd64", "x86_64"),
    ("arm64", "aarch64"),
    ("armmp", "armv7l"),
    ("armv7hl", "armv7l"),
    ("i686", "i686"),
    ("loong64", "loongarch64"),
    ("loongarch64", "loongarch64"),
    ("ppc64le", "ppc64le"),
    ("powerpc64le", "ppc64le"),
    ("riscv64", "riscv64"),
    ("rpi-2712", "aarch64"),
    ("rpi-v6", "armv6l"),
    ("rpi-v7", "armv7l"),
    ("rpi-v7l", "armv7l"),
    ("rpi-v8", "aarch64"),
    ("s390x", "s390x"),
    ("v7+", "armv7l"),
    ("v7l+", "armv7l"),
    ("v8+", "aarch64"),
    ("v8-16k+", "aarch64"),
    ("x86_64", "x86_64"),
];

/// Returns the machine (`uname -m`) that the name of a release shows, such as `x86_64` in `3.10.0-862.el7.x86_64`.
pub(crate) fn machine(release: &str) -> Option<&'static str> {
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with(['-', '.', '+', '_']);
    let has = |part: &str| {
        release.match_indices(part).any(|(at, _)| {
            let (before, behind) = (release.get(..at), release.get(at + part.len()..));
            // A number after a dot is part of a version.
            let is_name = part.starts_with(|c: char| c.is_ascii_alphabetic());
            let is_begin = |before: &str| before.ends_with(['-', '_', '+']) || (is_name && before.ends_with('.'));
            before.is_some_and(is_begin) && behind.is_some_and(is_end)
        })
    };
    let mut found = MACHINES.iter().filter(|(part, _)| has(part)).map(|(_, machine)| *machine);
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Returns the release in the name of a kernel's file, such as `/boot/vmlinuz-6.1.0-28-amd64` (kernel-install(8),
/// installkernel(8)).
pub(crate) fn of_image(path: &str) -> Option<&str> {
    let name = path.rsplit(['/', ')']).next()?;
    let release = ["vmlinuz-", "vmlinux-", "Image-", "bzImage-"].iter().find_map(|head| name.strip_prefix(head))?;
    let (numbers, _) = release.split_once(['-', '+', '_']).unwrap_or((release, ""));
    let is_release = numbers.split('.').filter(|part| part.parse::<u32>().is_ok()).count() >= 2;
    is_release.then_some(release)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn enterprise_kernels_are_known_by_their_release() {
        for text in ["5.14.0-503.14.1.el9_5.x86_64+rt", "4.18.0-553.el8.x86_64", "6.4.0-150600.23.25-default"] {
            assert!(backports(text) && !is_mainline(text), "{text}");
        }
        for text in
            ["6.12.9-rt1", "6.8.0-49-generic", "6.1.0-28-amd64", "6.6.63-v8+", "6.11.4-301.fc41.x86_64", "6.1.elf"]
        {
            assert!(!backports(text), "{text}");
        }
    }

    #[test]
    fn the_name_of_a_release_may_show_the_machine() {
        for (release, expected) in [
            ("3.10.0-862.el7.x86_64", Some("x86_64")),
            ("5.14.0-503.14.1.el9_5.x86_64+rt", Some("x86_64")),
            ("6.1.0-28-rt-amd64", Some("x86_64")),
            ("6.12.48+deb13-cloud-arm64", Some("aarch64")),
            ("6.12.47+rpt-rpi-v8", Some("aarch64")),
            ("6.6.63-v7l+", Some("armv7l")),
            ("6.12.6-200.fc41.aarch64", Some("aarch64")),
            ("5.10.0-9-686-pae", Some("i686")),
            ("6.8.0-49-generic", None),
            ("4.19.686", None),
            ("6.1.0-myamd64", None),
        ] {
            assert_eq!(machine(release), expected, "{release}");
        }
    }

    #[test]
    fn the_name_of_an_image_may_have_the_release() {
        for (path, expected) in [
            ("/boot/vmlinuz-6.1.0-28-amd64", Some("6.1.0-28-amd64")),
            ("(hd0,gpt2)/vmlinuz-3.10.0-862.el7.x86_64", Some("3.10.0-862.el7.x86_64")),
            ("/vmlinuz-6.12-x86_64", Some("6.12-x86_64")),
            ("/vmlinuz-linux-rt", None),
            ("/boot/vmlinuz", None),
            ("/boot/Image-4.9.201-tegra", Some("4.9.201-tegra")),
        ] {
            assert_eq!(of_image(path), expected, "{path}");
        }
    }
}
