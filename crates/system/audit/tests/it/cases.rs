//! Runs the tests in rule files: `[[test]]` tables of `rules/<id>.toml`.
//!
//! ```toml
//! [[test]]
//! state = "FAIL"              # the expected state
//! says = "text"               # optional: a part of the expected sentence
//! profile = "dedicated-core"  # optional: control-loop is the default
//! cpus = "0-1"                # optional: the measured CPUs
//! cmdline = "nohz_full=2-3"   # optional: the kernel command line
//! config = ["NO_HZ_FULL=y"]   # optional: options of the kernel's (complete) configuration
//! cut = true                  # optional: the configuration is truncated
//! rt = true                   # optional: on a PREEMPT_RT kernel
//! arch = "aarch64"            # optional
//! log = ["text"]              # optional: lines of the kernel's log
//! pid = 700                   # optional: the application
//! trial = [0, 1, 13]          # optional: errno of setting the policy, locking memory, and opening
//! /dev/cpu_dma_latency
//! calls = [[700, 230, [1, 1]]] # optional: system calls in 10 s: thread, number, arguments
//! tried = [12000, 40]         # optional, with trial: ns to leave idle, and to read a clock
//! untried = "why"            # optional, with trial: leaving idle was not tested
//! denied = ["/x"]             # optional: unreadable paths
//! absent = ["/x"]             # optional: paths removed from `tests/base.toml`, the machine that is changed
//! folders = ["/x"]            # optional: empty folders
//! files = { "/x" = "1" }      # optional: additional files
//! before = { "/x" = "0" }     # optional: files at the beginning of the window
//! failed = { "/x" = 5 }       # optional: paths that fail with this errno
//! tasks = ["700 name 90 fifo user 0-3"] # optional: id, name, priority, policy, kernel or user, allowed CPUs
//! ```

use punctual_audit::{Calls, Context, Offers, Profile, Rules, Trial};
use punctual_machine::{Read, Recorded};
use punctual_model::{Finding, State};
use punctual_units::{CpuList, Priority, Scheduling};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct File {
    id: String,
    #[serde(default)]
    test: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    state: State,
    says: Option<String>,
    #[serde(default)]
    profile: Profile,
    cpus: Option<CpuList>,
    cmdline: Option<String>,
    config: Option<Vec<String>>,
    #[serde(default)]
    cut: bool,
    #[serde(default)]
    rt: bool,
    arch: Option<String>,
    log: Option<Vec<String>>,
    pid: Option<u32>,
    trial: Option<[i32; 3]>,
    tried: Option<[i64; 2]>,
    untried: Option<String>,
    calls: Option<Vec<(u32, i64, Vec<u64>)>>,
    #[serde(default)]
    denied: Vec<String>,
    #[serde(default)]
    absent: Vec<String>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    before: Option<BTreeMap<String, String>>,
    #[serde(default)]
    failed: BTreeMap<String, i32>,
    #[serde(default)]
    tasks: Vec<String>,
}

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn known(text: &str) -> Read {
    Read::Known(text.as_bytes().to_vec())
}

