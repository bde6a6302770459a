//! Decides whether a load ran, from its reports and the kernel's counters. All functions are pure.

use crate::board::Slot;
use crate::counter::Counter;
use crate::part::{Ended, Look};
use crate::{LoadError, LoadSpec};
use punctual_model::{LoadReport, Proof, Rate};
use punctual_units::Nanos;

/// Returns the longest permitted silence of a worker: a quarter of the phase, but at least 2 s.
fn allowed(recorded: u64) -> u64 {
    (recorded / 4).max(2_000_000_000)
}

/// Returns the report of a load that could not be started, which makes its phase inconclusive.
pub fn not_run(spec: &LoadSpec, error: &LoadError) -> LoadReport {
    LoadReport { ran: false, why_not: Some(error.to_string()), ..empty(&spec.to_string()) }
}

fn empty(name: &str) -> LoadReport {
    LoadReport {
        load: name.into(),
        ran: true,
        why_not: None,
        workers: 0,
        beats: 0,
        longest_silence_ns: 0,
        rates: Vec::new(),
        proofs: Vec::new(),
        written_bytes: 0,
        notes: Vec::new(),
    }
}

/// Returns the report of one process of a load for the time between `since` and `until`.
pub(crate) fn of_part(part: Ended, since: u64, until: u64) -> LoadReport {
    let seconds = Nanos(until.saturating_sub(since)).as_secs_f64().max(1e-9);
    let workers: Vec<Worked> = worked(&part, since, until);
    let units = part.hello.units.iter().enumerate();
    let done: Vec<u64> = units.clone().map(|(unit, _)| workers.iter().map(|w| w.done[unit]).sum()).collect();
    let rate = |(i, u): (usize, &crate::message::Unit)| Rate {
        what: u.what.clone(),
        value: done[i] as f64 * u.scale / seconds,
        unit: u.unit.clone(),
    };
    let (proofs, unread) = proofs(&part.hello.counters, &part.before, &part.after, seconds, &done);
    let why_not = why_not(&part, &workers, until - since, &proofs, unread);
    let mut notes = part.hello.notes;
    notes.extend(part.left);
    LoadReport {
        ran: why_not.is_none(),
        why_not,
        workers: workers.len() as u32,
        beats: workers.iter().map(|w| w.beats).sum(),
        longest_silence_ns: workers.iter().map(|w| w.silence).max().unwrap_or(0),
        rates: units.clone().map(rate).collect(),
        proofs,
        written_bytes: units.clone().filter(|(_, u)| u.written).map(|(i, _)| done[i]).sum(),
        notes,
        ..empty(&part.name)
    }
}

struct Worked {
    beats: u64,
    silence: u64,
    done: [u64; crate::board::UNITS],
    state: char,
}

fn worked(part: &Ended, since: u64, until: u64) -> Vec<Worked> {
    let pairs = part.before.slots.iter().zip(&part.after.slots).zip(&part.after.states);
    pairs.map(|((before, after), state)| worker(before, after, *state, part.epoch, since, until)).collect()
}

fn worker(before: &Slot, after: &Slot, state: char, epoch: u64, since: u64, until: u64) -> Worked {
    // Longest time without a beat, including the time from the last beat to the end. A worker that has not yet noticed
    // this recording has had no beat in it.
    let earlier = if after.epoch == epoch { after.longest } else { 0 };
    let last = until.saturating_sub(after.last.max(since));
    Worked {
        beats: after.beats.saturating_sub(before.beats),
        silence: earlier.max(last),
        done: std::array::from_fn(|i| after.done[i].saturating_sub(before.done[i])),
        state,
    }
}

fn proofs(
    counters: &[Counter],
    before: &Look,
    after: &Look,
    seconds: f64,
    done: &[u64],
) -> (Vec<Proof>, Option<String>) {
    let mut unread = None;
    let mut proofs = Vec::new();
    for ((counter, before), after) in counters.iter().zip(&before.counters).zip(&after.counters) {
        match (before, after) {
            (Ok(before), Ok(after)) => proofs.push(Proof {
                what: counter.what.clone(),
                before: *before,
                after: *after,
                needed: counter.needed(seconds, done),
            }),
            (Err(why), _) | (_, Err(why)) => {
                unread =
                    unread.or_else(|| Some(format!("no counter shows that it ran: {why}; see `ls -l /proc /sys`")));
            }
        }
    }
    (proofs, unread)
}

