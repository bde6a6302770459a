//! `cargo trials unchanged`: changes the machine and runs other measurements during `prove`. The run must name each
//! change, and must not pass.

use crate::built::missing;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// Change the machine and measure during `prove`; the run must name each change, and must not pass; as root, with
/// cyclictest
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of rounds, each of which makes every change
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Number of runs without a change, which must pass
    #[arg(long, default_value_t = 10)]
    quiet: u32,
    /// Duration of each run, s
    #[arg(long, default_value_t = 6)]
    seconds: u64,
}

const RULE: &str = "sched-autogroup";
const FIXED: &str = "/proc/sys/kernel/sched_autogroup_enabled";
const GOVERNORS: &str = "/sys/devices/system/cpu/cpufreq";

enum Change {
    /// The tested program itself makes the change when it runs with these arguments, after it has run another command.
    Own { first: &'static [&'static str], words: &'static [&'static str], named: &'static str },
    /// A file's value is changed to whichever of the two values it does not already have.
    Value { path: String, values: [&'static str; 2] },
    /// The file that stands in for a CPU's scaling_governor is changed.
    Governor,
    /// Another program runs, and is stopped afterwards.
    Program { words: &'static [&'static str], named: &'static str },
    /// The priority of a kernel thread is changed.
    Thread,
}

const FIX: &[&str] = &["audit", "--look-again", "0s", "--fix", RULE, "--while-measuring"];
const TIMED: &[&str] = &["audit", "--look-again", "0s", "--confirm", "3s", "--fix", RULE];

fn changes() -> Vec<(&'static str, Change)> {
    use Change::{Governor, Own, Program, Thread, Value};
    let value = |path: &str, values| Value { path: path.to_owned(), values };
    vec![
        ("fix", Own { first: &["undo"], words: FIX, named: FIXED }),
        ("undo", Own { first: FIX, words: &["undo", "--while-measuring"], named: FIXED }),
        ("fix with a timer", Own { first: TIMED, words: &["undo", "--list"], named: "undo --confirm" }),
        (
            "second measurement",
            Own { first: &["undo"], words: &["measure", "-q", "-D", "1s"], named: "punctual measure" },
        ),
        ("cyclictest", Program { words: &["cyclictest", "-q", "-p", "80", "-D", "60"], named: "cyclictest -q" }),
        ("sysctl", value("/proc/sys/vm/stat_interval", ["1", "10"])),
        ("timer migration", value("/proc/sys/kernel/timer_migration", ["1", "0"])),
        ("IRQ affinity", value(&movable(), ["0", "1"])),
        ("governor", Governor),
        ("kernel thread", Thread),
    ]
}

/// Returns the number of an interrupt whose affinity can be changed.
fn movable() -> String {
    let paths = fs::read_dir("/proc/irq").into_iter().flatten().flatten();
    let mut paths = paths.map(|entry| entry.path().join("smp_affinity_list"));
    let takes = |path: &PathBuf| {
        let old = fs::read_to_string(path).unwrap_or_default();
        fs::write(path, "0").is_ok() && fs::write(path, "1").is_ok() && fs::write(path, old.trim()).is_ok()
    };
    paths.find(takes).map_or_else(|| "/proc/irq/default_smp_affinity".to_owned(), |path| path.display().to_string())
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|e| e.to_string())?;
    let trial = Trial { place: place.path(), seconds: wanted.seconds };
    let (mut passes, mut unnamed, mut all) = (0, Vec::new(), 0);
    for round in 0..wanted.rounds {
        for (name, change) in changes() {
            let (code, text, named) = trial.under(&change, &format!("{round}-{}", name.replace(' ', "-")))?;
            all += 1;
            passes += u32::from(code == Some(0));
            if code != Some(3) || !text.contains(&named) {
                unnamed.push(format!("{name}: {code:?}, `{named}` is not named"));
            }
            println!("{name}: {}", problems(&text));
        }
    }
    let mut quiet = 0;
    for n in 0..wanted.quiet {
        let (code, text) = trial.ended(trial.prove(&format!("quiet-{n}"))?, &format!("quiet-{n}"))?;
        quiet += u32::from(code == Some(0));
        if code != Some(0) {
            println!("without a change: {code:?}: {}", problems(&text));
        }
    }
    let refused = trial.refused()?;
    println!(
        "{} of {all} changes named, {passes} passed; {quiet} of {} runs without a change passed",
        all - unnamed.len(),
        wanted.quiet
    );
    println!("{refused} of 3 changes refused, naming the measurement, without --while-measuring");
    let is_fine = unnamed.is_empty() && passes == 0 && quiet == wanted.quiet && refused == 3;
    if is_fine { Ok(()) } else { Err(unnamed.join("\n")) }
}

/// Returns the problems in the record of a run.
fn problems(text: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(text).unwrap_or_default();
    let all = value["problems"].as_array().into_iter().flatten().filter_map(|problem| problem["text"].as_str());
    all.collect::<Vec<_>>().join("; ")
}

struct Trial<'a> {
    place: &'a Path,
    seconds: u64,
}

