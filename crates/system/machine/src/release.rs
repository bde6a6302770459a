//! Names of releases of Linux.

/// Major and minor number.
pub(crate) type Release = (u32, u32);

/// Major and minor number of a kernel release.
pub(crate) fn series(release: &str) -> Option<Release> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A version without a vendor's addition: `6.12.9`, `6.12.9-rc2`, `6.12.9-rt1`.
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
}
