//! A damaged journal: the intact copy must compensate for the damaged one. If both lack a record, this must be
//! reported, and nothing may be changed.

use punctual_audit::Profile;
use punctual_fix::{Fault, Faulty, FixOptions, Journal, JournalError, System, recover, undo};
use punctual_testing::fix::{JOURNAL, Kernel, fix, materialise, plan, rules};
use std::path::{Path, PathBuf};

const NAMES: [&str; 2] = ["journal", "journal.copy"];
const VALUE: &str = "/proc/sys/kernel/sched_autogroup_enabled";

struct World {
    root: tempfile::TempDir,
    kernel: Kernel,
    /// Content of each copy after the fix.
    whole: Vec<u8>,
}

/// Returns a machine after a fix, with an intact journal.
fn world() -> World {
    let root = materialise(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/laptop-smt-6.8"));
    let kernel = Kernel::under(root.path());
    let mut world = World { root, kernel, whole: Vec::new() };
    std::fs::write(world.at(VALUE), "1\n").unwrap();
    world.fix(&world.kernel).unwrap();
    world.whole = std::fs::read(world.file("journal")).unwrap();
    assert_eq!(world.whole, std::fs::read(world.file("journal.copy")).unwrap());
    assert!(world.whole.iter().filter(|byte| **byte == b'\n').count() >= 5);
    world
}

impl World {
    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path.trim_start_matches('/'))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.at(JOURNAL).join(name)
    }

    fn fix(&self, sys: &dyn System) -> Result<punctual_fix::Fixed, JournalError> {
        let ids = ["sched-autogroup".to_owned()];
        let plan = plan(rules(), self.root.path(), sys, &ids, false, Profile::ControlLoop);
        fix(rules(), self.root.path(), sys, &plan, &FixOptions::default())
    }

    fn put(&self, copies: [Option<&[u8]>; 2]) {
        let _ = std::fs::remove_dir_all(self.at(JOURNAL));
        punctual_testing::fix::make_folders(self.at(JOURNAL)).unwrap();
        for (name, content) in NAMES.iter().zip(copies) {
            content.iter().for_each(|content| std::fs::write(self.file(name), content).unwrap());
        }
    }

    fn journal(&self) -> Journal<'_> {
        Journal::existing(&self.kernel, Path::new(JOURNAL)).unwrap().unwrap()
    }
}

#[test]
fn what_is_lost_is_told_until_it_is_accepted() {
    let world = world();
    // This damages the record of the change itself.
    let mut bytes = world.whole.clone();
    let at = bytes.windows(9).position(|window| window == b"\"planned\"").unwrap();
    bytes[at] ^= 1;
    world.put([Some(&bytes), Some(&bytes)]);
    assert!(recover(&world.kernel, Path::new(JOURNAL)).unwrap_err().to_string().contains("--accept-loss"));
    for _ in 0..2 {
        let undone = undo(&world.kernel, Path::new(JOURNAL), &[]).unwrap();
        assert!(!undone.is_complete() && undone.changes.is_empty(), "{undone:#?}");
        assert!(world.fix(&world.kernel).unwrap_err().to_string().contains("--accept-loss"));
    }
    assert!(!world.journal().accept_loss().unwrap().is_empty());
    assert!(world.journal().lost().is_empty());
    let kept = std::fs::read(world.file("journal.damaged-1")).unwrap();
    assert!(kept == bytes && kept == std::fs::read(world.file("journal.damaged-1.copy")).unwrap());
    assert!(undo(&world.kernel, Path::new(JOURNAL), &[]).unwrap().is_complete());
    world.fix(&world.kernel).unwrap();
    // Accepting a loss covers only what was lost at that time.
    let [mut one, two] = NAMES.map(|name| std::fs::read(world.file(name)).unwrap());
    assert_eq!(one, two);
    let at = one.len() - 10;
    one[at] ^= 1;
    NAMES.iter().for_each(|name| std::fs::write(world.file(name), &one).unwrap());
    assert!(!world.journal().lost().is_empty());
}

#[test]
fn a_write_that_is_cut_off_or_fails_is_no_damage() {
    for fault in [Fault::Killed, Fault::Error(28)] {
        for at in 0.. {
            let world = world();
            assert!(undo(&world.kernel, Path::new(JOURNAL), &[]).unwrap().is_complete());
            let faulty = Faulty::new(&world.kernel, at, fault);
            let _ = world.fix(&faulty);
            let journal = world.journal();
            assert!(journal.lost().is_empty(), "{fault:?} at {at}: {:?}", journal.lost());
            drop(journal);
            if faulty.count() <= at {
                break;
            }
            let undone = undo(&world.kernel, Path::new(JOURNAL), &[]).unwrap();
            assert!(undone.is_complete(), "{fault:?} at {at}: {undone:#?}");
            assert_eq!(std::fs::read_to_string(world.at(VALUE)).unwrap(), "1\n", "{fault:?} at {at}");
        }
    }
}

#[test]
fn writing_damaged_copies_anew_may_be_cut_off() {
    let mut bytes = world().whole;
    bytes[60] ^= 1;
    for fault in [Fault::Killed, Fault::Error(28)] {
        for at in 0.. {
            let world = world();
            world.put([Some(&bytes), Some(&bytes)]);
            let faulty = Faulty::new(&world.kernel, at, fault);
            let accepted = Journal::existing(&faulty, Path::new(JOURNAL)).unwrap().unwrap().accept_loss();
            let is_lost = !world.journal().lost().is_empty();
            // If accepting is interrupted after its last write, the loss is accepted nevertheless.
            assert!(!is_lost || accepted.is_err(), "{fault:?} at {at}");
            if faulty.count() <= at {
                break;
            }
            world.journal().accept_loss().unwrap();
            // A truncated copy is rewritten with the next record.
            assert!(world.journal().lost().is_empty(), "{fault:?} at {at}");
        }
    }
}
