//! `cargo trials soak`: runs the checks that take minutes to hours, one after another, with a log for each and a table
//! at the end.

use clap::builder::{PossibleValue, PossibleValuesParser};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

const LOGS: &str = "target/soak";

/// A long check. Its commands run in order until one fails.
struct Job {
    name: &'static str,
    shows: &'static str,
    /// Duration on a machine of 2023 with two cores, min.
    minutes: u32,
    /// Arguments of `cargo` for each command.
    commands: &'static [&'static [&'static str]],
}

const RELEASE: &[&str] = &["build", "--release"];

/// A check whose requirements are not met is not skipped: it fails and names the missing package.
const JOBS: &[Job] = &[
    Job {
        name: "tasks",
        shows: "a million releases with injected stalls: overruns are exact, no allocation, no page fault",
        minutes: 2,
        commands: &[&[
            "test",
            "-p",
            "punctual-rt",
            "--test",
            "it",
            "--",
            "--ignored",
            "--nocapture",
            "tasks::a_million_releases_are_exact",
        ]],
    },
    Job {
        name: "inversion",
        shows: "a PI mutex ends the inversions of a plain one, median of 20",
        minutes: 2,
        commands: &[&[
            "test",
            "-p",
            "punctual-rt",
            "--test",
            "it",
            "--",
            "--ignored",
            "--nocapture",
            "inversion::the_bar_of_20_ms_and_200_ms",
        ]],
    },
    Job {
        name: "exact",
        shows: "the event suite counts exactly what a mock does to 1e8 events",
        minutes: 4,
        commands: &[&[
            "test",
            "--release",
            "-p",
            "punctual-events",
            "--test",
            "it",
            "--",
            "--ignored",
            "exact::what_goes_wrong_of_a_million_is_counted_exactly",
        ]],
    },
    Job {
        name: "queens",
        shows: "N queens counted for N = 17 to 19 on every kernel this machine supports",
        minutes: 5,
        commands: &[&["test", "-p", "punctual-queens", "--", "--ignored"]],
    },
    Job {
        name: "stats",
        shows: "fits and arrivals over many draws",
        minutes: 10,
        commands: &[&["test", "--release", "-p", "punctual-stats", "--", "--ignored"]],
    },
    Job {
        name: "boot-tools",
        shows: "the distribution's own boot tools on fixtures (needs grub-common and u-boot-menu)",
        minutes: 1,
        commands: &[&["test", "-p", "punctual-boot", "--test", "it", "--", "--ignored", "tools::"]],
    },
    Job {
        name: "load",
        shows: "the event suite for 5 minutes under every load",
        minutes: 7,
        commands: &[
            RELEASE,
            &[
                // All tests that need no wire, by name: a test that cannot run here would make the exit code 3.
                "run",
                "--release",
                "--",
                "events",
                "periodic-100us",
                "periodic-1ms",
                "periodic-10ms",
                "periodic-100ms",
                "periodic-1s",
                "alarms",
                "page-faults",
                "pi-inversion",
                "priority-order",
                "fifo-order",
                "rr-order",
                "queue",
                "rt-pipe",
                "timerfd",
                "eventfd",
                "pipe",
                "pty",
                "rt-signal",
                "signal",
                "udp",
                "--under",
                "all",
                "-D",
                "5m",
                "--out",
                "target/soak/load.run",
            ],
        ],
    },
    Job {
        name: "kill",
        shows: "kill -9 at 100 random times: every run is readable, at most 10 s are lost",
        minutes: 40,
        commands: &[RELEASE, &["trials", "kill"]],
    },
    Job {
        name: "kill-fix",
        shows: "kill -9 at 200 random times during `audit --fix`, then undo: every value is as before",
        minutes: 10,
        commands: &[RELEASE, &["trials", "kill-fix"]],
    },
    Job { name: "lab", shows: "the lab against real kernels", minutes: 15, commands: &[RELEASE, &["trials", "lab"]] },
    Job {
        name: "gpio",
        shows: "GPIO lines in a kernel with gpio-sim, which is built first",
        minutes: 12,
        commands: &[
            &["trials", "gpio-kernel"],
            &["build", "--release", "-p", "punctual-gpio", "--features", "sim"],
            RELEASE,
            &["trials", "lab", "gpio"],
        ],
    },
    Job {
        name: "events",
        shows: "the event suite in the RT, the stock and the gpio-sim kernel",
        minutes: 16,
        commands: &[&["trials", "gpio-kernel"], RELEASE, &["trials", "lab", "events"]],
    },
    Job {
        name: "apps",
        shows: "the applications on simulated lines: every code decoded under load, dial to radio, the paper's table",
        minutes: 25,
        commands: &[
            &["trials", "gpio-kernel"],
            &[
                "build",
                "--release",
                "-p",
                "punctual-rf-switch",
                "-p",
                "punctual-rotary-dial",
                "-p",
                "punctual-metronome",
            ],
            RELEASE,
            &["trials", "lab", "apps"],
        ],
    },
    Job {
        name: "pi",
        shows: "a small RT kernel is planned, fetched, built and packaged, and its cards boot on raspi3b and raspi4b",
        minutes: 20,
        commands: &[RELEASE, &["trials", "pi"]],
    },
    Job {
        name: "watch",
        shows: "`watch` for 2 hours beside loads and injected maxima: memory, files, CPU time, every maximum named",
        minutes: 122,
        commands: &[RELEASE, &["trials", "watch", "--hours", "2", "--out", "target/soak/watch.run"]],
    },
    Job {
        name: "boots",
        shows: "trial boots and power cuts with OVMF and GRUB",
        minutes: 90,
        commands: &[RELEASE, &["trials", "boots"]],
    },
    Job {
        name: "deb",
        shows: "packages in fresh Debian roots: install, measure, purge, nothing is left",
        minutes: 40,
        commands: &[&["xtask", "deb", "all"], &["xtask", "deb-check", "all"]],
    },
    Job {
        name: "consumers",
        shows: "every format is accepted by its consumers: promtool, LAVA, KCIDB, … (reports which are missing: docs/formats.md)",
        minutes: 1,
        commands: &[RELEASE, &["xtask", "consumers"]],
    },
    Job {
        name: "integrations",
        shows: "the examples of integrations/ run with podman, lava-run and labgrid (reports which are missing)",
        minutes: 3,
        commands: &[RELEASE, &["trials", "integrations"]],
    },
    Job {
        name: "fleet",
        shows: "the Ansible role on 8 boards, with one run killed and one board disconnected",
        minutes: 3,
        commands: &[RELEASE, &["trials", "fleet"]],
    },
    Job {
        name: "deploy",
        shows: "kernels tried with OVMF and GRUB: good ones are committed, bad ones rolled back, 20 of 20",
        minutes: 600,
        commands: &[RELEASE, &["trials", "deploy", "--runs", "20"]],
    },
    Job {
        name: "deploy-cut",
        shows: "a deployment over ssh interrupted at 20 random points, with the guest restarted each time: it always boots",
        minutes: 60,
        commands: &[RELEASE, &["trials", "deploy", "--jobs", "2", "cut"]],
    },
    Job {
        name: "hangs",
        shows: "every child and peer stopped or starved in turn: each command ends at most 10 s after its time",
        minutes: 15,
        commands: &[RELEASE, &["trials", "hangs"]],
    },
    Job {
        name: "scarce",
        shows: "every command with 3 to 8 processes, 16 to 32 descriptors, 4 to 32 MiB, 16 KiB to 1 MiB of disk: no panic, no hang",
        minutes: 20,
        commands: &[RELEASE, &["trials", "scarce"]],
    },
    Job {
        name: "faults",
        shows: "the rows of docs/reliability.md without a separate command",
        minutes: 10,
        commands: &[RELEASE, &["trials", "faults"]],
    },
    Job {
        name: "fuzz",
        shows: "mutated inputs for every reader, a million each for the fast ones",
        minutes: 60,
        commands: &[&["trials", "fuzz"]],
    },
    Job {
        name: "guided",
        shows: "10 million coverage-guided executions per reader, resumed where the last run ended (needs g++; slow readers take days)",
        minutes: 600,
        commands: &[&["trials", "fuzz", "guided", "--executions", "10_000_000", "--jobs", "2", "--minutes", "600"]],
    },
    Job {
        name: "deny",
        shows: "advisories, licences, duplicate versions and sources of every dependency (needs cargo-deny and a network)",
        minutes: 1,
        commands: &[&["deny", "check"]],
    },
];

/// Run the long checks one after another, with a log for each
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// List the checks and their durations instead of running any
    #[arg(long)]
    list: bool,
    /// Checks to run; all by default
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(JOBS.iter().map(|job| PossibleValue::new(job.name).help(job.shows))))]
    names: Vec<String>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if wanted.list {
        JOBS.iter().for_each(|job| println!("{:<12} {:>3} min  {}", job.name, job.minutes, job.shows));
        return Ok(());
    }
    let names = &wanted.names;
    let jobs = JOBS.iter().filter(|job| names.is_empty() || names.iter().any(|name| name == job.name));
    fs::create_dir_all(LOGS).map_err(|e| format!("cannot create {LOGS}: {e}"))?;
    let mut failed = Vec::new();
    for job in jobs {
        println!("{:<12} {} (about {} min)", job.name, job.shows, job.minutes);
        let start = Instant::now();
        let result = carry_out(job);
        println!("{}", outcome(job, &result, start.elapsed()));
        if result.is_err() {
            failed.push(job.name);
        }
    }
    match failed.as_slice() {
        [] => Ok(()),
        names => Err(format!("failed: {}; the logs are in {LOGS}", names.join(", "))),
    }
}

