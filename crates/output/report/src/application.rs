//! An application's threads: what releases them, and how the time of their cycles was spent.

use crate::html::write;
use crate::number::{count, plural};
use crate::svg::Table;
use crate::text::page::{Page, TextStyle, Tint};
use punctual_model::{
    AppChain, AppCounterfactual, AppCycles, AppMargin, AppMark, AppProbe, AppThread, Application, Cycle, Recording,
    Verdict,
};
use punctual_units::Nanos;

/// Formats the threads and what releases them, for a terminal. The text ends in a newline.
pub fn application_text(application: &Application, style: &TextStyle) -> String {
    let mut page = Page::new(*style);
    threads(&mut page, application);
    application.notes.iter().for_each(|note| page.tagged("! ", Tint::Warn, note));
    page.finish()
}

pub(crate) fn threads(page: &mut Page, application: &Application) {
    let count = plural(application.threads.len() as u64, "thread", "threads");
    page.tagged("", Tint::Strong, &format!("{}: {count} with cycles", application.program));
    for thread in &application.threads {
        page.tagged("  ", Tint::Plain, &of_program(application, thread));
    }
    marks(application).iter().chain(&probes(application)).for_each(|line| page.tagged("  ", Tint::Plain, line));
}

/// Formats the marks that the application writes, for example
/// `marks: sampled (control), frame with a value (camera, display)`.
fn marks(application: &Application) -> Option<String> {
    let mark = |mark: &AppMark| {
        let value = if mark.has_values { " with a value" } else { "" };
        format!("{}{value} ({})", mark.name, mark.threads.join(", "))
    };
    let marks: Vec<String> = application.marks.iter().flatten().map(mark).collect();
    (!marks.is_empty()).then(|| format!("marks: {}", marks.join(", ")))
}

/// Formats the USDT probes of the application's files, for example
/// `USDT probes: usdt:vision:frame (1 argument), usdt:vision:shown`.
fn probes(application: &Application) -> Option<String> {
    const MOST: usize = 16;
    let probe = |probe: &AppProbe| match probe.arguments {
        0 => probe.name.clone(),
        number => format!("{} ({})", probe.name, plural(number.into(), "argument", "arguments")),
    };
    let shown: Vec<String> = application.probes.iter().take(MOST).map(probe).collect();
    let more = match application.probes.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more (--json)"),
    };
    (!shown.is_empty()).then(|| format!("USDT probes: {}{more}", shown.join(", ")))
}

/// Formats a thread as [`understood`] does, preceded by its program if there are several programs.
fn of_program(application: &Application, thread: &AppThread) -> String {
    let is_one = application.threads.iter().all(|other| other.program == thread.program);
    match is_one || thread.name.starts_with(&format!("{}/", thread.program)) {
        true => understood(application, thread),
        false => format!("{}: {}", thread.program, understood(application, thread)),
    }
}

/// Formats a thread and what releases it: `control (FIFO 80, thread 4711): absolute sleep in clock_nanosleep(2), period
/// 1 ms, jitter 3 µs`.
pub(crate) fn understood(application: &Application, thread: &AppThread) -> String {
    let AppThread { name, tid, scheduling, release, call, .. } = thread;
    let by = match thread.released_by.as_slice() {
        [] => release.clone(),
        by => format!("{} through {release}", by.join(", ")),
    };
    let mut text = format!("{name} ({scheduling}, thread {tid}): released by {by} in {call}");
    text += &match (thread.period_ns, thread.jitter_ns) {
        (Some(period), Some(jitter)) => format!(", period {period}, jitter {jitter}"),
        (Some(period), None) => format!(", period {period}"),
        (None, _) if application.lost_events > 0 => ", period unknown because events were lost".to_owned(),
        (None, _) => ", no period".to_owned(),
    };
    if let Some(other) = &thread.ambiguous_with {
        text += &format!("; ambiguous: it may be released by {other} as well");
    }
    text
}

/// Formats how the time of all cycles was spent: `ran 24.1 %, higher priority 3.2 %, blocked 0.4 %`.
pub(crate) fn shares(cycles: &AppCycles) -> String {
    let share = |ns: u64| ns as f64 * 100.0 / cycles.response_ns.max(1) as f64;
    let delays = cycles.delays.iter().map(|delay| (delay.class.name().replace('_', " "), delay.ns));
    let mut parts = vec![("ran".to_owned(), cycles.ran_ns)];
    parts.push(("blocked".to_owned(), cycles.blocked_ns));
    parts.push(("late because of the previous cycle".to_owned(), cycles.behind_ns));
    parts.extend(delays);
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let shown = parts.into_iter().filter(|(_, ns)| *ns > 0).map(|(what, ns)| format!("{what} {:.1} %", share(ns)));
    shown.collect::<Vec<_>>().join(", ")
}

