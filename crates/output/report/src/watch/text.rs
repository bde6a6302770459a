use crate::clean::line;
use crate::date::utc;
use crate::number::{bytes, count, nanos, plural};
use punctual_model::{
    AppLate, Capture, Cycle, EndedBy, LateBy, Watch, WatchApp, WatchLate, WatchLine, WatchMaximum, Watched,
};
use punctual_units::Nanos;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Maximum number of new maxima shown, newest first.
const MOST: usize = 12;
const HOUR: Nanos = Nanos::from_secs(3_600);
const DAY: Nanos = Nanos::from_secs(86_400);

/// Formats a watch series for a terminal: the largest latencies of 5 minutes, an hour, a day and ever by CPU; then the
/// newest maxima with causes, gaps in the measurement, and the cost of watching.
pub fn watch_text(watched: &Watched) -> String {
    let watch = &watched.watch;
    let mut out = format!("{}\n", line(&headline(watched)));
    let _ = writeln!(out, "{}\n", line(&settings(watch)));
    table(&mut out, watched);
    maxima(&mut out, watched);
    application(&mut out, watched);
    gaps(&mut out, watched);
    remarks(&mut out, watched);
    out
}

/// Formats the start-up message of `watch`: what it measures and traces, where it writes, how to see and stop it. `out`
/// is its directory, as a user types it; without a `duration` it runs until a signal ends it.
pub fn watch_started(watch: &Watch, out: &str, duration: Option<Nanos>) -> String {
    let settings = &watch.settings;
    let long = duration.map_or_else(|| "until stopped".into(), |time| format!("for {time}"));
    let traced = match &watch.untraced {
        Some(_) => String::new(),
        None => format!("Explains every new maximum of a CPU above {} from a trace.\n", settings.trace_above_ns),
    };
    let app = watch.application.as_ref().map(|app| app_started(app, watch.pid) + "\n").unwrap_or_default();
    format!(
        "{app}measures CPUs {} {long}: a {} thread on each wakes every {}.\n{traced}\
         Writes to {out} every 5 s, at most {} for each CPU and day.\n\
         To see it: punctual watch --attach {out}; to stop it: Ctrl-C or SIGTERM.",
        settings.cpus,
        settings.scheduling,
        settings.period_ns,
        bytes(settings.bytes_a_cpu_and_day)
    )
}

/// Formats the state of a watch in a few lines, for a display: start, tracing, newest maxima and newest moments at which
/// the application was late, with their causes.
pub fn watch_status(watched: &Watched) -> Vec<String> {
    const NEWEST: usize = 4;
    let mut lines = vec![headline(watched)];
    let ever = watched.watch.cpus.iter().filter_map(|cpu| cpu.ever.as_ref());
    if let Some(worst) = ever.max_by_key(|maximum| maximum.latency_ns) {
        lines.push(format!("worst  {} ({})", late(worst), utc(worst.real_ns)));
    }
    let new = |maximum| format!("new    {} ({})", late(maximum), utc(maximum.real_ns));
    lines.extend(newest(watched).take(NEWEST).map(new));
    lines.extend(newest_late(watched).take(NEWEST).map(|one| format!("late   {}", late_sentence(one))));
    lines.iter().map(|text| line(text)).collect()
}

pub(super) fn headline(watched: &Watched) -> String {
    let watch = &watched.watch;
    let state = match (&watch.ended_by, watched.running) {
        (_, true) => format!("running (pid {})", watch.pid),
        (Some(EndedBy::Signal { name, .. }), _) => format!("ended by {name} on {}", utc(watch.updated.real_ns)),
        (Some(EndedBy::Duration), _) => format!("ended as planned on {}", utc(watch.updated.real_ns)),
        (Some(EndedBy::Error { text }), _) => format!("ended on {}: {text}", utc(watch.updated.real_ns)),
        (Some(EndedBy::Unknown), _) => format!("ended on {} for an unknown reason", utc(watch.updated.real_ns)),
        (Some(EndedBy::Killed) | None, _) => format!("killed after {}", utc(watch.updated.real_ns)),
    };
    let host = watch.host.as_deref().unwrap_or("an unnamed machine");
    format!("watch of {host} since {}, {state}", utc(watch.series_started_real_ns))
}

