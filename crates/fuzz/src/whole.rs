//! A user's profile, a snapshot, and whole machines of which something cannot be read any more, with what must hold.

use super::mutate::{Random, mutate};
use super::{Reader, foreign};
use punctual_audit::{Context, Offers, Profile, Rules, Today};
use punctual_machine::{Listing, Machine, READ_LIMIT, Read, Recorded, Snapshot};
use punctual_model::State;
use punctual_units::{CpuId, Priority, Scheduling};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;

/// Rules whose severity the seeds of profiles change: all 225 would take milliseconds to set up.
const FEW: [&str; 5] = ["cpu-smt", "mem-swap", "virt-wsl", "cmdline-debug-leftovers", "clk-tsc-invariant"];

/// Profiles, snapshots and machines are judged with these.
pub struct Whole {
    rules: Rules,
    few: RefCell<Rules>,
    base: Recorded,
    plain: RefCell<BTreeMap<Profile, Vec<State>>>,
    machines: Vec<Subject>,
    today: Option<Today>,
}

/// A recorded machine, and what its audit looks at and comes to.
struct Subject {
    machine: Recorded,
    paths: Vec<String>,
    states: Vec<State>,
}

fn context(profile: Profile) -> Context {
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(80).unwrap_or_else(|_| unreachable!()) };
    Context { scheduling, cpus: [CpuId(0), CpuId(1)].into_iter().collect(), profile }
}

fn states(rules: &Rules, machine: &dyn Machine, profile: Profile) -> Vec<State> {
    let findings = rules.audit_with(machine, &context(profile), Offers::default());
    assert!(findings.iter().all(|finding| !finding.summary.is_empty()));
    findings.iter().map(|finding| finding.state).collect()
}

/// The rules of [`FEW`], as written; empty where the files are not there.
fn few() -> Rules {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../audit");
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    let files: Vec<(String, String)> =
        FEW.iter().map(|id| (id.to_string(), text(&format!("rules/{id}.toml")))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let rules = Rules::parse(&files, ("sources.toml", &text("sources.toml")), ("gates.toml", &text("gates.toml")));
    rules.unwrap_or_else(|error| panic!("{error}"))
}

/// Notes what is looked at; after so many looks everything is gone, as a process is that ends.
struct Watched<'m> {
    machine: &'m Recorded,
    paths: RefCell<Vec<String>>,
    left: Cell<u64>,
}

impl Watched<'_> {
    fn is_gone(&self, path: &str) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == u64::MAX {
            self.left.set(u64::MAX);
            self.paths.borrow_mut().push(path.to_owned());
        }
        left == 0
    }
}

impl Machine for Watched<'_> {
    fn read(&self, path: &str) -> Read {
        if self.is_gone(path) { Read::Absent } else { self.machine.read(path) }
    }

    fn list(&self, folder: &str) -> Listing {
        if self.is_gone(folder) { Listing::Absent } else { self.machine.list(folder) }
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        if self.is_gone(path) { Read::Absent } else { self.machine.read_part(path, offset, length) }
    }
}

impl Subject {
    fn new(rules: &Rules, machine: Recorded) -> Subject {
        let watched = Watched { machine: &machine, paths: RefCell::default(), left: Cell::new(u64::MAX) };
        let states = states(rules, &watched, Profile::DedicatedCore);
        let mut paths = watched.paths.take();
        paths.sort_unstable();
        paths.dedup();
        Subject { machine, paths, states }
    }
}

/// What is an answer by not being readable as what it is: as in crates/audit/tests/unreadable.rs.
fn may_pass_without(rule: &str, path: &str) -> bool {
    rule == "perm-cpu-dma-latency" || (path.starts_with("/proc/") && path.ends_with("/task"))
}

impl Whole {
    /// Auditing every recorded machine takes a second: only where they are what is changed.
    pub fn new(reader: Reader) -> Whole {
        let rules = Rules::embedded();
        let recorded = if reader == Reader::Machine { foreign::recorded() } else { Vec::new() };
        let machines = recorded.into_iter().map(|machine| Subject::new(&rules, machine)).collect();
        let today = Today::try_from("2026-11-21".to_owned()).ok();
        let (few, plain) = (RefCell::new(few()), RefCell::default());
        Whole { rules, few, base: foreign::base(), plain, machines, today }
    }