/// Prints the section on the application in the full text report.
pub(crate) fn section(page: &mut Page, application: &Application, verdict: &Verdict) {
    page.heading("Application");
    threads(page, application);
    for cycles in &application.cycles {
        let count = plural(cycles.cycles, "cycle", "cycles");
        let overran = match (cycles.overruns, cycles.skipped) {
            (0, 0) => String::new(),
            (late, skipped) => format!(", {late} longer than the period, {skipped} skipped"),
        };
        page.tagged("  ", Tint::Strong, &format!("{} under {}: {count}{overran}", cycles.thread, cycles.load));
        page.tagged("    ", Tint::Plain, &shares(cycles));
        if let Some(worst) = cycles.worst.first() {
            page.tagged("    worst: ", Tint::Plain, &worst.verdict);
        }
    }
    application.chains.iter().for_each(|one| page.tagged("  ", Tint::Plain, &chain(one)));
    if !verdict.margins.is_empty() {
        page.tagged("  ", Tint::Strong, MARGINS);
        verdict.margins.iter().for_each(|one| page.tagged("    ", Tint::Plain, &margin(one)));
    }
    if !verdict.counterfactuals.is_empty() {
        page.tagged("  ", Tint::Strong, COUNTERFACTUALS);
        verdict.counterfactuals.iter().for_each(|one| page.tagged("    ", Tint::Plain, &counterfactual(one)));
    }
}

const COUNTERFACTUALS: &str = "Longest responses without one of the threads and interrupts that delayed them, estimated from the cycles of this run";

/// Formats an estimate: `without multipathd (higher priority, 12 cycles): response(control) at most 138 µs [120 µs, 150 µs]
/// instead of 812 µs`.
fn counterfactual(one: &AppCounterfactual) -> String {
    let delayed = plural(one.cycles, "cycle", "cycles");
    let without = format!("{} ({}, {delayed})", one.without, one.class.name().replace('_', " "));
    match (one.response_ns, one.low_ns, one.high_ns, &one.why_not) {
        (Some(response), Some(low), Some(high), None) => {
            format!("{without}: response({}) at most {response} [{low}, {high}] instead of {}", one.thread, one.seen_ns)
        }
        (.., why) => {
            let why = why.as_deref().unwrap_or("too few cycles");
            format!("{without}: response({}) unknown: {why}", one.thread)
        }
    }
}

/// Returns a line with the largest reduction of a longest response.
pub(crate) fn best_counterfactual(verdict: &Verdict) -> Option<String> {
    verdict
        .counterfactuals
        .first()
        .filter(|one| one.why_not.is_none())
        .map(|one| format!("{} (estimate)", counterfactual(one)))
}

const MARGINS: &str = "Margins, estimated from the largest observed CPU times by response-time analysis";

/// Formats a margin: `control: its CPU time (201 µs) may grow by 312 µs, its releases may be 340 µs later, before late(control)
/// = 0 breaks`.
fn margin(margin: &AppMargin) -> String {
    let AppMargin { thread, cpu_ns, longer_ns, later_ns, breaks, why_not, .. } = margin;
    match (longer_ns, later_ns, why_not) {
        (Some(longer), Some(later), _) => {
            let cpu = cpu_ns.map_or_else(String::new, |ns| format!(" ({ns})"));
            let before = breaks.as_ref().map_or_else(String::new, |claim| format!(", before {claim} breaks"));
            format!("{thread}: its CPU time{cpu} may grow by {longer}, its releases may be {later} later{before}")
        }
        (_, _, Some(why)) => format!("{thread}: unknown: {why}"),
        _ => format!("{thread}: unknown"),
    }
}

/// Returns a line with the smallest margin relative to the CPU time, and with the number of threads whose margin is
/// unknown.
pub(crate) fn least_margin(verdict: &Verdict) -> Option<String> {
    let known = verdict.margins.iter().filter_map(|one| Some((one.longer_ns?, one.later_ns?, one)));
    let relative = |longer: Nanos, one: &AppMargin| longer.0 as f64 / one.cpu_ns.map_or(1, |ns| ns.0.max(1)) as f64;
    let all: Vec<_> = known.collect();
    let least = all.iter().min_by(|a, b| relative(a.0, a.2).total_cmp(&relative(b.0, b.2)));
    let unknown = verdict.margins.len() - all.len();
    match least {
        Some((longer, later, one)) => {
            let others = if unknown > 0 {
                format!("; {unknown} of {} threads unknown", verdict.margins.len())
            } else {
                String::new()
            };
            Some(format!("{} may run {longer} longer or be {later} later (estimate){others}", one.thread))
        }
        None => {
            verdict.margins.first().and_then(|one| Some(format!("{}: unknown: {}", one.thread, one.why_not.as_ref()?)))
        }
    }
}

