//! Interprets the report of a CPU that does not handle an IPI (kernel/smp.c, csd_lock_wait_toolong).

use super::below::backtrace;
use super::rcu::dumped;
use super::relock::relock;
use super::stack::place;
use super::{number_after, text};

/// Returns how long the CPU waited at most, what the other CPU did then, and how the wait ended. `log` has all lines, `below` those
/// after `shown`.
pub(super) fn ipi(shown: &str, below: &[String], log: &[String]) -> String {
    let Some(to) = number_after(shown, "for CPU#") else {
        return ": the line does not show what the other CPU ran".to_owned();
    };
    let from = number_after(shown, "on CPU#");
    let is_same = |line: &&String| {
        line.contains("CSD lock (#")
            && number_after(line, "for CPU#") == Some(to)
            && number_after(line, "on CPU#") == from
    };
    let waits = log.iter().filter(is_same).filter_map(|line| number_after(line, "waiting "));
    let longest =
        waits.max_by(f64::total_cmp).map(|ns| format!(", for {:.3} s at least", ns / 1e9)).unwrap_or_default();
    let its = backtrace(below, to, None);
    let place =
        place(&its).map(|place| format!("; CPU {to} was then shown {place}{}", relock(&its).unwrap_or_default()));
    let dump = || dumped(below, to).map(|who| format!("; the task dump of CPU {to} shows {who}"));
    let other = place.or_else(dump).unwrap_or_else(|| format!("; what CPU {to} ran is not shown"));
    let handled = handled(below, to).unwrap_or_default();
    format!("{longest}{handled}{other}{}", ended(below, from, to).unwrap_or_default())
}

/// Interprets `csd: CSD lock (#1) unresponsive.`, `… handling this request.` and `… handling prior f+0x0/0x10(0x0) request.`.
fn handled(below: &[String], to: f64) -> Option<String> {
    const NEAR: usize = 4;
    below.iter().take(NEAR).find_map(|line| {
        let (_, what) = line.split_once("CSD lock (#")?.1.split_once(") ")?;
        let what = what.trim_end().trim_end_matches('.');
        match what.strip_prefix("handling prior ") {
            Some(prior) => {
                let prior = text(prior.trim_end_matches(" request").as_bytes(), 64);
                Some(format!("; CPU {to} was handling an earlier request, {prior}"))
            }
            None if what == "handling this request" => Some(format!("; CPU {to} was handling this request")),
            None if what == "unresponsive" => Some(format!("; CPU {to} was handling no request (\"unresponsive\")")),
            None => None,
        }
    })
}

/// Describes how the wait ended: `Re-sending CSD lock (#1) IPI from CPU#03 to CPU#55` and `CSD lock (#1) got unstuck on CPU#03, CPU#55
/// released the lock.`
fn ended(below: &[String], from: Option<f64>, to: f64) -> Option<String> {
    /// A release that follows a repeated IPI by less than this is attributed to it, s.
    const SOON: f64 = 0.01;
    let of = |line: &String, key: &str, of: Option<f64>| number_after(line, key) == of;
    let sent = below.iter().position(|line| {
        line.contains("Re-sending CSD lock") && of(line, "from CPU#", from) && of(line, "to CPU#", Some(to))
    });
    let released = below.iter().position(|line| {
        line.contains("got unstuck on CPU#") && of(line, "unstuck on CPU#", from) && of(line, ", CPU#", Some(to))
    });
    let stamp = |at: usize| seconds(below.get(at)?);
    match (sent, released) {
        (Some(sent), Some(released)) if sent < released => {
            let after = stamp(sent).zip(stamp(released)).map(|(sent, released)| released - sent);
            let Some(after) = after.filter(|after| (0.0..SOON).contains(after)) else {
                return Some("; the IPI was sent again, and later the lock was released".to_owned());
            };
            let record = if untaken(below.get(..sent)?, from?, to) {
                ", and the kernel's record shows it sent and not taken"
            } else {
                ""
            };
            Some(format!(
                "; the lock was released {:.0} µs after the IPI was sent again: most likely the first IPI was lost or not noticed{record}; why is unknown",
                after * 1e6
            ))
        }
        (Some(_), None) => Some("; the IPI was sent again".to_owned()),
        (None, Some(_)) => Some("; later the lock was released".to_owned()),
        _ => None,
    }
}

