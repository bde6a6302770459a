//! Idle states that the measured CPUs may enter, and their exit latencies.

use super::{Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_machine::Read;
use punctual_units::{CpuId, CpuList};

const DMA_LATENCY: &str = "/dev/cpu_dma_latency";
const STATES: &[&str] = &[
    "/sys/devices/system/cpu/cpu*/cpuidle",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/name",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/latency",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
];
const REQUESTS: &[&str] = &[DMA_LATENCY, "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us"];

pub(super) const PROBES: &[Probe] = &[
    // Enabled states of measured CPUs with an exit latency above `us`.
    Probe { name: "idle-states-above", with: &["us"], reads: &[STATES], run: states_above },
    // Those among these states that no latency request forbids.
    Probe { name: "idle-states-entered", with: &["us"], reads: &[STATES, REQUESTS], run: states_entered },
    // The common limit of all holders of /dev/cpu_dma_latency, µs.
    Probe { name: "latency-request", with: &[], reads: &[&[DMA_LATENCY]], run: request },
    // `open` or `refused`, for this user.
    Probe { name: "latency-device", with: &[], reads: &[&[DMA_LATENCY]], run: device },
];

/// Tests access by reading: it requires the same permission as setting a limit, because the device is opened in both
/// cases (kernel/power/qos.c).
fn device(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.machine.read(DMA_LATENCY) {
        Read::Known(_) => {
            notes.add(DMA_LATENCY, "opens");
            Reading::word("open")
        }
        Read::Denied => {
            notes.add(DMA_LATENCY, "is refused");
            Reading::word("refused")
        }
        other => {
            let gap = Gap::new(DMA_LATENCY, Cause::of(&other).unwrap_or(Cause::Absent)).expected();
            notes.add(DMA_LATENCY, gap.cause.describe());
            Reading::gap(gap)
        }
    }
}

fn request(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    Reading::One(global_limit(sight, notes).map(Value::Number))
}

struct State {
    name: String,
    latency_us: i64,
    cpus: CpuList,
}

fn states_above(sight: &Sight, with: &With, notes: &mut Notes) -> Reading {
    let (deep, missing) = deep_states(sight, with, notes);
    show(deep, missing)
}

fn states_entered(sight: &Sight, with: &With, notes: &mut Notes) -> Reading {
    let (mut deep, mut missing) = deep_states(sight, with, notes);
    if let Err(gap) = forbid(sight, &mut deep, notes) {
        deep.clear();
        missing.get_or_insert(gap);
    }
    show(deep, missing)
}

fn show(deep: Vec<State>, missing: Option<Gap>) -> Reading {
    let mut many = Many { items: Vec::new(), missing };
    for State { name, latency_us, cpus } in deep {
        many.push("", Ok(Value::Text(format!("{name} ({latency_us} µs, CPU {cpus})"))));
    }
    Reading::Many(many)
}

fn deep_states(sight: &Sight, with: &With, notes: &mut Notes) -> (Vec<State>, Option<Gap>) {
    let limit_us = with.get("us").copied().unwrap_or(0);
    let mut deep: Vec<State> = Vec::new();
    let no_cpu = || Gap::new("the list of measured CPUs", Cause::Garbled("CPU"));
    let mut missing = sight.context.cpus.is_empty().then(no_cpu);
    let mut seen = Vec::new();
    for cpu in sight.context.cpus.iter() {
        match states(sight, cpu, &mut seen) {
            Ok(states) => {
                states.into_iter().filter(|(_, us)| *us > limit_us).for_each(|state| add(&mut deep, cpu, state))
            }
            Err(gap) => missing = Some(missing.unwrap_or(gap)),
        }
    }
    let found = missing.as_ref().map_or_else(|| seen.join(", "), Gap::describe);
    notes.add("/sys/devices/system/cpu/cpu*/cpuidle/state*", found);
    (deep, missing)
}

fn add(deep: &mut Vec<State>, cpu: CpuId, (name, latency_us): (String, i64)) {
    match deep.iter_mut().find(|state| state.name == name && state.latency_us == latency_us) {
        Some(state) => state.cpus.insert(cpu),
        None => deep.push(State { name, latency_us, cpus: [cpu].into_iter().collect() }),
    }
}

/// Returns the enabled states of one CPU with their exit latency, µs. Rules use it only with an idle driver, so a
/// missing file proves nothing. Most CPUs have the same states, so the evidence lists each state once.
fn states(sight: &Sight, cpu: CpuId, seen: &mut Vec<String>) -> Result<Vec<(String, i64)>, Gap> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let numbers = sight.numbered(&folder, "state").map_err(Gap::expected)?;
    if numbers.is_empty() {
        return Err(Gap::new(folder, Cause::Garbled("idle state")));
    }
    let mut states = Vec::new();
    for n in numbers {
        let state = format!("{folder}/state{n}");
        let mut unnoted = Notes::default();
        let mut number = |file: &str| sight.number(&format!("{state}/{file}"), &mut unnoted).map_err(Gap::expected);
        let (latency_us, disabled) = (number("latency")?, number("disable")? != 0);
        let name = sight.text(&format!("{state}/name"), &mut unnoted).unwrap_or_else(|_| format!("state{n}"));
        let line = format!("{name} {latency_us} µs{}", if disabled { " (disabled)" } else { "" });
        if !seen.contains(&line) {
            seen.push(line);
        }
        if !disabled {
            states.push((name, latency_us));
        }
    }
    Ok(states)
}

