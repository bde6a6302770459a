use super::{CONFIG_READS, Probe, With};
use crate::cmdline::{arches, releases};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight, config_gap};
use punctual_machine::{co_kernel, default_preemption, preemption_mode};

const RELEASE: &str = "/proc/sys/kernel/osrelease";
const VERSION: &str = "/proc/sys/kernel/version";
const ARCH: &str = "/proc/sys/kernel/arch";
const MODULES: &str = "/proc/modules";
const CPUS: &str = "/sys/devices/system/cpu";
const PREEMPT: &str = "/sys/kernel/debug/sched/preempt";

pub(super) const PROBES: &[Probe] = &[
    // Such as `6.12` for 6.12.9-rt1.
    Probe { name: "kernel-series", with: &[], reads: &[&[RELEASE], CONFIG_READS], run: series },
    // Such as `9` for 6.12.9-rt1; 0 without a third number.
    Probe { name: "kernel-patch", with: &[], reads: &[&[RELEASE], CONFIG_READS], run: patch },
    // Such as `6012` for 6.12.9-rt1, for comparisons.
    Probe { name: "kernel-order", with: &[], reads: &[&[RELEASE], CONFIG_READS], run: order },
    // `rt`, `full`, `lazy`, `voluntary` or `none`; `lazy by default` if only the command line, which is not given,
    // may change it.
    Probe {
        name: "preemption",
        with: &[],
        reads: &[&[PREEMPT, VERSION, "/proc/cmdline", "/sys/kernel/realtime"], CONFIG_READS],
        run: preemption,
    },
    // `known`, or a sentence about why this kernel does not support preempt=.
    Probe {
        name: "preempt-parameter",
        with: &[],
        reads: &[&[RELEASE, VERSION, ARCH], CONFIG_READS],
        run: preempt_parameter,
    },
    // The real-time core beside Linux: `Xenomai`, `EVL`, `RTAI`, `I-pipe`, `Dovetail`; empty if no trace of one was
    // found.
    Probe {
        name: "co-kernel",
        with: &[],
        reads: &[&[RELEASE, "/proc/xenomai", "/proc/rtai", "/sys/class/evl", "/proc/ipipe"], CONFIG_READS],
        run: real_time_core,
    },
    // The distinct capacities of the CPUs; `1024` if all are equal or unknown.
    Probe {
        name: "cpu-capacities",
        with: &[],
        reads: &[&[CPUS, "/sys/devices/system/cpu/cpu*/cpu_capacity"]],
        run: capacities,
    },
    // Loaded out-of-tree or proprietary modules: `nvidia (POE)`.
    Probe { name: "foreign-modules", with: &[], reads: &[&[MODULES]], run: foreign_modules },
];

/// Returns the kernel's release, such as `6.12.9-rt1`.
fn release_text(sight: &Sight, notes: &mut Notes) -> Result<String, Gap> {
    match sight.text(RELEASE, notes) {
        Err(gap) if gap.is_not_given() => heading(sight, notes).ok_or(gap),
        read => read.map_err(Gap::expected),
    }
}

/// See [`punctual_machine::backports`].
pub(crate) fn backports(sight: &Sight) -> bool {
    release_text(sight, &mut Notes::default()).is_ok_and(|text| punctual_machine::backports(&text))
}

pub(crate) fn release(sight: &Sight, notes: &mut Notes) -> Result<(u32, u32, u32), Gap> {
    let text = release_text(sight, notes)?;
    let head: &str = text.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
    let mut numbers = head.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor)), patch) => Ok((major, minor, patch.and_then(Result::ok).unwrap_or(0))),
        _ => Err(Gap::new(RELEASE, Cause::Garbled("version"))),
    }
}

/// Returns the version in the configuration's header, if the release is not given.
fn heading(sight: &Sight, notes: &mut Notes) -> Option<String> {
    let config = sight.config().as_ref().ok()?;
    let version = config.version()?.to_owned();
    notes.add(format!("{} heading", config.path()), &version);
    Some(version)
}

fn series(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    release(sight, notes).map_or_else(Reading::gap, |(major, minor, _)| Reading::word(format!("{major}.{minor}")))
}

fn patch(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    release(sight, notes).map_or_else(Reading::gap, |(_, _, patch)| Reading::One(Ok(Value::Number(patch.into()))))
}

fn order(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    release(sight, notes).map_or_else(Reading::gap, |(major, minor, _)| {
        Reading::One(Ok(Value::Number(i64::from(major) * 1000 + i64::from(minor))))
    })
}

