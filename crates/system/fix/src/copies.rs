//! Reads the two copies of the journal as one. Each record is in both copies, so that damage to one of them loses
//! nothing.
//!
//! A line has the CRC-32 of the JSON that follows, a space, and the JSON. Records are numbered from 1, so that a
//! missing line is found like a changed one. A record is written to `journal.copy` first, and takes effect when it is
//! in `journal` too. An interrupted write can therefore leave an incomplete line only at the end of the copy, or at the
//! end of `journal` while the copy is complete.

use crate::journal::{COPY, NAME};
use crate::record::Record;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The content of both copies together.
#[derive(Default)]
pub(crate) struct Merged {
    /// Records by number.
    pub records: BTreeMap<u64, Record>,
    /// Damage to one copy that the other copy compensates for, and an incomplete record that never took effect, as
    /// sentences.
    pub covered: Vec<String>,
    /// What is missing from both copies, as sentences.
    pub lost: Vec<String>,
    /// First and last number of each range of lost records, as far as known.
    pub gaps: Vec<(u64, u64)>,
    /// Length of each copy, bytes; `None` if they must be rewritten.
    pub length: Option<u64>,
}

#[derive(Deserialize)]
struct Numbered {
    /// Record number; `None` in a journal of an earlier version.
    n: Option<u64>,
    #[serde(flatten)]
    record: Record,
}

/// Formats a line of the journal.
pub(crate) fn line(n: u64, record: &Record) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Numbered<'a> {
        n: u64,
        #[serde(flatten)]
        record: &'a Record,
    }
    let json = serde_json::to_string(&Numbered { n, record })?;
    Ok(format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes())))
}

fn parse(line: &[u8]) -> Option<Numbered> {
    let (sum, json) = line.split_at_checked(8)?;
    let json = json.strip_prefix(b" ")?;
    (*sum == *format!("{:08x}", crc32fast::hash(json)).as_bytes()).then(|| serde_json::from_slice(json).ok())?
}

/// The content of one copy.
#[derive(Default)]
struct Copy {
    records: BTreeMap<u64, Record>,
    /// Number of the last record.
    last: u64,
    /// Damaged lines, and data after the last line, as sentences.
    damage: Vec<String>,
    /// True if there is damage after the last readable record.
    has_bad_end: bool,
    /// True if the damage after the last readable record is an incomplete line.
    is_torn: bool,
    /// True if all records are numbered, in order.
    is_numbered: bool,
}

impl Copy {
    fn read(name: &str, content: &[u8]) -> Copy {
        let mut copy = Copy { is_numbered: true, ..Copy::default() };
        // An unreadable line counts as a record too.
        let mut expected = 1;
        for (at, line) in content.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let Some(whole) = line.strip_suffix(b"\n") else {
                copy.damage.push(format!("{name}: its last {} bytes are an incomplete record", line.len()));
                (copy.is_torn, copy.has_bad_end) = (!copy.has_bad_end, true);
                break;
            };
            let Some(Numbered { n, record }) = parse(whole) else {
                copy.damage.push(format!("{name}: line {} is damaged", at + 1));
                copy.has_bad_end = true;
                expected += 1;
                continue;
            };
            copy.is_numbered &= n == Some(expected);
            let n = n.unwrap_or(expected);
            copy.records.insert(n, record);
            copy.last = copy.last.max(n);
            expected = n.saturating_add(1);
            copy.has_bad_end = false;
        }
        copy
    }

    /// Returns true if records at the end of this copy may be unreadable, given the end of the `other` copy.
    fn may_have_lost_its_end(&self, other: Option<&Copy>) -> bool {
        self.has_bad_end && other.is_none_or(|other| other.last <= self.last)
    }
}

/// Reads both copies; `None` for a copy that does not exist.
pub(crate) fn merge(first: Option<&[u8]>, second: Option<&[u8]>) -> Merged {
    let [one, two] = [(NAME, first), (COPY, second)].map(|(name, bytes)| bytes.map(|bytes| Copy::read(name, bytes)));
    let mut merged = Merged::default();
    let mut damage: Vec<String> = [&one, &two].into_iter().flatten().flat_map(|copy| copy.damage.clone()).collect();
    let last = [&one, &two].into_iter().flatten().map(|copy| copy.last).max().unwrap_or(0);
    match (&one, &two) {
        (None, Some(_)) if last > 0 => damage.push(format!("{NAME} is missing")),
        // After an interrupted write, one of the copies may have one more record.
        (Some(one), Some(two)) if one.last.abs_diff(two.last) > 1 => {
            damage.push(format!("{NAME} ends with record {}, {COPY} with {}", one.last, two.last));
        }
        (Some(one), None) if one.is_numbered && last > 0 => damage.push(format!("{COPY} is missing")),
        _ => {}
    }
    let is_whole = matches!((&one, &two), (Some(a), Some(b)) if a.last == b.last && a.is_numbered && b.is_numbered);
    merged.length = (damage.is_empty() && (is_whole || one.is_none())).then(|| first.map_or(0, <[u8]>::len) as u64);
    // If an interrupted write had no effect, this is the only possible end.
    let is_cut_off = matches!((&one, &two), (Some(a), Some(b)) if b.is_torn && !a.has_bad_end && a.last == b.last)
        || matches!((&one, &two), (None, Some(b)) if b.is_torn && last == 0);
    let ends = [(&one, &two), (&two, &one)];
    let mut is_end_lost = ends.iter().any(|(a, b)| a.as_ref().is_some_and(|a| a.may_have_lost_its_end(b.as_ref())));
    is_end_lost &= !is_cut_off;
    let [mut one, mut two] = [one, two].map(|copy| copy.map(|copy| copy.records).unwrap_or_default());
    for n in one.keys().chain(two.keys()).copied().collect::<BTreeSet<u64>>() {
        let before = merged.records.last_key_value().map_or(0, |(n, _)| *n);
        if n - before > 1 {
            merged.gaps.push((before + 1, n - 1));
        }
        let (a, b) = (one.remove(&n), two.remove(&n));
        if a.is_some() && b.is_some() && a != b {
            merged.lost.push(format!("the two copies differ in record {n}"));
        }
        merged.records.extend(a.or(b).map(|record| (n, record)));
    }
    merged.gaps.retain(|gap| !merged.records.values().any(|record| record.explains(*gap)));
    merged.lost.extend(merged.gaps.iter().map(|gap| match gap {
        (from, to) if from == to => format!("record {from} is damaged or missing in both copies"),
        (from, to) => format!("records {from} to {to} are damaged or missing in both copies"),
    }));
    if is_end_lost {
        merged.lost.push(format!("everything after record {last} is damaged in both copies"));
    }
    let how = if is_cut_off { "the record never took effect" } else { "the other copy is intact" };
    match merged.lost.is_empty() {
        true => merged.covered = damage.into_iter().map(|what| format!("{what}: {how}")).collect(),
        false => merged.lost.extend(damage),
    }
    merged
}

#[cfg(test)]
mod tests;
