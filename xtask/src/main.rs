//! `cargo xtask`: builds, packages and releases, JSON Schemas, the live tests, documents given to the programs that take them.

#![forbid(unsafe_code)]

mod consumers;
mod cross;
mod live;
mod pack;
#[cfg(feature = "reference-checks")]
mod schemas;

use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask live [--list] [--install] [--at-most SECONDS] [NAME…]   the tests that need the real machine, each alone; says what it needs; ends with 3
                              where tests were only disturbed or not run; --install: what is missing, by apt-get
cargo xtask cross [TARGET]    the static binary for x86-64, arm64, armv7 or all of them (default all); docs/cross.md
cargo run -p xtask --features reference-checks schemas
                              JSON Schemas of our own formats, from the types, into docs/schemas
cargo xtask consumers [--tools DIR] [--punctual FILE] [NAME…]
                              every format of `report` and `audit` given to the programs that take it; names those that are missing
cargo xtask cross TARGET -- CARGO WORDS    another cargo command for that target: test --workspace, clippy
cargo xtask size [FILE]       the release binary must not be larger than docs/cross.md says (default target/release/punctual)
cargo xtask deb TARGET        the Debian package for x86-64, arm64, armv7 or all, into dist/ (docs/packages.md)
cargo xtask deb-check TARGET  the package in a fresh Debian of that architecture: installed, measured with, purged, nothing left
cargo xtask release [TARGET]  programs, packages, archives, bills of materials (CycloneDX) and SHA256SUMS into dist/";

/// A first word, and what it does with the others.
type Task = (&'static str, fn(&[String]) -> Result<(), String>);

const TASKS: &[Task] = &[
    ("size", |words| pack::size(words.first().map(String::as_str))),
    ("deb", pack::deb),
    ("deb-check", pack::check),
    ("release", pack::release),
    #[cfg(feature = "reference-checks")]
    ("schemas", schemas::run),
    ("consumers", consumers::run),
    ("cross", cross::run),
    ("live", live::run),
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
