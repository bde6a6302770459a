//! Events that have a CPU and no time: only their order is known.

use super::scan;
use crate::info::TraceError;

/// Maximum number of events whose order is reported.
const MOST: usize = 8;
const EVENTS: [&str; 4] = ["sched_wakeup", "sched_waking", "sched_switch", "sched_migrate_task"];

/// Detects `34533 [017]: sched_wakeup: pid=34512 …`, the output of perf 2.6.31 or 2.6.32 without its time column, and
/// events of other tools without their times.
pub(super) fn untimed(head: &[u8]) -> Option<TraceError> {
    let lines = || head.split(|b| *b == b'\n').filter_map(event);
    lines().any(|(_, name, _)| EVENTS.contains(&name.as_str())).then_some(())?;
    let order: Vec<String> = lines().filter_map(|(who, name, body)| step(&who, &name, &body)).take(MOST).collect();
    Some(TraceError::Untimed { order: order.join("; ") })
}

/// Splits a line without a time into thread, event and fields.
fn event(line: &[u8]) -> Option<(String, String, String)> {
    const LONGEST: usize = 512;
    let at = memchr::memchr(b']', line).filter(|_| line.len() <= LONGEST)?;
    let (who, behind) = (line.get(..at)?, line.get(at + 1..)?);
    let who = who.get(..memchr::memrchr(b'[', who)?)?;
    let behind = behind.strip_prefix(b":").unwrap_or(behind).trim_ascii_start();
    // Flag columns may precede the event.
    let columns = scan::word(behind).1.trim_ascii_start();
    [behind, columns].into_iter().find_map(|rest| {
        let colon = memchr::memchr(b':', rest)?;
        let name = std::str::from_utf8(rest.get(..colon)?).ok()?;
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        let body = rest.get(colon + 1..).filter(|body| is_name && body.first().is_none_or(|b| *b == b' '))?;
        let shown = |part: &[u8], most| scan::text(scan::trim(part), most);
        Some((shown(who, 32), name.to_owned(), shown(body, 200)))
    })
}

/// Describes an event; `None` for the end of an activity.
fn step(who: &str, name: &str, body: &str) -> Option<String> {
    let field = |key: &str| body.split([' ', '[', ']']).find_map(|word| word.strip_prefix(key)?.strip_prefix('='));
    Some(match name {
        "sched_wakeup" | "sched_waking" if let Some(comm) = field("comm") => format!("{who} wakes {comm}"),
        "softirq_entry" => format!("softirq {} in {who}", field("action").or_else(|| field("vec"))?),
        "sched_switch" if let (Some(prev), Some(next)) = (field("prev_comm"), field("next_comm")) => {
            format!("{prev} ({}) gives the CPU to {next}", field("prev_state").unwrap_or("?"))
        }
        _ if name.ends_with("_exit") => return None,
        _ => format!("{name} in {who}: {}", scan::text(body.as_bytes(), 60)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_events_is_told() {
        let text = "  <idle>-0 [000] dN.1.:  flush_csd: Raising SCHED_SOFTIRQ\n  <idle>-0 [000] dN.4.: sched_wakeup: comm=ksoftirqd/0 pid=16 prio=120\n  \
                    <idle>-0 [000] .Ns1.:  softirq_entry: vec=7 [action=SCHED]\n  <idle>-0 [000] .Ns1.:  softirq_exit: vec=7  [action=SCHED]\n  <idle>-0 \
                    [000] d..2.:  sched_switch: prev_comm=swapper/0 prev_pid=0 prev_state=R ==> next_comm=ksoftirqd/0 next_pid=16\n  ksoftirqd/0-16 [000] \
                    d..2.:  sched_switch: prev_comm=ksoftirqd/0 prev_pid=16 prev_state=S ==> next_comm=swapper/0 next_pid=0\n";
        let Some(TraceError::Untimed { order }) = untimed(text.as_bytes()) else { panic!("{text}") };
        assert_eq!(
            order,
            "flush_csd in <idle>-0: Raising SCHED_SOFTIRQ; <idle>-0 wakes ksoftirqd/0; softirq SCHED in <idle>-0; swapper/0 (R) gives the CPU to \
             ksoftirqd/0; ksoftirqd/0 (S) gives the CPU to swapper/0"
        );
        assert!(untimed(b"see [1]: note: x\n").is_none());
    }
}
