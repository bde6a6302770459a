//! Hostile TuneD profiles: no fix may give the kernel a parameter or write a file that is not a latency setting.

use proptest::prelude::*;
use punctual_audit::{Offers, Profile, Rules, Today};
use punctual_fix::{BootWish, Doing, Plan, Request};
use punctual_machine::Live;
use punctual_testing::fix::{Kernel, context, materialise};
use std::cell::RefCell;
use std::path::Path;

const FILES: &[&str] = &["kernel/core_pattern", "kernel/modprobe", "vm/swappiness", "kernel/sched_autogroup_enabled"];

/// Returns the steps of a profile's fixes, and the kernel parameters.
fn planned(text: &str, i_know: &[String]) -> Option<(Plan, Vec<String>)> {
    let root = materialise(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/laptop-smt-6.8"));
    for file in FILES {
        let path = root.path().join("proc/sys").join(file);
        punctual_testing::fix::make_folders(path.parent().unwrap()).unwrap();
        std::fs::write(path, "7\n").unwrap();
    }
    let kernel = Kernel::under(root.path());
    let machine = Live::under(root.path());
    let mut rules = Rules::embedded().clone();
    rules.adopt("t/tuned.conf", text, Today::try_from("2026-11-21".to_owned()).unwrap(), &|_| None).ok()?;
    let context = context(root.path(), Profile::ControlLoop);
    let own: Vec<String> = rules.iter().map(|rule| rule.id.clone()).filter(|id| rules.is_own(id)).collect();
    let findings: Vec<_> =
        own.iter().filter_map(|id| rules.audit_one(id, &machine, &context, Offers::default())).collect();
    let words = RefCell::new(Vec::new());
    let boot = |request: &BootWish| {
        words.borrow_mut().extend(request.add.clone());
        Ok(Vec::new())
    };
    let request = Request {
        rules: &rules,
        machine: &machine,
        sys: &kernel,
        context: &context,
        pid: None,
        ids: &own,
        persist: true,
        i_know,
        boot: Some(&boot),
    };
    let plan = request.plan(&findings).unwrap();
    Some((plan, words.into_inner()))
}

fn values(plan: &Plan) -> Vec<String> {
    let steps = plan.rules.iter().flat_map(|rule| &rule.steps);
    let path = |step: &Doing| match step {
        Doing::Value { path, .. } => Some(path.display().to_string()),
        _ => None,
    };
    steps.filter_map(path).collect()
}

#[test]
fn each_name_takes_its_own_word() {
    let text = "[bootloader]\ncmdline=init=/bin/sh mitigations=off skew_tick=1\n[sysctl]\nkernel.core_pattern=|/x\n\
                vm.swappiness=1\n";
    let (plan, words) = planned(text, &[]).unwrap();
    assert_eq!((words, values(&plan)), (vec!["skew_tick=1".to_owned()], vec!["/proc/sys/vm/swappiness".to_owned()]));
    let manual: Vec<&String> = plan.rules.iter().flat_map(|rule| &rule.manual).collect();
    assert!(manual.iter().any(|line| line.contains("--i-know='init'")), "{manual:?}");
    let (_, words) = planned(text, &["init".to_owned()]).unwrap();
    assert_eq!(words, ["init=/bin/sh", "skew_tick=1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn nothing_else_gets_by(
        lines in proptest::collection::vec(
            "(cmdline[a-z_]{0,4}=[\"+ -]{0,3}(skew_tick|x|a\\.b|isolcpus)=\"?[a-z0-9,]{0,4}[ \t\u{a0}\"]{0,2}(init|rdinit|mitigations|nvme\\.x|lsm)=[a-z/\"]{0,6}\"?|\\[sysctl\\]|\\[bootloader\\]|\\[sysfs\\]|(kernel[./]core_pattern|kernel/modprobe|kernel\\.\\./kernel/modprobe|/proc/sys/kernel/\\*|/proc/sys/kernel/modprobe|vm\\.swappiness) *= *[|0-9/a-z]{1,6})",
            1..8,
        ),
    ) {
        let text = format!("[bootloader]\n{}\n", lines.join("\n"));
        if let Some((plan, words)) = planned(&text, &[]) {
            let fine = ["skew_tick", "isolcpus"];
            for word in &words {
                prop_assert!(fine.contains(&word.split('=').next().unwrap()), "{text}: {word}");
                prop_assert!(!word.contains(|c: char| c.is_whitespace() || c == '"'), "{text}: {word}");
            }
            let values = values(&plan);
            prop_assert!(values.iter().all(|path| path.ends_with("/swappiness")), "{text}: {values:?}");
        }
    }
}