fn files() -> Vec<File> {
    let list = std::fs::read_to_string(here("rules.txt")).unwrap();
    let read = |id: &str| {
        let path = here(&format!("rules/{id}.toml"));
        let text = std::fs::read_to_string(&path).unwrap();
        toml::from_str::<File>(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    list.lines().map(read).collect()
}

fn config(case: &Case) -> Option<String> {
    let options = case.config.as_ref()?;
    let lines: String = options.iter().map(|option| format!("CONFIG_{option}\n")).collect();
    let head = "#\n# Automatically generated file; DO NOT EDIT.\n#\n# Power management\nCONFIG_MMU=y\n# end of Power management\n";
    Some(format!("{head}{lines}{}", if case.cut { "" } else { "# Kernel hacking\n# end of Kernel hacking\n" }))
}

/// Adds a task, given as `700 name 90 fifo user 0-3`.
fn add_task(machine: &mut Recorded, task: &str) {
    let words: Vec<&str> = task.split(' ').collect();
    let [id, name, priority, policy, owner, cpus] = words[..] else { panic!("{task}") };
    let policy = ["other", "fifo", "rr", "batch", "iso", "idle", "deadline"].iter().position(|p| *p == policy).unwrap();
    let flags = if owner == "kernel" { 0x20_8040 } else { 0x40_0040 };
    let flags = if owner == "bound" { 0x420_8040 } else { flags };
    let stat = format!("{id} ({name}) S 1 0 0 0 -1 {flags} {}{priority} {policy} 0 0 0\n", "0 ".repeat(30));
    machine.set(&format!("/proc/{id}/stat"), known(&stat));
    machine.set(&format!("/proc/{id}/task/{id}/stat"), known(&stat));
    let status = format!("Name:\t{name}\nCpus_allowed_list:\t{cpus}\n");
    machine.set(&format!("/proc/{id}/task/{id}/status"), known(&status));
    machine.set(&format!("/proc/{id}/status"), known(&status));
}

fn machine(case: &Case) -> Recorded {
    let mut machine = Recorded::open(&here("tests/base")).unwrap();
    let mut set = |path: &str, text: Option<String>| {
        if let Some(text) = text {
            machine.set(path, known(&text));
        }
    };
    set("/proc/cmdline", case.cmdline.clone());
    set("/boot/config-6.12.0", config(case));
    set("/proc/sys/kernel/arch", case.arch.clone());
    set("/proc/sys/kernel/version", case.rt.then(|| "#1 SMP PREEMPT_RT Debian 6.12".to_owned()));
    let lines = case.log.as_ref().map(|log| ["Linux version 6.12.0"].into_iter().chain(log.iter().map(String::as_str)));
    set("/dev/kmsg", lines.map(|lines| lines.enumerate().map(|(n, line)| format!("6,{n},{n},-;{line}\n")).collect()));
    case.absent.iter().for_each(|path| machine.set(path, Read::Absent));
    case.files.iter().for_each(|(path, text)| machine.set(path, known(text)));
    case.tasks.iter().for_each(|task| add_task(&mut machine, task));
    case.folders.iter().for_each(|path| machine.add_folder(path));
    case.denied.iter().for_each(|path| machine.set(path, Read::Denied));
    case.failed.iter().for_each(|(path, errno)| machine.set(path, Read::Failed(*errno)));
    machine
}

fn judge(rules: &Rules, id: &str, case: &Case, machine: &Recorded) -> Finding {
    let before = case.before.as_ref().map(|files| {
        let mut before = machine.clone();
        files.iter().for_each(|(path, text)| before.set(path, known(text)));
        before
    });
    let trial = case.trial.map(|errno| errno.map(|errno| if errno == 0 { Ok(()) } else { Err(errno) }));
    let untried = case.untried.clone().unwrap_or_else(|| "not in this test".into());
    let (idle_exit_ns, clock_read_ns) = (case.tried.map(|of| of[0]).ok_or(untried), case.tried.map(|of| of[1]));
    let trial = trial.map(|[scheduling, locking, dma_latency]| Trial {
        scheduling,
        locking,
        dma_latency,
        idle_exit_ns,
        clock_read_ns,
    });
    let calls = case.calls.as_ref().map(|list| {
        let mut calls = Calls::new("x86_64");
        list.iter().for_each(|(tid, number, arguments)| calls.add(*tid, *number, arguments));
        calls.end(10.0, 0);
        calls
    });
    let offers = Offers {
        before: before.as_ref().map(|m| m as &dyn punctual_machine::Machine),
        pid: case.pid,
        calls: calls.as_ref(),
        trial: trial.as_ref(),
    };
    let cpus = case.cpus.clone().unwrap_or_else(|| "2-3".parse().unwrap());
    let scheduling = Scheduling::Fifo { priority: Priority::try_from(80).unwrap() };
    let context = Context { scheduling, cpus, profile: case.profile };
    rules.audit_one(id, machine, &context, offers).unwrap()
}

#[test]
fn rules_come_out_as_their_tests_say() {
    let rules = Rules::embedded();
    let mut wrong = Vec::new();
    for file in files() {
        for (at, case) in file.test.iter().enumerate() {
            let finding = judge(rules, &file.id, case, &machine(case));
            let is_said = case.says.as_ref().is_none_or(|part| finding.summary.contains(part.as_str()));
            if finding.state != case.state || !is_said {
                let Finding { state, summary, evidence, .. } = finding;
                let evidence: Vec<String> =
                    evidence.iter().map(|e| format!("\n    {}: {}", e.source, e.value)).collect();
                let wanted = (case.state, &case.says);
                wrong.push(format!("{} test {at} {wanted:?}: {state:?} {summary}{}", file.id, evidence.concat()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn why_idle_could_not_be_tried_is_reported() {
    let rules = Rules::embedded();
    let file = files().into_iter().find(|file| file.id == "cpu-idle-latency").unwrap();
    let case = file.test.iter().find(|case| case.untried.is_some()).unwrap();
    let finding = judge(rules, &file.id, case, &machine(case));
    let reported = finding.evidence.iter().find(|e| e.source == "wakeup from idle, tested").map(|e| e.value.as_str());
    assert_eq!(reported, Some(format!("could not be tested: {}", case.untried.as_deref().unwrap()).as_str()));
}

/// Checks that every rule has a test with PASS, one with another verdict, and one without an answer; the last two may
/// coincide for rules that only inform.
#[test]
fn every_rule_is_tested_both_ways_and_unread() {
    let elsewhere = include_str!("rules.rs");
    let mut missing = Vec::new();
    for file in files().iter().filter(|file| !elsewhere.contains(&format!("let id = \"{}\";", file.id))) {
        let has = |states: &[State]| file.test.iter().any(|case| states.contains(&case.state));
        // A trial is not a file: without permission for it, the state is SKIP.
        let is_trial = file.test.iter().any(|case| case.trial.is_some() && case.tried.is_none());
        let unread: &[State] = if is_trial { &[State::Skip] } else { &[State::Blocked, State::Unknown] };
        let kinds: [(&str, &[State]); 3] = [
            ("passing", &[State::Pass, State::Info, State::Skip]),
            ("failing", &[State::Fail, State::Warn, State::Info]),
            ("unread", unread),
        ];
        let lacks: Vec<&str> = kinds.iter().filter(|(_, states)| !has(states)).map(|(name, _)| *name).collect();
        if !lacks.is_empty() || file.test.len() < 3 {
            missing.push(format!("{}: {}", file.id, lacks.join(", ")));
        }
    }
    assert!(missing.is_empty(), "{} rules lack tests\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn a_passing_machine_refused_does_not_pass() {
    let rules = Rules::embedded();
    for file in files() {
        for case in file.test.iter().filter(|case| case.state == State::Pass && case.trial.is_none()) {
            let mut blind = machine(case);
            ["/proc", "/sys", "/boot", "/etc", "/dev", "/usr", "/lib", "/run", "/var"]
                .iter()
                .for_each(|folder| blind.set(folder, Read::Denied));
            let finding = judge(rules, &file.id, case, &blind);
            assert_ne!(finding.state, State::Pass, "{}: {}", file.id, finding.summary);
        }
    }
}

#[test]
fn the_rules_are_those_of_the_catalogue() {
    let rules = Rules::embedded();
    let there: Vec<&str> = rules.iter().map(|rule| rule.id.as_str()).collect();
    let wanted: Vec<&str> = include_str!("../catalogue.txt").lines().collect();
    let missing: Vec<&&str> = wanted.iter().filter(|id| !there.contains(id)).collect();
    assert!(missing.is_empty(), "{} missing: {missing:?}", missing.len());
    assert_eq!(there, wanted, "findings come in the catalogue's order");
}
