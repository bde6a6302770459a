//! Kernel parameters of every boot chain are set, tried, kept and undone. Afterwards every byte must be as before,
//! whatever fails in between.

use proptest::prelude::*;
use punctual_audit::{Profile, Rules};
use punctual_fix::{
    BOOT_RULE, BootWish, Fault, Faulty, FixOptions, How, Outcome, Parameters, Plan, Request, TRIAL_RULE, Undone, tried,
    undo,
};
use punctual_machine::Live;
use punctual_testing::fix::loaders::{bare, booted_by, roots, set};
use punctual_testing::fix::{JOURNAL, Kernel, context, difference, fix, rules, tree};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

fn i_know() -> FixOptions {
    FixOptions { i_know: true, ..FixOptions::default() }
}

fn words(add: &[&str], remove: &[&str]) -> BootWish {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    BootWish { add: owned(add), remove: owned(remove) }
}

/// Plans rules permanently, including kernel parameters, as the program does.
fn of_rules(rules: &Rules, root: &Path, kernel: &Kernel, ids: &[String], how: How) -> Plan {
    let (machine, context) = (Live::under(root), context(root, Profile::ControlLoop));
    let findings = rules.audit(&machine, &context);
    let parameters = Parameters::new(&machine, how);
    let boot = |request: &BootWish| parameters.steps(request);
    let request = Request {
        rules,
        machine: &machine,
        sys: kernel,
        context: &context,
        pid: None,
        ids,
        persist: true,
        i_know: &[],
        boot: Some(&boot),
    };
    let mut plan = request.plan(&findings).unwrap();
    parameters.name(&mut plan);
    plan
}

fn of_words(root: &Path, kernel: &Kernel, request: &BootWish, how: How) -> Plan {
    let machine = Live::under(root);
    let parameters = Parameters::new(&machine, how);
    let mut plan = Plan::default();
    parameters.keep(kernel, &mut plan, request);
    parameters.name(&mut plan);
    plan
}

fn undone(kernel: &Kernel) -> Undone {
    undo(kernel, Path::new(JOURNAL), &[]).unwrap()
}

/// Returns rules that request a kernel parameter, including some that also change files and values.
fn boot_rules() -> Vec<String> {
    let ids = [
        "cmdline-skew-tick",
        "mem-thp",
        "cmdline-audit",
        "wq-power-efficient",
        "pm-usb-autosuspend",
        "cpu-governor",
        "mem-zswap",
        "mem-dirty-limits",
        "watchdog-nmi",
        "cmdline-rcu-lazy",
        "kconfig-kfence",
        "pm-pcie-aspm",
        "cpu-smt",
    ];
    ids.map(str::to_owned).to_vec()
}

#[test]
fn every_root_is_as_before() {
    let rules = rules();
    let (mut set, mut tries, mut kinds) = (0, 0, BTreeSet::new());
    for name in roots() {
        for how in [How::ForGood, How::Trial] {
            let root = booted_by(&name);
            let kernel = Kernel::under(root.path());
            kinds.insert(punctual_boot::detect(&Live::under(root.path())).unwrap().kind);
            let before = tree(root.path());
            let plan = of_rules(rules, root.path(), &kernel, &boot_rules(), how);
            let fixed = fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
            assert_eq!(fixed.failed, None, "{name}");
            let done = |rule: &str| fixed.rules.iter().any(|done| done.rule == rule && !done.changes.is_empty());
            assert!(done(BOOT_RULE) || how == How::Trial, "{name}: {:#?}", plan.rules.last());
            (set, tries) = (set + u32::from(done(BOOT_RULE)), tries + u32::from(done(TRIAL_RULE)));
            let undone = undone(&kernel);
            assert!(undone.is_complete(), "{name}: {undone:#?}");
            assert_eq!(difference(&before, root.path()), Vec::<String>::new(), "{name} {how:?}");
        }
    }
    eprintln!("{set} roots set and undone, {tries} tried and undone");
    assert_eq!(kinds.len(), 8);
    assert!(set == roots().len() as u32 && tries >= 10, "{set} {tries}");
}

