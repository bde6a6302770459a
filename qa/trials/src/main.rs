//! `cargo trials`: trials of the tool, a folder each: what takes too long, or too quiet a machine, for CI.

#![forbid(unsafe_code)]

mod bench;
mod boots;
mod configs;
mod deploy;
mod faults;
mod fleet;
mod fuzz;
mod gpio_kernel;
mod injected;
mod integrations;
mod kill;
mod kill_fix;
mod lab;
mod misconfigured;
mod pi;
mod side_by_side;
mod soak;
mod tune;
mod watch;

use std::process::ExitCode;

const USAGE: &str = "\
cargo trials bench [PAIRS]     CPU time a cycle against cyclictest and a bare nanosleep + clock loop (default 20 pairs)
cargo trials bench explain [PAIRS] [FILE…]     reading and attribution against trace-cmd report (default 20 pairs; records files)
cargo trials bench tracing [ROUNDS]     median wakeup latency with and without a trace (default 15 rounds, 8 s each)
cargo trials bench cycle       user instructions and system calls a cycle of a punctual-rt task against bare loops in C
cargo trials fuzz [READER] [--executions N] [--seconds S] [--seed S]   mutated inputs through every reader (default 1,000,000 of a fast one)
cargo trials fuzz guided [READER…] [--executions N] [--jobs J] [--minutes M] [--state FILE] [--program FILE | --no-trace-compares] [--table | --keep]
                              the same readers under libFuzzer, guided by coverage, at nice 19, resumed where the last run ended
                              (default 10,000,000 each, one job, target/fuzz/state.json); --table: what is done;
                              --keep: the corpora cut down to qa/libfuzzer/corpus; qa/libfuzzer/README.md
cargo trials faults [NAME…] [--write]   faults planted, and what has to hold then; --write: the figures into docs/reliability.md
cargo trials soak [NAME…]      the long checks below one after the other, with a log each; --list: their names and how long they take
cargo trials kill [RUNS] [--at-once N] [--punctual FILE] [--state FILE]
                              kill -9 at RUNS random instants, N runs at once; every run readable, at most 10 s lost, nothing left behind
                              (default 100, 6 at once, target/kill/points.jsonl, where a cut-off series goes on)
cargo trials kill-fix [RUNS] [PUNCTUAL]   kill -9 at RUNS random instants of `audit --fix`, then undo: every value as before (default 200)
cargo trials watch [--hours H] [--punctual FILE] [--out DIR]
                              `punctual watch` beside loads that come and go and maxima planted: its memory, files and CPU time, and
                              whether every planted maximum is traced and named (default 2 hours, needs root)
cargo trials watch --score DIR what such a soak left, also while it runs
cargo trials fleet [--punctual FILE] [--out DIR] [--ansible FILE] [--seconds N]
                              the Ansible role over 8 boards (network namespaces with an sshd each): one run killed, one board cut off
cargo trials integrations [--punctual FILE] [--tools DIR] [NAME…]
                              the examples of integrations/ run by podman (image and Kubernetes pod), lava-run, labgrid,
                              systemd (process 1 of a guest) and act (the workflow); as root
cargo trials configs DIR [--punctual FILE]   kernel configurations (plain .config files): what `audit --config` says of each against
                              a plain search of its lines; fails on UNKNOWN, BLOCKED and contradictions
cargo trials lab [TEST…]        the lab against real kernels in QEMU: boot, panic, hang, silent, network, negative, repeatable, control; by name only: gpio, events, apps
cargo trials gpio-kernel [--stock] [--series 6.12] [--jobs N]
                              a guest kernel with gpio-sim from the distribution's source, for `lab gpio` and `punctual lab` (docs/gpio-kernel.md)
cargo trials pi [--punctual FILE] [--dir DIR]
                              the small RT kernel for a Raspberry Pi by `punctual kernel` plan … package from the distribution's source,
                              faults planted in it, and its cards booted on raspi3b and raspi4b (docs/kernel-build.md)
cargo trials boots [--punctual FILE --rule ID --word PARAMETER] [--kills N] [--out DIR] [keep|trial|kill|chroot]…
                              kernel parameters in a guest that boots through OVMF and GRUB: made permanent, taken back, tried
                              once, and killed in between; chroot: the product killed over a copy of its disk (docs/disk-guest.md)
cargo trials deploy --punctual FILE [--runs N] [--jobs N] [--out DIR] [CASE… | link | cut [--cuts N] [--seed S]]
                              kernels deployed in guests that boot through OVMF and GRUB: a good one is committed, those that panic, find no
                              root, hang, lose the network or starve their guard return by themselves (docs/deploy.md)
                              link: over ssh, the controller killed at random instants; cut: over ssh to a guest, the link cut at random
                              points and the guest restarted each time, by its plug or by itself
cargo trials injected [--kernel K]… [--host] [--count N] [--plant P]… [--out DIR]
                              delays planted in guests, or here, and whether `explain` names them
cargo trials injected --score DIR        what an earlier run recorded, explained again
cargo trials side-by-side [GROUPS] [--kernel K]… [--host] [--cpu N] [--out DIR]
                              cyclictest and `punctual cyclictest` in turn (ABBA, default 10 groups) with planted delays of 1, 5
                              and 20 ms: does each find and count them; --score DIR: what an earlier run left, once more
cargo trials misconfigured [--kernel K]… [--only NAME]… [--out DIR] [--markdown]
                              misconfigurations planted in guests, and whether each flips its rules and no other
cargo trials misconfigured --score DIR  what an earlier run recorded, judged again
cargo trials tune [--kernel K]… [--out DIR] | --score DIR
                              faults planted in guests beside harmless settings, and what `tune` keeps; and without any fault

Before bench, configs, faults, kill and lab: cargo build --release. Before injected, side-by-side and misconfigured: cargo build --release -p
punctual-plant (side-by-side: cargo build --release, too), and cargo xtask cross arm64 -- build --release -p punctual-plant for the arm64 guest. bench, soak, kill and injected
--host need root. Before lab gpio: cargo build --release -p punctual-gpio --features sim.";

/// A first word, and what it does with the others.
type Trial = (&'static str, fn(&[String]) -> Result<(), String>);

const TASKS: &[Trial] = &[
    ("faults", faults::run),
    ("fuzz", fuzz::run),
    ("soak", soak::run),
    ("configs", configs::run),
    ("gpio-kernel", gpio_kernel::run),
    ("lab", lab::run),
    ("fleet", fleet::run),
    ("integrations", integrations::run),
    ("watch", watch::run),
    ("pi", pi::run),
    ("boots", boots::run),
    ("deploy", deploy::run),
    ("injected", injected::run),
    ("side-by-side", side_by_side::run),
    ("misconfigured", misconfigured::run),
    ("tune", tune::run),
    ("bench", bench::run),
    ("kill", kill::run),
    ("kill-fix", killed_fix),
    (bench::BARE, bench::bare),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (first, others) = words.split_first().map_or(("", &[][..]), |(first, others)| (first.as_str(), others));
    let task = TASKS.iter().find(|(name, _)| *name == first);
    match task.map_or_else(|| Err(USAGE.to_owned()), |(_, run)| run(others)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// The first of the words as a number.
fn number(words: &[String], default: u32) -> Result<u32, String> {
    words.first().map_or(Ok(default), |word| word.parse().map_err(|_| USAGE.to_owned()))
}

fn killed_fix(words: &[String]) -> Result<(), String> {
    kill_fix::run(number(words, 200)?, words.get(1).map_or("target/release/punctual", String::as_str))
}
