//! How much longer the threads of an application may run, and how much later they may be released, before a claim
//! breaks.
//!
//! Response-time analysis from what was observed: the largest CPU time of each thread, and what else delayed its cycles.
//! It bounds no response, since a thread may run longer than it ever did: the results are estimates. Where something
//! that the analysis does not cover delays a thread, there is none.

use punctual_cycles::{Periodic, response_time};
use punctual_model::{AppCycles, AppMargin, AppThread, AppValue, Application, Claim, Class, Quantity, Recording};
use punctual_units::{CpuList, Nanos, Scheduling};

/// Share of a thread's cycles from which on the time of a real-time thread of another program is not negligible: its
/// releases are unknown.
const NEGLIGIBLE: f64 = 0.01;
/// Share of a CPU that real-time threads may use: RT throttling (sched(7), sched_rt_runtime_us) and, from Linux 6.12, the
/// fair server leave the rest to ordinary threads.
const REAL_TIME_SHARE: f64 = 0.95;

/// A thread as the analysis sees it. Times are in ns.
#[derive(Clone, Debug)]
struct Member {
    name: String,
    tid: i32,
    cpus: Option<CpuList>,
    /// More urgent threads have larger ranks; `None` for an ordinary thread.
    rank: Option<u8>,
    /// Period and largest CPU time of the thread, or the reason why the delay that it causes to other threads is
    /// unknown.
    demand: Result<(u64, u64), String>,
    /// Maximum lateness of the thread's releases, relative to its period.
    jitter: u64,
    /// Further lateness of the last job before a window where threads share several CPUs: T − C with the observed CPU
    /// time, so that a longer one never makes a bound smaller.
    carried: u64,
    /// Delays that no thread of the same or a higher priority caused.
    blocking: u64,
    /// Share of the time that interrupts and negligible threads take.
    taken: f64,
    /// Threads of the application that ran while this one was runnable.
    delayed_by: Vec<i32>,
    /// True if the thread sleeps in its cycles: it may wait for any other thread.
    sleeps: bool,
    /// A claim about a chain to which the thread belongs.
    chain: Option<String>,
    /// Largest observed response of the thread.
    observed: u64,
    /// Limits of the thread's response, and the claims that set them.
    limits: Vec<(u64, String)>,
    /// Limits that the thread's CPU time must stay below, and the claims that set them.
    most: Vec<(u64, String)>,
    why_not: Option<String>,
}

/// Returns the margins of each thread; empty if nothing is claimed about responses or CPU times.
pub(crate) fn margins(recording: &Recording, claims: &[Claim]) -> Vec<AppMargin> {
    let Some(application) = &recording.application else { return Vec::new() };
    let members = members(recording, application, claims);
    if members.iter().all(|member| member.limits.is_empty() && member.most.is_empty()) {
        return Vec::new();
    }
    (0..members.len()).map(|at| margin(&members, at)).collect()
}

fn members(recording: &Recording, application: &Application, claims: &[Claim]) -> Vec<Member> {
    let mut members: Vec<Member> =
        application.threads.iter().map(|thread| member(recording, application, thread, claims)).collect();
    let ranks: Vec<(i32, Option<u8>)> = members.iter().map(|member| (member.tid, member.rank)).collect();
    for member in &mut members {
        let own: Vec<&AppCycles> = application.cycles.iter().filter(|cycles| cycles.thread == member.name).collect();
        member.observe(&own, &ranks);
    }
    for at in 0..members.len() {
        // The analysis must not give less than what was observed.
        let observed = largest(recording, &AppValue::Response(members[at].name.clone())).unwrap_or(0);
        let bound = response(&members, at).unwrap_or(u64::MAX);
        members[at].observed = observed;
        members[at].blocking += observed.saturating_sub(bound);
    }
    members
}

impl Member {
    /// Returns the period and the CPU time with which the thread delays others.
    ///
    /// # Errors
    /// The reason why they are unknown.
    fn delays(&self) -> Result<(u64, u64), String> {
        match self.sleeps {
            // The end of a job that slept and the next job may run within less than a period.
            true => Err(format!("{} sleeps in its cycles", self.name)),
            false => self.demand.clone(),
        }
    }

