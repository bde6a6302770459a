use super::*;
use crate::change::Change;
use crate::form::Form;
use crate::journal::State;
use proptest::prelude::*;

fn records() -> Vec<Record> {
    let change = Change::Value {
        path: "/proc/sys/kernel/sched_autogroup_enabled".into(),
        old: "1".into(),
        new: "0".into(),
        form: Form::of("/proc/sys/kernel/sched_autogroup_enabled", "1"),
        beside: Vec::new(),
    };
    let boot = "0e5e".to_owned();
    vec![
        Record::Begun { set: 1, boot: boot.clone(), owner: None, confirm_by_s: Some(300) },
        Record::Planned { entry: 1, set: 1, rule: "sched-autogroup".into(), boot, change },
        Record::State { entry: 1, state: State::Written, why: String::new() },
        Record::State { entry: 1, state: State::Verified, why: String::new() },
        Record::Ended { set: 1 },
        Record::Confirmed { set: 1 },
    ]
}

fn whole() -> String {
    (1..).zip(records()).map(|(n, record)| line(n, &record).unwrap()).collect()
}

/// Returns a journal in the format of a version without record numbers.
fn earlier() -> String {
    let json = records().into_iter().map(|record| serde_json::to_string(&record).unwrap());
    json.map(|json| format!("{:08x} {json}\n", crc32fast::hash(json.as_bytes()))).collect()
}

/// Returns copies with every bit flipped, every byte removed, every line removed, and truncated at every length.
fn damaged(whole: &str) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let flipped = (0..whole.len() * 8).map(|bit| {
        let mut bytes = whole.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit}"), bytes)
    });
    let removed = (0..whole.len()).map(|at| (format!("without byte {at}"), [&whole[..at], &whole[at + 1..]].concat()));
    let dropped = (0..lines.len())
        .map(move |at| (format!("without line {at}"), [&lines[..at], &lines[at + 1..]].concat().concat()));
    let cut = (0..whole.len()).map(|at| (format!("cut at {at}"), whole[..at].to_owned()));
    flipped.chain(removed.chain(dropped).chain(cut).map(|(what, text)| (what, text.into_bytes())))
}

fn values(merged: &Merged) -> Vec<Record> {
    merged.records.values().cloned().collect()
}

#[test]
fn damage_to_one_copy_loses_nothing() {
    let whole = whole();
    let mut count = 0;
    for (what, bytes) in damaged(&whole) {
        for (one, two) in [(&*bytes, whole.as_bytes()), (whole.as_bytes(), &*bytes)] {
            let merged = merge(Some(one), Some(two));
            assert_eq!((values(&merged), &merged.lost[..]), (records(), &[][..]), "{what}");
            assert_eq!(merged.length, None, "{what}: both are written anew");
            count += 1;
        }
    }
    assert!(count > 10_000, "{count}");
    for (one, two) in [(Some(whole.as_bytes()), None), (None, Some(whole.as_bytes()))] {
        let merged = merge(one, two);
        assert_eq!((values(&merged), merged.covered.len(), merged.lost.len()), (records(), 1, 0));
    }
}

#[test]
fn damage_to_both_copies_is_reported() {
    let whole = whole();
    for (what, bytes) in damaged(&whole) {
        // Both copies had this content at an earlier time.
        let is_earlier = bytes.is_empty() || whole.as_bytes().starts_with(&bytes) && bytes.ends_with(b"\n");
        assert_eq!(merge(Some(&bytes), Some(&bytes)).lost.is_empty(), is_earlier, "{what}");
    }
}

#[test]
fn damage_to_a_journal_of_an_earlier_version_is_reported() {
    let earlier = earlier();
    let merged = merge(Some(earlier.as_bytes()), None);
    assert_eq!((values(&merged), merged.lost.len(), merged.covered.len()), (records(), 0, 0));
    for (what, bytes) in damaged(&earlier) {
        let is_line_gone = String::from_utf8_lossy(&bytes).lines().all(|line| earlier.contains(&format!("{line}\n")));
        assert!(is_line_gone || !merge(Some(&bytes), None).lost.is_empty(), "{what}");
    }
}

#[test]
fn a_write_that_is_cut_off_takes_effect_or_not() {
    let (whole, count) = (whole(), records().len());
    let before = whole[..whole.len() - 1].rfind('\n').unwrap() + 1;
    for cut in before..=whole.len() {
        // The copy is written before `journal`.
        let merged = merge(Some(&whole.as_bytes()[..before]), Some(&whole.as_bytes()[..cut]));
        let has_it = cut == whole.len();
        assert_eq!((merged.lost.len(), merged.records.len()), (0, count - usize::from(!has_it)), "{cut}");
        let merged = merge(Some(&whole.as_bytes()[..cut]), Some(whole.as_bytes()));
        assert_eq!((merged.lost.len(), merged.records.len()), (0, count), "{cut}");
    }
    let first = &whole.as_bytes()[..20];
    for journal in [None, Some(&[][..])] {
        let merged = merge(journal, Some(first));
        assert!(merged.lost.is_empty() && merged.records.is_empty());
    }
    assert!(!merge(Some(first), Some(&[])).lost.is_empty(), "no write leaves that");
}

proptest! {
    #[test]
    fn different_damage_to_the_two_loses_nothing_silently(one: (u8, usize), two: (u8, usize)) {
        let whole = whole();
        let flip = |(bit, at): (u8, usize)| {
            let mut bytes = whole.clone().into_bytes();
            let at = at % bytes.len();
            bytes[at] ^= 1 << (bit % 8);
            bytes
        };
        let merged = merge(Some(&flip(one)), Some(&flip(two)));
        prop_assert!(!merged.lost.is_empty() || values(&merged) == records());
    }

    #[test]
    fn any_bytes_are_read(one: Vec<u8>, two: Vec<u8>, at: usize) {
        let whole = whole();
        let mixed = [&whole.as_bytes()[..at % whole.len()], &one].concat();
        for (a, b) in [(&one, &two), (&mixed, &two), (&two, &mixed)] {
            let _ = merge(Some(a), Some(b));
        }
    }
}
