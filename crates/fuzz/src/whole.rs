//! A user's profile, a snapshot, and whole machines of which something cannot be read any more, with what must hold.

use super::mutate::{Random, mutate};
use super::{Reader, foreign};
use punctual_audit::{Context, Offers, Profile, Rules, Today};
use punctual_machine::{Listing, Machine, READ_LIMIT, Read, Recorded, Snapshot};
use punctual_model::State;
use punctual_units::{CpuId, Priority, Scheduling};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
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
    /// Each with the rules that look at it.
    paths: Vec<(String, Vec<usize>)>,
    /// Of every rule.
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
    machine: &'m dyn Machine,
    paths: RefCell<BTreeSet<String>>,
    left: Cell<u64>,
}

impl Watched<'_> {
    fn is_gone(&self, path: &str) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == u64::MAX {
            self.left.set(u64::MAX);
            self.paths.borrow_mut().insert(path.to_owned());
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
    /// Judges every rule by itself: what it looks at is what others found out for it, too.
    fn new(rules: &Rules, machine: Recorded) -> Subject {
        let mut readers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut states = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            let watched = Watched { machine: &machine, paths: RefCell::default(), left: Cell::new(u64::MAX) };
            states.push(state(rules, &rule.id, &watched));
            watched.paths.take().into_iter().for_each(|path| readers.entry(path).or_default().push(number));
        }
        Subject { machine, paths: readers.into_iter().collect(), states }
    }
}

fn state(rules: &Rules, id: &str, machine: &dyn Machine) -> State {
    let finding = rules.audit_one(id, machine, &context(Profile::DedicatedCore), Offers::default());
    let finding = finding.unwrap_or_else(|| panic!("no rule {id}"));
    assert!(!finding.summary.is_empty(), "{id} says nothing");
    finding.state
}

/// A machine of which some files are others; below them there is nothing any more.
struct Changed<'m> {
    below: &'m Recorded,
    files: BTreeMap<&'m str, Read>,
}

impl Changed<'_> {
    /// The file that stands in place of a path or of a folder above it: is it the path itself, and what reading it gives.
    fn over(&self, path: &str) -> Option<(bool, &Read)> {
        let is_above =
            |file: &&str| path.strip_prefix(*file).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let (file, read) = self.files.iter().find(|(file, _)| is_above(file))?;
        Some((*file == path, read))
    }
}

impl Machine for Changed<'_> {
    fn read(&self, path: &str) -> Read {
        match self.over(path) {
            None => self.below.read(path),
            // EFBIG, as of a recorded machine.
            Some((true, Read::Known(bytes))) if bytes.len() > READ_LIMIT => Read::Failed(27),
            Some((true, read)) => read.clone(),
            Some((false, Read::Denied)) => Read::Denied,
            Some((false, _)) => Read::Absent,
        }
    }

    fn list(&self, folder: &str) -> Listing {
        match self.over(folder) {
            Some((_, Read::Denied)) => return Listing::Denied,
            Some((true, Read::Failed(errno))) => return Listing::Failed(*errno),
            Some(_) => return Listing::Absent,
            None => {}
        }
        let listing = self.below.list(folder);
        let name = |file: &str| file.strip_prefix(folder).map(|rest| rest.trim_start_matches('/').to_owned());
        let here = |name: &String| !name.is_empty() && !name.contains('/');
        let changed: Vec<(String, bool)> = (self.files.iter())
            .filter_map(|(file, read)| Some((name(file).filter(here)?, *read != Read::Absent)))
            .collect();
        if changed.is_empty() || !matches!(listing, Listing::Known(_) | Listing::Absent) {
            return listing;
        }
        let mut names: BTreeSet<String> = listing.names().into_iter().flatten().cloned().collect();
        for (name, is_there) in changed {
            if is_there {
                names.insert(name)
            } else {
                names.remove(&name)
            };
        }
        if names.is_empty() && listing == Listing::Absent {
            return Listing::Absent;
        }
        Listing::Known(names.into_iter().collect())
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        match self.read(path) {
            Read::Known(bytes) => {
                let rest = usize::try_from(offset).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
                Read::Known(rest.iter().take(length).copied().collect())
            }
            other => other,
        }
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
    /// of files, rules that look at them say something. One rule for every file, of those that look at it: all of them would take 20 ms.
    fn machine(&self, input: &[u8]) -> u64 {
        let seed =
            input.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(0x100_0000_01b3).wrapping_add(u64::from(*byte)));
        let mut random = Random::new(seed);
        let Some(subject) = self.machines.get(random.below(self.machines.len())) else { return 0 };
        let only_lost = random.below(2) == 0;
        let mut machine = Changed { below: &subject.machine, files: BTreeMap::new() };
        let mut asked: Vec<usize> = Vec::new();
        for _ in 0..=random.below(4) {
            let Some((path, readers)) = subject.paths.get(random.below(subject.paths.len())) else { continue };
            // What was not there would come into being, with the folders above it.
            if only_lost && machine.read(path) == Read::Absent && machine.list(path) == Listing::Absent {
                continue;
            }
            let read = if only_lost { lost(&mut random) } else { other(&machine.read(path), &mut random) };
            machine.files.insert(path, read);
            asked.extend(readers.get(random.below(readers.len())));
        }
        let left = if only_lost || random.below(3) > 0 { u64::MAX } else { random.below(40) as u64 };
        for number in &asked {
            let (Some(rule), Some(before)) = (self.rules.iter().nth(*number), subject.states.get(*number)) else {
                continue;
            };
            let watched = Watched { machine: &machine, paths: RefCell::default(), left: Cell::new(left) };
            let seen: &dyn Machine = if left == u64::MAX { &machine } else { &watched };
            let after = state(&self.rules, &rule.id, seen);
            let is_answer = machine.files.keys().any(|path| may_pass_without(&rule.id, path));
            let turned = only_lost && after == State::Pass && *before != State::Pass && !is_answer;
            let (lost, of) = (machine.files.keys(), subject.machine.description());
            assert!(!turned, "{} {before:?} to PASS on {of}: {lost:?} lost", rule.id);
        }
        4 + asked.len() as u64
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
    match random.below(64) {
        0..8 => Read::Absent,
        8..16 => Read::Known(Vec::new()),
        16..23 => Read::Known(bytes.repeat(1 + 40_000 / (bytes.len() + 1))),
        // Reading it takes longer than all others together.
        23 => Read::Known(vec![b'7'; READ_LIMIT + random.below(2)]),
        24..32 => lost(random),
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
