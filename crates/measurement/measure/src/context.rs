//! The context thread: an ordinary thread that samples the machine's counters once a second and saves the results
//! recorded so far.

use crate::cell::Cell;
use crate::clocks::{clock_events, clocks};
use crate::sources::Source;
use crate::sources::interrupts::Table;
use crate::sources::system::{Stat, vmstat};
use crate::sources::tasks::{OwnCounters, OwnThread, RtTasks};
use crate::sources::thermal::{Thermal, ThermalReadings, When};
use punctual_model::{ContextSample, CpuContext, Event, Problem, ProblemKind, Reading, Stamp, WindowMax};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos};
use rustix::time::{ClockId, clock_gettime};

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Receives the samples while a phase runs.
pub trait Recorder: Send {
    fn event(&mut self, event: &Event);
    fn progress(&mut self, phase: &str, cpu: CpuId, cell: &Cell);
    /// Saves everything recorded so far, so that it survives if the process is killed.
    fn flush(&mut self);
}

pub struct ContextPlan {
    pub phase: String,
    pub cells: Vec<(CpuId, Arc<Cell>)>,
    pub tids: Vec<(CpuId, i32)>,
    /// CPUs reserved for the context thread; if empty, it runs on the measured CPUs.
    pub housekeeping: CpuList,
    /// Name of the load, and a function that returns how many units of work it has completed so far.
    pub load: Option<(String, Beats)>,
    pub pace: Pace,
    /// Called after each sample except the last, without any lock held.
    pub tick: Option<Tick>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Interval between two samples.
    pub interval: Nanos,
    /// Number of samples between two saves of the results. At most this many samples are lost if the process is killed.
    pub progress_every: u64,
}

impl Pace {
    /// Returns the interval between two saves of the results.
    pub fn results(&self) -> Nanos {
        Nanos(self.interval.0.saturating_mul(self.progress_every.max(1)))
    }
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { interval: Nanos::from_secs(1), progress_every: 5 }
    }
}

/// A function that is called about once a second in a thread that does not measure. It must not block, because the end
/// of the phase waits for it.
pub type Tick = Arc<dyn Fn() + Send + Sync>;

/// A function that returns how many units of work a load has completed so far.
pub type Beats = Box<dyn Fn() -> u64 + Send>;

pub struct Context {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<ContextCost>,
}

/// CPU time of the context thread, and problems it detected.
#[derive(Debug, Default)]
pub struct ContextCost {
    pub wakeups: u64,
    pub cpu_ns: u64,
    /// Problems that make the phase inconclusive.
    pub problems: Vec<Problem>,
    /// Notes that do not affect the verdict.
    pub notes: Vec<String>,
}

/// A wakeup later than this makes the thread look for new real-time tasks, ns.
const LATE: u64 = 1_000_000;

impl Context {
    /// Takes the first sample in the calling thread and then starts the context thread, so that the first sample exists
    /// even if the new thread gets no CPU time at first.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(plan: ContextPlan, recorder: Arc<Mutex<dyn Recorder>>) -> std::io::Result<Context> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let theirs = Arc::clone(&stop);
        let mut sampler = Sampler::new(plan, recorder);
        let first = sampler.counters(When::Measuring);
        let builder = std::thread::Builder::new().name("context".into()).stack_size(256 * 1024);
        let thread = builder.spawn(move || {
            if !sampler.plan.housekeeping.is_empty() {
                // Running on other CPUs reduces only the accuracy. The result states where the thread ran.
                let _ = uapi::set_affinity(0, &sampler.plan.housekeeping);
            }
            sampler.run(first, &theirs)
        })?;
        Ok(Context { stop, thread })
    }

    pub fn finish(self) -> ContextCost {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        self.thread.join().unwrap_or_default()
    }
}

struct Counters {
    at: Stamp,
    stat: Option<Stat>,
    page_faults: Option<u64>,
    major_faults: Option<u64>,
    interrupts: Option<Table>,
    softirqs: Option<Table>,
    transitions: Option<u64>,
    thermal: ThermalReadings,
    own: Vec<(CpuId, OwnCounters)>,
}

struct Sampler {
    plan: ContextPlan,
    recorder: Arc<Mutex<dyn Recorder>>,
    cpus: Vec<CpuId>,
    stat: Option<Source>,
    vmstat: Option<Source>,
    interrupts: Option<Source>,
    softirqs: Option<Source>,
    online: Option<Source>,
    transitions: Vec<Source>,
    thermal: Thermal,
    own: Vec<OwnThread>,
    rt_tasks: RtTasks,
    tick_ns: u64,
    problems: Vec<Problem>,
}

