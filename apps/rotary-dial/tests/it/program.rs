//! Tests the binary with lines in memory.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rotary-dial"));
    // Real-time scheduling may be refused here; what is tested does not depend on it.
    command.arg("--allow-ordinary").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Creates a FIFO and holds it open, so that what is written to it is kept. Returns its path.
fn fifo(folder: &Path) -> (String, File) {
    let path = folder.join("rtp2");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let held = OpenOptions::new().read(true).write(true).open(&path).unwrap();
    (path.to_str().unwrap().into(), held)
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn line(held: File) -> String {
    let mut line = String::new();
    BufReader::new(held).read_line(&mut line).unwrap();
    line
}

#[test]
#[ignore = "live: timing"]
fn a_simulated_421_writes_d21_to_the_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = fifo(folder.path());
    let run = folder.path().join("run");
    let output = program().args(["--simulate", "421", "--to", &path, "--out", run.to_str().unwrap()]).output().unwrap();
    let printed = text(&output);
    assert!(printed.contains("sim: 421: d21\n") && printed.contains(": 1 written, 0 dropped"), "{printed}");
    assert_eq!(line(held), "d21\n");
    let recording = punctual_rundir::read(&run).unwrap();
    assert!(recording.run.complete && recording.damage.is_empty());
    let result = &recording.run.phases[0].cpus[0];
    assert_eq!(result.released, Some(result.ran + result.skipped.unwrap()));
    assert!(result.ran > 100);
    let again = program().args(["--line", "sim", "--to", &path, "--out", run.to_str().unwrap()]).output().unwrap();
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(4) && said.contains("is not empty"), "{said}");
}

#[test]
#[ignore = "live: timing"]
fn lines_of_a_file_have_their_own_maps_and_json_accounts_for_every_sample() {
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = fifo(folder.path());
    let config = folder.path().join("dial.toml");
    let lines =
        "[[line]]\nname = \"hall\"\nat = \"sim\"\n[[line]]\nname = \"cellar\"\nat = \"sim\"\nmap = \"sweden\"\n";
    std::fs::write(&config, format!("pipe = \"{path}\"\n{lines}[line.numbers]\n01 = \"a11\"\n")).unwrap();
    let mut command = program();
    command.args(["--simulate", "hall=420", "--simulate", "cellar=01", "--json", "--config"]).arg(&config);
    let printed = text(&command.output().unwrap());
    let events: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let commands: Vec<&str> = events
        .iter()
        .filter(|event| event["event"] == "command")
        .map(|event| event["detail"]["command"].as_str().unwrap())
        .collect();
    assert_eq!(commands, ["a11", "d20"]);
    assert_eq!(line(held), "a11\n");
    let report = events.last().unwrap();
    assert_eq!(report["event"], "report");
    assert_eq!(report["pipe"]["written"], 2);
    for line in report["lines"].as_array().unwrap() {
        assert_eq!(line["samples"].as_u64().unwrap() + line["unread"].as_u64().unwrap(), report["task"]["ran"]);
    }
    let task = |name: &str| report["task"][name].as_u64().unwrap();
    assert_eq!(task("released"), task("ran") + task("skipped"));
}

#[test]
fn sigusr1_reports_and_sigterm_ends_it_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rtp2");
    let mut child = program().args(["--line", "sim", "--to", path.to_str().unwrap()]).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    // The FIFO exists once the program is up; the program blocks signals before that.
    while !path.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    signal(&child, Signal::USR1);
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert!(first.starts_with("loop  ") && first.contains("released"), "{first}");
    signal(&child, Signal::TERM);
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(rest.matches("loop  ").count(), 1);
    assert!(!path.exists(), "the FIFO it made is removed");
}

