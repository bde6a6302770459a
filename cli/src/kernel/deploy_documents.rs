//! Checks the documents of `kernel deploy`, `verify`, `commit`, `rollback` and `status` against their schemas, on
//! directories that represent machines: a test must not run these commands on the real machine.

use super::args::deploying::{CommitArgs, DeployArgs, VerifyArgs};
use super::deploy::{committed, deployed, rolled_back, state, verified};
use crate::args::common::OutputArgs;
use crate::finish::{Answer, printed};
use crate::refusal::Refusal;
use clap::{Args, FromArgMatches};
use punctual_deploy::Site;
use punctual_fix::{Fault, Faulty, System};
use punctual_machine::Live;
use punctual_testing::deploy::{GRUB, boot_into, machine, write};
use punctual_testing::fix::Kernel;
use punctual_testing::schema;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use tempfile::TempDir;

const NEW: &str = "6.12.9-rt1";
const RT: &str = "#1 SMP PREEMPT_RT Debian 6.12.9";
/// Options that skip the checks of the processor and of disk space, and accept a machine that cannot return
/// automatically if a kernel hangs early.
const USUAL: &[&str] = &["--manual-recovery", "--skip", "processor", "--skip", "space"];

/// Parses options as the program does.
fn args<A: Args + FromArgMatches>(words: &[&str]) -> A {
    let command = A::augment_args(clap::Command::new("x"));
    A::from_arg_matches(&command.get_matches_from([&["x", "--json"][..], words].concat())).unwrap()
}

const JSON: OutputArgs = OutputArgs { json: true, quiet: false };

/// A directory that represents a machine, and a package for it.
struct Board {
    root: TempDir,
    kernel: Kernel,
    package: TempDir,
}

impl Board {
    fn new() -> Board {
        let (root, kernel, package) = machine(GRUB, NEW);
        Board { root, kernel, package }
    }

    fn asked(
        &self,
        sys: &dyn System,
        command: &str,
        work: impl FnOnce(&Site) -> Result<Answer, Refusal>,
    ) -> (u8, Value) {
        let view = Live::under(self.root.path());
        let result = work(&Site { root: self.root.path().to_owned(), sys, view: &view });
        let (code, text) = printed(&format!("kernel-{command}"), JSON, result);
        let document: Value = serde_json::from_slice(&text).unwrap();
        schema::holds(&document);
        assert_eq!((&document["exit_code"], &document["schema"]), (&json!(code), &json!(name(command))));
        (code, document["result"].clone())
    }

    fn deploy_by(&self, sys: &dyn System, more: &[&str]) -> (u8, Value) {
        let args: DeployArgs = args(&[&[self.package.path().to_str().unwrap()], more].concat());
        self.asked(sys, "deploy", |site| deployed(site, &args, Path::new("/bin/true")))
    }

    fn deploy(&self, more: &[&str]) -> (u8, Value) {
        self.deploy_by(&self.kernel, more)
    }

    fn verify(&self, is_good: Option<bool>) -> (u8, Value) {
        let latency = || Ok((is_good, "longest wakeup latency 12 us in 5 s".to_owned()));
        self.asked(&self.kernel, "verify", |site| verified(site, &args::<VerifyArgs>(&[]), &latency))
    }

    fn commit(&self, more: &[&str]) -> (u8, Value) {
        self.asked(&self.kernel, "commit", |site| committed(site, &args::<CommitArgs>(more)))
    }

    fn rollback(&self) -> (u8, Value) {
        self.asked(&self.kernel, "rollback", |site| rolled_back(site, JSON))
    }

    fn status(&self) -> Value {
        let (code, result) = self.asked(&self.kernel, "status", |site| state(site, JSON));
        assert_eq!(code, 0);
        result
    }

    /// Returns a machine with a deployed kernel, in its trial boot.
    fn on_trial() -> Board {
        let board = Board::new();
        let (_, done) = board.deploy(USUAL);
        boot_into(board.root.path(), &board.kernel, done["id"].as_str(), NEW, RT);
        board
    }

    fn restarts(&self, release: &str) {
        boot_into(self.root.path(), &self.kernel, None, release, RT);
    }
}

fn name(command: &str) -> String {
    format!("punctual.kernel-{command}/1")
}

/// Returns the names of the checks with this outcome.
fn came_out<'a>(result: &'a Value, outcome: &str) -> Vec<&'a str> {
    let all = result["checks"].as_array().unwrap().iter();
    all.filter(|check| check["outcome"] == outcome).map(|check| check["id"].as_str().unwrap()).collect()
}

