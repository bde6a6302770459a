//! Gaps between the lines of a section, none of which is most of it.

use super::super::cpu::Cpu;
use super::super::section::{Traced, name};
use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Minimum length of a gap that is named, and of one that counts in a sum, ns.
const LEAST: u64 = 100_000;
const SMALL: u64 = 50_000;
/// A gap or sum of gaps is named if it is at least this part of the section.
const PART: u64 = 10;
/// Number of callers that are named.
const CALLERS: usize = 3;

/// Names the function before the longest gap, and the function whose calls most of the others lie between.
pub(super) fn gaps(cpu: &Cpu, latency: u64) -> Option<String> {
    let least = LEAST.max(latency / PART);
    let lines: Vec<&Traced> = cpu.traced.iter().collect();
    let pairs = lines.iter().zip(lines.iter().skip(1)).enumerate().filter(|(_, (line, _))| !line.last);
    let mut gaps: Vec<(u64, usize)> = pairs.map(|(at, (line, next))| (next.t.saturating_sub(line.t), at)).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    let (longest, at) = *gaps.first().filter(|(ns, _)| *ns >= least)?;
    let mut sums: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (ns, at) in gaps.iter().skip(1).filter(|(ns, _)| *ns >= SMALL) {
        // The caller of the next function ran until then.
        let Some(caller) = lines.get(at + 1).and_then(|next| name(next.parent.as_ref()?)) else { continue };
        let (sum, count) = sums.entry(caller).or_default();
        (*sum, *count) = (*sum + ns, *count + 1);
    }
    let others = sums.into_iter().max_by_key(|(_, (sum, _))| *sum).filter(|(_, (sum, _))| *sum >= least);
    let others = others.map(|(caller, (sum, count))| {
        let gaps = if count == 1 { "a gap".to_owned() } else { format!("{count} gaps") };
        format!(", and {} in {gaps} before the next call by {caller}", Nanos(sum))
    });
    let (longest, others) = (Nanos(longest), others.unwrap_or_default());
    Some(format!("{longest} of it in one gap without lines, last traced in {}{others}", way(&lines, at)?))
}

/// Formats a function and its callers, as far as the lines before it show them: `c ← b ← a`.
fn way(lines: &[&Traced], at: usize) -> Option<String> {
    let mut way = name(&lines.get(at)?.function)?.to_owned();
    let mut caller = lines.get(at)?.parent.as_ref().and_then(name);
    for before in lines.get(..at)?.iter().rev().take(CALLERS) {
        let Some(known) = caller else { break };
        way += &format!(" ← {known}");
        caller =
            name(&before.function).filter(|function| *function == known).and(before.parent.as_ref()).and_then(name);
    }
    Some(way)
}
