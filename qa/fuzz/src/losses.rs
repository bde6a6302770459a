//! Audits recorded machines with some files missing or replaced, and checks the invariants.
//!
//! The first byte of an input selects a machine. Bit 0 of the second byte selects whether files are only lost; its
//! other bits are the number of accesses after which every file disappears (0, or more than [`LOOKS`], means never).
//! Then follow the changed files, each with its path (two bytes), a rule that reads it, a kind of change, and, if that
//! is new content, its length (two bytes) and the content itself. All numbers are taken modulo the number of choices,
//! so every input is valid.

use super::foreign;
use super::whole::context;
use punctual_audit::{Offers, Profile, Rules};
use punctual_machine::{Listing, Machine, READ_LIMIT, Read, Recorded};
use punctual_model::State;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

const FILES: usize = 5;
/// Maximum number of accesses after which every file disappears.
const LOOKS: u8 = 40;
/// Number of kinds of loss. [`other`] handles higher numbers.
const LOST: u8 = 7;
/// Kind of change that takes the new content from the input itself; used in seeds.
const CONTENT: u8 = 64;
/// Maximum size of new content in a seed, bytes.
const LARGEST: usize = 2000;

pub struct Losses {
    rules: &'static Rules,
    machines: Vec<Subject>,
}

/// A recorded machine, the files that its audit reads, and the results of that audit.
struct Subject {
    machine: Recorded,
    /// Each path, and the indices of the rules that read it.
    paths: Vec<(String, Vec<usize>)>,
    /// The state that each rule reported.
    states: Vec<State>,
}

struct Watched<'m> {
    machine: &'m Recorded,
    paths: RefCell<BTreeSet<String>>,
}

impl Watched<'_> {
    fn look(&self, path: &str) -> &Recorded {
        self.paths.borrow_mut().insert(path.to_owned());
        self.machine
    }
}

impl Machine for Watched<'_> {
    fn read(&self, path: &str) -> Read {
        self.look(path).read(path)
    }

    fn list(&self, folder: &str) -> Listing {
        self.look(folder).list(folder)
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        self.look(path).read_part(path, offset, length)
    }
}

/// A machine on which nothing exists after a number of accesses, as in /proc/PID when the process ends.
struct Ending<'m> {
    machine: &'m Changed<'m>,
    left: Cell<u8>,
}

impl Ending<'_> {
    fn is_gone(&self) -> bool {
        self.left.replace(self.left.get().saturating_sub(1)) == 0
    }
}

impl Machine for Ending<'_> {
    fn read(&self, path: &str) -> Read {
        if self.is_gone() { Read::Absent } else { self.machine.read(path) }
    }

    fn list(&self, folder: &str) -> Listing {
        if self.is_gone() { Listing::Absent } else { self.machine.list(folder) }
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        if self.is_gone() { Read::Absent } else { self.machine.read_part(path, offset, length) }
    }
}

impl Subject {
    /// Judges every rule separately, so that its accesses include those that it would otherwise share with other rules.
    fn new(rules: &Rules, machine: Recorded) -> Subject {
        let mut readers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut states = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            let watched = Watched { machine: &machine, paths: RefCell::default() };
            states.push(state(rules, &rule.id, &watched));
            watched.paths.take().into_iter().for_each(|path| readers.entry(path).or_default().push(number));
        }
        Subject { machine, paths: readers.into_iter().collect(), states }
    }
}

fn state(rules: &Rules, id: &str, machine: &dyn Machine) -> State {
    let finding = rules.audit_one(id, machine, &context(Profile::DedicatedCore), Offers::default());
    let finding = finding.unwrap_or_else(|| panic!("no rule {id}"));
    assert!(!finding.summary.is_empty(), "{id} has an empty summary");
    finding.state
}

/// A machine on which some files are replaced. Nothing exists below a replaced file.
struct Changed<'m> {
    below: &'m Recorded,
    files: BTreeMap<&'m str, Read>,
}

impl Changed<'_> {
    /// Returns the result of reading the file that replaces a path or a folder above it, and whether it is the path
    /// itself; `None` if nothing replaces it.
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
            // EFBIG, as for a recorded machine.
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

/// Returns true if the rule may pass although the file cannot be read, as in
/// crates/system/audit/tests/it/unreadable.rs.
fn may_pass_without(rule: &str, path: &str) -> bool {
    rule == "perm-cpu-dma-latency" || (path.starts_with("/proc/") && path.ends_with("/task"))
}

/// The bytes of an input that have not been consumed yet.
struct Choices<'i>(&'i [u8]);

impl<'i> Choices<'i> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn below(&mut self, count: usize) -> Option<usize> {
        (self.byte()? as usize).checked_rem(count)
    }

    fn number(&mut self) -> Option<usize> {
        Some(u16::from_le_bytes([self.byte()?, self.byte()?]).into())
    }

    fn bytes(&mut self) -> Option<&'i [u8]> {
        let length = self.number()?;
        let (bytes, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        Some(bytes)
    }
}

impl Losses {
    /// Audits every recorded machine, which takes a second. Reads files of the repository.
    pub fn new() -> Losses {
        let rules = Rules::embedded();
        let machines = foreign::recorded().into_iter().map(|machine| Subject::new(rules, machine)).collect();
        Losses { rules, machines }
    }

    /// Audits the machine that an input describes. With unreadable files it must not pass a rule that it did not pass
    /// before; however files change, the rules that read them must produce a finding. For every file only one of its
    /// rules is judged, because all of them would take 20 ms.
    pub fn run(&self, input: &[u8]) -> u64 {
        self.judge(&mut Choices(input)).unwrap_or(0)
    }