    /// Records what delayed the thread's cycles: the other threads, the share of time that interrupts and unknown threads
    /// took, and the largest other delay. If the analysis does not apply to the thread, also records why.
    fn observe(&mut self, own: &[&AppCycles], ranks: &[(i32, Option<u8>)]) {
        let sum = |of: fn(&AppCycles) -> u64| own.iter().map(|cycles| of(cycles)).sum::<u64>();
        let whole = sum(|cycles| cycles.response_ns).max(1) as f64;
        self.blocking = own.iter().map(|cycles| cycles.other_delays_ns).max().unwrap_or(0);
        self.sleeps = sum(|cycles| cycles.blocked_ns) > 0;
        let mut taken = 0.0;
        for culprit in own.iter().flat_map(|cycles| &cycles.without) {
            let share = culprit.ns as f64 / whole;
            let rank = culprit.tid.and_then(|tid| ranks.iter().find(|(known, _)| *known == tid));
            let why = match (rank, culprit.tid) {
                (Some((tid, rank)), _) => {
                    self.delayed_by.push(*tid);
                    (*rank < self.rank).then(|| {
                        format!("{} ran before it in spite of its lower priority, which changed", culprit.name)
                    })
                }
                (None, Some(_)) if share > NEGLIGIBLE => {
                    Some(format!("{}, whose releases are unknown, delays it", culprit.name))
                }
                (None, _) => {
                    taken += share;
                    None
                }
            };
            self.why_not = self.why_not.take().or(why);
        }
        // The longest cycles meet more interrupts than others do.
        let in_worst = own.iter().flat_map(|cycles| &cycles.worst).map(|cycle| {
            let interrupts = cycle.delays.iter().filter(|cause| matches!(cause.class, Class::Irq | Class::Softirq));
            interrupts.map(|cause| cause.ns).sum::<u64>() as f64 / cycle.length_ns.max(1) as f64
        });
        self.taken = in_worst.fold(taken, f64::max);
        let is_old = sum(|cycles| cycles.cycles) > 0 && own.iter().all(|cycles| cycles.longest_ns.is_empty());
        let why = match () {
            () if is_old => Some("an earlier version of punctual did not record what delayed it".to_owned()),
            () if self.sleeps => Some("it sleeps in its cycles, and what it waits for may take longer".to_owned()),
            () if self.taken > 0.5 => Some("interrupts take most of its time".to_owned()),
            () => None,
        };
        self.why_not = self.why_not.take().or(why);
    }
}

fn member(recording: &Recording, application: &Application, thread: &AppThread, claims: &[Claim]) -> Member {
    let name = &thread.name;
    let work = largest(recording, &AppValue::Cpu(name.clone()));
    let (rank, why_not) = match thread.scheduling {
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => (Some(priority.get()), None),
        Scheduling::Deadline { .. } => (Some(u8::MAX), Some("SCHED_DEADLINE runs it with a budget".to_owned())),
        _ => (None, Some("it is not a real-time thread".to_owned())),
    };
    let demand = match (thread.period_ns, work) {
        _ if thread.release == "relative sleep" => Err(format!("{name} uses relative sleeps and has no fixed period")),
        (None, _) => Err(format!("{name} has no period")),
        (_, None | Some(0)) => Err(format!("no cycle of {name} was observed")),
        (Some(period), Some(work)) => Ok((period.0.max(1), work)),
    };
    let ambiguous = || thread.ambiguous_with.as_ref().map(|_| format!("what releases {name} is ambiguous"));
    let seen_in_part = || {
        let is_whole = application.cycles.iter().any(|cycles| cycles.thread == *name && cycles.cycles > 0);
        (!is_whole).then(|| format!("no cycle of {name} was observed"))
    };
    let period = thread.period_ns.map(|period| period.0);
    let own = |value: AppValue| claims.iter().filter(move |claim| claim.of.as_ref() == Some(&value));
    let limit = |claim: &Claim| match claim.quantity {
        Quantity::Max(limit) => Some((limit.0.saturating_sub(1), claim.to_string())),
        Quantity::NoneMissed => Some((period?, claim.to_string())),
        _ => None,
    };
    Member {
        name: name.clone(),
        tid: thread.tid,
        cpus: thread.cpus.clone(),
        rank,
        carried: demand.as_ref().map_or(0, |(period, work)| period.saturating_sub(*work)),
        jitter: if is_timed(thread) { 0 } else { largest(recording, &AppValue::Jitter(name.clone())).unwrap_or(0) },
        blocking: 0,
        taken: 0.0,
        delayed_by: Vec::new(),
        sleeps: false,
        chain: claims.iter().find(|claim| is_chain_of(claim, name)).map(ToString::to_string),
        observed: 0,
        limits: own(AppValue::Response(name.clone())).filter_map(limit).collect(),
        most: own(AppValue::Cpu(name.clone())).filter_map(limit).collect(),
        why_not: why_not.or_else(ambiguous).or_else(seen_in_part).or(demand.as_ref().err().cloned()),
        demand,
    }
}

