//! Reads the kernel's log: finds the most decisive report of lateness in it, and determines whose stack follows the
//! report.

mod below;
mod clocks;
mod counts;
mod functions;
mod ipi;
mod lockdep;
mod rcu;
mod relock;
mod reports;
mod stack;
mod wrapped;

use super::scan::text;
use below::{
    backtrace, by, elsewhere, handlers, heartbeat, in_flight, of_cpu, owner, pending, queues, softirqs, spinner,
    utilization, work,
};
use clocks::clocks;
use counts::{context, disabled, unbalanced};
use ipi::ipi;
use lockdep::locks;
use rcu::{rcu, stalled};
use relock::{relock, rtnl};
use reports::{BLOCKED, Below, REMAINS, REPORTS, Report};
use stack::{Waits, place, place_asleep, waits_for};
use wrapped::unwrapped;

const LINE: usize = 512;
const SHOWN: usize = 160;

/// Returns a line of the kernel's log that reports lateness, with its meaning; `None` for other lines.
pub(super) fn line(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?.trim();
    let report = REPORTS.iter().find(|report| line.len() <= LINE && line.contains(report.mark))?;
    let pending = if report.below == Below::Softirqs { pending(line) } else { None };
    Some(format!("\"{}\": {}{}", text(line.as_bytes(), SHOWN), report.means, pending.unwrap_or_default()))
}

/// Returns the most decisive report of a log, its meaning, the place in the code that it shows, and the other reports.
pub(super) fn said(head: &str) -> Option<String> {
    const OTHERS: usize = 3;
    const ALIKE: usize = 3;
    let lines = unwrapped(head);
    let found = REPORTS.iter().chain(REMAINS).filter_map(|report| Some((report, worst(report, &lines)?)));
    let mut found: Vec<(&Report, (usize, String))> = found.collect();
    // An error in kernel code is the cause, rather than the effect, of what is reported after it.
    let (_, (first, _)) = found.first()?;
    let errors = found.iter().enumerate().filter(|(_, (report, (at, _)))| report.is_error() && at < first);
    let cause = errors.min_by_key(|(_, (_, (at, _)))| *at).map_or(0, |(n, _)| n);
    let (report, (at, shown)) = found.remove(cause);
    let is_whole = |report: &Report| REPORTS.iter().any(|whole| whole.mark == report.mark);
    let below = if is_whole(report) { lines.get(at + 1..).unwrap_or_default() } else { &lines };
    let cpu = cpu(&shown);
    let lines_of = |n: usize, cpu| own(lines.get(n..).unwrap_or_default(), cpu);
    let own = if report.below == Below::Rcu { of_stall(below, &shown) } else { own(below, cpu) };
    let means = match report.below {
        Below::Nothing | Below::Each => report.means.to_owned(),
        Below::Stack => stacked(report, &shown, below, &own, cpu),
        Below::Spinlock => stacked(report, &shown, below, &own, cpu) + &spinner(&own, below),
        Below::Rcu => rcu(report, &shown, &own, &lines),
        Below::Ipi => report.means.to_owned() + &ipi(&shown, below, &lines),
        Below::Softirqs => report.means.to_owned() + &softirqs(&all(report, &lines)),
        Below::Pools => report.means.to_owned() + &in_flight(&shown, &lines),
        Below::Handlers => report.means.to_owned() + &handlers(&own),
        Below::Locks => report.means.to_owned() + &locks(&own),
        Below::Queues => report.means.to_owned() + &queues(&shown, &own),
        Below::Clocks => report.means.to_owned() + &clocks(&shown, &own),
    };
    let quoted = |shown: &str| format!("\"{}\"", text(shown.as_bytes(), SHOWN));
    let often = |report: &Report| match all(report, &lines).len() {
        2.. if report.below == Below::Nothing => format!(" (one of {} such lines)", all(report, &lines).len()),
        _ => String::new(),
    };
    let has_several = is_whole(report) && matches!(report.below, Below::Stack | Below::Spinlock | Below::Each);
    let mut subjects = vec![subject(report, message(&shown))];
    let alike = all(report, &lines).into_iter().filter(|_| has_several).filter(|(.., shown)| {
        let subject = subject(report, message(shown));
        let is_new = !subjects.contains(&subject);
        subjects.push(subject);
        is_new
    });
    let alike = alike.take(ALIKE).map(|(_, n, shown)| {
        let lines = lines.get(n + 1..).unwrap_or_default();
        let lines = reported(lines, &shown);
        quoted(message(&shown)) + &whereabouts(report, &shown, &lines)
    });
    let alike: Vec<String> = alike.collect();
    // The report of an IPI has the later lines about its lock.
    let is_own = |other: &Report| report.below == Below::Ipi && other.mark.starts_with("CSD lock");
    let others = found.into_iter().filter(|(other, (n, _))| is_whole(other) && *n != at && !is_own(other));
    let others = others.take(OTHERS).map(|(other, (n, shown))| {
        let more = match other.below {
            Below::Rcu => stalled(&lines_of(n + 1, None)),
            Below::Clocks => clocks(&shown, &lines_of(n + 1, None)),
            Below::Softirqs => softirqs(&all(other, &lines)),
            _ => whereabouts(other, &shown, &lines_of(n + 1, None)),
        };
        quoted(&shown) + &often(other) + &more
    });
    let each_other = match alike.is_empty() || report.mark != BLOCKED || means.contains("owned by") {
        true => "",
        false => "; they may wait for one another: no line names the owner of a lock",
    };
    let others: Vec<String> = alike.into_iter().chain(others).collect();
    let others = if others.is_empty() { String::new() } else { format!("; also in the log: {}", others.join(", ")) };
    Some(format!("{}{}: {means}{others}{each_other}", quoted(&shown), often(report)))
}

