//! For every rule, profile and recorded machine, a plan must contradict neither itself nor the CPU plan, must be
//! possible on that kernel, and must remove nothing that a user may need unless the user asks for it.

use punctual_audit::{Context, PlanWish, Profile, proposes};
use punctual_fix::{BootWish, Doing, Plan, Request};
use punctual_machine::{Live, parameters};
use punctual_model::State;
use punctual_testing::fix::{Kernel, context, materialise, rules};
use punctual_testing::machines;
use punctual_units::CpuList;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn name(word: &str) -> &str {
    word.split('=').next().unwrap_or(word)
}

struct Planned {
    plan: Plan,
    boot: BootWish,
    proposed: Vec<String>,
}

/// Plans the fixes for a machine. With `all`, every rule that finds something is named.
fn planned(root: &Path, context: &Context, all: bool) -> Planned {
    let (machine, kernel) = (Live::under(root), Kernel::under(root));
    let findings = rules().audit(&machine, context);
    let states = [State::Fail, State::Warn, State::Info];
    let named = findings.iter().filter(|finding| all && states.contains(&finding.state));
    let ids: Vec<String> = named.map(|finding| finding.id.clone()).collect();
    let boot = RefCell::new(BootWish::default());
    let chain = |request: &BootWish| {
        *boot.borrow_mut() = request.clone();
        Ok(Vec::new())
    };
    let request = Request {
        rules: rules(),
        machine: &machine,
        sys: &kernel,
        context,
        pid: None,
        ids: &ids,
        persist: true,
        i_know: &[],
        boot: Some(&chain),
    };
    let plan = request.plan(&findings).unwrap();
    let proposal = rules().plan_cpus(&machine, context, &PlanWish { count: 1, near: None });
    let proposed = proposal.map(|plan| plan.parameters.into_iter().map(|parameter| parameter.text).collect());
    Planned { plan, boot: boot.into_inner(), proposed: proposed.unwrap_or_default() }
}

/// Checks that parameters contradict neither each other nor the CPU plan, and that the kernel accepts them.
fn check_parameters(case: &str, root: &Path, context: &Context, planned: &Planned) {
    let Planned { boot, proposed, .. } = planned;
    for word in &boot.add {
        let same = boot.add.iter().filter(|other| name(other) == name(word)).count();
        assert!(same == 1, "{case}: {:?}", boot.add);
        assert!(!boot.remove.iter().any(|other| name(other) == name(word)), "{case}: {word} is added and removed");
        let misfit = rules().misfit(&Live::under(root), context, word);
        assert!(misfit.is_none_or(|misfit| !misfit.is_certain), "{case}: {word}");
    }
    for word in &boot.remove {
        assert!(!proposes(context.profile, name(word)), "{case}: {word} is proposed and removed");
        assert!(!proposed.iter().any(|other| name(other) == name(word)), "{case}: {word}");
    }
}

/// Checks that no two rules request different values in one file.
fn check_values(case: &str, plan: &Plan) {
    let mut values: BTreeMap<&Path, &str> = BTreeMap::new();
    for rule in &plan.rules {
        for step in &rule.steps {
            if let Doing::Value { path, new } = step {
                let old = values.insert(path, new);
                assert!(old.is_none_or(|old| old == new), "{case}: {} of {}", path.display(), rule.rule);
            }
        }
    }
}

/// Changes that take something from the machine and may be made only if requested by name.
const NOT_UNASKED: &[&str] = &[
    "audit",
    "efi",
    "idle",
    "intel_pstate",
    "isolcpus",
    "nmi_watchdog",
    "nohz_full",
    "nosmt",
    "nosoftlockup",
    "nowatchdog",
    "rcu_nocbs",
    "threadirqs",
    "tsc",
];

const RULES_THAT_TAKE: &[&str] = &[
    "cpu-freq-fixed",
    "iso-present",
    "kconfig-efi-runtime",
    "kconfig-lockup-detector",
    "mem-swap",
    "rpi-swap",
    "sched-fair-server",
    "sched-fair-server-asym-bug",
    "sched-kthread-prio-for-hogs",
    "sched-rt-throttle",
    "watchdog-nmi",
    "watchdog-panic-policy",
    "watchdog-soft",
];