pub(super) fn settings(watch: &Watch) -> String {
    let settings = &watch.settings;
    format!(
        "kernel {}, CPUs {}, {} every {}",
        watch.kernel.as_deref().unwrap_or("unknown"),
        settings.cpus,
        settings.scheduling,
        settings.period_ns
    )
}

pub(super) fn columns(watch: &Watch) -> [(String, Nanos); 3] {
    let block = watch.settings.block_ns;
    [(block.to_string(), block), ("hour".into(), HOUR), ("day".into(), DAY)]
}

fn table(out: &mut String, watched: &Watched) {
    let columns = columns(&watched.watch);
    let heads: String = columns.iter().map(|(name, _)| format!("{name:>10}")).collect();
    let _ = writeln!(out, "CPU{heads}{:>10}  {:<20} {:>14} {:>8}", "ever", "when", "periods", "missed");
    for cpu in &watched.watch.cpus {
        let within: String =
            columns.iter().map(|(_, time)| format!("{:>10}", nanos(watched.max_within(cpu.cpu, *time)))).collect();
        let ever = cpu.ever.as_ref();
        let when = ever.map_or_else(|| "–".into(), |ever| utc(ever.real_ns));
        let ever = nanos(ever.map(|ever| ever.latency_ns));
        let (released, skipped) = (count(cpu.released), count(cpu.skipped));
        let _ = writeln!(out, "{:>3}{within}{ever:>10}  {when:<20} {released:>14} {skipped:>8}", cpu.cpu);
    }
}

pub(super) fn sentence(maximum: &WatchMaximum) -> String {
    format!("{}  {}", utc(maximum.real_ns), late(maximum))
}

/// Formats a maximum: `CPU 1  95.5 ms late: the hypervisor ran something else`.
fn late(maximum: &WatchMaximum) -> String {
    let what = match (&maximum.verdict, &maximum.why_not) {
        // The prefix replaces the beginning of the verdict, such as "CPU1 95.5 ms late: ".
        (Some(verdict), _) => verdict.split_once(" late: ").map_or(verdict.as_str(), |(_, cause)| cause).to_owned(),
        (None, Some(why)) if why.starts_with("not traced") => why.clone(),
        (None, Some(why)) => format!("not explained: {why}"),
        (None, None) => "not explained".into(),
    };
    format!("CPU {}  {} late: {what}", maximum.cpu, Nanos(maximum.latency_ns))
}

pub(super) fn newest(watched: &Watched) -> impl Iterator<Item = &WatchMaximum> {
    watched.lines.iter().rev().filter_map(|line| match line {
        WatchLine::Maximum(maximum) => Some(maximum),
        _ => None,
    })
}

fn maxima(out: &mut String, watched: &Watched) {
    let all = newest(watched).count();
    if all == 0 {
        return;
    }
    let _ = writeln!(out, "\nNew maxima, newest first:");
    newest(watched).take(MOST).for_each(|one| {
        let _ = writeln!(out, "  {}", line(&sentence(one)));
    });
    if all > MOST {
        let _ = writeln!(out, "  and {} earlier", all - MOST);
    }
}

/// Describes what is watched in an application.
fn app_started(app: &WatchApp, pid: u32) -> String {
    let threads: Vec<&str> = app.threads.iter().map(|thread| thread.name.as_str()).collect();
    let claims = match (app.claims.as_slice(), app.is_proposed) {
        ([], _) => "no thread has a period, so only the program itself can say that it is late".to_owned(),
        (claims, true) => format!("late if one of '{}' is broken (from the periods found)", claims.join("', '")),
        (claims, false) => format!("late if one of '{}' is broken", claims.join("', '")),
    };
    let says = match &app.no_marks {
        None => format!("a line `punctual: late` in trace_marker, or kill -USR1 {pid}"),
        Some(why) => format!("kill -USR1 {pid} ({why})"),
    };
    format!(
        "watches the cycles of {} ({}): {claims}.\nKeeps and explains the {} before each such moment, and before {says}.",
        app.program,
        threads.join(", "),
        app.window_ns
    )
}

pub(super) fn newest_late(watched: &Watched) -> impl Iterator<Item = &WatchLate> {
    watched.lines.iter().rev().filter_map(|line| match line {
        WatchLine::Late(late) => Some(late),
        _ => None,
    })
}

