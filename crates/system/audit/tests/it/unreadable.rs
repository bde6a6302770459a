//! Unreadable files never lead to PASS, and no content makes a rule panic.

use proptest::prelude::*;
use punctual_audit::{Context, Offers, Profile, Rules};
use punctual_machine::{Listing, Machine, Read, Recorded};
use punctual_model::State;
use punctual_units::{Priority, Scheduling};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const MACHINES: [&str; 16] = [
    "biglittle-6.12",
    "container-user-6.8",
    "debian-6.1-guest",
    "debian-rt-6.12-guest",
    "debian-rt-6.12-server",
    "guest-firecracker-6.18",
    "industrial-pc-rt-6.1",
    "kvm-guest-6.12",
    "laptop-smt-6.8",
    "numa-2-socket-smt-6.12",
    "raspberry-pi-3b-plus-6.6",
    "raspberry-pi-4-rt-5.4",
    "raspberry-pi-4-stock-6.6",
    "raspberry-pi-5-rt-6.12",
    "rhel-rt-9-server",
    "secure-boot-lockdown-6.8",
];

fn recorded(name: &str) -> Recorded {
    Recorded::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines").join(name)).unwrap()
}

fn context(profile: Profile) -> Context {
    let priority = Priority::try_from(80).unwrap();
    Context { scheduling: Scheduling::Fifo { priority }, cpus: "0-1".parse().unwrap(), profile }
}

struct Spy<'m> {
    machine: &'m dyn Machine,
    paths: RefCell<BTreeSet<String>>,
}

impl<'m> Spy<'m> {
    fn new(machine: &'m dyn Machine) -> Spy<'m> {
        Spy { machine, paths: RefCell::default() }
    }

    fn note(&self, path: &str) {
        self.paths.borrow_mut().insert(path.to_owned());
    }
}

impl Machine for Spy<'_> {
    fn read(&self, path: &str) -> Read {
        self.note(path);
        self.machine.read(path)
    }

    fn list(&self, folder: &str) -> Listing {
        self.note(folder);
        self.machine.list(folder)
    }

    fn read_part(&self, path: &str, offset: u64, length: usize) -> Read {
        self.note(path);
        self.machine.read_part(path, offset, length)
    }
}

/// Returns true if the absence of the file is itself an answer. This holds for the files of a task that has ended (also
/// if a file takes the place of its folder), for a control group's budget, which exists only while the kernel groups
/// real-time tasks, and for proactive compaction before Linux 5.9.
fn may_pass_without(rule: &str, path: &str, read: &Read) -> bool {
    let is_task = path.starts_with("/proc/") && path.contains("/task");
    if is_task && (*read == Read::Absent || path.ends_with("/task")) {
        return true;
    }
    match rule {
        // This rule only needs to open the file.
        "perm-cpu-dma-latency" => true,
        "mem-compaction" => path.ends_with("/compaction_proactiveness") && *read == Read::Absent,
        "kconfig-rt-group-sched" => path.ends_with("/cpu.rt_runtime_us") && *read == Read::Absent,
        _ => false,
    }
}

