//! Formats the results of `check`: which parts of a program's real-time threads are not real-time.

mod html;
#[cfg(test)]
mod tests;
mod text;

pub use html::check_html;
pub use text::{CheckListing, check_text};

use crate::number::count;
use crate::words;
use punctual_model::{Check, CheckFinding, CheckFrame, CheckThread, State};
use punctual_units::Nanos;

/// Formats the frequency of a finding, for example `1,000 times, 1.0 per cycle, worst 213 µs`.
fn amount(check: &Check, one: &CheckFinding) -> String {
    let times = match one.count {
        1 => "once".to_owned(),
        n => format!("{} times", count(n)),
    };
    let rate = one.per_cycle.map(|rate| format!(", {} per cycle", rate_text(rate))).unwrap_or_default();
    let worst = one.worst_ns.map(|worst| format!(", worst {worst}")).unwrap_or_default();
    let threads = if one.tids.len() > 1 { format!(", in {} threads", one.tids.len()) } else { String::new() };
    let known = if one.is_known { ", in the baseline" } else { "" };
    let has_cycles = |thread: &CheckThread| one.tids.contains(&thread.tid) && thread.cycles.is_some();
    let outside = match one.is_in_cycle {
        true => "",
        false if check.threads.iter().any(has_cycles) => ", outside of its cycles",
        false => ", its cycles are unknown",
    };
    let least = if one.is_at_least { "at least " } else { "" };
    format!("{least}{times}{rate}{worst}{threads}{outside}{known}")
}

fn rate_text(rate: f64) -> String {
    match rate {
        rate if rate >= 0.995 => format!("{rate:.1}"),
        rate if rate >= 0.01 => format!("{rate:.2}"),
        // Rates below 1 are shown to their first nonzero digit.
        rate if rate > 0.0 => format!("{rate:.*}", (-rate.log10()).ceil().min(12.0) as usize),
        _ => "0".to_owned(),
    }
}

/// Formats a frame, for example `step() at loop.c:42`.
fn place(frame: &CheckFrame) -> String {
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let file = frame.file.as_ref().map(|file| match frame.line {
        Some(line) => format!("{}:{line}", name(file)),
        None => name(file),
    });
    let module = frame.module.as_ref().map(name).map(|module| match frame.address {
        Some(address) if frame.function.is_none() => format!("{module}+{address:#x}"),
        _ => module,
    });
    match (frame.function.as_ref(), file.or(module)) {
        (Some(function), Some(at)) => format!("{function} ({at})"),
        (Some(function), None) => function.clone(),
        (None, Some(at)) => at,
        (None, None) => "unknown code".to_owned(),
    }
}

/// Formats a thread, for example `control FIFO 80: absolute sleep every 1.00 ms …`.
fn thread(check: &Check, one: &CheckThread) -> String {
    let policy = one.scheduling.map_or_else(|| "unknown policy".to_owned(), |scheduling| scheduling.to_string());
    let head = format!("{} ({}) {policy}", one.name, one.tid);
    let Some(cycles) = &one.cycles else {
        // The waits of threads that are not real-time are not recorded.
        let why = match (one.is_real_time, check.lost) {
            (true, 0) => "no cycles: it does not wait repeatedly at any place",
            (true, _) => "no cycles found, but events were lost",
            (false, _) => "not real-time, not examined",
        };
        return format!("{head}: {why}");
    };
    let at = cycles.place.as_ref().map(|frame| format!(" in {}", place(frame))).unwrap_or_default();
    let period = match (cycles.period_ns, cycles.jitter_ns, cycles.jitter_max_ns) {
        (Some(period), Some(jitter), Some(most)) => {
            let skipped =
                cycles.skipped.filter(|n| *n > 0).map(|n| format!(", {} skipped", count(n))).unwrap_or_default();
            format!(" every {period}, jitter {jitter} (largest {most}){skipped}")
        }
        _ => ", no fixed period".to_owned(),
    };
    let other = cycles.ambiguous_with.as_ref().map(|frame| format!("; it may also be released in {}", place(frame)));
    format!(
        "{head}: {} cycles, released by {}{at}{period}{}",
        count(cycles.count),
        cycles.release,
        other.unwrap_or_default()
    )
}

/// Returns the verdict as a sentence.
fn answer(check: &Check) -> String {
    let open = check.findings.iter().filter(|one| one.finding.state == State::Fail && !one.is_known).count();
    let known = check.findings.iter().filter(|one| one.is_known).count();
    let urgent = check.threads.iter().filter(|thread| thread.is_real_time).count();
    let cycles: u64 =
        check.threads.iter().filter(|t| t.is_real_time).filter_map(|t| t.cycles.as_ref()).map(|c| c.count).sum();
    let warnings = check.findings.iter().filter(|one| one.finding.state == State::Warn && !one.is_known).count();
    let warned = match warnings {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        n => format!(", {n} warnings"),
    };
    let found = match open {
        0 if warnings == 0 => "nothing found".to_owned(),
        0 => "no failures".to_owned(),
        1 => "1 finding".to_owned(),
        n => format!("{n} findings"),
    };
    let known = if known > 0 { format!(" and {known} in the baseline") } else { String::new() };
    let threads = if urgent == 1 { "1 real-time thread".to_owned() } else { format!("{urgent} real-time threads") };
    format!("{found}{warned}{known} in {threads}, {} cycles in {}", count(cycles), seconds(check.duration_ns))
}

fn seconds(time: Nanos) -> String {
    format!("{:.1} s", time.0 as f64 / 1e9)
}

/// Lists what could not be observed.
fn missing(check: &Check) -> impl Iterator<Item = String> {
    check.sources.iter().filter_map(|source| Some(format!("{}: {}", source.name, source.missing.as_ref()?)))
}

/// Lists further facts about the check.
fn remarks(check: &Check) -> Vec<String> {
    let lost = if check.lost > 0 { format!(", {} lost", count(check.lost)) } else { String::new() };
    let share = check.own_cpu_observing_ns.0 as f64 / check.duration_ns.0.max(1) as f64 * 100.0;
    let around = Nanos(check.own_cpu_ns.0.saturating_sub(check.own_cpu_observing_ns.0));
    let mut out = vec![
        format!("Real-time work begins with {}.", check.real_time_from),
        format!(
            "The program {}; {} events{lost}; the check itself used {share:.1} % of a CPU meanwhile, and {around} of CPU time before and after.",
            check.ended,
            count(check.events)
        ),
    ];
    out.extend(check.notes.iter().map(|note| words::stopped(&words::capital(note))));
    out
}