/// Formats a moment: `2026-11-26T20:00:00Z  control said it is late (axis): CPU1 cycle of 1.2 ms: ran 200 µs …`.
pub(super) fn late_sentence(late: &WatchLate) -> String {
    let why = match (&late.verdict, &late.why_not) {
        (Some(verdict), _) => verdict.clone(),
        (None, Some(why)) => format!("not explained: {why}"),
        (None, None) => "not explained".into(),
    };
    let trace = match (&late.segment, &late.trace) {
        (Some(segment), Some(trace)) => format!(" ({segment}/{trace})"),
        _ => String::new(),
    };
    format!("{}  {}: {why}{trace}", utc(late.real_ns), moment(&late.late))
}

/// Says what reported that the application was late: a thread, a signal, or the claim that broke.
fn by(late: &AppLate) -> String {
    let name = late.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
    match late.by {
        LateBy::Program => format!("{} said it is late{name}", late.thread.as_deref().unwrap_or("the program")),
        LateBy::Signal => "a signal said it is late".into(),
        LateBy::Claim => late.claim.clone().unwrap_or_else(|| "a claim".into()),
    }
}

/// Formats a moment: `control said it is late (axis)`, `response(control) < 1ms: 1.20 ms so far`.
fn moment(late: &AppLate) -> String {
    let by = by(late);
    match (late.by, late.value_ns, late.is_open, late.completes) {
        (LateBy::Program | LateBy::Signal, ..) => by,
        (LateBy::Claim, None, ..) => format!("{by}: releases without a cycle"),
        (LateBy::Claim, Some(value), true, _) => format!("{by}: {value} so far"),
        (LateBy::Claim, Some(value), _, true) => format!("{by}: {value} in the end"),
        (LateBy::Claim, Some(value), ..) => format!("{by}: {value}"),
    }
}

/// Returns the moments for which a window of an application's events was kept, each with the cycle that explains it.
pub fn moments(capture: &Capture) -> Vec<String> {
    let window = capture.application.iter();
    let all = window.flat_map(|window| window.late.iter().zip(window.cycles.iter().chain(std::iter::repeat(&None))));
    all.map(|(late, cycle)| {
        let at = late.at_mono_ns;
        let at = format!("{}.{:06}", at / 1_000_000_000, at % 1_000_000_000 / 1_000);
        let cycle = match cycle {
            Some(cycle) => cycle.verdict.clone() + &cut(cycle, capture.from_mono_ns),
            None => "not explained: no cycle at that moment was recorded completely".to_owned(),
        };
        format!("{at}: {}: {cycle}", moment(late))
    })
    .collect()
}

/// Says by how much events that begin at `from_mono_ns` are too short for a cycle.
fn cut(cycle: &Cycle, from_mono_ns: u64) -> String {
    match from_mono_ns.saturating_sub(cycle.release_ns) {
        0 => String::new(),
        ns => format!("; it began {} before these events: watch --keep with a longer time keeps all of it", Nanos(ns)),
    }
}

/// Returns for each claim, and for what else reported that the application was late, how often and when, most frequent
/// first. Only moments with a line in the series count, so none that followed others too closely.
pub(super) fn late_by(watched: &Watched) -> Vec<String> {
    let mut all: BTreeMap<String, Vec<(Nanos, u64)>> = BTreeMap::new();
    for (ago, line) in watched.aged() {
        if let WatchLine::Late(late) = line
            && !late.late.completes
        {
            all.entry(by(&late.late)).or_default().push((ago, late.real_ns));
        }
    }
    let mut all: Vec<(String, Vec<(Nanos, u64)>)> = all.into_iter().collect();
    all.sort_by_key(|(_, moments)| std::cmp::Reverse(moments.len()));
    let sentence = |(by, moments): &(String, Vec<(Nanos, u64)>)| {
        let within = |time| count(moments.iter().filter(|(ago, _)| *ago < time).count() as u64);
        let at = |moment: Option<&(Nanos, u64)>| moment.map_or_else(String::new, |(_, real_ns)| utc(*real_ns));
        format!(
            "{by}: {} from {} to {}, {} within a day before the last update, {} within an hour",
            plural(moments.len() as u64, "moment", "moments"),
            at(moments.last()),
            at(moments.first()),
            within(DAY),
            within(HOUR)
        )
    };
    all.iter().map(sentence).collect()
}

