//! One pass of an experiment: prepares, releases and joins its threads.

use crate::calibrate::new_work;
use crate::error::SchedError;
use crate::job::{Bounds, Do, Done, Job};
use crate::plan::{AFTER_TICK, Plan, PlanThread, Timing};
use crate::predict::releasing;
use crate::release::{Gate, release, sample};
use crate::schedstat::Schedstat;
use crate::system::steal;
use crate::tracing::Tracing;
use punctual_model::GanttSpan;
use punctual_rt::{Attributes, monotonic};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Policy};
use punctual_watchdog as watchdog;
use punctual_workloads::Image;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Thread;

/// Minimum time between the end of preparation and the first release: more than twice the runtime of a fair server.
const LEAD: Nanos = Nanos::from_millis(150);
/// Time for which the CPUs are idle before the first release.
const IDLE: Nanos = Nanos::from_millis(1);
/// Interval at which threads are sampled if there is no trace.
const LOOKS: Nanos = Nanos::from_millis(10);

pub(crate) struct Pass<'a> {
    pub plan: &'a Plan,
    /// Actions of each thread.
    pub doing: &'a [Vec<Do>],
    pub image: &'a Image,
    pub folder: &'a Path,
    /// Time after its release at which a thread ends even if its work is not done.
    pub limit: Nanos,
    pub stop: &'a AtomicBool,
}

pub(crate) struct Ended {
    pub tid: i32,
    pub released: Nanos,
    pub done: Done,
    pub page_faults: Option<u64>,
    pub schedstat_wait: Option<Nanos>,
    pub machine_steal: Option<Nanos>,
    pub edges: Option<Image>,
}

pub(crate) struct Passed {
    pub start: Nanos,
    /// Thread ID of the thread that released the others.
    pub releaser: i32,
    pub threads: Vec<Ended>,
    pub trace: Traced,
}

pub(crate) type Traced = Result<Tracing, (String, Vec<GanttSpan>)>;

type Ready = (usize, Result<(i32, Thread), SchedError>);

impl Pass<'_> {
    /// Runs the pass.
    ///
    /// # Errors
    /// [`SchedError`] if a thread could not be set up. In that case no thread has been released.
    pub fn run(&self) -> Result<Passed, SchedError> {
        let gates: Vec<Gate> = self.plan.threads.iter().map(|_| Gate::default()).collect();
        let (halt, ended, steal) = (AtomicBool::new(false), AtomicUsize::new(0), steal());
        let jobs = self.jobs()?;
        let lasts = std::time::Duration::from_nanos(self.limit.0);
        watchdog::measuring("a pass of the experiment", lasts);
        std::thread::scope(|s| {
            let (sender, receiver) = channel();
            let (mut workers, mut missing) = (Vec::new(), None);
            for (n, job) in jobs.into_iter().enumerate() {
                let (sender, gate, steal, halt, ended) = (sender.clone(), &gates[n], &steal, &halt, &ended);
                let work = move || {
                    let done = self.worker(n, job, &sender, gate, halt, steal);
                    ended.fetch_add(1, Release);
                    done
                };
                match std::thread::Builder::new().spawn_scoped(s, work) {
                    Ok(worker) => workers.push(worker),
                    Err(e) => missing = missing.or(Some(SchedError::thread(&self.plan.threads[n].name, e))),
                }
            }
            drop(sender);
            let count = workers.len();
            let over = || ended.load(Acquire) == count;
            let all = missing.map_or(Ok(()), Err).and_then(|()| prepared(&receiver, count));
            let released = all.and_then(|threads| self.conduct(&threads, &gates, &over));
            if released.is_err() {
                // Opens the gates of the threads that are ready, so that they notice the request to end.
                halt.store(true, Relaxed);
                let threads = workers.iter().zip(&gates).map(|(w, gate)| (Nanos::ZERO, gate, w.thread().clone()));
                release(Nanos::ZERO, &threads.collect::<Vec<_>>());
            }
            let threads: Vec<Option<Ended>> = workers.into_iter().map(|w| w.join().ok().flatten()).collect();
            watchdog::concluding("the evaluation of the pass");
            let (start, releaser, trace) = released?;
            let threads: Option<Vec<Ended>> = threads.into_iter().collect();
            let threads =
                threads.ok_or_else(|| SchedError::thread("a thread", "it panicked; please report this bug"))?;
            Ok(Passed { start, releaser, threads, trace })
        })
    }

    fn jobs(&self) -> Result<Vec<Job>, SchedError> {
        let job = |(thread, doing): (&PlanThread, &Vec<Do>)| {
            let work = new_work(thread.workload, self.image, self.folder)?;
            Ok(Job { doing: doing.clone(), loops: thread.body.loops, work })
        };
        self.plan.threads.iter().zip(self.doing).map(job).collect()
    }

    /// Starts tracing, releases each thread at its time, and samples the threads if there is no trace.
    fn conduct(
        &self,
        threads: &[(i32, Thread)],
        gates: &[Gate],
        over: &(dyn Fn() -> bool + Sync),
    ) -> Result<(Nanos, i32, Traced), SchedError> {
        let tids: Vec<i32> = threads.iter().map(|(tid, _)| *tid).collect();
        let trace = Tracing::start(self.plan.system.online.len());
        let gates = self.plan.threads.iter().zip(gates).zip(threads);
        let gates: Vec<_> = gates.map(|((plan, gate), (_, thread))| (plan.offset, gate, thread.clone())).collect();
        let traced = trace.is_ok();
        let start = self.start();
        let conductor = || -> Result<(i32, Vec<GanttSpan>), SchedError> {
            if let Some(cpu) = self.plan.releaser() {
                let failed = |e: uapi::Error| SchedError::thread("the releasing thread", e);
                uapi::set_affinity(0, &CpuList::from_iter([cpu])).map_err(failed)?;
                let policy = releasing(self.plan.threads.iter().map(|thread| thread.scheduling));
                if policy.policy().is_real_time() {
                    uapi::set_scheduling(0, policy, true).map_err(failed)?;
                }
            }
            release(start, &gates);
            let own = rustix::thread::gettid().as_raw_nonzero().get();
            Ok((own, if traced { Vec::new() } else { sample(start, &tids, LOOKS, over) }))
        };
        let conducted = std::thread::scope(|s| {
            if self.plan.has_real_time() {
                for cpu in self.plan.cpus().iter() {
                    let busy = move || keep_busy(cpu, start.saturating_sub(IDLE));
                    std::thread::Builder::new().name("busy".into()).spawn_scoped(s, busy)?;
                }
            }
            watchdog::in_thread("release", conductor)
        });
        let (releaser, spans) = conducted.map_err(|e| SchedError::thread("the releasing thread", e))??;
        Ok((start, releaser, trace.map_err(|why| (why, spans))))
    }

    /// Returns the start of the experiment: a fixed fraction of a tick period after a tick, and late enough that the
    /// periods of all deadline threads have passed since they got their policy and that the CPUs have been busy for
    /// long enough.
    fn start(&self) -> Nanos {
        let Timing { tick, phase, .. } = self.plan.timing;
        let earliest = monotonic() + LEAD.max(self.plan.longest_period());
        Nanos((earliest.0 - phase.0).next_multiple_of(tick.0.max(1))) + phase + Nanos(tick.0 / AFTER_TICK)
    }

    fn worker(
        &self,
        n: usize,
        mut job: Job,
        sender: &Sender<Ready>,
        gate: &Gate,
        halt: &AtomicBool,
        steal_before: &BTreeMap<CpuId, Nanos>,
    ) -> Option<Ended> {
        let plan = &self.plan.threads[n];
        let prepared = prepare(plan, &mut job);
        let failed = prepared.is_err();
        let ready = prepared.map(|tid| (tid, std::thread::current()));
        let tid = ready.as_ref().map_or(0, |(tid, _)| *tid);
        let stat = Schedstat::open().ok();
        let faults = || uapi::thread_usage().ok().map(|usage| usage.page_faults);
        // If the receiver is closed, another thread has already failed.
        let _ = sender.send((n, ready));
        if failed {
            return None;
        }
        let (waited, faulted) = (stat.as_ref().and_then(Schedstat::wait), faults());
        let released = gate.wait();
        let done = job.perform(released, &Bounds { until: released + self.limit, stops: [halt, self.stop] });
        let wait = stat.as_ref().and_then(Schedstat::wait);
        let page_faults = faults();
        let stolen = steal();
        let taken = |cpu: CpuId| Some(stolen.get(&cpu)?.saturating_sub(*steal_before.get(&cpu)?).0);
        Some(Ended {
            tid,
            released,
            done,
            page_faults: page_faults.zip(faulted).map(|(after, before)| after.saturating_sub(before)),
            schedstat_wait: wait.zip(waited).map(|(after, before)| after.saturating_sub(before)),
            machine_steal: plan.cpus.iter().map(taken).sum::<Option<u64>>().map(Nanos),
            edges: job.work.edges().cloned(),
        })
    }
}

