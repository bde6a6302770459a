//! Reads header lines of the kernel's text traces: tracer, counts, summaries of the latency tracers.

use super::scan::{find, number, seconds, skip_spaces, split, text, trim, whole, whole_i32, word};
use crate::info::{Format, LatencyHeader, Logged, TraceInfo};
use crate::words::Comm;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// The line `# tracer:`, which begins a trace.
    Begins,
    Latency,
    Known,
    No,
}

/// Reads a line that begins with `#`, or a line of an old header without `#`.
pub(crate) fn read(line: &[u8], info: &mut TraceInfo) -> Header {
    let hashed = line.trim_ascii_start().strip_prefix(b"#");
    let line = trim(hashed.unwrap_or(line));
    if let Some(tracer) = line.strip_prefix(b"tracer: ") {
        info.tracer = Some(text(trim(tracer), 64));
        return Header::Begins;
    }
    if let Some(counts) = line.strip_prefix(b"entries-in-buffer/entries-written:") {
        return entries(counts, info);
    }
    if let Some((tracer, rest)) = split(line, b" latency trace v") {
        let release = split(rest, b" on ").map(|(_, release)| text(trim(release), 128));
        info.kernel = release.or(info.kernel.take());
        let logged = info.latency.pop_if(|last| last.logged.is_some() && last.started_at.is_none());
        let tracer = Some(text(trim(tracer), 64));
        push(info, LatencyHeader { tracer, logged: logged.and_then(|last| last.logged), ..LatencyHeader::default() });
        return Header::Latency;
    }
    let glued = split(line, b"# latency: ").filter(|(rule, _)| rule.iter().all(|b| *b == b'-')).map(|(_, rest)| rest);
    if let Some(rest) = line.strip_prefix(b"latency: ").or(glued) {
        latency(rest, info, hashed.is_none() && glued.is_none());
        return Header::Latency;
    }
    task_or_function(line, info)
}

fn entries(s: &[u8], info: &mut TraceInfo) -> Header {
    if let Some((in_buffer, rest)) = number(skip_spaces(s))
        && let Some((written, rest)) = rest.strip_prefix(b"/").and_then(number)
    {
        (info.entries_in_buffer, info.entries_written) = (Some(in_buffer), Some(written));
        cpus(rest, info);
    }
    Header::Known
}

fn cpus(s: &[u8], info: &mut TraceInfo) {
    let count = split(s, b"#P:").or_else(|| split(s, b"#CPUS:"));
    if let Some((n, _)) = count.and_then(|(_, n)| number(n)) {
        info.cpus = u32::try_from(n).ok();
    }
}

fn push(info: &mut TraceInfo, header: LatencyHeader) {
    if info.latency.len() < 64 {
        info.latency.push(header);
    }
}

/// Parses `4164 us, #30/30, CPU#1 | (M:preempt_rt VP:0, KP:0, SP:0 HP:0 #P:2)`. `bare`: without a `#`, as in 2.6 before
/// ftrace.
fn latency(s: &[u8], info: &mut TraceInfo, bare: bool) {
    if info.latency.last().is_none_or(|h| h.latency_us.is_some()) {
        // A paste may begin after the line that names the tracer.
        let tracer = info.tracer.clone().or_else(|| (bare && number(s).is_some()).then(|| "preemption".to_owned()));
        push(info, LatencyHeader { tracer, ..LatencyHeader::default() });
    }
    cpus(s, info);
    let Some(header) = info.latency.last_mut() else { return };
    header.latency_us = number(s).map(|(us, _)| us);
    header.entries = split(s, b" #").and_then(|(_, counts)| {
        let (shown, rest) = number(counts)?;
        Some((shown, number(rest.strip_prefix(b"/")?)?.0))
    });
    // Up to v1.1.1: `entries: 47 (47)`.
    header.entries = header.entries.or_else(|| {
        let (shown, rest) = number(split(s, b"entries: ")?.1)?;
        Some((shown, number(skip_spaces(rest).strip_prefix(b"(")?)?.0))
    });
    header.cpu = split(s, b"CPU#").and_then(|(_, cpu)| u32::try_from(number(cpu)?.0).ok());
    header.preemption = split(s, b"(M:").map(|(_, model)| text(word(model).0, 32));
    (info.entries_in_buffer, info.entries_written) = (header.entries.map(|e| e.0), header.entries.map(|e| e.1));
}

/// Parses `| task: cyclictest-208 (uid:0 nice:0 policy:1 rt_prio:80)` and `=> started at: f`; up to v1.1.1 `| task:
/// cat/9789, uid:0 nice:0 …`, and in v1.0 `process: cat/9789, uid: 1000` with `nice: 0, policy: 0, rt_priority: 0`
/// below.
fn task_or_function(line: &[u8], info: &mut TraceInfo) -> Header {
    if logged(line, info) {
        return Header::Latency;
    }
    let Some(header) = info.latency.last_mut() else { return Header::No };
    if let Some((_, at)) = split(line, b"=> started at").filter(|_| header.started_at.is_none()) {
        header.started_at = function(at);
        return Header::Known;
    }
    if let Some((_, at)) = split(line, b"ended at").filter(|(before, _)| find(before, b"=>").is_some()) {
        header.ended_at = header.ended_at.take().or_else(|| function(at));
        return Header::Known;
    }
    let task = split(line, b"| task: ").map(|(_, task)| task).or_else(|| line.strip_prefix(b"process: "));
    // Whoever pasted it may have removed the frame around the line.
    let task = task.or_else(|| line.strip_prefix(b"task: ").filter(|task| find(task, b"(uid:").is_some()));
    let Some(task) = task else {
        if header.policy.is_none() && line.starts_with(b"nice: ") {
            scheduling(line, header);
            return Header::Known;
        }
        return Header::No;
    };
    let end = find(task, b" (uid:").or_else(|| find(task, b", uid:"));
    if let Some(end) = end
        && let (Some(who), Some(how)) = (task.get(..end), task.get(end + 2..))
        && let Some(at) = memchr::memrchr2(b'-', b'/', who)
    {
        header.task = who.get(..at).filter(|c| !c.is_empty()).map(Comm::new);
        header.tid = who.get(at + 1..).and_then(whole_i32);
        scheduling(how, header);
    } else if end.is_none()
        && let Some(at) = memchr::memrchr(b'-', task)
        && let Some(tid) = task.get(at + 1..).and_then(|tid| whole_i32(trim(tid)))
    {
        (header.task, header.tid) = (task.get(..at).filter(|c| !c.is_empty()).map(Comm::new), Some(tid));
    }
    Header::Known
}

