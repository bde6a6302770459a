//! Reads lines of the function_graph tracer (kernel/trace/trace_functions_graph.c).

use super::prefix::comm_dash_pid;
use super::scan::{find, number, seconds, skip_spaces, text, trim};
use crate::flags::Flags;
use crate::info::Call;
use crate::words::Comm;
use std::collections::BTreeMap;

#[derive(Debug, PartialEq)]
pub(crate) struct Graph<'a> {
    pub cpu: u32,
    /// Time of the line, ns; printed with the option funcgraph-abstime.
    pub time: Option<u64>,
    /// Name and ID of the thread; printed with the option funcgraph-proc.
    pub task: Option<(Option<Comm>, i32)>,
    pub flags: Option<Flags>,
    pub duration_ns: Option<u64>,
    /// An event, which is printed as a comment; `None` if the line shows a function or marks a context switch.
    pub event: Option<&'a [u8]>,
    /// Indentation of the function's text, and the text itself.
    pub function: (usize, &'a [u8]),
}

/// Parses ` 17.170967 |   0)  bash-123  | d..1. | ! 153.437 us  |  /* sched_waking: … */`; all but the CPU and the text
/// are optional columns. In latency format the time is `153 us`.
pub(crate) fn line(line: &[u8]) -> Option<Graph<'_>> {
    let s = without_stamp(skip_spaces(line));
    let (time, s) = match seconds(s) {
        Some((time, Some(_), rest)) => (Some(time), skip_spaces(skip_spaces(rest).strip_prefix(b"|")?)),
        Some((us, None, rest)) if skip_spaces(rest).starts_with(b"us") => {
            let rest = skip_spaces(skip_spaces(rest).strip_prefix(b"us")?);
            (Some(us.checked_mul(1000)?), skip_spaces(rest.strip_prefix(b"|")?))
        }
        _ => (None, s),
    };
    let (cpu, mut rest) = number(s)?;
    rest = rest.strip_prefix(b")")?;
    let cpu = u32::try_from(cpu).ok()?;
    let (mut task, mut flags, mut duration_ns) = (None, None, None);
    let mut columns = 0;
    // The text begins after the last column. The columns are task, flags and duration, and may be blank.
    let mut is_last = false;
    while columns < 3
        && !is_last
        && let Some(at) = memchr::memchr(b'|', rest)
        && !rest.get(..at)?.windows(2).any(|two| two == b"/*")
    {
        let column = trim(rest.get(..at)?);
        is_last = column.is_empty() || duration(column).is_some();
        task = task.or_else(|| comm_dash_pid(column));
        duration_ns = duration_ns.or_else(|| duration(column));
        if task.is_some() && columns == 1 {
            flags = Flags::from_columns(column);
        }
        rest = rest.get(at + 1..)?;
        columns += 1;
    }
    let (indent, text) = without_drawing(rest);
    let event = text.strip_prefix(b"/*").map(|text| trim(text.strip_suffix(b"*/").unwrap_or(text)));
    (columns > 0).then_some(Graph { cpu, time, task, flags, duration_ns, event, function: (indent, text) })
}

/// Splits a text into its indentation and the rest. Whoever pasted it may have drawn brackets and remarks into the
/// indentation: `|  slow part      update();`, `+---->}`.
fn without_drawing(text: &[u8]) -> (usize, &[u8]) {
    let plain = trim(text);
    let is_drawn = plain.starts_with(b"+") || plain.starts_with(b"|") || find(plain, b"   ").is_some();
    if !is_drawn || find(plain, b"/*").is_some() {
        return (text.len() - skip_spaces(text).len(), plain);
    }
    let behind = |mark: &[u8]| memchr::memmem::rfind(plain, mark).map_or(0, |at| at + mark.len());
    let from = [&b"  "[..], b"| ", b"->"].iter().map(|mark| behind(mark)).max().unwrap_or(0);
    let own = skip_spaces(plain.get(from..).unwrap_or_default());
    (text.len() - skip_spaces(text).len() + plain.len() - own.len(), own)
}

/// Removes the time of printing, which precedes each line of a dump to the kernel's log: `[  210.331114]  4)`.
fn without_stamp(s: &[u8]) -> &[u8] {
    let stamp = s.strip_prefix(b"[").and_then(|s| seconds(skip_spaces(s)));
    let rest = stamp.filter(|(_, decimals, _)| decimals.is_some()).and_then(|(.., rest)| rest.strip_prefix(b"] "));
    rest.map_or(s, skip_spaces)
}

