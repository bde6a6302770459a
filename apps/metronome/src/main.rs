//! The program `metronome`, documented by `metronome --help` and docs/apps/metronome.md.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == metronome::HIDDEN_ARG) {
        return ExitCode::from(u8::try_from(punctual_loads::child_main(words)).unwrap_or(4));
    }
    punctual_uapi::one_heap();
    ExitCode::from(metronome::run(std::env::args_os()))
}
