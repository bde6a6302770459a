//! Sorts short texts whose lines were pasted out of order: a wakeup below the switch that it led to.

use super::prefix::{Front, Style, front};
use super::repair;
use std::collections::BTreeSet;

/// Largest backward step in time, ns, within one trace; a larger one means that another trace begins.
const MOST: u64 = 10_000_000;

/// Returns the lines sorted by time, and their original numbers in `text`, from 1. Lines without an event stay below
/// the event that they follow. `None` if the lines are already in order, if there is more than one trace, or if a part
/// was left out.
pub(super) fn sorted(text: &[u8]) -> Option<(Vec<u8>, Vec<u64>)> {
    let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    // Start and time of each event. Text before the first event is the heading.
    let mut blocks: Vec<(u64, std::ops::Range<usize>)> = Vec::new();
    let (mut cleaned, mut back) = (Vec::new(), false);
    let mut seen = BTreeSet::new();
    for (n, line) in lines.iter().enumerate() {
        repair::clean(line, &mut cleaned);
        if matches!(front(&cleaned, false), Front::Cut)
            && let Some(next) = lines.get(n + 1)
        {
            let mut behind = Vec::new();
            repair::clean(next, &mut behind);
            repair::join(&mut cleaned, behind.trim_ascii());
        }
        match front(&cleaned, false) {
            Front::Event(prefix, _) if prefix.style == Style::Latency || prefix.decimals.is_none() => return None,
            Front::Event(prefix, _) => {
                let last = blocks.last().map_or(0, |(time, _)| *time);
                // A line that occurs twice belongs to two excerpts.
                (last.saturating_sub(prefix.time) <= MOST && seen.insert(*line)).then_some(())?;
                back |= prefix.time < last;
                blocks.push((prefix.time, n..n + 1));
            }
            Front::Cut => return None,
            Front::Other if !blocks.is_empty() && ends_a_trace(&cleaned) => return None,
            Front::Other => {
                if let Some((_, block)) = blocks.last_mut() {
                    block.end = n + 1;
                }
            }
        }
    }
    let heading = 0..blocks.first().filter(|_| back)?.1.start;
    blocks.sort_by_key(|(time, _)| *time);
    let order: Vec<usize> = heading.chain(blocks.into_iter().flat_map(|(_, block)| block)).collect();
    let text = order.iter().filter_map(|n| lines.get(*n).copied()).collect::<Vec<_>>().join(&b'\n');
    Some((text, order.into_iter().map(|n| n as u64 + 1).collect()))
}

fn ends_a_trace(line: &[u8]) -> bool {
    let header = line.trim_ascii_start().starts_with(b"# tracer:");
    header || repair::is_omission(line) || super::header::lost(line).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wakeup_below_its_switch_is_put_before_it() {
        let text = b"heading\n a-1 [000] 5.000020: x: y\n => f\n b-2 [000] 5.000010: z: y\n";
        let (sorted, order) = sorted(text).unwrap();
        assert_eq!(sorted, b"heading\n b-2 [000] 5.000010: z: y\n\n a-1 [000] 5.000020: x: y\n => f");
        assert_eq!(order, [1, 4, 5, 2, 3]);
    }

    #[test]
    fn other_traces_and_ordered_ones_are_left() {
        assert!(sorted(b" a-1 [000] 5.000020: x: y\n b-2 [000] 5.000020: z: y\n").is_none());
        assert!(sorted(b" a-1 [000] 5.000020: x: y\n b-2 [000] 3.000020: z: y\n").is_none());
        assert!(sorted(b" a-1 [000] 5.000020: x: y\n b-2 [000] 5.000010: z: y\n a-1 [000] 5.000020: x: y\n").is_none());
        assert!(sorted(b" a-1 [000] 5.000020: x: y\n[...]\n b-2 [000] 5.000010: z: y\n").is_none());
        assert!(sorted(b" a-1 [000] 5.000020: x: y\n# tracer: nop\n b-2 [000] 5.000010: z: y\n").is_none());
    }
}