impl Trial<'_> {
    fn punctual(&self, words: &[&str]) -> Command {
        let mut command = Command::new(xtask::punctual());
        command.env("PUNCTUAL_CHANGES", self.place.join("changes")).args(words);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts `prove` in a mount namespace of its own, in which a directory stands in for the files of the frequency
    /// governors, which a guest does not have.
    fn prove(&self, name: &str) -> Result<Child, String> {
        let policy = self.place.join("cpufreq/policy0");
        fs::create_dir_all(&policy).map_err(|e| e.to_string())?;
        fs::write(policy.join("scaling_governor"), "performance\n").map_err(|e| e.to_string())?;
        let mut command = Command::new("unshare");
        let script = format!("mount --bind \"$1\" {GOVERNORS} && shift && exec \"$@\"");
        command
            .args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"])
            .arg(self.place.join("cpufreq"));
        command.arg(xtask::punctual()).args(["prove", "-q", "-D", &format!("{}s", self.seconds), "-l", "idle"]);
        command.args(["--trace", "never", "-c", "max < 10s", "--out"]).arg(self.place.join(name));
        command.env("PUNCTUAL_CHANGES", self.place.join("changes")).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().map_err(|e| format!("unshare: {e}"))
    }

    /// Waits for the run. Returns its exit code and its record.
    fn ended(&self, mut child: Child, name: &str) -> Result<(Option<i32>, String), String> {
        let code = child.wait().map_err(|e| e.to_string())?.code();
        Ok((code, fs::read_to_string(self.place.join(name).join("run.json")).unwrap_or_default()))
    }

    /// Returns the exit code and the record of a run during a change, and the text with which the record must name the
    /// change.
    fn under(&self, change: &Change, name: &str) -> Result<(Option<i32>, String, String), String> {
        let failed = |e: std::io::Error| missing(&xtask::punctual(), &e);
        if let Change::Own { first, .. } = change {
            self.punctual(first).status().map_err(failed)?;
        }
        let proving = self.prove(name)?;
        sleep(Duration::from_secs(self.seconds).mul_f64(0.4));
        let write = |path: &str, text: &str| fs::write(path, text).map_err(|e| format!("{path}: {e}"));
        match change {
            Change::Own { words, named, .. } => {
                self.punctual(words).status().map_err(failed)?;
                let ended = self.ended(proving, name)?;
                self.punctual(&["undo"]).status().map_err(failed)?;
                Ok((ended.0, ended.1, (*named).to_owned()))
            }
            Change::Value { path, values } => {
                let old = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
                let new = values.iter().find(|value| **value != old.trim()).unwrap_or(&values[0]);
                write(path, new)?;
                let ended = self.ended(proving, name)?;
                write(path, old.trim())?;
                Ok((ended.0, ended.1, format!("{path}: {} → {new}", old.trim())))
            }
            Change::Governor => {
                let file = self.place.join("cpufreq/policy0/scaling_governor");
                write(&file.display().to_string(), "powersave\n")?;
                let (code, text) = self.ended(proving, name)?;
                Ok((code, text, format!("{GOVERNORS}/policy0/scaling_governor: performance → powersave")))
            }
            Change::Program { words, named } => {
                let mut other = Command::new(words[0]);
                let mut other =
                    other.args(&words[1..]).stdout(Stdio::null()).spawn().map_err(|e| format!("{}: {e}", words[0]))?;
                let ended = self.ended(proving, name);
                let _ = other.kill();
                other.wait().map_err(|e| e.to_string())?;
                let (code, text) = ended?;
                Ok((code, text, (*named).to_owned()))
            }
            Change::Thread => {
                let pid = kernel_thread("ksoftirqd/0").ok_or("ksoftirqd/0 was not found")?;
                let set = |policy: &[&str]| {
                    Command::new("chrt").args(policy).arg(&pid).status().map_err(|e| format!("chrt: {e}"))
                };
                set(&["-f", "-p", "1"])?;
                let ended = self.ended(proving, name);
                set(&["-o", "-p", "0"])?;
                let (code, text) = ended?;
                Ok((code, text, format!("ksoftirqd/0 (PID {pid}): SCHED_OTHER → SCHED_FIFO 1")))
            }
        }
    }

    /// Returns how many of fix, undo and tune are refused with a message that names the PID of a running measurement.
    /// That run must nevertheless pass.
    fn refused(&self) -> Result<usize, String> {
        let proving = self.prove("refused")?;
        sleep(Duration::from_secs(self.seconds).mul_f64(0.3));
        let pid = format!("PID {}", proving.id());
        let words: [&[&str]; 3] = [&FIX[..FIX.len() - 1], &["undo"], &["tune", "--time-limit", "1m"]];
        let mut refused = 0;
        for words in words {
            let output = self.punctual(words).stderr(Stdio::piped()).output().map_err(|e| e.to_string())?;
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_named = text.contains(&pid) && output.status.code() == Some(4);
            refused += usize::from(is_named);
            println!("{}: {}", words[0], text.trim());
        }
        let (code, text) = self.ended(proving, "refused")?;
        if code == Some(0) { Ok(refused) } else { Err(format!("the undisturbed run: {code:?}: {}", problems(&text))) }
    }
}

fn kernel_thread(name: &str) -> Option<String> {
    let pids = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut pids = pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    pids.find(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name))
}
