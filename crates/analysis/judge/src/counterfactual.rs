//! What the longest responses of an application's threads would be without one of the threads and interrupts that
//! delayed them.
//!
//! The time that it took is left out of every cycle of the run. The longest response of another run of the same length
//! is a random variable: its limits come from the largest of these responses, as for the maximum of exponential tails.

use crate::margin::is_timed;
use punctual_model::{AppCounterfactual, AppCycles, AppThread, AppValue, AppWithout, Application, Blocked, Recording};
use punctual_units::Nanos;
use std::collections::BTreeMap;

/// Number of cycles below which there is no estimate.
const FEW: u64 = 100;
/// Rank of the response that is the lower limit: the maximum of as many new cycles is smaller with a probability of
/// 2^-4, because then the four largest of all of them are old ones.
const LOW: usize = 4;
/// Number of mean excesses above the largest response at which the upper limit is. For exponential tails the maximum of
/// as many new cycles is larger with a probability of about (1 + t/7)^-7, 4 %, where the mean is that of 7 excesses.
const HIGH: f64 = 4.0;
/// Accuracy of a response computed from events: that of the switches to and from what is left out. The larger one counts.
const ACCURACY: f64 = 0.02;
const ACCURACY_NS: u64 = 5_000;
/// Share of the longest response below which the one without the thread or interrupt is worth reporting.
const WORTH: f64 = 0.95;
/// Share of the time that must certainly have been that of the thread or interrupt.
const SURE: f64 = 0.9;

/// Returns an estimate for each thread or interrupt whose absence would clearly shorten the longest response of a thread.
pub(crate) fn counterfactuals(recording: &Recording) -> Vec<AppCounterfactual> {
    let Some(application) = &recording.application else { return Vec::new() };
    let mut all: Vec<AppCounterfactual> =
        application.threads.iter().flat_map(|thread| of_thread(recording, application, thread)).collect();
    let gain = |one: &AppCounterfactual| one.response_ns.map_or(0, |ns| one.seen_ns.0.saturating_sub(ns.0));
    all.sort_by_key(|one| (one.why_not.is_some(), std::cmp::Reverse(gain(one))));
    all
}

fn of_thread<'a>(recording: &Recording, application: &'a Application, thread: &AppThread) -> Vec<AppCounterfactual> {
    let own: Vec<&'a AppCycles> = application.cycles.iter().filter(|cycles| cycles.thread == thread.name).collect();
    // Threads of one name that are not measured are left out together: under each load, they may be others.
    let is_measured = |tid: &i32| application.threads.iter().any(|thread| thread.tid == *tid);
    let key = |one: &'a AppWithout| (one.name.as_str(), one.tid.is_some(), one.tid.filter(is_measured));
    let mut named: BTreeMap<(&str, bool, Option<i32>), &AppWithout> = BTreeMap::new();
    for one in own.iter().flat_map(|cycles| &cycles.without) {
        named.entry(key(one)).or_insert(one);
    }
    let value = AppValue::Response(thread.name.clone());
    let mut phases = recording.run.phases.iter().filter(|phase| phase.value.as_ref() == Some(&value));
    let is_whole = phases.all(|phase| phase.problems.is_empty());
    let seen = own.iter().filter_map(|cycles| cycles.longest_ns.first()).max().copied().unwrap_or(0);
    let estimate = |one: &&'a AppWithout| {
        let in_load = |cycles: &&'a AppCycles| cycles.without.iter().find(|other| key(other) == key(one));
        let of = |pick: fn(&AppWithout) -> &Vec<u64>| {
            let list = |cycles: &&'a AppCycles| in_load(cycles).map(pick).filter(|list| !list.is_empty());
            let lists = own.iter().map(|cycles| list(cycles).unwrap_or(&cycles.longest_ns));
            let mut all: Vec<u64> = lists.flatten().copied().collect();
            all.sort_by_key(|ns| std::cmp::Reverse(*ns));
            all
        };
        let parts: Vec<&AppWithout> = own.iter().filter_map(in_load).collect();
        let (longest, least) = (of(|one| &one.longest_ns), of(|one| &one.least_ns));
        let response = longest.first().copied().unwrap_or(0);
        let why_not = match is_whole {
            true => why_not(&own, thread, &parts, response),
            false => Some("not every cycle was observed".to_owned()),
        };
        let limits = limits(&longest, &least).filter(|_| why_not.is_none());
        ((response as f64) < WORTH * seen as f64).then(|| AppCounterfactual {
            thread: thread.name.clone(),
            without: one.name.clone(),
            class: one.class,
            cycles: parts.iter().map(|part| part.cycles).sum(),
            seen_ns: Nanos(seen),
            response_ns: limits.map(|_| Nanos(response)),
            low_ns: limits.map(|(low, _)| Nanos(low)),
            high_ns: limits.map(|(_, high)| Nanos(high)),
            why_not: why_not.or_else(|| limits.is_none().then(|| "there are too few cycles".to_owned())),
        })
    };
    named.values().filter_map(estimate).collect()
}

