//! Kernel versions: series, releases, and releases with a real-time patch.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {what}: write it as {example}")]
pub struct VersionError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// A kernel series such as `6.12`; ordered numerically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Series {
    /// VERSION in the kernel's Makefile.
    pub major: u16,
    /// PATCHLEVEL in the kernel's Makefile.
    pub minor: u16,
}

/// A release such as `6.12.9`; `6.12` has sublevel 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Release {
    pub series: Series,
    /// SUBLEVEL in the kernel's Makefile.
    pub sublevel: u16,
}

/// A release and the revision of its real-time patch, `6.6.147-rt77`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Patched {
    pub release: Release,
    /// The number after `-rt`.
    pub revision: u16,
}

/// Parses a number as in the kernel's Makefile: digits only, no leading zero.
fn number(text: &str) -> Option<u16> {
    let is_plain =
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

impl FromStr for Series {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Series, VersionError> {
        let error = || VersionError { text: text.to_owned(), what: "kernel series", example: "6.12" };
        let (major, minor) = text.split_once('.').ok_or_else(error)?;
        match (number(major), number(minor)) {
            (Some(major), Some(minor)) => Ok(Series { major, minor }),
            _ => Err(error()),
        }
    }
}

impl FromStr for Release {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Release, VersionError> {
        let error = || VersionError { text: text.to_owned(), what: "kernel release", example: "6.12.9" };
        let (series, sublevel) = match text.match_indices('.').nth(1) {
            Some((at, _)) => (&text[..at], number(&text[at + 1..]).ok_or_else(error)?),
            None => (text, 0),
        };
        Ok(Release { series: series.parse().map_err(|_| error())?, sublevel })
    }
}

impl FromStr for Patched {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Patched, VersionError> {
        let error = || VersionError { text: text.to_owned(), what: "patched release", example: "6.6.147-rt77" };
        let (release, revision) = text.split_once("-rt").ok_or_else(error)?;
        let release = release.parse().map_err(|_| error())?;
        Ok(Patched { release, revision: number(revision).ok_or_else(error)? })
    }
}

impl Series {
    /// Returns the option that selects the real-time kernel, without `CONFIG_`; patches before 5.3 used another name
    /// (kernel/Kconfig.preempt).
    pub fn rt_option(self) -> &'static str {
        if self < (Series { major: 5, minor: 3 }) { "PREEMPT_RT_FULL" } else { "PREEMPT_RT" }
    }
}

impl Release {
    /// Parses `uname -r`, ignoring what distributions append.
    pub fn of_uname(release: &str) -> Option<Release> {
        let end = release.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(release.len());
        release[..end].parse().ok()
    }

    /// Returns the published name: the first release of a series has no third number (`linux-6.12.tar.xz`).
    pub fn as_released(self) -> String {
        if self.sublevel == 0 { self.series.to_string() } else { self.to_string() }
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.series, self.sublevel)
    }
}

impl fmt::Display for Patched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-rt{}", self.release.as_released(), self.revision)
    }
}

macro_rules! as_text {
    ($($name:ident),*) => {$(
        impl TryFrom<String> for $name {
            type Error = VersionError;

            fn try_from(text: String) -> Result<$name, VersionError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(version: $name) -> String {
                version.to_string()
            }
        }
    )*};
}

as_text!(Series, Release, Patched);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn versions_are_ordered_by_number() {
        let series = |text: &str| text.parse::<Series>().unwrap();
        assert!(series("6.9") < series("6.12") && series("5.15") < series("6.1"));
        let patched = |text: &str| text.parse::<Patched>().unwrap();
        assert!(patched("6.6.9-rt99") < patched("6.6.10-rt1"));
        assert_eq!(patched("6.6-rt15").to_string(), "6.6-rt15");
        assert_eq!(patched("6.6-rt15").release, "6.6.0".parse().unwrap());
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for bad in ["", "6", "6.", ".6", "6.012", "6.1x", "+6.1", "6.-1", "6.1.2.3", "99999.1", " 6.1"] {
            assert!(bad.parse::<Release>().is_err() && bad.parse::<Series>().is_err(), "{bad}");
        }
        for bad in ["6.6.1", "6.6.1-rt", "6.6.1-rtx", "6.6.1-rt1-rt2", "6.6.1-rc1-rt1"] {
            assert!(bad.parse::<Patched>().is_err(), "{bad}");
        }
    }

    #[test]
    fn uname_is_read_up_to_what_builders_append() {
        let of = |text| Release::of_uname(text).map(|r| r.to_string());
        assert_eq!(of("6.12.117+deb12-rt-amd64").as_deref(), Some("6.12.117"));
        assert_eq!(of("6.1.0-39-rt-amd64").as_deref(), Some("6.1.0"));
        assert_eq!(of("5.4.140-rt64").as_deref(), Some("5.4.140"));
        assert_eq!((of("rt"), of(""), of("6.12.")), (None, None, None));
    }

    proptest! {
        #[test]
        fn a_version_survives_its_text(major in 0u16.., minor in 0u16.., sublevel in 0u16.., revision in 0u16..) {
            let patched = Patched { release: Release { series: Series { major, minor }, sublevel }, revision };
            prop_assert_eq!(patched.to_string().parse::<Patched>(), Ok(patched));
        }

        #[test]
        fn any_text_is_answered(text in ".*") {
            let _ = (text.parse::<Series>(), text.parse::<Release>(), text.parse::<Patched>(), Release::of_uname(&text));
        }
    }
}
