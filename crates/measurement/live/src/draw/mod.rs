mod canvas;
mod histogram;
mod scale;
mod table;
mod text;

use crate::snapshot::{CpuView, Machine, Snapshot, Stage};
use canvas::{BOLD, Canvas, DIM, PLAIN, REVERSED, WARN};
use punctual_units::{Arrange, Nanos};
use ratatui_core::buffer::Buffer;
use std::cmp::Reverse;
use text::{celsius, clean, hertz};

/// Capabilities of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looks {
    /// True if UTF-8 is available. Otherwise ASCII characters replace block characters and µ.
    pub unicode: bool,
    pub colour: bool,
}

impl Looks {
    /// Reads the capabilities from LC_ALL, LC_CTYPE, LANG (locale(7)) and NO_COLOR (<https://no-color.org>).
    pub fn of_environment() -> Looks {
        let set = |name: &str| std::env::var(name).ok().filter(|v| !v.is_empty());
        let locale = set("LC_ALL").or_else(|| set("LC_CTYPE")).or_else(|| set("LANG")).unwrap_or_default();
        let locale = locale.to_ascii_lowercase();
        Looks { unicode: locale.contains("utf-8") || locale.contains("utf8"), colour: set("NO_COLOR").is_none() }
    }
}

/// On a screen with fewer columns or lines, only the worst latency of each CPU is shown.
const SMALL: (u16, u16) = (44, 11);

/// Draws a snapshot on a screen of any size. A small screen shows only the most important parts.
pub fn draw(snapshot: &Snapshot, looks: Looks, buffer: &mut Buffer) {
    let mut canvas = Canvas::new(buffer, looks);
    let (width, height) = canvas.size();
    if snapshot.help {
        help(snapshot, &mut canvas);
    } else if width < SMALL.0 || height < SMALL.1 {
        small(snapshot, &mut canvas);
    } else {
        full(snapshot, &mut canvas);
    }
}

fn full(snapshot: &Snapshot, canvas: &mut Canvas) {
    let (_, height) = canvas.size();
    header(snapshot, canvas);
    progress(snapshot, canvas, 1);
    // Lines for other purposes: two at the top, the table heading, the machine, an axis of two lines, the keys, and up
    // to three blank lines.
    let room = usize::from(height).saturating_sub(8);
    let cpus = shown(&snapshot.cpus, room / 2);
    let airy = room >= 3 * cpus.len() + 3;
    let gap = u16::from(airy);
    let mut bottom = table::draw(snapshot, &cpus, canvas, 2 + gap);
    if !snapshot.attached {
        machine(snapshot, cpus.len(), canvas, bottom);
        bottom += 1;
    }
    let fit = room.saturating_sub(2 * cpus.len());
    let fit = if snapshot.attached { fit.max(1) } else { fit };
    for line in snapshot.status.iter().take(fit) {
        let width = usize::from(canvas.size().0).saturating_sub(2);
        canvas.put(1, bottom, &text::shortened(&text::ascii(clean(line), canvas.looks), width, canvas.looks), DIM);
        bottom += 1;
    }
    let top = bottom + gap;
    histogram::draw(snapshot, &cpus, canvas, top, height.saturating_sub(1 + gap));
    footer(snapshot, canvas, height.saturating_sub(1));
}

/// Returns the CPUs that fit on the screen, in numerical order: all, or those with the worst wakeups.
fn shown(cpus: &[CpuView], room: usize) -> Vec<&CpuView> {
    let mut all: Vec<&CpuView> = cpus.iter().collect();
    if all.len() > room {
        all.arrange_by_key(|view| (Reverse(view.skipped > 0), Reverse(view.worst), view.cpu));
        all.truncate(room.max(1));
    }
    all.arrange_by_key(|view| view.cpu);
    all
}

fn header(snapshot: &Snapshot, canvas: &mut Canvas) {
    let (width, _) = canvas.size();
    let (word, style) = stage(snapshot);
    let left = format!(" punctual {}", clean(&snapshot.command));
    let at = canvas.put(0, 0, &left, BOLD);
    if snapshot.of > 0 {
        let load = format!("   load {} of {}: ", snapshot.number, snapshot.of);
        let at = canvas.put(at, 0, &load, PLAIN);
        let room = usize::from(width).saturating_sub(usize::from(at) + word.chars().count() + 2);
        canvas.put(at, 0, &text::shortened(&clean(&snapshot.load), room, canvas.looks), BOLD);
    }
    canvas.right(0, &format!(" {word} "), style);
}