#[test]
fn deploy_tells_what_is_in_place_or_what_spoke_against_it() {
    let board = Board::new();
    let (code, refused) = board.deploy(&["--skip", "processor"]);
    assert_eq!((code, came_out(&refused, "fail")), (1, vec!["early-hang"]), "{refused}");
    assert!(refused["release"].is_null() && refused["id"].is_null(), "{refused}");
    let (code, done) = board.deploy(USUAL);
    assert_eq!((code, &done["release"], &done["notes"]), (0, &json!(NEW), &json!([])), "{done}");
    let (code, again) = board.deploy(USUAL);
    assert_eq!((code, again["notes"].as_array().unwrap().len()), (0, 1), "{again}");
    assert_ne!(came_out(&again, "warn"), Vec::<&str>::new());
}

#[test]
fn deploy_tells_why_it_did_nothing() {
    let board = Board::new();
    let (code, short) = board.deploy(&["--limit", "1s"]);
    assert!(code == 2 && short["error"].as_str().unwrap().contains("the minimum is 30s"), "{short}");
    std::fs::remove_dir_all(board.package.path().join("boot")).unwrap();
    let (code, empty) = board.deploy(USUAL);
    assert!(code == 2 && empty["error"].as_str().unwrap().contains("vmlinuz"), "{empty}");
}

#[test]
fn verify_tells_each_check() {
    let (code, nothing) = Board::new().verify(Some(true));
    assert!(code == 1 && nothing["error"].as_str().unwrap().contains("nothing is deployed"), "{nothing}");
    let board = Board::on_trial();
    let (code, good) = board.verify(Some(true));
    assert_eq!((code, came_out(&good, "fail")), (0, vec![]), "{good}");
    assert_eq!((board.verify(None).0, came_out(&board.verify(None).1, "warn")), (0, vec!["latency"]));
    let (code, late) = board.verify(Some(false));
    assert_eq!((code, came_out(&late, "fail")), (1, vec!["latency"]), "{late}");
    std::fs::remove_file(board.root.path().join(format!("boot/punctual/{NEW}/config"))).unwrap();
    let (code, unknown) = board.verify(Some(true));
    assert_eq!((code, came_out(&unknown, "unknown")), (3, vec!["config"]), "{unknown}");
    write(board.root.path(), "proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC\n");
    assert_eq!(came_out(&board.verify(Some(true)).1, "fail"), ["preempt-rt"]);
}

#[test]
fn commit_tells_the_release_or_what_is_missing() {
    let board = Board::on_trial();
    let (code, early) = board.commit(&[]);
    assert!(code == 1 && early["error"].as_str().unwrap().contains("not verified"), "{early}");
    board.verify(Some(true));
    assert_eq!(board.commit(&[]), (0, json!({ "release": NEW })));
    let unverified = Board::on_trial();
    assert_eq!(unverified.commit(&["--unverified"]), (0, json!({ "release": NEW })));
}

#[test]
fn rollback_tells_what_became_of_the_files() {
    let board = Board::on_trial();
    assert_eq!(board.rollback(), (1, json!({ "state": "running", "release": NEW })));
    assert_eq!(board.status(), json!({ "state": "removing", "release": NEW }));
    board.restarts("6.1.0-1");
    assert_eq!(board.rollback(), (0, json!({ "state": "gone", "release": NEW })));
    assert_eq!(board.rollback(), (0, json!({ "state": "nothing" })));
}

#[test]
fn status_has_a_document_for_every_state() {
    let mut states = BTreeSet::new();
    let mut seen = |board: &Board| states.extend(board.status()["state"].as_str().map(str::to_owned));
    let board = Board::new();
    seen(&board);
    board.deploy(USUAL);
    seen(&board);
    board.restarts("6.1.0-1");
    seen(&board);
    seen(&cut_off());
    let board = Board::on_trial();
    assert!(board.status()["is_verified"].is_null());
    board.verify(Some(true));
    assert_eq!(board.status()["is_verified"], true);
    seen(&board);
    board.commit(&[]);
    seen(&board);
    board.restarts("6.1.0-1");
    assert_eq!(board.status()["is_running"], false);
    board.restarts(NEW);
    board.rollback();
    seen(&board);
    let board = Board::on_trial();
    std::fs::remove_file(board.root.path().join("proc/cmdline")).unwrap();
    seen(&board);
    let all = ["committed", "cut-off", "deployed", "nothing", "on-trial", "removing", "returned", "unknown"];
    assert_eq!(states.into_iter().collect::<Vec<_>>(), all);
}

/// Returns a machine whose deployment was killed at the first operation that leaves something behind.
fn cut_off() -> Board {
    for at in 0..200 {
        let board = Board::new();
        let faulty = Faulty::new(&board.kernel, at, Fault::Killed);
        let _ = board.deploy_by(&faulty, USUAL);
        if board.status()["state"] == "cut-off" {
            return board;
        }
    }
    panic!("no deployment was cut off");
}
