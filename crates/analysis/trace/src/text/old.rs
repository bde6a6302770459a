//! Reads lines of /proc/latency_trace, the latency tracer of the -rt patches of 2.6 (kernel/latency_trace.c), and of
//! ftrace in 2.6.26 and 2.6.27: `function (caller)`, and `function <comm-pid> (a b)` of `trace_special_pid()`.

use super::names::Names;
use super::prefix::{Prefix, Style, comm_dash_pid};
use super::scan::{find, hex, number, seconds, signed, skip_spaces, whole, whole_i32};
use crate::event::{Event, Kind, RETURN};
use crate::flags::{Context, Flags};
use crate::info::LatencyHeader;
use crate::words::{Comm, Name, Task, TaskState};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Line<'a> {
    Function {
        function: &'a [u8],
        caller: Option<&'a [u8]>,
    },
    Special {
        function: &'a [u8],
        tid: i32,
        comm: Option<Comm>,
        values: [&'a [u8]; 2],
    },
    /// `< (0)`: the end of a system call or of an interrupt; the code that runs afterwards is not traced.
    Return,
    /// The line is truncated or wrapped after this function.
    Cut(&'a [u8]),
}

pub(super) fn line(body: &[u8]) -> Option<Line<'_>> {
    if body.strip_prefix(b"< (").is_some_and(|rest| rest.ends_with(b")")) {
        return Some(Line::Return);
    }
    let (function, rest) = symbol(body)?;
    match rest.first()? {
        b'(' => {
            let Some(inner) = closed(rest) else { return Some(Line::Cut(function)) };
            let caller = symbol(inner).filter(|(_, rest)| rest.is_empty()).map(|(caller, _)| caller);
            Some(Line::Function { function, caller })
        }
        b'<' if rest.get(1) != Some(&b'-') => Some(special(function, rest).unwrap_or(Line::Cut(function))),
        _ => None,
    }
}

/// Parses `foo`, and in verbose lines `foo+0x8e/0xc0 <c013623e>`; also returns the text that follows after a blank.
fn symbol(s: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = s.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))).unwrap_or(s.len());
    let (function, mut rest) = s.split_at_checked(end).filter(|(function, _)| !function.is_empty())?;
    if rest.starts_with(b"+0x") {
        rest = rest.get(rest.iter().position(|b| *b == b' ').unwrap_or(rest.len())..)?;
    }
    let behind = skip_spaces(rest);
    let address = behind.strip_prefix(b"<").and_then(hex).and_then(|(_, rest)| rest.strip_prefix(b">"));
    let behind = address.map_or(behind, skip_spaces);
    (rest.is_empty() || rest.starts_with(b" ") || rest.starts_with(b"\t")).then_some((function, behind))
}

/// Parses lines of v1.0 and verbose lines: `00000001 0.003ms (+0.542ms): f (g)` with the preempt count, which the pid
/// precedes from
/// 2.6.10 on; verbose lines have `comm pid cpu flags count index [time]` there. Missing fields are taken from the
/// header.
pub(super) fn milliseconds<'l>(line: &'l [u8], header: &LatencyHeader) -> Option<(Prefix, &'l [u8])> {
    let at = find(line, b"ms (+")?;
    let body = line.get(at + find(line.get(at..)?, b"ms): ")? + 5..)?;
    let mut words: Vec<&[u8]> =
        line.get(..at)?.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
    let (time, decimals, _) = seconds(words.pop()?).filter(|(_, _, rest)| rest.is_empty())?;
    decimals?;
    words.retain(|word| !word.starts_with(b"[") && !word.starts_with(b"("));
    let count = |word: &[u8]| hex(word).filter(|(_, rest)| rest.is_empty() && word.len() == 8).map(|(count, _)| count);
    let (who, cpu, count) = match words[..] {
        [] => (None, None, None),
        [one] => (None, None, Some(count(one)?)),
        [pid, one] | [pid, one, _] => (Some((None, pid)), None, Some(count(one)?)),
        [.., comm, pid, cpu, _, one, _] => (Some((Some(comm), pid)), whole(cpu), Some(count(one)?)),
        _ => return None,
    };
    let tid = who.map_or(header.tid, |(_, pid)| whole_i32(pid))?;
    let context = |count: u64| match (count & 0x00ff_0000, count & 0xff00) {
        (0, 0) => Context::Task,
        (0, _) => Context::Softirq,
        _ => Context::Hardirq,
    };
    let flags = count.map(|count| Flags {
        context: Some(context(count)),
        preempt_depth: Some((count & 0xff) as u8),
        ..Flags::default()
    });
    let comm = who.and_then(|(comm, _)| comm).map(Comm::new);
    let cpu = cpu.or(header.cpu).unwrap_or(0);
    Some((Prefix { comm, tid, cpu, flags, time: time / 1000, decimals: Some(6), style: Style::Latency }, body))
}

