//! Checks that a file that cannot be read does not count as empty: a change that depends on it is refused with the
//! reason.

use crate::common;

use common::{Tree, changeable, kind, tree};
use punctual_boot::{Change, Kind, Plan, change, current, detect};
use punctual_machine::{Listing, Machine, Read};

const CMDLINE: &str = "/proc/cmdline";

/// A machine on which one file cannot be read.
struct Hidden<'t> {
    tree: &'t Tree,
    path: &'t str,
    read: Read,
}

impl Machine for Hidden<'_> {
    fn read(&self, path: &str) -> Read {
        if path == self.path { self.read.clone() } else { self.tree.read(path) }
    }

    fn list(&self, folder: &str) -> Listing {
        self.tree.list(folder)
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        if path == self.path { self.read.clone() } else { self.tree.read_part(path, offset, length) }
    }
}

/// Returns the plan for a machine whose boot chain was detected before one of its files became unreadable.
fn planned(name: &str, path: &str, read: &Read, add: &str, remove: &str) -> Plan {
    let tree = tree(name);
    let chain = detect(&tree).unwrap();
    let hidden = Hidden { tree: &tree, path, read: read.clone() };
    change(&hidden, &chain, &Change::parse(add, remove).unwrap())
}

fn why(plan: &Plan) -> &str {
    assert!(plan.steps().is_empty() && plan.trial.is_none(), "{plan:?}");
    plan.refused.first().map(|refusal| refusal.why.as_str()).unwrap_or_default()
}

#[test]
fn a_longer_line_is_refused_where_what_firmware_adds_cannot_be_read() {
    for name in changeable() {
        for read in [Read::Denied, Read::Failed(5), Read::NotGiven] {
            let plan = planned(&name, CMDLINE, &read, "isolcpus=2-3 nohz_full=2-3", "");
            assert!(why(&plan).contains("/proc/cmdline"), "{name}, {read:?}: {plan:?}");
        }
    }
}

#[test]
fn a_shorter_line_needs_no_look() {
    let plan = planned("pi-os-bookworm", CMDLINE, &Read::Denied, "", "console=tty1");
    assert!(plan.refused.is_empty() && plan.edits.len() == 1, "{plan:?}");
}

#[test]
fn where_nothing_runs_the_length_is_told_with_its_doubt() {
    let plan = planned("pi-os-bookworm", CMDLINE, &Read::Absent, "isolcpus=2-3", "");
    assert!(plan.refused.is_empty(), "{plan:?}");
    assert!(plan.notes.iter().any(|note| note.contains("unknown without a running system")), "{:?}", plan.notes);
}

#[test]
fn words_that_a_script_may_add_are_refused_where_that_cannot_be_read() {
    let of = |kind_: Kind| changeable().into_iter().filter(move |name| kind(name) == kind_);
    for name in of(Kind::Armbian).chain(of(Kind::UbuntuCore)) {
        for read in [Read::Denied, Read::Failed(5), Read::NotGiven, Read::Absent] {
            let plan = planned(&name, CMDLINE, &read, "", "nowhere_else");
            assert!(why(&plan).contains("adds `nowhere_else`: "), "{name}, {read:?}: {plan:?}");
        }
        let plan = planned(&name, CMDLINE, &Read::Absent, "nowhere_else=1", "nowhere_else");
        assert!(plan.refused.is_empty(), "it is replaced: {name}: {plan:?}");
    }
}

#[test]
fn parameters_that_cannot_be_read_are_not_none() {
    for name in changeable() {
        let tree = tree(&name);
        let chain = detect(&tree).unwrap();
        let hidden = Hidden { tree: &tree, path: CMDLINE, read: Read::Denied };
        let now = current(&hidden, &chain).unwrap();
        assert_eq!((now.running.as_ref(), now.drift()), (None, None), "{name}");
    }
}

/// Files that cannot be read must not be overwritten.
#[test]
fn every_file_hidden_in_turn() {
    for name in changeable() {
        let tree = tree(&name);
        let chain = detect(&tree).unwrap();
        for path in tree.0.keys() {
            let hidden = Hidden { tree: &tree, path, read: Read::Denied };
            let plan = change(&hidden, &chain, &Change::parse("isolcpus=2-3", "quiet").unwrap());
            let trial = plan.trial.iter().flat_map(|trial| &trial.edits);
            let writes = plan.edits.iter().chain(trial).any(|edit| edit.path.to_str() == Some(path));
            assert!(!writes, "{name}: {path}: {plan:?}");
            assert!(plan.refused.is_empty() || plan.steps().is_empty(), "{name}: {path}");
        }
    }
}