/// Runs a fix of parameters with one fault, then an undo in an intact process. Returns the number of operations.
fn survives(
    root: tempfile::TempDir,
    make: &dyn Fn(&Path, &Kernel) -> Plan,
    at: u64,
    fault: Fault,
) -> Result<u64, String> {
    let rules = rules();
    let kernel = Kernel::under(root.path());
    let before = tree(root.path());
    let plan = make(root.path(), &kernel);
    let faulty = Faulty::new(&kernel, at, fault);
    let _ = fix(rules, root.path(), &faulty, &plan, &i_know());
    let undone = undo(&kernel, Path::new(JOURNAL), &[]).map_err(|e| e.to_string())?;
    let differs = difference(&before, root.path());
    match undone.is_complete() && differs.is_empty() {
        true => Ok(faulty.count()),
        false => Err(format!("operation {at}, {fault:?}: {undone:#?} {differs:#?}")),
    }
}

const FAULTS: [Fault; 3] = [Fault::Killed, Fault::Error(28), Fault::Error(5)];

#[test]
fn a_kill_or_an_error_at_every_operation_on_every_root() {
    let request = words(&["isolcpus=2-3", "threadirqs"], &["quiet"]);
    let mut runs = 0;
    for (n, name) in roots().into_iter().enumerate() {
        // Each root directory is tested with permanent and trial changes, and with every second fault.
        for (m, how) in [How::ForGood, How::Trial].into_iter().enumerate() {
            let make = |root: &Path, kernel: &Kernel| of_words(root, kernel, &request, how);
            for fault in FAULTS.into_iter().skip((n + m) % 2).step_by(2) {
                let all = survives(bare(&name), &make, u64::MAX, fault).unwrap();
                assert!(all > 3 || how == How::Trial, "{name}: {all} operations");
                for at in 0..all {
                    let done = survives(bare(&name), &make, at, fault);
                    assert!(done.is_ok(), "{name}: {}", done.unwrap_err());
                    runs += 1;
                }
            }
        }
    }
    eprintln!("{runs} runs with a fault");
}

#[test]
fn a_kill_or_an_error_at_every_operation_of_an_undo() {
    let (rules, request) = (rules(), words(&["isolcpus=2-3"], &[]));
    for (name, how) in [
        ("debian-12-grub", How::ForGood),
        ("debian-12-grub", How::Trial),
        ("rhel-9-kernelopts", How::ForGood),
        ("fedora-41-bls", How::Trial),
        ("pi-os-bookworm", How::Trial),
        ("ubuntu-core-24", How::ForGood),
        ("fedora-coreos-ostree", How::ForGood),
    ] {
        for fault in FAULTS {
            for at in 0.. {
                let root = bare(name);
                let kernel = Kernel::under(root.path());
                let before = tree(root.path());
                let plan = of_words(root.path(), &kernel, &request, how);
                fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
                let faulty = Faulty::new(&kernel, at, fault);
                let _ = undo(&faulty, Path::new(JOURNAL), &[]);
                let undone = undone(&kernel);
                assert!(undone.is_complete(), "{name}, operation {at}, {fault:?}: {undone:#?}");
                assert_eq!(difference(&before, root.path()), Vec::<String>::new(), "{name}, operation {at}, {fault:?}");
                if at >= faulty.count() {
                    break;
                }
            }
        }
    }
}

/// An incomplete menu, written by fix or undo, must never boot, and must be removed.
#[test]
fn half_a_menu_is_never_booted() {
    let (rules, request) = (Rules::embedded(), words(&["isolcpus=2-3"], &[]));
    for name in ["debian-12-grub", "ubuntu-24.04-grub"] {
        for at in 0..40 {
            let root = bare(name);
            let kernel = Kernel::under(root.path());
            let menu = root.path().join("boot/grub/grub.cfg");
            let (before, old) = (tree(root.path()), fs::read_to_string(&menu).unwrap());
            let plan = of_words(root.path(), &kernel, &request, How::ForGood);
            kernel.cuts.set(true);
            let faulty = Faulty::new(&kernel, at, Fault::Killed);
            let _ = fix(rules, root.path(), &faulty, &plan, &i_know());
            assert_eq!(fs::read_to_string(&menu).unwrap(), old, "{name}, operation {at}");
            kernel.cuts.set(false);
            assert!(undone(&kernel).is_complete());
            assert_eq!(difference(&before, root.path()), Vec::<String>::new(), "{name}, operation {at}");
        }
    }
}