/// `! 222.282 us |      }` after `funcgraph_exit:`, and `|  f() {` after `funcgraph_entry:`, as trace-cmd prints them.
pub(crate) fn of_event<'a>(body: &'a [u8], prefix: &super::prefix::Prefix) -> Option<Graph<'a>> {
    let body = trim(body).strip_prefix(b"funcgraph_")?;
    let body = body.strip_prefix(b"entry:").or_else(|| body.strip_prefix(b"exit:"))?;
    // A `|` at the start of a wrapped line is treated as quoting, so it may be missing.
    let at = memchr::memchr(b'|', body);
    let end = at.or_else(|| Some(find(body, b" us ")? + 3))?;
    let (column, rest) = (trim(body.get(..end)?), body.get(end + usize::from(at.is_some())..)?);
    let indent = rest.len() - skip_spaces(rest).len();
    Some(Graph {
        cpu: prefix.cpu,
        time: Some(prefix.time),
        task: (prefix.tid >= 0).then_some((prefix.comm, prefix.tid)),
        flags: prefix.flags,
        duration_ns: duration(column),
        event: None,
        function: (indent, trim(rest)),
    })
}

/// Parses `! 153.437 us`; skips the mark, which classifies the duration.
fn duration(column: &[u8]) -> Option<u64> {
    let figure = trim(column.strip_suffix(b"us")?);
    let figure = figure.strip_prefix(b"+").or_else(|| figure.strip_prefix(b"!")).unwrap_or(figure);
    let figure = [b"#", b"*", b"@", b"$"].iter().find_map(|mark| figure.strip_prefix(*mark)).unwrap_or(figure);
    let (ns, decimals, rest) = seconds(skip_spaces(figure))?;
    // The figure is in µs but was read as seconds, so it is too large by 10⁶. Long times have no decimals.
    let ns = if decimals.is_some() { ns / 1_000_000 } else { ns.checked_mul(1000)? };
    trim(rest).is_empty().then_some(ns)
}

impl Graph<'_> {
    /// True if the text was wrapped: after the last column, or in the name that follows the end of a function.
    pub(crate) fn is_cut(&self) -> bool {
        let (_, text) = self.function;
        text.is_empty() || text.starts_with(b"} /*") && !text.ends_with(b"*/")
    }
}

const DEPTH: usize = 128;
const CPUS: usize = 1024;

/// A function that has been entered and has not returned yet.
#[derive(Debug)]
struct Open {
    indent: usize,
    name: String,
    /// The longest call in this function that has ended.
    longest: Option<Box<Call>>,
    /// Sum of the durations of the calls in it that have ended, ns; `u64::MAX` if lines are omitted.
    sum_ns: u64,
    time: Option<u64>,
}

impl Open {
    /// True if an end after `ns` can be that of this function. After omitted lines it may be that of another one.
    fn can_end(&self, time: Option<u64>, ns: u64) -> bool {
        const STEP: u64 = 5_000;
        let began = time.and_then(|time| time.checked_sub(ns)).zip(self.time);
        self.sum_ns != u64::MAX || began.is_none_or(|(of_end, own)| of_end <= own + (ns / 4).max(STEP))
    }
}

/// Assembles function calls from the lines of a function_graph trace.
#[derive(Debug, Default)]
pub(super) struct Calls {
    open: BTreeMap<u32, Vec<Open>>,
    /// For each CPU: calls that ended and whose caller's start is not in the text, with their indentation.
    ended: BTreeMap<u32, Vec<(usize, Call)>>,
}

impl Calls {
    /// Handles omitted lines: from then on, all time in the open functions is attributed to the functions that they
    /// called.
    pub fn omitted(&mut self) {
        self.open.values_mut().flatten().for_each(|open| open.sum_ns = u64::MAX);
    }