/// Returns true if nothing but a timer with fixed releases releases the thread.
pub(crate) fn is_timed(thread: &AppThread) -> bool {
    ["absolute sleep", "timerfd", "POSIX timer"].contains(&thread.release.as_str())
}

/// Returns the largest value in all phases.
fn largest(recording: &Recording, value: &AppValue) -> Option<u64> {
    let phases = recording.run.phases.iter().filter(|phase| phase.value.as_ref() == Some(value));
    phases.flat_map(|phase| &phase.cpus).filter_map(|result| result.max_ns).max()
}

fn is_chain_of(claim: &Claim, thread: &str) -> bool {
    matches!(&claim.of, Some(AppValue::Chain(points)) if points.iter().any(|point| point == thread))
}

fn share_a_cpu(one: &Member, other: &Member) -> bool {
    match (&one.cpus, &other.cpus) {
        (Some(one), Some(other)) => one.iter().any(|cpu| other.contains(cpu)),
        _ => true,
    }
}

fn is_pinned_with(one: &Member, other: &Member) -> bool {
    one.cpus.as_ref().is_some_and(|cpus| cpus.len() == 1) && one.cpus == other.cpus
}

/// Returns the threads that delay a thread by running. All other threads of the same priority count, too.
fn more_urgent(members: &[Member], at: usize) -> impl Iterator<Item = &Member> {
    let own = &members[at];
    let is_urgent = move |other: &Member| other.rank.is_some() && other.rank >= own.rank && share_a_cpu(own, other);
    members.iter().enumerate().filter(move |(n, other)| *n != at && is_urgent(other)).map(|(_, other)| other)
}

/// Returns a bound of a thread's response, ns.
///
/// A thread that may use several CPUs waits only while each of them runs a more urgent thread. All more urgent threads
/// may be on one CPU, and the last job that each of them released earlier may still be running.
///
/// # Errors
/// The reason why there is no bound.
fn response(members: &[Member], at: usize) -> Result<u64, String> {
    let own = &members[at];
    if let Some(why) = &own.why_not {
        return Err(why.clone());
    }
    let (period, work) = own.demand.clone()?;
    // Interrupts leave less of the CPU to the threads.
    let slower = |ns: u64| (ns as f64 / (1.0 - own.taken)) as u64;
    let mut higher = Vec::new();
    for other in more_urgent(members, at) {
        let (period, work) = other.delays().map_err(|why| format!("{why}, and may run before {}", own.name))?;
        let carried = if is_pinned_with(own, other) { 0 } else { other.carried };
        higher.push(Periodic {
            period: Nanos(period),
            work: Nanos(slower(work)),
            release_jitter: Nanos(other.jitter.saturating_add(carried)),
            blocking: Nanos::ZERO,
        });
    }
    let task = Periodic {
        period: Nanos(period),
        work: Nanos(slower(work)),
        release_jitter: Nanos::ZERO,
        blocking: Nanos(slower(own.blocking)),
    };
    response_time(&higher, &task).map(|ns| ns.0).ok_or_else(|| format!("the bound of {} exceeds its period", own.name))
}

/// Returns the claim that breaks; `Ok(None)` if all hold.
///
/// # Errors
/// A thread that the thread `touched` may delay cannot be analysed.
fn broken(members: &[Member], touched: usize) -> Result<Option<String>, String> {
    let own = &members[touched];
    let work = own.demand.as_ref().map_or(0, |(_, work)| *work);
    if let Some((_, claim)) = own.most.iter().find(|(most, _)| work > *most) {
        return Ok(Some(claim.clone()));
    }
    let is_limited = |member: &Member| !member.limits.is_empty() || member.chain.is_some();
    for (at, member) in members.iter().enumerate().filter(|(_, member)| is_limited(member)) {
        if !is_touched(members, at, touched) {
            continue;
        }
        if let Some(claim) = &member.chain {
            return Err(format!("{claim} limits {} as well, and chains are not analysed", member.name));
        }
        if let Some(why) = &member.why_not {
            return Err(format!("{}, whose response a claim limits, is not analysed: {why}", member.name));
        }
        let least = member.limits.iter().min();
        let claim = || least.map(|(_, claim)| claim.clone());
        match response(members, at) {
            Ok(_) if is_throttled(members, at) => return Ok(claim()),
            Ok(ns) if least.is_some_and(|(limit, _)| ns > *limit) => return Ok(claim()),
            Ok(_) => {}
            // If the response exceeds the period, every claim of at most a period breaks.
            Err(_) if more_urgent(members, at).all(|other| other.delays().is_ok()) => return Ok(claim()),
            Err(why) => return Err(why),
        }
    }
    Ok(None)
}

