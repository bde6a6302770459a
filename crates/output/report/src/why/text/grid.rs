use crate::clean;
use crate::svg::axis::{Scale, Unit, plain};
use crate::text::page::Tint;
use crate::words::causes;
use punctual_model::{Class, Lane, Span, SpanKind, ThreadState, Timeline, Victim};
use punctual_units::{Arrange, Nanos};

const NAMES: usize = 9;
/// Maximum number of CPUs shown; at most `SPANS` spans of each are used.
const LANES: usize = 8;
const SPANS: usize = 1_000;
/// Letters for the first threads; all other threads share one letter.
const LETTERS: &str = "ABCDEFGH";
const OTHER: char = 'o';
const STILL: char = '%';

pub struct Grid<'a> {
    victim: &'a Victim,
    timeline: &'a Timeline,
    columns: usize,
    /// The tid, the displayed name and the time in the picture (ns) of each thread, longest first.
    threads: Vec<(Option<i32>, String, u64)>,
}

impl<'a> Grid<'a> {
    pub fn new(victim: &'a Victim, timeline: &'a Timeline, width: usize) -> Grid<'a> {
        let mut threads: Vec<(Option<i32>, String, u64)> = Vec::new();
        let spans = timeline.lanes.iter().take(LANES).flat_map(|lane| lane.spans.iter().take(SPANS));
        for span in spans.filter(|span| span.kind == SpanKind::Task && !is_victim(victim, span)) {
            let ns = span.end_ns.saturating_sub(span.start_ns);
            match threads.iter_mut().find(|(tid, ..)| *tid == span.tid) {
                Some(known) => known.2 = known.2.saturating_add(ns),
                None => threads.push((span.tid, span.scheduled.thread(Some(&span.label), span.tid), ns)),
            }
        }
        threads.arrange_by_key(|thread| std::cmp::Reverse(thread.2));
        Grid { victim, timeline, columns: width.saturating_sub(NAMES + 1).max(10), threads }
    }

    /// Returns the positions of T0 to T3; those that do not fit appear only in the list below.
    pub fn marks(&self) -> String {
        let mut row = vec![' '; self.columns + 2];
        let mut marks = causes::moments(self.timeline);
        marks.arrange_by_key(|(name, ..)| matches!(*name, "T1" | "T2"));
        for (name, at, _) in marks {
            let at = self.column(at);
            let near = row.get(at.saturating_sub(1)..(at + 3).min(row.len())).unwrap_or_default();
            if near.iter().all(|c| *c == ' ') {
                row.iter_mut().skip(at).zip(name.chars()).for_each(|(cell, c)| *cell = c);
            }
        }
        named("", &row.into_iter().collect::<String>())
    }

    /// Returns the thread's states, then every CPU: interrupts on top, if any, and what ran below them.
    pub fn rows(&self) -> Vec<(Tint, String)> {
        let mut rows = vec![(Tint::Plain, named("thread", &self.states()))];
        for lane in self.timeline.lanes.iter().take(LANES) {
            let name = format!("CPU {}", lane.cpu);
            let tint = if Some(lane.cpu.0) == self.victim.cpu { Tint::Strong } else { Tint::Plain };
            if let Some(on_top) = self.on_top(lane) {
                rows.push((Tint::Plain, named("", &on_top)));
            }
            rows.push((tint, named(&name, &self.below(lane))));
        }
        rows
    }

    pub fn axis(&self) -> String {
        let t0 = self.timeline.moments.t0_ns;
        let (start, end) = (self.relative(self.timeline.start_ns), self.relative(self.timeline.end_ns));
        let unit = Unit::for_latency(end - start);
        let scale = Scale::linear(start / unit.ns, end / unit.ns, (0.0, self.columns as f64));
        let mut row = vec![' '; self.columns];
        let mut free = 0;
        for tick in scale.ticks(self.columns / 14) {
            let text = if tick == 0.0 { format!("0 {}", unit.name) } else { plain(tick) };
            let at = self.column(t0.saturating_add_signed((tick * unit.ns) as i64));
            if at >= free && at + text.chars().count() <= self.columns {
                row.iter_mut().skip(at).zip(text.chars()).for_each(|(cell, c)| *cell = c);
                free = at + text.chars().count() + 1;
            }
        }
        named("", &row.into_iter().collect::<String>())
    }

    pub fn keys(&self) -> Vec<(char, String)> {
        let shown: String = self.timeline.lanes.iter().take(LANES).map(|lane| self.below(lane)).collect();
        let mut keys: Vec<(char, String)> = LETTERS
            .chars()
            .zip(&self.threads)
            .filter(|(letter, (tid, ..))| shown.contains(*letter) || !self.why(*tid).is_empty())
            .map(|(letter, (tid, name, ns))| (letter, format!("{name}, {}{}", Nanos(*ns), self.why(*tid))))
            .collect();
        match self.threads.len() - keys.len() {
            0 => {}
            1 => keys.push((OTHER, "another thread, which ran too briefly for a letter".to_owned())),
            n => keys.push((OTHER, format!("{n} other threads, which ran too briefly for letters"))),
        }
        keys.push(('*', "the late thread; above: - due, = runnable, # running".to_owned()));
        if shown.contains(STILL) {
            keys.push((STILL, "the CPU stalled (hypervisor or firmware)".to_owned()));
        }
        keys.push(('.', "idle; ? not traced; on top ! interrupt, ~ softirq".to_owned()));
        keys
    }

    /// Returns the contribution of a thread to the delay, and the class of that cause.
    fn why(&self, tid: Option<i32>) -> String {
        let cause = self.victim.causes.iter().find(|cause| tid.is_some() && cause.tid == tid);
        cause
            .map(|cause| format!(": {} of the delay, {}", Nanos(cause.ns), causes::class(cause.class)))
            .unwrap_or_default()
    }

    fn states(&self) -> String {
        let spans = self.timeline.states.iter().take(SPANS).map(|state| {
            let cell = match state.state {
                ThreadState::Sleeping => ' ',
                ThreadState::Due => '-',
                ThreadState::Runnable => '=',
                ThreadState::Running => '#',
            };
            (state.start_ns, state.end_ns, cell)
        });
        self.cells(spans, ' ')
    }

    fn below(&self, lane: &Lane) -> String {
        let spans = lane.spans.iter().take(SPANS).filter_map(|span| {
            let cell = match span.kind {
                _ if matches!(span.cause, Some(Class::Steal | Class::MachineStall)) => STILL,
                SpanKind::Task => self.letter(span),
                SpanKind::Idle => '.',
                SpanKind::Unknown => '?',
                SpanKind::Softirq | SpanKind::Irq | SpanKind::Nmi => return None,
            };
            Some((span.start_ns, span.end_ns, cell))
        });
        self.cells(spans, '?')
    }

    fn letter(&self, span: &Span) -> char {
        if is_victim(self.victim, span) {
            return '*';
        }
        let at = self.threads.iter().position(|(tid, ..)| *tid == span.tid);
        at.and_then(|at| LETTERS.chars().nth(at)).unwrap_or(OTHER)
    }

    /// Returns the row of interrupts; they are short, so every column that an interrupt touches shows it.
    fn on_top(&self, lane: &Lane) -> Option<String> {
        let mut row = vec![' '; self.columns];
        for (kinds, mark) in [(&[SpanKind::Softirq][..], '~'), (&[SpanKind::Irq, SpanKind::Nmi][..], '!')] {
            for span in lane.spans.iter().take(SPANS).filter(|span| kinds.contains(&span.kind)) {
                let (from, to) = (self.column(span.start_ns), self.column(span.end_ns.max(span.start_ns)));
                row.iter_mut().take(to + 1).skip(from).for_each(|cell| *cell = mark);
            }
        }
        row.iter().any(|cell| *cell != ' ').then(|| row.into_iter().collect())
    }

    /// Returns the characters of a row; each column shows what took most of its time.
    fn cells(&self, spans: impl Iterator<Item = (u64, u64, char)>, blank: char) -> String {
        let mut most = vec![(0.0, blank); self.columns];
        let width = (self.relative(self.timeline.end_ns) - self.relative(self.timeline.start_ns)) / self.columns as f64;
        for (from, to, cell) in spans {
            let (first, last) = (self.column(from), self.column(to.max(from)));
            for (n, best) in most.iter_mut().enumerate().take(last + 1).skip(first) {
                let start = self.relative(self.timeline.start_ns) + n as f64 * width;
                let inside = self.relative(to).min(start + width) - self.relative(from).max(start);
                if inside > best.0 {
                    *best = (inside, cell);
                }
            }
        }
        most.into_iter().map(|(_, cell)| cell).collect()
    }

    fn relative(&self, t: u64) -> f64 {
        (i128::from(t) - i128::from(self.timeline.moments.t0_ns)) as f64
    }

    fn column(&self, t: u64) -> usize {
        let (start, end) = (self.relative(self.timeline.start_ns), self.relative(self.timeline.end_ns));
        let share = (self.relative(t) - start) / (end - start).max(1.0);
        ((share.clamp(0.0, 1.0) * self.columns as f64) as usize).min(self.columns - 1)
    }
}

fn is_victim(victim: &Victim, span: &Span) -> bool {
    span.tid.is_some() && span.tid == victim.tid
}

fn named(name: &str, row: &str) -> String {
    format!("{:<NAMES$}{row}", clean::clip(name, NAMES - 1))
}
