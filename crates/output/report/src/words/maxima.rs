use super::at_place;
use crate::date;
use crate::number::count;
use punctual_model::{BlockMaximum, Recording};
use punctual_units::{Arrange, CpuId, Nanos};
use std::collections::BTreeMap;

/// Minimum number of complete blocks of a CPU for a statement about a trend.
const LEAST: usize = 3;

/// Describes the distribution of the maxima of complete blocks: minimum, median, and maximum with its place and time.
/// `None` if no CPU has three blocks.
pub fn maxima(recording: &Recording) -> Option<String> {
    let block = recording.run.settings.maxima_block_ns?;
    let whole: Vec<&BlockMaximum> = recording.maxima.iter().filter(|b| b.is_whole(block)).collect();
    let mut of_each: BTreeMap<CpuId, usize> = BTreeMap::new();
    whole.iter().for_each(|block| *of_each.entry(block.cpu).or_default() += 1);
    of_each.values().find(|n| **n >= LEAST)?;
    let mut known: Vec<&&BlockMaximum> = whole.iter().filter(|b| b.max_ns.is_some()).collect();
    known.arrange_by_key(|b| (b.max_ns, std::cmp::Reverse(b.from_mono_ns)));
    let (least, most) = (known.first()?, known.last()?);
    let middle = known.get(known.len() / 2)?;
    let ns = |b: &BlockMaximum| Nanos(b.max_ns.unwrap_or(0));
    let dead = match whole.len() - known.len() {
        0 => String::new(),
        n => format!(" In {} of them the thread never woke.", count(n as u64)),
    };
    Some(format!(
        "The largest latencies of {} blocks of {block} range from {} to {}, with a median of {}; the largest occurred {}, in the block that starts at {}.{dead}",
        count(whole.len() as u64),
        ns(least),
        ns(most),
        ns(middle),
        at_place(recording, &most.phase, most.cpu),
        date::utc(date::real_of(recording, most.from_mono_ns)),
    ))
}