    /// Processes a line; keeps the longest call of the trace in `longest`.
    pub fn line(&mut self, graph: &Graph, longest: &mut Option<Call>) {
        if self.open.len() >= CPUS && !self.open.contains_key(&graph.cpu) {
            return;
        }
        let (indent, text) = graph.function;
        let open = self.open.entry(graph.cpu).or_default();
        if let Some(name) = callee(text, b") {") {
            while open.last().is_some_and(|last| last.indent >= indent) || open.len() >= DEPTH {
                open.pop();
            }
            let sum_ns = if text.ends_with(b"[...]") { u64::MAX } else { 0 };
            open.push(Open { indent, name, longest: None, sum_ns, time: graph.time });
            return;
        }
        if text.starts_with(b"...") {
            open.iter_mut().for_each(|open| open.sum_ns = u64::MAX);
        }
        let leaf = callee(text, b");");
        let Some(ns) = graph.duration_ns.filter(|_| leaf.is_some() || text.starts_with(b"}")) else { return };
        while open.last().is_some_and(|last| last.indent > indent) {
            open.pop();
        }
        let ended = match leaf {
            Some(name) => Some(Open { indent, name, longest: None, sum_ns: 0, time: None }),
            None => open.pop_if(|last| last.indent == indent && last.can_end(graph.time, ns)),
        };
        // If a function began before the text, its name may follow its end.
        let comment = text.strip_prefix(b"} /*").and_then(|rest| callee(trim(rest), b" */"));
        let orphans = self.ended.entry(graph.cpu).or_default();
        let ended = ended.or_else(|| {
            // Functions that ended before at a deeper indentation were called by it.
            let inside = || orphans.iter().filter(|(deeper, _)| *deeper > indent).map(|(_, call)| call);
            let sum_ns = inside().map(|call| call.ns).fold(0, u64::saturating_add);
            let longest = inside().max_by_key(|call| call.ns).cloned().map(Box::new);
            Some(Open { indent, name: comment?, longest, sum_ns, time: None })
        });
        let Some(ended) = ended else { return };
        let call = Call {
            cpu: graph.cpu,
            comm: graph.task.and_then(|(comm, _)| comm),
            tid: graph.task.map(|(_, tid)| tid),
            need_resched: graph.flags.and_then(|flags| flags.need_resched),
            function: ended.name,
            ns,
            own_ns: ns.saturating_sub(ended.sum_ns),
            longest: ended.longest,
        };
        if open.is_empty() {
            orphans.retain(|(deeper, _)| *deeper <= indent);
            if orphans.len() < DEPTH {
                orphans.push((indent, call.clone()));
            }
        }
        if let Some(caller) = open.last_mut() {
            caller.sum_ns = caller.sum_ns.saturating_add(ns);
            if caller.longest.as_ref().is_none_or(|longest| longest.ns < ns) {
                caller.longest = Some(Box::new(call.clone()));
            }
        }
        if !is_idle(&call.function) && longest.as_ref().is_none_or(|known| known.ns <= ns) {
            *longest = Some(call);
        }
    }
}

/// True for functions of the idle loop, in which a CPU waits for an interrupt (kernel/sched/idle.c, drivers/cpuidle).
fn is_idle(function: &str) -> bool {
    const LOOP: [&str; 8] = [
        "do_idle",
        "cpu_startup_entry",
        "default_idle_call",
        "schedule_idle",
        "call_cpuidle",
        "cpuidle_enter",
        "cpuidle_idle_call",
        "cpu_idle",
    ];
    let name = function.trim_start_matches('_');
    LOOP.contains(&name)
        || name.starts_with("cpuidle_enter")
        || name.ends_with("_idle")
        || name.starts_with("intel_idle")
        || name.starts_with("acpi_idle")
}