/// Formats the section on the application in the HTML report; empty without an application.
pub(crate) fn html(recording: &Recording, verdict: &Verdict) -> String {
    let Some(application) = &recording.application else { return String::new() };
    let mut understood: Vec<String> =
        application.threads.iter().map(|thread| of_program(application, thread)).collect();
    understood.extend(marks(application));
    let mut out = write::list("", &understood);
    let head = ["thread", "load", "cycles", "longer than the period", "skipped", "longest", "where the time went"];
    let row = |cycles: &AppCycles| {
        let longest = cycles.worst.first().map_or_else(|| "–".to_owned(), |worst| Nanos(worst.length_ns).to_string());
        let (late, skipped) = (count(cycles.overruns), count(cycles.skipped));
        vec![cycles.thread.clone(), cycles.load.clone(), count(cycles.cycles), late, skipped, longest, shares(cycles)]
    };
    out += &write::table(&Table {
        head: head.map(String::from).to_vec(),
        rows: application.cycles.iter().map(row).collect(),
    });
    for cycles in &application.cycles {
        let sentences: Vec<String> = cycles.worst.iter().map(|worst| worst.verdict.clone()).collect();
        let title = format!("The longest cycles of {} under {}", cycles.thread, cycles.load);
        out += &write::details(&title, &write::list("", &sentences));
    }
    let chains: Vec<String> = application.chains.iter().map(chain).collect();
    out += &write::list("", &chains);
    let margins: Vec<String> = verdict.margins.iter().map(margin).collect();
    if !margins.is_empty() {
        out += &format!("<p>{MARGINS}:</p>\n{}", write::list("", &margins));
    }
    let left_out: Vec<String> = verdict.counterfactuals.iter().map(counterfactual).collect();
    if !left_out.is_empty() {
        out += &format!("<p>{COUNTERFACTUALS}:</p>\n{}", write::list("", &left_out));
    }
    out
}

fn chain(chain: &AppChain) -> String {
    let passes = plural(chain.passes, "pass", "passes");
    let mut text = format!("chain {} under {}: {passes}", chain.chain, chain.load);
    if chain.others > 0 {
        text += &format!(", {} not caused by the chain", plural(chain.others, "end", "ends"));
    }
    if chain.unknown > 0 {
        text += &format!(", {} of unknown origin", plural(chain.unknown, "release", "releases"));
    }
    if chain.unanswered > 0 {
        text += &format!(", {} that did not reach the last mark", count(chain.unanswered));
    }
    text
}

/// Returns a sentence on the longest cycle of all threads and loads, relative to the period of its thread; `None` if no
/// cycle was recorded.
pub(crate) fn worst(recording: &Recording) -> Option<String> {
    let application = recording.application.as_ref()?;
    let longest = |cycles: &AppCycles| {
        Some((
            relative(application, cycles)?,
            cycles.thread.clone(),
            cycles.load.clone(),
            cycles.worst.first()?.clone(),
        ))
    };
    let found = application.cycles.iter().filter_map(longest).max_by(|a, b| a.0.total_cmp(&b.0));
    let (_, thread, load, Cycle { length_ns, verdict, .. }) = found?;
    let verdict = verdict.split_once(": ").map_or(verdict.as_str(), |(_, rest)| rest);
    Some(format!("{thread} under {load}, its longest cycle of {}: {verdict}", Nanos(length_ns)))
}

/// Returns the length of the longest cycle relative to the period, or in seconds if the thread has no period.
fn relative(application: &Application, cycles: &AppCycles) -> Option<f64> {
    let longest = cycles.worst.first()?.length_ns as f64;
    let thread = application.threads.iter().find(|thread| thread.name == cycles.thread)?;
    Some(longest / thread.period_ns.map_or(1e9, |period| period.0.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_probes_are_listed_with_their_arguments() {
        let probe = |n: u32| AppProbe { name: format!("usdt:a:p{n}"), file: "/bin/a".into(), arguments: n };
        let with = |number: u32| Application { probes: (0..number).map(probe).collect(), ..Application::default() };
        assert_eq!(probes(&with(0)), None);
        let three = "USDT probes: usdt:a:p0, usdt:a:p1 (1 argument), usdt:a:p2 (2 arguments)";
        assert_eq!(probes(&with(3)).as_deref(), Some(three));
        assert!(probes(&with(20)).unwrap().ends_with("usdt:a:p15 (15 arguments) and 4 more (--json)"));
    }
}
