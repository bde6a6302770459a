//! `completions` and `man`: what a package is made from.

mod common;

use common::punctual;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

/// The script of a shell.
fn script(shell: &str) -> Vec<u8> {
    let output = punctual().args(["completions", shell]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = String::from_utf8(script(shell)).unwrap();
        assert!(text.contains("cyclictest") && text.contains("claim"), "{shell}");
    }
    let unknown = punctual().args(["completions", "tcsh"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn bash_reads_its_script() {
    let Ok(mut bash) = Command::new("bash").arg("-n").stdin(Stdio::piped()).spawn() else {
        return eprintln!("NOT TESTED: there is no bash here");
    };
    bash.stdin.take().unwrap().write_all(&script("bash")).unwrap();
    assert!(bash.wait().unwrap().success());
}

#[test]
fn a_full_device_is_said_with_the_code_of_the_environment() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = punctual().args(["completions", "zsh"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the script"));
}

#[test]
fn pages_are_written_once_and_never_replaced() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("new/man1");
    let write = || punctual().arg("man").arg(&folder).output().unwrap();
    assert!(write().status.success());
    let prove = fs::read_to_string(folder.join("punctual-prove.1")).unwrap();
    assert!(prove.contains(".TH punctual-prove 1") && prove.contains("until\\-decided"), "{prove}");
    let again = write();
    assert_eq!(again.status.code(), Some(4));
    assert!(String::from_utf8_lossy(&again.stderr).contains("exists"), "{again:?}");
    assert_eq!(fs::read_to_string(folder.join("punctual-prove.1")).unwrap(), prove);
}

#[test]
fn the_list_of_commands_names_each_once() {
    let help = punctual().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert_eq!(help.matches("What a kernel costs").count(), 1, "{help}");
}