/// Returns the reason why a thread or interrupt cannot be left out of the observed cycles of a thread. `parts` describes
/// it under each load; `response` is the longest response without it, ns.
fn why_not(own: &[&AppCycles], thread: &AppThread, parts: &[&AppWithout], response: u64) -> Option<String> {
    let (tid, name) = parts.first().map(|part| (part.tid, &part.name))?;
    let worst = || own.iter().flat_map(|cycles| &cycles.worst);
    let is_waited_for = |one: &Blocked| tid.is_some() && (one.woken_by == tid || one.comm.as_ref() == Some(name));
    let slept = worst().map(|cycle| cycle.blocked.iter().map(|one| one.ns).sum::<u64>()).max().unwrap_or(0);
    let (ns, sure) = parts.iter().fold((0, 0), |(ns, sure), part| (ns + part.ns, sure + part.sure_ns));
    if own.iter().map(|cycles| cycles.cycles).sum::<u64>() < FEW {
        Some("there are too few cycles".to_owned())
    } else if thread.released_by.contains(name) || parts.iter().any(|part| part.released > 0) {
        Some(format!("{name} releases {}", thread.name))
    } else if worst().flat_map(|cycle| &cycle.blocked).any(is_waited_for) {
        Some(format!("{} also waited for {name}", thread.name))
    } else if slept as f64 > (1.0 - WORTH) * response as f64 {
        Some(format!("{} sleeps in its cycles, and {name} may delay whoever it waits for", thread.name))
    } else if !is_timed(thread) && own.iter().any(|cycles| cycles.behind_ns > 0) {
        Some(format!("{} was released again while it worked, which may be because of {name}", thread.name))
    } else if (sure as f64) < SURE * ns as f64 {
        Some(format!("it is not certain when {name} ran"))
    } else {
        None
    }
}

