//! Compares the explanation of each late wakeup with its known cause.
//!
//! A wakeup counts if injected bursts take at least a tenth of its delay, and at least 1 ms. It is right if the share
//! of every injected thread or class is within 5 points of the log, and if a cause that took more than 55 % of the
//! delay comes first. The log of a thread that spins or waits includes interrupts that took time from it, so the
//! reported share may be smaller by their time. If the log gives bounds for the ends of a burst, the share must be
//! within these bounds, with the same tolerance of 5 points.

use crate::guests::{folders, name_of};
use punctual_explain::{Cause, Confidence, ExplainOptions, Explanation, Facts, Victim, Victims, explain};
use punctual_inject::{Burst, Late, Surroundings, Watched};
use punctual_units::Policy;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

/// Accepted difference between the reported share and the logged share.
const POINTS: f64 = 0.05;
/// Share of the delay above which a cause must be named first.
const MAX: f64 = 0.55;
/// Minimum share of a delay that injected bursts must take for the wakeup to count; they must also take at least
/// [`MIN_NS`].
const MIN_PART: f64 = 0.1;
const MIN_NS: u64 = 1_000_000;
/// Maximum difference between the release on the victim's clock and the due time in the trace for which they count as
/// equal, ns.
const SAME_NS: u64 = 50_000;

/// Results for one kind of delay on one kernel.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub kernel: String,
    pub injection: String,
    pub impossible: Option<String>,
    /// Number of late wakeups with an injected cause.
    pub injected: u32,
    pub right: u32,
    /// Number of wrong explanations, by the confidence of the false statement: suspected, medium, high.
    pub wrong: [u32; 3],
    /// Number of late wakeups with an injected cause that `explain` does not report.
    pub missing: u32,
    /// Number of injected wakeups with more than 5 % of the delay unaccounted for.
    pub uncovered: u32,
    /// Number of injected wakeups for which the share of each part is within 5 points of the log, with allowance only
    /// for interrupts.
    pub close: u32,
    /// Number of injected wakeups for which the log determines the share only within more than 5 points.
    pub vague: u32,
    /// Number of injected wakeups in which the victim got the CPU in time and was preempted before it could read the
    /// clock, so that it is not a late wakeup for `explain`.
    pub later: u32,
    /// Number of late wakeups that nothing injected explains.
    pub unplanned: u32,
    pub notes: Vec<String>,
}

/// Scores everything below `out`, in folders KERNEL/KIND.
pub fn folder(out: &Path, bare: bool) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for kernel in folders(out)? {
        for injection in folders(&kernel)? {
            let row = Row { kernel: name_of(&kernel), injection: name_of(&injection), ..Row::default() };
            rows.push(injection_row(&injection, row, bare)?);
        }
    }
    Ok(rows)
}

fn injection_row(injection: &Path, mut row: Row, bare: bool) -> Result<Row, String> {
    for note in ["impossible.txt", "failed.txt"] {
        if let Ok(why) = fs::read_to_string(injection.join(note)) {
            row.impossible = Some(why);
            return Ok(row);
        }
    }
    let bursts: Vec<Burst> = read(injection, "truth.json")?;
    let watched: Watched = read(injection, "victim.json")?;
    let surroundings: Surroundings = read(injection, "facts.json")?;
    let facts = if bare { Facts::default() } else { facts(&surroundings) };
    let path = injection.join("trace.txt");
    let failed = |e: String| format!("{}: {e}", path.display());
    let file = File::open(&path).map_err(|e| failed(e.to_string()))?;
    let mut source =
        punctual_trace::open(file, punctual_trace::Options::default()).map_err(|e| failed(e.to_string()))?;
    let options =
        ExplainOptions { victims: Victims::Tid(watched.tid), most: 100_000, facts, ..ExplainOptions::default() };
    let explanation = explain(source.as_mut(), options);
    for late in &watched.late {
        wakeup(&mut row, late, &bursts, &explanation);
    }
    Ok(row)
}