fn why_not(
    part: &Ended,
    workers: &[Worked],
    recorded: u64,
    proofs: &[Proof],
    unread: Option<String>,
) -> Option<String> {
    if let Some(why) = &part.failed {
        return Some(why.clone());
    }
    if let Some((number, stalest)) = workers.iter().enumerate().max_by_key(|(_, w)| w.silence) {
        let allowed = allowed(recorded);
        if stalest.silence > allowed || workers.iter().any(|w| w.beats == 0) {
            let still = if stalest.silence > allowed { (number, stalest) } else { first_without_beat(workers)? };
            return Some(silent(part, still.0, still.1, recorded, allowed));
        }
    }
    if unread.is_some() {
        return unread;
    }
    let missed = proofs.iter().find(|p| !p.holds())?;
    Some(format!(
        "the kernel's counters do not confirm it: {} rose by {}, less than {}: see with `top` what is running, and check the limits in the notes",
        missed.what,
        missed.after.saturating_sub(missed.before),
        missed.needed,
    ))
}

fn first_without_beat(workers: &[Worked]) -> Option<(usize, &Worked)> {
    workers.iter().enumerate().find(|(_, w)| w.beats == 0)
}

/// Advice about autogroups: with autogroups and tasks that sleep briefly, kernel threads stayed runnable for 4.7 s
/// without running (Linux 6.18.44).
const AUTOGROUP: &str = "; kernel threads can starve on a fully loaded machine with autogroups: try \
                         `sysctl kernel.sched_autogroup_enabled=0`";

fn silent(part: &Ended, number: usize, worker: &Worked, recorded: u64, allowed: u64) -> String {
    let pid = part.pid;
    let grouped = if part.autogroup { AUTOGROUP } else { "" };
    let cause = match worker.state {
        'T' | 't' => format!("its process was stopped: see who sends SIGSTOP (`kill -CONT {pid}` continues it)"),
        _ if part.is_command => {
            "no process of the command used CPU time or made a context switch: use a command that is active all the time, or `idle`"
                .into()
        }
        'D' => format!("it waited for a device: see `dmesg | tail`{grouped}"),
        'R' => format!(
            "it got no CPU time: see `ps -eLo pid,cls,rtprio,psr,comm --sort=-rtprio | head` and cpu.max of the \
             cgroup{grouped}"
        ),
        _ => {
            "it waited for an event that did not occur: see `dmesg | tail` and `top -H`, and measure again".to_string()
        }
    };
    let (silence, recorded, allowed) = (Nanos(worker.silence), Nanos(recorded), Nanos(allowed));
    match worker.beats {
        0 => format!("worker {number} made no progress in {recorded}: {cause}"),
        _ => format!("worker {number} made no progress for {silence} of {recorded}, more than {allowed}: {cause}"),
    }
}

