//! Plans commands of rules whose inverse is known. They are never run through a shell.

use super::Request;
use super::places::Places;
use crate::carry::Doing;
use punctual_audit::Offers;
use punctual_model::{Argv, Back, Command};
use punctual_units::{CpuList, Priority, Scheduling};
use std::path::{Path, PathBuf};

/// # Errors
/// The reason why the command is left to the user.
pub(super) fn steps(request: &Request, places: &Places, rule: &str, line: &str) -> Result<Vec<Doing>, String> {
    let steps = resolved(request, places, rule, line)?;
    match super::init::missing(request.sys, &steps) {
        Some(why) => Err(why),
        None => Ok(steps),
    }
}

fn resolved(request: &Request, places: &Places, rule: &str, line: &str) -> Result<Vec<Doing>, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        ["systemctl", rest @ ..] => units(request, rule, rest),
        ["dmesg", "-n", level] => {
            let path = PathBuf::from("/proc/sys/kernel/printk");
            Ok(vec![Doing::Value { path, new: (*level).to_owned() }])
        }
        ["modprobe", module] => module_step(request, module, true),
        ["modprobe", "-r", module] => module_step(request, module, false),
        ["swapoff", "-a"] => swaps(request),
        ["chrt", "-f", "-p", priority, "TID"] => {
            let tid = number(&places.fill("TID")?)?;
            let priority =
                Priority::try_from(u8::try_from(number(priority)?).unwrap_or(0)).map_err(|e| e.to_string())?;
            Ok(vec![Doing::Scheduling { pid: tid, tid, new: Scheduling::Fifo { priority } }])
        }
        ["taskset", "-pc", cpus, "TID"] => {
            let tid = number(&places.fill("TID")?)?;
            let new: CpuList = places.fill(cpus)?.parse().map_err(|e: punctual_units::CpuListError| e.to_string())?;
            Ok(vec![Doing::Affinity { pid: tid, tid, new }])
        }
        _ => Err("cannot be undone: its inverse is unknown".to_owned()),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number"))
}

fn run(argv: Argv, back: Argv, lasting: bool) -> Doing {
    Doing::Run { command: Command { argv, back: Back::By(back), rewrites: Vec::new(), draft: None }, lasting }
}

/// Plans systemctl's `disable`, `mask` and `stop`, with or without `--now`. Only units that are not yet in that state
/// are changed, so that undo restores only these.
fn units(request: &Request, rule: &str, words: &[&str]) -> Result<Vec<Doing>, String> {
    let Some((verb @ ("disable" | "mask" | "stop"), rest)) = words.split_first().map(|(verb, rest)| (*verb, rest))
    else {
        return Err("cannot be undone: its inverse is unknown".to_owned());
    };
    if request.sys.lacks("systemctl") {
        let other = super::init::Init::of(request.sys).without_systemd();
        return Err(other.unwrap_or_else(|| "the program `systemctl` is not installed".to_owned()));
    }
    let is_now = verb == "stop" || rest.contains(&"--now");
    let mut names: Vec<String> =
        rest.iter().filter(|word| !word.starts_with('-')).map(|word| (*word).to_owned()).collect();
    if names.iter().any(|name| name == "NAME") {
        let found = request.rules.elements(rule, "units", request.machine, request.context, Offers::default());
        names = found.iter().filter_map(|text| text.split_whitespace().next()).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
    }
    if names.is_empty() || !names.iter().all(|name| is_unit(name)) {
        return Err("cannot tell which timers are enabled".to_owned());
    }
    let mut steps = Vec::new();
    for name in &names {
        let enabled = ask(request, "is-enabled", name)?;
        if enabled.is_empty() || enabled == "not-found" {
            continue;
        }
        if is_now && ask(request, "is-active", name)? == "active" {
            steps.push(run(systemctl("stop", name), systemctl("start", name), false));
        }
        match verb {
            "disable" if enabled == "enabled" => {
                steps.push(run(systemctl(verb, name), systemctl("enable", name), true))
            }
            "mask" if !enabled.starts_with("masked") => {
                steps.push(run(systemctl(verb, name), systemctl("unmask", name), true))
            }
            _ => {}
        }
    }
    Ok(steps)
}

fn is_unit(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c))
}

fn systemctl(verb: &str, unit: &str) -> Argv {
    Argv::new(["systemctl", verb, unit])
}

/// Returns the first word of systemctl's answer to a query, which changes nothing. Before version 252, `is-enabled`
/// printed nothing about a unit that does not exist.
fn ask(request: &Request, question: &str, unit: &str) -> Result<String, String> {
    let command = systemctl(question, unit);
    let ran = request.sys.run(&command).map_err(|e| format!("systemctl: {e}"))?;
    match ran.output.split_whitespace().next() {
        Some(word) => Ok(word.to_owned()),
        None if question == "is-enabled" && ran.complaint.contains("No such file") => Ok(String::new()),
        None => Err(format!("`{}` gives no answer: {}", command.line(), ran.complaint)),
    }
}

fn module_step(request: &Request, module: &str, load: bool) -> Result<Vec<Doing>, String> {
    let is_loaded = request.sys.look(&Path::new("/sys/module").join(module.replace('-', "_"))).is_ok();
    let (insert, remove) = (Argv::new(["modprobe", module]), Argv::new(["modprobe", "-r", module]));
    Ok(match (load, is_loaded) {
        (true, false) => vec![run(insert, remove, false)],
        (false, true) => vec![run(remove, insert, false)],
        _ => Vec::new(),
    })
}

/// Plans to disable each swap area separately, so that its priority can be restored (proc_swaps(5)).
fn swaps(request: &Request) -> Result<Vec<Doing>, String> {
    let swaps = request.sys.read(Path::new("/proc/swaps")).map_err(|e| format!("/proc/swaps: {e}"))?;
    let swaps = String::from_utf8_lossy(&swaps).into_owned();
    let step = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, priority) = (words.first()?.replace("\\040", " "), words.get(4)?);
        let back = match priority.starts_with('-') {
            // Negative priorities are assigned by the kernel, in the order of activation.
            true => Argv::new(["swapon", name.as_str()]),
            false => Argv::new(["swapon", "-p", priority, name.as_str()]),
        };
        Some(run(Argv::new(["swapoff", name.as_str()]), back, false))
    };
    Ok(swaps.lines().skip(1).filter_map(step).collect())
}