/// Returns sentences about the application and its cycles.
pub(super) fn about_application(app: &WatchApp) -> Vec<String> {
    let late = &app.late;
    let mut said = vec![format!(
        "{}: late {} since the start: {} explained, {} only counted because they followed another too closely, {} not explained; \
         {} before each is kept",
        app.program,
        plural(late.seen, "time", "times"),
        count(late.explained),
        count(late.too_many),
        count(late.failed),
        app.window_ns
    )];
    said.extend(app.cycles.iter().map(|thread| {
        let longest = thread.longest_ns.map_or_else(String::new, |longest| format!(", the longest {longest}"));
        format!(
            "{}: {}{longest}, {} longer than the period, {} skipped",
            thread.thread,
            plural(thread.cycles, "cycle", "cycles"),
            count(thread.overruns),
            count(thread.skipped)
        )
    }));
    if late.unsaved > 0 {
        said.push(format!(
            "the events of {} could not be saved (a full disk, or files that were removed); what was explained is in the lines",
            plural(late.unsaved, "window", "windows")
        ));
    }
    if app.lost_events > 0 {
        said.push(format!(
            "{} kernel events were overwritten before they were read: cycles and moments among them are missing",
            count(app.lost_events)
        ));
    }
    said.extend(app.no_marks.as_ref().map(|why| format!("what the program writes to trace_marker is not seen: {why}")));
    said.extend(app.ended.as_ref().map(|why| format!("NOT WATCHED ANY MORE: {why}")));
    said
}

fn application(out: &mut String, watched: &Watched) {
    let all = newest_late(watched).count();
    let app = watched.watch.application.as_ref();
    if app.is_none() && all == 0 {
        return;
    }
    let _ = writeln!(out, "\nApplication:");
    app.map(about_application).unwrap_or_default().iter().for_each(|text| {
        let _ = writeln!(out, "  {}", line(text));
    });
    late_by(watched).iter().take(MOST).for_each(|text| {
        let _ = writeln!(out, "  {}", line(text));
    });
    newest_late(watched).take(MOST).for_each(|late| {
        let _ = writeln!(out, "  {}", line(&late_sentence(late)));
    });
    if all > MOST {
        let _ = writeln!(out, "  and {} earlier", all - MOST);
    }
}

pub(super) fn not_measured(watched: &Watched) -> Vec<String> {
    let gap = |line: &WatchLine| match line {
        WatchLine::Gap { from_real_ns, to_real_ns, why } => {
            let length = to_real_ns.checked_sub(*from_real_ns).map_or("unknown".into(), |ns| Nanos(ns).to_string());
            Some(format!("{}  {length} not measured: {why}", utc(*from_real_ns)))
        }
        WatchLine::Note { real_ns, text } => Some(format!("{}  {text}", utc(*real_ns))),
        _ => None,
    };
    watched.lines.iter().rev().filter_map(gap).collect()
}

fn gaps(out: &mut String, watched: &Watched) {
    let all = not_measured(watched);
    if !all.is_empty() {
        let _ = writeln!(out, "\nNotes, newest first:");
    }
    all.iter().take(MOST).for_each(|text| {
        let _ = writeln!(out, "  {}", line(text));
    });
}

pub(super) fn said(watched: &Watched) -> Vec<String> {
    let watch = &watched.watch;
    let m = &watch.maxima;
    let mut said = vec![format!(
        "since the start on {}: {} above {}, {} explained, {} not traced because they followed another too closely, {} not explained; {} deleted to save space",
        utc(watch.started.real_ns),
        plural(m.seen, "new maximum", "new maxima"),
        watch.settings.trace_above_ns,
        count(m.explained),
        count(m.too_many),
        count(m.failed),
        plural(m.traces_deleted, "trace", "traces"),
    )];
    said.extend(watch.untraced.as_ref().map(|why| format!("new maxima are not traced: {why}")));
    said.push(cost(watched));
    if watch.disk.failures > 0 {
        said.push(format!("{} could not be written", plural(watch.disk.failures, "checkpoint", "checkpoints")));
    }
    said.extend(watch.disk.failing.as_ref().map(|why| format!("CURRENTLY FAILING: {why}")));
    if watch.disk.lines_lost > 0 {
        said.push(format!(
            "{} lost on a full disk",
            plural(watch.disk.lines_lost, "line of the series was", "lines of the series were")
        ));
    }
    said
}