/// Returns the lines up to the next report about another CPU. The kernel may report the same CPU several times.
fn own(below: &[String], of: Option<f64>) -> Vec<&str> {
    let is_other =
        |line: &str| REPORTS.iter().any(|report| line.contains(report.mark)) && (of.is_none() || cpu(line) != of);
    below.iter().map(String::as_str).take_while(|line| !is_other(line)).collect()
}

/// Returns the lines up to the next report that is not one of RCU about the same CPUs: `CPU { 1}` and, of another CPU, `CPUs/tasks: {
/// 1} (detected by 3`.
fn of_stall<'a>(below: &'a [String], shown: &str) -> Vec<&'a str> {
    let cpus = |line: &str| Some(line.split_once('{')?.1.split_once('}')?.0.trim().to_owned());
    let of = cpus(shown).filter(|cpus| !cpus.is_empty());
    let is_other = |line: &str| {
        let report = REPORTS.iter().find(|report| line.contains(report.mark));
        report.is_some_and(|report| report.below != Below::Rcu || of.is_none() || cpus(line) != of)
    };
    below.iter().map(String::as_str).take_while(|line| !is_other(line)).collect()
}

/// Returns the lines up to the next report of any kind, or of the same thread.
fn reported<'a>(below: &'a [String], shown: &str) -> Vec<&'a str> {
    let is_report = |line: &&str| REPORTS.iter().any(|report| line.contains(report.mark)) && *line != shown;
    below.iter().map(String::as_str).take_while(|line| !is_report(line)).collect()
}

/// Returns the place in the stack of another report, and the work item that the thread of that report executes.
fn whereabouts(report: &Report, shown: &str, lines: &[&str]) -> String {
    if !matches!(report.below, Below::Stack | Below::Spinlock) {
        return String::new();
    }
    let its = of_cpu(lines, cpu(shown), pid(shown));
    place(&its).map(|place| format!(" {place}{}", work(&its).unwrap_or_default())).unwrap_or_default()
}

/// Returns the thread ID from `CPU#3 stuck for 22s! [app:54]`.
fn pid(shown: &str) -> Option<f64> {
    let (_, pid) = shown.rsplit_once('[')?.1.split(']').next()?.rsplit_once(':')?;
    pid.parse().ok()
}

