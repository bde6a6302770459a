//! The program `rf-switch`, which calls the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1).peekable();
    if words.next_if(|first| first == punctual_loads::HIDDEN_ARG).is_some() {
        // This process runs a load of a trial; its result must fit in an exit code.
        return ExitCode::from(u8::try_from(punctual_loads::child_main(words)).unwrap_or(1));
    }
    match punctual_rf_switch::run(words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            punctual_rf_switch::print::say(&error.to_string());
            ExitCode::from(error.code())
        }
    }
}
