//! Tests who owns the results that root writes.

use crate::common;

use common::run;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A user ID that does not exist on this machine.
const USER: u32 = 61_235;

fn measure(out: &Path, before: &[&str], sudo: Option<u32>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    command.args(before).args(["measure", "--quiet", "--duration", "200ms", "--load", "idle", "--out"]).arg(out);
    match sudo {
        Some(uid) => command.env("SUDO_UID", uid.to_string()),
        None => command.env_remove("SUDO_UID"),
    };
    command.output().unwrap()
}

/// Creates a directory owned by the user, below one owned by root.
fn home() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let home = place.path().join("home");
    fs::create_dir(&home).unwrap();
    chown(&home, Some(USER), Some(USER)).unwrap();
    (place, home)
}

/// Returns the user IDs of everything in the directory.
fn owners(folder: &Path) -> Vec<u32> {
    let mut all = vec![folder.symlink_metadata().unwrap().uid()];
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => all.extend(owners(&entry.path())),
            false => all.push(entry.metadata().unwrap().uid()),
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
#[ignore = "live: root"]
fn results_belong_to_the_user_who_called_sudo_or_who_is_named() {
    let (_place, home) = home();
    let run = home.join("a/run");
    let output = measure(&run, &[], Some(USER));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(owners(&home.join("a")), [USER]);
    let output = measure(&home.join("b"), &["--owner", &USER.to_string()], Some(1));
    assert!(output.status.success(), "{output:?}");
    assert_eq!(owners(&home.join("b")), [USER]);
}

#[test]
#[ignore = "live: root"]
fn root_without_an_owner_is_told_what_to_type() {
    let (_place, home) = home();
    let output = measure(&home.join("run"), &[], None);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains(&format!("--owner {USER}")) && said.contains(home.to_str().unwrap()), "{said}");
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
}

#[test]
#[ignore = "live: root"]
fn a_new_run_in_a_sticky_folder_works_and_one_that_was_made_first_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let output = measure(&place.path().join("new"), &[], None);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(owners(&place.path().join("new")), [0]);
    let theirs = place.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(USER), Some(USER)).unwrap();
    assert_eq!(measure(&theirs, &[], None).status.code(), Some(4));
    assert_eq!(measure(&theirs, &[], Some(USER)).status.code(), Some(0));
}

#[test]
#[ignore = "live: root"]
fn what_only_root_can_change_is_written_by_root_also_through_sudo() {
    let (place, _) = home();
    let run = place.path().join("run");
    assert!(measure(&run, &[], Some(USER)).status.success());
    assert_eq!(owners(&run), [0]);
    let refused = measure(&place.path().join("other"), &["--owner", &USER.to_string()], None);
    assert_eq!(refused.status.code(), Some(4), "{refused:?}");
}

#[test]
fn a_user_that_is_none_is_wrong_usage() {
    let (code, _, err) = run(&["--owner", "nobody of this name", "report", "/nonexistent"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--owner"), "{err}");
}
