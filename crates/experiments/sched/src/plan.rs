//! An experiment adapted to this machine, before calibration.

use crate::body::Body;
use crate::error::SchedError;
use crate::predict::{Foreign, Scheduler, Task, simulate};
use crate::spec::{Place, Spec};
use crate::system::RR_QUANTUM;
use punctual_cycles::{Periodic, response_times};
use punctual_model::{Prediction, SchedSettings};
use punctual_units::{Arrange, CpuId, CpuList, Nanos, Policy, Scheduling};
use punctual_workloads::Kind;

#[derive(Clone, Debug)]
pub struct Plan {
    /// CPU time of one unit of work (`amount = 1`).
    pub scale: Nanos,
    pub pinned: CpuId,
    pub free: CpuList,
    pub system: SchedSettings,
    pub threads: Vec<PlanThread>,
    /// Time limit at which all threads end; `None` if the experiment states none.
    pub at_most: Option<Nanos>,
    pub timing: Timing,
}

/// Properties of the kernel that determine when it switches threads.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Period of the tick (1 / CONFIG_HZ).
    pub tick: Nanos,
    /// Time of a tick on CLOCK_MONOTONIC, modulo the tick period.
    pub phase: Nanos,
    /// True if the kernel has PREEMPT_RT.
    pub realtime: bool,
    /// True if this process is in a scheduling group: a cgroup, or an autogroup.
    pub grouped: bool,
    /// Scheduling period of a kernel whose ordinary threads are scheduled by CFS, before Linux 6.6 (sched_latency_ns).
    /// Within it, each thread gets the same share as under EEVDF, which the simulation uses.
    pub cfs: Option<Nanos>,
    /// Length of an ordinary thread's request, during which a thread of equal weight does not preempt it
    /// (base_slice_ns).
    pub slice: Nanos,
}

/// Influences from outside the experiment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside<'a> {
    /// Time from the start of a period of RT throttling to the start of the experiment. If `None`, the period begins
    /// with the first real-time thread.
    pub phase: Option<Nanos>,
    /// Intervals in which tasks outside the experiment had a CPU.
    pub foreign: &'a [Foreign],
}

/// An experiment starts 1/`AFTER_TICK` of a tick period after a tick, so that no release in whole milliseconds
/// coincides with a tick.
pub const AFTER_TICK: u64 = 8;

impl Default for Timing {
    /// Returns the values of a kernel with 250 Hz and two CPUs.
    fn default() -> Timing {
        Timing {
            tick: Nanos::from_millis(4),
            phase: Nanos::ZERO,
            realtime: false,
            grouped: false,
            cfs: None,
            slice: Nanos(1_400_000),
        }
    }
}

#[derive(Clone, Debug)]
pub struct PlanThread {
    pub name: String,
    pub scheduling: Scheduling,
    pub cpus: CpuList,
    pub workload: Kind,
    /// The CPU on which the thread waits for its release.
    pub home: CpuId,
    pub offset: Nanos,
    /// Body of the thread, with work in CPU time.
    pub body: Body,
}

impl Plan {
    /// Adapts an experiment to the CPUs this process may use.
    ///
    /// # Errors
    /// [`SchedError::Refused`] if the experiment needs a CPU that is not available.
    pub fn new(
        spec: &Spec,
        scale: Nanos,
        pinned: Option<CpuId>,
        free: CpuList,
        system: SchedSettings,
    ) -> Result<Plan, SchedError> {
        // Uses the last CPU, since interrupts are routed to the first one by default.
        let pinned = pinned.or_else(|| free.iter().last()).filter(|cpu| free.contains(*cpu)).ok_or_else(|| {
            SchedError::Refused(format!("--cpu: this process may only run on {free} (taskset -cp $$)"))
        })?;
        let thread = |(n, thread): (usize, &crate::spec::Thread)| {
            let cpus = match &thread.cpus {
                Place::Pinned => CpuList::from_iter([pinned]),
                Place::Free => free.clone(),
                Place::Cpus(cpus) => cpus.clone(),
            };
            let missing = cpus.minus(&free);
            if !missing.is_empty() {
                let name = &thread.name;
                return Err(SchedError::Refused(format!(
                    "{name} needs CPU {missing}, but this process may only run on {free} (taskset -cp $$)"
                )));
            }
            let home = cpus.iter().nth(n % cpus.len().max(1)).unwrap_or(pinned);
            Ok(PlanThread {
                name: thread.name.clone(),
                scheduling: thread.scheduling,
                cpus,
                home,
                workload: thread.workload,
                offset: thread.offset,
                body: thread.body(scale),
            })
        };
        let threads = spec.threads.iter().enumerate().map(thread).collect::<Result<_, _>>()?;
        Ok(Plan { scale, pinned, free, system, threads, at_most: spec.at_most, timing: Timing::default() })
    }