/// True if, in the record of CSD events (`csd: cnt(63d8e20): 0003->0037 ipi`, numbers of CPUs in hexadecimal), the last IPI from one
/// CPU to the other has no later `gotipi` of the other one.
fn untaken(lines: &[String], from: f64, to: f64) -> bool {
    let record = |line: &String| {
        let (count, rest) = line.split_once("csd: cnt(")?.1.split_once("): ")?;
        let (cpus, what) = rest.trim().split_once(' ')?;
        let (source, target) = cpus.split_once("->")?;
        let hex = |digits: &str| u32::from_str_radix(digits, 16).ok();
        let what = what.split_whitespace().next()?.to_owned();
        Some((hex(count)?, hex(source).map(f64::from), f64::from(hex(target)?), what))
    };
    let records = || lines.iter().filter_map(record).filter(|(_, _, target, _)| *target == to);
    let sent =
        records().filter(|(_, source, _, what)| what == "ipi" && *source == Some(from)).map(|(count, ..)| count).max();
    let taken = records().filter(|(.., what)| what == "gotipi").map(|(count, ..)| count).max();
    sent.is_some_and(|sent| taken.is_none_or(|taken| taken < sent))
}

/// Returns the time of `[285737.522780] csd: …`, s.
fn seconds(line: &str) -> Option<f64> {
    let mut stamps = line.split('[').skip(1).filter_map(|part| part.split_once(']')?.0.trim().parse::<f64>().ok());
    stamps.next()
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    const LOST: &str = "[10.000001] csd: Detected non-responsive CSD lock (#1) on CPU#2, waiting 5000000032 ns for CPU#18 f+0x0/0x30(0x0).\n\
                        [10.000002] csd: CSD lock (#1) unresponsive.\n[10.000003] csd: cnt(0000a0): 0002->0012 ipi\n\
                        [10.000004] Task dump for CPU 18:\n[10.000005] job             R  running task        0 77  1 0x08\n\
                        [10.000006] csd: Re-sending CSD lock (#1) IPI from CPU#02 to CPU#18\n[10.000007] CPU: 2 PID: 5 Comm: waiter\n\
                        [10.000056] csd: CSD lock (#1) got unstuck on CPU#02, CPU#18 released the lock.\n";

    #[test]
    fn an_ipi_that_was_sent_again_was_most_likely_lost() {
        let said = of(LOST);
        assert!(said.contains("to handle an IPI, for 5.000 s at least; CPU 18 was handling no request (\"unresponsive\"); the task dump of CPU 18 shows job (running or runnable);"), "{said}");
        assert!(said.contains("released 50 µs after the IPI was sent again: most likely the first IPI was lost or not noticed, and the kernel's record shows it sent and not taken; why is unknown"), "{said}");
        let taken = LOST.replace("[10.000004]", "[10.000003] csd: cnt(0000a1): ffff->0012 gotipi\n[10.000004]");
        assert!(of(&taken).contains("not noticed; why is unknown"), "{}", of(&taken));
        let late = LOST.replace("[10.000056]", "[15.000056]");
        assert!(of(&late).ends_with("; the IPI was sent again, and later the lock was released"), "{}", of(&late));
        let other = LOST.replace("to CPU#18", "to CPU#19");
        assert!(of(&other).ends_with("; later the lock was released"), "{}", of(&other));
    }

    #[test]
    fn the_longest_wait_and_the_request_are_said() {
        let log = "csd: Detected non-responsive CSD lock (#1) on CPU#1, waiting 5000000176 ns for CPU#00 g+0x0/0x8(0x0).\ncsd: CSD lock (#1) handling prior h+0x0/0x9(0x0) request.\n\
                   csd: Continued non-responsive CSD lock (#1) on CPU#1, waiting 15000064384 ns for CPU#00 g+0x0/0x8(0x0).\n";
        let said = of(log);
        assert!(said.contains("for 15.000 s at least; CPU 0 was handling an earlier request, h+0x0/0x9(0x0); what CPU 0 ran is not shown"), "{said}");
        assert!(!said.contains("also in the log"), "{said}");
    }
}