#[test]
fn what_it_cannot_have_is_an_error_with_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rtp2").to_str().unwrap().to_owned();
    for (words, code, word) in [
        (&["--line", "gpiochip99:1"][..], 4, "gpiochip99"),
        (&["--line", "/dev/gpiochip-absent:1"], 4, "ls /dev/gpiochip*"),
        (&["--line", "no-such-line-anywhere"], 4, "no-such-line-anywhere"),
        (&["--simulate", "hall=421", "--line", "sim"], 2, "the configuration has no line hall"),
        (&["--simulate", "421", "--cpu", "8000"], 4, "CPU 8000"),
        (&["--simulate", "421", "--simulate", "420"], 2, "two dials"),
        (&["--simulate", "421", "--play-on", "gpiochip0:1"], 2, "--play-on"),
        (&[], 2, "--simulate 421"),
    ] {
        let output = program().args(["--to", &path]).args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && said.contains(word), "{words:?}: {output:?}");
    }
    let output = program().args(["--simulate", "1", "--to", "/nonexistent/folder/rtp2"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("ls -ld"), "{output:?}");
}

/// Runs the program as the user nobody, who has no permission to use real-time priorities.
#[test]
#[ignore = "live: root, timing"]
fn without_privilege_it_refuses_or_says_what_it_goes_on_without() {
    if !rustix::process::geteuid().is_root() {
        println!("not tested: giving up privileges needs root; run the tests as root");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let copy = folder.path().join("rotary-dial");
    std::fs::copy(env!("CARGO_BIN_EXE_rotary-dial"), &copy).unwrap();
    let path = folder.path().join("rtp2").to_str().unwrap().to_owned();
    let nobody = |words: &[&str]| {
        let mut command = Command::new(&copy);
        command.uid(65534).gid(65534).args(["--simulate", "1", "--number", "1=x", "--to", &path]).args(words);
        command.output().unwrap()
    };
    let refused = nobody(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(4), "{said}");
    assert!(said.contains("CAP_SYS_NICE") && said.contains("--allow-ordinary"), "{said}");
    let allowed = nobody(&["--allow-ordinary"]);
    let said = String::from_utf8_lossy(&allowed.stderr).into_owned();
    assert!(said.contains("runs as an ordinary program"), "{said}");
    assert!(text(&allowed).contains("1: x"), "{allowed:?}");
}

/// `cat rtp2 > rtp1`, as in the paper.
#[test]
#[ignore = "live: timing"]
fn the_shell_connects_the_pipe_with_another() {
    let folder = tempfile::tempdir().unwrap();
    let (transmitter, held) = fifo(folder.path());
    let path = folder.path().join("out");
    // Start the reader first: it waits for a writer, so a stalled machine cannot make it late.
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let script = format!("cat {} > {transmitter}", path.display());
    let mut cat = Command::new("sh").args(["-c", &script]).spawn().unwrap();
    let mut dial = program().args(["--line", "sim", "--simulate", "421", "--to"]).arg(&path).spawn().unwrap();
    assert!(cat.wait().unwrap().success());
    assert_eq!(line(held), "d21\n");
    assert!(dial.wait().unwrap().success());
}

#[test]
#[ignore = "live: timing"]
fn after_a_kill_the_pipe_is_taken_over_and_nothing_in_it_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (path, held) = fifo(folder.path());
    let config = ["--line", "sim", "--line", "played=sim", "--simulate", "played=421", "--to", &path];
    let mut child = program().args(config).spawn().unwrap();
    let mut printed = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(printed.by_ref().any(|line| line.unwrap() == "played: 421: d21"));
    // By then the bridge has been woken; the program would run for another 0.9 s.
    std::thread::sleep(std::time::Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    let output = program().args(["--simulate", "420", "--to", &path]).output().unwrap();
    assert!(text(&output).contains("sim: 420: d20"), "{output:?}");
    let mut lines = BufReader::new(held).lines();
    assert_eq!([lines.next().unwrap().unwrap(), lines.next().unwrap().unwrap()], ["d21", "d20"]);
}

/// The program accepts the options that the systemd unit passes to it.
#[test]
fn the_unit_starts_it_with_options_it_has() {
    let unit = include_str!("../../systemd/rotary-dial.service");
    let words = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let asked = rotary_dial::parse(words.split(' ').map(Into::into)).unwrap();
    assert!(
        matches!(asked, rotary_dial::Asked::Run(options) if options.config == Some("/etc/rotary-dial.toml".into()))
    );
}