fn scheduling(s: &[u8], header: &mut LatencyHeader) {
    header.nice = value(s, b"nice:").and_then(whole_i32);
    header.policy = value(s, b"policy:").and_then(whole);
    header.rt_prio = value(s, b"rt_prio:").or_else(|| value(s, b"rt_priority:")).and_then(whole);
}

/// Parses `: foo`, `: foo+0x43/0x620 <c010f3a1>`, `: <foo+0x43/0x620>`, ` timestamp 1857957769: <foo+0x5f/0x295>`.
fn function(s: &[u8]) -> Option<String> {
    let (_, s) = split(s, b":")?;
    let s = trim(s);
    let s = s.strip_prefix(b"<").unwrap_or(s);
    // Whoever pasted the line may have appended a remark, with or without a space.
    let in_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$');
    let end = s.iter().position(|b| !in_name(b)).unwrap_or(s.len());
    s.get(..end).filter(|name| !name.is_empty()).map(|name| text(name, 128))
}

/// Parses `(   audio-700  |#0): new 526 us maximum-latency wakeup.` of the kernel log (kernel/latency_trace.c of the
/// -rt patches of 2.6); earlier, `(wget/2874): new 561 us maximum-latency critical section.` and
/// `(ksoftirqd/0/2/CPU#0): …`; with a threshold, `(…): 526 us wakeup latency violates 100 us threshold.`
fn logged(line: &[u8], info: &mut TraceInfo) -> bool {
    let Some((who, rest)) = split(line, b"): ") else { return false };
    // A paste may begin after the bracket.
    let open = memchr::memrchr(b'(', who).map_or(0, |open| open + 1);
    let rest = rest.strip_prefix(b"new ").unwrap_or(rest);
    let Some((us, what)) = number(rest) else { return false };
    let (_, what) = word(skip_spaces(what));
    let logged = match what {
        _ if what.starts_with(b"maximum-latency wakeup") || what.starts_with(b"wakeup latency violates") => {
            Logged::Wakeup
        }
        _ if what.starts_with(b"maximum-latency critical") || what.starts_with(b"critical section violates") => {
            Logged::CriticalSection
        }
        _ => return false,
    };
    let who = who.get(open..).unwrap_or_default();
    let (who, cpu) =
        split(who, b"|#").or_else(|| split(who, b"/CPU#")).map_or((who, None), |(who, cpu)| (who, whole(trim(cpu))));
    let who = trim(who);
    let Some(at) = memchr::memrchr2(b'-', b'/', who) else { return false };
    let header = LatencyHeader {
        tracer: Some("preemption".to_owned()),
        latency_us: Some(us),
        cpu,
        task: who.get(..at).filter(|comm| !comm.is_empty()).map(Comm::new),
        tid: who.get(at + 1..).and_then(whole_i32),
        logged: Some(logged),
        ..LatencyHeader::default()
    };
    // Each new maximum is logged; the trace of the last one may follow.
    match info.latency.last_mut().filter(|last| last.logged == header.logged && last.started_at.is_none()) {
        Some(last) => *last = header,
        None => push(info, header),
    }
    true
}

fn value<'a>(s: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let value = skip_spaces(split(s, key)?.1);
    let end = value.iter().position(|b| matches!(b, b' ' | b')' | b',')).unwrap_or(value.len());
    value.get(..end)
}

/// Parses `CPU:1 [LOST 12 EVENTS]`, or `[12 EVENTS DROPPED]` of trace-cmd: CPU and, if known, the number of lost
/// events.
pub(crate) fn lost(line: &[u8]) -> Option<(u32, Option<u64>)> {
    let (cpu, rest) = number(trim(line).strip_prefix(b"CPU:")?)?;
    let rest = skip_spaces(rest).strip_prefix(b"[")?;
    find(rest, b"EVENTS")?;
    let count = rest.strip_prefix(b"LOST ").unwrap_or(rest);
    Some((u32::try_from(cpu).ok()?, number(count).map(|(n, _)| n)))
}

/// Parses `cpus=2`, the first line of `trace-cmd report`; lines such as `version = 7` may precede it.
pub(crate) fn report(line: &[u8], info: &mut TraceInfo) -> bool {
    let Some(n) = trim(line).strip_prefix(b"cpus=").and_then(whole) else { return false };
    (info.cpus, info.format) = (Some(n), Format::TraceCmdReport);
    true
}

/// Parses a leading number of microseconds, with or without decimals; returns it and the rest.
pub(crate) fn micros(s: &[u8]) -> Option<(f64, &[u8])> {
    let (value, decimals, rest) = seconds(skip_spaces(s))?;
    let scale = if decimals.is_some() { 1e9 } else { 1.0 };
    Some((value as f64 / scale, rest))
}
