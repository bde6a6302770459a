//! A small simulation of Linux's scheduling policies on several CPUs.

use super::state::{At, State};
use super::{Scheduler, Task};
use punctual_model::{Prediction, RtLimit};
use punctual_units::{Arrange, CpuId, Scheduling};

struct Cpu {
    id: CpuId,
    /// Start of the limit's period, negative if before the first release. `None` if no real-time thread has run yet.
    window: Option<i64>,
    used: f64,
    /// Index of the real-time thread that has the CPU.
    real_time: Option<usize>,
    /// True if real-time threads may not use the CPU even if no other task is runnable.
    throttled: bool,
    ordinary: Vec<usize>,
}

struct Sim<'a> {
    states: Vec<State<'a>>,
    cpus: Vec<Cpu>,
    scheduler: &'a Scheduler,
    place: u64,
}

/// Computes when each thread begins and ends, relative to its own release. Real-time threads run by priority and,
/// within one priority, in order of waking; SCHED_RR goes to the end of its queue after each slice; SCHED_DEADLINE runs
/// by earliest deadline within its budget; ordinary threads share the rest in proportion to their weights.
pub fn simulate(tasks: &[Task], scheduler: &Scheduler) -> Vec<Prediction> {
    let mut ids: Vec<CpuId> = tasks.iter().flat_map(|task| task.cpus.iter()).collect();
    ids.sort_unstable();
    ids.dedup();
    let window = scheduler.phase.map(|phase| -phase.0.cast_signed());
    let cpu = |id| Cpu { id, window, used: 0.0, real_time: None, throttled: false, ordinary: Vec::new() };
    let states = tasks.iter().enumerate().map(|(n, task)| State::new(task, n as u64, scheduler.quantum)).collect();
    let mut sim = Sim { states, cpus: ids.into_iter().map(cpu).collect(), scheduler, place: tasks.len() as u64 };
    let step = scheduler.step.0.max(1);
    let mut now = 0;
    while now < scheduler.horizon.0 && sim.states.iter().any(|state| state.at != At::Ended) {
        sim.wake(now);
        sim.place_real_time();
        sim.place_ordinary(now);
        sim.run(now, step);
        now += step;
    }
    let mut found: Vec<Prediction> = sim.states.iter().map(State::prediction).collect();
    // Threads that do not end before end with the experiment.
    for (prediction, task) in found.iter_mut().zip(tasks).filter(|(_, task)| task.body.loops.is_none()) {
        prediction.ends_ns = Some(scheduler.horizon.saturating_sub(task.release));
    }
    found
}

impl Sim<'_> {
    fn wake(&mut self, now: u64) {
        for state in &mut self.states {
            let woke = state.wake(now);
            if woke {
                state.place = self.place;
                self.place += 1;
                state.slice = self.scheduler.quantum.0 as f64;
            }
            if let Some(server) = &mut state.server {
                server.tick(now);
                if woke {
                    server.wake(now);
                }
            }
        }
    }

    /// Assigns CPUs to the threads of highest urgency. Each gets its previous CPU if that is free.
    fn place_real_time(&mut self) {
        for cpu in &mut self.cpus {
            cpu.real_time = None;
        }
        let mut order: Vec<usize> = (0..self.states.len()).filter(|n| self.is_runnable_real_time(*n)).collect();
        order.arrange_by_key(|n| {
            let state = &self.states[*n];
            let deadline = state.server.and_then(|server| server.runnable()).unwrap_or(0);
            (std::cmp::Reverse(state.rank()), deadline, state.place)
        });
        for n in order {
            let state = &self.states[n];
            let free = |cpu: &&mut Cpu| cpu.real_time.is_none() && state.task.cpus.contains(cpu.id);
            let mut places: Vec<&mut Cpu> = self.cpus.iter_mut().filter(free).collect();
            let at = places.iter().position(|cpu| Some(cpu.id) == state.cpu).unwrap_or(0);
            if let Some(cpu) = places.get_mut(at) {
                cpu.real_time = Some(n);
                self.states[n].cpu = Some(cpu.id);
            }
        }
    }

    fn is_runnable_real_time(&self, n: usize) -> bool {
        let state = &self.states[n];
        state.is_ready() && state.rank().is_some() && state.server.is_none_or(|server| server.runnable().is_some())
    }

    /// Moves ordinary threads to the least loaded CPUs: first those without a real-time thread, then those with the
    /// shortest queue.
    fn place_ordinary(&mut self, now: u64) {
        for cpu in &mut self.cpus {
            cpu.ordinary.clear();
            cpu.throttled = cpu.is_limited(now, self.scheduler.limit.as_ref()) && self.scheduler.is_always_limited();
        }
        for (n, state) in self.states.iter_mut().enumerate() {
            if !state.is_ready() || state.rank().is_some() {
                continue;
            }
            let allowed = self.cpus.iter_mut().filter(|cpu| state.task.cpus.contains(cpu.id));
            let room = |cpu: &&mut Cpu| {
                (cpu.real_time.is_some() && !cpu.throttled, cpu.ordinary.len(), Some(cpu.id) != state.cpu, cpu.id)
            };
            if let Some(cpu) = allowed.min_by_key(room) {
                cpu.ordinary.push(n);
                state.cpu = Some(cpu.id);
            }
        }
    }

    fn run(&mut self, now: u64, step: u64) {
        for cpu in &mut self.cpus {
            let limited = cpu.is_limited(now, self.scheduler.limit.as_ref());
            // RT throttling applies only to SCHED_FIFO and SCHED_RR. The fair server runs as one of the deadline
            // threads, whose reservations leave time for it.
            let runs =
                |n: &usize| self.states[*n].is_deadline() || !limited || (cpu.ordinary.is_empty() && !cpu.throttled);
            match cpu.real_time.filter(runs) {
                Some(n) => {
                    cpu.window.get_or_insert(now.cast_signed());
                    let state = &mut self.states[n];
                    let most = state.server.map_or(step as f64, |server| server.left().min(step as f64));
                    let used = state.run(now, most);
                    cpu.used += used;
                    if let Some(server) = &mut state.server {
                        server.used(used, now + step);
                    }
                    state.slice -= used;
                    let turns = matches!(state.task.scheduling, Scheduling::Rr { .. });
                    if turns && state.slice < step as f64 / 2.0 && state.is_ready() {
                        state.slice += self.scheduler.quantum.0 as f64;
                        state.place = self.place;
                        self.place += 1;
                    }
                }
                None => share(&mut self.states, &cpu.ordinary, now, step as f64),
            }
        }
    }
}

impl Cpu {
    /// Returns `true` if real-time threads have used up their time in this period.
    fn is_limited(&mut self, now: u64, limit: Option<&RtLimit>) -> bool {
        let (Some(limit), Some(start)) = (limit, self.window) else { return false };
        let (runtime, period) = (limit.runtime_ns, limit.period_ns.0.max(1).cast_signed());
        let since = now.cast_signed() - start;
        if since >= period {
            self.window = Some(start + since / period * period);
            self.used = 0.0;
        }
        self.used >= runtime.0 as f64
    }
}

/// Shares a CPU among ordinary threads for `length`. Time that one does not use goes to the next.
fn share(states: &mut [State<'_>], queue: &[usize], now: u64, length: f64) {
    let mut left = length;
    let mut weights: f64 = queue.iter().map(|n| states[*n].weight()).sum();
    for n in queue {
        let weight = states[*n].weight();
        left -= states[*n].run(now, left * weight / weights.max(f64::MIN_POSITIVE));
        weights -= weight;
    }
}
