//! The list of commands by purpose, and the examples below each command's help.

/// The commands by purpose, as the help lists them. A test compares them with the commands that clap knows.
const COMMANDS: &str = "\
Start:
  prove       Audit this machine, measure it idle and under load, explain the worst, judge, report
  audit       Check everything that causes latency; --fix applies what is safe, --dry-run shows it
  check       Find what in your program is not real-time: faults, allocations, blocking calls, locks
  report      Show a run, or another tool's file: text, HTML, JSON, CSV, formats of CI systems
  explain     Name what delayed the worst wakeups of a run, of a trace, or of this machine now

Improve:
  tune        Try the audit's fixes, measure with and without each, keep those that help
  undo        Undo what `audit --fix` and `tune` changed, byte for byte
  kernel      Choose, check, build, deploy and roll back a real-time kernel for a board

Keep:
  watch       Watch a machine for weeks at less than 1 % of its CPU time
  history     Track runs by machine, kernel and settings; gate a CI job on them
  compare     Compare runs, kernels or files: what differs, and with what confidence
  references  Show what others measured on a board: worst latencies with conditions and sources

Measure and experiment:
  measure     Measure wakeup latency, or another latency, under chosen loads
  bench       Benchmark a kernel: N-queens, network, memory, disk, context switches
  sched       Run scheduling experiments: when each thread ends, predicted and measured
  events      Run the event suite: periodic and interrupt-driven events, and whether any is lost
  lab         Boot kernels in QEMU, measure and compare them in virtual time, without a board
  bound       Compose a bound on the scheduling latency from the longest sections that ran
  selftest    Inject known delays beside the measuring engine and check that it finds each

Program:
  new         Write a real-time program to start from, in Rust, C or C++

Interoperate:
  cyclictest  Run as cyclictest, with its options and its output
  import      Import other tools' results into a run directory
  snapshot    Save what an audit reads to a file, without data that identifies the machine
  serve       Answer the network load of another machine
";

/// Returns the help template for clap.
pub fn template() -> String {
    format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{COMMANDS}\nOptions:\n{{options}}{{after-help}}")
}

/// The examples below a command's help.
macro_rules! examples {
    ($($line:literal)+) => { concat!("Examples:" $(, "\n  ", $line)+) };
}