    /// Predicts the ends of the threads with `bodies` in place of their own bodies. `charged` is, for each thread, the
    /// share of its time on a CPU that is charged to it. A predicted end is the median of simulations in which the
    /// amount of work varies by up to `error` (a share) in both directions, and so do the outcomes of what the kernel
    /// leaves to chance. The bounds contain the ends of all simulations; for ordinary threads under CFS they are
    /// extended by a scheduling period on each side.
    pub fn predict(&self, bodies: &[Body], charged: &[f64], error: f64, beside: Beside<'_>) -> Vec<Prediction> {
        let factors = [1.0 - error, 1.0, 1.0 + error];
        let runs =
            (0..SEEDS).flat_map(|seed| factors.map(|factor| self.simulate(bodies, charged, factor, beside, seed)));
        let all: Vec<Vec<Prediction>> = runs.collect();
        let of = |n: usize| {
            let ordinary = !self.threads[n].scheduling.policy().is_real_time();
            let margin = self.timing.cfs.filter(|_| ordinary).unwrap_or_default();
            median(all.iter().map(|one| one[n]).collect(), margin)
        };
        (0..self.threads.len()).map(of).collect()
    }

    /// Predicts the ends of the threads for one outcome of what the kernel leaves to chance, with the work multiplied
    /// by `factor`.
    pub fn simulate(
        &self,
        bodies: &[Body],
        charged: &[f64],
        factor: f64,
        beside: Beside<'_>,
        seed: u64,
    ) -> Vec<Prediction> {
        let task = |((thread, body), charged): ((&PlanThread, &Body), &f64)| Task {
            scheduling: thread.scheduling,
            cpus: thread.cpus.clone(),
            home: thread.home,
            release: thread.offset,
            body: body.scaled(factor),
            charged: *charged,
        };
        let tasks: Vec<Task> = self.threads.iter().zip(bodies).zip(charged).map(task).collect();
        simulate(&tasks, &self.scheduler(beside, seed, longest(&tasks)))
    }

