//! Series and packages as data: `versions.toml`.

use crate::{Arch, Patched, Series, Verified};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const DATA: &str = include_str!("../versions.toml");

/// Where a series' real-time part comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtBy {
    /// It is in the kernel: EXPERT and PREEMPT_RT have to be set, nothing is patched.
    Mainline,
    /// The published patch, for exactly one release.
    StableRt,
}

/// A series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesEntry {
    /// Which.
    pub name: Series,
    /// Where its real-time part comes from.
    pub rt: RtBy,
    /// The newest patched release, as last seen; `None`: not known here, see the published index.
    pub newest_rt: Option<Patched>,
    /// A patched release that the Raspberry Pi's branch of the series is known to have been; `None`: not known.
    pub pi_rt: Option<Patched>,
    /// Architectures with PREEMPT_RT.
    pub archs: Vec<Arch>,
    /// Year and month its maintenance ended; `None`: it is maintained.
    pub over: Option<String>,
    /// How far it was tried.
    pub verified: Verified,
    /// Where this was read.
    pub source: String,
}

/// A distribution's real-time kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// ID of os-release(5); `raspberry-pi-os` for Raspberry Pi OS, which calls itself debian.
    pub os: String,
    /// VERSION_ID, or its first number.
    pub version: String,
    /// Architectures.
    pub archs: Vec<Arch>,
    /// Its name by architecture.
    pub package: BTreeMap<Arch, String>,
    /// How it is installed; `{package}` stands for its name.
    pub install: String,
    /// The kernel's series.
    pub series: Series,
    /// CONFIG_HZ; `None`: not known.
    pub hz: Option<u32>,
    /// Tracers its configuration has; `None`: not known.
    pub tracers: Option<Vec<crate::Tracer>>,
    /// What else to know.
    pub note: Option<String>,
    /// How far it was tried.
    pub verified: Verified,
    /// Where this was read.
    pub source: String,
}

/// A distribution's package with a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourcePackage {
    /// As [`Package::os`].
    pub os: String,
    /// As [`Package::version`].
    pub version: String,
    /// Its name.
    pub package: String,
    /// The kernel's series.
    pub series: Series,
    /// How far it was tried.
    pub verified: Verified,
    /// Where this was read.
    pub source: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Data {
    series: Vec<SeriesEntry>,
    package: Vec<Package>,
    source_package: Vec<SourcePackage>,
}

// The tests read it too: what is embedded is never broken.
static ALL: LazyLock<Data> = LazyLock::new(|| toml::from_str(DATA).unwrap_or_default());

/// All series, the oldest first.
pub fn series() -> &'static [SeriesEntry] {
    &ALL.series
}

/// All packages.
pub fn packages() -> &'static [Package] {
    &ALL.package
}

/// All packages with sources.
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
            assert!(package.archs.iter().all(|arch| package.package.contains_key(arch)), "{}", package.os);
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
