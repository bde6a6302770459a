//! Formats a bound on the scheduling latency and its composition for a terminal.

use crate::clean;
use crate::number::count;
use punctual_model::{BoundPart, BoundPlace, CpuBound, LatencyBound, Outcome, PartKind};
use punctual_units::Nanos;

/// Width of the bar of the whole bound.
const BAR: u64 = 20;
/// Number of interrupts that are named.
const INTERRUPTS: usize = 3;
/// Number of other CPUs whose bounds are listed.
const CPUS: usize = 8;
const PROBLEMS: usize = 8;

/// Formats a bound in at most 22 lines.
pub fn latency_bound_text(bound: &LatencyBound) -> String {
    let mut out = format!("{}\n", verdict(bound));
    let (recorded, events) = (bound.recorded_ns, count(bound.events));
    let worst = bound.cpus.iter().find(|cpu| Some(cpu.cpu) == bound.cpu);
    if let Some(cpu) = worst {
        out += &composition(cpu);
        out += &others(bound, cpu);
    }
    for problem in bound.problems.iter().take(PROBLEMS) {
        out += &format!("  {problem}\n");
    }
    if bound.problems.len() > PROBLEMS {
        out += &format!("  and {} more (--json)\n", bound.problems.len() - PROBLEMS);
    }
    out += &format!("Recorded: {recorded}, {events} events.");
    out += match worst {
        Some(_) => " What the bound assumes:\n",
        None => "\n",
    };
    if worst.is_some() {
        out.extend(bound.assumptions.iter().take(8).map(|assumption| format!("  {assumption}\n")));
    }
    clean::lines(&out)
}

fn verdict(bound: &LatencyBound) -> String {
    let word = match bound.outcome {
        Outcome::Pass | Outcome::Held => "BOUND",
        Outcome::Inconclusive => "INCONCLUSIVE",
        Outcome::Fail => "FAIL",
    };
    let (Some(limit), Some(cpu)) = (bound.bound_ns, bound.cpu) else {
        return format!("{word}: no bound on the scheduling latency");
    };
    let deadline = match bound.deadline_ns {
        Some(deadline) if limit < deadline => format!(", below the deadline of {deadline}"),
        Some(deadline) => format!(", not below the deadline of {deadline}"),
        None => String::new(),
    };
    format!(
        "{word}: what ran composes to a scheduling latency of at most {} on CPU {cpu}{deadline}",
        shown(limit, bound.deadline_ns)
    )
}

/// Formats a bound; exactly if rounding it up would hide that it is below the deadline.
fn shown(limit: Nanos, deadline: Option<Nanos>) -> String {
    match deadline.is_some_and(|deadline| limit < deadline && limit.0.div_ceil(100) * 100 >= deadline.0) {
        true => format!("{} ns", limit.0),
        false => at_most(limit),
    }
}

fn composition(cpu: &CpuBound) -> String {
    let mut out = String::new();
    if let Some(seen) = &cpu.seen {
        let thread = seen.thread.as_deref().unwrap_or("a thread");
        out += &format!("Seen: {} from the wakeup of {thread} (tid {})", seen.latency_ns, seen.tid);
        out += &cpu.timerlat_ns.map(|ns| format!("; timerlat {ns}")).unwrap_or_default();
        out += "\n";
    } else if let Some(ns) = cpu.timerlat_ns {
        out += &format!("Seen: timerlat {ns}\n");
    }
    let whole = cpu.bound_ns.map_or(1, |bound| bound.0.max(1));
    for part in &cpu.parts {
        out += &line(name(part.part), part.longest_ns, whole, part.is_in_sum, &said(part));
    }
    if let Some(interrupts) = cpu.interrupts_ns {
        let shares = cpu.interrupts.iter().filter(|interrupt| interrupt.in_window_ns > Nanos::ZERO);
        let named: Vec<String> =
            shares.clone().take(INTERRUPTS).map(|i| format!("{} {}", i.name, i.in_window_ns)).collect();
        let more = shares.count().saturating_sub(INTERRUPTS);
        let more = if more > 0 { format!(", {more} more") } else { String::new() };
        out += &line("interrupts", interrupts, whole, true, &format!("{}{more}", named.join(", ")));
    }
    if let (Some(without), Some(bound)) = (&cpu.without, cpu.bound_ns) {
        let less = bound.saturating_sub(without.bound_ns);
        out += &format!("Without {}: {} ({less} less)\n", without.what, at_most(without.bound_ns));
    }
    out += &match cpu.sporadic_ns {
        Some(sporadic) => {
            format!("With each interrupt at its smallest distance and longest time: {}\n", at_most(sporadic))
        }
        None => "With each interrupt at its smallest distance and longest time: does not converge\n".to_owned(),
    };
    out
}

