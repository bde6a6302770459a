//! Reads kernel events of LTTng as babeltrace prints them: `[00:42:51.993131831] (+0.000000370) host sched_switch:
//! { cpu_id = 11 }, { tid = 50605, procname = "app" }, { prev_comm = "app", … }`.

use super::prefix::{Prefix, Style};
use super::scan::{number, seconds, signed, skip_spaces, split, trim};
use crate::words::Comm;

/// MAX_RT_PRIO: LTTng subtracts it from priorities (lttng-modules, instrumentation/events/sched.h).
const MAX_RT_PRIO: i64 = 100;
/// The largest priority of a thread that LTTng prints, after it has subtracted [`MAX_RT_PRIO`].
const MOST_SHOWN: i64 = 39;

/// True for a line with LTTng's stream context.
pub(super) fn is_line(line: &[u8]) -> bool {
    let line = skip_spaces(line);
    line.first() == Some(&b'[') && memchr::memmem::find(line, b"{ cpu_id = ").is_some()
}

/// Returns the prefix of a line, and its body in the layout of the kernel's text.
pub(super) fn line(line: &[u8]) -> Option<(Prefix, Vec<u8>)> {
    if !is_line(line) {
        return None;
    }
    let (time, rest) = split(skip_spaces(line).strip_prefix(b"[")?, b"]")?;
    let (front, groups) = split(rest, b": { cpu_id = ")?;
    let name = front.rsplit(|b| matches!(b, b' ' | b':')).next().filter(|name| !name.is_empty())?;
    let (cpu, groups) = number(groups)?;
    let (_, groups) = split(groups, b"{").unwrap_or((b"", b""));
    let mut groups: Vec<&[u8]> = parts(groups);
    let fields = groups.pop().unwrap_or_default();
    let context = |key: &[u8]| groups.iter().find_map(|group| value(group, key));
    let tid = context(b"tid").or_else(|| value(fields, b"prev_tid")).and_then(integer);
    let comm = context(b"procname").or_else(|| value(fields, b"prev_comm")).map(Comm::new);
    let prefix = Prefix {
        comm,
        tid: tid.and_then(|tid| i32::try_from(tid).ok()).unwrap_or(-1),
        cpu: u32::try_from(cpu).ok()?,
        flags: None,
        time: time_of_day(time)?,
        decimals: Some(9),
        style: Style::Normal,
    };
    Some((prefix, body(name, fields)))
}

/// Splits `a }, { b }, { c }`.
fn parts(mut s: &[u8]) -> Vec<&[u8]> {
    let mut all = Vec::new();
    while let Some((part, rest)) = split(s, b"}, {") {
        all.push(part);
        s = rest;
    }
    all.push(s);
    all
}

/// Parses `00:42:51.993131831`, with or without a date before it, or seconds since 1970. Returns ns.
fn time_of_day(s: &[u8]) -> Option<u64> {
    let s = s.rsplit(|b| *b == b' ').next()?;
    let mut ns = 0u64;
    let mut parts = s.split(|b| *b == b':').peekable();
    while let Some(part) = parts.next() {
        let value = match parts.peek() {
            Some(_) => number(part)?.0.checked_mul(1_000_000_000)?,
            None => seconds(part).filter(|(_, decimals, rest)| decimals.is_some() && rest.is_empty())?.0,
        };
        ns = ns.checked_mul(60)?.checked_add(value)?;
    }
    Some(ns)
}

/// Returns the value of `key = 5`, `key = "text"` or `key = ( "NAME" : container = 5 )`.
fn value<'a>(fields: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let is_start = |at: usize| at == 0 || fields.get(at - 1) == Some(&b' ');
    let at = memchr::memmem::find_iter(fields, key)
        .find(|at| is_start(*at) && fields.get(at + key.len()..).is_some_and(|rest| rest.starts_with(b" = ")))?;
    let rest = fields.get(at + key.len() + 3..)?;
    if let Some(text) = rest.strip_prefix(b"\"") {
        return text.get(..memchr::memchr(b'"', text)?);
    }
    if rest.starts_with(b"(") {
        let inner = rest.get(..memchr::memchr(b')', rest)?)?;
        return inner.rsplit(|b| matches!(b, b'=' | b':')).next().map(trim);
    }
    Some(trim(rest.get(..rest.iter().position(|b| matches!(b, b',' | b'}')).unwrap_or(rest.len()))?))
}

fn integer(s: &[u8]) -> Option<i64> {
    signed(s).map(|(value, _)| value)
}

