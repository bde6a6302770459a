//! Every recorded machine, with the states its `audit.toml` expects for each of its audits.

use punctual_audit::{Context, Profile, audit};
use punctual_machine::Recorded;
use punctual_model::{Finding, State};
use punctual_units::{CpuList, Scheduling};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

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
    /// The state of every rule.
    states: BTreeMap<String, State>,
    /// What a summary must contain.
    #[serde(default)]
    says: BTreeMap<String, String>,
}

fn machines() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines");
    let mut machines: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("audit.toml").exists())
        .collect();
    machines.sort();
    machines
}

fn expected(folder: &Path) -> Vec<Expected> {
    let text = std::fs::read_to_string(folder.join("audit.toml")).unwrap();
    toml::from_str::<Golden>(&text).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).audit
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
            let states: BTreeMap<String, State> = findings.iter().map(|f| (f.id.clone(), f.state)).collect();
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