fn stage(snapshot: &Snapshot) -> (&'static str, canvas::Look) {
    if snapshot.paused {
        return (if snapshot.attached { "DISPLAY PAUSED" } else { "DISPLAY PAUSED, still measuring" }, REVERSED);
    }
    match snapshot.stage {
        Stage::Starting => ("starting", PLAIN),
        Stage::WarmingUp => ("warming up, not recording", PLAIN),
        Stage::Measuring => ("measuring", PLAIN),
        Stage::Ended => ("ended", REVERSED),
        Stage::Between => ("between loads", PLAIN),
        Stage::Finishing => ("judging and writing", PLAIN),
    }
}

/// Returns the completed share of this phase, 0 to 1.
fn done(snapshot: &Snapshot) -> f64 {
    (snapshot.elapsed.0 as f64 / snapshot.planned.0.max(1) as f64).clamp(0.0, 1.0)
}

fn left(snapshot: &Snapshot) -> (Nanos, Nanos) {
    let phase = snapshot.planned.0.saturating_sub(snapshot.elapsed.0);
    let later = snapshot.of.saturating_sub(snapshot.number) as u64;
    (Nanos(phase), Nanos(snapshot.planned.0.saturating_mul(later).saturating_add(phase)))
}

fn progress(snapshot: &Snapshot, canvas: &mut Canvas, y: u16) {
    let (width, _) = canvas.size();
    let looks = canvas.looks;
    let (phase, run) = left(snapshot);
    let (gone, planned) = (text::seconds(snapshot.elapsed), text::seconds(snapshot.planned));
    let mut said = match snapshot.attached {
        true => format!("this run: {gone} of {planned}"),
        false => format!("{:3.0} %  {gone} of {planned}, {} left", done(snapshot) * 100.0, text::rest(phase)),
    };
    if snapshot.of > 1 {
        said.push_str(&format!("; run {}", text::rest(run)));
    }
    let room = usize::from(width).saturating_sub(said.chars().count() + 4);
    let bar = room.min(60);
    let filled = (done(snapshot) * bar as f64).round() as usize;
    let (full, empty) = if looks.unicode { ("█", "░") } else { ("#", ".") };
    let at = canvas.put(1, y, &full.repeat(filled.min(bar)), canvas::BAR);
    let at = canvas.put(at, y, &empty.repeat(bar.saturating_sub(filled)), DIM);
    canvas.put(at + 1, y, &said, PLAIN);
}

/// Draws the line with temperature, frequency and throttling, as far as they are known.
fn machine(snapshot: &Snapshot, cpus: usize, canvas: &mut Canvas, y: u16) {
    let said = match (&snapshot.machine, snapshot.context) {
        (_, false) => "context not sampled: no temperature, frequency, steal".to_owned(),
        (None, true) => "first counters appear after a second".to_owned(),
        (Some(machine), true) => counters(machine, canvas.looks),
    };
    let at = match snapshot.cpus.len() {
        all if all > cpus => canvas.put(1, y, &format!("the worst {cpus} of {all} CPUs; "), BOLD),
        _ => 1,
    };
    let at = canvas.put(at, y, &said, DIM);
    if let Some(events) = snapshot.machine.as_ref().and_then(|m| m.throttled).filter(|&n| n > 0) {
        canvas.put(at, y, &format!("; THROTTLED {events} times"), WARN);
    }
}

fn counters(machine: &Machine, looks: Looks) -> String {
    let temperature = match &machine.hottest {
        Some((name, value)) => format!("{} {}", celsius(*value, looks), sensor(name)),
        None => "no temperature sensor".into(),
    };
    let frequency = match machine.khz {
        Some((low, high)) if low == high => format!("{} before this load", hertz(low)),
        Some((low, high)) => format!("{} to {} before this load", hertz(low), hertz(high)),
        None => "frequency not read".into(),
    };
    match machine.steps_per_s {
        Some(steps) => format!("{temperature}; {frequency}, {steps:.0} steps/s"),
        None => format!("{temperature}; {frequency}"),
    }
}

/// Returns the short name of a sensor: `cpu-thermal` for `thermal_zone0 cpu-thermal`.
fn sensor(name: &str) -> String {
    let name = clean(name);
    name.split_once(' ')
        .filter(|(zone, _)| zone.starts_with("thermal_zone"))
        .map_or(name.clone(), |(_, kind)| kind.into())
}

