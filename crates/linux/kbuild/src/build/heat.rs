//! Pauses native builds when the board gets hot: some boards throttle when compiling, and some switch off.

use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heat {
    /// Temperature limit in thousandths of a degree Celsius, as in thermal zones
    /// (Documentation/ABI/testing/sysfs-class-thermal).
    pub pause_millidegrees: i64,
    pub resume_millidegrees: i64,
    /// Folder of the thermal zones, normally `/sys/class/thermal`.
    pub zones: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} °C is not a valid limit: choose 30 to 110 (--pause-at)")]
pub struct HeatError(i64);

/// Difference in degrees Celsius between the temperatures for pausing and for resuming. With a smaller difference, the
/// build would pause every second.
const HYSTERESIS: i64 = 8;

impl Heat {
    /// Creates the limit from degrees Celsius.
    ///
    /// # Errors
    /// The limit is not plausible.
    pub fn at(degrees: i64, zones: &Path) -> Result<Heat, HeatError> {
        if !(30..=110).contains(&degrees) {
            return Err(HeatError(degrees));
        }
        Ok(Heat {
            pause_millidegrees: degrees * 1000,
            resume_millidegrees: (degrees - HYSTERESIS) * 1000,
            zones: zones.to_owned(),
        })
    }

    /// Returns the temperature of the hottest zone in thousandths of a degree Celsius; `None` if no zone reports a
    /// temperature.
    pub fn hottest(&self) -> Option<i64> {
        let zones = fs::read_dir(&self.zones).ok()?.flatten();
        let zones = zones.filter(|entry| entry.file_name().to_string_lossy().starts_with("thermal_zone"));
        zones.filter_map(|zone| fs::read_to_string(zone.path().join("temp")).ok()?.trim().parse().ok()).max()
    }

    /// Returns true if the build must be paused now. If the temperature cannot be read, the state does not change.
    pub(super) fn pauses(&self, is_paused: bool, hottest: Option<i64>) -> bool {
        match hottest {
            None => is_paused,
            Some(now) if is_paused => now >= self.resume_millidegrees,
            Some(now) => now >= self.pause_millidegrees,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_pauses_at_the_limit_and_goes_on_well_below_it() {
        let heat = Heat::at(75, Path::new("/nowhere")).unwrap();
        let steps = [(74_999, false), (75_000, true), (70_000, true), (67_000, true), (66_999, false), (74_000, false)];
        let mut paused = false;
        for (now, expected) in steps {
            paused = heat.pauses(paused, Some(now));
            assert_eq!(paused, expected, "{now}");
        }
        assert!(heat.pauses(true, None) && !heat.pauses(false, None), "unknown is no reason to change");
        assert!(Heat::at(5, Path::new("/")).is_err());
    }

    #[test]
    fn the_hottest_zone_counts_and_none_is_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let heat = Heat::at(75, folder.path()).unwrap();
        assert_eq!(heat.hottest(), None);
        for (zone, temperature) in
            [("thermal_zone0", "41000\n"), ("thermal_zone1", "52500\n"), ("cooling_device0", "99000")]
        {
            fs::create_dir(folder.path().join(zone)).unwrap();
            fs::write(folder.path().join(zone).join("temp"), temperature).unwrap();
        }
        assert_eq!(heat.hottest(), Some(52_500));
    }
}
