//! Lines of the function_graph tracer (kernel/trace/trace_functions_graph.c).

use super::prefix::comm_dash_pid;
use super::scan::{number, seconds, skip_spaces, trim};
use crate::words::Comm;

#[derive(Debug, PartialEq)]
pub(crate) struct Graph<'a> {
    pub cpu: u32,
    /// With funcgraph-abstime, ns.
    pub time: Option<u64>,
    /// With funcgraph-proc.
    pub task: Option<(Option<Comm>, i32)>,
    /// An event, which is printed as a comment; `None`: a function or a mark of a switch.
    pub event: Option<&'a [u8]>,
}

/// ` 17.170967 |   0)  bash-123  | ! 153.437 us  |  /* sched_waking: … */`; all but the CPU and the text are optional columns.
pub(crate) fn line(line: &[u8]) -> Option<Graph<'_>> {
    let s = skip_spaces(line);
    let (time, s) = match seconds(s) {
        Some((time, Some(_), rest)) => (Some(time), skip_spaces(skip_spaces(rest).strip_prefix(b"|")?)),
        _ => (None, s),
    };
    let (cpu, mut rest) = number(s)?;
    rest = rest.strip_prefix(b")")?;
    let cpu = u32::try_from(cpu).ok()?;
    let mut task = None;
    let mut columns = 0;
    // The text begins behind the last of the columns: task, flags, duration.
    while columns < 3
        && let Some(at) = memchr::memchr(b'|', rest)
        && !rest.get(..at)?.windows(2).any(|two| two == b"/*")
    {
        let column = trim(rest.get(..at)?);
        task = task.or_else(|| comm_dash_pid(column));
        rest = rest.get(at + 1..)?;
        columns += 1;
    }
    let text = trim(rest);
    let event = text.strip_prefix(b"/*").map(|text| trim(text.strip_suffix(b"*/").unwrap_or(text)));
    (columns > 0).then_some(Graph { cpu, time, task, event })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_optional() {
        let bare = line(b" 3) ! 153.437 us  |  }").unwrap();
        assert_eq!(bare, Graph { cpu: 3, time: None, task: None, event: None });
        let event = line(b" 3)               |  /* sched_wakeup: comm=a|b pid=5 */").unwrap();
        assert_eq!((event.time, event.event), (None, Some(&b"sched_wakeup: comm=a|b pid=5"[..])));
        let full = line(b"   17.170967 |   0)  bash-123  | d..1. |   0.5 us    |  /* sched_waking: x */").unwrap();
        assert_eq!((full.time, full.task.unwrap().1), (Some(17_170_967_000), 123));
        assert_eq!(full.event, Some(&b"sched_waking: x"[..]));
        assert_eq!(line(b"  bash-123 [000] d..1. 17.170967: sched_waking: x"), None);
        assert_eq!(line(b"# CPU  DURATION                  FUNCTION CALLS"), None);
    }
}