fn preemption(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let shown = sight.text(PREEMPT, notes);
    let version = sight.text(VERSION, notes).map_err(Gap::expected);
    if let Err(gap) = version {
        return Reading::gap(gap);
    }
    if let Some(mode) = preemption_mode(sight.machine, sight.config().as_ref().ok()) {
        return Reading::word(mode);
    }
    if let (Err(line), Ok(config)) = (sight.cmdline(), sight.config())
        && line.is_not_given()
        && let Some(mode) = default_preemption(sight.machine, config)
    {
        return Reading::word(format!("{mode} by default"));
    }
    let gap = match (shown, sight.config()) {
        (Err(gap), _) if gap.is_blocked() || gap.is_not_given() => gap,
        (_, Err(error)) => config_gap(error).expected(),
        _ => Gap::new(PREEMPT, Cause::Missing),
    };
    Reading::gap(gap)
}

const NOT_DYNAMIC: &str = "preempt is supported only by kernels built with PREEMPT_DYNAMIC";

/// Returns whether this kernel supports preempt=. Without a configuration, `uname -v` identifies kernels with
/// PREEMPT_DYNAMIC since 5.18 (commit 51d72596c870).
fn preempt_parameter(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let arch = sight.text(ARCH, &mut Notes::default()).ok();
    let series = match release(sight, notes) {
        Ok((major, minor, _)) => (major, minor),
        Err(gap) => {
            let of_none = arch.and_then(|arch| arches::lacks_on("preempt", None, &arch));
            let is_out = sight.option("PREEMPT_DYNAMIC", notes).is_ok_and(|value| value.text() == "n");
            let of_none = of_none.or_else(|| is_out.then(|| NOT_DYNAMIC.to_owned()));
            return of_none.map_or_else(|| Reading::gap(gap), Reading::word);
        }
    };
    let lacks = || {
        let of_arch = |arch: String| arches::lacks_on("preempt", Some(series), &arch);
        arch.and_then(of_arch).or_else(|| releases::lacks("preempt", series))
    };
    if let Some(why) = (!backports(sight)).then(lacks).flatten() {
        return Reading::word(why);
    }
    let says = || {
        let version = sight.text(VERSION, &mut Notes::default()).ok().filter(|_| series >= (5, 18))?;
        Some(version.split_whitespace().any(|word| word == "PREEMPT_DYNAMIC"))
    };
    let is_built = match sight.option("PREEMPT_DYNAMIC", notes) {
        Ok(Value::Text(value)) => Some(value == "y"),
        _ => says(),
    };
    match is_built {
        Some(true) => Reading::word("known"),
        Some(false) => Reading::word(NOT_DYNAMIC),
        None => Reading::gap(Gap::new("CONFIG_PREEMPT_DYNAMIC", Cause::Missing)),
    }
}

fn real_time_core(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    if let Some(name) = co_kernel(sight.machine, sight.config().as_ref().ok()) {
        notes.add("real-time core", name);
        many.push("", Ok(Value::Text(name.to_owned())));
    }
    Reading::Many(many)
}

/// Reads the capacities of all CPUs (cpu_capacity). The file exists only on architectures with heterogeneous CPUs.
fn capacities(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let cpus = match sight.numbered(CPUS, "cpu") {
        Ok(cpus) if cpus.is_empty() => return Reading::gap(Gap::new(CPUS, Cause::Garbled("CPU"))),
        Ok(cpus) => cpus,
        Err(gap) => {
            notes.add(CPUS, gap.cause.describe());
            return Reading::gap(gap.expected());
        }
    };
    let mut found = Vec::new();
    for cpu in cpus {
        let path = format!("{CPUS}/cpu{cpu}/cpu_capacity");
        match sight.number(&path, &mut Notes::default()) {
            Ok(capacity) => found.push(capacity),
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(gap) => return Reading::gap(gap),
        }
    }
    found.sort_unstable();
    found.dedup();
    let text: Vec<String> = found.iter().map(i64::to_string).collect();
    let shown = if text.is_empty() { "1024".to_owned() } else { text.join(",") };
    notes.add("/sys/devices/system/cpu/cpu*/cpu_capacity", &shown);
    Reading::word(shown)
}

/// Finds proprietary and out-of-tree modules. In /proc/modules, the last word of a line may be the module's taint
/// letters (fs/proc, kernel/module/procfs.c): P for proprietary, O for out-of-tree.
fn foreign_modules(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let text = match sight.text(MODULES, &mut Notes::default()) {
        Ok(text) => text,
        Err(gap) => {
            notes.add(MODULES, gap.cause.describe());
            return Reading::Many(Many::unknown(gap));
        }
    };
    let mut many = Many::default();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(name), Some(last)) = (words.next(), words.next_back()) else { continue };
        if last.starts_with('(') && last.contains(['P', 'O']) {
            many.push("", Ok(Value::Text(format!("{name} {last}"))));
        }
    }
    notes.add(MODULES, format!("{} modules; foreign: {}", text.lines().count(), Reading::Many(many.clone()).show()));
    Reading::Many(many)
}
