//! Reads one entry of `tasks`.

use super::{Global, Json, Unknown};
use crate::body::{Action, Body};
use crate::spec::{Amount, Place, Thread};
use punctual_units::{CpuId, CpuList, Nanos, Policy, Scheduling};
use punctual_workloads::Kind;

/// Maximum number of actions of a task after its phases are expanded.
const MOST_ACTIONS: usize = 100_000;

struct Head {
    policy: Policy,
    priority: Option<i64>,
    budget: [Option<Nanos>; 3],
    cpus: Place,
    delay: Nanos,
    instances: u64,
    loops: Option<u64>,
}

/// Returns the threads of a task, one per instance.
pub(super) fn threads(name: &str, task: &Json, global: &Global) -> Result<Vec<Thread>, Unknown> {
    let path = format!("tasks.{name}");
    let mut head = Head {
        policy: global.default_policy,
        priority: None,
        budget: [None; 3],
        cpus: Place::Free,
        delay: Nanos::ZERO,
        instances: 1,
        loops: None,
    };
    let mut actions = Vec::new();
    for (key, value) in task.object(&path)? {
        let at = format!("{path}.{key}");
        if key == "phases" {
            phases(value, &at, &mut actions)?;
        } else if !head.read(key, value, &at)? {
            action(key, value, &at, &mut actions)?;
        }
    }
    if actions.is_empty() {
        return Err(Unknown::because(path, "the task does nothing; add run, sleep or timer"));
    }
    if head.loops.is_none() && global.duration.is_none() {
        return Err(Unknown::because(format!("{path}.loop"), "-1, and global.duration is unlimited as well"));
    }
    let body = Body { actions, loops: head.loops };
    let scheduling = head.scheduling(&path)?;
    let named = |n: u64| if head.instances == 1 { name.to_owned() } else { format!("{name}-{n}") };
    let thread = |n| Thread {
        name: named(n),
        scheduling,
        cpus: head.cpus.clone(),
        workload: Kind::Busy,
        offset: head.delay,
        amount: Amount::Body(body.clone()),
    };
    Ok((0..head.instances).map(thread).collect())
}