/// Describes a report with a stack below it.
fn stacked(report: &Report, shown: &str, below: &[String], own: &[&str], cpu: Option<f64>) -> String {
    let means = unbalanced(shown, own).unwrap_or(report.means);
    let means = cpu.map_or(means.to_owned(), |cpu| means.replace("that CPU", &format!("CPU {cpu}")));
    let ago = heartbeat(below, cpu).unwrap_or_default();
    let of_cpu = of_cpu(own, cpu, pid(shown));
    let by = by(shown, &of_cpu, cpu).unwrap_or_default();
    let how = match report.below {
        Below::Stack if shown.to_ascii_lowercase().contains("lockup") => Waits::Spinning,
        Below::Stack if report.mark == BLOCKED => Waits::Asleep,
        _ => Waits::Unknown,
    };
    let own_place = if how == Waits::Asleep { place_asleep(&of_cpu) } else { place(&of_cpu) };
    // Another report may be between this one and its stack.
    let place = own_place.or_else(|| place(&backtrace(below, cpu?, None)));
    let (owner, busy) = (owner(below).unwrap_or_default(), utilization(&of_cpu).unwrap_or_default());
    let relock = relock(&of_cpu);
    let itself = rtnl(&of_cpu).filter(|_| how == Waits::Asleep);
    let unknown = || place.as_deref().and_then(|place| waits_for(place, how)).filter(|_| relock.is_none());
    let waits = itself.or_else(unknown).filter(|_| owner.is_empty()).unwrap_or_default();
    let place = place.map_or("; no stack of it was recognised".to_owned(), |place| format!(", {place}{waits}"));
    let context = context(shown, own)
        .map(|context| format!("; context: {context}{}", disabled(context, own).unwrap_or_default()))
        .unwrap_or_default();
    let work = work(&of_cpu).unwrap_or_default();
    let other = elsewhere(&of_cpu, cpu).unwrap_or_default();
    format!("{means}{ago}{by}{place}{}{work}{other}{context}{owner}{busy}", relock.unwrap_or_default())
}

/// Returns the CPU that a report names as late.
fn cpu(line: &str) -> Option<f64> {
    const KEYS: [&str; 5] = ["CPU#", "on cpu ", "on other CPUs ", "LOCKUP other CPUS:", "LOCKUP on CPU "];
    let named = KEYS.iter().find_map(|key| number_after(line, key));
    // PowerPC: `watchdog: CPU 0 Hard LOCKUP`, `CPU 3 self-detected hard LOCKUP`; up to Linux 4.17 `Watchdog CPU:0 Hard LOCKUP`.
    let powerpc = || {
        let (before, _) = line.split_once(" LOCKUP")?;
        number_after(before, "watchdog: CPU ").or_else(|| number_after(before, "Watchdog CPU:"))
    };
    named.or_else(powerpc)
}

/// Returns a line of the log without its time stamps.
fn message(shown: &str) -> &str {
    let message = shown.rsplit_once("kernel:").map_or(shown, |(_, message)| message).trim_start();
    let message = message.trim_start_matches('>').trim_start();
    let stamp = message.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let stamp = stamp.filter(|(stamp, _)| stamp.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b' ' | b'+')));
    let message = stamp.map_or(message, |(_, message)| message).trim_start();
    ["watchdog: ", "Watchdog: "].iter().find_map(|own| message.strip_prefix(own)).unwrap_or(message)
}

/// Returns a message without its measured value, to distinguish reports of the same kind.
fn subject(report: &Report, message: &str) -> String {
    let figure = report.figure.unwrap_or("blocked for more than ");
    let Some((before, after)) = message.split_once(figure) else { return message.to_owned() };
    format!("{before}{figure}{}", after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// Returns value, position and text of each line of a report. A line that a mail client broke is joined with the next
/// one.
fn all(report: &Report, lines: &[String]) -> Vec<(Option<f64>, usize, String)> {
    // Lines are wrapped at spaces, so the first word is on one line.
    let first = report.mark.split(' ').find(|word| !word.is_empty()).unwrap_or_default();
    let may_have = |line: &str| line.len() <= LINE && line.contains(first);
    let found = lines.iter().enumerate().filter(|(_, line)| may_have(line)).filter_map(|(n, line)| {
        let next = lines.get(n + 1).map_or("", |next| next.trim()).chars().take(LINE).collect::<String>();
        let joined = format!("{} {next}", line.trim());
        let at = joined.find(report.mark).filter(|at| *at < line.trim().len())?;
        let figure = report.figure.map(|key| number_after(joined.get(at..)?, key));
        let in_line =
            line.contains(report.mark) && report.figure.is_none_or(|key| number_after(line, key) == figure.flatten());
        Some((figure.flatten(), n, if in_line { line.trim().to_owned() } else { joined }))
    });
    found.collect()
}

/// Of several lines of a report, returns the one with the largest value, or the first.
fn worst(report: &Report, lines: &[String]) -> Option<(usize, String)> {
    let found = all(report, lines).into_iter();
    let best = match report.figure {
        // Of equal reports, the first one counts.
        Some(_) => found.rev().max_by(|(a, ..), (b, ..)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)),
        None => found.min_by_key(|(_, n, _)| *n),
    };
    best.map(|(_, n, shown)| (n, shown))
}

fn number_after(line: &str, key: &str) -> Option<f64> {
    let rest = line.get(line.find(key)? + key.len()..)?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest.get(..end)?.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests;