/// Returns true if the thread `touched` may delay the thread `at`.
fn is_touched(members: &[Member], at: usize, touched: usize) -> bool {
    let (member, own) = (&members[at], &members[touched]);
    let is_more_urgent = || more_urgent(members, at).any(|other| other.tid == own.tid);
    at == touched || member.sleeps || member.delayed_by.contains(&own.tid) || is_more_urgent()
}

/// Returns true if the thread and those that are more urgent use more of the CPU to which they are pinned than
/// real-time threads may.
fn is_throttled(members: &[Member], at: usize) -> bool {
    let own = &members[at];
    let share = |member: &Member| member.demand.as_ref().map_or(0.0, |(period, work)| *work as f64 / *period as f64);
    let others = more_urgent(members, at).filter(|other| is_pinned_with(own, other)).map(share);
    own.taken + share(own) + others.sum::<f64>() > REAL_TIME_SHARE
}

fn margin(members: &[Member], at: usize) -> AppMargin {
    let own = &members[at];
    let work = own.demand.as_ref().ok().map(|(_, work)| *work);
    let mut margin = AppMargin {
        thread: own.name.clone(),
        cpu_ns: work.map(Nanos),
        response_ns: response(members, at).ok().map(Nanos),
        longer_ns: None,
        later_ns: None,
        breaks: None,
        why_not: own.why_not.clone(),
    };
    if margin.why_not.is_some() {
        return margin;
    }
    let longer = |ns: u64| {
        let mut members = members.to_vec();
        members[at].demand = members[at].demand.clone().map(|(period, work)| (period, work.saturating_add(ns)));
        members
    };
    let later = |ns: u64| {
        let mut members = members.to_vec();
        members[at].jitter = members[at].jitter.saturating_add(ns);
        // Its own response becomes longer by the same amount.
        members[at].blocking = members[at].blocking.saturating_add(ns);
        members
    };
    match (broken(members, at), has_limit(members, at)) {
        (Err(why), _) => margin.why_not = Some(why),
        (_, false) => margin.why_not = Some(format!("no claim limits a response that {} delays", own.name)),
        (Ok(Some(claim)), _) => {
            let mut limits = members.iter().flat_map(|one| one.limits.iter().map(|limit| (one.observed, limit)));
            let was_broken = limits.any(|(observed, (limit, of))| *of == claim && observed > *limit);
            let was_broken = was_broken || own.most.iter().any(|(_, of)| *of == claim);
            margin.why_not = Some(match (was_broken, unpinned(members, &claim)) {
                (true, _) => format!("{claim} was broken"),
                (false, Some(free)) => {
                    format!("{claim} is not analysed: {free} may run on several CPUs, where the bounds are too large")
                }
                (false, None) => format!("the analysis cannot show that {claim} holds"),
            });
            margin.breaks = Some(claim);
        }
        (Ok(None), true) => {
            let most = members.iter().flat_map(|member| member.limits.iter().chain(&member.most)).map(|(ns, _)| *ns);
            let most = most.max().unwrap_or(0).saturating_add(1);
            let holds = |members: Vec<Member>| broken(&members, at) == Ok(None);
            let by = last(most, |ns| holds(longer(ns)));
            margin.longer_ns = Some(Nanos(by));
            margin.later_ns = Some(Nanos(last(most, |ns| holds(later(ns)))));
            margin.breaks = broken(&longer(by + 1), at).ok().flatten();
        }
    }
    margin
}

/// Returns a thread that shares a CPU, but not its only one, with another thread on which the claim depends.
fn unpinned<'a>(members: &'a [Member], claim: &str) -> Option<&'a str> {
    let at = members.iter().position(|member| member.limits.iter().any(|(_, of)| of == claim))?;
    let own = &members[at];
    let other = more_urgent(members, at).find(|other| !is_pinned_with(own, other))?;
    let is_free = own.cpus.as_ref().is_none_or(|cpus| cpus.len() > 1);
    Some(if is_free { &own.name } else { &other.name })
}

/// Returns true if a claim is about the thread's CPU time, or about a response or chain that it may delay.
fn has_limit(members: &[Member], at: usize) -> bool {
    let is_limited = |member: &Member| !member.limits.is_empty() || member.chain.is_some();
    let delays = |n: usize| is_limited(&members[n]) && is_touched(members, n, at);
    !members[at].most.is_empty() || (0..members.len()).any(delays)
}

/// Returns the largest number up to `most` for which `holds` returns true. It must return true for every smaller
/// number.
fn last(most: u64, holds: impl Fn(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match holds(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

#[cfg(test)]
mod tests;
