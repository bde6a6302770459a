//! Determines whether text that programs write to the main trace_marker can be copied to an instance.

/// Stable releases with commit 07183aac4a68 ("tracing: Fix trace_marker copy link list updates"), which is in Linux
/// 7.0. Without it, removing an instance that receives copies can make a simultaneous write(2) to trace_marker access
/// freed memory or loop forever.
const FIXED: [(u64, u64, u64); 2] = [(6, 18, 21), (6, 19, 11)];

/// Returns true if copying can be enabled, and the instance removed, while programs write marks.
pub(crate) fn are_safe(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse::<u64>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else { return false };
    let patch = numbers.next().flatten().unwrap_or(0);
    let is_stable = |(a, b, c): &(u64, u64, u64)| (*a, *b) == (major, minor) && patch >= *c;
    major >= 7 || FIXED.iter().any(is_stable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_are_not_known_to_be_fixed_have_no_copies() {
        for release in ["7.0.0", "7.1-rc2", "6.18.21", "6.18.44-fc-v782", "6.19.11+deb14-amd64"] {
            assert!(are_safe(release), "{release}");
        }
        for release in ["", "6", "6.1.0-56-rt-amd64", "6.16.3", "6.17.0-14-generic", "6.18", "6.18.20", "6.19.1", "x.y"]
        {
            assert!(!are_safe(release), "{release}");
        }
    }
}
