//! How much longer the threads of an application may run, and how much later they may be released, before a claim
//! breaks.
//!
//! Response-time analysis from what was observed: the largest CPU time of each thread, and what else delayed its longest
//! cycles. It bounds no response, since a thread may run longer than it ever did: the results are estimates.

use punctual_cycles::{Periodic, response_time};
use punctual_model::{AppCycles, AppMargin, AppThread, AppValue, Application, Claim, Quantity, Recording};
use punctual_units::{CpuList, Nanos, Scheduling};

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
    /// Delays that no analysed thread caused.
    blocking: u64,
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
    // What was seen is at least what the analysis says.
    for at in 0..members.len() {
        let of_more_urgent: Vec<i32> = more_urgent(&members, at).map(|other| other.tid).collect();
        let observed = largest(recording, &AppValue::Response(members[at].name.clone())).unwrap_or(0);
        let own = application.cycles.iter().filter(|cycles| cycles.thread == members[at].name);
        members[at].blocking = own.map(|cycles| others(cycles, &of_more_urgent)).max().unwrap_or(0);
        let bound = response(&members, at).unwrap_or(u64::MAX);
        members[at].observed = observed;
        members[at].blocking += observed.saturating_sub(bound);
    }
    members
}

fn member(recording: &Recording, application: &Application, thread: &AppThread, claims: &[Claim]) -> Member {
    let name = &thread.name;
    let work = largest(recording, &AppValue::Cpu(name.clone()));
    let is_timed = ["absolute sleep", "timerfd", "POSIX timer"].contains(&thread.release.as_str());
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
        jitter: if is_timed { 0 } else { largest(recording, &AppValue::Jitter(name.clone())).unwrap_or(0) },
        blocking: 0,
        observed: 0,
        limits: own(AppValue::Response(name.clone())).filter_map(limit).collect(),
        most: own(AppValue::Cpu(name.clone())).filter_map(limit).collect(),
        why_not: why_not.or_else(ambiguous).or_else(seen_in_part).or(demand.as_ref().err().cloned()),
        demand,
    }
}

/// Returns the largest value in all phases.
fn largest(recording: &Recording, value: &AppValue) -> Option<u64> {
    let phases = recording.run.phases.iter().filter(|phase| phase.value.as_ref() == Some(value));
    phases.flat_map(|phase| &phase.cpus).filter_map(|result| result.max_ns).max()
}