impl Sampler {
    fn new(plan: ContextPlan, recorder: Arc<Mutex<dyn Recorder>>) -> Sampler {
        let mut rt_tasks = RtTasks::default();
        rt_tasks.scan(None);
        Sampler {
            cpus: plan.cells.iter().map(|(cpu, _)| *cpu).collect(),
            stat: Source::open("/proc/stat"),
            vmstat: Source::open("/proc/vmstat"),
            interrupts: Source::open("/proc/interrupts"),
            softirqs: Source::open("/proc/softirqs"),
            online: Source::open("/sys/devices/system/cpu/online"),
            transitions: transition_counters(),
            thermal: Thermal::open(Path::new("/"), &plan.cells.iter().map(|(cpu, _)| *cpu).collect()),
            own: plan.tids.iter().map(|&(cpu, tid)| OwnThread::open(cpu, tid)).collect(),
            tick_ns: 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1),
            problems: Vec::new(),
            rt_tasks,
            recorder,
            plan,
        }
    }

    fn run(mut self, first: Counters, stop: &(Mutex<bool>, Condvar)) -> ContextCost {
        let mut before = first;
        let (mut wakeups, mut next) = (0, Instant::now());
        // Depends on the time and not on the number of wakeups, which are late on a busy machine. The tolerance is half
        // an interval.
        let results = Duration::from(self.plan.pace.results());
        let play = Duration::from(self.plan.pace.interval) / 2;
        let mut handed_on = next;
        loop {
            next += Duration::from(self.plan.pace.interval);
            let last = self.sleep(stop, next);
            wakeups += 1;
            // The measuring threads have ended before the last sample.
            let now = self.counters(if last { When::Between } else { When::Measuring });
            let due = last || handed_on.elapsed() + play >= results;
            if due {
                handed_on = Instant::now();
            }
            self.report(&before, &now, due);
            before = now;
            if last {
                let used = clock_gettime(ClockId::ThreadCPUTime);
                let cpu_ns = used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64;
                let notes = left_out(&self.thermal.left_out()).into_iter().collect();
                return ContextCost { wakeups, cpu_ns, problems: self.problems, notes };
            }
            if let Some(tick) = &self.plan.tick {
                tick();
            }
            // Samples missed during a stall are skipped, so there is at most one wakeup per interval.
            next = next.max(Instant::now());
        }
    }

    /// Sleeps until `next`. Returns true if the phase has ended.
    fn sleep(&self, stop: &(Mutex<bool>, Condvar), next: Instant) -> bool {
        let mut stopped = stop.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*stopped {
            let left = next.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            stopped = stop.1.wait_timeout(stopped, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn counters(&mut self, when: When) -> Counters {
        let cpus = &self.cpus;
        let table = |source: &mut Option<Source>| source.as_mut()?.read().map(|text| Table::parse(text, cpus));
        let (interrupts, softirqs) = (table(&mut self.interrupts), table(&mut self.softirqs));
        let vm = self.vmstat.as_mut().and_then(Source::read);
        let transitions: Vec<u64> = self.transitions.iter_mut().filter_map(|s| s.number().map(|n| n as u64)).collect();
        Counters {
            at: clocks(),
            stat: self.stat.as_mut().and_then(|s| s.read().map(Stat::parse)),
            page_faults: vm.and_then(|text| vmstat(text, "pgfault")),
            major_faults: vm.and_then(|text| vmstat(text, "pgmajfault")),
            interrupts,
            softirqs,
            transitions: (!transitions.is_empty()).then(|| transitions.iter().sum()),
            thermal: self.thermal.read(when),
            own: self.own.iter_mut().map(|t| (t.cpu, t.read())).collect(),
        }
    }

    fn report(&mut self, before: &Counters, now: &Counters, progress: bool) {
        let window = self.window(before, now);
        if window.max_ns.iter().any(|(_, max)| *max >= LATE) {
            self.rt_tasks.scan(Some(before.at.boot_ns / self.tick_ns));
        }
        let sample = self.sample(before, now);
        let mut events = clock_events(&before.at, &now.at);
        events.extend(self.lost_cpus(now.at.mono_ns));
        self.note_problems(&sample, &events);
        events.push(Event::Context(sample));
        events.push(Event::Window(window));
        if let Some((load, beats)) = &self.plan.load {
            events.push(Event::Load { mono_ns: now.at.mono_ns, load: load.clone(), beats: beats() });
        }
        let mut recorder = self.recorder.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().for_each(|event| recorder.event(event));
        if progress {
            for (cpu, cell) in &self.plan.cells {
                recorder.progress(&self.plan.phase, *cpu, cell);
            }
            recorder.flush();
        }
    }

    fn window(&self, before: &Counters, now: &Counters) -> WindowMax {
        WindowMax {
            mono_ns: now.at.mono_ns,
            interval_ns: now.at.mono_ns - before.at.mono_ns,
            phase: self.plan.phase.clone(),
            max_ns: self.plan.cells.iter().map(|(cpu, cell)| (*cpu, cell.take_window_max())).collect(),
        }
    }

    fn sample(&mut self, before: &Counters, now: &Counters) -> ContextSample {
        let ran = self.rt_tasks.ran();
        let stat = |f: fn(&Stat) -> Option<u64>| Some((f(before.stat.as_ref()?)?, f(now.stat.as_ref()?)?));
        ContextSample {
            mono_ns: now.at.mono_ns,
            interval_ns: now.at.mono_ns - before.at.mono_ns,
            temperatures: now.thermal.temperatures.clone(),
            throttling: now.thermal.throttled_since(&before.thermal),
            frequency_transitions: rise(before.transitions, now.transitions),
            context_switches: stat(|s| s.context_switches).map(|(a, b)| b.saturating_sub(a)),
            page_faults: rise(before.page_faults, now.page_faults),
            major_faults: rise(before.major_faults, now.major_faults),
            cpus: self.cpus.iter().map(|&cpu| self.cpu(cpu, before, now, &ran)).collect(),
        }
    }

    fn cpu(&self, cpu: CpuId, before: &Counters, now: &Counters, ran: &[(CpuId, String, u64)]) -> CpuContext {
        let risen = |a: &Option<Table>, b: &Option<Table>| b.as_ref()?.risen(a.as_ref()?, cpu);
        let irqs = risen(&before.interrupts, &now.interrupts);
        let readings = |list: Vec<(String, u64)>| {
            list.into_iter().map(|(name, n)| Reading { name, value: n as i64 }).collect::<Vec<_>>()
        };
        let own =
            |c: &Counters| c.own.iter().find(|(id, _)| *id == cpu).map(|(_, own)| own.clone()).unwrap_or_default();
        let (old, new) = (own(before), own(now));
        let steal = |c: &Counters| c.stat.as_ref()?.steal_of(cpu);
        let throttled = now.thermal.throttled_since(&before.thermal);
        let mine = format!("cpu{cpu} ");
        let events: Vec<i64> = throttled.iter().filter(|r| r.name.starts_with(&mine)).map(|r| r.value).collect();
        CpuContext {
            cpu,
            irqs: irqs.as_ref().map(|list| list.iter().map(|(_, n)| n).sum()),
            top_irqs: readings(irqs.unwrap_or_default().into_iter().take(4).collect()),
            softirqs: readings(risen(&before.softirqs, &now.softirqs).unwrap_or_default()),
            steal_ns: rise(steal(before), steal(now)).map(|ticks| ticks * self.tick_ns),
            run_delay_ns: rise(old.run_delay_ns, new.run_delay_ns),
            involuntary_switches: rise(old.involuntary_switches, new.involuntary_switches),
            page_faults: rise(old.page_faults, new.page_faults),
            throttle_events: (!events.is_empty()).then(|| events.iter().sum::<i64>() as u64),
            migrations: new.processor.map(|p| u64::from(p != cpu)),
            rt_tasks: ran
                .iter()
                .filter(|(on, ..)| *on == cpu)
                .take(4)
                .map(|(_, name, ns)| Reading { name: name.clone(), value: *ns as i64 })
                .collect(),
        }
    }

    fn lost_cpus(&mut self, mono_ns: u64) -> Vec<Event> {
        let Some(online) = self.online.as_mut().and_then(|s| s.read()?.parse::<CpuList>().ok()) else {
            return Vec::new();
        };
        let offline = self.cpus.iter().filter(|cpu| !online.contains(**cpu));
        offline
            .map(|&cpu| Event::CpuLost { mono_ns, cpu, text: format!("CPU {cpu} went offline while it was measured") })
            .collect()
    }

    fn note_problems(&mut self, sample: &ContextSample, events: &[Event]) {
        let throttled = sample.throttling.iter().find(|r| r.value > 0).map(|r| Problem {
            kind: ProblemKind::Throttled,
            text: format!(
                "the machine throttled while it was measured ({}): check its cooling and power supply",
                r.name
            ),
        });
        let from_events = events.iter().filter_map(|event| match event {
            Event::Suspend { asleep_ns, .. } => Some(Problem {
                kind: ProblemKind::Suspended,
                text: format!("the machine was suspended for {}", Nanos(*asleep_ns)),
            }),
            Event::CpuLost { text, .. } => Some(Problem { kind: ProblemKind::CpuLost, text: text.clone() }),
            _ => None,
        });
        for problem in throttled.into_iter().chain(from_events) {
            if !self.problems.iter().any(|p| p.kind == problem.kind) {
                self.problems.push(problem);
            }
        }
    }
}

/// Returns a note on sensors that are read only between phases; `None` if there are none.
fn left_out(sensors: &[String]) -> Option<String> {
    (!sensors.is_empty()).then(|| {
        format!(
            "not read while CPUs are measured, because reading them disturbs or may disturb a measured CPU: {}; they are read at the end of each phase",
            sensors.join(", ")
        )
    })
}

fn rise(before: Option<u64>, now: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

/// Opens `total_trans` of every frequency policy (CONFIG_CPU_FREQ_STAT). The kernel counts transitions, so that reading
/// this interrupts no CPU.
fn transition_counters() -> Vec<Source> {
    let policies = std::fs::read_dir("/sys/devices/system/cpu/cpufreq").into_iter().flatten().flatten();
    policies.filter_map(|policy| Source::open(policy.path().join("stats/total_trans"))).collect()
}

#[cfg(test)]
mod tests;
