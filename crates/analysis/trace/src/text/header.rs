//! Header lines of the kernel's text traces: tracer, counts, summaries of the latency tracers.

use super::scan::{find, number, seconds, skip_spaces, split, text, trim, whole, whole_i32, word};
use crate::info::{Format, LatencyHeader, TraceInfo};
use crate::words::Comm;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// `# tracer:`, which begins a trace.
    Begins,
    Latency,
    Known,
    No,
}

/// Reads a line that begins with `#`, or one of an old header without it.
pub(crate) fn read(line: &[u8], info: &mut TraceInfo) -> Header {
    let line = trim(line.trim_ascii_start().strip_prefix(b"#").unwrap_or(line));
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
        push(info, LatencyHeader { tracer: Some(text(trim(tracer), 64)), ..LatencyHeader::default() });
        return Header::Latency;
    }
    let glued = split(line, b"# latency: ").filter(|(rule, _)| rule.iter().all(|b| *b == b'-')).map(|(_, rest)| rest);
    if let Some(rest) = line.strip_prefix(b"latency: ").or(glued) {
        latency(rest, info);
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
    if let Some((n, _)) = split(s, b"#P:").and_then(|(_, n)| number(n)) {
        info.cpus = u32::try_from(n).ok();
    }
}

fn push(info: &mut TraceInfo, header: LatencyHeader) {
    if info.latency.len() < 64 {
        info.latency.push(header);
    }
}

/// `4164 us, #30/30, CPU#1 | (M:preempt_rt VP:0, KP:0, SP:0 HP:0 #P:2)`
fn latency(s: &[u8], info: &mut TraceInfo) {
    if info.latency.last().is_none_or(|h| h.latency_us.is_some()) {
        push(info, LatencyHeader { tracer: info.tracer.clone(), ..LatencyHeader::default() });
    }
    cpus(s, info);
    let Some(header) = info.latency.last_mut() else { return };
    header.latency_us = number(s).map(|(us, _)| us);
    header.entries = split(s, b" #").and_then(|(_, counts)| {
        let (shown, rest) = number(counts)?;
        Some((shown, number(rest.strip_prefix(b"/")?)?.0))
    });
    header.cpu = split(s, b"CPU#").and_then(|(_, cpu)| u32::try_from(number(cpu)?.0).ok());
    header.preemption = split(s, b"(M:").map(|(_, model)| text(word(model).0, 32));
    (info.entries_in_buffer, info.entries_written) = (header.entries.map(|e| e.0), header.entries.map(|e| e.1));
}

/// `| task: cyclictest-208 (uid:0 nice:0 policy:1 rt_prio:80)` and `=> started at: f`
fn task_or_function(line: &[u8], info: &mut TraceInfo) -> Header {
    let Some(header) = info.latency.last_mut() else { return Header::No };
    if let Some((_, at)) = split(line, b"=> started at:") {
        header.started_at = Some(text(trim(at), 128));
        return Header::Known;
    }
    if let Some((_, at)) = split(line, b"=> ended at:") {
        header.ended_at = Some(text(trim(at), 128));
        return Header::Known;
    }
    let Some((_, task)) = split(line, b"| task: ") else { return Header::No };
    if let Some(open) = find(task, b" (uid:")
        && let (Some(who), Some(how)) = (task.get(..open), task.get(open + 2..))
        && let Some(dash) = memchr::memrchr(b'-', who)
    {
        header.task = who.get(..dash).filter(|c| !c.is_empty()).map(Comm::new);
        header.tid = who.get(dash + 1..).and_then(whole_i32);
        header.nice = value(how, b"nice:").and_then(whole_i32);
        header.policy = value(how, b"policy:").and_then(whole);
        header.rt_prio = value(how, b"rt_prio:").and_then(whole);
    }
    Header::Known
}

fn value<'a>(s: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let (_, value) = split(s, key)?;
    let end = value.iter().position(|b| matches!(b, b' ' | b')')).unwrap_or(value.len());
    value.get(..end)
}

/// `CPU:1 [LOST 12 EVENTS]`, or `[12 EVENTS DROPPED]` of trace-cmd: CPU and, if known, the number of lost events.
pub(crate) fn lost(line: &[u8]) -> Option<(u32, Option<u64>)> {
    let (cpu, rest) = number(trim(line).strip_prefix(b"CPU:")?)?;
    let rest = skip_spaces(rest).strip_prefix(b"[")?;
    find(rest, b"EVENTS")?;
    let count = rest.strip_prefix(b"LOST ").unwrap_or(rest);
    Some((u32::try_from(cpu).ok()?, number(count).map(|(n, _)| n)))
}

/// `cpus=2`, the first line of `trace-cmd report`; lines such as `version = 7` may precede it.
pub(crate) fn report(line: &[u8], info: &mut TraceInfo) -> bool {
    let Some(n) = trim(line).strip_prefix(b"cpus=").and_then(whole) else { return false };
    (info.cpus, info.format) = (Some(n), Format::TraceCmdReport);
    true
}

/// A leading number of microseconds, with or without decimals, and the rest.
pub(crate) fn micros(s: &[u8]) -> Option<(f64, &[u8])> {
    let (value, decimals, rest) = seconds(skip_spaces(s))?;
    let scale = if decimals.is_some() { 1e9 } else { 1.0 };
    Some((value as f64 / scale, rest))
}
