//! Describes the chain behind a wakeup: what the preceding threads waited for.

use super::machine::{Machine, Window};
use super::view::View;
use super::waits::{For, LEAST, Lock, Spin, Step, Wait};
use super::walk::Walk;
use super::{Facts, choose, sentences, victim};
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence, Link, Scheduled};
use punctual_units::Nanos;

/// Maximum number of spinning threads and interrupts named.
const SPINS: usize = 3;

/// Returns the waits that count for a wakeup: those since it was due, or since the thread went to sleep if no timer
/// woke it, of at least a tenth of the time since the wait began and of the latency.
pub(super) fn steps(window: &Window) -> impl Iterator<Item = &Step> {
    let waking = &window.waking;
    let slept = waking.slept.unwrap_or(waking.t2);
    let since = if waking.t0 < waking.t2 { waking.t0.max(slept) } else { slept };
    let counts = move |step: &&Step| {
        let Wait { from, to, .. } = *step.wait;
        let inside = to.min(waking.t2).saturating_sub(from.max(since));
        inside >= least(window) && inside.saturating_mul(10) >= waking.t2.saturating_sub(from)
    };
    waking.way.iter().filter(counts)
}

fn least(window: &Window) -> u64 {
    LEAST.max(window.t3.saturating_sub(window.waking.t0) / 10)
}

/// Returns the links of a wakeup as long as work is left, and reduces it by what that took.
pub(super) fn within(machine: &Machine, facts: &Facts, window: &Window, work: &mut u64) -> Vec<Link> {
    if *work == 0 {
        return Vec::new();
    }
    let (links, looked) = links(machine, facts, window);
    *work = work.saturating_sub(looked);
    links
}

/// Returns the links, most recent first, and the number of pieces examined.
fn links(machine: &Machine, facts: &Facts, window: &Window) -> (Vec<Link>, u64) {
    let mut looked = 0;
    let waits = steps(window).map(|step| {
        let (link, pieces) = link(machine, facts, window, step);
        looked += pieces;
        link
    });
    let links = waits.collect::<Vec<_>>().into_iter().chain(spins(machine, facts, window)).collect();
    (links, looked)
}

fn link(machine: &Machine, facts: &Facts, window: &Window, step: &Step) -> (Link, u64) {
    let wait = &*step.wait;
    let scheduled = choose::scheduled(facts, wait.tid, wait.prio);
    let comm = wait.comm.map(|comm| comm.to_string());
    let own = wait.tid == window.tid && step.woke.is_none();
    let who = match own {
        true => "it".to_owned(),
        false => scheduled.thread(comm.as_deref(), Some(wait.tid)),
    };
    let whom = match step.woke {
        Some((woken, _)) if woken == window.tid => "it".to_owned(),
        Some((woken, _)) => thread(machine, facts, woken),
        None => String::new(),
    };
    let who = match step.woke {
        Some((_, at)) => format!("{who}, which woke {whom} {} later,", Nanos(at.saturating_sub(wait.to))),
        None => who,
    };
    let ns = wait.to - wait.from;
    let (text, confidence, pieces) = match &wait.what {
        For::Cpu(bare) => {
            let (cause, confidence, pieces) = caused(machine, facts, bare);
            (format!("{who} was itself {} late: {cause}", Nanos(ns)), confidence, pieces)
        }
        For::CpuAgain(bare) => {
            let (cause, confidence, pieces) = caused(machine, facts, bare);
            (format!("{who} lost its CPU for {}: {cause}", Nanos(ns)), confidence, pieces)
        }
        For::Lock { lock, owner, by } => {
            let known = owner.is_some() && owner == by && lock.is_some();
            let confidence = if known { High } else { Medium };
            (format!("{who} waited {} for {}", Nanos(ns), held(machine, facts, *lock, *owner, *by)), confidence, 0)
        }
    };
    let doubtful = machine.cpus().any(|(_, cpu)| cpu.doubtful.back().is_some_and(|odd| odd.at >= wait.from));
    let confidence = if step.sure && !doubtful { confidence } else { Suspected };
    (Link { tid: Some(wait.tid), comm, scheduled, from_ns: wait.from, ns, confidence, sentence: text }, pieces)
}