/// grub-mkconfig exits with 0 even if it finds no kernel, and a menu may have errors. Neither may replace the menu that
/// boots.
#[test]
fn a_menu_that_boots_nothing_is_not_used() {
    let (rules, request) = (Rules::embedded(), words(&["isolcpus=2-3"], &[]));
    for is_wrong in [false, true] {
        let root = bare("debian-12-grub");
        let kernel = Kernel::under(root.path());
        let before = tree(root.path());
        kernel.is_wrong.set(is_wrong);
        kernel.finds_none.set(!is_wrong);
        let plan = of_words(root.path(), &kernel, &request, How::ForGood);
        let fixed = fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
        let refused = fixed.rules.iter().flat_map(|rule| &rule.refused).cloned().collect::<Vec<_>>().join("\n");
        let why = if is_wrong { "rejects the new file, so that file is not used" } else { "lacks `linux`" };
        assert!(refused.contains(why), "{refused}");
        assert_eq!(difference(&before, root.path()), Vec::<String>::new());
    }
}

/// If another program has run grub-mkconfig since the fix, grub-mkconfig runs again after the undo. An interruption of
/// this run must also leave a complete menu.
#[test]
fn a_menu_made_anew_since_is_made_once_more() {
    let (rules, request) = (Rules::embedded(), words(&["isolcpus=2-3"], &[]));
    let root = bare("debian-12-grub");
    let kernel = Kernel::under(root.path());
    let menu = root.path().join("boot/grub/grub.cfg");
    let plan = of_words(root.path(), &kernel, &request, How::ForGood);
    fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
    let ours = fs::read_to_string(&menu).unwrap();
    assert!(ours.contains("isolcpus=2-3"));
    fs::write(&menu, format!("# theirs\n{ours}")).unwrap();
    kernel.cuts.set(true);
    assert!(!undone(&kernel).is_complete());
    assert!(fs::read_to_string(&menu).unwrap().starts_with("# theirs\n"), "it is cut");
    kernel.cuts.set(false);
    assert!(undone(&kernel).is_complete());
    let now = fs::read_to_string(&menu).unwrap();
    assert!(now.starts_with("# theirs\n") && !now.contains("isolcpus"), "{now}");
    let names: Vec<String> =
        fs::read_dir(menu.parent().unwrap()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!names.iter().any(|name| name.contains("punctual")), "{names:?}");
}

/// Boots the prepared entry, after emptying next_entry as GRUB does.
fn reboot(root: &Path, kernel: &Kernel, cmdline: &str) {
    *kernel.boot.borrow_mut() += "+";
    fs::write(root.join("proc/cmdline"), cmdline).unwrap();
    for env in ["boot/grub/grubenv", "boot/grub2/grubenv"] {
        if fs::read_to_string(root.join(env)).is_ok_and(|text| text.contains("next_entry=")) {
            set(&root.join(env), "next_entry", Some(""));
        }
    }
}

#[test]
fn a_trial_is_told_kept_and_undone_on_every_root() {
    let (rules, request) = (rules(), words(&["isolcpus=2-3"], &["quiet"]));
    let mut kept = 0;
    for name in roots() {
        let root = booted_by(&name);
        let kernel = Kernel::under(root.path());
        let before = tree(root.path());
        let old = fs::read_to_string(root.path().join("proc/cmdline")).unwrap_or_default();
        let machine = Live::under(root.path());
        let parameters = Parameters::new(&machine, How::Trial);
        let mut plan = Plan::default();
        parameters.keep(&kernel, &mut plan, &request);
        parameters.name(&mut plan);
        let Some(trial) = parameters.boot_notes().trial else { continue };
        fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
        let prepared = tried(&kernel).unwrap().unwrap();
        assert_eq!((&prepared.request, prepared.is_running), (&request, false), "{name}");
        // Words that the boot loader adds still come first.
        reboot(root.path(), &kernel, &format!("{} {}", old.trim(), trial.words.join(" ")));
        assert!(tried(&kernel).unwrap().unwrap().is_running, "{name}: {:?}", trial.words);
        let taken = undo(&kernel, Path::new(JOURNAL), &[TRIAL_RULE.to_owned()]).unwrap();
        assert!(taken.is_complete(), "{name}: {taken:#?}");
        assert_eq!(tried(&kernel).unwrap(), None);
        let fixed =
            fix(rules, root.path(), &kernel, &of_words(root.path(), &kernel, &request, How::ForGood), &i_know());
        let fixed = fixed.unwrap();
        assert!(fixed.rules.iter().any(|rule| !rule.changes.is_empty()), "{name}: {fixed:#?}");
        let now = punctual_boot::current(&machine, &punctual_boot::detect(&machine).unwrap()).unwrap();
        assert!(now.configured.iter().any(|word| word == "isolcpus=2-3"), "{name}: {:?}", now.configured);
        assert!(!now.configured.iter().any(|word| word.starts_with("punctual.trial")), "{name}");
        reboot(root.path(), &kernel, &old);
        assert!(undone(&kernel).is_complete(), "{name}");
        let old_is_there = before.contains_key(&root.path().join("proc/cmdline"));
        if !old_is_there {
            fs::remove_file(root.path().join("proc/cmdline")).unwrap();
        }
        assert_eq!(difference(&before, root.path()), Vec::<String>::new(), "{name}");
        kept += 1;
    }
    eprintln!("{kept} roots tried, kept, undone");
    assert!(kept >= 10);
}

