//! `cargo xtask faults`: the faults that measuring tools break by, each planted, and what has to hold then. Writes docs/reliability.md.

mod guests;
mod links;
mod page;
mod signals;
mod watch_writes;
mod watching;
mod writes;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

pub(super) const PUNCTUAL: &str = "target/release/punctual";

/// How a row of the table is tried.
pub(super) enum How {
    /// Here; gives the figures.
    Here(fn(&Path) -> Result<String, String>),
    /// By another command, whose figures are written into the page by hand.
    By(&'static str),
}

/// A fault, and what must hold when it comes.
pub(super) struct Fault {
    pub number: u32,
    pub name: &'static str,
    pub fault: &'static str,
    pub reach: &'static str,
    pub how: How,
}

/// The table.
pub(super) const FAULTS: [Fault; 19] = [
    Fault {
        number: 1,
        name: "kill",
        fault: "SIGKILL at random instants",
        reach: "at most 10 s of samples lost, every run readable, nothing left running",
        how: How::By("cargo xtask kill 1000"),
    },
    Fault {
        number: 2,
        name: "signals",
        fault: "SIGINT, SIGTERM, SIGHUP, SIGQUIT",
        reach: "a readable result that says it is not complete, within 1 s, exit code 128 + n, 100 of 100",
        how: How::Here(signals::run),
    },
    Fault {
        number: 3,
        name: "writes",
        fault: "ENOSPC, EIO, EROFS at every write",
        reach: "never a panic; exit code not 0 or the result whole and readable; an earlier result untouched",
        how: How::Here(writes::run),
    },
    Fault {
        number: 4,
        name: "fixes",
        fault: "SIGKILL at any step of a fix or its undo",
        reach: "after the next start every value is as before, byte for byte",
        how: How::By("cargo xtask kill-fix 200; cargo xtask boots kill chroot"),
    },
    Fault {
        number: 5,
        name: "kernels",
        fault: "a kernel or boot configuration that does not come up",
        reach: "returns to the old one by itself, 20 of 20",
        how: How::By("cargo xtask deploy --runs 5; cargo xtask boots"),
    },
    Fault {
        number: 6,
        name: "hog",
        fault: "FIFO 99 on every CPU, under RLIMIT_RTTIME",
        reach: "a shell answers within 5 s; the run ends within 3 s of its time; throttling never silently off",
        how: How::Here(guests::hog),
    },
    Fault {
        number: 7,
        name: "clock",
        fault: "the wall clock is set a year forward and back",
        reach: "every period accounted for, no latency from it, both clocks on record",
        how: How::Here(guests::clock),
    },
    Fault {
        number: 8,
        name: "hotplug",
        fault: "a CPU goes offline while it is measured",
        reach: "no panic, the run says so and does not pass",
        how: How::Here(guests::hotplug),
    },
    Fault {
        number: 9,
        name: "throttling",
        fault: "thermal or under-voltage throttling",
        reach: "inconclusive, never a pass",
        how: How::By("cargo test -p punctual-judge"),
    },
    Fault {
        number: 10,
        name: "memory",
        fault: "a cgroup of 64 MB on a board of 512 MB",
        reach: "at most 16 MB resident, no page fault in the measuring threads",
        how: How::Here(guests::memory),
    },
    Fault {
        number: 11,
        name: "parsers",
        fault: "hostile traces, configurations, run directories, uploads",
        reach: "no panic, hang or finding in 10 million executions a parser",
        how: How::By("cargo xtask fuzz guided"),
    },
    Fault {
        number: 12,
        name: "names",
        fault: "ANSI, newlines, `<LAVA_SIGNAL`, `<script>` in names of tasks, hosts, labels",
        reach: "nothing unescaped in any of 17 formats",
        how: How::By("cargo test -p punctual-formats; cargo xtask consumers"),
    },
    Fault {
        number: 13,
        name: "links",
        fault: "symlinks, hard links, FIFOs planted at output paths",
        reach: "refused; what they point to is untouched",
        how: How::Here(links::run),
    },
    Fault {
        number: 14,
        name: "privileges",
        fault: "no root: CAP_SYS_NICE and CAP_IPC_LOCK alone, or nothing",
        reach: "a full measurement with the two; each that is missing named",
        how: How::By("cargo test -p punctual --test capabilities; cargo xtask deb-check"),
    },
    Fault {
        number: 15,
        name: "ssh",
        fault: "the link to a board is cut",
        reach: "strict host keys, no agent forwarding; what runs goes on, what was cut is fetched or reported",
        how: How::By("cargo xtask deploy link --runs 20"),
    },
    Fault {
        number: 16,
        name: "weeks",
        fault: "a run of weeks",
        reach: "RSS drifts by less than 1 MB, at most 1 MB a core a day",
        how: How::By("cargo xtask watch --hours 2"),
    },
    Fault {
        number: 17,
        name: "watch-writes",
        fault: "EIO, EROFS at writes of `watch`, once or for good",
        reach: "measures on to its end and says it, exit code 4; or does not begin and says why; all that is there is readable",
        how: How::Here(watch_writes::run),
    },
    Fault {
        number: 18,
        name: "watch-clock",
        fault: "the wall clock is set while `watch` runs",
        reach: "a line of the series for each step, no period missing, no latency from it",
        how: How::Here(watching::clock),
    },
    Fault {
        number: 19,
        name: "watch-hotplug",
        fault: "a CPU goes offline under `watch` and comes back",
        reach: "the run directory ends, the next ones measure the CPUs that are online",
        how: How::Here(watching::hotplug),
    },
];

/// `faults [NAME…] [--write]`: those that are named, or all that are tried here; `--write` puts their figures into the page.
pub fn run(words: &[String]) -> Result<(), String> {
    let write = words.iter().any(|word| word == "--write");
    let names: Vec<&String> = words.iter().filter(|word| !word.starts_with("--")).collect();
    if let Some(name) = names.iter().find(|name| !FAULTS.iter().any(|fault| fault.name == name.as_str())) {
        return Err(format!("no fault `{name}`: choose from {}", FAULTS.map(|fault| fault.name).join(", ")));
    }
    let folder = std::env::temp_dir().join(format!("punctual-faults-{}", std::process::id()));
    let (mut failed, mut figures) = (Vec::new(), Vec::new());
    let wanted = |fault: &&Fault| names.is_empty() || names.iter().any(|name| *name == fault.name);
    for fault in FAULTS.iter().filter(wanted) {
        let How::Here(try_it) = fault.how else {
            if let (How::By(command), false) = (&fault.how, names.is_empty()) {
                println!("{:10} is tried by: {command}", fault.name);
            }
            continue;
        };
        let (place, begun) = (folder.join(fault.name), Instant::now());
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        let result = try_it(&place);
        let seconds = begun.elapsed().as_secs();
        match result {
            Ok(told) => {
                println!("ok      {:10} {seconds:4} s  {told}", fault.name);
                figures.push((fault.number, told));
            }
            Err(why) => {
                println!("FAILED  {:10} {seconds:4} s  {why}", fault.name);
                failed.push(fault.name);
            }
        }
    }
    if write {
        page::write(&figures)?;
    }
    match failed.is_empty() {
        true => std::fs::remove_dir_all(&folder).or(Ok(())),
        false => Err(format!("failed: {}; kept in {}", failed.join(", "), folder.display())),
    }
}

/// Runs the program to its end.
pub(super) fn punctual(words: &[&str]) -> Result<Output, String> {
    let output = Command::new(PUNCTUAL).args(words).stdin(Stdio::null()).output();
    output.map_err(|e| format!("{PUNCTUAL}: {e}; build it first: cargo build --release"))
}

/// What `report --json` says of a run directory.
pub(super) fn document(run: &Path) -> Result<serde_json::Value, String> {
    let shown = punctual(&["report", &run.display().to_string(), "--json"])?;
    let failed = || format!("{} is unreadable: {}", run.display(), String::from_utf8_lossy(&shown.stderr));
    serde_json::from_slice(&shown.stdout).map_err(|_| failed())
}

/// The root of the checkout.
pub(super) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