/// Removes states that a latency request forbids: one for a single CPU, or one for all CPUs through
/// /dev/cpu_dma_latency. Fails if the latter is decisive but unreadable.
fn forbid(sight: &Sight, deep: &mut Vec<State>, notes: &mut Notes) -> Result<(), Gap> {
    for state in deep.iter_mut() {
        let latency_us = state.latency_us;
        let mut is_open = |cpu: &CpuId| cpu_limit(sight, *cpu, notes).is_none_or(|us| us >= latency_us);
        state.cpus = state.cpus.iter().filter(&mut is_open).collect();
    }
    deep.retain(|state| !state.cpus.is_empty());
    if !deep.is_empty() {
        let limit_us = global_limit(sight, notes)?;
        deep.retain(|state| limit_us >= state.latency_us);
    }
    Ok(())
}

/// Returns a CPU's own limit, µs: `n/a` means a limit of 0, and `0` means no limit
/// (Documentation/ABI/testing/sysfs-devices-power).
fn cpu_limit(sight: &Sight, cpu: CpuId, notes: &mut Notes) -> Option<i64> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/power/pm_qos_resume_latency_us");
    let limit = match sight.machine.read(&path).text()? {
        "n/a" => Some(0),
        text => text.parse().ok().filter(|us| *us > 0),
    };
    if let Some(us) = limit {
        notes.add(path, format!("{us} µs"));
    }
    limit
}

/// Returns the strictest limit that holders of /dev/cpu_dma_latency request, µs, read in native byte order; 2 000 000
/// 000 without holders.
fn global_limit(sight: &Sight, notes: &mut Notes) -> Result<i64, Gap> {
    let read = sight.machine.read(DMA_LATENCY);
    if let Some(cause) = Cause::of(&read) {
        notes.add(DMA_LATENCY, cause.describe());
        return Err(Gap::new(DMA_LATENCY, cause).expected());
    }
    let Read::Known(bytes) = read else { return Err(Gap::new(DMA_LATENCY, Cause::Absent)) };
    match <[u8; 4]>::try_from(bytes.as_slice()).map(i32::from_ne_bytes) {
        Ok(us) if us >= 0 => {
            notes.add(DMA_LATENCY, format!("{us} µs"));
            Ok(i64::from(us))
        }
        _ => Err(Gap::new(DMA_LATENCY, Cause::Garbled("latency"))),
    }
}
