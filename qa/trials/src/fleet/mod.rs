//! `cargo trials fleet`: runs the Ansible role on boards that are network namespaces, each with an sshd. One run is
//! killed, and one board is disconnected during its run. Needs root, sshd, ip(8) and ansible-core.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SCRIPT: &str = include_str!("boards.sh");
const BOARDS: usize = 8;

/// Run the Ansible role on 8 boards, with one run killed and one board disconnected; needs root
///
/// Boards are network namespaces, each with an sshd.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// New folder for the records
    #[arg(long, value_name = "DIR", default_value = "target/fleet")]
    out: PathBuf,
    /// Ansible program
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::tools_dir().with_file_name("ansible-venv").join("bin/ansible-playbook"))]
    ansible: PathBuf,
    /// Measurement time of each board, s
    #[arg(long, value_name = "N", default_value_t = 30)]
    seconds: u32,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let Wanted { punctual, out, ansible, seconds } = wanted;
    needed(ansible)?;
    fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    if fs::read_dir(out).map_err(|e| e.to_string())?.next().is_some() {
        return Err(format!("{} is not empty: give a new folder with --out", out.display()));
    }
    let at = |path: &Path| path.canonicalize().map_err(|e| format!("{}: {e}", path.display()));
    let role = at(&xtask::root().join("integrations/ansible"))?;
    let script = out.join("boards.sh");
    fs::write(&script, SCRIPT).map_err(|e| format!("{}: {e}", script.display()))?;
    let mut command = Command::new("bash");
    command.arg(at(&script)?).arg(at(punctual)?).arg(at(out)?).arg(role).arg(ansible);
    command.arg(BOARDS.to_string()).arg(seconds.to_string());
    let done = command.output().map_err(|e| format!("bash: {e}"))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    print!("{text}");
    score(&text, out, punctual)
}

fn needed(ansible: &Path) -> Result<(), String> {
    let advice =
        "python3 -m venv ~/.cache/punctual/ansible-venv && ~/.cache/punctual/ansible-venv/bin/pip install ansible-core";
    if !ansible.exists() {
        return Err(format!("{} is missing: {advice}", ansible.display()));
    }
    for tool in ["/usr/sbin/sshd", "/usr/bin/unshare"] {
        if !Path::new(tool).exists() {
            return Err(format!("{tool} is missing: apt-get install openssh-server util-linux"));
        }
    }
    Ok(())
}

/// Checks for six complete runs, one resumed run, one that was killed and reported, and one report of all runs.
fn score(text: &str, out: &Path, punctual: &Path) -> Result<(), String> {
    let outcome = |n: usize| {
        let name = format!("board-{n}: ");
        text.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or("no outcome").to_owned()
    };
    let complete = (1..=BOARDS - 2).filter(|n| outcome(*n) == "complete").count();
    let (killed, cut) = (outcome(BOARDS - 1), outcome(BOARDS));
    let lines = fs::read_to_string(out.join("results/fleet.jsonl")).unwrap_or_default();
    let hosts: std::collections::BTreeSet<String> = lines.lines().filter_map(host).collect();
    println!(
        "{complete} of {} complete; killed: {killed}; cut off: {cut}; {} boards in one report of {}",
        BOARDS - 2,
        hosts.len(),
        punctual.display()
    );
    let is_reached =
        complete == BOARDS - 2 && killed.starts_with("killed") && cut.contains("resumed") && hosts.len() == BOARDS;
    match is_reached && out.join("results/fleet.html").exists() {
        true => Ok(()),
        false => Err(format!("the fleet does not meet its expectations: see {}", out.join("play.log").display())),
    }
}

fn host(line: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(value.get("host")?.as_str()?.to_owned())
}
