//! Series and packages as data: `versions.toml`.

use crate::{Arch, Patched, Series, Verified};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const DATA: &str = include_str!("../versions.toml");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtBy {
    /// PREEMPT_RT is in mainline: EXPERT and PREEMPT_RT have to be set, and nothing is patched.
    Mainline,
    /// The published patch is needed; it exists only for specific releases.
    StableRt,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesEntry {
    pub name: Series,
    pub rt: RtBy,
    /// The newest patched release known to this table; `None` to look it up in the published index.
    pub newest_rt: Option<Patched>,
    /// A release with a published patch at which the Raspberry Pi's branch of the series is known to have been.
    pub pi_rt: Option<Patched>,
    pub archs: Vec<Arch>,
    /// Year and month in which maintenance of the series ended; `None` if it is still maintained.
    pub over: Option<String>,
    pub verified: Verified,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// ID of os-release(5); `raspberry-pi-os` for Raspberry Pi OS, which calls itself debian.
    pub os: String,
    /// VERSION_ID or its first number; empty for every version.
    pub version: String,
    /// Suffixes of `uname -r` of the distribution's kernels that the package can replace; empty for any kernel.
    #[serde(default)]
    pub beside: Vec<String>,
    pub package: BTreeMap<Arch, String>,
    /// Installation commands; `{package}` stands for the package's name.
    pub install: Vec<String>,
    /// Series of the packaged kernel; `None` if it changes with the distribution.
    pub series: Option<Series>,
    /// Value of CONFIG_HZ.
    pub hz: Option<u32>,
    pub tracers: Option<Vec<crate::Tracer>>,
    pub note: Option<String>,
    pub verified: Verified,
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePackage {
    /// See [`Package::os`].
    pub os: String,
    /// See [`Package::version`].
    pub version: String,
    pub package: String,
    pub series: Series,
    pub verified: Verified,
    pub source: String,
}

/// Facts about an operating system other than its packages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SystemEntry {
    /// IDs as in [`Package::os`]; also matched against ID_LIKE of an unlisted system.
    pub os: Vec<String>,
    /// The boot loader that the system's installer sets up, by architecture.
    #[serde(default)]
    pub loader: BTreeMap<Arch, UsualLoader>,
    /// Steps that remain after the installation of a package; `{package}` stands for its name.
    pub after: Option<String>,
    /// The reason why the system has no real-time package.
    pub none: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UsualLoader {
    Grub,
    GrubBls,
    Extlinux,
    Armbian,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    system: Vec<SystemEntry>,
    series: Vec<SeriesEntry>,
    package: Vec<Package>,
    source_package: Vec<SourcePackage>,
}

// The tests parse the same text.
static ALL: LazyLock<Data> = LazyLock::new(|| toml::from_str(DATA).unwrap_or_default());

pub fn series() -> &'static [SeriesEntry] {
    &ALL.series
}

pub fn packages() -> &'static [Package] {
    &ALL.package
}

pub fn systems() -> &'static [SystemEntry] {
    &ALL.system
}

pub fn source_packages() -> &'static [SourcePackage] {
    &ALL.source_package
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_and_ordered() {
        let data: Data = toml::from_str(DATA).unwrap();
        assert!(data.series.is_sorted_by(|a, b| a.name < b.name));
        for entry in &data.series {
            assert!(!entry.archs.is_empty() && !entry.source.is_empty());
            assert!(entry.newest_rt.is_none_or(|p| p.release.series == entry.name), "{}", entry.name);
        }
        for package in &data.package {
            assert!(!package.package.is_empty() && !package.install.is_empty(), "{}", package.os);
            assert!(!package.source.is_empty());
        }
    }

    #[test]
    fn real_time_is_in_mainline_since_6_12_and_on_32_bit_arm_since_7_1() {
        for entry in series() {
            let mainline = entry.name >= "6.12".parse().unwrap();
            assert_eq!(entry.rt == RtBy::Mainline, mainline, "{}", entry.name);
            assert_eq!(entry.archs.contains(&Arch::Arm), !mainline || entry.name >= "7.1".parse().unwrap());
        }
    }
}
