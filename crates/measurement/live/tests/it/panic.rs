//! Checks that a panic anywhere in the program restores the terminal before it is reported. The test runs itself again
//! in a pseudo-terminal (pty(7)).

use punctual_live::{Settings, View};
use rustix::io::read;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs::OpenOptions;
use std::process::{Command, Stdio};

const INSIDE: &str = "PUNCTUAL_LIVE_PANICS";

#[test]
#[ignore = "live: devpts, timing"]
fn a_panic_gives_the_terminal_back() {
    if std::env::var_os(INSIDE).is_some() {
        return panics();
    }
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap().into_string().unwrap();
    let open = || OpenOptions::new().read(true).write(true).open(&name).unwrap();
    let terminal = open();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "panic::a_panic_gives_the_terminal_back", "--ignored", "--nocapture"])
        .env(INSIDE, "1")
        .env("TERM", "xterm")
        .stdin(Stdio::from(open()))
        .stderr(Stdio::from(open()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut seen, mut bytes) = (String::new(), [0u8; 4096]);
    while !seen.contains("gone wrong") {
        let n = read(&screen, &mut bytes).unwrap();
        seen.push_str(&String::from_utf8_lossy(&bytes[..n]));
    }
    assert!(!child.wait().unwrap().success());
    let (taken, back) = (seen.find("\x1b[?1049h").unwrap(), seen.find("\x1b[?1049l").unwrap());
    assert!(taken < back && back < seen.find("gone wrong").unwrap(), "{seen:?}");
    assert!(tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
}

fn panics() {
    let mut view = View::new(&Settings { command: "measure".into(), ..Settings::default() }).unwrap();
    view.phase_starts(1, 1, "idle");
    std::thread::sleep(std::time::Duration::from_millis(700));
    panic!("gone wrong");
}