/// Returns the largest sum, over the longest cycles, of the delays that no thread in `known` caused and of the time for
/// which the thread slept.
fn others(cycles: &AppCycles, known: &[i32]) -> u64 {
    let of_cycle = |cycle: &punctual_model::Cycle| {
        let delays = cycle.delays.iter().filter(|cause| cause.tid.is_none_or(|tid| !known.contains(&tid)));
        let slept: u64 = cycle.blocked.iter().map(|blocked| blocked.ns).sum();
        delays.map(|cause| cause.ns).sum::<u64>() + slept
    };
    cycles.worst.iter().map(of_cycle).max().unwrap_or(0)
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
    let mut higher = Vec::new();
    for other in more_urgent(members, at) {
        let (period, work) = other.demand.clone().map_err(|why| format!("{why}, and may run before {}", own.name))?;
        let carried = if is_pinned_with(own, other) { 0 } else { period.saturating_sub(work) };
        higher.push(Periodic {
            period: Nanos(period),
            work: Nanos(work),
            release_jitter: Nanos(other.jitter.saturating_add(carried)),
            blocking: Nanos::ZERO,
        });
    }
    let task = Periodic {
        period: Nanos(period),
        work: Nanos(work),
        release_jitter: Nanos::ZERO,
        blocking: Nanos(own.blocking),
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
    for (at, member) in members.iter().enumerate().filter(|(_, member)| !member.limits.is_empty()) {
        let is_touched = at == touched || more_urgent(members, at).any(|other| other.tid == own.tid);
        if !is_touched {
            continue;
        }
        if let Some(why) = &member.why_not {
            return Err(format!("{}, whose response a claim limits, is not analysed: {why}", member.name));
        }
        let least = member.limits.iter().min();
        let claim = || least.map(|(_, claim)| claim.clone());
        match response(members, at) {
            Ok(ns) if least.is_some_and(|(limit, _)| ns > *limit) => return Ok(claim()),
            Ok(_) => {}
            // With a response beyond the period, every claim that is at most the period breaks.
            Err(_) if more_urgent(members, at).all(|other| other.demand.is_ok()) => return Ok(claim()),
            Err(why) => return Err(why),
        }
    }
    Ok(None)
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
        // Its own response is as much longer.
        members[at].blocking = members[at].blocking.saturating_add(ns);
        members
    };
    match (broken(members, at), has_limit(members, at)) {
        (Err(why), _) => margin.why_not = Some(why),
        (_, false) => margin.why_not = Some(format!("no claim limits a response that {} delays", own.name)),
        (Ok(Some(claim)), _) => {
            let mut limits = members.iter().flat_map(|one| one.limits.iter().map(|limit| (one.observed, limit)));
            let was_broken = limits.any(|(observed, (limit, of))| *of == claim && observed > *limit);
            margin.why_not = Some(match was_broken || own.most.iter().any(|(_, of)| *of == claim) {
                true => format!("{claim} was broken"),
                false => format!("{claim} may already be broken, according to the analysis"),
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

/// True if a claim is about the thread's CPU time, or about a response that it may delay.
fn has_limit(members: &[Member], at: usize) -> bool {
    let own = &members[at];
    let delays = |n: usize| n == at || more_urgent(members, n).any(|other| other.tid == own.tid);
    !own.most.is_empty() || (0..members.len()).any(|n| !members[n].limits.is_empty() && delays(n))
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A thread pinned to CPU 0 with a period, a CPU time, and `late(NAME) = 0`.
    fn member(at: usize, rank: u8, period: u64, work: u64) -> Member {
        let name = format!("t{at}");
        Member {
            limits: vec![(period, format!("late({name}) = 0"))],
            name,
            tid: at as i32 + 1,
            cpus: Some("0".parse().unwrap()),
            rank: Some(rank),
            demand: Ok((period, work)),
            jitter: 0,
            blocking: 0,
            observed: 0,
            most: Vec::new(),
            why_not: None,
        }
    }

    #[test]
    fn margins_are_those_of_the_vector() {
        // R = 3, 11, 26.
        let members = [member(0, 30, 20, 3), member(1, 20, 30, 8), member(2, 10, 50, 12)];
        assert_eq!(margin(&members, 2).response_ns, Some(Nanos(26)));
        let most = margin(&members, 2).longer_ns.unwrap().0;
        let with = |extra| {
            let mut members = members.to_vec();
            members[2].demand = Ok((50, 12 + extra));
            response(&members, 2)
        };
        assert!(with(most).is_ok() && with(most + 1).is_err());
        assert_eq!(margin(&members, 2).breaks.as_deref(), Some("late(t2) = 0"));
        // The most urgent one may be later only as long as the others are in time.
        assert!(margin(&members, 0).later_ns.unwrap().0 <= 17);
    }

    #[test]
    fn what_cannot_be_analysed_is_said() {
        let mut members = [member(0, 30, 20, 3), member(1, 20, 30, 8)];
        members[0].demand = Err("t0 has no period".into());
        members[0].why_not = Some("t0 has no period".into());
        assert_eq!(margin(&members, 0).why_not.as_deref(), Some("t0 has no period"));
        assert_eq!(margin(&members, 1).why_not.as_deref(), Some("t0 has no period, and may run before t1"));
        // On another CPU it does not matter.
        members[0].cpus = Some("1".parse().unwrap());
        assert!(margin(&members, 1).why_not.is_none());
        members[0].cpus = None;
        assert!(margin(&members, 1).why_not.is_some(), "it may be anywhere");
    }

    #[test]
    fn a_claim_that_breaks_already_has_no_margin_and_cpu_times_have_their_own() {
        let mut members = [member(0, 30, 20, 15), member(1, 20, 30, 8)];
        let found = margin(&members, 1);
        assert_eq!((found.longer_ns, found.breaks.as_deref()), (None, Some("late(t1) = 0")));
        members[1].demand = Ok((30, 1));
        members[0].most = vec![(16, "late(t0) = 0".into())];
        assert_eq!(margin(&members, 0).longer_ns, Some(Nanos(1)));
    }

    #[test]
    fn threads_of_several_cpus_have_more_before_them() {
        let pinned = [member(0, 30, 20, 3), member(1, 20, 30, 8)];
        let mut free = pinned.clone();
        free.iter_mut().for_each(|member| member.cpus = Some("0-1".parse().unwrap()));
        assert!(margin(&free, 1).response_ns > margin(&pinned, 1).response_ns);
        assert!(margin(&free, 1).longer_ns < margin(&pinned, 1).longer_ns);
    }

    /// Simulates preemptive scheduling of tasks with fixed priorities, the most urgent one first, whose jobs are
    /// released at these offsets. Returns true if every job ends within its period.
    fn is_in_time(tasks: &[(u64, u64, u64)], until: u64) -> bool {
        let mut left = vec![0u64; tasks.len()];
        for t in 0..until {
            for ((period, work, offset), left) in tasks.iter().zip(&mut left) {
                if t >= *offset && (t - offset) % period == 0 {
                    if *left > 0 {
                        return false;
                    }
                    *left = *work;
                }
            }
            if let Some(next) = left.iter().position(|left| *left > 0) {
                left[next] -= 1;
            }
        }
        true
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn with_the_margin_all_are_in_time_and_beyond_it_not(
            all in proptest::collection::vec((5u64..40, 1u64..6, 0u64..40), 1..5), which in 0usize..4
        ) {
            let members: Vec<Member> =
                all.iter().enumerate().map(|(n, (period, work, _))| member(n, 90 - n as u8, *period, *work)).collect();
            let at = which % members.len();
            let found = margin(&members, at);
            let with = |extra: u64, is_synchronous: bool| -> Vec<(u64, u64, u64)> {
                all.iter().enumerate().map(|(n, (period, work, offset))| {
                    (*period, work + if n == at { extra } else { 0 }, if is_synchronous { 0 } else { *offset })
                }).collect()
            };
            match found.longer_ns {
                Some(longer) => {
                    // A more urgent thread may be too late whatever this one does.
                    prop_assume!((0..members.len()).all(|at| response(&members, at).is_ok()));
                    prop_assert!(is_in_time(&with(longer.0, false), 2_000));
                    prop_assert!(is_in_time(&with(longer.0, true), 2_000));
                    // It is the least that breaks a claim of a thread that this one delays.
                    prop_assert!(!is_in_time(&with(longer.0 + 1, true), 2_000));
                }
                None => prop_assert!(found.why_not.is_some()),
            }
        }
    }
}
