//! Shares of interrupts and softirqs in a section, by the flags of the lines of a function trace.

use super::super::cpu::{Cpu, KEPT};
use super::super::functions;
use super::super::section::{Traced, name};
use punctual_trace::Context;
use punctual_units::Nanos;

/// Describes how much of a section passed in interrupts and softirqs, if that is at least half of it. Where lines are left out, those
/// on both sides count.
pub(super) fn shares(cpu: &Cpu, latency: u64) -> Option<String> {
    let (mut hard, mut soft, mut left_out) = (0, 0, false);
    for (line, next) in cpu.traced.iter().zip(cpu.traced.iter().skip(1)) {
        let ns = next.t.saturating_sub(line.t);
        let (Some(from), Some(to)) = (line.context(), next.context()) else { continue };
        let both_soft = is_above_softirq(from) && is_above_softirq(to);
        match (line.last, from, to) {
            (false, Context::Softirq, _) => soft += ns,
            (false, context, _) if context.is_hard() => hard += ns,
            (true, from, to) if from == to && from.is_hard() => (hard, left_out) = (hard + ns, true),
            // An interrupt upon a softirq returns to it.
            (true, ..) if both_soft => (soft, left_out) = (soft + ns, true),
            _ => {}
        }
    }
    (hard + soft >= latency / 2 && hard + soft > 0).then_some(())?;
    let parts: Vec<String> = [(hard, "interrupts".to_owned()), (soft, format!("softirqs{}", handlers(cpu)))]
        .into_iter()
        .filter(|(ns, _)| *ns > 0)
        .map(|(ns, what)| format!("{} in {what}", Nanos(ns.min(latency))))
        .collect();
    let guess = if left_out { ", judging by the lines on both sides of those left out" } else { "" };
    let least = if cpu.traced.len() >= KEPT { "at least " } else { "" };
    Some(format!(", of it {least}{}{guess}", parts.join(" and ")))
}

fn is_above_softirq(context: Context) -> bool {
    matches!(context, Context::Softirq | Context::HardirqInSoftirq)
}

/// Describes the handlers of softirqs that the lines show.
fn handlers(cpu: &Cpu) -> String {
    let seen = functions::softirqs(cpu, 0, u64::MAX);
    let is_softirq = |line: &Traced| name(&line.function).is_some_and(|name| name == "__do_softirq");
    match seen.is_empty() {
        false => format!(" (shown: {})", seen.join(", ")),
        true if cpu.traced.iter().any(is_softirq) => String::new(),
        // Up to Linux 4.10 the flag is set there as well.
        true => " or with bottom halves disabled (flag s)".to_owned(),
    }
}