/// Returns the text between parentheses; a colon may follow.
fn closed(s: &[u8]) -> Option<&[u8]> {
    let s = s.trim_ascii_end();
    s.strip_suffix(b":").unwrap_or(s).strip_suffix(b")")?.strip_prefix(b"(")
}

fn special<'a>(function: &'a [u8], s: &'a [u8]) -> Option<Line<'a>> {
    let open = memchr::memrchr(b'(', s)?;
    let who = s.get(1..open)?.trim_ascii_end().strip_suffix(b">")?;
    let (comm, tid) = comm_dash_pid(who)?;
    let mut values = closed(s.get(open..)?)?.split(|b| *b == b' ').filter(|value| !value.is_empty());
    Some(Line::Special { function, tid, comm, values: [values.next()?, values.next()?] })
}

/// Priority of threads without real-time policy whose nice value is unknown: before 2.6.23 the scheduler changes their
/// priority as they run.
const ORDINARY: i32 = 140;

/// The format of priorities: hexadecimal up to 2.6.16, later decimal, and in most lines converted (`PRIO()`): real-time
/// priorities from 100 on, the others as nice values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Hex,
    Converted,
}

#[derive(Debug, Default)]
pub(super) struct Prios(Option<Form>);

impl Prios {
    /// Learns the format of this trace from `value`, the priority of the header's task. Returns the kernel's raw
    /// priority.
    fn learn(&mut self, value: &[u8], header: &LatencyHeader) -> Option<i32> {
        let real_time = real_time(header);
        let fits = |prio: &i32| match real_time {
            Some(own) => *prio == own,
            None => header.policy == Some(0) && (100..140).contains(prio),
        };
        let is_hex = hexadecimal(value).as_ref().is_some_and(fits);
        let is_decimal =
            plain(value).as_ref().is_some_and(fits) || (real_time.is_some() && converted(value) == real_time);
        self.0 = if is_decimal { Some(Form::Converted) } else { is_hex.then_some(Form::Hex).or(self.0) };
        own(header)
    }

    /// Returns the kernel's raw priority; `None` if the format is unknown.
    fn raw(&self, value: &[u8]) -> Option<i32> {
        // 172 is not a valid hexadecimal priority.
        let converted_only = || converted(value).filter(|_| hexadecimal(value).is_none_or(|prio| prio > 140));
        let Some(form) = self.0 else { return converted_only() };
        match form {
            Form::Hex => hexadecimal(value)
                .filter(|prio| (0..=140).contains(prio))
                .map(|prio| if prio < 100 { prio } else { ORDINARY }),
            Form::Converted => match plain(value)? {
                100..=199 => converted(value),
                -20..=20 => Some(ORDINARY),
                _ => None,
            },
        }
    }
}

/// Returns the raw priority of a header's task.
fn own(header: &LatencyHeader) -> Option<i32> {
    real_time(header).or_else(|| header.nice.filter(|_| header.policy == Some(0))?.checked_add(120))
}

fn real_time(header: &LatencyHeader) -> Option<i32> {
    let prio = matches!(header.policy, Some(1 | 2)).then_some(header.rt_prio).flatten();
    prio.and_then(|prio| 99i32.checked_sub_unsigned(prio))
}

fn hexadecimal(value: &[u8]) -> Option<i32> {
    hex(value).filter(|(_, rest)| rest.is_empty()).and_then(|(value, _)| i32::try_from(value).ok())
}

fn plain(value: &[u8]) -> Option<i32> {
    signed(value).filter(|(_, rest)| rest.is_empty()).and_then(|(value, _)| i32::try_from(value).ok())
}

/// Parses a real-time priority as printed by `PRIO()`.
fn converted(value: &[u8]) -> Option<i32> {
    plain(value).filter(|prio| (100..=199).contains(prio)).map(|prio| 199 - prio)
}

const STARTS: &[u8] = b"trace_start_sched_wakeup";

/// State of the parser of old latency traces that is kept from line to line.
#[derive(Debug, Default)]
pub(super) struct Old {
    pub(super) prios: Prios,
    /// A switch by `__switch_to`, whose priorities are in a following line.
    pub(super) switch: Option<Event>,
}

pub(super) enum Found {
    Event(Event),
    Cut(Event, Name),
    Held,
}

