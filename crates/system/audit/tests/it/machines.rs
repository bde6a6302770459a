//! Each audit of a recorded machine gives the states that its `audit.toml` lists.

use punctual_audit::{Context, PlanWish, Profile, Rules, audit};
use punctual_machine::Recorded;
use punctual_model::{Finding, State};
use punctual_testing::{golden, machines};
use punctual_units::{CpuList, Scheduling};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Golden {
    audit: Vec<Expected>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    profile: Profile,
    cpus: CpuList,
    scheduling: Scheduling,
    states: BTreeMap<String, State>,
    #[serde(default)]
    says: BTreeMap<String, String>,
}

fn expected(folder: &Path) -> Vec<Expected> {
    let text = std::fs::read_to_string(folder.join("audit.toml")).unwrap();
    toml::from_str::<Golden>(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).audit
}

/// Returns every rule's state for every profile, one letter each, in the order of `Profile::ALL`.
fn all_states(rules: &Rules, machine: &Recorded, expected: &Expected) -> String {
    let audits: Vec<Vec<Finding>> = Profile::ALL
        .iter()
        .map(|(profile, _)| {
            let (scheduling, cpus) = (expected.scheduling, expected.cpus.clone());
            rules.audit(machine, &Context { scheduling, cpus, profile: *profile })
        })
        .collect();
    let head: Vec<&str> = Profile::ALL.iter().map(|(_, name)| *name).collect();
    let mut table = format!("# P pass, F fail, W warn, I info, S skip, B blocked, U unknown; {}\n", head.join(", "));
    for (at, rule) in rules.iter().enumerate() {
        let letters = audits.iter().map(|findings| format!("{:?}", findings[at].state).chars().take(1).collect());
        table.push_str(&format!("{:<34}{}\n", rule.id, letters.collect::<Vec<String>>().join(" ")));
    }
    table
}

#[test]
fn every_machine_is_judged_for_every_profile_as_recorded() {
    for folder in machines() {
        let machine = Recorded::open(&folder).unwrap();
        let first = expected(&folder).into_iter().next().unwrap();
        golden(folder.join("states.txt"), &all_states(Rules::embedded(), &machine, &first));
    }
}

/// Checks one line per machine: the CPUs that are planned for one CPU and for two CPUs.
#[test]
fn cpus_are_planned_on_every_machine_as_recorded() {
    let rules = Rules::embedded();
    let mut found = String::new();
    for folder in machines() {
        let machine = Recorded::open(&folder).unwrap();
        let Expected { scheduling, cpus, profile, .. } = expected(&folder).into_iter().next().unwrap();
        let context = Context { scheduling, cpus, profile };
        for count in 1..=2 {
            let planned = match rules.plan_cpus(&machine, &context, &PlanWish { count, near: None }) {
                Ok(plan) => {
                    format!("isolate {}, off `{}`, keep {}", plan.isolated, plan.siblings_off, plan.housekeeping)
                }
                Err(error) => error.to_string(),
            };
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            found.push_str(&format!("{name} for {count}: {planned}\n"));
        }
    }
    golden("../../../machines/plans.txt", &found);
}

fn as_table(findings: &[Finding]) -> String {
    findings
        .iter()
        .map(|f| format!("{} = {} # {}\n", f.id, serde_json::to_string(&f.state).unwrap(), f.summary))
        .collect()
}

#[test]
fn recorded_machines_are_judged_as_expected() {
    assert!(machines().len() >= 6);
    let mut wrong = Vec::new();
    for folder in machines() {
        let machine = Recorded::open(&folder).unwrap();
        for expected in expected(&folder) {
            let context = Context { scheduling: expected.scheduling, cpus: expected.cpus, profile: expected.profile };
            let findings = audit(&machine, &context);
            let listed = findings.iter().filter(|f| expected.states.contains_key(&f.id));
            let states: BTreeMap<String, State> = listed.map(|f| (f.id.clone(), f.state)).collect();
            let unsaid = expected
                .says
                .iter()
                .filter(|(id, part)| !findings.iter().any(|f| f.id == **id && f.summary.contains(part.as_str())));
            let unsaid: Vec<_> = unsaid.collect();
            if states != expected.states || !unsaid.is_empty() {
                let name = folder.file_name().unwrap().to_string_lossy().into_owned();
                wrong.push(format!("{name} as {}, not said: {unsaid:?}\n{}", expected.profile, as_table(&findings)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A container uses the kernel of its host: no fix of the kernel can be applied inside.
#[test]
fn fixes_of_the_kernel_are_the_hosts_in_a_container() {
    let lines = |name: &str| -> Vec<String> {
        let folder = machines().into_iter().find(|folder| folder.ends_with(name)).unwrap();
        let Expected { scheduling, cpus, profile, .. } = expected(&folder).into_iter().next().unwrap();
        let findings = audit(&Recorded::open(&folder).unwrap(), &Context { scheduling, cpus, profile });
        findings.into_iter().filter_map(|finding| finding.fix).collect()
    };
    let container = lines("container-user-6.8");
    assert!(container.iter().any(|line| line.starts_with("on the host: ")));
    for line in &container {
        let is_kernels =
            ["/sys/", "sysctl -w kernel", "kernel command line", "/proc/sys/"].iter().any(|part| line.contains(part));
        assert!(!is_kernels || line.starts_with("on the host: "), "{line}");
        assert!(!line.starts_with("on the host: ") || !line.contains("docker run"), "{line}");
    }
    assert!(lines("laptop-smt-6.8").iter().all(|line| !line.starts_with("on the host: ")));
}