    fn scheduler<'a>(&self, beside: Beside<'a>, seed: u64, longest: Nanos) -> Scheduler<'a> {
        let tick = self.timing.tick;
        Scheduler {
            quantum: self.system.rr_quantum_ns.unwrap_or(RR_QUANTUM),
            limit: self.system.limit.clone(),
            phase: beside.phase,
            tick,
            first_tick: Nanos(tick.0 - tick.0 / AFTER_TICK),
            slice: self.timing.slice,
            realtime: self.timing.realtime,
            grouped: self.timing.grouped,
            seed,
            releaser: self.releaser(),
            foreign: beside.foreign,
            horizon: self.at_most.unwrap_or(longest),
        }
    }

    /// Returns the CPU of the thread that releases the others: the first CPU, because pinned threads use the last one.
    pub fn releaser(&self) -> Option<CpuId> {
        self.free.iter().next()
    }

    /// Returns all CPUs on which threads may run.
    pub fn cpus(&self) -> CpuList {
        self.threads.iter().flat_map(|thread| thread.cpus.iter()).collect()
    }

    /// Returns the longest period or deadline of the SCHED_DEADLINE threads; zero if there are none.
    pub fn longest_period(&self) -> Nanos {
        let period = |thread: &PlanThread| match thread.scheduling {
            Scheduling::Deadline { deadline_ns, period_ns, .. } => deadline_ns.max(period_ns),
            _ => Nanos::ZERO,
        };
        self.threads.iter().map(period).max().unwrap_or_default()
    }

    /// Returns bounds from response-time analysis for the SCHED_FIFO threads, if all of these are periodic, have
    /// different priorities, and are pinned to the same CPU.
    pub fn bounds(&self, bodies: &[Body]) -> Vec<Option<Nanos>> {
        let none = vec![None; self.threads.len()];
        let mut order: Vec<usize> = (0..self.threads.len()).collect();
        order.arrange_by_key(|n| std::cmp::Reverse(self.threads[*n].scheduling.priority()));
        let fifo = |n: &usize| self.threads[*n].scheduling.policy() == Policy::Fifo;
        let alone = |n: &usize| self.threads[*n].cpus.len() == 1 && self.threads[*n].cpus == self.threads[0].cpus;
        let real_time: Vec<usize> = order.into_iter().filter(fifo).collect();
        let distinct = real_time
            .windows(2)
            .all(|two| self.threads[two[0]].scheduling.priority() != self.threads[two[1]].scheduling.priority());
        if !distinct || !real_time.iter().all(alone) {
            return none;
        }
        let periodic = |n: &usize| {
            let period = bodies[*n].period()?;
            Some(Periodic { period, work: bodies[*n].work(), release_jitter: Nanos::ZERO, blocking: Nanos::ZERO })
        };
        let Some(tasks) = real_time.iter().map(periodic).collect::<Option<Vec<Periodic>>>() else { return none };
        let mut bounds = none;
        for (n, bound) in real_time.into_iter().zip(response_times(&tasks)) {
            bounds[n] = bound;
        }
        bounds
    }

    /// Returns `true` if the plan has a thread that ordinary threads cannot preempt.
    pub fn has_real_time(&self) -> bool {
        self.threads.iter().any(|thread| thread.scheduling.policy().is_real_time())
    }
}

/// Number of simulations with different random outcomes for each prediction. It is odd, so that there is a median.
const SEEDS: u64 = 15;

/// Returns the median of the predictions for a thread, with the earliest end minus `margin`, and the latest end plus
/// `margin`.
fn median(mut all: Vec<Prediction>, margin: Nanos) -> Prediction {
    all.arrange_by_key(|one| one.ends_ns.unwrap_or(Nanos(u64::MAX)));
    let (first, middle, last) = (all[0].ends_ns, all[all.len() / 2], all[all.len() - 1].ends_ns);
    let first = first.map(|first| first.saturating_sub(margin));
    let last = last.map(|last| last + margin);
    Prediction {
        earliest_ns: first.filter(|_| first < middle.ends_ns),
        latest_ns: last.filter(|_| last > middle.ends_ns),
        ..middle
    }
}