fn footer(snapshot: &Snapshot, canvas: &mut Canvas, y: u16) {
    let pause = if snapshot.paused { "resume" } else { "pause display" };
    let mut at = 1;
    let run = [("q", "end"), ("p", pause), ("m", "mark"), ("n", "next load"), ("?", "help")];
    let attached = [("q", "leave"), ("p", pause), ("?", "help")];
    for (key, what) in if snapshot.attached { &attached[..] } else { &run[..] } {
        at = canvas.put(at, y, key, BOLD);
        at = canvas.put(at, y, &format!(" {what}   "), DIM);
    }
    if let Some(word) = &snapshot.word {
        canvas.put(at, y, &clean(word), BOLD);
    }
}

const ATTACHED_HELP: [(&str, &str); 4] = [
    ("q, Ctrl-C", "leave; the watch continues"),
    ("p, space", "freeze the display; the watch continues"),
    ("Ctrl-L", "redraw the screen"),
    ("?", "show or hide this help"),
];

const HELP: [(&str, &str); 6] = [
    ("q, Ctrl-C", "end the run: results so far are kept and reported"),
    ("p, space", "freeze the display; measuring and recording continue"),
    ("m", "mark this instant: an event in events.jsonl"),
    ("n", "end this load and start the next: it can then fail, but not pass"),
    ("Ctrl-L", "redraw the screen"),
    ("?", "show or hide this help"),
];

fn help(snapshot: &Snapshot, canvas: &mut Canvas) {
    let (_, height) = canvas.size();
    canvas.put(1, 0, "Keys", BOLD);
    let keys = if snapshot.attached { &ATTACHED_HELP[..] } else { &HELP[..] };
    for (y, (key, what)) in (1..).zip(keys) {
        canvas.put(1, y, key, BOLD);
        canvas.put(12, y, what, PLAIN);
    }
    let mut lines = vec![
        "skipped: periods that passed while a wakeup was late. steal: share of a".to_owned(),
        "CPU's time used by the hypervisor. min and worst are exact, the others".into(),
        "within 0.8 %. The heights of the histograms are logarithms of counts: one".into(),
        "wakeup is visible beside a million.".into(),
    ];
    if snapshot.attached {
        lines.push("The values are read from the run directory every 5 s.".into());
    } else {
        lines.push("Frequencies are read between loads only, because reading them causes latency.".into());
        lines.push("The view is drawn twice a second by one ordinary thread without locks.".into());
    }
    if snapshot.shared {
        lines.push("It shares CPUs with the measuring threads; leave one free with --cpus.".into());
    }
    for (y, line) in (keys.len() as u16 + 2..).zip(&lines) {
        if y < height {
            canvas.put(1, y, line, DIM);
        }
    }
}

fn small(snapshot: &Snapshot, canvas: &mut Canvas) {
    let (width, height) = canvas.size();
    let (phase, _) = left(snapshot);
    let mut first = format!("{:.0}% {} left", done(snapshot) * 100.0, text::rest(phase));
    if snapshot.paused {
        first = format!("PAUSED {first}");
    }
    let room = usize::from(width).saturating_sub(first.chars().count() + 1);
    let load = text::shortened(&clean(&snapshot.load), room.min(24), canvas.looks);
    let at = canvas.put(0, 0, &first, PLAIN);
    canvas.put(at.saturating_add(1), 0, &load, BOLD);
    let rows = usize::from(height.saturating_sub(if height > 3 { 2 } else { 1 }));
    for (y, view) in (1..).zip(shown(&snapshot.cpus, rows).into_iter().take(rows)) {
        small_row(snapshot, view, canvas, y);
    }
    if height > 3 {
        canvas.put(0, height - 1, "q p m n ?", DIM);
    }
}

fn small_row(snapshot: &Snapshot, view: &CpuView, canvas: &mut Canvas, y: u16) {
    let (width, _) = canvas.size();
    let at = canvas.put(0, y, &format!("{} ", view.cpu), DIM);
    let late = view.worst.zip(snapshot.deadline).is_some_and(|(worst, deadline)| worst > deadline.0);
    let at = canvas.put(at, y, &text::latency(view.worst, canvas.looks), if late { WARN } else { BOLD });
    let (more, look) = match view.skipped {
        0 => (format!("  p99 {}", text::latency(view.p99, canvas.looks)), DIM),
        skipped => (format!("  skipped {}", text::count(skipped)), WARN),
    };
    // A truncated number would be misread.
    if usize::from(at) + more.chars().count() <= usize::from(width) {
        canvas.put(at, y, &more, look);
    } else if view.skipped > 0 {
        canvas.put(at, y, " !", look);
    }
}