    /// Judges an input; panics if anything that must hold does not. The result: what came out of it.
    pub fn run(&self, reader: Reader, input: &[u8]) -> u64 {
        match reader {
            Reader::Profile => self.profile(&String::from_utf8_lossy(input)),
            Reader::Snapshot => snapshot(input),
            _ => self.machine(input),
        }
    }

    /// A mistake has its place; a profile without rules of its own makes nothing pass that did not.
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

    /// A machine of which some files cannot be read any more passes no rule that it did not pass; whatever else becomes
    /// of files, every rule says something.
    fn machine(&self, input: &[u8]) -> u64 {
        let seed =
            input.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(*byte)));
        let mut random = Random::new(seed);
        let Some(subject) = self.machines.get(random.below(self.machines.len())) else { return 0 };
        let mut machine = subject.machine.clone();
        let only_lost = random.below(2) == 0;
        let mut changed = Vec::new();
        for _ in 0..=random.below(4) {
            let Some(path) = subject.paths.get(random.below(subject.paths.len())) else { continue };
            // What was not there would come into being, with the folders above it.
            if only_lost && machine.read(path) == Read::Absent && machine.list(path) == Listing::Absent {
                continue;
            }
            let read = if only_lost { lost(&mut random) } else { other(&machine.read(path), &mut random) };
            machine.set(path, read);
            changed.push(path.as_str());
        }
        let left = if only_lost || random.below(3) > 0 { u64::MAX } else { random.below(2000) as u64 };
        let watched = Watched { machine: &machine, paths: RefCell::default(), left: Cell::new(left) };
        let found = states(&self.rules, &watched, Profile::DedicatedCore);
        assert_eq!(found.len(), subject.states.len());
        if only_lost {
            for ((rule, before), after) in self.rules.iter().zip(&subject.states).zip(&found) {
                let is_answer = changed.iter().any(|path| may_pass_without(&rule.id, path));
                let turned = *after == State::Pass && *before != State::Pass && !is_answer;
                assert!(
                    !turned,
                    "{} {before:?} to PASS on {}: {changed:?} lost",
                    rule.id,
                    subject.machine.description()
                );
            }
        }
        found.len() as u64
    }
}

/// What reading a file may come to that tells nothing.
fn lost(random: &mut Random) -> Read {
    match random.below(4) {
        0 | 1 => Read::Denied,
        2 => Read::Failed([5, 13, 22, 27, 110][random.below(5)]),
        _ => Read::Known(b"\xff\xfe\0rubbish\n".to_vec()),
    }
}

/// Any content, or none.
fn other(read: &Read, random: &mut Random) -> Read {
    let bytes = read.bytes().unwrap_or(b"0-3\n");
    match random.below(8) {
        0 => Read::Absent,
        1 => Read::Known(Vec::new()),
        2 => Read::Known(bytes.repeat(1 + 40_000 / (bytes.len() + 1))),
        3 => Read::Known(vec![b'7'; READ_LIMIT + random.below(2)]),
        4 => lost(random),
        _ => {
            let mut bytes = bytes.to_vec();
            mutate(&mut bytes, b"-1 18446744073709551615 (x) /", foreign::WORDS, random);
            Read::Known(bytes)
        }
    }
}

/// No path of what is read leads out of the machine's root, and nothing is larger than a file may be.
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
        assert!(is_plain, "`{path}` leads elsewhere");
        assert!(read.bytes().is_none_or(|bytes| bytes.len() <= READ_LIMIT));
    }
    assert!(machine.list("/").names().is_some());
    count
}

/// Sets every header's check sum, so that the rest of a mutated header counts.
fn correct_sums(tar: &mut [u8]) {
    for block in tar.chunks_exact_mut(512).filter(|block| block[257..262] == *b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
}
