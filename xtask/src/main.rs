//! `cargo xtask bench`, `fuzz`, `soak`, `cross` and `release`: what takes too long, too quiet a machine or other compilers, for CI.

#![forbid(unsafe_code)]

mod bare;
mod bench;
mod boots;
mod configs;
mod consumers;
mod cross;
mod deploy;
mod explain;
mod faults;
mod fleet;
mod fuzz;
mod gpio_kernel;
mod integrations;
mod kill;
mod kill_fix;
mod live;
mod misconfigured;
mod overhead;
mod pack;
mod pi;
mod planted;
#[cfg(feature = "reference-checks")]
mod schemas;
mod side;
mod soak;
mod steps;
mod tune;
mod vm;
mod watch;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask bench [PAIRS]     CPU time a cycle against cyclictest and a bare nanosleep + clock loop (default 20 pairs)
cargo xtask bench explain [PAIRS] [FILE…]     reading and attribution against trace-cmd report (default 20 pairs; records files)
cargo xtask bench tracing [ROUNDS]     median wakeup latency with and without a trace (default 15 rounds, 8 s each)
cargo xtask bench cycle       user instructions and system calls a cycle of a punctual-rt task against bare loops in C
cargo xtask fuzz [READER] [--executions N] [--seconds S] [--seed S]   mutated inputs through every reader (default 1,000,000 of a fast one)
cargo xtask fuzz guided [READER…] [--executions N] [--jobs J] [--minutes M] [--state FILE] [--program FILE | --no-trace-compares] [--table | --keep]
                              the same readers under libFuzzer, guided by coverage, at nice 19, resumed where the last run ended
                              (default 10,000,000 each, one job, target/fuzz/state.json); --table: what is done;
                              --keep: the corpora cut down to qa/libfuzzer/corpus; qa/libfuzzer/README.md
cargo xtask faults [NAME…] [--write]   faults planted, and what has to hold then; --write: the figures into docs/reliability.md
cargo xtask live [--list] [--install] [--at-most SECONDS] [NAME…]   the tests that need the real machine, each alone; says what it needs; ends with 3
                              where tests were only disturbed or not run; --install: what is missing, by apt-get
cargo xtask soak [NAME…]      the long checks below one after the other, with a log each; --list: their names and how long they take
cargo xtask kill [RUNS] [--at-once N] [--punctual FILE] [--state FILE]
                              kill -9 at RUNS random instants, N runs at once; every run readable, at most 10 s lost, nothing left behind
                              (default 100, 6 at once, target/kill/points.jsonl, where a cut-off series goes on)
cargo xtask kill-fix [RUNS] [PUNCTUAL]   kill -9 at RUNS random instants of `audit --fix`, then undo: every value as before (default 200)
cargo xtask watch [--hours H] [--punctual FILE] [--out DIR]
                              `punctual watch` beside loads that come and go and maxima planted: its memory, files and CPU time, and
                              whether every planted maximum is traced and named (default 2 hours, needs root)
cargo xtask watch --score DIR what such a soak left, also while it runs
cargo xtask fleet [--punctual FILE] [--out DIR] [--ansible FILE] [--seconds N]
                              the Ansible role over 8 boards (network namespaces with an sshd each): one run killed, one board cut off
cargo xtask integrations [--punctual FILE] [--tools DIR] [NAME…]
                              the examples of integrations/ run by podman (image and Kubernetes pod), lava-run, labgrid,
                              systemd (process 1 of a guest) and act (the workflow); as root
cargo xtask configs DIR [--punctual FILE]   kernel configurations (plain .config files): what `audit --config` says of each against
                              a plain search of its lines; fails on UNKNOWN, BLOCKED and contradictions
cargo xtask vm [TEST…]        the lab against real kernels in QEMU: boot, panic, hang, silent, network, negative, repeatable, control; by name only: gpio, events, apps
cargo xtask gpio-kernel [--stock] [--series 6.12] [--jobs N]
                              a guest kernel with gpio-sim from the distribution's source, for `vm gpio` and `lab` (docs/gpio-kernel.md)
cargo xtask pi [--punctual FILE] [--dir DIR]
                              the small RT kernel for a Raspberry Pi by `punctual kernel` plan … package from the distribution's source,
                              faults planted in it, and its cards booted on raspi3b and raspi4b (docs/kernel-build.md)
cargo xtask boots [--punctual FILE --rule ID --word PARAMETER] [--kills N] [--out DIR] [keep|trial|kill|chroot]…
                              kernel parameters in a guest that boots through OVMF and GRUB: made permanent, taken back, tried
                              once, and killed in between; chroot: the product killed over a copy of its disk (docs/disk-guest.md)
