//! Two successive lines of a function trace between which much more time passed than any code there takes.

use super::cpu::Cpu;
use super::functions;
use super::section::{Traced, bare, name};
use punctual_units::Nanos;

/// Minimum length of a hole, ns: much longer than an NMI.
const LEAST: u64 = 500_000;
/// Minimum number of lines of a trace that records functions.
const FEWEST: usize = 5;

/// Describes a hole that is most of `latency`: in the entry of an interrupt with interrupts off, or in the switch to
/// another thread at `switched`, where no code runs so long.
pub(super) fn hole(cpu: &Cpu, latency: u64, switched: Option<u64>) -> Option<String> {
    (cpu.traced.len() >= FEWEST).then_some(())?;
    match switched {
        Some(t3) => {
            let (line, next) = cpu.traced.iter().zip(cpu.traced.iter().skip(1)).find(|(_, next)| next.t > t3)?;
            let ns = next.t - t3;
            (!line.last && line.t <= t3 && ns > latency / 2 && in_switch(next)).then_some(())?;
            said(ns, "in the switch to it", "sched_switch", next)
        }
        None => {
            let (line, next) = functions::longest(cpu, latency)?;
            let off = line.flags.and_then(|flags| flags.irqs_off) == Some(true);
            (off && line.tid == next.tid && is_entry(line)).then_some(())?;
            said(next.t - line.t, "in the entry of an interrupt, with interrupts off", name(&line.function)?, next)
        }
    }
}

fn said(ns: u64, place: &str, from: &str, next: &Traced) -> Option<String> {
    (ns >= LEAST).then_some(())?;
    Some(format!(
        "{} of it lie between two successive lines {place} ({}, {}), where no code takes so long; suspected: firmware (SMI), stalled hardware, the host \
         of a guest, or a jump of the trace's clock — the hwlat tracer and another trace_clock tell these apart",
        Nanos(ns),
        bare(from),
        bare(name(&next.function)?)
    ))
}

fn is_entry(line: &Traced) -> bool {
    const STUBS: [&str; 3] = ["trace_hardirqs_off_thunk", "trace_hardirqs_off_caller", "trace_hardirqs_off"];
    let of_interrupt = |by: &str| by.ends_with("interrupt") || by.starts_with("asm_sysvec_");
    let stub = name(&line.function).is_some_and(|function| STUBS.contains(&function));
    functions::is_entry(&line.function) || stub && line.parent.as_ref().and_then(name).is_some_and(of_interrupt)
}

/// True for a line of the rest of the switch, before the thread goes on with its own work.
fn in_switch(line: &Traced) -> bool {
    const SWITCHES: [&str; 5] = ["__schedule", "schedule", "thread_return", "finish_task_switch", "context_switch"];
    let names = [Some(&line.function), line.parent.as_ref()].into_iter().flatten().filter_map(name);
    names.into_iter().any(|name| SWITCHES.contains(&name))
}