pub fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T, String> {
    let path = folder.join(name);
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

/// Returns the facts that a live capture would have.
pub fn facts(known: &Surroundings) -> Facts {
    let policy = |text: &str| match text.trim_start_matches("SCHED_") {
        "FIFO" => Some(Policy::Fifo),
        "RR" => Some(Policy::Rr),
        "OTHER" => Some(Policy::Other),
        "BATCH" => Some(Policy::Batch),
        "IDLE" => Some(Policy::Idle),
        "DEADLINE" => Some(Policy::Deadline),
        _ => None,
    };
    Facts {
        policies: known.policies.iter().filter_map(|(tid, text)| Some((*tid, policy(text)?))).collect(),
        kernel: known.release.clone(),
        fair_server: known.fair_server,
        rt_group_sched: None,
        throttled: known.throttled,
        guest: Some(true),
        steal_rose: known.steal.map(|jiffies| jiffies > 0),
        tracer: known.tracer.clone(),
        sent: false,
        released: Vec::new(),
    }
}

/// Class and thread of a part of a delay, and text that the explanation must also contain.
pub type Part = (String, Option<i32>, Option<String>);

fn wakeup(row: &mut Row, late: &Late, bursts: &[Burst], explanation: &Explanation) {
    let victim = explanation.victims.iter().find(|v| is_that(v, late));
    // A thread that was still going to sleep when it was due is late from then on.
    let victim = victim.or_else(|| explanation.victims.iter().find(|v| is_inside(v, late)));
    let late = Late {
        release_ns: victim.and_then(|v| v.moments).map_or(late.release_ns, |m| m.t0_ns.max(late.release_ns)),
        ..*late
    };
    let late = &late;
    let end = victim.and_then(|v| v.moments).map_or(late.woke_ns, |m| m.t3_ns.clamp(late.release_ns, late.woke_ns));
    // The thread got the CPU in time, but lost it before it could read the clock. This is not a late wakeup.
    if (end - late.release_ns) * 2 < late.woke_ns - late.release_ns {
        row.later += 1;
        return;
    }
    let mut expected: BTreeMap<Part, (u64, u64)> = BTreeMap::new();
    for burst in bursts {
        let ns = burst.overlap(late.release_ns, end);
        if ns > 0 {
            let (least, most) = expected.entry(part(burst)).or_default();
            *least += ns;
            *most += burst.most(late.release_ns, end);
        }
    }
    let whole = end.saturating_sub(late.release_ns).max(1) as f64;
    let injected: u64 = expected.values().map(|(least, _)| least).sum();
    if injected < MIN_NS || (injected as f64) < MIN_PART * whole {
        row.unplanned += 1;
        return;
    }
    row.injected += 1;
    let Some(victim) = victim else {
        row.missing += 1;
        row.notes.push(format!("{} ns: not in the explanation", late.release_ns));
        return;
    };
    row.uncovered += u32::from(1.0 - victim.coverage > POINTS);
    let exact = bursts.iter().all(|burst| burst.exact);
    let share = |(part, (least, most)): (Part, (u64, u64))| (part, least as f64 / whole, most as f64 / whole);
    let shares: Vec<(Part, f64, f64)> = expected.into_iter().map(share).collect();
    row.close += u32::from(plainly(late, end, bursts, victim));
    row.vague += u32::from(shares.iter().any(|(_, least, most)| most - least > POINTS));
    match complaint(&shares, exact, victim, explanation) {
        None => row.right += 1,
        Some((why, sure)) => {
            if let Some(count) = row.wrong.get_mut(sure as usize) {
                *count += 1;
            }
            row.notes.push(format!("{} ns, {:.1} ms: {why}", late.release_ns, whole / 1e6));
        }
    }
}

/// Returns true if the shares agree with allowance only for interrupts within a thread's time, but not for stalls of
/// the host and the time from the switch to the clock read.
fn plainly(late: &Late, end: u64, bursts: &[Burst], victim: &Victim) -> bool {
    let whole = end.saturating_sub(late.release_ns).max(1) as f64;
    let mut shares: BTreeMap<Part, u64> = BTreeMap::new();
    for burst in bursts {
        let plain = Burst { gaps: Vec::new(), ..burst.clone() };
        *shares.entry(part(burst)).or_default() += plain.overlap(late.release_ns, end);
    }
    shares.into_iter().filter(|(_, ns)| *ns > 0).all(|(part, ns)| {
        let has: f64 = victim.causes.iter().filter(|c| is_part(c, &part)).map(|cause| cause.share).sum();
        let nested = interrupts(victim, &part);
        (-POINTS - nested..=POINTS).contains(&(has - ns as f64 / whole))
    })
}

fn is_inside(victim: &Victim, late: &Late) -> bool {
    victim.moments.is_some_and(|m| late.release_ns < m.t0_ns && m.t3_ns <= late.woke_ns)
}

fn is_that(victim: &Victim, late: &Late) -> bool {
    victim.moments.is_some_and(|m| m.t0_ns.abs_diff(late.release_ns) <= SAME_NS)
}

/// Returns what is wrong in an explanation, and the confidence of the false statement; `None` if nothing is wrong.
fn complaint(
    expected: &[(Part, f64, f64)],
    exact: bool,
    victim: &Victim,
    explanation: &Explanation,
) -> Option<(String, Confidence)> {
    let sure = |cause: Option<&Cause>| cause.map_or(Confidence::Suspected, |cause| cause.confidence);
    let first = victim.causes.first();
    let named = || first.map_or("nothing".to_owned(), |cause| shown(cause, victim));
    for (part @ (class, tid, _), share, most) in expected {
        if class == "tracer_left_on" {
            return tracer(victim, explanation).map(|why| (why, sure(first)));
        }
        let same = |cause: &&Cause| is_part(cause, part);
        let has: f64 = victim.causes.iter().filter(same).map(|cause| cause.share).sum();
        let nested = interrupts(victim, part);
        // Other causes reported for its time, except injected ones and nested interrupts.
        let is_other = |cause: &&Cause| {
            let injected = expected.iter().any(|(part, ..)| is_part(cause, part));
            !(injected || (!of_interrupts(class) || tid.is_some()) && is_nested(cause))
        };
        let other = victim.causes.iter().find(is_other);
        if (!exact || *share - nested > MAX) && !first.is_some_and(|cause| same(&cause)) {
            return Some((format!("{class} {tid:?} took {:.0} %, first is {}", share * 100.0, named()), sure(other)));
        }
        if exact && (has > most + POINTS || has < share - POINTS - nested) {
            let (share, most, has) = (share * 100.0, most * 100.0, has * 100.0);
            // The false statement is the share that is too large for this cause, or the cause that is named in its
            // place.
            let false_one = if has > most { victim.causes.iter().find(same) } else { other };
            let text = format!(
                "{class} {tid:?} took {share:.0} to {most:.0} %, but {has:.0} % are explained; first is {}",
                named()
            );
            return Some((text, sure(false_one)));
        }
    }
    None
}

/// Checks an explanation of the tracer's delays: no thread is responsible, so the tracer must be reported, and no
/// thread may be reported with certainty.
fn tracer(victim: &Victim, explanation: &Explanation) -> Option<String> {
    let first = victim.causes.first()?;
    if !explanation.notes.iter().any(|note| note.contains("tracer")) {
        return Some(format!("no note on the tracer; first is {}", shown(first, victim)));
    }
    (first.tid.is_some() && first.confidence == Confidence::High)
        .then(|| format!("a thread is blamed: {}", shown(first, victim)))
}

pub fn part(burst: &Burst) -> Part {
    (burst.class.clone(), burst.tid, burst.what.clone())
}

pub fn is_part(cause: &Cause, (class, tid, what): &Part) -> bool {
    let says = |what: &String| {
        [cause.what.as_ref(), Some(&cause.evidence)].into_iter().flatten().any(|text| text.contains(what))
    };
    class_name(cause) == *class && (tid.is_none() || cause.tid == *tid) && what.as_ref().is_none_or(says)
}

/// Returns the maximum share that interrupts can have taken of a thread's time, or of a class other than interrupts.
fn interrupts(victim: &Victim, (class, tid, _): &Part) -> f64 {
    if of_interrupts(class) && tid.is_none() {
        return 0.0;
    }
    victim.causes.iter().filter(|cause| is_nested(cause)).map(|cause| cause.share).sum()
}

fn is_nested(cause: &Cause) -> bool {
    cause.tid.is_none() && of_interrupts(&class_name(cause))
}

fn of_interrupts(class: &str) -> bool {
    matches!(class, "irq" | "softirq")
}

fn class_name(cause: &Cause) -> String {
    serde_json::to_value(cause.class).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

pub fn shown(cause: &Cause, victim: &Victim) -> String {
    let who = cause.comm.as_deref().or(cause.what.as_deref()).unwrap_or("-");
    let doubts = if victim.doubts.is_empty() { String::new() } else { format!(" [{}]", victim.doubts.join("; ")) };
    format!(
        "{} {who} {:?} {:.0} % {:?} ({}){doubts}",
        class_name(cause),
        cause.tid,
        cause.share * 100.0,
        cause.confidence,
        cause.evidence
    )
}