impl Old {
    /// Reads a line; `here`: the event of `line`, without its kind; `before`: CPU and thread of the preceding line.
    pub(super) fn read(
        &mut self,
        line: Line,
        here: Event,
        before: Option<(u32, i32, Option<Comm>)>,
        header: Option<&LatencyHeader>,
        names: &mut Names,
    ) -> Found {
        let own_tid = here.tid.unwrap_or(-1);
        let header = header.filter(|header| header.tid.is_some());
        let named =
            |tid: i32, comm: Option<Comm>| comm.or_else(|| header.filter(|header| header.tid == Some(tid))?.task);
        let plain = |function: &[u8], caller: Option<&[u8]>, names: &mut Names| Kind::Function {
            function: names.symbol(function),
            parent: caller.map(|caller| names.symbol(caller)),
        };
        match line {
            Line::Return => {
                Found::Event(Event { kind: Kind::Other { name: names.get(RETURN.as_bytes()), body: None }, ..here })
            }
            Line::Cut(function) => {
                let kind = plain(function, None, names);
                Found::Cut(Event { kind, ..here }, names.get(function))
            }
            // The header's task is the one whose wakeup is traced from here on.
            Line::Function { function, .. } if function.ends_with(STARTS) && header.is_some() => {
                let header = header.map(|header| (header.tid.unwrap_or(-1), own(header), header.cpu));
                let (tid, prio, target_cpu) = header.unwrap_or((-1, None, None));
                let kind = Kind::SchedWakeup { task: Task { tid, comm: named(tid, None), prio }, target_cpu, by: None };
                Found::Event(Event { kind, ..here })
            }
            Line::Function { function, caller } => {
                match before.filter(|(cpu, tid, _)| *cpu == here.cpu && *tid != own_tid) {
                    Some((_, tid, comm)) => {
                        let kind = switch(
                            Task { tid, comm, prio: None },
                            Task { tid: own_tid, comm: named(own_tid, here.comm), prio: None },
                        );
                        let event = Event { tid: Some(tid), comm, kind, ..here };
                        if function != b"__switch_to" {
                            return Found::Event(event);
                        }
                        self.switch = Some(event);
                        Found::Held
                    }
                    None => Found::Event(Event { kind: plain(function, caller, names), ..here }),
                }
            }
            Line::Special { function: b"wake_up_process", tid, comm, .. }
                if header.is_some_and(|header| header.tid == Some(tid)) =>
            {
                let task = Task { tid, comm: named(tid, comm), prio: header.and_then(own) };
                Found::Event(Event { kind: Kind::SchedWakeup { task, target_cpu: None, by: None }, ..here })
            }
            Line::Special { function, tid, comm, values: [prio, cpu] } if is_wakeup(function) => {
                let starts = function.ends_with(STARTS);
                let prio = match header.filter(|header| header.tid == Some(tid)) {
                    Some(header) => self.prios.learn(prio, header),
                    None => self.prios.raw(prio).filter(|_| !starts),
                };
                let target_cpu = number(cpu).filter(|(_, rest)| rest.is_empty() && starts);
                let target_cpu = target_cpu.and_then(|(cpu, _)| u32::try_from(cpu).ok());
                let kind = Kind::SchedWakeup { task: Task { tid, comm: named(tid, comm), prio }, target_cpu, by: None };
                Found::Event(Event { kind, ..here })
            }
            Line::Special { function, tid, comm, values } if is_switch(function) && tid != own_tid => {
                let [prev, next] = values.map(|value| self.prios.raw(value));
                let prev = Task { tid, comm, prio: prev };
                // For a thread without real-time policy the header has the nice value.
                let next = header.filter(|header| header.tid == Some(own_tid)).and_then(own).or(next);
                let kind = switch(prev, Task { tid: own_tid, comm: named(own_tid, here.comm), prio: next });
                let held = self.switch.take_if(|held| held.cpu == here.cpu && held.tid == Some(tid));
                let t_ns = held.map_or(here.t_ns, |held| held.t_ns);
                Found::Event(Event { t_ns, tid: Some(tid), comm, kind, ..here })
            }
            Line::Special { function, .. } => Found::Event(Event { kind: plain(function, None, names), ..here }),
        }
    }
}

/// True for `__trace_start_sched_wakeup <comm-pid> (prio cpu)`, `try_to_wake_up <comm-pid> (prio prio)`,
/// `__activate_task <comm-pid> (prio n)`.
fn is_wakeup(function: &[u8]) -> bool {
    function.ends_with(STARTS) || matches!(function, b"try_to_wake_up" | b"__activate_task")
}

/// True for `schedule <prev-pid> (prio prio)` of the thread that has the CPU now: the switch to it.
fn is_switch(function: &[u8]) -> bool {
    matches!(function, b"schedule" | b"__schedule" | b"thread_return" | b"__sched_text_start")
}

