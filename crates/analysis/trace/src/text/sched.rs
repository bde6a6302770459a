//! Reads scheduler events in text traces, in the kernel's format and in trace-cmd's.

use super::prefix::comm_pid;
use super::scan::{comm_until, field, find, number, signed, skip_spaces, split, trim, whole, whole_i32, word};
use crate::event::{Delay, Kind};
use crate::words::{Comm, Task, TaskState};

#[derive(Clone, Copy)]
pub(crate) struct Line {
    pub tid: i32,
    pub comm: Option<Comm>,
}

/// Parses an event; `None` if it is not a scheduler event, `Some(None)` if fields are missing.
pub(crate) fn read(name: &[u8], s: &[u8]) -> Option<Option<Kind>> {
    Some(match name {
        b"sched_switch" => switch(s),
        b"sched_waking" => wake(s).map(|(task, target_cpu)| Kind::SchedWaking { task, target_cpu }),
        b"sched_wakeup" => wake(s).map(|(task, target_cpu)| Kind::SchedWakeup { task, target_cpu, by: None }),
        b"sched_wakeup_new" => wake(s).map(|(task, target_cpu)| Kind::SchedWakeupNew { task, target_cpu }),
        b"sched_migrate_task" => migrate(s),
        b"sched_pi_setprio" => pi_setprio(s),
        b"sched_stat_runtime" => {
            delay(s, b"runtime").map(|(tid, comm, runtime_ns)| Kind::StatRuntime { tid, comm, runtime_ns })
        }
        b"sched_stat_wait" => stat(s, Delay::Wait),
        b"sched_stat_sleep" => stat(s, Delay::Sleep),
        b"sched_stat_blocked" => stat(s, Delay::Blocked),
        b"sched_stat_iowait" => stat(s, Delay::Iowait),
        b"sched_process_fork" => fork(s),
        b"sched_process_exit" => task(s).map(|(task, _)| Kind::Exit { task }),
        b"sched_process_exec" => tid_field(s, b"pid").map(|tid| Kind::Rename { tid, new: None }),
        b"task_rename" => rename(s),
        _ => return None,
    })
}

fn switch(s: &[u8]) -> Option<Kind> {
    switched(s).filter(|(_, is_cut)| !is_cut).map(|(kind, _)| kind)
}

/// Returns what is known of a sched_switch whose line ends after the next thread's name or within its pid.
pub(crate) fn cut_switch(s: &[u8]) -> Option<Kind> {
    switched(s).map(|(kind, _)| kind)
}

/// Returns the switch, and true if its line is cut.
fn switched(s: &[u8]) -> Option<(Kind, bool)> {
    let whole = |kind| (kind, false);
    if s.starts_with(b"prev_pid=") {
        return switch_nameless(s).map(whole);
    }
    let Some(s) = s.strip_prefix(b"prev_comm=") else { return switch_short(s).map(whole) };
    let (comm, s) = comm_until(s, b" prev_pid=")?;
    let (tid, s) = signed(s)?;
    // Some pastes omit the priorities.
    let (prev_prio, s) = priority(s, b" prev_prio=")?;
    let (state, s) = word(s.strip_prefix(b" prev_state=")?);
    let (prev, prev_state) = (known(comm, tid, prev_prio)?, state_of(state)?);
    let s = skip_spaces(s);
    // `trace-cmd report -R` prints no arrow, and the state as a number.
    let s = skip_spaces(s.strip_prefix(b"==>").unwrap_or(s)).strip_prefix(b"next_comm=")?;
    let switch = |next| Kind::SchedSwitch { prev, prev_state, next };
    let Some((next_comm, (tid, s))) = comm_until(s, b" next_pid=").and_then(|(comm, s)| Some((comm, signed(s)?)))
    else {
        // No other thread has such a name.
        let (idle, _) = word(s);
        idle.starts_with(b"swapper/").then_some(())?;
        return Some((switch(Task { tid: 0, comm: Some(Comm::new(idle)), prio: prev_prio.map(|_| 120) }), true));
    };
    let (next_prio, _) = priority(s, b" next_prio=")?;
    // Either both priorities are omitted or none.
    let is_cut = prev_prio.is_some() && next_prio.is_none();
    (prev_prio.is_some() || next_prio.is_none()).then_some(())?;
    Some((switch(known(next_comm, tid, next_prio)?), is_cut))
}

fn priority<'s>(s: &'s [u8], key: &[u8]) -> Option<(Option<i64>, &'s [u8])> {
    match s.strip_prefix(key) {
        Some(s) => signed(s).map(|(prio, rest)| (Some(prio), rest)),
        None => Some((None, s)),
    }
}