cargo xtask deploy --punctual FILE [--runs N] [--jobs N] [--out DIR] [CASE… | link | cut [--cuts N] [--seed S]]
                              kernels deployed in guests that boot through OVMF and GRUB: a good one is committed, those that panic, find no
                              root, hang, lose the network or starve their guard return by themselves (docs/deploy.md)
                              link: over ssh, the controller killed at random instants; cut: over ssh to a guest, the link cut at random
                              points and the guest restarted each time, by its plug or by itself
cargo xtask planted [--kernel K]… [--host] [--count N] [--plant P]… [--out DIR]
                              delays planted in guests, or here, and whether `explain` names them
cargo xtask planted --score DIR        what an earlier run recorded, explained again
cargo xtask side-by-side [GROUPS] [--kernel K]… [--host] [--cpu N] [--out DIR]
                              cyclictest and `punctual cyclictest` in turn (ABBA, default 10 groups) with planted delays of 1, 5
                              and 20 ms: does each find and count them; --score DIR: what an earlier run left, once more
cargo xtask misconfigured [--kernel K]… [--only NAME]… [--out DIR] [--markdown]
                              misconfigurations planted in guests, and whether each flips its rules and no other
cargo xtask misconfigured --score DIR  what an earlier run recorded, judged again
cargo xtask tune [--kernel K]… [--out DIR] | --score DIR
                              faults planted in guests beside harmless settings, and what `tune` keeps; and without any fault
cargo xtask cross [TARGET]    the static binary for x86-64, arm64, armv7 or all of them (default all); docs/cross.md
cargo run -p xtask --features reference-checks schemas
                              JSON Schemas of our own formats, from the types, into docs/schemas
cargo xtask consumers [--tools DIR] [--punctual FILE] [NAME…]
                              every format of `report` and `audit` given to the programs that take it; names those that are missing
cargo xtask cross TARGET -- CARGO WORDS    another cargo command for that target: test --workspace, clippy
cargo xtask size [FILE]       the release binary must not be larger than docs/cross.md says (default target/release/punctual)
cargo xtask deb TARGET        the Debian package for x86-64, arm64, armv7 or all, into dist/ (docs/packages.md)
cargo xtask deb-check TARGET  the package in a fresh Debian of that architecture: installed, measured with, purged, nothing left
cargo xtask release [TARGET]  programs, packages, archives, bills of materials (CycloneDX) and SHA256SUMS into dist/

Before bench, configs, faults, kill and vm: cargo build --release. Before planted, side-by-side and misconfigured: cargo build --release -p
punctual-plant (side-by-side: cargo build --release, too), and cargo xtask cross arm64 -- build --release -p punctual-plant for the arm64 guest. bench, soak, kill and planted
--host need root. Before vm gpio: cargo build --release -p punctual-gpio --features sim.";

/// A first word, and what it does with the others.
type Task = (&'static str, fn(&[String]) -> Result<(), String>);

const TASKS: &[Task] = &[
    ("faults", faults::run),
    ("fuzz", fuzz::run),
    ("soak", soak::run),
    ("configs", configs::run),
    ("gpio-kernel", gpio_kernel::run),
    ("vm", vm::run),
    ("fleet", fleet::run),
    ("integrations", integrations::run),
    ("watch", watch::run),
    ("pi", pi::run),
    ("boots", boots::run),
    ("deploy", deploy::run),
    ("planted", planted::run),
    ("side-by-side", side::run),
    ("misconfigured", misconfigured::run),
    ("tune", tune::run),
    ("size", |words| pack::size(words.first().map(String::as_str))),
    ("deb", pack::deb),
    ("deb-check", pack::check),
    ("release", pack::release),
    #[cfg(feature = "reference-checks")]
    ("schemas", schemas::run),
    ("consumers", consumers::run),
    ("cross", cross::run),
    ("bench", benchmark),
    ("live", live::run),
    ("kill", kill::run),
    ("kill-fix", killed_fix),
    (bare::HIDDEN, bare::run),
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

fn benchmark(words: &[String]) -> Result<(), String> {
    let others = words.get(1..).unwrap_or_default();
    match words.first().map(String::as_str) {
        Some("explain") => explain::run(others),
        Some("tracing") => overhead::run(number(others, 15)?),
        Some("cycle") => steps::run(),
        _ => bench::run(number(words, 20)?),
    }
}

fn killed_fix(words: &[String]) -> Result<(), String> {
    kill_fix::run(number(words, 200)?, words.get(1).map_or("target/release/punctual", String::as_str))
}
