use crate::LoadError;
use crate::beat::Beat;
use crate::board::Board;
use crate::builtin::{self, Builtin, Plan, RunsAs};
use crate::message::{Hello, Message, say};
use crate::settings::{ChildConfig, EXIT_ARG, HIDDEN_ARG};
use crate::setup;
use punctual_units::CpuId;
use std::ffi::OsString;
use std::sync::mpsc;
use std::thread;

/// Exit code of a load that has reported the reason for its failure.
const FAILED: i32 = 3;

/// Stack size of a worker, sufficient for a debug build, bytes.
const STACK: usize = 256 << 10;

/// Main function of a load's process. `args` are the arguments after [`HIDDEN_ARG`]. Returns the exit code. Call it
/// first in `main`, while there is only one thread, because dropping root privileges affects only the calling thread.
///
/// Standard input must be the shared memory, and standard output a pipe to the parent, as created by
/// [`Load::start`](crate::Load::start).
pub fn child_main(mut args: impl Iterator<Item = OsString>) -> i32 {
    let config = match args.next() {
        Some(word) if word == EXIT_ARG => return 0,
        Some(json) => serde_json::from_slice(json.to_string_lossy().as_bytes()).map_err(|e| e.to_string()),
        None => Err("no configuration".to_string()),
    };
    match config {
        Ok(config) => {
            die_loudly();
            run(config).unwrap_or_else(|error| fail(&error.to_string()))
        }
        Err(error) => {
            eprintln!("punctual: `{HIDDEN_ARG}` is internal to punctual ({error})");
            2
        }
    }
}

/// Makes a panic in any thread end the whole load.
fn die_loudly() {
    std::panic::set_hook(Box::new(|panic| {
        say(&Message::Failed(format!("bug in punctual, please report it: {panic}")));
        std::process::exit(101);
    }));
}

fn fail(why: &str) -> i32 {
    say(&Message::Failed(why.into()));
    FAILED
}

fn run(config: ChildConfig) -> Result<i32, LoadError> {
    let board = Board::from_fd(std::io::stdin(), config.slots)?;
    let load = builtin::named(&config.load)
        .ok_or_else(|| LoadError::Unknown { given: config.load.clone(), known: "a name of the table".into() })?;
    let mut notes = Vec::new();
    setup::ordinary(load.comm, &config, &mut notes)?;
    let plan = prepare(load, &config, &mut notes)?;
    let at_end = begin(load, plan, &board, notes)?;
    wait_for_the_end();
    if let Some(clean_up) = at_end {
        clean_up();
    }
    Ok(0)
}

fn prepare(load: &Builtin, config: &ChildConfig, notes: &mut Vec<String>) -> Result<Plan, LoadError> {
    let early = match load.runs_as {
        RunsAs::NobodyOncePrepared => Some((load.prepare)(config)?),
        RunsAs::Nobody | RunsAs::Caller => None,
    };
    // A command's process must end everything that the command started before it exits, so it watches the pipe to its
    // parent itself.
    if load.is_command() {
        setup::drop_ambient_capabilities(notes);
    } else {
        // Does not keep the file system of the working directory busy.
        let _ = rustix::process::chdir("/");
        setup::drop_privileges(notes);
        setup::die_with_parent(config.parent)?;
    }
    match early {
        Some(plan) => Ok(plan),
        None => (load.prepare)(config),
    }
}

type AtEnd = Option<Box<dyn FnOnce() + Send>>;

fn begin(load: &Builtin, plan: Plan, board: &Board, mut notes: Vec<String>) -> Result<AtEnd, LoadError> {
    if plan.workers.len() > board.slots() {
        return Err(LoadError::Refused(format!("{} workers do not fit in the shared memory", plan.workers.len())));
    }
    let workers = plan.workers.len();
    // Threads report a failed binding themselves.
    let (unbound, failures) = mpsc::channel();
    for (cpu, help) in plan.helpers {
        spawn(load.comm, cpu, unbound.clone(), help)?;
    }
    for (slot, (cpu, work)) in plan.workers.into_iter().enumerate() {
        let board = board.clone();
        spawn(load.comm, cpu, unbound.clone(), move || work(&mut Beat::new(board, slot)))?;
    }
    drop(unbound);
    notes.extend(plan.notes);
    notes.extend(failures.iter());
    notes.dedup();
    say(&Message::Hello(Hello { workers, units: plan.units, counters: plan.counters, notes }));
    Ok(plan.at_end)
}

fn spawn(
    comm: &str,
    cpu: Option<CpuId>,
    unbound: mpsc::Sender<String>,
    work: impl FnOnce() -> Result<(), LoadError> + Send + 'static,
) -> Result<(), LoadError> {
    let body = move || {
        if let Some(note) = setup::bind(cpu) {
            let _ = unbound.send(note);
        }
        drop(unbound);
        let why = match work() {
            Ok(()) => "a worker ended unexpectedly".into(),
            Err(error) => error.to_string(),
        };
        std::process::exit(fail(&why));
    };
    let builder = thread::Builder::new().name(comm.into()).stack_size(STACK);
    builder.spawn(body).map(drop).map_err(LoadError::on("clone", "a thread of the load"))
}

/// Sleeps until the parent closes its end of the pipe or dies.
fn wait_for_the_end() {
    use rustix::event::{PollFd, PollFlags, poll};
    let stdout = std::io::stdout();
    let mut lifeline = [PollFd::new(&stdout, PollFlags::empty())];
    // poll(2) reports a pipe without readers as an error even if no event is requested.
    while !matches!(poll(&mut lifeline, None), Ok(n) if n > 0) {}
}
