use super::{Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};

const CPUFREQ: &str = "/sys/devices/system/cpu/cpufreq";
const UNCORE: &str = "/sys/devices/system/cpu/intel_uncore_frequency";
const THERMAL: &str = "/sys/class/thermal";
const NODES: &str = "/sys/devices/system/node";

pub(super) const PROBES: &[Probe] = &[
    // Policies of measured CPUs without a fixed frequency: `policy0 800000-1500000`.
    Probe {
        name: "frequency-ranges",
        with: &[],
        reads: &[&[
            CPUFREQ,
            "/sys/devices/system/cpu/cpufreq/policy*/affected_cpus",
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
            "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
        ]],
        run: frequencies,
    },
    // Like `frequency-ranges`, for the uncore.
    Probe {
        name: "uncore-ranges",
        with: &[],
        reads: &[&[
            UNCORE,
            "/sys/devices/system/cpu/intel_uncore_frequency/*/min_freq_khz",
            "/sys/devices/system/cpu/intel_uncore_frequency/*/max_freq_khz",
        ]],
        run: uncore,
    },
    // Zones within this margin of the lowest trip point that throttles.
    Probe {
        name: "thermal-headroom",
        with: &["millidegrees"],
        reads: &[&[
            THERMAL,
            "/sys/class/thermal/thermal_zone*",
            "/sys/class/thermal/thermal_zone*/type",
            "/sys/class/thermal/thermal_zone*/temp",
            "/sys/class/thermal/thermal_zone*/trip_point_*",
        ]],
        run: headroom,
    },
    // The memory nodes of the measured CPUs: `0` or `0,1`.
    Probe {
        name: "measured-nodes",
        with: &[],
        reads: &[&[NODES, "/sys/devices/system/node/node*/cpulist"]],
        run: nodes,
    },
];

fn range(sight: &Sight, label: &str, low: &str, high: &str, many: &mut Many) {
    let mut unnoted = Notes::default();
    let mut number = |path: &str| sight.number(path, &mut unnoted).map_err(Gap::expected);
    match number(low).and_then(|low| Ok((low, number(high)?))) {
        Ok((low, high)) if low == high => {}
        Ok((low, high)) => many.push("", Ok(Value::Text(format!("{label} {low}-{high}")))),
        Err(gap) => many.push("", Err(gap)),
    }
}

fn frequencies(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    match super::governor::policies(sight) {
        Ok(policies) if policies.is_empty() => {
            many.missing = Some(Gap::new(CPUFREQ, Cause::Garbled("policy of a measured CPU")))
        }
        Ok(policies) => {
            for n in policies {
                let file = |name: &str| format!("{CPUFREQ}/policy{n}/{name}");
                range(sight, &format!("policy{n}"), &file("scaling_min_freq"), &file("scaling_max_freq"), &mut many);
            }
        }
        Err(gap) => many.missing = Some(gap.expected()),
    }
    finish(many, format!("{CPUFREQ}/policy*/scaling_{{min,max}}_freq, kHz"), notes)
}

fn uncore(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    match sight.names(UNCORE) {
        Ok(names) => {
            for name in names {
                let file = |of: &str| format!("{UNCORE}/{name}/{of}_freq_khz");
                range(sight, &name, &file("min"), &file("max"), &mut many);
            }
        }
        Err(gap) => many.missing = Some(gap.expected()),
    }
    finish(many, format!("{UNCORE}/*, kHz"), notes)
}

fn finish(many: Many, source: String, notes: &mut Notes) -> Reading {
    let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
    notes.add(source, format!("{}{gap}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

fn headroom(sight: &Sight, with: &With, notes: &mut Notes) -> Reading {
    let margin = with.get("millidegrees").copied().unwrap_or(0);
    let mut many = Many::default();
    match sight.numbered(THERMAL, "thermal_zone") {
        Ok(zones) => zones.into_iter().for_each(|n| zone(sight, n, margin, &mut many)),
        Err(gap) => many.missing = Some(gap.expected()),
    }
    finish(many, format!("{THERMAL}/thermal_zone*, millidegrees"), notes)
}

/// Checks one thermal zone. Its temperature may be unreadable for good reason (a modem that is off: EAGAIN, ENODATA),
/// and a zone without trip points never throttles.
fn zone(sight: &Sight, n: u32, margin: i64, many: &mut Many) {
    let zone = format!("{THERMAL}/thermal_zone{n}");
    let mut unnoted = Notes::default();
    let mut trips = Vec::new();
    for trip in 0..12 {
        let mut text = |of: &str| sight.text(&format!("{zone}/trip_point_{trip}_{of}"), &mut unnoted);
        match text("type") {
            Ok(kind) if kind == "passive" || kind == "critical" => {
                trips.extend(text("temp").ok().and_then(|temp| temp.parse::<i64>().ok()).filter(|temp| *temp > 0));
            }
            Ok(_) => {}
            Err(_) => break,
        }
    }
    let Some(trip) = trips.into_iter().min() else { return };
    let name = sight.text(&format!("{zone}/type"), &mut unnoted).unwrap_or_else(|_| format!("zone {n}"));
    match sight.number(&format!("{zone}/temp"), &mut unnoted).map_err(Gap::expected) {
        Ok(temp) if temp + margin > trip => {
            many.push("", Ok(Value::Text(format!("{name} {} of {} °C", temp / 1000, trip / 1000))));
        }
        Ok(_) => {}
        Err(gap) => many.push("", Err(gap)),
    }
}

fn nodes(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let numbers = match sight.numbered(NODES, "node") {
        Ok(numbers) => numbers,
        Err(gap) => return Reading::gap(gap.expected()),
    };
    let (mut found, mut left) = (Vec::new(), sight.context.cpus.clone());
    for n in numbers {
        match sight.cpu_list(&format!("{NODES}/node{n}/cpulist"), notes).map_err(Gap::expected) {
            Ok(cpus) if cpus.and(&sight.context.cpus).is_empty() => {}
            Ok(cpus) => {
                left = left.minus(&cpus);
                found.push(n.to_string());
            }
            Err(gap) => return Reading::gap(gap),
        }
    }
    if found.is_empty() || !left.is_empty() {
        return Reading::gap(Gap::new(NODES, Cause::Garbled("node of a measured CPU")));
    }
    Reading::word(found.join(","))
}
