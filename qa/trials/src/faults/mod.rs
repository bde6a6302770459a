//! `cargo trials faults`: injects the faults that break measurement tools, checks what must hold in each case, and
//! writes docs/reliability.md.

mod guests;
mod links;
mod page;
mod signals;
mod watch_writes;
mod watching;
mod writes;

use crate::built::punctual;
use crate::cases;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::path::Path;

pub(super) enum How {
    Here(fn(&Path) -> Result<String, String>),
    /// The fault is tested by another command, whose results are entered into the page manually.
    By(&'static str),
}

pub(super) struct Fault {
    pub number: u32,
    pub name: &'static str,
    pub fault: &'static str,
    pub reach: &'static str,
    pub how: How,
}

pub(super) const FAULTS: [Fault; 22] = [
    Fault {
        number: 1,
        name: "kill",
        fault: "SIGKILL at random instants",
        reach: "at most 10 s of samples lost, every run readable, nothing left running",
        how: How::By("cargo trials kill 1000"),
    },
    Fault {
        number: 2,
        name: "signals",
        fault: "SIGINT, SIGTERM, SIGHUP, SIGQUIT",
        reach: "a readable result marked as incomplete, within 1 s, exit code 128 + n, 100 of 100",
        how: How::Here(signals::run),
    },
    Fault {
        number: 3,
        name: "writes",
        fault: "ENOSPC, EIO, EROFS at every write",
        reach: "never a panic; exit code not 0, or a complete and readable result; earlier results unchanged",
        how: How::Here(writes::run),
    },
    Fault {
        number: 4,
        name: "fixes",
        fault: "SIGKILL at any step of a fix or its undo",
        reach: "after the next start every value is as before, byte for byte",
        how: How::By("cargo trials kill-fix 200; cargo trials boots kill chroot"),
    },
    Fault {
        number: 5,
        name: "kernels",
        fault: "a kernel or boot configuration that does not boot",
        reach: "returns to the old one automatically, 20 of 20",
        how: How::By("cargo trials deploy --runs 5; cargo trials boots"),
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
        reach: "every period accounted for, no latency from it, both clocks recorded",
        how: How::Here(guests::clock),
    },
    Fault {
        number: 8,
        name: "hotplug",
        fault: "a CPU goes offline while it is measured",
        reach: "no panic, the run reports it and does not pass",
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
        reach: "no panic, hang or finding in 10 million executions per parser",
        how: How::By("cargo trials fuzz guided"),
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
        fault: "symlinks, hard links, FIFOs placed at output paths",
        reach: "refused; their targets are unchanged",
        how: How::Here(links::run),
    },
    Fault {
        number: 14,
        name: "privileges",
        fault: "no root: CAP_SYS_NICE and CAP_IPC_LOCK alone, or nothing",
        reach: "a full measurement with the two; missing ones are named",
        how: How::By("cargo test -p punctual --test it capabilities:: -- --ignored; cargo xtask deb-check"),
    },
    Fault {
        number: 15,
        name: "ssh",
        fault: "the link to a board is cut",
        reach: "strict host keys, no agent forwarding; jobs continue, interrupted transfers are resumed or reported",
        how: How::By("cargo trials deploy link --runs 20"),
    },
    Fault {
        number: 16,
        name: "weeks",
        fault: "a run of weeks",
        reach: "RSS drifts by less than 1 MB, at most 1 MB per core and day",
        how: How::By("cargo trials watch --hours 2"),
    },
    Fault {
        number: 17,
        name: "watch-writes",
        fault: "EIO, EROFS at writes of `watch`, once or permanently",
        reach: "continues to its end, reports it and exits with 4; or does not start and reports why; all existing files are readable",
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
        fault: "a CPU goes offline during `watch` and returns",
        reach: "the run directory ends, the next ones measure the CPUs that are online",
        how: How::Here(watching::hotplug),
    },
    Fault {
        number: 20,
        name: "hangs",
        fault: "SIGSTOP of each child, a stopped peer, FIFO 80 on a required CPU, standard output without a reader",
        reach: "ends within the given time plus 10 s, and reports the cause",
        how: How::By("cargo trials hangs"),
    },
    Fault {
        number: 21,
        name: "scarce",
        fault: "pids.max 3 to 8, `ulimit -n` 16 to 32, memory 4 to 32 MiB, a disk of 16 KiB to 1 MiB",
        reach: "no panic, no hang; missing parts are reported; all existing files are readable",
        how: How::By("cargo trials scarce"),
    },
    Fault {
        number: 22,
        name: "power",
        fault: "a power cut at a random write, during fix, undo and the writing of a run (docs/power.md)",
        reach: "no record is lost, undo restores every file, everything reported as done is on disk",
        how: How::By("cargo trials power"),
    },
];

/// Inject the faults that break measurement tools, and check what must hold in each case (docs/reliability.md); needs
/// root
///
/// Build first: cargo build --release
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Faults to test; by default all that need no separate command
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(FAULTS.map(|fault| PossibleValue::new(fault.name).help(fault.fault))))]
    names: Vec<String>,
    /// Write the results to docs/reliability.md
    #[arg(long)]
    write: bool,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("punctual-faults-{}", std::process::id()));
    let (mut failed, mut figures) = (Vec::new(), Vec::new());
    let names = &wanted.names;
    let is_wanted = |fault: &&Fault| names.is_empty() || names.iter().any(|name| *name == fault.name);
    for fault in FAULTS.iter().filter(is_wanted) {
        let How::Here(try_it) = fault.how else {
            if let (How::By(command), false) = (&fault.how, names.is_empty()) {
                println!("{:10} is tested by: {command}", fault.name);
            }
            continue;
        };
        let place = folder.join(fault.name);
        std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        match cases::tried(fault.name, || try_it(&place)) {
            Some(figure) => figures.push((fault.number, figure)),
            None => failed.push(fault.name),
        }
    }
    if wanted.write {
        page::write(&figures)?;
    }
    match failed.is_empty() {
        true => std::fs::remove_dir_all(&folder).or(Ok(())),
        false => Err(format!("failed: {}; kept in {}", failed.join(", "), folder.display())),
    }
}

pub(super) fn document(run: &Path) -> Result<serde_json::Value, String> {
    let shown = punctual(&["report", &run.display().to_string(), "--json"])?;
    let failed = || format!("{} is unreadable: {}", run.display(), String::from_utf8_lossy(&shown.stderr));
    serde_json::from_slice(&shown.stdout).map_err(|_| failed())
}