/// Combines the reports of all processes. The load ran only if every process did.
pub(crate) fn of_load(name: &str, mut parts: Vec<LoadReport>) -> LoadReport {
    if parts.len() == 1 {
        return LoadReport { load: name.into(), ..parts.remove(0) };
    }
    let mut whole = empty(name);
    for part in parts {
        let named = |text: String| format!("{}: {text}", part.load);
        whole.ran &= part.ran;
        whole.why_not = whole.why_not.or(part.why_not.map(named));
        whole.workers += part.workers;
        whole.beats += part.beats;
        whole.longest_silence_ns = whole.longest_silence_ns.max(part.longest_silence_ns);
        whole.rates.extend(part.rates.into_iter().map(|r| Rate { what: named(r.what), ..r }));
        whole.proofs.extend(part.proofs.into_iter().map(|p| Proof { what: named(p.what), ..p }));
        whole.written_bytes += part.written_bytes;
        whole.notes.extend(part.notes.into_iter().map(named));
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Source;
    use crate::message::{Hello, Unit};

    const S: u64 = 1_000_000_000;

    fn slot(beats: u64, last: u64, longest: u64, done: u64) -> Slot {
        Slot { beats, last, longest, epoch: 1, tid: 5, done: [done, 0, 0, 0] }
    }

    fn look(slots: Vec<Slot>, counter: Result<u64, String>) -> Look {
        Look { states: vec!['S'; slots.len()], slots, counters: vec![counter] }
    }

    /// Returns a part with two workers that ran for 10 s from second 100 and wrote 1 MiB each, which the counters
    /// confirm.
    fn part() -> Ended {
        let units = vec![Unit { written: true, ..Unit::bytes("written") }];
        let counters = vec![Counter::new("sectors", Source::AllDiskSectors).per_unit(0, 0.5 / 512.0)];
        Ended {
            name: "io".into(),
            pid: 7,
            is_command: false,
            autogroup: false,
            hello: Hello { workers: 2, units, counters, notes: vec!["note".into()] },
            epoch: 1,
            before: look(vec![slot(5, 100 * S, 0, 9), slot(5, 100 * S, 0, 9)], Ok(1000)),
            after: look(vec![slot(25, 110 * S, S / 2, 9 + (1 << 20)); 2], Ok(1000 + 2048)),
            failed: None,
            left: None,
        }
    }

    fn judge(change: impl FnOnce(&mut Ended)) -> LoadReport {
        let mut part = part();
        change(&mut part);
        of_part(part, 100 * S, 110 * S)
    }

    #[test]
    fn a_load_that_ran() {
        let report = judge(|_| {});
        assert!(report.ran && report.why_not.is_none());
        assert_eq!((report.workers, report.beats, report.longest_silence_ns), (2, 40, S / 2));
        assert_eq!(report.written_bytes, 2 << 20);
        assert!((report.rates[0].value - 0.2).abs() < 1e-9 && report.rates[0].unit == "MiB/s");
        assert_eq!(report.proofs[0].needed, 2048);
        assert_eq!(report.notes, ["note"]);
    }

    #[test]
    fn a_load_that_did_not_run_says_why() {
        let why = |change: fn(&mut Ended)| {
            let report = judge(change);
            assert!(!report.ran);
            report.why_not.unwrap()
        };
        assert!(why(|p| p.after.slots[1].last = 107 * S).contains("worker 1 made no progress for 3.00 s of 10.0 s"));
        assert!(why(|p| p.after.slots[0].longest = 4 * S).contains("worker 0 made no progress for 4.00 s"));
        let stopped: fn(&mut Ended) = |p| {
            p.after.slots[0] = p.before.slots[0];
            p.after.states[0] = 'T';
        };
        assert!(why(stopped).contains("worker 0 made no progress in 10.0 s: its process was stopped"));
        assert!(why(|p| p.after.counters[0] = Ok(1100)).contains("sectors rose by 100, less than 2048"));
        assert!(why(|p| p.after.counters[0] = Err("gone".into())).contains("gone"));
        assert_eq!(why(|p| p.failed = Some("no".into())), "no");
    }

    #[test]
    fn silence_before_the_recording_does_not_count() {
        let report = judge(|p| {
            p.before.slots[0].longest = 50 * S;
            p.after.slots[0].longest = 0;
        });
        assert!(report.ran);
    }

    #[test]
    fn of_several_each_must_run() {
        let good = judge(|_| {});
        let bad = judge(|p| p.failed = Some("no".into()));
        let whole = of_load("all", vec![good.clone(), bad]);
        assert_eq!((whole.ran, whole.why_not.as_deref()), (false, Some("io: no")));
        assert_eq!((whole.workers, whole.rates.len()), (4, 2));
        assert!(of_load("all", vec![good.clone(), good]).ran);
        assert_eq!(of_load("cmd:x", vec![judge(|_| {})]).load, "cmd:x");
    }

    #[test]
    fn a_load_that_never_started() {
        let spec = crate::parse("network").unwrap();
        let report = not_run(&spec, &LoadError::NoPeer);
        assert!(!report.ran && report.why_not.unwrap().contains("--peer"));
    }
}
