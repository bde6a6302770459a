//! An experiment adapted to this machine, before calibration.

use crate::body::{Action, Body};
use crate::error::SchedError;
use crate::predict::formula::{Periodic, response_times};
use crate::predict::{Scheduler, Task, simulate};
use crate::spec::{Place, Spec};
use crate::system::RR_QUANTUM;
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
    /// Tick of the kernel (1 / CONFIG_HZ); 0 if runtimes are assumed to be exact.
    pub tick: Nanos,
}

#[derive(Clone, Debug)]
pub struct PlanThread {
    pub name: String,
    pub scheduling: Scheduling,
    pub cpus: CpuList,
    pub workload: Kind,
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
        let thread = |thread: &crate::spec::Thread| {
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
            Ok(PlanThread {
                name: thread.name.clone(),
                scheduling: thread.scheduling,
                cpus,
                workload: thread.workload,
                offset: thread.offset,
                body: thread.body(scale),
            })
        };
        let threads = spec.threads.iter().map(thread).collect::<Result<_, _>>()?;
        Ok(Plan { scale, pinned, free, system, threads, at_most: spec.at_most, tick: Nanos::ZERO })
    }

    /// Predicts with these bodies, which replace those of the threads.
    pub fn predict(&self, bodies: &[Body]) -> Vec<Prediction> {
        self.predict_from(bodies, None)
    }

    /// Like [`Plan::predict`], with periods of RT throttling that began this long before the experiment.
    pub fn predict_from(&self, bodies: &[Body], phase: Option<Nanos>) -> Vec<Prediction> {
        let task = |(thread, body): (&PlanThread, &Body)| Task {
            scheduling: thread.scheduling,
            cpus: thread.cpus.clone(),
            release: thread.offset,
            body: body.clone(),
        };
        let tasks: Vec<Task> = self.threads.iter().zip(bodies).map(task).collect();
        let horizon = self.at_most.unwrap_or_else(|| longest(&tasks));
        let scheduler = Scheduler {
            quantum: self.system.rr_quantum_ns.unwrap_or(RR_QUANTUM),
            limit: self.system.limit.clone(),
            phase,
            horizon,
            step: Nanos((horizon.0 / 1_000_000).clamp(20_000, 1_000_000)),
        };
        let mut found = simulate(&tasks, &scheduler);
        // A job of a deadline thread may exceed its runtime by a tick, which benefits the thread only in its last
        // period.
        let shortened: Vec<Task> = tasks.iter().map(|task| self.shortened(task)).collect();
        if shortened != tasks {
            let early = simulate(&shortened, &scheduler);
            for ((found, early), task) in found.iter_mut().zip(early).zip(&tasks) {
                let ends = early.ends_ns.map(|ends| ends + self.tick);
                let deadline = task.scheduling.policy() == Policy::Deadline;
                found.earliest_ns = ends.filter(|ends| deadline && Some(*ends) < found.ends_ns);
            }
        }
        found
    }

    /// The same task with a tick less work, if it is a SCHED_DEADLINE task with a single job.
    fn shortened(&self, task: &Task) -> Task {
        let mut task = task.clone();
        if task.scheduling.policy() == Policy::Deadline
            && task.body.loops == Some(1)
            && let [Action::Run(work)] = &mut task.body.actions[..]
        {
            *work = Nanos(work.saturating_sub(self.tick).0.max(1));
        }
        task
    }

    /// Bounds from response-time analysis, if all threads are periodic real-time threads with different priorities on
    /// one CPU.
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

/// Time at which even the slowest schedule has ended: all work in sequence at a twentieth of a CPU, plus all sleep.
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
        let limit =
            limit.map(|(runtime_ns, period_ns)| RtLimit { runtime_ns, period_ns, by: "a test".into(), always: false });
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
                assert!(plan.predict(&bodies).iter().all(|p| p.ends_ns.is_some()), "{name} on {online}");
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
            let mut plan = Plan::new(&spec, Nanos::from_secs(1), None, free, SchedSettings::default()).unwrap();
            plan.tick = Nanos::from_millis(4);
            let body = plan.threads[0].body.clone();
            let found = plan.predict(&[body])[0];
            let ms = |time: Nanos| time.0.div_ceil(1_000_000);
            (found.ends_ns.map(ms), found.earliest_ns.map(ms))
        };
        // Work of 22 ms: the last 2 ms are in the third period, or with an additional tick at the end of the second.
        assert_eq!(found(0.022), (Some(202), Some(112)));
        assert_eq!(found(0.027), (Some(207), None));
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