/// Parses a sched_switch without thread names, which some programs leave out.
fn switch_nameless(s: &[u8]) -> Option<Kind> {
    let number = |key: &[u8]| field(s, key).and_then(whole_i32);
    let task = |pid: &[u8], prio: &[u8]| Some(Task { tid: number(pid)?, comm: None, prio: number(prio) });
    let (prev, next) = (task(b"prev_pid", b"prev_prio")?, task(b"next_pid", b"next_prio")?);
    Some(Kind::SchedSwitch { prev, prev_state: state_of(field(s, b"prev_state")?)?, next })
}

/// Parses a sched_switch as printed by trace-cmd, `cyclictest:248 [120] R ==> rcuc/0:23 [98]`, or by Linux 2.6.31,
/// `task cyclictest:248 [120] (R) ==> rcuc/0:23 [98]`.
pub(crate) fn switch_short(s: &[u8]) -> Option<Kind> {
    let s = s.strip_prefix(b"task ").unwrap_or(s);
    let (prev, next) = split(s, b" ==> ")?;
    let (prev, state) = short(prev)?;
    let (next, _) = short(next)?;
    Some(Kind::SchedSwitch { prev, prev_state: state_of(trim(state))?, next })
}

/// Parses `comm:pid [prio]`; returns the rest too.
fn short(s: &[u8]) -> Option<(Task, &[u8])> {
    let open = find(s, b" [")?;
    let (comm, tid) = comm_pid(s.get(..open)?)?;
    let (prio, rest) = signed(s.get(open + 2..)?)?;
    let task = Task { tid, comm, prio: Some(i32::try_from(prio).ok()?) };
    Some((task, rest.strip_prefix(b"]")?))
}

fn known(comm: Comm, tid: i64, prio: impl Into<Option<i64>>) -> Option<Task> {
    let comm = (comm.as_bytes() != b"<...>" && !comm.as_bytes().is_empty()).then_some(comm);
    let prio = prio.into().map(i32::try_from).transpose().ok()?;
    Some(Task { tid: i32::try_from(tid).ok()?, comm, prio })
}

/// Parses a state as printed: `S`, `R+`, `D|K`; the first letter counts.
fn state_of(s: &[u8]) -> Option<TaskState> {
    // `(S)` in 2.6.31 and 2.6.32.
    let s = s.strip_prefix(b"(").and_then(|s| s.strip_suffix(b")")).unwrap_or(s);
    let letter = *s.first()?;
    if letter.is_ascii_digit() {
        return whole(s).map(state_of_bits);
    }
    let known =
        matches!(letter, b'R' | b'S' | b'D' | b'T' | b't' | b'X' | b'Z' | b'P' | b'I' | b'x' | b'K' | b'W' | b'N');
    Some(TaskState { letter: if known { letter } else { b'?' }, preempted: s.contains(&b'+') })
}

/// Decodes the bits of prev_state (include/trace/events/sched.h): no bit means running, 0x100 means preempted.
fn state_of_bits(bits: u64) -> TaskState {
    const LETTERS: &[u8; 8] = b"SDTtXZPI";
    let preempted = bits & 0x100 != 0;
    let letter = LETTERS.get(bits.trailing_zeros() as usize).filter(|_| !preempted);
    TaskState { letter: if bits == 0 || preempted { b'R' } else { letter.copied().unwrap_or(b'?') }, preempted }
}

/// Parses `comm=X pid=N prio=N`; returns the rest too.
fn task(s: &[u8]) -> Option<(Task, &[u8])> {
    let (comm, s) = comm_until(s.strip_prefix(b"comm=")?, b" pid=")?;
    let (tid, s) = signed(s)?;
    let (prio, s) = signed(s.strip_prefix(b" prio=")?)?;
    Some((known(comm, tid, prio)?, s))
}

/// Parses a wakeup. Old kernels insert `success=1`; the target CPU may be missing.
fn wake(s: &[u8]) -> Option<(Task, Option<u32>)> {
    let (task, rest, key) = match task(s) {
        Some((task, rest)) => (task, rest, &b"target_cpu="[..]),
        None => {
            // Linux 2.6.31: `task rcuc/0:23 [98] success=1 [001]`.
            let old = s.strip_prefix(b"task ");
            let key = if old.is_some() { &b"["[..] } else { b"CPU:" };
            short(old.unwrap_or(s)).map(|(task, rest)| (task, rest, key))?
        }
    };
    let (_, cpu) = split(rest, key)?;
    Some((task, Some(u32::try_from(number(cpu)?.0).ok()?)))
}

fn migrate(s: &[u8]) -> Option<Kind> {
    let (task, rest) = task(s)?;
    let (from_cpu, to_cpu) = (whole(field(rest, b"orig_cpu")?)?, whole(field(rest, b"dest_cpu")?)?);
    Some(Kind::SchedMigrate { task, from_cpu, to_cpu })
}

fn pi_setprio(s: &[u8]) -> Option<Kind> {
    let (comm, s) = comm_until(s.strip_prefix(b"comm=")?, b" pid=")?;
    let (tid, s) = signed(s)?;
    let old = whole_i32(field(s, b"oldprio")?)?;
    let new_prio = whole_i32(field(s, b"newprio")?)?;
    Some(Kind::PiSetprio { task: known(comm, tid, i64::from(old))?, new_prio })
}

