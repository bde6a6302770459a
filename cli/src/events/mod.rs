//! Implements `events`, the portable event suite.

pub mod args;

use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::run_directory::{command_line, numbered};
use crate::{exit, signals};
use args::{BackendArg, EventsArgs, FormatArg};
use punctual_events::{Backend, COKERNELS, Mock, NotRun, Posix, Settings, Surroundings, TESTS, Wires};
use punctual_machine as machine;
use punctual_model::{Listed, Listing, Outcome, Suite, SuiteResult};
use punctual_report as report;
use punctual_uapi::{self as uapi, Sig};
use punctual_units::{CpuId, Nanos};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Runs `punctual events`. Exits 0 if every promise is kept in every test, 1 if one is broken, 3 if not all could be
/// tested, 4 if none could be tested.
pub fn events(args: &EventsArgs) -> ExitCode {
    let json = args.output.json || args.format == FormatArg::Json;
    let output = OutputArgs { json, ..args.output }.quiet_first();
    finish("events", output, if args.list { Ok(list(output)) } else { answer(args, output) })
}

fn list(output: OutputArgs) -> Answer {
    let listed = |test: &punctual_events::Test| Listed {
        name: test.name.into(),
        about: test.about.into(),
        promise: Some(test.promise),
    };
    let line = |test: &punctual_events::Test| format!("{:<15} {:<22} {}\n", test.name, test.promise.name(), test.about);
    let text = || TESTS.iter().map(line).collect();
    Answer::new(output, 0, || Listing { list: TESTS.iter().map(listed).collect() }, text).needed()
}

fn answer(args: &EventsArgs, output: OutputArgs) -> Result<Answer, Refusal> {
    let (suite, signal) = measure(args)?;
    let outcome = suite.outcome();
    let code = signal.map_or(exit::of_outcome(outcome), exit::of_signal);
    Ok(Answer::new(output, code, || &suite, || text(&suite, outcome)))
}

fn measure(args: &EventsArgs) -> Result<(Suite, Option<Sig>), Refusal> {
    let tests = if args.tests.is_empty() { TESTS.to_vec() } else { args.tests.clone() };
    if args.duration == Nanos::ZERO || args.duration > Nanos::from_secs(366 * 86_400) {
        return Err(Refusal::usage("--duration: must be greater than zero and at most a year"));
    }
    let cpu = args.cpu.map(CpuId);
    if let Some(cpu) = cpu {
        let allowed = uapi::affinity(0)?;
        if !allowed.contains(cpu) {
            return Err(Refusal::usage(format!("--cpu {cpu}: this process may run on {allowed} (taskset -cp $$)")));
        }
    }
    let settings = Settings { tests, duration: args.duration, deadline: args.deadline, priority: args.priority, cpu };
    let mut backend = backend(args)?;
    let default = || numbered(&format!("events-{}", backend.name()));
    let out = args.out.clone().unwrap_or_else(default);
    let (stop, caught) = (AtomicBool::new(false), OnceLock::new());
    let machine = machine::facts(&machine::Live::new());
    let around =
        Surroundings { under: &args.under, out: &out, command: command_line(), stop: &stop, machine, signal: &caught };
    let suite = signals::catching(&stop, &caught, || {
        punctual_events::suite(&mut *backend, &settings, &around, &mut |result| progress(args, result))
    })?;
    let suite = suite.map_err(|e| Refusal::either(e.is_usage(), e))?;
    Ok((suite, caught.get().copied()))
}

fn backend(args: &EventsArgs) -> Result<Box<dyn Backend>, Refusal> {
    match args.backend {
        BackendArg::Mock => Ok(Box::new(Mock::new(args.seed, args.faults))),
        BackendArg::Posix => {
            let wires = Wires { gpio: args.gpio.clone(), serial: args.serial.clone() };
            Ok(Box::new(Posix::new(args.priority, wires).map_err(Refusal::environment)?))
        }
        BackendArg::Xenomai => cokernel("xenomai"),
        BackendArg::Evl => cokernel("evl"),
        BackendArg::Rtai => cokernel("rtai"),
    }
}

/// Builds the adapter for a co-kernel. The error counts as inconclusive if the co-kernel's development files are
/// missing.
fn cokernel(name: &str) -> Result<Box<dyn Backend>, Refusal> {
    let known = COKERNELS.iter().find(|cokernel| cokernel.name == name);
    let cokernel = known.ok_or_else(|| Refusal::usage(format!("{name}: no such co-kernel")))?;
    match cokernel.start() {
        Ok(adapter) => Ok(Box::new(adapter)),
        Err(NotRun::Unsupported(why)) => {
            Err(Refusal::new(exit::INCONCLUSIVE, format!("{name} is not available here: {why}")))
        }
        Err(NotRun::Failed(why)) => Err(Refusal::environment(why)),
    }
}

/// Prints a test when it has ended.
fn progress(args: &EventsArgs, result: &SuiteResult) {
    if !args.output.quiet {
        progress!("{}", report::suite_line(result));
    }
}

fn text(suite: &Suite, outcome: Outcome) -> String {
    let verdict = match outcome {
        Outcome::Pass | Outcome::Held => "PASS: every promise was kept in every test\n",
        Outcome::Fail => "FAIL: a promise was broken\n",
        Outcome::Inconclusive => "INCONCLUSIVE: no promise was broken, but not everything could be tested here\n",
    };
    format!("{}\n{verdict}", report::suite_text(suite))
}
