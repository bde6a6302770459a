//! The user's limits for scheduling and memory: getrlimit(2), capabilities(7).

use super::{Probe, With};
use crate::reading::{Cause, Gap, Reading};
use crate::sight::{Notes, Sight};
use punctual_machine::field_values;
use punctual_units::Scheduling;

const LIMITS: &str = "/proc/self/limits";
const STATUS: &str = "/proc/self/status";
const UID_MAP: &str = "/proc/self/uid_map";
const READS: &[&str] = &[LIMITS, STATUS, UID_MAP];

/// Numbers of capabilities, from include/uapi/linux/capability.h.
const CAP_IPC_LOCK: u32 = 14;
const CAP_SYS_NICE: u32 = 23;

pub(super) const PROBES: &[Probe] = &[
    // `not-needed`, `capability`, `limit` or `too-low`.
    Probe { name: "rtprio", with: &[], reads: &[READS], run: rtprio },
    Probe { name: "rtprio-limit", with: &[], reads: &[&[LIMITS]], run: rtprio_limit },
    // `capability`, `unlimited`, `enough` for this many bytes, or `too-low`.
    Probe { name: "memlock", with: &["bytes"], reads: &[READS], run: memlock },
    Probe { name: "memlock-limit", with: &[], reads: &[&[LIMITS]], run: memlock_limit },
];

/// A hard limit, to which this program raises its soft limit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Limit {
    At(u64),
    Unlimited,
}

const RTPRIO: &str = "Max realtime priority";
const MEMLOCK: &str = "Max locked memory";

fn limit(sight: &Sight, name: &str, notes: &mut Notes) -> Result<Limit, Gap> {
    let read = sight.machine.read(LIMITS);
    let garbled = || Gap::new(LIMITS, Cause::Garbled("such limit"));
    let known = match Cause::of(&read) {
        Some(cause) => Err(Gap::new(LIMITS, cause)),
        None => (|| {
            let line = read.text()?.lines().find_map(|line| line.strip_prefix(name))?;
            match line.split_whitespace().nth(1)? {
                "unlimited" => Some(Limit::Unlimited),
                number => number.parse().ok().map(Limit::At),
            }
        })()
        .ok_or_else(garbled),
    };
    let shown = match &known {
        Ok(Limit::Unlimited) => "unlimited".to_owned(),
        Ok(Limit::At(number)) => number.to_string(),
        Err(gap) => gap.cause.describe(),
    };
    notes.add(format!("{LIMITS} {name} (hard)"), shown);
    known
}

/// Returns true if the capability is effective. The kernel checks it in the initial user namespace (capable() in
/// kernel/sched/syscalls.c and mm/mlock.c), so a container's root does not have it.
fn capability(sight: &Sight, bit: u32, notes: &mut Notes) -> Result<bool, Gap> {
    let status = sight.machine.read(STATUS);
    let effective = match Cause::of(&status) {
        Some(cause) => return Err(Gap::new(STATUS, cause)),
        None => status.text().and_then(|text| field_values(text, "CapEff").next().map(str::to_owned)),
    };
    let mask = effective.as_deref().and_then(|mask| u64::from_str_radix(mask, 16).ok());
    let Some(mask) = mask else { return Err(Gap::new(STATUS, Cause::Garbled("CapEff"))) };
    notes.add(format!("{STATUS} CapEff"), effective.unwrap_or_default());
    if mask >> bit & 1 == 0 {
        return Ok(false);
    }
    match sight.text(UID_MAP, notes) {
        Ok(map) => Ok(map.split_whitespace().eq(["0", "0", "4294967295"])),
        // A kernel without user namespaces has only the initial one.
        Err(gap) if gap.cause == Cause::Absent => Ok(true),
        Err(gap) => Err(gap),
    }
}

/// Combines a limit and a capability, either of which suffices: if one of them is known to suffice, that decides, and
/// the answer is negative only if both are known not to suffice.
fn answer(enough: Result<Option<&str>, Gap>, capable: Result<bool, Gap>) -> Reading {
    match (enough, capable) {
        (_, Ok(true)) => Reading::word("capability"),
        (Ok(Some(word)), _) => Reading::word(word),
        (Ok(None), Ok(false)) => Reading::word("too-low"),
        (Err(gap), _) | (_, Err(gap)) => Reading::gap(gap.expected()),
    }
}

fn rtprio(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let needed = match sight.context.scheduling {
        Scheduling::Fifo { priority } | Scheduling::Rr { priority } => Some(Limit::At(u64::from(priority.get()))),
        // SCHED_DEADLINE is not subject to a limit and requires the capability (sched_setattr(2)).
        Scheduling::Deadline { .. } => None,
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle => return Reading::word("not-needed"),
    };
    let enough = limit(sight, RTPRIO, notes).map(|limit| match needed {
        Some(needed) if limit >= needed => Some("limit"),
        _ => None,
    });
    answer(enough, capability(sight, CAP_SYS_NICE, notes))
}

fn memlock(sight: &Sight, with: &With, notes: &mut Notes) -> Reading {
    let bytes = with.get("bytes").copied().and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(u64::MAX);
    let enough = limit(sight, MEMLOCK, notes).map(|limit| match limit {
        Limit::Unlimited => Some("unlimited"),
        limit if limit >= Limit::At(bytes) => Some("enough"),
        Limit::At(_) => None,
    });
    answer(enough, capability(sight, CAP_IPC_LOCK, notes))
}

fn rtprio_limit(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match limit(sight, RTPRIO, notes) {
        Ok(Limit::Unlimited) => Reading::word("unlimited"),
        Ok(Limit::At(number)) => Reading::word(number.to_string()),
        Err(gap) => Reading::gap(gap.expected()),
    }
}

fn memlock_limit(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match limit(sight, MEMLOCK, notes) {
        Ok(Limit::Unlimited) => Reading::word("unlimited"),
        Ok(Limit::At(bytes)) => Reading::word(format!("{} KiB", bytes / 1024)),
        Err(gap) => Reading::gap(gap.expected()),
    }
}
