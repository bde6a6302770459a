use punctual_references::{Kernel, board, boards, of, published};
use std::collections::BTreeSet;

#[test]
fn every_entry_has_a_source_and_sane_figures() {
    assert!(published().len() >= 18 && boards().len() >= 6);
    for p in published() {
        let what = format!("{} {:?} {}", p.board, p.kernel, p.worst_us);
        assert!(board(&p.board).is_some_and(|b| b.key == p.board), "{what}: unknown board");
        // A wakeup takes more than 1 µs; a figure above 1 s is not in µs, or not a latency.
        assert!((1.0..1e6).contains(&p.worst_us), "{what}: not microseconds");
        assert!(p.source.len() > 15 && !p.tool.is_empty(), "{what}: no source");
        // An entry without address or year states why.
        assert!(p.url.is_some() || p.year.is_some() || p.note.is_some(), "{what}: neither address nor year nor reason");
        assert!(p.url.as_ref().is_none_or(|u| u.starts_with("https://") && !u.contains(' ')), "{what}: no address");
        assert!(p.year.is_none_or(|y| (2000..=2100).contains(&y)), "{what}: year");
        assert!(p.samples.is_none_or(|n| n >= 1_000) && p.threads.is_none_or(|n| (1..=4_096).contains(&n)), "{what}");
        assert!(p.duration_s.is_none_or(|s| s >= 10), "{what}");
        assert!(
            [&p.release, &p.load, &p.options, &p.note].into_iter().flatten().all(|text| !text.is_empty()),
            "{what}"
        );
    }
}

#[test]
fn boards_are_told_apart() {
    let keys: BTreeSet<&str> = boards().iter().map(|b| b.key.as_str()).collect();
    assert_eq!(keys.len(), boards().len());
    for b in boards() {
        assert!(b.key.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-'), "{}", b.key);
        assert!(!of(b, None).is_empty(), "{}: nothing is published of it", b.key);
        for model in &b.models {
            assert_eq!(board(model).map(|found| &found.key), Some(&b.key), "{model}");
        }
    }
    let key = |model: &str| board(model).map(|b| b.key.as_str());
    assert_eq!(key("Raspberry Pi 4 Model B Rev 1.4"), Some("raspberry-pi-4b"));
    assert_eq!(key("Raspberry Pi 3 Model B Plus Rev 1.3"), Some("raspberry-pi-3b-plus"));
    assert_eq!(key("Raspberry Pi 3 Model B Rev 1.2"), Some("raspberry-pi-3b"));
    assert_eq!(key("Raspberry Pi 400 Rev 1.0"), None);
    assert_eq!(key(""), None);
}

/// The histograms among the fixtures of `stats` have the same two maxima.
#[test]
fn the_two_of_the_raspberry_pi_4() {
    let pi = board("raspberry-pi-4b").unwrap();
    let worst = |kernel| of(pi, Some(kernel)).first().map(|p| (p.worst_us, p.samples));
    assert_eq!(worst(Kernel::PreemptRt), Some((93.0, Some(50_000_000))));
    assert_eq!(worst(Kernel::Stock), Some((301.0, Some(50_000_000))));
    assert_eq!(of(pi, Some(Kernel::Xenomai)), Vec::<&punctual_references::Published>::new());
}
