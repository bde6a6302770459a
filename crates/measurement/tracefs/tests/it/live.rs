//! Tests that need access to tracefs. Without access they report that they were skipped.

use punctual_directory::Dir;
use punctual_journal::Journal;
use punctual_trace::{Kind, Options};
use punctual_tracefs::{Config, Cut, Flight, Instance, MINIMAL, Tracefs};
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

fn instance(journal: &Journal) -> Option<(Tracefs, Instance)> {
    let tracefs = Tracefs::find().inspect_err(|e| eprintln!("not tested: {e}")).ok()?;
    let config = Config { events: MINIMAL, buffer_kb: Some(512), tracer: None, stacks: None };
    let made = Instance::create(&tracefs, journal, &config).inspect_err(|e| eprintln!("not tested: {e}")).ok()?;
    Some((tracefs, made))
}

fn now() -> u64 {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Returns every file below `folder`, with its content if it can be read without blocking, except files that change
/// constantly.
fn picture(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let changing =
        ["trace", "trace_pipe", "stats", "saved_cmdlines", "saved_tgids", "enabled_functions", "touched_functions"];
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        let skip =
            changing.contains(&name.as_str()) || name.starts_with("trace_pipe") || name.starts_with("available_filter");
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            all.extend(picture(&path));
        } else if !skip && !name.starts_with("snapshot") && !name.contains("trace_marker") && name != "hist" {
            all.push((path.display().to_string(), fs::read(&path).unwrap_or_default()));
        }
    }
    all.sort();
    all
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn a_window_holds_what_happened_in_it_and_nothing_is_left_behind() {
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::at(home.path().join("journal"));
    let Ok(tracefs) = Tracefs::find() else { return eprintln!("not tested: no tracefs") };
    let before = picture(&tracefs.root().join("events/sched"));
    let Some((_, made)) = instance(&journal) else { return };
    let folder = made.folder().to_owned();
    let mut flight = Flight::new(made).unwrap();
    let dir = Dir::open(home.path()).unwrap();
    let mut cuts = Vec::new();
    for n in 0..3 {
        std::thread::sleep(Duration::from_millis(20));
        let from_ns = now();
        std::thread::sleep(Duration::from_millis(10));
        cuts.push(Cut { from_ns, to_ns: now(), name: format!("{n}.dat").into() });
    }
    std::thread::sleep(Duration::from_millis(5));
    let kept = flight.cut(&dir, &cuts[..2]).unwrap();
    let more = flight.cut(&dir, &cuts[2..]).unwrap();
    assert!(flight.statistics().recorded() > 0);
    flight.end().unwrap();
    let me = std::process::id() as i32;
    for (cut, kept) in cuts.iter().zip(kept.iter().chain(&more)) {
        assert!(kept.pages > 0 && kept.overwritten.is_empty(), "{kept:?}");
        let mut source = punctual_trace::open(dir.file(&cut.name).unwrap(), Options::default()).unwrap();
        let events: Vec<_> = source.by_ref().collect();
        assert!(events.windows(2).all(|pair| pair[0].t_ns <= pair[1].t_ns));
        assert!(events.first().unwrap().t_ns <= cut.from_ns || kept.pages > 0);
        let mine = events.iter().filter(|e| cut.from_ns <= e.t_ns && e.t_ns <= cut.to_ns + 5_000_000);
        // Some kernels do not record switches from the idle task. Switches to it are caused by this thread.
        let one = |tid: i32| tid != me && tid != 0;
        let switched =
            mine.filter(|e| matches!(&e.kind, Kind::SchedSwitch { prev, next, .. } if one(prev.tid) || one(next.tid)));
        assert!(switched.count() > 0);
        assert!(source.info().notes.is_empty(), "{:?}", source.info().notes);
    }
    assert!(!folder.exists());
    assert_eq!(picture(&tracefs.root().join("events/sched")), before);
    assert_eq!(fs::read_dir(home.path().join("journal")).unwrap().count(), 0);
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn two_instances_do_not_disturb_each_other() {
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::at(home.path());
    let (Some((_, a)), Some((_, b))) = (instance(&journal), instance(&journal)) else { return };
    assert_ne!(a.folder(), b.folder());
    let b = Flight::new(b).unwrap();
    a.remove().unwrap();
    let before = b.statistics().recorded();
    std::thread::sleep(Duration::from_millis(20));
    assert!(b.statistics().recorded() > before);
}

#[test]
fn a_missing_tracefs_is_told_with_what_to_do() {
    let home = tempfile::tempdir().unwrap();
    let config = Config { events: MINIMAL, buffer_kb: None, tracer: None, stacks: None };
    let error = Instance::create(&Tracefs::at(home.path()), &Journal::at(home.path().join("j")), &config).unwrap_err();
    assert!(error.to_string().contains("instances"), "{error}");
    assert_eq!(fs::read_dir(home.path().join("j")).unwrap().count(), 0);
}

#[test]
#[ignore = "live: root, tracefs, timing"]
fn an_instance_that_another_program_reads_is_removed_when_it_has_read() {
    let home = tempfile::tempdir().unwrap();
    let journal = Journal::at(home.path().join("journal"));
    let Some((_, made)) = instance(&journal) else { return };
    let folder = made.folder().to_owned();
    let reading = File::open(folder.join("tracing_on")).unwrap();
    assert_eq!(fs::remove_dir(&folder).unwrap_err().kind(), std::io::ErrorKind::ResourceBusy);
    std::thread::scope(|scope| {
        scope.spawn(|| drop(made));
        std::thread::sleep(Duration::from_millis(200));
        assert!(folder.exists());
        drop(reading);
    });
    assert!(!folder.exists());
}

/// If the description were truncated, the page size and the kernel's word size would have to be guessed.
#[test]
#[ignore = "live: root, tracefs, timing"]
fn the_kernels_description_of_its_pages_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let Some((_, made)) = instance(&Journal::at(home.path().join("journal"))) else { return };
    let head = made.head();
    made.remove().unwrap();
    let head = head.unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let (page, event) = (text(&head.header_page), text(&head.header_event));
    assert!(page.ends_with('\n') && page.contains("local_t commit;") && page.contains("char data;"), "{page}");
    assert!(event.ends_with('\n') && event.contains("padding"), "{event}");
}
