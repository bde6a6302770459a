//! Tests the file: runs are stored once in any order, and damage results only in an error.

use crate::common;

use common::run;
use proptest::prelude::*;
use punctual_history::{Added, Error, Store, analyse};
use punctual_model::Outcome;
use punctual_model::history::{ClaimOutcome, Figure, RunSummary};
use std::fs;

fn all(store: &Store) -> Vec<RunSummary> {
    store.runs(|_| true).unwrap()
}

fn add<'a>(store: &mut Store, mut runs: impl Iterator<Item = &'a RunSummary>) {
    runs.try_for_each(|run| store.add(run).map(|_| ())).unwrap();
}

fn arbitrary() -> impl Strategy<Value = RunSummary> {
    let text = || proptest::option::of("[\\PC\\x00\\n']{0,12}");
    let ns = || proptest::option::of(0u64..i64::MAX as u64);
    (0u64..30, text(), text(), ns(), ns(), any::<bool>(), proptest::option::of(any::<i64>())).prop_map(
        |(day, host, cause, ns, skipped, complete, heat)| {
            let mut run = run(day, "a 'load', \"x\"", 5);
            (run.host, run.complete, run.temperature_max_mc, run.started_ns) = (host.clone(), complete, heat, ns);
            run.settings.via = cause.clone();
            (run.cells[0].cause, run.cells[0].p50_ns, run.cells[1].skipped) = (cause, ns, skipped);
            run.claims = vec![ClaimOutcome { claim: "max < 100us".into(), outcome: Outcome::Fail }];
            run.outcome = host.map(|_| Outcome::Inconclusive);
            run
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn what_goes_in_comes_out_once_in_any_order(
        runs in proptest::collection::vec(arbitrary(), 1..8),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let place = tempfile::tempdir().unwrap();
        let mut first = Store::open(&place.path().join("a.db")).unwrap();
        let mut second = Store::open(&place.path().join("b.db")).unwrap();
        add(&mut first, runs.iter());
        add(&mut second, order.iter().map(|at| at.get(&runs)));
        add(&mut second, runs.iter().rev());
        prop_assert_eq!(all(&first), all(&second));
        prop_assert_eq!(analyse(all(&first), None, &Figure::ALL, 1.0), analyse(all(&second), None, &Figure::ALL, 1.0));
        for run in all(&first) {
            prop_assert!(runs.contains(&run));
            prop_assert_eq!(first.add(&run).unwrap(), Added::Known);
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_or_still_readable(at in any::<prop::sample::Index>(), bits in 1u8..=255, cut in any::<bool>()) {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("history.db");
        let mut store = Store::open(&path).unwrap();
        (0..20).for_each(|day| add(&mut store, [&run(day, "idle", 40_000)].into_iter()));
        drop(store);
        let mut content = fs::read(&path).unwrap();
        let at = at.index(content.len());
        content[at] ^= bits;
        if cut {
            content.truncate(at);
        }
        fs::write(&path, content).unwrap();
        let read = Store::look(&path).and_then(|store| store.runs(|_| true));
        let added = Store::open(&path).and_then(|mut store| store.add(&run(90, "idle", 1)));
        for e in [read.err(), added.err()].into_iter().flatten() {
            prop_assert!(e.to_string().contains(&path.display().to_string()), "{}", e);
        }
    }
}

#[test]
fn more_is_known_later() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("deep/er/history.db");
    let mut store = Store::open(&path).unwrap();
    let whole = run(1, "idle", 40_000);
    let mut half = whole.clone();
    half.complete = false;
    half.cells.pop();
    assert_eq!([&half, &whole, &half].map(|r| store.add(r).unwrap()), [Added::New, Added::Better, Added::Known]);
    store.set_baseline("good", &[whole.id.chars().take(6).collect()]).unwrap();
    let mut explained = whole.clone();
    explained.cells[1].cause = Some("irq: eth0".into());
    assert_eq!(store.add(&explained).unwrap(), Added::Better);
    assert_eq!(all(&store), [explained]);
    assert_eq!(store.baselines().unwrap(), [("good".to_owned(), vec![whole.id.clone()])]);
    store.remove(&whole.id).unwrap();
    assert!(all(&store).is_empty() && store.baselines().unwrap().is_empty());
    assert!(matches!(store.find("ffff"), Err(Error::NoRun(_))));
    for name in ["", "1st", "a b", "ä", "12"] {
        assert!(matches!(store.set_baseline(name, &[]), Err(Error::Name(_))), "{name}");
    }
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

/// Of two equal runs with different judgements the same one is kept, whichever was added first. A copy in another
/// directory is the same run.
#[test]
fn equal_ones_do_not_depend_on_the_order() {
    let place = tempfile::tempdir().unwrap();
    let [bare, judged] = [None, Some(Outcome::Pass)].map(|outcome| RunSummary { outcome, ..run(1, "idle", 40_000) });
    let kept = |name: &str, runs: [&RunSummary; 2]| {
        let mut store = Store::open(&place.path().join(name)).unwrap();
        add(&mut store, runs.into_iter());
        all(&store)
    };
    assert_eq!(kept("a.db", [&bare, &judged]), kept("b.db", [&judged, &bare]));
    let moved = RunSummary { folder: Some("/zz".into()), ..bare.clone() };
    assert_eq!(kept("c.db", [&bare, &moved]), [bare]);
}

#[test]
fn what_is_no_history_is_said() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.db");
    assert!(matches!(Store::look(&path), Err(Error::None(_))));
    fs::write(&path, "this is no database, but long enough to have been one").unwrap();
    let e = Store::open(&path).err().unwrap().to_string();
    assert!(e.contains("is damaged") && e.contains("mv "), "{e}");
    fs::remove_file(&path).unwrap();

    let foreign = rusqlite::Connection::open(&path).unwrap();
    foreign.execute_batch("CREATE TABLE run (id TEXT); PRAGMA user_version = 1;").unwrap();
    drop(foreign);
    assert!(matches!(Store::open(&path), Err(Error::Foreign(_))));
    assert!(matches!(Store::look(&path), Err(Error::Foreign(_))));
}

#[test]
fn newer_and_tampered_files_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.db");
    drop(Store::open(&path).unwrap());
    let sql = |text: &str| rusqlite::Connection::open(&path).unwrap().execute_batch(text).unwrap();
    sql("PRAGMA user_version = 7");
    let e = Store::open(&path).err().unwrap();
    assert!(matches!(e, Error::Newer { found: 7, known: 1, .. }), "{e}");
    sql("PRAGMA user_version = 1");
    drop(Store::look(&path).unwrap());
    // A view in place of a table could return rows without end.
    sql(
        "DROP TABLE claim; CREATE VIEW claim AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS run FROM n",
    );
    assert!(matches!(Store::look(&path), Err(Error::Damaged { .. })));
}

#[test]
fn a_file_that_may_only_be_read_is_read() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("x.db");
    Store::open(&path).unwrap().add(&run(1, "idle", 1)).unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    assert_eq!(all(&Store::look(&path).unwrap()).len(), 1);
}

#[test]
fn writers_take_turns() {
    for _ in 0..10 {
        // Uses memory if possible: each writer waits 10 s for the others, and a slow disk would take longer.
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let path = place.path().join("x.db");
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let path = &path;
                scope.spawn(move || {
                    for day in 0..3 {
                        Store::open(path).unwrap().add(&run(10 * thread + day, "idle", 1)).unwrap();
                    }
                });
            }
        });
        assert_eq!(all(&Store::look(&path).unwrap()).len(), 12);
    }
}