/// Returns a time at which even the slowest schedule has ended: all work in sequence, at half the speed of a CPU or at
/// the reserved share of a deadline thread, plus all sleep.
fn longest(tasks: &[Task]) -> Nanos {
    let one = |task: &Task| {
        let loops = task.body.loops.unwrap_or(1);
        let served = match task.scheduling {
            Scheduling::Deadline { runtime_ns, period_ns, .. } => period_ns.0 / runtime_ns.0.max(1) + 1,
            _ => 2,
        };
        let loop_ns = task.body.work().0.saturating_mul(served).saturating_add(task.body.sleep().0);
        task.release.0.saturating_add(loop_ns.saturating_mul(loops))
    };
    let sum = tasks.iter().map(one).fold(1_000_000_000, u64::saturating_add);
    Nanos(sum.min(24 * 3_600_000_000_000))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::builtin;
    use punctual_model::RtLimit;

    pub(crate) fn plan(name: &str, online: &str, limit: Option<(Nanos, Nanos)>) -> Plan {
        let limit = limit.map(|(runtime_ns, period_ns)| RtLimit {
            runtime_ns,
            period_ns,
            by: "a test".into(),
            always: false,
            fair_server: true,
        });
        let online: CpuList = online.parse().unwrap();
        let system = SchedSettings { rr_quantum_ns: None, limit, online: online.clone() };
        Plan::new(&builtin(name).unwrap().unwrap(), Nanos::from_secs(1), None, online, system).unwrap()
    }

    #[test]
    fn pinned_threads_get_the_last_cpu_and_free_ones_all() {
        assert!(plan("case-3", "0-3", None).threads.iter().all(|thread| thread.cpus.to_string() == "3"));
        assert!(plan("case-5", "0-3", None).threads.iter().all(|thread| thread.cpus.to_string() == "0-3"));
    }

    #[test]
    fn a_cpu_that_is_not_ours_is_refused() {
        let spec = builtin("case-1").unwrap().unwrap();
        let plan = |cpu| {
            let free = "0-1".parse().unwrap();
            Plan::new(&spec, Nanos::from_secs(1), Some(CpuId(cpu)), free, SchedSettings::default())
        };
        assert!(plan(1).is_ok());
        assert!(plan(2).unwrap_err().to_string().contains("may only run on 0-1"));
    }

    #[test]
    fn every_built_in_experiment_is_predicted_to_end() {
        let limit = Some((Nanos::from_millis(950), Nanos::from_secs(1)));
        for (name, _) in crate::EXPERIMENTS {
            for online in ["0", "0-3"] {
                let plan = plan(name, online, limit);
                let bodies: Vec<Body> = plan.threads.iter().map(|thread| thread.body.clone()).collect();
                assert!(
                    plan.predict(&bodies, &vec![1.0; bodies.len()], 0.005, Beside::default())
                        .iter()
                        .all(|p| p.ends_ns.is_some()),
                    "{name} on {online}"
                );
            }
        }
    }

    #[test]
    fn a_deadline_thread_may_end_a_period_earlier_where_a_tick_decides() {
        let text = |amount: f64| {
            format!(
                "name = \"x\"\nabout = \"x\"\n[[threads]]\nname = \"a\"\npolicy = \"deadline\"\nruntime_ms = 10\n\
                 period_ms = 100\ncpu = \"free\"\nworkload = \"busy\"\namount = {amount}\n"
            )
        };
        let found = |amount| {
            let spec = Spec::parse("x", &text(amount)).unwrap();
            let free: CpuList = "0".parse().unwrap();
            let plan = Plan::new(&spec, Nanos::from_secs(1), None, free, SchedSettings::default()).unwrap();
            let body = plan.threads[0].body.clone();
            let found = plan.predict(&[body], &[1.0], 0.005, Beside::default())[0];
            found.bounds().map(|(earliest, latest)| [earliest, latest].map(|time| (time.0 + 500_000) / 1_000_000))
        };
        // The first tick that finds the runtime used up is at 11.5 ms, and then the one at 111.5: 23 ms in two periods.
        assert_eq!(found(0.022), Some([110, 111]));
        assert_eq!(found(0.023), Some([111, 200]));
        assert_eq!(found(0.027), Some([204, 204]));
    }

    #[test]
    fn periodic_threads_of_different_priorities_have_a_bound() {
        let spec = crate::rtapp::import(
            "x.json",
            r#"{"tasks": {"a": {"policy": "SCHED_FIFO", "priority": 20, "cpus": [0], "loop": 3, "run": 3, "timer": {"period": 20}},
                          "b": {"policy": "SCHED_FIFO", "priority": 10, "cpus": [0], "loop": 3, "run": 8, "timer": {"period": 30}}}}"#,
        )
        .unwrap();
        let free: CpuList = "0".parse().unwrap();
        let plan = Plan::new(&spec, Nanos::from_secs(1), None, free, SchedSettings::default()).unwrap();
        let bodies: Vec<Body> = plan.threads.iter().map(|thread| thread.body.clone()).collect();
        assert_eq!(plan.bounds(&bodies), [Some(Nanos::from_micros(3)), Some(Nanos::from_micros(11))]);
    }
}