fn check_unasked(case: &str, Planned { plan, boot, .. }: &Planned) {
    for word in boot.add.iter().chain(&boot.remove) {
        assert!(!NOT_UNASKED.contains(&name(word)), "{case}: {word}");
    }
    let rules = plan.rules.iter().filter(|rule| !rule.steps.is_empty()).map(|rule| rule.rule.as_str());
    let taking: Vec<&str> = rules.filter(|rule| RULES_THAT_TAKE.contains(rule)).collect();
    assert!(taking.is_empty(), "{case}: {taking:?}");
}

#[test]
fn plans_of_every_profile_and_machine_are_consistent() {
    for machine in machines() {
        let root = materialise(&machine);
        let whole = context(root.path(), Profile::ControlLoop);
        let last: CpuList = whole.cpus.iter().last().into_iter().collect();
        for (profile, profile_name) in Profile::ALL {
            for (cpus, all) in [(&whole.cpus, false), (&last, false), (&last, true)] {
                let context = Context { profile, cpus: cpus.clone(), ..whole.clone() };
                let case = format!("{} for {profile_name} on {cpus}, all {all}", machine.display());
                let planned = planned(root.path(), &context, all);
                check_parameters(&case, root.path(), &context, &planned);
                check_values(&case, &planned.plan);
                if !all {
                    check_unasked(&case, &planned);
                }
            }
        }
    }
}

fn input(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs").join(name)
}

/// Returns the requested command line, and all advice.
fn of_input(input: &Path, profile: Profile, cpus: &str, ids: &[&str]) -> (BootWish, String) {
    let mut context = context(input, profile);
    context.cpus = cpus.parse().unwrap();
    let (machine, kernel) = (Live::under(input), Kernel::under(input));
    let findings = rules().audit(&machine, &context);
    let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
    let boot = RefCell::new(BootWish::default());
    let parameters = punctual_fix::Parameters::new(&machine, punctual_fix::How::ForGood);
    let chain = |request: &BootWish| {
        *boot.borrow_mut() = request.clone();
        parameters.steps(request)
    };
    let (rules, context) = (rules(), &context);
    let request = Request {
        rules,
        machine: &machine,
        sys: &kernel,
        context,
        pid: None,
        ids: &ids,
        persist: true,
        i_know: &[],
        boot: Some(&chain),
    };
    let plan = request.plan(&findings).unwrap();
    let said = plan.rules.iter().flat_map(|rule| &rule.manual).map(|line| format!("{line}\n")).collect();
    (boot.into_inner(), said)
}

#[test]
fn a_busy_loop_loses_no_nohz_full() {
    let root = input("nohz-busy-poll");
    // CPU 3 is not isolated, because the CPU plan decides which CPUs should be.
    for ids in [&["kconfig-nohz-choice"][..], &[]] {
        let (boot, said) = of_input(&root, Profile::BusyPoll, "3", ids);
        assert!(!boot.line().contains("nohz_full"), "{}", boot.line());
        assert!(said.contains("first isolate the measured CPUs"), "{said}");
    }
}

#[test]
fn what_tuned_set_stays() {
    let root = input("nohz-rhel-tuned");
    for profile in Profile::ALL.iter().map(|(profile, _)| *profile) {
        for ids in [&[][..], &["kconfig-nohz-choice"]] {
            let (boot, said) = of_input(&root, profile, "2-7", ids);
            assert_eq!(boot.remove, Vec::<String>::new(), "{profile}: {said}");
            let set = parameters(&std::fs::read_to_string(root.join("proc/cmdline")).unwrap());
            let changed = boot.add.iter().find(|word| set.iter().any(|old| name(old) == name(word) && old != *word));
            assert_eq!(changed, None, "{profile}");
        }
    }
}

#[test]
fn callbacks_stay_offloaded_where_the_tick_cannot_stop() {
    let root = input("nocbs-removed");
    let (boot, said) = of_input(&root, Profile::ControlLoop, "3", &["kconfig-nohz-inert"]);
    assert_eq!((boot.remove, boot.add), (vec!["nohz_full".to_owned()], Vec::new()), "{said}");
    let (unasked, _) = of_input(&root, Profile::ControlLoop, "3", &[]);
    assert_eq!(unasked.remove, Vec::<String>::new());
    let (kept, said) = of_input(&root, Profile::DedicatedCore, "3", &["kconfig-nohz-inert"]);
    assert!(kept.is_empty() && said.contains("nohz_full is kept"), "{said}");
}
