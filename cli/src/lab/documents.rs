//! Checks the documents of `lab` against their schemas, on recorded runs of guests (tests/fixtures) and on a Git tree
//! in which the "kernel" is a file. `cargo trials lab` boots real guests.

use crate::args::common::OutputArgs;
use crate::finish::{Answer, printed};
use crate::refusal::Refusal;
use punctual_compare::Side;
use punctual_lab::{
    Bisect, BisectReport, Build, LabBisectResult, LabBootResult, LabCompareResult, LabError, LabProveResult, LabRun,
    Proven, StepOutcome,
};
use punctual_testing::schema;
use punctual_vm::{Arch, Booted, VmError};
use serde::Serialize;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const JSON: OutputArgs = OutputArgs { json: true, quiet: false };

/// Returns the exit code and the document, after checking the document against the schema that it names.
fn ended(command: &str, result: Result<Answer, Refusal>) -> (u8, Value) {
    let (code, text) = printed(command, JSON, result);
    let document: Value = serde_json::from_slice(&text).unwrap();
    schema::holds(&document);
    (code, document)
}

fn held(command: &str, code: u8, result: &impl Serialize) -> Value {
    ended(command, Ok(Answer::new(JSON, code, || result, String::new))).1
}

/// Returns a recorded boot of `lab prove -k rt@6.12` or `stock@6.12`, `-l idle -D 300ms --deadline 5ms --seed 1`,
/// without its findings and page.
fn run(name: &str) -> LabRun {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lab").join(name);
    let recording = punctual_rundir::read(&root).unwrap();
    let verdict = punctual_judge::judge_with_tails(&recording, &recording.run.settings.claims);
    LabRun { root: PathBuf::from(name), recording, verdict, seed: 1, lasted: Duration::from_secs(9) }
}

#[test]
fn several_guests_are_a_document_of_lab_boot() {
    let booted = |exit_code, console: &str| {
        let console = console.to_owned();
        Booted { exit_code, console, fetched_bytes: 0, lasted: Duration::from_millis(9_251) }
    };
    let guests = [booted(0, "up\n"), booted(3, "\u{1b}[31mnot \u{202e}up\n")];
    let document = held("lab boot", 3, &LabBootResult::new(&guests, Some(Path::new("out"))));
    assert_eq!(document["result"]["guests"][1]["exit_code"], 3);
    assert_eq!(document["result"]["guests"][1]["lasted_s"], 9.251);
    assert_eq!(held("lab boot", 0, &LabBootResult::new(&guests[..1], None))["result"]["out"], Value::Null);
}

#[test]
fn boots_in_virtual_time_are_a_document_of_lab_prove() {
    let proven = Proven { runs: vec![run("rt"), run("stock")] };
    let document = held("lab prove", 0, &LabProveResult::new(&proven, Path::new("out")));
    let boots = document["result"]["boots"].as_array().unwrap();
    assert_eq!(boots.len(), 2);
    for boot in boots {
        assert_eq!((&boot["run"]["clock"], &boot["seed"]), (&json!("virtual"), &json!(1)));
        assert!(boot["phases"][0]["cpus"][0]["ran"].as_u64() > Some(0) && boot["verdict"]["claims"][0].is_object());
    }
}

#[test]
fn two_kernels_are_a_document_of_lab_compare() {
    let runs = [run("rt"), run("stock")];
    let sides = [0, 1].map(|n: usize| Side {
        name: runs[n].recording.run.machine.kernel_release.clone().unwrap(),
        folder: Some("out".into()),
        runs: vec![("seed 1".into(), &runs[n].recording)],
        own_boots: true,
    });
    let document =
        held("lab compare", 3, &LabCompareResult::new(&punctual_compare::compare(&sides).unwrap(), Path::new("out")));
    let result = &document["result"];
    assert_eq!((&result["clock"], &result["out"]), (&json!("virtual"), &json!("out")));
    assert_eq!(result["groups"].as_array().unwrap().len(), 2);
}

/// Bisects four commits: the third does not build, and those from number `bad` on are bad.
fn bisected(bad: u32) -> BisectReport {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    fs::create_dir_all(&tree).unwrap();
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&tree).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words);
        assert!(command.output().unwrap().status.success(), "{words:?}");
    };
    git(&["init", "-q"]);
    fs::write(tree.join("Makefile"), "bzImage:\n\t@! grep -qx 3 number\n\tcp number $(O)/image\n").unwrap();
    for number in 1..=4 {
        fs::write(tree.join("number"), format!("{number}\n")).unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", &format!("commit {number}")]);
        git(&["tag", &format!("v{number}")]);
    }
    let build = Build { config: None, arch: Arch::Amd64, make: vec!["CC=cc".into()], jobs: 1 };
    let plan = Bisect { tree, good: "v1".into(), bad: "v4".into(), build, out: folder.path().join("out") };
    let mut prove = |build: &Path, _: &Path| {
        let number: u32 = fs::read_to_string(build.join("image")).unwrap().trim().parse().unwrap();
        let outcome = if number >= bad { StepOutcome::Bad } else { StepOutcome::Good };
        Ok((outcome, format!("worst {number} us")))
    };
    punctual_lab::bisect(&plan, &mut prove, &mut |_| ()).unwrap()
}

#[test]
#[ignore = "live: make, git"]
fn what_bisect_tried_is_a_document_of_lab_bisect() {
    let one = held("lab bisect", 0, &LabBisectResult::new(&bisected(2), Path::new("out")));
    assert_eq!(one["result"]["suspects"].as_array().unwrap().len(), 1, "{one}");
    let several = held("lab bisect", 3, &LabBisectResult::new(&bisected(4), Path::new("out")));
    assert_eq!(several["result"]["suspects"].as_array().unwrap().len(), 2, "{several}");
    let outcomes: Vec<&str> =
        several["result"]["steps"].as_array().unwrap().iter().filter_map(|step| step["outcome"].as_str()).collect();
    assert!(["good", "bad", "not_built"].iter().all(|word| outcomes.contains(word)), "{outcomes:?}");
}

#[test]
fn why_nothing_came_of_it_is_a_document_of_each_command() {
    for command in ["lab boot", "lab prove", "lab compare", "lab bisect"] {
        for (error, code) in [
            (LabError::Usage("--timeout 1ms: a boot takes longer".into()), 2),
            (LabError::Guest { code: 4, said: "no".into() }, 4),
            (LabError::Vm(VmError::Usage("no network card".into())), 2),
        ] {
            let message = error.to_string();
            let (said, document) = ended(command, Err(error.into()));
            assert_eq!((said, &document["exit_code"]), (code, &json!(code)), "{command}: {message}");
            assert_eq!(document["result"]["error"], message);
        }
    }
}
