use super::cpu::{Gap, OVERDUE};
use super::machine::Machine;
use super::piece::Place;

/// Returns the times in which every CPU was silent although timers were due.
pub(super) fn stalls(machine: &Machine, place: Place, from: u64, to: u64, steps: &mut u64) -> Vec<(u64, u64)> {
    let Some(own) = machine.cpu(place.cpu) else { return Vec::new() };
    let mut found = Vec::new();
    for gap in own.gaps.iter().rev().take_while(|gap| gap.to > from).filter(|gap| gap.from < to) {
        let span = (gap.from.max(from), gap.to.min(to));
        if (gap.overdue || place.early) && span.1.saturating_sub(span.0) >= OVERDUE {
            found.extend(stall(machine, place.cpu, gap, span, steps));
        }
    }
    found
}

/// Returns the part of one CPU's silence in which all others were silent too, although one of them should not have
/// been. The CPU was needed from the start of `span` on, so in a stall it stops and continues with the others: if it
/// was silent while they ran, its silence has another reason, and so may the silence of the others.
fn stall(machine: &Machine, cpu: u32, own: &Gap, span: (u64, u64), steps: &mut u64) -> Option<(u64, u64)> {
    let (mut from, mut to) = span;
    let mut end = own.to;
    let mut overdue = false;
    for (_, other) in machine.cpus().filter(|(n, _)| *n != cpu) {
        *steps += 1;
        let overlap = |gap: &Gap| gap.to.min(span.1).saturating_sub(gap.from.max(span.0));
        let now = other.silence(machine.now);
        let recent = other.gaps.iter().rev().take_while(|gap| gap.to > span.0).copied();
        let gap = recent.chain(now).max_by_key(overlap).filter(|gap| overlap(gap) > 0)?;
        (from, to) = (from.max(gap.from), to.min(gap.to));
        end = end.min(gap.to);
        overdue |= gap.overdue;
    }
    let together = from - span.0 <= OVERDUE && own.to - end <= OVERDUE;
    let silent = to.checked_sub(from).filter(|ns| overdue && together && *ns >= OVERDUE)?;
    // CPUs resume one after the other, so the short rest of such a silence belongs to the stall.
    let whole = silent >= (span.1 - span.0) / 5 * 4;
    Some(if whole { span } else { (from, to) })
}
