//! `scheduler`: starts and reaps programs, and passes messages around rings of threads like hackbench. This causes
//! wakeups, context switches, migrations and new address spaces.

use super::{Builtin, Plan, RunsAs};
use crate::LoadError;
use crate::beat::Beat;
use crate::board::now;
use crate::counter::{Counter, Source};
use crate::message::Unit;
use crate::settings::{ChildConfig, EXIT_ARG, HIDDEN_ARG};
use punctual_units::CpuId;
use rustix::process::{Resource, getrlimit};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

pub(super) const LOAD: Builtin = Builtin {
    name: "scheduler",
    about: "programs started and reaped, messages between many threads (like hackbench)",
    comm: "load-scheduler",
    runs_as: RunsAs::Nobody,
    in_all: true,
    prepare,
};

const HOPS: usize = 0;
const PROGRAMS: usize = 1;

/// Maximum number of threads per ring.
const RING: usize = 8;
const SMALLEST_RING: usize = 2;
const MESSAGES: usize = 3;
const MESSAGE: usize = 100;
/// Pause between two programs in the load `all`; `MESSAGE_REST` is the pause between two messages that a ring's first
/// thread sends.
const PROGRAM_REST: Duration = Duration::from_millis(2);
const MESSAGE_REST: Duration = Duration::from_micros(500);
const MOST_THREADS: usize = 2048;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let program = program()?;
    let switches = Counter::new("/proc/stat ctxt", Source::Stat("ctxt".into())).per_unit(HOPS, 0.1);
    let forks = Counter::new("/proc/stat processes", Source::Stat("processes".into())).per_unit(PROGRAMS, 0.9);
    let units = vec![Unit::each("messages"), Unit::each("programs started")];
    let mut plan = Plan::new(units, vec![switches, forks]);
    let workers = config.workers();
    let ring = ring_size(workers, getrlimit(Resource::Nproc).current);
    if ring < RING {
        plan.notes.push(format!(
            "rings of {ring} threads, not {RING}, because of the limit on processes (`ulimit -u`) or the number of CPUs"
        ));
    }
    let rest = |pause| if config.together() { pause } else { Duration::ZERO };
    let (message_rest, program_rest) = (rest(MESSAGE_REST), rest(PROGRAM_REST));
    for worker in 0..workers {
        let cpu = |member: usize| config.cpu_of(worker + member);
        add_ring(&mut plan, ring, message_rest, &cpu)?;
        // The workers are not bound to CPUs, because the placement of a new program is part of the load.
        plan.worker(None, move |beat| start_programs(beat, program, program_rest));
    }
    Ok(plan)
}

/// Returns the number of threads per ring for `workers` rings that together use at most a quarter of the process limit.
fn ring_size(workers: usize, limit: Option<u64>) -> usize {
    let limit = limit.map_or(MOST_THREADS, |n| (n / 4).min(MOST_THREADS as u64) as usize);
    (limit / workers.max(1)).clamp(SMALLEST_RING, RING)
}

/// Returns a program that exits immediately: this one, or true(1) if this one cannot be executed.
fn program() -> Result<&'static str, LoadError> {
    const OWN: &str = "/proc/self/exe";
    let own = start(OWN);
    match (own, start("/bin/true")) {
        (Ok(()), _) => Ok(OWN),
        (Err(_), Ok(())) => Ok("/bin/true"),
        (Err(error), Err(_)) => Err(LoadError::system("execve", OWN, error)),
    }
}

fn start(program: &str) -> std::io::Result<()> {
    let mut command = Command::new(program);
    let status = command.args([HIDDEN_ARG, EXIT_ARG]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[expect(clippy::disallowed_methods, reason = "the load's own work: a worker without progress is reported")]
    let ended = status.status()?;
    match ended.code() {
        Some(0) => Ok(()),
        code => Err(std::io::Error::other(format!("{program} ended with {code:?}"))),
    }
}

/// Time for which programs may fail to start, for example at a process limit, before the load counts as failed, ns.
const PATIENCE: u64 = 1_500_000_000;

fn start_programs(beat: &mut Beat, program: &str, rest: Duration) -> Result<(), LoadError> {
    let mut last = now();
    loop {
        match start(program) {
            Ok(()) => {
                last = now();
                beat.count(PROGRAMS, 1);
                beat.beat_and_rest();
                pause(rest);
            }
            Err(error) if now() - last > PATIENCE => return Err(LoadError::system("execve", program, error)),
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Adds a ring of threads to the plan. Its first thread publishes progress: if it receives no message, no message
/// circulates.
fn add_ring(
    plan: &mut Plan,
    size: usize,
    rest: Duration,
    cpu: &dyn Fn(usize) -> Option<CpuId>,
) -> Result<(), LoadError> {
    let pipe = || std::io::pipe().map_err(LoadError::on("pipe2", "a ring of threads"));
    let (first, mut into) = pipe()?;
    let mut from = first;
    for _ in 0..MESSAGES {
        into.write_all(&[1; MESSAGE]).map_err(LoadError::on("write", "a pipe"))?;
    }
    let back = into;
    for member in 1..size {
        let (next_from, next_into) = pipe()?;
        let this = std::mem::replace(&mut from, next_from);
        if member == 1 {
            plan.worker(cpu(0), move |beat| count_messages(beat, this, next_into, size as u64, rest));
        } else {
            plan.helper(cpu(member - 1), move || {
                loop {
                    pass_on(&this, &next_into)?;
                }
            });
        }
    }
    plan.helper(cpu(size - 1), move || {
        loop {
            pass_on(&from, &back)?;
        }
    });
    Ok(())
}

fn count_messages(
    beat: &mut Beat,
    from: PipeReader,
    to: PipeWriter,
    size: u64,
    rest: Duration,
) -> Result<(), LoadError> {
    loop {
        pass_on(&from, &to)?;
        beat.count(HOPS, size);
        beat.beat_and_rest();
        pause(rest);
    }
}

fn pause(rest: Duration) {
    if !rest.is_zero() {
        std::thread::sleep(rest);
    }
}

fn pass_on(mut from: &PipeReader, mut to: &PipeWriter) -> Result<(), LoadError> {
    let mut message = [0; MESSAGE];
    from.read_exact(&mut message).map_err(LoadError::on("read", "a pipe"))?;
    to.write_all(&message).map_err(LoadError::on("write", "a pipe"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_fit_the_limits() {
        assert_eq!(ring_size(4, None), 8);
        assert_eq!(ring_size(4, Some(100)), 6);
        assert_eq!(ring_size(4, Some(1)), 2);
        assert_eq!(ring_size(512, None), 4);
    }

    #[test]
    fn a_ring_has_a_worker_and_helpers_for_each_cpu_in_turn() {
        let mut plan = Plan::default();
        add_ring(&mut plan, 4, Duration::ZERO, &|i| Some(CpuId(i as u32))).unwrap();
        let cpus = |list: Vec<Option<CpuId>>| list.into_iter().map(|c| c.unwrap().0).collect::<Vec<_>>();
        assert_eq!(cpus(plan.workers.iter().map(|w| w.0).collect()), [0]);
        assert_eq!(cpus(plan.helpers.iter().map(|h| h.0).collect()), [1, 2, 3]);
    }

    #[test]
    fn true_is_a_program() {
        start("/bin/true").unwrap();
        assert!(start("/bin/false").is_err());
        assert!(start("/nonexistent").is_err());
    }
}