fn line(name: &str, ns: Nanos, whole: u64, is_in_sum: bool, said: &str) -> String {
    let cells = (ns.0.saturating_mul(BAR) + whole / 2) / whole;
    let bar = if is_in_sum { "#".repeat(cells.min(BAR) as usize) } else { String::new() };
    let width = BAR as usize;
    format!("  {name:<10} {:>9} {bar:<width$} {said}", ns.to_string()).trim_end().to_owned() + "\n"
}

fn name(part: PartKind) -> &'static str {
    match part {
        PartKind::Poid => "poid",
        PartKind::Dst => "dst",
        PartKind::Paie => "paie",
        PartKind::Psd => "psd",
    }
}

fn said(part: &BoundPart) -> String {
    let Some(place) = &part.place else { return "none seen".to_owned() };
    let place = place_name(place);
    if part.is_in_sum { place } else { format!("(not in the sum) {place}") }
}

fn place_name(place: &BoundPlace) -> String {
    let thread = place.thread.as_deref().map(|thread| format!(", {thread}")).unwrap_or_default();
    match (&place.begins, &place.ends) {
        (Some(begins), Some(ends)) if begins != ends => format!("{begins} to {ends}{thread}"),
        (Some(only), _) | (None, Some(only)) => format!("{only}{thread}"),
        (None, None) => format!("ends at {:.6} s{thread}", place.at_ns.as_secs_f64()),
    }
}

fn others(bound: &LatencyBound, worst: &CpuBound) -> String {
    let others: Vec<String> = bound
        .cpus
        .iter()
        .filter(|cpu| cpu.cpu != worst.cpu)
        .filter_map(|cpu| Some(format!("CPU {} {}", cpu.cpu, at_most(cpu.bound_ns?))))
        .collect();
    match others.len() {
        0 => String::new(),
        n if n > CPUS => format!("Others: {}, {} more (--json)\n", others[..CPUS].join(", "), n - CPUS),
        _ => format!("Others: {}\n", others.join(", ")),
    }
}

/// Formats an upper bound with one digit of a microsecond, rounded up, so that the printed bound holds, too.
fn at_most(ns: Nanos) -> String {
    let tenths = ns.0.div_ceil(100);
    format!("{}.{} µs", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_rounded_up() {
        assert_eq!([1, 100, 8_401, 60_000].map(|ns| at_most(Nanos(ns))), ["0.1 µs", "0.1 µs", "8.5 µs", "60.0 µs"]);
    }

    #[test]
    fn without_a_bound_the_problems_are_all_that_is_said() {
        let bound = LatencyBound {
            outcome: Outcome::Inconclusive,
            bound_ns: None,
            cpu: None,
            deadline_ns: None,
            recorded_ns: Nanos::from_secs(1),
            events: 1200,
            cpus: Vec::new(),
            problems: vec!["CPU 0 lost events".to_owned(); 10],
            assumptions: vec!["something".to_owned()],
        };
        let text = latency_bound_text(&bound);
        assert!(text.starts_with("INCONCLUSIVE: no bound on the scheduling latency\n  CPU 0 lost events\n"), "{text}");
        assert!(text.contains("and 2 more") && !text.contains("something"), "{text}");
    }
}