fn delay(s: &[u8], key: &[u8]) -> Option<(i32, Option<Comm>, u64)> {
    if let Some(old) = s.strip_prefix(b"task: ") {
        return old_delay(old);
    }
    let (comm, s) = comm_until(s.strip_prefix(b"comm=")?, b" pid=")?;
    let (tid, rest) = signed(s)?;
    Some((i32::try_from(tid).ok()?, Some(comm), whole(field(rest, key)?)?))
}

/// Parses events of Linux 2.6.31: `task: rcuc/0:23 wait: 5362 [ns]`, `task: rcuc/0:23 runtime: 5092 [ns], vruntime: …`.
fn old_delay(s: &[u8]) -> Option<(i32, Option<Comm>, u64)> {
    let at = find(s, b": ")?;
    let (who, ns) = (s.get(..at)?, s.get(at + 2..)?);
    let (comm, tid) = comm_pid(who.get(..memchr::memrchr(b' ', who)?)?)?;
    let (ns, rest) = number(ns)?;
    rest.starts_with(b" [ns]").then_some((tid, comm, ns))
}

fn stat(s: &[u8], what: Delay) -> Option<Kind> {
    delay(s, b"delay").map(|(tid, comm, delay_ns)| Kind::StatDelay { what, tid, comm, delay_ns })
}

fn tid_field(s: &[u8], key: &[u8]) -> Option<i32> {
    whole_i32(field(s, key)?)
}

fn fork(s: &[u8]) -> Option<Kind> {
    let (_, s) = comm_until(s.strip_prefix(b"comm=")?, b" pid=")?;
    let (parent, s) = signed(s)?;
    let (comm, s) = comm_until(s.strip_prefix(b" child_comm=")?, b" child_pid=")?;
    let (child, _) = signed(s)?;
    let (parent_tid, child_tid) = (i32::try_from(parent).ok()?, i32::try_from(child).ok()?);
    Some(Kind::Fork { parent_tid, child_tid, child_comm: Some(comm) })
}

fn rename(s: &[u8]) -> Option<Kind> {
    let tid = tid_field(s, b"pid")?;
    let (_, s) = split(s, b" newcomm=")?;
    let (new, _) = comm_until(s, b" oom_score_adj=")?;
    Some(Kind::Rename { tid, new: Some(new) })
}

/// Parses a line of the wakeup tracers (trace_output.c, `trace_ctxwake_print`): `0:120:R   + [001]  208: 19:R
/// cyclictest` is a wakeup, `0:120:R ==> [001]  208: 19:R cyclictest` a switch.
///
/// Returns `None` if it is not such a line, `Some(None)` if it is wrapped or truncated.
pub(crate) fn tracer_line(s: &[u8], line: Line) -> Option<Option<Kind>> {
    let (prev_tid, prev_prio, s) = triple(s)?;
    let (state, s) = word(s);
    let state = state_of(state)?;
    Some(tracer_rest(skip_spaces(s), Task { tid: prev_tid, comm: None, prio: Some(prev_prio) }, state, line))
}

fn tracer_rest(s: &[u8], prev: Task, prev_state: TaskState, line: Line) -> Option<Kind> {
    let (wakeup, s) = match s.strip_prefix(b"+") {
        Some(s) => (true, s),
        None => (false, s.strip_prefix(b"==>")?),
    };
    // Before 2.6.28 the CPU is missing.
    let (cpu, s) = match skip_spaces(s).strip_prefix(b"[").and_then(number) {
        Some((cpu, s)) => (Some(cpu), s.strip_prefix(b"]")?),
        None => (None, s),
    };
    let (tid, prio, s) = triple(skip_spaces(s))?;
    let (_, comm) = word(s);
    let comm = trim(comm);
    let comm = (!comm.is_empty() && comm != b"<...>").then(|| Comm::new(comm));
    let next = Task { tid, comm, prio: Some(prio) };
    let prev = Task { comm: line.comm.filter(|_| prev.tid == line.tid), ..prev };
    if wakeup {
        let target_cpu = cpu.map(u32::try_from).transpose().ok()?;
        return Some(Kind::SchedWakeup { task: next, target_cpu, by: Some(prev) });
    }
    Some(Kind::SchedSwitch { prev, prev_state, next })
}

/// Parses `pid:prio:`, padded with spaces; returns the rest too, which begins with the state.
fn triple(s: &[u8]) -> Option<(i32, i32, &[u8])> {
    let (tid, s) = signed(s)?;
    let (prio, s) = signed(skip_spaces(s.strip_prefix(b":")?))?;
    Some((i32::try_from(tid).ok()?, i32::try_from(prio).ok()?, s.strip_prefix(b":")?))
}