fn outcome(job: &Job, result: &Result<(), String>, took: Duration) -> String {
    let (minutes, seconds) = (took.as_secs() / 60, took.as_secs() % 60);
    match result {
        Ok(()) => format!("{:<12} ok, {minutes} min {seconds} s", job.name),
        Err(why) => format!("{:<12} FAILED after {minutes} min {seconds} s: {why}", job.name),
    }
}

fn carry_out(job: &Job) -> Result<(), String> {
    // A run directory from an earlier soak would be refused.
    let run = Path::new(LOGS).join(format!("{}.run", job.name));
    if run.exists() {
        fs::remove_dir_all(&run).map_err(|e| format!("cannot remove {}: {e}", run.display()))?;
    }
    let path = Path::new(LOGS).join(format!("{}.log", job.name));
    let log = File::create(&path).map_err(|e| format!("cannot create {}: {e}", path.display()))?;
    job.commands.iter().try_for_each(|words| command(words, &log, &path))
}

fn command(words: &[&str], log: &File, path: &Path) -> Result<(), String> {
    let shared = || log.try_clone().map_err(|e| format!("cannot share {}: {e}", path.display()));
    let (program, words) = match words {
        ["trials", rest @ ..] => {
            (std::env::current_exe().map_err(|e| format!("cannot find the path of this program: {e}"))?, rest)
        }
        _ => (PathBuf::from("cargo"), words),
    };
    let status = Command::new(&program).args(words).stdout(shared()?).stderr(shared()?).status();
    let failed =
        |what: String| Err(format!("`{} {}` {what}: see {}", program.display(), words.join(" "), path.display()));
    match status {
        Ok(status) if ExitStatus::success(&status) => Ok(()),
        Ok(status) => failed(format!("ended with {status}")),
        Err(e) => failed(format!("cannot start it: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn names_are_different() {
        for job in JOBS {
            assert_eq!(JOBS.iter().filter(|other| other.name == job.name).count(), 1, "{}", job.name);
        }
    }

    #[test]
    fn commands_name_trials_tasks_and_tests_that_there_are() {
        for words in JOBS.iter().flat_map(|job| job.commands) {
            match words {
                ["trials", ..] => drop(crate::Arguments::try_parse_from(*words).unwrap()),
                ["xtask", ..] => drop(xtask::Arguments::try_parse_from(*words).unwrap()),
                ["test", ..] => {
                    let package = words.iter().skip_while(|word| **word != "-p").nth(1).unwrap();
                    let folder = folder_of(package);
                    assert!(!words.contains(&"--test") || folder.join("tests/it/main.rs").exists(), "{words:?}");
                    for (module, name) in words.iter().filter_map(|filter| filter.split_once("::")) {
                        let file = folder.join("tests/it").join(module).with_extension("rs");
                        assert!(fs::read_to_string(file).unwrap().contains(&format!("fn {name}")), "{words:?}");
                    }
                }
                _ => {}
            }
        }
    }

    fn folder_of(package: &str) -> PathBuf {
        let manifest: toml::Table = fs::read_to_string(xtask::root().join("Cargo.toml")).unwrap().parse().unwrap();
        xtask::root().join(manifest["workspace"]["dependencies"][package]["path"].as_str().unwrap())
    }
}
