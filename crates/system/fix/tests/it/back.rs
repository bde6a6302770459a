//! After fix and undo, every byte, mode and owner must be as before, whatever fails or ends the process in between.

use proptest::prelude::*;
use punctual_audit::{Profile, Rules};
use punctual_fix::{Fault, Faulty, FixOptions, Plan, undo};
use punctual_testing::fix::{JOURNAL, Kernel, difference, fix, materialise, plan, rules, tree};
use punctual_testing::machines;
use std::path::Path;

fn i_know() -> FixOptions {
    FixOptions { i_know: true, ..FixOptions::default() }
}

/// Plans all rules that have steps on a machine, as if the user had named them.
fn everything(rules: &Rules, root: &Path, kernel: &Kernel, profile: Profile) -> Plan {
    let ids: Vec<String> = rules.iter().map(|rule| rule.id.clone()).collect();
    plan(rules, root, kernel, &ids, true, profile)
}

#[test]
fn every_machine_is_as_before() {
    let rules = rules();
    let (mut changed, mut total) = (0, 0);
    for machine in machines() {
        for (profile, name) in Profile::ALL {
            let root = materialise(&machine);
            let kernel = Kernel::under(root.path());
            let before = tree(root.path());
            let plan = everything(rules, root.path(), &kernel, profile);
            let units = kernel.units.borrow().clone();
            let fixed = fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
            assert_eq!(fixed.failed, None, "{} {name}", machine.display());
            changed += fixed.rules.iter().map(|rule| rule.changes.len()).sum::<usize>();
            total += plan.rules.iter().map(|rule| rule.steps.len()).sum::<usize>();
            let undone = undo(&kernel, Path::new(JOURNAL), &[]).unwrap();
            assert!(undone.is_complete(), "{} {name}: {undone:#?}", machine.display());
            assert_eq!(difference(&before, root.path()), Vec::<String>::new(), "{} {name}", machine.display());
            assert_eq!(*kernel.units.borrow(), units, "{} {name}", machine.display());
        }
    }
    eprintln!("{total} steps planned, {changed} changes kept and undone");
    assert!(changed > 1000, "{changed} changes of {total} steps");
}

/// Runs a fix with one fault, then an undo in an intact process. Returns the number of operations.
fn survives(rules: &Rules, machine: &Path, ids: Option<&[String]>, at: u64, fault: Fault) -> Result<u64, String> {
    let root = materialise(machine);
    let kernel = Kernel::under(root.path());
    let before = tree(root.path());
    let plan = match ids {
        Some(ids) => plan(rules, root.path(), &kernel, ids, true, Profile::ControlLoop),
        None => everything(rules, root.path(), &kernel, Profile::ControlLoop),
    };
    let units = kernel.units.borrow().clone();
    let faulty = Faulty::new(&kernel, at, fault);
    let fixed = fix(rules, root.path(), &faulty, &plan, &i_know());
    if fault != Fault::Killed
        && at < faulty.count()
        && fixed.as_ref().is_ok_and(|f| f.failed.is_none() && f.rules.is_empty())
    {
        return Err("nothing was reported".to_owned());
    }
    let undone = undo(&kernel, Path::new(JOURNAL), &[]).map_err(|e| e.to_string())?;
    if !undone.is_complete() {
        return Err(format!("operation {at}: {undone:#?}"));
    }
    let differs = difference(&before, root.path());
    if !differs.is_empty() || *kernel.units.borrow() != units {
        return Err(format!("operation {at}, {fault:?}: {differs:#?}"));
    }
    Ok(faulty.count())
}

fn few() -> Vec<String> {
    [
        "mem-thp",
        "cpu-governor",
        "mem-swap",
        "vm-stat-interval",
        "mem-dirty-limits",
        "log-console-level",
        "rogue-rt-task",
        "pm-audio",
        "daemon-logging",
        "sched-rt-throttle",
        "irq-balance-daemon",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[test]
fn a_kill_or_an_error_at_every_operation_of_a_fix() {
    let rules = rules();
    let machine = machines().into_iter().find(|m| m.ends_with("laptop-smt-6.8")).unwrap();
    let ids = few();
    for fault in [Fault::Killed, Fault::Error(28), Fault::Error(5)] {
        let all = survives(rules, &machine, Some(&ids), u64::MAX, fault).unwrap();
        assert!(all > 30, "{all}");
        for at in 0..all {
            survives(rules, &machine, Some(&ids), at, fault).unwrap();
        }
    }
}

#[test]
fn a_kill_or_an_error_at_every_operation_of_an_undo() {
    let rules = rules();
    let machine = machines().into_iter().find(|m| m.ends_with("laptop-smt-6.8")).unwrap();
    for fault in [Fault::Killed, Fault::Error(28), Fault::Error(5)] {
        let mut at = 0;
        loop {
            let root = materialise(&machine);
            let kernel = Kernel::under(root.path());
            let before = tree(root.path());
            let plan = plan(rules, root.path(), &kernel, &few(), true, Profile::ControlLoop);
            fix(rules, root.path(), &kernel, &plan, &i_know()).unwrap();
            let faulty = Faulty::new(&kernel, at, fault);
            let _ = undo(&faulty, Path::new(JOURNAL), &[]);
            let undone = undo(&kernel, Path::new(JOURNAL), &[]).unwrap();
            assert!(undone.is_complete(), "operation {at}: {undone:#?}");
            assert_eq!(difference(&before, root.path()), Vec::<String>::new(), "operation {at}, {fault:?}");
            if at >= faulty.count() {
                break;
            }
            at += 1;
        }
        assert!(at > 15, "{at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn random_rules_on_random_machines(
        machine in 0_usize..64,
        chosen in proptest::collection::vec(any::<proptest::sample::Index>(), 1..40),
        at in 0_u64..400,
        fault in prop_oneof![Just(Fault::Killed), Just(Fault::Error(5)), Just(Fault::Error(28))],
    ) {
        let rules = rules();
        let all = machines();
        let names: Vec<String> = rules.iter().map(|rule| rule.id.clone()).collect();
        let ids: Vec<String> = chosen.iter().map(|index| index.get(&names).clone()).collect();
        let done = survives(rules, &all[machine % all.len()], Some(&ids), at, fault);
        prop_assert!(done.is_ok(), "{}", done.unwrap_err());
    }
}