#[test]
fn what_others_write_to_the_environment_block_stays() {
    let rules = rules();
    let root = booted_by("rhel-9-kernelopts");
    let kernel = Kernel::under(root.path());
    let env = root.path().join("boot/grub2/grubenv");
    let before = fs::read_to_string(&env).unwrap();
    let plan = of_words(root.path(), &kernel, &words(&["isolcpus=2-3"], &[]), How::ForGood);
    fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
    // grub-boot-success.service does this at every boot.
    set(&env, "boot_success", Some("1"));
    let undone = undone(&kernel);
    assert!(undone.is_complete(), "{undone:#?}");
    let after = fs::read_to_string(&env).unwrap();
    let line = |text: &str| text.lines().find(|line| line.starts_with("kernelopts=")).map(str::to_owned);
    assert_eq!(line(&after), line(&before));
    assert!(after.contains("boot_success=1"), "{after}");
}

#[test]
fn parameters_that_somebody_else_set_since_are_left() {
    let rules = rules();
    let root = booted_by("rhel-9-kernelopts");
    let kernel = Kernel::under(root.path());
    let env = root.path().join("boot/grub2/grubenv");
    let plan = of_words(root.path(), &kernel, &words(&["isolcpus=2-3"], &[]), How::ForGood);
    fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
    set(&env, "kernelopts", Some("root=/dev/vda1 ro theirs"));
    let undone = undone(&kernel);
    let is_left =
        |taken: &punctual_fix::Taken| matches!(&taken.outcome, Outcome::Refused { why, .. } if why.contains("theirs"));
    assert!(undone.changes.iter().any(is_left), "{undone:#?}");
    assert!(fs::read_to_string(&env).unwrap().contains("ro theirs"));
}

#[test]
fn unknown_and_ambiguous_chains_are_advice() {
    for name in ["grub-and-systemd-boot", "bootc-no-rpm-ostree", "ubuntu-core-22-signed"] {
        let root = booted_by(name);
        let kernel = Kernel::under(root.path());
        let plan = of_words(root.path(), &kernel, &words(&["isolcpus=2-3"], &[]), How::ForGood);
        assert!(plan.rules[0].steps.is_empty(), "{name}");
        let advice = &plan.rules[0].manual[0];
        assert!(advice.contains("isolcpus=2-3"), "{name}: {advice}");
        eprintln!("{name}: {advice}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_rules_on_random_roots(
        root in any::<proptest::sample::Index>(),
        chosen in proptest::collection::vec(any::<proptest::sample::Index>(), 1..20),
        boot in proptest::sample::subsequence(boot_rules(), 1..8),
        how in prop_oneof![Just(How::ForGood), Just(How::Trial)],
        at in 0_u64..300,
        fault in prop_oneof![Just(Fault::Killed), Just(Fault::Error(5)), Just(Fault::Error(28))],
    ) {
        let rules = rules();
        let names: Vec<String> = rules.iter().map(|rule| rule.id.clone()).collect();
        let mut ids: Vec<String> = chosen.iter().map(|index| index.get(&names).clone()).collect();
        ids.extend(boot);
        let make = |root: &Path, kernel: &Kernel| of_rules(rules, root, kernel, &ids, how);
        let all = roots();
        let done = survives(booted_by(root.get(&all).as_str()), &make, at, fault);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
