//! Replays ordinary threads on the CPUs that they actually had, but with immediate balancing.
//!
//! The simulation moves a free thread to the least loaded CPU immediately. The kernel balances only from time to time
//! (sched_balance_rq() in kernel/sched/fair.c), so a thread may have to wait for a real-time thread while another
//! thread does not share its CPU. The effect on a thread is its measured end minus the end computed here.

use super::state::weight;
use punctual_model::{Doing, GanttSpan};
use punctual_units::{Arrange, CpuId, CpuList, Nanos, Scheduling};

#[derive(Clone, Debug)]
pub struct Ran {
    /// Index of the thread in the spans.
    pub thread: usize,
    /// Policy and nice value, which determine the weight.
    pub scheduling: Scheduling,
    pub cpus: CpuList,
    /// Release time since the start of the experiment.
    pub released: Nanos,
    /// CPU time of the thread, including stolen time.
    pub on_cpu: Nanos,
}

/// Idle time of a CPU, relative to the start of the experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Idle {
    pub cpu: CpuId,
    pub from: Nanos,
    pub to: Nanos,
}

/// The CPUs that ordinary threads can use.
#[derive(Clone, Copy, Debug)]
pub enum Available<'a> {
    /// CPUs that were idle or that one of the threads had. Other tasks had the rest.
    Left(&'a [Idle]),
    /// All CPUs except those that another thread of the spans had, as if there were no other tasks.
    Ours,
}

enum Turn {
    /// The CPU is available to ordinary threads from now on.
    Open(CpuId),
    /// The CPU is no longer available to ordinary threads.
    Closed(CpuId),
    Asleep(usize),
}

struct Thread<'a> {
    ran: &'a Ran,
    left: f64,
    asleep: i32,
    cpu: Option<CpuId>,
    rate: f64,
    end: Option<f64>,
}

struct Cpu {
    id: CpuId,
    open: i32,
    weights: f64,
    queue: usize,
}

impl Cpu {
    fn is_closed(&self) -> bool {
        self.open <= 0
    }
}

/// The end of each of the `ordinary` threads, relative to the start of the experiment, if every runnable thread always
/// moves to the least loaded CPU. `spans` are those of all threads. After the last span, every CPU is free. `None` if a
/// thread has no CPU to run on.
pub fn replay(ordinary: &[Ran], spans: &[GanttSpan], available: Available<'_>) -> Vec<Option<Nanos>> {
    let mut ids: Vec<CpuId> = ordinary.iter().flat_map(|ran| ran.cpus.iter()).collect();
    ids.sort_unstable();
    ids.dedup();
    let open = i32::from(matches!(available, Available::Ours));
    let mut cpus: Vec<Cpu> = ids.into_iter().map(|id| Cpu { id, open, weights: 0.0, queue: 0 }).collect();
    let thread = |ran| Thread { ran, left: Ran::work(ran), asleep: 0, cpu: None, rate: 0.0, end: None };
    let mut threads: Vec<Thread<'_>> = ordinary.iter().map(thread).collect();
    let mut now = 0.0;
    for (t, by, turn) in turns(ordinary, spans, available) {
        run(&mut threads, &mut cpus, &mut now, t as f64);
        match turn {
            Some(Turn::Asleep(n)) => threads[n].asleep += by,
            Some(Turn::Open(id)) => cpus.iter_mut().filter(|cpu| cpu.id == id).for_each(|cpu| cpu.open += by),
            Some(Turn::Closed(id)) => cpus.iter_mut().filter(|cpu| cpu.id == id).for_each(|cpu| cpu.open -= by),
            None => {}
        }
    }
    cpus.iter_mut().for_each(|cpu| cpu.open = 1);
    run(&mut threads, &mut cpus, &mut now, f64::INFINITY);
    threads.iter().map(|thread| thread.end.map(|end| Nanos(end as u64))).collect()
}

impl Ran {
    fn work(&self) -> f64 {
        self.on_cpu.0 as f64
    }
}

/// Changes of availability in chronological order. A release is listed as well, without a change.
fn turns(ordinary: &[Ran], spans: &[GanttSpan], available: Available<'_>) -> Vec<(u64, i32, Option<Turn>)> {
    let mut out: Vec<(u64, i32, Option<Turn>)> = ordinary.iter().map(|ran| (ran.released.0, 0, None)).collect();
    let mut both = |from: Nanos, to: Nanos, turn: &dyn Fn() -> Turn| {
        out.push((from.0, 1, Some(turn())));
        out.push((to.0, -1, Some(turn())));
    };
    for span in spans {
        let ours = ordinary.iter().position(|ran| ran.thread == span.thread);
        match (span.doing, span.cpu, ours, available) {
            (Doing::Sleeps, _, Some(n), _) => both(span.from_ns, span.to_ns, &|| Turn::Asleep(n)),
            (Doing::Runs, Some(cpu), Some(_), Available::Left(_)) => {
                both(span.from_ns, span.to_ns, &|| Turn::Open(cpu))
            }
            (Doing::Runs, Some(cpu), None, Available::Ours) => both(span.from_ns, span.to_ns, &|| Turn::Closed(cpu)),
            _ => {}
        }
    }
    if let Available::Left(idle) = available {
        for one in idle {
            both(one.from, one.to, &|| Turn::Open(one.cpu));
        }
    }
    out.arrange_by_key(|(t, _, _)| *t);
    out
}

/// Advances to `until` without changes in availability.
fn run(threads: &mut [Thread<'_>], cpus: &mut [Cpu], now: &mut f64, until: f64) {
    while *now < until {
        place(threads, cpus, *now);
        let first = |least: f64, thread: &Thread<'_>| {
            if thread.rate > 0.0 { least.min(thread.left / thread.rate) } else { least }
        };
        let length = threads.iter().fold(until - *now, first);
        if length.is_infinite() {
            return;
        }
        for thread in threads.iter_mut().filter(|thread| thread.rate > 0.0) {
            thread.left -= length * thread.rate;
            // Half a nanosecond is a rounding error.
            if thread.left < 0.5 {
                thread.end = Some(*now + length);
            }
        }
        *now += length;
    }
    *now = until;
}

/// Moves each thread to the least loaded CPU, as the simulation does.
fn place(threads: &mut [Thread<'_>], cpus: &mut [Cpu], now: f64) {
    for cpu in cpus.iter_mut() {
        (cpu.weights, cpu.queue) = (0.0, 0);
    }
    for thread in threads.iter_mut() {
        thread.rate = 0.0;
        if thread.end.is_some() || thread.asleep > 0 || (thread.ran.released.0 as f64) > now {
            continue;
        }
        let allowed = cpus.iter_mut().filter(|cpu| thread.ran.cpus.contains(cpu.id));
        let rank = |cpu: &&mut Cpu| (cpu.is_closed(), cpu.queue, Some(cpu.id) != thread.cpu, cpu.id);
        let Some(cpu) = allowed.min_by_key(rank) else { continue };
        let weight = weight(thread.ran.scheduling);
        cpu.queue += 1;
        cpu.weights += weight;
        thread.cpu = Some(cpu.id);
        thread.rate = if cpu.is_closed() { 0.0 } else { weight };
    }
    for thread in threads.iter_mut().filter(|thread| thread.rate > 0.0) {
        let weights = cpus.iter().find(|cpu| Some(cpu.id) == thread.cpu).map_or(1.0, |cpu| cpu.weights);
        thread.rate /= weights;
    }
}
