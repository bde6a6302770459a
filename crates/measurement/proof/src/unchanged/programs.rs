//! Recognizes other programs that measure latency or load the machine, by name.

use std::collections::BTreeMap;
use std::fs;

/// Measuring programs of rt-tests and of the kernel's tools/tracing/rtla, and rteval, which starts them.
const MEASURE: &[&str] = &[
    "cyclicdeadline",
    "cyclictest",
    "deadline_test",
    "hwlatdetect",
    "hwnoise",
    "osnoise",
    "oslat",
    "pmqtest",
    "ptsematest",
    "queuelat",
    "rt-migrate-test",
    "rteval",
    "rtla",
    "signaltest",
    "sigwaittest",
    "ssdd",
    "svsematest",
    "timerlat",
];

const LOAD: &[&str] = &["hackbench", "pi_stress", "pip_stress", "stress", "stress-ng", "stressapptest"];

/// Commands of this program that measure. They are normally registered, unless the register cannot be shared with them.
const OURS: &[&str] = &["bench", "cyclictest", "events", "measure", "prove", "sched", "selftest", "tune", "watch"];

#[derive(Default)]
pub(super) struct Programs {
    /// Processes already reported.
    seen: Vec<u32>,
}

struct Process {
    parent: u32,
    words: Vec<String>,
}

impl Programs {
    /// Returns measuring programs and loads that were not reported before, except this process, its ancestors and its
    /// descendants. `known` are processes that are reported elsewhere.
    pub fn look(&mut self, known: &[u32]) -> (Vec<String>, Vec<String>) {
        let processes = processes();
        let own = std::process::id();
        let (mut measuring, mut loading) = (Vec::new(), Vec::new());
        for (pid, process) in &processes {
            let Some((name, measures)) = program(&process.words) else { continue };
            // The processes of one load count as one program.
            let is_part = processes.get(&process.parent).is_some_and(|parent| program(&parent.words).is_some());
            let is_ours = is_below(&processes, *pid, own) || is_below(&processes, own, *pid);
            if is_part || is_ours || known.contains(pid) || self.seen.contains(pid) {
                continue;
            }
            self.seen.push(*pid);
            let text = format!("PID {pid} (`{}`)", shown(&process.words, name));
            if measures { measuring.push(text) } else { loading.push(text) }
        }
        (measuring, loading)
    }
}

/// Returns the name of the program, and whether it measures. The name is the program's own name or, for an interpreter,
/// the name of the script that it runs. `None` for other programs.
fn program(words: &[String]) -> Option<(&str, bool)> {
    let name = |word: &String| word.rsplit('/').next().map(|name| name.trim_start_matches('-').to_owned());
    let names: Vec<String> = words.iter().take(2).filter_map(name).collect();
    let is_interpreter = names.first().is_some_and(|name| name.starts_with("python") || name == "sh" || name == "bash");
    let of = |list: &[&'static str]| {
        let asked = if is_interpreter { names.get(1) } else { names.first() };
        list.iter().find(|known| asked.is_some_and(|name| name == *known)).copied()
    };
    if names.first().is_some_and(|name| name == "punctual") {
        // The command measures another machine, or starts a local process that is checked separately.
        if words.iter().any(|word| word == "--target" || word.starts_with("--target=")) {
            return None;
        }
        return OURS.iter().find(|command| words.get(1).is_some_and(|word| word == *command)).map(|name| (*name, true));
    }
    of(MEASURE).map(|name| (name, true)).or_else(|| of(LOAD).map(|name| (name, false)))
}

fn shown(words: &[String], name: &str) -> String {
    let line: String = words.join(" ").chars().filter(|c| !c.is_control()).take(100).collect();
    if line.is_empty() { name.to_owned() } else { line }
}

/// Returns true if the process is a descendant of `above`.
fn is_below(processes: &BTreeMap<u32, Process>, pid: u32, above: u32) -> bool {
    let mut at = pid;
    // The number of processes limits the iterations, because parents may change while they are read.
    for _ in 0..processes.len() {
        if at == above {
            return true;
        }
        match processes.get(&at) {
            Some(process) => at = process.parent,
            None => return false,
        }
    }
    false
}

fn processes() -> BTreeMap<u32, Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let process = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Some((pid, Process { parent, words }))
    };
    pids.filter_map(process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<(String, bool)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        program(&words).map(|(name, measures)| (name.to_owned(), measures))
    }

    #[test]
    fn programs_are_known_by_their_names() {
        for (line, measures) in [
            ("/usr/bin/cyclictest -m", Some(true)),
            ("python3 /usr/sbin/hwlatdetect", Some(true)),
            ("rtla timerlat top", Some(true)),
            ("stress-ng --cpu 2", Some(false)),
            ("punctual watch", Some(true)),
            ("/x/punctual prove -D 1s", Some(true)),
            ("punctual report run", None),
            ("punctual measure --target ssh://pi", None),
            ("vim cyclictest", None),
            ("cyclictest.sh", None),
            ("", None),
        ] {
            assert_eq!(of(line).map(|(_, measures)| measures), measures, "{line}");
        }
    }

    #[test]
    fn what_is_started_here_is_ours() {
        let process = |parent| Process { parent, words: Vec::new() };
        let all =
            [(1, process(0)), (5, process(1)), (6, process(5)), (7, process(6)), (8, process(9)), (9, process(8))];
        let all = BTreeMap::from(all);
        assert!(is_below(&all, 7, 5) && is_below(&all, 5, 5) && is_below(&all, 7, 1));
        assert!(!is_below(&all, 5, 7) && !is_below(&all, 8, 5), "a loop ends");
    }

    #[test]
    fn a_program_is_named_once() {
        let mut child = std::process::Command::new("sleep");
        std::os::unix::process::CommandExt::arg0(&mut child, "cyclictest");
        let mut child = child.arg("5").spawn().unwrap();
        let processes = processes();
        assert!(is_below(&processes, child.id(), std::process::id()));
        assert!(processes.contains_key(&std::process::id()));
        // The process belongs to this program and is not reported.
        let (measuring, _) = Programs::default().look(&[]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!measuring.iter().any(|text| text.contains(&format!("PID {} ", child.id()))), "{measuring:?}");
    }
}
