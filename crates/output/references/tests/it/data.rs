//! The built-in files are complete, valid, and distinguishable.

use punctual_references::{
    Board, Flavour, Published, Quantity, ReadFrom, Scope, board, boards, check, comparable, core_of, read,
};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn all() -> impl Iterator<Item = (&'static Board, &'static Published)> {
    boards().iter().flat_map(|board| board.published.iter().map(move |p| (board, p)))
}

#[test]
fn every_file_is_bundled_under_its_key_and_has_no_error() {
    let mut files = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("boards")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let errors: Vec<_> = check(&text).into_iter().filter(|p| p.is_error).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
        let read = read(&text).unwrap();
        assert_eq!(path.file_stem().unwrap().to_str(), Some(read.key.as_str()));
        assert_eq!(board(&read.key), Some(&read), "{} is not bundled", read.key);
        files += 1;
    }
    assert_eq!(boards().len(), files);
    assert!(files >= 30 && all().count() >= 120, "{files} boards, {} figures", all().count());
}

#[test]
fn every_figure_has_an_address_where_it_can_be_read_again() {
    for (board, p) in all() {
        let what = format!("{} {}", board.key, p.worst_us);
        assert!(p.url.is_some() && p.read != ReadFrom::Own && p.source.len() > 15, "{what}");
        assert!(p.quote.is_some(), "{what}: the words or the line it was read from");
    }
    assert!(boards().iter().all(|b| b.soc_source.is_some() || b.cpus.is_none()), "cores and CPUs are from the kernel");
}

#[test]
fn boards_are_told_apart() {
    let keys: BTreeSet<&str> = boards().iter().map(|b| b.key.as_str()).collect();
    assert_eq!(keys.len(), boards().len());
    for b in boards() {
        for named in b.models.iter().chain([&b.key, &b.name]) {
            assert_eq!(board(named).map(|found| &found.key), Some(&b.key), "{named}");
        }
    }
    let key = |model: &str| board(model).map(|b| b.key.as_str());
    assert_eq!(key("Raspberry Pi 4 Model B Rev 1.4"), Some("raspberry-pi-4b"));
    assert_eq!(key("Raspberry Pi 3 Model B Plus Rev 1.3"), Some("raspberry-pi-3b-plus"));
    assert_eq!(key("Raspberry Pi 3 Model B+"), Some("raspberry-pi-3b-plus"));
    assert_eq!(key("Raspberry Pi 3 Model B Rev 1.2"), Some("raspberry-pi-3b"));
    assert_eq!(key("Raspberry Pi 5 Model B Rev 1.0"), Some("raspberry-pi-5"));
    for other in ["Raspberry Pi 400 Rev 1.0", "Raspberry Pi 500 Rev 1.0", "Raspberry Pi Compute Module 4 Rev 1.0", ""] {
        assert_eq!(key(other), None, "{other}");
    }
}

/// The first two maxima equal the maxima of the histograms in the fixtures of `stats`.
#[test]
fn the_figures_of_lemariva() {
    for (key, rt, stock) in
        [("raspberry-pi-4b", 93.0, 301.0), ("raspberry-pi-3b", 136.0, 382.0), ("raspberry-pi-3b-plus", 109.0, 390.0)]
    {
        let of = |flavour| {
            let entries = board(key).unwrap().published.iter();
            let mut found = entries.filter(|p| p.flavour == flavour && p.source.starts_with("lemariva"));
            found.next().map(|p| (p.worst_us, p.samples))
        };
        assert_eq!(of(Flavour::PreemptRt), Some((rt, Some(49_999_700))), "{key}");
        assert_eq!(of(Flavour::Stock), Some((stock, Some(49_999_700))), "{key}");
    }
}

#[test]
fn contradictions_of_sources_are_marked() {
    for (key, worst, words) in [
        ("raspberry-pi-3b-plus", 109.0, "7.5 %"),
        ("raspberry-pi-4b", 130.0, "138 µs"),
        ("raspberry-pi-4b", 58.0, "60 us"),
        ("raspberry-pi-5", 12.0, "4 µs"),
    ] {
        let entry = board(key).unwrap().published.iter().find(|p| p.worst_us == worst).unwrap();
        assert!(entry.note.as_ref().is_some_and(|note| note.contains(words)), "{key} {worst}: {:?}", entry.note);
    }
}

#[test]
fn a_run_is_compared_with_its_board_else_with_the_same_core() {
    let rt = Some(Flavour::PreemptRt);
    let of_pi = comparable(Some("Raspberry Pi 4 Model B Rev 1.4"), None, rt).unwrap();
    assert!(matches!(of_pi.scope, Scope::Board(board) if board.key == "raspberry-pi-4b"));
    assert!(of_pi.entries.len() > 10 && of_pi.entries.iter().all(|(_, p)| p.flavour == Flavour::PreemptRt));
    // No board has this name, but others have its core.
    let cm4 = comparable(Some("Raspberry Pi Compute Module 4 Rev 1.0"), Some("ARM Cortex-A72"), rt).unwrap();
    assert_eq!((cm4.scope, cm4.entries.len()), (Scope::Core("Cortex-A72"), of_pi.entries.len()));
    // A known board without figures for this kind of kernel.
    let stock = comparable(Some("hikey"), None, Some(Flavour::Stock)).unwrap();
    assert_eq!(stock.scope, Scope::Core("Cortex-A53"));
    assert_eq!(comparable(Some("Some board"), Some("ARM Cortex-A510"), rt), None);
    assert_eq!(comparable(None, None, None), None);
}

/// Figures of tasks in the kernel, of co-kernels and of hypervisors are not compared with figures of a Linux thread.
#[test]
fn other_quantities_and_kernels_are_left_out() {
    for flavour in [None, Some(Flavour::PreemptRt), Some(Flavour::Stock)] {
        for board in boards() {
            let found = comparable(Some(&board.key), None, flavour);
            for (_, p) in found.iter().flat_map(|found| &found.entries) {
                assert_eq!(p.quantity, Quantity::Wakeup);
                assert!(matches!(p.flavour, Flavour::PreemptRt | Flavour::Stock), "{p:?}");
            }
        }
    }
    let rtai: Vec<_> = all().filter(|(_, p)| p.flavour == Flavour::Rtai).collect();
    assert!(rtai.len() == 12 && rtai.iter().all(|(_, p)| p.quantity != Quantity::Wakeup));
    assert_eq!(rtai.iter().filter(|(_, p)| p.quantity == Quantity::KernelTaskJitter).count(), 6);
}

#[test]
fn processors_are_named_by_their_core() {
    assert_eq!(core_of("ARM Cortex-A53"), Some("Cortex-A53"));
    for other in ["ARM Cortex-A53 + ARM Cortex-A72", "ARM Cortex-A530", "Intel(R) Core(TM) i7-8565U", ""] {
        assert_eq!(core_of(other), None, "{other}");
    }
}
