//! Tests `completions` and `man`, whose output packages install.

use crate::common;

use common::punctual;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

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
#[ignore = "live: zsh, fish, bash"]
fn shells_read_their_scripts() {
    for shell in ["bash", "zsh", "fish"] {
        let Ok(mut reads) = Command::new(shell).arg("-n").stdin(Stdio::piped()).spawn() else {
            eprintln!("not tested: {shell} is not installed");
            continue;
        };
        reads.stdin.take().unwrap().write_all(&script(shell)).unwrap();
        assert!(reads.wait().unwrap().success(), "{shell}");
    }
}

/// Requests completions as fish does when Tab is pressed.
#[test]
#[ignore = "live: fish"]
fn fish_completes_commands_and_options() {
    let mut fish = Command::new("fish");
    fish.args(["--no-config", "-c", "source; complete -C 'punctual pro'; complete -C 'punctual prove --deadl'"]);
    let Ok(mut reads) = fish.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
        return eprintln!("not tested: fish is not installed");
    };
    reads.stdin.take().unwrap().write_all(&script("fish")).unwrap();
    let said = String::from_utf8(reads.wait_with_output().unwrap().stdout).unwrap();
    let words: Vec<&str> = said.lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(words, ["prove", "--deadline"], "{said}");
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
    assert_eq!(help.matches("Benchmark a kernel").count(), 1, "{help}");
}