pub const PROVE: &str = examples! {
    "sudo punctual prove --duration 10m"
    "sudo punctual prove --cpus 2-3 --claim 'max < 100us' --claim 'missed = 0'"
    "punctual prove --target ssh://pi@raspberrypi --binary dist/punctual-0.1.0-arm64"
};
pub const AUDIT: &str = examples! {
    "punctual audit --for audio-desktop --full"
    "sudo punctual audit --dry-run"
    "sudo punctual audit --fix --persist"
    "punctual audit --config cmdline.txt --config config.txt"
};
pub const CHECK: &str = examples! {
    "sudo punctual check -- ./controller --config plant.toml"
    "sudo punctual check --pid 1234 --duration 30s --full"
    "sudo punctual check --format sarif --out check.sarif --baseline known.json -- ./controller"
    "punctual check --explain page-fault"
};
pub const TUNE: &str = examples! {
    "sudo punctual tune --dry-run"
    "sudo punctual tune --load cpu,io --time-limit 20m"
};
pub const NEW: &str = examples! {
    "punctual new my-loop --lang cpp"
    "punctual new my-loop --lang rust --library punctual/crates/realtime/rt"
};
pub const UNDO: &str = examples! {
    "sudo punctual undo --list"
    "sudo punctual undo"
};
pub const SNAPSHOT: &str = examples! {
    "punctual snapshot machine.snapshot"
    "punctual audit --snapshot machine.snapshot --full"
    "punctual snapshot board.toml --contribute=run"
};
pub const REFERENCES: &str = examples! {
    "punctual references"
    "punctual references raspberry-pi-4b"
    "punctual references check board.toml"
};
pub const MEASURE: &str = examples! {
    "sudo punctual measure --load cpu --interval 200us --duration 5m"
    "sudo punctual measure --tui --cpus 2"
};
pub const WATCH: &str = examples! {
    "sudo punctual watch --out /var/lib/punctual-watch"
    "sudo systemctl enable --now punctual-watch         # the same as a service, from the package"
    "punctual watch --status /var/lib/punctual-watch"
};
pub const CYCLICTEST: &str = examples! {
    "sudo punctual cyclictest -m -S -p90 -i200 -D10m -h400 -q"
    "sudo punctual cyclictest -t1 -p80 -i1000 -l100000"
};
pub const BOUND: &str = examples! {
    "punctual bound trace.dat"
    "sudo punctual bound --duration 1m --deadline 100us"
};
pub const SELFTEST: &str = examples! {
    "sudo punctual selftest"
    "sudo punctual selftest --json"
};
pub const EVENTS: &str = examples! {
    "sudo punctual events"
    "sudo punctual events pty udp --duration 10s"
};
pub const SCHED: &str = examples! {
    "sudo punctual sched --list"
    "sudo punctual sched 2"
    "punctual sched --example"
};
pub const BENCH: &str = examples! {
    "punctual bench nqueens"
    "punctual bench network"
};
pub const IMPORT: &str = examples! {
    "punctual import cyclictest.txt --out run"
    "punctual import a.json b.json --board raspberry-pi-4b --out run"
};
pub const REPORT: &str = examples! {
    "punctual report"
    "punctual report run --full"
    "punctual report run --format html --out run.html"
    "punctual report run --format junit --out run.xml"
    "punctual report cyclictest.txt --claim 'max < 100us'"
};
pub const EXPLAIN: &str = examples! {
    "punctual explain"
    "punctual explain punctual-runs/20261125T200000Z-board --full"
    "punctual explain trace.dat --timeline"
    "sudo punctual explain --live --duration 1m"
    "sudo punctual explain --live --task jackd"
};
pub const HISTORY: &str = examples! {
    "punctual history add run"
    "punctual history"
};
pub const SERVE: &str = examples! {
    "punctual serve"
    "punctual serve --port 7375"
};
pub const LAB: &str = examples! {
    "punctual lab boot --kernel rt@6.12 -- uname -a"
    "punctual lab prove --kernel rt@6.12"
    "punctual lab compare rt@6.12 stock@6.12"
};
pub const LAB_BOOT: &str = examples! {
    "punctual lab boot -- uname -a"
    "punctual lab boot --kernel rt@6.12 --put test.sh:/root/test.sh -- sh /root/test.sh"
};
pub const LAB_PROVE: &str = examples! {
    "punctual lab prove --kernel rt@6.12"
    "punctual lab prove --load cpu --claim 'max < 1ms' --boots 4"
};
pub const LAB_COMPARE: &str = examples! {
    "punctual lab compare stock@6.12 rt@6.12"
    "punctual lab compare stock rt --boots 12 --out stock-rt"
};
pub const LAB_BISECT: &str = examples! {
    "punctual lab bisect --tree linux --good v6.11 --bad v6.12 --config rt.config"
    "punctual lab bisect --tree linux --good v6.11 --bad HEAD --config rt.config --claim 'max < 1ms'"
};
pub const KERNEL: &str = examples! {
    "punctual kernel plan"
    "punctual kernel preflight"
};
pub const KERNEL_PLAN: &str = examples! {
    "punctual kernel plan"
    "punctual kernel plan --board raspberry-pi-4-64 --series 6.12"
};
pub const KERNEL_PREFLIGHT: &str = examples! {
    "punctual kernel preflight"
    "punctual kernel preflight --board raspberry-pi-4-64 --tree linux --out build"
};
pub const KERNEL_PATCH: &str = examples! {
    "punctual kernel patch --tree linux --file patch-6.6.87-rt54.patch.xz --keyring rt.gpg"
    "punctual kernel patch --release 6.6.87 --index rt-6.6.html"
};
pub const KERNEL_CONFIGURE: &str = examples! {
    "punctual kernel configure --tree linux --out build --arch arm64 --fragment rt.config"
    "punctual kernel configure --tree linux --out build --arch x86_64 --fragment rt.config --config /boot/config-6.12.9"
};
pub const KERNEL_FETCH: &str = examples! {
    "punctual kernel fetch --debian --out linux"
    "punctual kernel fetch --url https://cdn.kernel.org/pub/linux/kernel/v6.x/linux-6.12.9.tar.xz --keyring kernel.gpg --out linux"
};
pub const KERNEL_BUILD: &str = examples! {
    "punctual kernel build --tree linux --out build"
    "punctual kernel build --tree linux --out build-diagnostic --diagnostic --jobs 4"
};
pub const KERNEL_PACKAGE: &str = examples! {
    "punctual kernel package --build build --board raspberry-pi-4-64 --out dist --deb"
    "punctual kernel package --build build --board raspberry-pi-4-64 --out dist --image card.img"
};
pub const KERNEL_DEPLOY: &str = examples! {
    "sudo punctual kernel deploy linux-image-6.12.9-rt_arm64.deb"
    "punctual kernel deploy dist/linux-6.12.9-rt.tar.xz --target ssh://pi@raspberrypi --reboot"
};
pub const KERNEL_VERIFY: &str = examples! {
    "sudo punctual kernel verify"
    "sudo punctual kernel verify --duration 1m --deadline 100us"
};
pub const KERNEL_COMMIT: &str = examples! {
    "sudo punctual kernel commit"
    "punctual kernel commit --target ssh://pi@raspberrypi"
};
pub const KERNEL_ROLLBACK: &str = examples! {
    "sudo punctual kernel rollback"
    "punctual kernel rollback --target ssh://pi@raspberrypi"
};
pub const KERNEL_STATUS: &str = examples! {
    "punctual kernel status"
    "punctual kernel status --target ssh://pi@raspberrypi --json"
};
pub const HISTORY_ADD: &str = examples! {
    "punctual history add run"
    "punctual history add punctual-runs"
};
pub const HISTORY_REMOVE: &str = examples! {
    "punctual history remove 3f9c2a7b10"
    "punctual history --db board.db remove 3f9c2a7b10"
};
pub const HISTORY_GATE: &str = examples! {
    "punctual history gate run"
    "punctual history gate run --baseline release-1 --tolerance 5%"
};
pub const HISTORY_BASELINE: &str = examples! {
    "punctual history baseline list"
    "punctual history baseline set release-1 3f9c2a7b10 77d0e1c4a2"
};
pub const HISTORY_BASELINE_SET: &str = examples! {
    "punctual history baseline set release-1 3f9c2a7b10"
    "punctual history baseline set release-1 3f9c2a7b10 77d0e1c4a2"
};
pub const HISTORY_BASELINE_REMOVE: &str = examples! {
    "punctual history baseline remove release-1"
    "punctual history --db board.db baseline remove release-1"
};
pub const HISTORY_BASELINE_LIST: &str = examples! {
    "punctual history baseline list"
    "punctual history --db board.db baseline list"
};
pub const REFERENCES_CHECK: &str = examples! {
    "punctual references check board.toml"
    "punctual references check board.toml --json"
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Arguments;
    use clap::{CommandFactory, Parser};
    use std::collections::BTreeSet;

    fn shown(parent: &clap::Command) -> impl Iterator<Item = clap::Command> + use<> {
        let all: Vec<clap::Command> = parent.get_subcommands().cloned().collect();
        all.into_iter().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    }

    fn commands() -> impl Iterator<Item = clap::Command> {
        shown(&Arguments::command())
    }

    /// Returns the command and all its subcommands, at every level.
    fn with_subcommands(command: clap::Command) -> Vec<clap::Command> {
        let below: Vec<clap::Command> = shown(&command).flat_map(with_subcommands).collect();
        [vec![command], below].concat()
    }

    #[test]
    fn the_list_names_every_command_once() {
        let listed: Vec<&str> =
            COMMANDS.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
        let names: BTreeSet<String> = commands().map(|command| command.get_name().to_owned()).collect();
        let missing: Vec<&String> = names.iter().filter(|name| !listed.contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "{missing:?}");
        let known = |name: &&str| names.contains(*name) || cfg!(not(feature = "history"));
        assert!(listed.iter().all(known) && listed.len() >= names.len(), "{listed:?}");
    }

    #[test]
    fn every_command_has_two_examples_that_can_be_typed() {
        for command in commands().flat_map(with_subcommands) {
            let below = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines = below.lines().map(|line| line.trim().trim_start_matches("sudo "));
            let typed = lines.filter(|line| line.starts_with("punctual ")).filter(|line| {
                let words = line.replace('\'', "\u{1}");
                let quoted: Vec<String> = words
                    .split('\u{1}')
                    .enumerate()
                    .flat_map(|(n, part)| match n % 2 {
                        0 => part.split_whitespace().map(str::to_owned).collect(),
                        _ => vec![part.to_owned()],
                    })
                    .collect();
                match Arguments::try_parse_from(&quoted) {
                    Ok(_) => true,
                    Err(error) => panic!("{line}: {error}"),
                }
            });
            assert!(typed.count() >= 2, "{}: {below}", command.get_name());
        }
    }

    #[test]
    fn no_help_is_wider_than_a_terminal() {
        for command in commands().flat_map(with_subcommands) {
            let help = command.clone().term_width(100).render_long_help().to_string();
            let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 100).collect();
            assert!(wide.is_empty(), "{}: {wide:?}", command.get_name());
        }
    }
}