/// Occupies a CPU as an ordinary thread until the time `until`, so that the CPU's fair server begins a period: whatever
/// the server did before, it then waits until threads starve.
fn keep_busy(cpu: CpuId, until: Nanos) {
    // On another CPU this would have less effect, but do no harm.
    let _ = uapi::set_affinity(0, &CpuList::from_iter([cpu]));
    while monotonic() < until {
        std::hint::spin_loop();
    }
}

/// Sets the thread's CPUs, warms up its workload, locks its stack if the policy is a real-time one, and sets the
/// policy. The policy is set last, because a real-time thread should only wait from then on.
fn prepare(plan: &PlanThread, job: &mut Job) -> Result<i32, SchedError> {
    let failed = |why: String| SchedError::thread(&plan.name, why);
    let place = |cpus: &CpuList| uapi::set_affinity(0, cpus).map_err(|e| failed(e.to_string()));
    let before = uapi::affinity(0).map_err(|e| failed(e.to_string()))?;
    place(&CpuList::from_iter([plan.home]))?;
    for _ in 0..job.work.unit() {
        job.work.step().map_err(|e| failed(format!("its workload: {e}")))?;
    }
    job.work.begin_anew();
    // The kernel admits a deadline thread only on all CPUs.
    place(if plan.scheduling.policy() == Policy::Deadline { &before } else { &plan.cpus })?;
    // Locking may fail if there is not enough memory; page faults are counted.
    let lock_stack = plan.scheduling.policy().is_real_time();
    let attributes = Attributes { scheduling: plan.scheduling, cpu: None, lock_stack };
    attributes.apply().map_err(|refused| failed(refused.advised()))?;
    Ok(rustix::thread::gettid().as_raw_nonzero().get())
}

/// Waits until all threads are at their gates. Returns them in order, or the first failure.
fn prepared(ready: &Receiver<Ready>, count: usize) -> Result<Vec<(i32, Thread)>, SchedError> {
    let mut all: Vec<Option<(i32, Thread)>> = vec![None; count];
    for (n, thread) in ready.iter().take(count) {
        all[n] = Some(thread?);
    }
    let all: Option<Vec<_>> = all.into_iter().collect();
    all.ok_or_else(|| SchedError::thread("a thread", "it ended before it was ready; please report this bug"))
}
