//! `punctual`: the command line. Each command has a directory (`args.rs` has its options, `mod.rs` runs it).

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[macro_use]
mod terminal;

mod args;
mod at_work;
mod audit;
mod bench;
#[cfg(test)]
mod book;
mod bound;
mod check;
mod compare;
mod confine;
mod cyclictest;
mod events;
mod exit;
mod explain;
mod finish;
mod fix;
mod hidden;
#[cfg(feature = "history")]
mod history;
mod import;
mod kernel;
mod lab;
mod limits;
mod manual;
mod new;
mod new_file;
mod overdue;
mod progress;
mod prove;
mod references;
mod refusal;
mod remote;
mod report;
mod rights;
mod run_directory;
mod sched;
mod selftest;
mod serve;
mod signals;
mod subject;
mod suggest;
mod tune;
mod watch;

use args::common::OutputArgs;
use args::{Arguments, Command};
use confine::Needs;
use finish::finish;
use punctual_units::Nanos;
use refusal::Refusal;
use std::process::ExitCode;

fn main() -> ExitCode {
    let started = punctual_rt::monotonic();
    if let Some(code) = hidden::run() {
        return code;
    }
    rights::borrow();
    punctual_uapi::one_heap();
    overdue::end_in_time();
    punctual_proof::recover().iter().for_each(|what| message!("{what}"));
    fix::recover();
    match Arguments::of_process() {
        Ok(arguments) => run(arguments, started),
        Err(e) => exit::of_clap(&e),
    }
}

fn run(Arguments { owner, command }: Arguments, started: Nanos) -> ExitCode {
    let (uid, gid) = (std::env::var("SUDO_UID").ok(), std::env::var("SUDO_GID").ok());
    let sudo = uid.as_deref().map(|uid| (uid, gid.as_deref()));
    if let Err(why) = punctual_directory::set_owner(owner.as_deref(), sudo) {
        return finish("owner", OutputArgs::default(), Err(Refusal::usage(why)));
    }
    let command = match command.with_newest() {
        Ok(command) => command,
        Err(refusal) => return finish("report", OutputArgs::default(), Err(refusal)),
    };
    if let Some(refusal) = Needs::of(&command).and_then(|needs| needs.confine().err()) {
        return finish("confine", OutputArgs::default(), Err(refusal));
    }
    terminal::expect_reader(command.is_measured());
    if command.is_measured() {
        punctual_watchdog::command();
    }
    if let Err(refusal) = limits::check(&command) {
        return finish("limits", OutputArgs::default(), Err(refusal));
    }
    let _at_work = at_work::measuring(&command);
    match command {
        Command::Prove(args) => prove::prove(&args, started),
        Command::Audit(args) => audit::audit(&args),
        Command::Check(args) => check::check(&args),
        Command::Bound(args) => bound::bound(&args),
        Command::Tune(args) => tune::tune(&args, started),
        Command::Undo(args) => fix::undo(&args),
        Command::Snapshot(args) => audit::snapshot(&args),
        Command::References(args) => references::references(&args),
        Command::Measure(args) => prove::measure(&args, started),
        Command::Watch(args) => watch::watch(&args, started),
        Command::Cyclictest(args) => cyclictest::cyclictest(&args),
        Command::Selftest(args) => selftest::selftest(&args),
        Command::Events(args) => events::events(&args),
        Command::Sched(args) => sched::sched(&args),
        Command::Bench(command) => bench::bench(&command),
        Command::Import(args) => import::import(&args),
        Command::Report(args) => report::report(&args),
        Command::Explain(args) => explain::explain(&args, started),
        Command::Compare(args) => compare::compare(&args),
        #[cfg(feature = "history")]
        Command::History(args) => history::history(&args),
        Command::Serve(args) => serve::serve(&args),
        Command::Lab(command) => lab::run(&command),
        Command::Kernel(command) => kernel::run(&command),
        Command::Completions(args) => manual::completions(&args),
        Command::New(args) => new::new(&args),
        Command::Man(args) => manual::man(&args),
    }
}
