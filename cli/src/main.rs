//! `punctual`: arguments and exit codes, nothing else.

#![forbid(unsafe_code)]

/// Tells something on standard error, or does not. Where that is a full disk, or a terminal that has hung up, the macros of std
/// panic: a watch of weeks would end because nobody could be told that a file cannot be written.
macro_rules! eprint {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = write!(std::io::stderr(), $($words)*);
    }};
}

/// As [`eprint`], with the end of the line.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod args;
mod audit;
mod bench;
#[cfg(test)]
mod book;
mod compare;
mod confine;
mod cyclictest;
mod document;
mod events;
mod exit;
mod explain;
mod finish;
mod fix;
#[cfg(feature = "history")]
mod history;
mod import;
mod kernel;
mod lab;
mod manual;
mod new_file;
mod progress;
mod prove;
mod refusal;
mod remote;
mod report;
mod rights;
mod run_directory;
mod sched;
#[cfg(test)]
#[path = "../tests/it/common/schema.rs"]
mod schema;
mod selftest;
mod serve;
mod subject;
mod terminal;
mod tune;
mod watch;

use confine::Needs;
use std::process::ExitCode;

fn main() -> ExitCode {
    let started = punctual_rt::monotonic();
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|first| first == punctual_loads::HIDDEN_ARG) {
        return ExitCode::from(exit::of_number(punctual_loads::child_main(words)));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == punctual_proof::AUDIT_ARG) {
        return ExitCode::from(exit::of_number(punctual_proof::audit_main(std::env::args_os().skip(2))));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == punctual_proof::TRIAL_ARG) {
        return ExitCode::from(exit::of_number(punctual_proof::trial_main(std::env::args_os().skip(2))));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == punctual_proof::TIMERLAT_ARG) {
        return ExitCode::from(exit::of_number(punctual_proof::timerlat_main(std::env::args_os().skip(2))));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == punctual_watch::EXPLAIN_ARG) {
        return ExitCode::from(exit::of_number(punctual_watch::explain_main(std::env::args_os().skip(2))));
    }
    if std::env::args_os().nth(1).is_some_and(|first| first == fix::GUARD_ARG) {
        return fix::guard_main(std::env::args_os().skip(2));
    }
    rights::borrow();
    punctual_uapi::one_heap();
    punctual_proof::recover().iter().for_each(|what| eprintln!("punctual: {what}"));
    fix::recover();
    let arguments = match args::Arguments::of_process() {
        Ok(arguments) => arguments,
        Err(e) => return exit::of_clap(&e),
    };
    match arguments.command {
        args::Command::Prove(options) => prove::prove(&options, started),
        args::Command::Audit(options) => audit::audit(&options),
        args::Command::Tune(options) => tune::tune(&options, started),
        args::Command::Undo(options) => fix::undo(&options),
        args::Command::Snapshot(options) => audit::snapshot(&options),
        args::Command::Measure(options) => prove::measure(&options, started),
        args::Command::Watch(options) => watch::watch(&options, started),
        args::Command::Cyclictest(options) => cyclictest::cyclictest(&options),
        args::Command::Selftest(options) => selftest::selftest(&options),
        args::Command::Report(options) => confined(Some(Needs::report(&options)), || report::report(&options)),
        args::Command::Import(options) => confined(Some(Needs::import(&options)), || import::import(&options)),
        args::Command::Compare(options) => confined(Needs::compare(&options), || compare::compare(&options)),
        args::Command::Bench(axis) => bench::bench(&axis),
        args::Command::Events(options) => events::events(&options),
        args::Command::Sched(options) => sched::sched(&options),
        args::Command::Explain(options) => confined(Needs::explain(&options), || explain::explain(&options, started)),
        #[cfg(feature = "history")]
        args::Command::History(options) => history::history(&options),
        args::Command::Serve(options) => serve::serve(&options),
        args::Command::Kernel(command) => kernel::run(&command),
        args::Command::Lab(command) => lab::run(&command),
        args::Command::Completions(options) => manual::completions(&options),
        args::Command::Man(options) => manual::man(&options),
    }
}

/// Runs a command that has nothing but what it needs, where that is told.
fn confined(needs: Option<Needs>, command: impl FnOnce() -> ExitCode) -> ExitCode {
    match needs.map_or(Ok(()), |needs| needs.confine()) {
        Ok(()) => command(),
        Err(what) => {
            eprintln!("punctual: {what}");
            ExitCode::from(exit::ENVIRONMENT)
        }
    }
}