    fn judge(&self, choices: &mut Choices) -> Option<u64> {
        let subject = &self.machines[choices.below(self.machines.len())?];
        let manner = choices.byte()?;
        let only_lost = manner & 1 == 1;
        let looks = Some(manner >> 1).filter(|looks| !only_lost && (1..=LOOKS).contains(looks));
        let mut machine = Changed { below: &subject.machine, files: BTreeMap::new() };
        let mut asked: Vec<usize> = Vec::new();
        for _ in 0..FILES {
            asked.extend(subject.change(&mut machine, only_lost, choices));
        }
        for number in &asked {
            let (Some(rule), Some(before)) = (self.rules.iter().nth(*number), subject.states.get(*number)) else {
                continue;
            };
            let after = match looks {
                None => state(self.rules, &rule.id, &machine),
                Some(looks) => state(self.rules, &rule.id, &Ending { machine: &machine, left: Cell::new(looks) }),
            };
            let is_answer = machine.files.keys().any(|path| may_pass_without(&rule.id, path));
            let turned = only_lost && after == State::Pass && *before != State::Pass && !is_answer;
            let (lost, of) = (machine.files.keys(), subject.machine.description());
            assert!(!turned, "{} {before:?} to PASS on {of}: {lost:?} lost", rule.id);
        }
        Some(4 + asked.len() as u64)
    }

    /// Returns seeds with the content of every kind of path (numbers in paths are ignored), each with a rule that reads
    /// it, and seeds with losses on every machine.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut known = BTreeSet::new();
        let mut all = Vec::new();
        for (at, subject) in self.machines.iter().enumerate() {
            for (number, (path, readers)) in subject.paths.iter().enumerate() {
                let shape = path.replace(|c: char| c.is_ascii_digit(), "");
                let read = subject.machine.read(path);
                let Some(content) = read.bytes().filter(|bytes| bytes.len() <= LARGEST) else { continue };
                if !known.insert(shape) {
                    continue;
                }
                let [low, high] = (number as u16).to_le_bytes();
                let length = (content.len() as u16).to_le_bytes();
                let rule = (all.len() % readers.len()) as u8;
                all.push([&[at as u8, 0, low, high, rule, CONTENT], &length[..], content].concat());
            }
            all.push((0..22).map(|n| if n == 0 { at as u8 } else { n * 11 }).collect());
        }
        all
    }
}

impl Subject {
    /// Changes a file according to the input. Returns the rule to judge.
    fn change<'s>(&'s self, machine: &mut Changed<'s>, only_lost: bool, choices: &mut Choices) -> Option<usize> {
        let (path, readers) = self.paths.get(choices.number()?.checked_rem(self.paths.len())?)?;
        let (rule, kind) = (choices.below(readers.len())?, choices.byte()?);
        // A missing file would appear, together with the directories above it.
        if only_lost && machine.read(path) == Read::Absent && machine.list(path) == Listing::Absent {
            return None;
        }
        let read =
            if only_lost || kind < LOST { lost(kind % LOST) } else { other(kind, &machine.read(path), choices)? };
        machine.files.insert(path, read);
        readers.get(rule).copied()
    }
}

/// Returns a result of reading a file that reveals no content.
fn lost(kind: u8) -> Read {
    match kind {
        0 => Read::Denied,
        1 => Read::Known(b"\xff\xfe\0rubbish\n".to_vec()),
        // EIO, EACCES, EINVAL, EFBIG, ETIMEDOUT.
        _ => Read::Failed([5, 13, 22, 27, 110][usize::from(kind - 2) % 5]),
    }
}

/// Returns one of all possible results of reading a file: any content, or none.
fn other(kind: u8, read: &Read, choices: &mut Choices) -> Option<Read> {
    let bytes = read.bytes().unwrap_or(b"0-3\n");
    Some(match kind {
        ..16 => Read::Absent,
        16..24 => Read::Known(Vec::new()),
        24 => Read::Known(bytes.repeat(1 + 40_000 / (bytes.len() + 1))),
        // Reading this file takes longer than reading all the others.
        25 => Read::Known(vec![b'7'; READ_LIMIT + choices.below(2)?]),
        _ => Read::Known(choices.bytes()?.to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_change_what_they_say_and_ask_a_rule_that_looks_at_it() {
        let losses = Losses::new();
        let subject = &losses.machines[0];
        let (number, readers) =
            subject.paths.iter().enumerate().find(|(_, (path, _))| path == "/proc/cmdline").unwrap();
        let [low, high] = (number as u16).to_le_bytes();
        let changed = |only_lost, input: &[u8]| {
            let mut machine = Changed { below: &subject.machine, files: BTreeMap::new() };
            let asked = subject.change(&mut machine, only_lost, &mut Choices(input));
            (asked, machine.read("/proc/cmdline"))
        };
        let (content, lost) = ([low, high, 1, CONTENT, 5, 0, b'q', b'u', b'i', b'e', b't', 7], [low, high, 0, 7, 1]);
        assert_eq!(changed(false, &content), (Some(readers.1[1]), Read::Known(b"quiet".to_vec())));
        assert_eq!(changed(true, &lost), (Some(readers.1[0]), Read::Denied));
        assert_eq!(changed(false, &lost), (Some(readers.1[0]), Read::Absent));
        assert_eq!(changed(false, &content[..4]).0, None, "cut off");
    }

    #[test]
    fn seeds_are_contents_of_files_that_rules_look_at() {
        let losses = Losses::new();
        let seeds = losses.seeds();
        let asked: u64 = seeds.iter().map(|seed| losses.run(seed) - 4).sum();
        assert!(seeds.len() > 100 && asked > seeds.len() as u64, "{asked} rules of {} seeds", seeds.len());
        assert_eq!(losses.run(b""), 0);
    }
}
