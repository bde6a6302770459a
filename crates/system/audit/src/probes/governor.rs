use super::{Probe, With};
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_units::CpuList;

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const READS: &[&str] = &[
    CPUFREQ,
    "/sys/devices/system/cpu/cpufreq/policy*/affected_cpus",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_driver",
    "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference",
];

pub(super) const PROBES: &[Probe] = &[
    // The governor of each policy with a measured CPU.
    Probe { name: "governors", with: &[], reads: &[READS], run: governors },
    // Like `governors`, without policies of a fixed frequency.
    Probe { name: "governors-varying", with: &[], reads: &[READS], run: governors_varying },
    // `driver` or `driver/preference` for each policy with the governor powersave, because some drivers then choose the
    // frequency themselves.
    Probe { name: "powersave-drivers", with: &[], reads: &[READS], run: powersave_drivers },
];

/// Returns the cpufreq policies of the measured CPUs, and the policies whose CPUs are unknown.
pub(super) fn policies(sight: &Sight) -> Result<Vec<u32>, Gap> {
    let all = sight.numbered(CPUFREQ, "policy")?;
    let is_measured = |n: &u32| {
        let path = format!("{CPUFREQ}/policy{n}/affected_cpus");
        let list = sight.machine.read(&path);
        // The list is separated by spaces (drivers/cpufreq/cpufreq.c, cpufreq_show_cpus).
        let list = list.text().map(|text| text.split_whitespace().collect::<Vec<_>>().join(","));
        let cpus = list.and_then(|list| list.parse::<CpuList>().ok()).filter(|cpus| !cpus.is_empty());
        cpus.is_none_or(|cpus| !cpus.and(&sight.context.cpus).is_empty())
    };
    Ok(all.into_iter().filter(is_measured).collect())
}

fn of_policies(sight: &Sight, notes: &mut Notes, file: &str, each: impl Fn(u32, Known) -> Option<Known>) -> Reading {
    let policies = match policies(sight) {
        Ok(policies) => policies,
        Err(gap) => {
            notes.add(CPUFREQ, gap.cause.describe());
            return Reading::Many(Many::unknown(gap));
        }
    };
    let mut all = Many::default();
    let mut many = Many::default();
    for n in policies {
        let value = word(sight, n, file);
        all.push(format!("policy{n}"), value.clone());
        if let Some(value) = each(n, value) {
            many.push(format!("policy{n}"), value);
        }
    }
    notes.add(format!("{CPUFREQ}/policy*/{file}"), Reading::Many(all).show());
    Reading::Many(many)
}

fn word(sight: &Sight, policy: u32, file: &str) -> Known {
    let path = format!("{CPUFREQ}/policy{policy}/{file}");
    let text = sight.text(&path, &mut Notes::default())?;
    if text.is_empty() { Err(Gap::new(path, Cause::Garbled("value"))) } else { Ok(Value::Text(text)) }
}

fn governors(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    of_policies(sight, notes, "scaling_governor", |_, governor| Some(governor))
}

fn governors_varying(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    of_policies(sight, notes, "scaling_governor", |n, governor| {
        let frequency = |file: &str| word(sight, n, file).ok().and_then(|value| value.number()).filter(|khz| *khz > 0);
        let bounds = (frequency("scaling_min_freq"), frequency("scaling_max_freq"));
        let is_fixed = matches!(bounds, (Some(min), Some(max)) if min == max);
        let is_performance = governor == Ok(Value::Text("performance".to_owned()));
        (!is_fixed && !is_performance).then_some(governor)
    })
}

fn powersave_drivers(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    of_policies(sight, notes, "scaling_driver", |n, driver| {
        let governor = word(sight, n, "scaling_governor");
        if !matches!(&governor, Ok(Value::Text(word)) if word == "powersave") {
            return governor.err().map(Err);
        }
        let preference = word(sight, n, "energy_performance_preference").ok().map(|value| value.text());
        Some(driver.map(|driver| match preference {
            Some(preference) => Value::Text(format!("{}/{preference}", driver.text())),
            None => driver,
        }))
    })
}