/// Formats a lock and its owner: `the rtmutex at 0x…, held by logger (pid 9)`. The owner is named only with evidence.
pub(super) fn held(
    machine: &Machine,
    facts: &Facts,
    lock: Option<Lock>,
    owner: Option<i32>,
    by: Option<i32>,
) -> String {
    let thread = |tid: i32| thread(machine, facts, tid);
    let lock = lock.map_or_else(|| "a lock".to_owned(), Lock::said);
    let woke = |by: i32| format!(" until {} woke it", thread(by));
    match owner {
        Some(owner) if Some(owner) == by => format!("{lock}, held by {}", thread(owner)),
        Some(owner) => {
            format!("{lock}, held by {} at first{}", thread(owner), by.map(woke).unwrap_or_default())
        }
        None => {
            format!("{lock}, whose owner is not recorded{}", by.map(|by| format!(",{}", woke(by))).unwrap_or_default())
        }
    }
}

/// Formats a thread with its own priority, not an inherited one.
fn thread(machine: &Machine, facts: &Facts, tid: i32) -> String {
    let known = machine.tasks.find(tid);
    let prio = known.and_then(|known| known.base.or(known.prio));
    let comm = known.and_then(|known| known.comm).map(|comm| comm.to_string());
    choose::scheduled(facts, tid, prio).thread(comm.as_deref(), Some(tid))
}

/// Returns the causes that make up half of a wait for a CPU. That the wait delayed what followed is an inference, so
/// the confidence is at most medium.
fn caused(machine: &Machine, facts: &Facts, window: &Window) -> (String, Confidence, u64) {
    const MOST: usize = 3;
    let mut walk = Walk::new(View { machine, window, facts });
    walk.run();
    let whole = window.t3 - window.waking.t0;
    let causes = victim::causes(machine, facts, &walk.tally, whole);
    let mut parts: Vec<String> = Vec::new();
    let (mut sum, mut confidence) = (0, Medium);
    for cause in causes.iter().filter(|cause| cause.class != Class::Unaccounted).take(MOST) {
        if sum >= whole / 2 {
            break;
        }
        sum += cause.ns;
        confidence = confidence.min(cause.confidence);
        parts.push(sentences::happened(cause, &format!("{} of it", Nanos(cause.ns))));
    }
    if sum < whole / 4 {
        return ("the reason is unknown".to_owned(), Medium, walk.steps);
    }
    (parts.join("; "), confidence, walk.steps)
}

/// Returns the threads that spun for a lock on the CPUs that the thread waited for.
fn spins<'a>(machine: &'a Machine, facts: &'a Facts, window: &'a Window) -> impl Iterator<Item = Link> + 'a {
    let waking = &window.waking;
    let mut cpus: Vec<u32> = waking.path.iter().map(|(_, cpu)| *cpu).chain([waking.from_cpu, window.cpu]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let inside = move |spin: &Spin| spin.to.min(window.t3).saturating_sub(spin.from.max(waking.t0)) >= least(window);
    let all = cpus.into_iter().filter_map(|cpu| machine.cpu(cpu));
    let all = all.flat_map(move |cpu| cpu.spins.iter().rev().filter(move |spin| inside(spin))).take(SPINS);
    all.map(move |spin| {
        let known = spin.tid.and_then(|tid| machine.tasks.find(tid));
        let scheduled = spin.tid.map(|tid| choose::scheduled(facts, tid, known.and_then(|known| known.prio)));
        let scheduled: Scheduled = scheduled.unwrap_or_default();
        let comm = known.and_then(|known| known.comm).map(|comm| comm.to_string());
        let who = match spin.tid {
            Some(_) => scheduled.thread(comm.as_deref(), spin.tid),
            None => "an interrupt or softirq".to_owned(),
        };
        let ns = spin.to - spin.from;
        let sentence =
            format!("{who} spun {} for {}", Nanos(ns), held(machine, facts, Some(spin.lock), spin.owner, spin.owner));
        Link { tid: spin.tid, comm, scheduled, from_ns: spin.from, ns, confidence: High, sentence }
    })
}