/// Returns the limits of the longest response of a run of the same length; `None` if too few responses are known. The
/// accuracy of the accounting is part of them: responses that hardly vary would have limits closer than that.
fn limits(longest: &[u64], least: &[u64]) -> Option<(u64, u64)> {
    const TAIL: usize = 8;
    let (tail, low) = (longest.get(..TAIL)?, *least.get(LOW - 1)?);
    let threshold = tail[TAIL - 1];
    let excess = tail.iter().map(|ns| (ns - threshold) as f64).sum::<f64>() / (TAIL - 1) as f64;
    let accuracy = |ns: u64| ACCURACY_NS.max((ns as f64 * ACCURACY) as u64);
    let high = tail[0] + (HIGH * excess) as u64;
    Some((low.saturating_sub(accuracy(low)), high + accuracy(high)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic pseudo-random numbers in 0..1 (splitmix64).
    fn uniform(state: &mut u64) -> f64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    #[test]
    fn limits_contain_the_maximum_of_another_run() {
        // 2,000 pairs of runs with 1,000 responses each and exponential tails. The nominal coverage is 1 − 1/16 − 0.042
        // = 90 %; the accuracy widens the interval.
        let mut state = 20_261_127;
        let mut inside = 0;
        for _ in 0..2_000 {
            let mut run = || {
                let mut all: Vec<u64> =
                    (0..1_000).map(|_| (100_000.0 - 20_000.0 * uniform(&mut state).max(1e-12).ln()) as u64).collect();
                all.sort_by_key(|ns| std::cmp::Reverse(*ns));
                all
            };
            let (seen, next) = (run(), run()[0]);
            let (low, high) = limits(&seen, &seen).unwrap();
            inside += u32::from((low..=high).contains(&next));
        }
        assert!((1_740..=1_860).contains(&inside), "{inside}");
    }

    #[test]
    fn what_cannot_be_left_out_has_a_reason() {
        let thread: AppThread = serde_json::from_value(serde_json::json!({
            "name": "control", "tid": 7, "pid": 7, "program": "plc", "scheduling": { "policy": "fifo", "priority": 50 },
            "release": "absolute sleep", "released_by": ["sampler"], "call": "clock_nanosleep(2)", "period_ns": 1_000_000,
            "phase_ns": null, "jitter_ns": null, "ambiguous_with": null, "cpus": null
        }))
        .unwrap();
        let cycles = |cycles: u64, slept: u64| -> AppCycles {
            let blocked = serde_json::json!([{
                "ns": slept, "state": "S", "woken_by": 8, "comm": "owner", "inverted": true
            }]);
            serde_json::from_value(serde_json::json!({
                "load": "idle", "thread": "control", "cycles": cycles, "skipped": 0, "overruns": 0, "response_ns": 9,
                "behind_ns": 0, "ran_ns": 9, "blocked_ns": slept, "delays": [], "worst": [{
                    "tid": 7, "comm": "control", "policy": "FIFO", "prio": 50, "cpu": 0, "release_ns": 0, "length_ns": 900,
                    "ran_ns": 200, "delays": [], "blocked": blocked, "verdict": ""
                }]
            }))
            .unwrap()
        };
        let part = |name: &str, released, sure_ns| AppWithout {
            class: punctual_model::Class::HigherPriority,
            tid: Some(9),
            name: name.into(),
            cycles: 10,
            released,
            ns: 100,
            sure_ns,
            longest_ns: Vec::new(),
            least_ns: Vec::new(),
        };
        let why = |cycles: AppCycles, part: AppWithout| why_not(&[&cycles], &thread, &[&part], 400);
        assert_eq!(why(cycles(100, 20), part("hog", 0, 90)), None);
        let said = |cycles, part| why(cycles, part).unwrap();
        assert_eq!(said(cycles(99, 0), part("hog", 0, 90)), "there are too few cycles");
        assert_eq!(said(cycles(100, 0), part("sampler", 0, 90)), "sampler releases control");
        assert_eq!(said(cycles(100, 0), part("hog", 1, 90)), "hog releases control");
        assert_eq!(said(cycles(100, 0), part("owner", 0, 90)), "control also waited for owner");
        assert!(said(cycles(100, 21), part("hog", 0, 90)).starts_with("control sleeps in its cycles, and hog may"));
        assert_eq!(said(cycles(100, 0), part("hog", 0, 89)), "it is not certain when hog ran");
        let behind = AppCycles { behind_ns: 1, ..cycles(100, 0) };
        assert_eq!(why_not(&[&behind], &thread, &[&part("hog", 0, 90)], 400), None);
        let thread = AppThread { release: "eventfd".into(), ..thread };
        let why = why_not(&[&behind], &thread, &[&part("hog", 0, 90)], 400).unwrap();
        assert!(why.starts_with("control was released again while it worked"), "{why}");
    }

    #[test]
    fn few_responses_have_no_limits() {
        assert_eq!(limits(&[9, 8, 7, 6, 5, 4, 3], &[9, 8, 7, 6, 5, 4, 3]), None);
        assert_eq!(limits(&[9_000; 8], &[8_000; 8]), Some((3_000, 14_000)));
        assert_eq!(limits(&[900_000; 8], &[800_000; 8]), Some((784_000, 918_000)));
    }
}
