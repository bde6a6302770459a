//! Tests that every name of this workspace in docs/api-map.md exists: among the public names of punctual-rt, in its
//! methods, or in the C header. The documentation tests of this crate compile the examples of that page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

pub fn page() -> String {
    fs::read_to_string(root().join("docs/api-map.md")).unwrap()
}

/// Returns the words in backquotes in the last column of the co-kernel tables; that column contains the names of this
/// workspace.
fn ours(page: &str) -> BTreeSet<String> {
    let (_, tables) = page.split_once("## RTAI and Xenomai").unwrap();
    let rows = tables.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    let cells = rows.filter_map(|row| row.trim_end_matches('|').rsplit_once(" | "));
    cells.flat_map(|(_, cell)| quoted(cell)).map(str::to_owned).collect()
}

/// Returns the parts of the text that are in backquotes.
pub fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns true if the text contains this word as a whole word.
pub fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let bytes = text.as_bytes();
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let after = bytes.get(at + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// Returns the source text in which the library exports its names.
pub fn exported() -> String {
    let text = fs::read_to_string(root().join("crates/realtime/rt/src/lib.rs")).unwrap();
    let uses = text.split("pub use ").skip(1).map(|part| part.split(';').next().unwrap());
    uses.collect::<Vec<_>>().join(" ")
}

/// Returns true if `pub fn METHOD`, `fn METHOD` of a trait, or a variant of this name exists in a file that also has
/// the type.
fn has_member(all: &[String], of: &str, member: &str) -> bool {
    let owns =
        |text: &&String| ["struct", "enum", "trait"].iter().any(|kind| has_word(text, &format!("pub {kind} {of}")));
    let is_there = |text: &String| {
        has_word(text, &format!("fn {member}")) || text.lines().any(|line| line.trim_start().starts_with(member))
    };
    all.iter().filter(owns).any(is_there)
}

fn files(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() { files(&entry, into) } else { into.push(fs::read_to_string(&entry).unwrap()) }
    }
}

/// The texts in which names are looked up.
pub struct Source {
    exported: String,
    rust: Vec<String>,
    /// The C header.
    pub header: String,
}

impl Source {
    pub fn read() -> Source {
        let mut rust = Vec::new();
        files(&root().join("crates/realtime/rt/src"), &mut rust);
        files(&root().join("crates/base/uapi/src"), &mut rust);
        let header = fs::read_to_string(root().join("crates/realtime/capi/include/punctual_rt.h")).unwrap();
        Source { exported: exported(), rust, header }
    }

    /// Describes what is wrong with a name; `None` if it is valid.
    pub fn fault(&self, name: &str) -> Option<String> {
        if name.starts_with("prt_") {
            return (!has_word(&self.header, name)).then(|| format!("{name} is not in the header"));
        }
        let (of, member) = name.split_once("::").map_or((name, None), |(of, member)| (of, Some(member)));
        if !has_word(&self.exported, of) {
            return Some(format!("punctual_rt::{of} does not exist"));
        }
        member.filter(|member| !has_member(&self.rust, of, member)).map(|_| format!("{name} does not exist"))
    }
}

/// Words in backquotes in the last column of the tables that are not names of this workspace.
const OTHERS: [&str; 7] =
    ["data", "thread_local!", "punctual-gpio", "rt_task_suspend", "resume", "rt_task_send", "rt_sem_broadcast"];

#[test]
fn every_name_of_ours_exists() {
    let source = Source::read();
    let names = ours(&page());
    let theirs = |name: &str| {
        OTHERS.contains(&name) || ["rt_", "evl_", "oob_", "receive", "reply"].iter().any(|p| name.starts_with(p))
    };
    let checked: Vec<&String> = names.iter().filter(|name| !theirs(name)).collect();
    let faults: Vec<String> = checked.iter().filter_map(|name| source.fault(name)).collect();
    assert!(faults.is_empty(), "docs/api-map.md: {faults:#?}");
    assert!(checked.len() > 50, "only {} names found", checked.len());
    for wrong in ["Rt::nothing", "Nothing", "prt_nothing", "Mutex::wait_until"] {
        assert!(source.fault(wrong).is_some(), "{wrong} was found");
    }
}

/// Table 1 of the paper that docs/api-map.md follows has nine, two, two, four and eleven services in its five
/// categories.
#[test]
fn no_service_of_the_paper_is_left_out() {
    let page = page();
    let (_, table) = page.split_once("## RTAI and Xenomai, Table 1").unwrap();
    let (table, _) = table.split_once("## EVL").unwrap();
    let rows = |part: &str| part.lines().filter(|l| l.starts_with("| RTAI:") || l.starts_with("| Xenomai:")).count();
    let counts: Vec<usize> = table.split("\n### ").skip(1).map(rows).collect();
    assert_eq!(counts, [9, 2, 2, 4, 11]);
}