/// Returns the function of `f(…) {`, `f [module]();` or `f */`; omits its module, arguments (funcgraph-args) and the
/// return value (funcgraph-retval).
fn callee(s: &[u8], end: &[u8]) -> Option<String> {
    let before = s.get(..memchr::memmem::find(s, end)?)?;
    let name = before.get(..memchr::memchr(b'(', before).unwrap_or(before.len()))?;
    let name = match find(name, b" [") {
        Some(at) if name.ends_with(b"]") => name.get(..at)?,
        _ => name,
    };
    (!name.is_empty() && !name.contains(&b' ')).then(|| text(name, 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_optional() {
        let bare = line(b" 3) ! 153.437 us  |  }").unwrap();
        assert_eq!((bare.cpu, bare.time, bare.task, bare.event), (3, None, None, None));
        assert_eq!((bare.duration_ns, bare.function), (Some(153_437), (2, &b"}"[..])));
        let event = line(b" 3)               |  /* sched_wakeup: comm=a|b pid=5 */").unwrap();
        assert_eq!((event.time, event.event), (None, Some(&b"sched_wakeup: comm=a|b pid=5"[..])));
        let full = line(b"   17.170967 |   0)  bash-123  | d..1. |   0.5 us    |  /* sched_waking: x */").unwrap();
        assert_eq!((full.time, full.task.unwrap().1), (Some(17_170_967_000), 123));
        assert_eq!(full.event, Some(&b"sched_waking: x"[..]));
        let relative = line(b"  1168 us |   0)  stress--204   |  .n..1.. | + 19.000 us |    f();").unwrap();
        assert_eq!((relative.time, relative.duration_ns), (Some(1_168_000), Some(19_000)));
        assert_eq!(relative.flags.unwrap().need_resched, Some(true));
        assert_eq!(line(b"  bash-123 [000] d..1. 17.170967: sched_waking: x"), None);
        assert_eq!(line(b"# CPU  DURATION                  FUNCTION CALLS"), None);
    }

    fn longest_of(text: &str) -> Call {
        let (mut calls, mut longest) = (Calls::default(), None);
        text.lines().for_each(|text| calls.line(&line(text.as_bytes()).unwrap(), &mut longest));
        longest.unwrap()
    }

    #[test]
    fn what_is_drawn_into_the_indentation_is_no_column() {
        let call = longest_of(
            " 1)               |  outer() {\n 1)               |    middle() {\n 1)   0.470 us    |   +->get_time();\n 1)               |   |  inner() {\n \
             1)   0.382 us    | slow |    count();\n 1)   7.505 us    |   +->}\n 1) + 18.024 us   |    }\n 1) + 20.000 us   |  }\n",
        );
        let middle = call.longest.unwrap();
        assert_eq!((call.function.as_str(), middle.function.as_str(), middle.ns), ("outer", "middle", 18_024));
        assert_eq!(middle.longest.unwrap().function, "inner");
    }

    #[test]
    fn an_end_after_omitted_lines_belongs_to_the_function_that_began_then() {
        let prefix = |time| super::super::prefix::Prefix {
            comm: None,
            tid: 5,
            cpu: 1,
            flags: None,
            time,
            decimals: Some(6),
            style: super::super::prefix::Style::Normal,
        };
        let (mut calls, mut longest) = (Calls::default(), None);
        for (time, body) in [
            (1_000_000, "funcgraph_entry: | work() { [...]"),
            (1_241_000, "funcgraph_exit: 0.591 us | }"),
            (1_241_000, "funcgraph_exit: ! 240.655 us }"),
        ] {
            calls.line(&of_event(body.as_bytes(), &prefix(time)).unwrap(), &mut longest);
        }
        let call = longest.unwrap();
        assert_eq!((call.function.as_str(), call.ns), ("work", 240_655));
    }

    #[test]
    fn long_times_have_no_decimals() {
        let call =
            longest_of(" 11) $ 20470448 us |  } /* rtnetlink_rcv_msg */\n 14) @ 210619.0 us |  } /* schedule */\n");
        assert_eq!((call.function.as_str(), call.ns), ("rtnetlink_rcv_msg", 20_470_448_000));
    }

    #[test]
    fn a_module_is_no_part_of_the_name() {
        let call = longest_of(
            " 2)               |  dev_open [sensor]() {\n 2) ! 140.000 us  |    call_bus.isra.1 [sensor]();\n 2) ! 150.000 us  |  }\n",
        );
        assert_eq!((call.function.as_str(), call.ns, call.own_ns), ("dev_open", 150_000, 10_000));
        assert_eq!(call.longest.unwrap().function, "call_bus.isra.1");
        assert_eq!(longest_of(" 2) ! 150.000 us  |  } /* dev_open [sensor] */\n").function, "dev_open");
    }

    #[test]
    fn the_idle_loop_is_no_call_and_ends_alone_have_parts() {
        let text = " 3) @ 145.000 us |    } /* schedule_idle */\n 3) * 159000.0 us |  } /* do_idle */\n 3) ! 103.000 us |      } /* avgs_work */\n \
                    3) ! 106.000 us |    } /* process_one_work */\n";
        let call = longest_of(text);
        assert_eq!((call.function.as_str(), call.ns, call.own_ns), ("process_one_work", 106_000, 3_000));
        assert_eq!(call.longest.unwrap().function, "avgs_work");
    }

    #[test]
    fn calls_are_put_together_by_their_indentation() {
        let text = " 1)            |  outer() {\n 1)            |    middle() {\n 1)   2.000 us |      leaf();\n 1)            |      lost() {\n \
                    1) + 40.000 us |    }\n 1)   1.000 us |    other();\n 1) + 50.500 us |  }\n 1)   9.000 us |  next();\n";
        let (mut calls, mut longest) = (Calls::default(), None);
        for text in text.lines() {
            calls.line(&line(text.as_bytes()).unwrap(), &mut longest);
        }
        let outer = longest.unwrap();
        assert_eq!((outer.function.as_str(), outer.ns, outer.own_ns), ("outer", 50_500, 9_500));
        let middle = outer.longest.unwrap();
        assert_eq!((middle.function.as_str(), middle.ns, middle.own_ns), ("middle", 40_000, 38_000));
        assert_eq!(middle.longest.unwrap().function, "leaf");
    }
}