fn cost(watched: &Watched) -> String {
    let watch = &watched.watch;
    let elapsed = watch.updated.mono_ns.saturating_sub(watch.started.mono_ns);
    let cpu = watch
        .cost
        .cpu_ns
        .filter(|_| elapsed > 0)
        .map(|ns| format!("{:.2} % of one CPU", ns as f64 * 100.0 / elapsed as f64));
    format!(
        "costs {}, {} of memory, {} on disk in {}",
        cpu.unwrap_or_else(|| "an unknown time".into()),
        watch.cost.rss_bytes.map_or_else(|| "an unknown amount".into(), bytes),
        bytes(watched.bytes),
        plural(watched.segments.len() as u64, "run directory", "run directories")
    )
}

fn remarks(out: &mut String, watched: &Watched) {
    out.push('\n');
    said(watched).iter().for_each(|text| {
        let _ = writeln!(out, "{}", line(text));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{WatchAppThread, WatchLates};

    #[test]
    fn a_moment_is_said_by_whom_and_why() {
        let mut late = WatchLate {
            real_ns: 0,
            late: AppLate {
                by: LateBy::Program,
                at_mono_ns: 1,
                thread: Some("control".into()),
                tid: Some(7),
                name: Some("axis".into()),
                claim: None,
                value_ns: None,
                release_mono_ns: None,
                is_open: false,
                completes: false,
            },
            segment: Some("runs/a".into()),
            verdict: Some("CPU1 cycle of 1 ms".into()),
            why_not: None,
            trace: None,
        };
        let said = |late: &WatchLate| late_sentence(late).split_once("  ").unwrap().1.to_owned();
        assert_eq!(said(&late), "control said it is late (axis): CPU1 cycle of 1 ms");
        (late.late.by, late.trace) = (LateBy::Signal, Some("traces/1.dat".into()));
        assert_eq!(said(&late), "a signal said it is late: CPU1 cycle of 1 ms (runs/a/traces/1.dat)");
        (late.late.by, late.late.claim) = (LateBy::Claim, Some("late(control) = 0".into()));
        (late.verdict, late.why_not) = (None, Some("no window".into()));
        assert!(said(&late).starts_with("late(control) = 0: releases without a cycle: not explained: no window"));
        (late.late.value_ns, late.late.is_open) = (Some(Nanos::from_millis(2)), true);
        assert!(said(&late).starts_with("late(control) = 0: 2.00 ms so far: not explained"));
        (late.late.is_open, late.late.completes) = (false, true);
        assert!(said(&late).starts_with("late(control) = 0: 2.00 ms in the end: not explained"));
    }

    #[test]
    fn what_is_missing_of_an_application_is_said() {
        let app = WatchApp {
            program: "./plc".into(),
            threads: Vec::new(),
            claims: Vec::new(),
            is_proposed: true,
            window_ns: Nanos::from_millis(20),
            cycles: vec![WatchAppThread {
                thread: "control".into(),
                cycles: 1,
                skipped: 2,
                overruns: 0,
                longest_ns: Some(Nanos(7)),
            }],
            late: WatchLates { seen: 4, explained: 1, too_many: 2, failed: 1, unsaved: 3 },
            lost_events: 9,
            no_marks: Some("old".into()),
            ended: Some("./plc ended".into()),
        };
        let said = about_application(&app).join("\n");
        for part in [
            "./plc: late 4 times since the start: 1 explained, 2 only counted",
            "control: 1 cycle, the longest 7 ns, 0 longer than the period, 2 skipped",
            "the events of 3 windows could not be saved",
            "9 kernel events were overwritten",
            "is not seen: old",
            "NOT WATCHED ANY MORE: ./plc ended",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(app_started(&app, 4).contains("no thread has a period, so only the program itself"));
        assert!(app_started(&app, 4).ends_with("before kill -USR1 4 (old)."), "{}", app_started(&app, 4));
    }
}