#[test]
fn no_single_loss_turns_into_a_pass() {
    let rules = Rules::embedded();
    let losses = [Read::Denied, Read::Absent, Read::Failed(5), Read::Known(b"\xff\xfe\0rubbish\n".to_vec())];
    let mut wrong = Vec::new();
    for (name, profile) in MACHINES.into_iter().zip([Profile::ControlLoop, Profile::DedicatedCore].into_iter().cycle())
    {
        let machine = recorded(name);
        let judge = |id: &str, machine: &dyn Machine| {
            rules.audit_one(id, machine, &context(profile), Offers::default()).unwrap().state
        };
        let mut readers: BTreeMap<String, Vec<(&str, State)>> = BTreeMap::new();
        for rule in rules.iter() {
            let spy = Spy::new(&machine);
            let before = judge(&rule.id, &spy);
            if before != State::Pass {
                let paths = spy.paths.take().into_iter();
                paths.for_each(|path| readers.entry(path).or_default().push((&rule.id, before)));
            }
        }
        for (n, (path, rules)) in readers.iter().enumerate() {
            let mut changed = machine.clone();
            // Two kinds of loss per path suffice, because most paths exist on several machines.
            for loss in losses.iter().skip(n % 2).step_by(2) {
                changed.set(path, loss.clone());
                for (rule, before) in rules.iter().filter(|(rule, _)| !may_pass_without(rule, path, loss)) {
                    if judge(rule, &changed) == State::Pass {
                        wrong.push(format!("{name} {profile}: {rule} {before:?} → PASS, {path} {loss:?}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

struct Uniform {
    read: Read,
    list: Listing,
}

impl Machine for Uniform {
    fn read(&self, _: &str) -> Read {
        self.read.clone()
    }

    fn list(&self, _: &str) -> Listing {
        self.list.clone()
    }

    fn read_part(&self, _: &str, _: u64, _: usize) -> Read {
        self.read.clone()
    }
}

#[test]
fn nothing_readable_is_no_pass() {
    let names = ["1", "2", "cpu0", "policy0", "state0", "features", "cpu.shares"].map(str::to_owned).to_vec();
    let blind = [
        (Read::Denied, Listing::Denied),
        (Read::Absent, Listing::Absent),
        (Read::Failed(5), Listing::Failed(5)),
        (Read::Denied, Listing::Known(names.clone())),
        (Read::Absent, Listing::Known(vec![])),
        (Read::Known(vec![]), Listing::Known(names.clone())),
        (Read::Known(vec![0xff; 64]), Listing::Known(names)),
    ];
    let rules = Rules::embedded();
    let mut wrong = Vec::new();
    for (read, list) in blind {
        for (profile, _) in Profile::ALL {
            let machine = Uniform { read: read.clone(), list: list.clone() };
            for finding in rules.audit(&machine, &context(profile)) {
                if finding.state == State::Pass {
                    wrong.push(format!("{} {read:?} {list:?}: {}", finding.id, finding.summary));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn refused_is_blocked() {
    let machine = Uniform { read: Read::Denied, list: Listing::Denied };
    for finding in Rules::embedded().audit(&machine, &context(Profile::ControlLoop)) {
        // SKIP, because the caller did not offer it or the profile disables the rule.
        if finding.summary.contains(": needs ") || finding.summary.contains(": disabled for ") {
            assert_eq!(finding.state, State::Skip);
            continue;
        }
        assert_eq!(finding.state, State::Blocked, "{}: {}", finding.id, finding.summary);
        assert!(!finding.evidence.is_empty(), "{}", finding.id);
    }
}

fn covers(pattern: &str, path: &str) -> bool {
    if let Some(folder) = pattern.strip_suffix("/**") {
        return path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    }
    let (pattern, path): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len()
        && pattern.iter().zip(path).all(|(pattern, part)| match pattern.split_once('*') {
            Some((before, after)) => part.len() >= before.len() && part.starts_with(before) && part.ends_with(after),
            None => *pattern == part,
        })
}

#[test]
fn rules_read_only_what_they_say() {
    let read = |file: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let (sources, gates) = (read("sources.toml"), read("gates.toml"));
    let machines = MACHINES.map(|name| (name, recorded(name)));
    for rule in Rules::embedded().iter() {
        let file = format!("rules/{}.toml", rule.id);
        let text = read(&file);
        let alone = Rules::parse(&[(&file, &text)], ("sources.toml", &sources), ("gates.toml", &gates)).unwrap();
        for (name, machine) in &machines {
            let spy = Spy::new(machine);
            alone.audit(&spy, &context(Profile::ControlLoop));
            let paths = alone.paths(rule);
            let outside: Vec<String> = spy
                .paths
                .take()
                .into_iter()
                .filter(|path| !paths.iter().any(|pattern| covers(pattern, path)))
                .collect();
            assert!(outside.is_empty(), "{name} {}: {outside:?}", rule.id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(
        bytes in proptest::collection::vec(any::<u8>(), 0..300),
        names in proptest::collection::vec("[a-z]{0,6}[0-9]{0,3}", 0..6),
    ) {
        let machine = Uniform { read: Read::Known(bytes), list: Listing::Known(names) };
        let rules = Rules::embedded();
        for (profile, _) in Profile::ALL {
            prop_assert_eq!(rules.audit(&machine, &context(profile)).len(), rules.iter().count());
        }
    }

    #[test]
    fn any_content_of_any_file_is_answered(
        at in any::<prop::sample::Index>(),
        name in prop::sample::select(MACHINES.to_vec()),
        content in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "[ -~\n]{0,80}".prop_map(String::into_bytes),
            "-?[0-9]{1,25}".prop_map(String::into_bytes),
        ],
    ) {
        let mut machine = recorded(name);
        let paths: Vec<String> = machine.entries().map(|(path, _)| path.to_owned()).collect();
        let path: &String = at.get(&paths);
        machine.set(path, Read::Known(content));
        let findings = Rules::embedded().audit(&machine, &context(Profile::ControlLoop));
        let is_said = findings.iter().all(|f| !f.summary.is_empty());
        prop_assert!(is_said);
    }
}