impl Head {
    /// Reads a key that is not an action. Returns `false` if it is not an attribute either.
    fn read(&mut self, key: &str, value: &Json, at: &str) -> Result<bool, Unknown> {
        match key {
            "policy" => self.policy = value.text(at)?.parse().map_err(|e| Unknown::because(at, e))?,
            "priority" => self.priority = Some(value.integer(at)?),
            "dl-runtime" => self.budget[0] = Some(micros(value, at)?),
            "dl-deadline" => self.budget[1] = Some(micros(value, at)?),
            "dl-period" => self.budget[2] = Some(micros(value, at)?),
            "cpus" => self.cpus = cpus(value, at)?,
            "delay" => self.delay = micros(value, at)?,
            "instance" => {
                let count = value.integer(at)?;
                self.instances = (1..=64)
                    .contains(&count)
                    .then_some(count.unsigned_abs())
                    .ok_or_else(|| Unknown::because(at, format!("{count}; 1 to 64")))?;
            }
            "loop" => self.loops = loops(value, at)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn scheduling(&self, path: &str) -> Result<Scheduling, Unknown> {
        let at = format!("{path}.priority");
        let nice = || match self.priority.unwrap_or(0) {
            nice @ -20..=19 => Ok(nice as i8),
            other => Err(Unknown::because(&at, format!("{other} is not a nice value"))),
        };
        let priority = || {
            // Default of rt-app for real-time policies.
            let number = u8::try_from(self.priority.unwrap_or(10)).ok();
            number
                .and_then(|n| n.try_into().ok())
                .ok_or_else(|| Unknown::because(&at, "real-time priorities are 1 to 99"))
        };
        Ok(match self.policy {
            Policy::Other => Scheduling::Other { nice: nice()? },
            Policy::Batch => Scheduling::Batch { nice: nice()? },
            Policy::Idle => Scheduling::Idle,
            Policy::Fifo => Scheduling::Fifo { priority: priority()? },
            Policy::Rr => Scheduling::Rr { priority: priority()? },
            Policy::Deadline => {
                let [Some(runtime_ns), deadline, Some(period_ns)] = self.budget else {
                    return Err(Unknown::because(path, "SCHED_DEADLINE needs dl-runtime and dl-period"));
                };
                let deadline_ns = deadline.unwrap_or(period_ns);
                if runtime_ns == Nanos::ZERO || runtime_ns > deadline_ns || deadline_ns > period_ns {
                    return Err(Unknown::because(path, "0 < dl-runtime <= dl-deadline <= dl-period does not hold"));
                }
                Scheduling::Deadline { runtime_ns, deadline_ns, period_ns }
            }
        })
    }
}

/// Expands phases, each as often as its `loop` specifies.
fn phases(value: &Json, path: &str, actions: &mut Vec<Action>) -> Result<(), Unknown> {
    for (name, phase) in value.object(path)? {
        let path = format!("{path}.{name}");
        let (mut own, mut times) = (Vec::new(), 1);
        for (key, value) in phase.object(&path)? {
            let at = format!("{path}.{key}");
            match key.as_str() {
                "loop" => {
                    times = loops(value, &at)?.ok_or_else(|| Unknown::because(&at, "an endless phase"))?;
                }
                _ => action(key, value, &at, &mut own)?,
            }
        }
        let all = usize::try_from(times).ok().and_then(|times| times.checked_mul(own.len()));
        match all.filter(|all| actions.len() + all <= MOST_ACTIONS) {
            Some(all) => actions.extend(own.iter().cycle().take(all)),
            None => return Err(Unknown::because(path, format!("more than {MOST_ACTIONS} actions"))),
        }
    }
    Ok(())
}

/// Reads a key such as `run`, `run1`, `sleep` or `timer0`.
fn action(key: &str, value: &Json, at: &str, actions: &mut Vec<Action>) -> Result<(), Unknown> {
    match key.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "run" | "runtime" => actions.push(Action::Run(micros(value, at)?)),
        "sleep" => actions.push(Action::Sleep(micros(value, at)?)),
        "timer" => actions.push(Action::Timer(timer(value, at)?)),
        _ => return Err(Unknown::new(at)),
    }
    Ok(())
}

fn timer(value: &Json, path: &str) -> Result<Nanos, Unknown> {
    let mut period = None;
    for (key, value) in value.object(path)? {
        let at = format!("{path}.{key}");
        match (key.as_str(), value) {
            ("period", _) => period = Some(micros(value, &at)?),
            // The timer's name does not matter, since threads of an experiment do not share timers.
            ("ref", Json::Text(_)) => {}
            ("mode", Json::Text(mode)) if mode == "relative" => {}
            _ => return Err(Unknown::new(at)),
        }
    }
    period.filter(|period| period.0 > 0).ok_or_else(|| Unknown::because(path, "the period must be more than 0"))
}

fn loops(value: &Json, at: &str) -> Result<Option<u64>, Unknown> {
    match value.integer(at)? {
        -1 => Ok(None),
        n if n > 0 => Ok(Some(n.unsigned_abs())),
        n => Err(Unknown::because(at, format!("{n}; must be -1 or more than 0"))),
    }
}

/// Parses a duration of at most an hour, given in microseconds.
fn micros(value: &Json, at: &str) -> Result<Nanos, Unknown> {
    match value.integer(at)? {
        n @ 0..=3_600_000_000 => Ok(Nanos::from_micros(n.unsigned_abs())),
        n => Err(Unknown::because(at, format!("{n} µs; must be between 0 and 1 hour"))),
    }
}

fn cpus(value: &Json, at: &str) -> Result<Place, Unknown> {
    let wanted = || Unknown::because(at, "expected a list of CPU numbers");
    let Json::List(list) = value else { return Err(wanted()) };
    let number = |cpu: &Json| match cpu {
        Json::Integer(n) => u32::try_from(*n).ok().filter(|n| *n < 8192).map(CpuId).ok_or_else(wanted),
        _ => Err(wanted()),
    };
    let cpus = list.iter().map(number).collect::<Result<CpuList, _>>()?;
    if cpus.is_empty() { Err(wanted()) } else { Ok(Place::Cpus(cpus)) }
}