/// Builds a switch; the state of the previous thread is not printed.
fn switch(prev: Task, next: Task) -> Kind {
    Kind::SchedSwitch { prev, prev_state: TaskState { letter: b'?', preempted: false }, next }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_callers_and_threads() {
        let function = |function, caller| Some(Line::Function { function, caller });
        assert_eq!(line(b"release_page (walk_pages)"), function(b"release_page", Some(&b"walk_pages"[..])));
        assert_eq!(line(b"do_IRQ (c0150297 0 0)"), function(b"do_IRQ", None));
        assert_eq!(line(b"release_page <-walk_pages"), None);
        assert_eq!(line(b"sys_read(fd: 3)"), None);
        assert_eq!(line(b"release_page"), None);
        assert_eq!(line(b"release_page (walk_"), Some(Line::Cut(b"release_page")));
        assert_eq!(line(b"schedule <<...>-700>"), Some(Line::Cut(b"schedule")));
        let special = |function, tid, comm: &[u8], values| {
            let comm = (!comm.is_empty()).then(|| Comm::new(comm));
            Some(Line::Special { function, tid, comm, values })
        };
        assert_eq!(line(b"schedule <linker-800> (76 13):"), special(b"schedule", 800, b"linker", [b"76", b"13"]));
        assert_eq!(line(b"wake <<...>-12>(69 1)"), special(b"wake", 12, b"", [b"69", b"1"]));
        let verbose = line(b"release_page+0x8e/0xc0 <c013623e> (walk_pages+0x5a/0x110 <c0115f1a>)");
        assert_eq!(verbose, function(b"release_page", Some(&b"walk_pages"[..])));
        assert_eq!(line(b"wake <IRQ 18-813> (-5 20)"), special(b"wake", 813, b"IRQ 18", [b"-5", b"20"]));
    }

    #[test]
    fn lines_in_milliseconds() {
        let header = LatencyHeader { tid: Some(35), cpu: Some(1), ..LatencyHeader::default() };
        let read = |line: &str| {
            let (prefix, body) = milliseconds(line.as_bytes(), &header)?;
            let flags = prefix.flags.map(|flags| (flags.context.unwrap(), flags.preempt_depth.unwrap()));
            Some((prefix.tid, prefix.cpu, prefix.time, flags, String::from_utf8_lossy(body).into_owned()))
        };
        let body = "f (g)".to_owned();
        let soft = Some((Context::Softirq, 2));
        assert_eq!(read("00000102 0.003ms (+0.542ms): f (g)"), Some((35, 1, 3000, soft, body.clone())));
        assert_eq!(read(" 0.545ms (+0.000ms): f (g)"), Some((35, 1, 545_000, None, body.clone())));
        let hard = Some((Context::Hardirq, 4));
        assert_eq!(read("    5 80010004 0.000ms (+0.000ms): f (g)"), Some((5, 1, 0, hard, body.clone())));
        let task = Some((Context::Task, 1));
        let verbose = "(T1/#0)  bash 15934 0 9 00000001 0000002a [0032064022903959] 1.000ms (+0.157ms): f (g)";
        assert_eq!(read(verbose), Some((15934, 0, 1_000_000, task, body)));
        assert_eq!(read("took 3ms (+1): f (g)"), None);
    }

    #[test]
    fn the_headers_task_shows_the_form_of_priorities() {
        let header = |policy, rt_prio| LatencyHeader {
            policy: Some(policy),
            rt_prio: Some(rt_prio),
            nice: Some(-10),
            ..LatencyHeader::default()
        };
        let mut prios = Prios::default();
        assert_eq!(prios.raw(b"76"), None);
        assert_eq!(prios.learn(b"13", &header(1, 80)), Some(19));
        assert_eq!((prios.raw(b"76"), prios.raw(b"8c"), prios.raw(b"26")), (Some(ORDINARY), Some(ORDINARY), Some(38)));
        let mut prios = Prios::default();
        assert_eq!(prios.learn(b"29", &header(1, 70)), Some(29));
        assert_eq!((prios.raw(b"161"), prios.raw(b"-5"), prios.raw(b"20")), (Some(38), Some(ORDINARY), Some(ORDINARY)));
        let mut prios = Prios::default();
        assert_eq!(prios.learn(b"73", &header(0, 0)), Some(110));
        assert_eq!(prios.raw(b"40"), Some(64));
        // If neither format applies, this is the header's own priority.
        assert_eq!(Prios::default().learn(b"5", &header(1, 70)), Some(29));
    }
}
