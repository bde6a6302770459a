//! Power consumption of the processors, from their RAPL energy counters.

use punctual_machine::Machine;
use std::collections::BTreeMap;
use std::time::Duration;

const POWERCAP: &str = "/sys/class/powercap";

/// For each package, its energy counter, and the value at which the counter wraps, µJ
/// (Documentation/power/powercap/powercap.rst).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Energy(BTreeMap<String, (u64, u64)>);

impl Energy {
    /// Reads the counters; `None` if there is no package, or a counter cannot be read (root is required).
    pub fn read(machine: &dyn Machine) -> Option<Energy> {
        let listing = machine.list(POWERCAP);
        let mut packages = BTreeMap::new();
        // `intel-rapl:0` is a package, `intel-rapl:0:1` a part of it; `intel-rapl-mmio:0` repeats the same package.
        let is_package = |name: &&String| name.strip_prefix("intel-rapl:").is_some_and(|n| !n.contains(':'));
        for name in listing.names()?.iter().filter(is_package) {
            let number = |file: &str| machine.read(&format!("{POWERCAP}/{name}/{file}")).text()?.parse().ok();
            packages.insert(name.clone(), (number("energy_uj")?, number("max_energy_range_uj")?));
        }
        (!packages.is_empty()).then_some(Energy(packages))
    }

    /// Returns the average power since an earlier reading, W; `None` if the packages differ or no time has passed.
    pub fn watts_since(&self, earlier: &Energy, elapsed: Duration) -> Option<f64> {
        let mut micros = 0.0;
        for (name, (now, range)) in &self.0 {
            let (then, _) = earlier.0.get(name)?;
            micros += if now >= then { now - then } else { now + range.saturating_sub(*then) } as f64;
        }
        let watts = micros / 1e6 / elapsed.as_secs_f64();
        (self.0.len() == earlier.0.len() && watts.is_finite() && watts > 0.0).then_some(watts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn energy(packages: &[(&str, u64)]) -> Energy {
        Energy(packages.iter().map(|(name, micros)| ((*name).to_owned(), (*micros, 1_000_000_000))).collect())
    }

    #[test]
    fn counters_wrap_and_packages_add_up() {
        let (before, after) =
            (energy(&[("a", 999_000_000), ("b", 5_000_000)]), energy(&[("a", 2_000_000), ("b", 8_000_000)]));
        assert_eq!(after.watts_since(&before, Duration::from_secs(2)), Some(3.0));
        assert_eq!(after.watts_since(&before, Duration::ZERO), None);
        assert_eq!(after.watts_since(&energy(&[("a", 1)]), Duration::from_secs(1)), None);
        assert_eq!(after.watts_since(&after, Duration::from_secs(1)), None, "a counter that stands");
    }
}
