//! Fuzzes the readers of profiles and snapshots, and checks the invariants.

use super::{Reader, foreign};
use punctual_audit::{Context, Offers, Profile, Rules, Today};
use punctual_machine::{Machine, READ_LIMIT, Recorded, Snapshot};
use punctual_model::State;
use punctual_units::{CpuId, Priority, Scheduling};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

/// Rules whose severity the seeds of profiles change. Loading all rules would take milliseconds.
const FEW: [&str; 5] = ["cpu-smt", "mem-swap", "virt-wsl", "cmdline-debug-leftovers", "clk-tsc-invariant"];

pub struct Whole {
    few: RefCell<Rules>,
    base: Recorded,
    plain: RefCell<BTreeMap<Profile, Vec<State>>>,
    today: Option<Today>,
}

pub(crate) fn context(profile: Profile) -> Context {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(80).unwrap_or_else(|_| unreachable!()) };
    Context { scheduling, cpus: [CpuId(0), CpuId(1)].into_iter().collect(), profile }
}

fn states(rules: &Rules, machine: &dyn Machine, profile: Profile) -> Vec<State> {
    let findings = rules.audit_with(machine, &context(profile), Offers::default());
    assert!(findings.iter().all(|finding| !finding.summary.is_empty()));
    findings.iter().map(|finding| finding.state).collect()
}

/// Returns the rules in [`FEW`], as they are in the repository; empty if the files are missing.
fn few() -> Rules {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/system/audit");
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let files: Vec<(String, String)> =
        FEW.iter().map(|id| (id.to_string(), text(&format!("rules/{id}.toml")))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let rules = Rules::parse(&files, ("sources.toml", &text("sources.toml")), ("gates.toml", &text("gates.toml")));
    rules.unwrap_or_else(|error| panic!("{error}"))
}

impl Whole {
    /// Loads the context. Reads files of the repository.
    pub fn new() -> Whole {
        let today = Today::try_from("2026-11-21".to_owned()).ok();
        Whole { few: RefCell::new(few()), base: foreign::base(), plain: RefCell::default(), today }
    }

    /// Judges an input. Panics if an invariant is violated. Returns a number that shows how far the input was
    /// processed.
    pub fn run(&self, reader: Reader, input: &[u8]) -> u64 {
        match reader {
            Reader::Profile => self.profile(&String::from_utf8_lossy(input)),
            _ => snapshot(input),
        }
    }

    /// Checks that an error has its position, and that a profile without rules of its own does not make a rule pass
    /// that did not pass before.
    fn profile(&self, text: &str) -> u64 {
        let Some(today) = self.today else { return 0 };
        let mut rules = self.few.borrow_mut();
        let extended = rules.extend("my.toml", text, today);
        let profile = match extended {
            Ok(profile) => profile,
            Err(error) => {
                assert!(error.line > 0 && error.column > 0 && !error.message.is_empty(), "{error}");
                assert!(error.line <= text.lines().count() + 1, "{error}");
                return 1;
            }
        };
        let found = states(&rules, &self.base, profile);
        *rules = few();
        if text.contains("rule") && !text.contains("[[suppress]]") || text.contains("[[rule]]") {
            return 4;
        }
        let mut plain = self.plain.borrow_mut();
        let plain = plain.entry(profile).or_insert_with(|| states(&rules, &self.base, profile));
        assert_eq!(found.len(), plain.len());
        let turned = plain.iter().zip(&found).any(|(plain, found)| *found == State::Pass && *plain != State::Pass);
        assert!(!turned, "a profile made something pass");
        4
    }
}

/// Checks that no path in a snapshot leads outside the machine's root directory, and that no file is larger than the
/// limit.
fn snapshot(input: &[u8]) -> u64 {
    let mut bytes = input.to_vec();
    if !input.len().is_multiple_of(3) {
        correct_sums(&mut bytes);
    }
    let Ok(machine) = Snapshot::read(bytes.as_slice()) else { return u64::from(bytes.len() > 1000) };
    let mut count = 1;
    for (path, read) in machine.entries() {
        count += 1;
        let rest = path.strip_prefix('/').unwrap_or_else(|| panic!("`{path}` is not absolute"));
        let is_plain = rest.is_empty() || rest.split('/').all(|part| !matches!(part, "" | "." | ".."));
        assert!(is_plain, "`{path}` leads outside the root");
        assert!(read.bytes().is_none_or(|bytes| bytes.len() <= READ_LIMIT));
    }
    assert!(machine.list("/").names().is_some());
    count
}

/// Corrects the checksum of every header, so that the rest of a mutated header is read.
fn correct_sums(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(512).filter(|block| block[257..262] == *b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}