/// Writes an event in the layout of the kernel's text. A field that is missing is left out, as in a truncated line.
fn body(name: &[u8], fields: &[u8]) -> Vec<u8> {
    let known: &[(&str, &str)] = match name {
        b"sched_switch" => &[
            ("prev_comm", "prev_comm"),
            (" prev_pid", "prev_tid"),
            (" prev_prio", "prev_prio"),
            (" prev_state", "prev_state"),
            (" ==> next_comm", "next_comm"),
            (" next_pid", "next_tid"),
            (" next_prio", "next_prio"),
        ],
        b"sched_waking" | b"sched_wakeup" | b"sched_wakeup_new" => {
            &[("comm", "comm"), (" pid", "tid"), (" prio", "prio"), (" target_cpu", "target_cpu")]
        }
        b"sched_migrate_task" => &[
            ("comm", "comm"),
            (" pid", "tid"),
            (" prio", "prio"),
            (" orig_cpu", "orig_cpu"),
            (" dest_cpu", "dest_cpu"),
        ],
        b"irq_handler_entry" => &[("irq", "irq"), (" name", "name")],
        b"irq_handler_exit" => &[("irq", "irq"), (" ret", "ret")],
        b"irq_softirq_entry" | b"irq_softirq_exit" | b"irq_softirq_raise" => &[("vec", "vec")],
        b"power_cpu_idle" => &[("state", "state"), (" cpu_id", "cpu_id")],
        b"timer_hrtimer_start" => &[
            ("hrtimer", "hrtimer"),
            (" function", "function"),
            (" expires", "expires"),
            (" softexpires", "softexpires"),
        ],
        b"timer_hrtimer_expire_entry" => &[("hrtimer", "hrtimer"), (" function", "function"), (" now", "now")],
        b"timer_hrtimer_expire_exit" | b"timer_hrtimer_cancel" => &[("hrtimer", "hrtimer")],
        _ if name.starts_with(b"x86_irq_vectors_") => &[("vector", "vector")],
        _ => &[],
    };
    let own = [&b"irq_softirq"[..], b"power_cpu", b"timer_hrtimer", b"x86_irq_vectors_"];
    let name = match own.iter().find(|own| name.starts_with(own)) {
        Some(&b"x86_irq_vectors_") => name.get(16..).unwrap_or(name),
        Some(own) => name.get(own.iter().position(|b| *b == b'_').map_or(0, |at| at + 1)..).unwrap_or(name),
        None => name,
    };
    let mut text = match (name.strip_prefix(b"syscall_entry_"), name.strip_prefix(b"syscall_exit_")) {
        (Some(call), _) => [b"sys_enter_", call, b": "].concat(),
        (_, Some(call)) => [b"sys_exit_", call, b": ", value(fields, b"ret").unwrap_or_default()].concat(),
        _ => [name, b": "].concat(),
    };
    for (key, field) in known {
        let Some(value) = value(fields, field.as_bytes()) else { continue };
        text.extend_from_slice(key.as_bytes());
        text.push(b'=');
        match integer(value).filter(|_| field.ends_with("prio")) {
            Some(prio) if prio <= MOST_SHOWN => {
                text.extend_from_slice(prio.saturating_add(MAX_RT_PRIO).to_string().as_bytes());
            }
            _ => text.extend_from_slice(value),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Prefix, String) {
        let (prefix, body) = line(text.as_bytes()).unwrap();
        (prefix, String::from_utf8(body).unwrap())
    }

    #[test]
    fn events_are_written_as_the_kernel_writes_them() {
        let (prefix, body) = read(
            "[00:42:51.993131831] (+?.?????????) host sched_switch: { cpu_id = 11 }, { pid = 50, tid = 51, procname = \"my app\" }, \
             { prev_comm = \"my app\", prev_tid = 51, prev_prio = -81, prev_state = ( \"TASK_INTERRUPTIBLE\" : container = 1 ), next_comm = \"b\", next_tid = 7, next_prio = 20 }",
        );
        assert_eq!((prefix.cpu, prefix.tid, prefix.time), (11, 51, 2_571_993_131_831));
        assert_eq!(
            body,
            "sched_switch: prev_comm=my app prev_pid=51 prev_prio=19 prev_state=1 ==> next_comm=b next_pid=7 next_prio=120"
        );
        let (prefix, body) =
            read("[5.000000001] sched_waking: { cpu_id = 2 }, { comm = \"b\", tid = 7, prio = 120, target_cpu = 3 }");
        assert_eq!((prefix.tid, prefix.time), (-1, 5_000_000_001));
        assert_eq!(body, "sched_waking: comm=b pid=7 prio=120 target_cpu=3");
        let (_, body) = read("[5.000000001] irq_softirq_entry: { cpu_id = 2 }, { vec = 3 }");
        assert_eq!(body, "softirq_entry: vec=3");
        let (_, body) = read("[5.000000001] (+0.1) h syscall_exit_futex: { cpu_id = 2 }, { ret = -110, uaddr = 1 }");
        assert_eq!(body, "sys_exit_futex: -110");
        assert_eq!(line(b"  app-1 [000] d..2. 1.000000: sched_switch: x"), None);
    }
}
