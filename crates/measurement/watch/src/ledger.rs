//! State of the series, and writing of its files. The context thread supplies samples every few seconds.
//!
//! A write error is reported once and counted, and writing is repeated at the next checkpoint, while measuring
//! continues.

use crate::budget::Kept;
use crate::lines::Lines;
use crate::notify::Notify;
use crate::options::Options;
use crate::own;
use crate::segment::{self, Ending, Open};
use crate::state::{self, STATE};
use punctual_directory::Dir;
use punctual_measure::{Cell, Plan, Recorder, Running, clocks, steal_ticks};
use punctual_model::{
    BlockMaximum, Capture, ContextSample, Event, Reading, Stamp, Watch, WatchBlock, WatchCpu, WatchLine, WatchMaximum,
    WindowMax,
};
use punctual_proof::Blocks;
use punctual_rundir::Progress;
use punctual_units::{CpuId, CpuList, Histogram, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Receives messages for the user, one line at a time.
pub type OnMessage = Arc<dyn Fn(&str) + Send + Sync>;

/// Minimum free space for completing a run directory, bytes.
const LEAST_FREE: u64 = 512 << 10;

pub(crate) struct Ledger {
    pub dir: Dir,
    pub sync: bool,
    pub on_message: OnMessage,
    pub watch: Watch,
    pub lines: Lines,
    pub notify: Notify,
    pub segment: Option<Open>,
    /// CPUs to measure while they are online.
    pub wanted: CpuList,
    /// True if the segment should end, because it has reached its full length or the set of online CPUs has changed.
    pub renew: bool,
    /// Steal time of each CPU at the last checkpoint, in ticks.
    pub steal: Option<Vec<(CpuId, u64)>>,
    pub blocks: Blocks,
    /// Traces on disk.
    pub kept: Kept,
    /// Windows of the application's events in the current segment.
    pub windows: Vec<Capture>,
    /// Total size of the files when this process started, bytes.
    pub bytes_at_start: u64,
    /// Total size of the traces among the files when this process started, bytes.
    pub traces_at_start: u64,
    pub textfile: Textfile,
    /// Latency histogram of each CPU over all segments that this process has completed.
    pub earlier: BTreeMap<CpuId, Histogram>,
    /// Throttling within the current block, and the latest temperatures.
    pub thermal: ContextSample,
    /// Latest note of the series, and how often it was repeated.
    pub remarked: (String, u64),
    /// Time since which nothing has been measured (CLOCK_REALTIME, ns), and the reason.
    pub paused: Option<(u64, String)>,
    /// CPUs lost in this segment. The loss is reported with every sample until they return.
    pub away: BTreeSet<CpuId>,
}

pub(crate) struct Textfile {
    pub path: Option<PathBuf>,
    pub every: Nanos,
    /// Time at which the textfile is written next, CLOCK_MONOTONIC.
    pub next: Nanos,
}

/// Converts a time on CLOCK_MONOTONIC to CLOCK_REALTIME, ns.
pub(crate) fn real_of(now: &Stamp, mono_ns: u64) -> u64 {
    now.real_ns.saturating_sub(now.mono_ns.saturating_sub(mono_ns)).saturating_add(mono_ns.saturating_sub(now.mono_ns))
}

impl Ledger {
    /// Adds a note for the user and the series. A note repeated every few seconds, possibly for weeks, is only counted.
    pub fn note(&mut self, text: String) {
        if self.remarked.0 == text {
            self.remarked.1 += 1;
            return;
        }
        self.end_remark();
        (self.on_message)(&text);
        self.lines.push(&WatchLine::Note { real_ns: clocks().real_ns, text: text.clone() });
        self.remarked.0 = text;
    }

    fn end_remark(&mut self) {
        let (text, repeated) = std::mem::take(&mut self.remarked);
        if repeated > 0 {
            let text = format!("repeated {repeated} times: {text}");
            self.lines.push(&WatchLine::Note { real_ns: clocks().real_ns, text });
        }
    }

    /// Records that the measurement is interrupted.
    pub fn pause(&mut self, why: String) {
        let now = clocks().real_ns;
        self.paused.get_or_insert((now, why));
    }

    /// Records that the measurement continues, or that the watch ends.
    pub fn resume(&mut self) {
        if let Some((from_real_ns, why)) = self.paused.take() {
            self.lines.push(&WatchLine::Gap { from_real_ns, to_real_ns: clocks().real_ns, why });
        }
        self.end_remark();
    }

    pub fn begin_segment(&mut self, options: &Options, plan: &Plan, running: &Running, explicit: bool) {
        self.resume();
        self.away.clear();
        let base = self.watch.cpus.iter().map(|cpu| (cpu.cpu, (cpu.ran, cpu.skipped))).collect();
        let open = Open::begin(&self.dir, options, plan, running, explicit, base);
        self.watch.segment = Some(open.name.clone());
        self.watch.settings.cpus = plan.cpus.clone();
        self.segment = Some(open);
        self.renew = false;
    }

    /// Returns true if there is enough disk space to end the segment. Otherwise the segment continues.
    pub fn has_room(&self) -> bool {
        let free = rustix::fs::fstatvfs(&self.dir).ok().map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize));
        self.watch.disk.failing.is_none() && free.is_none_or(|free| free >= LEAST_FREE)
    }

    /// Ends the segment and writes its results to files. Returns the errors of writing.
    pub fn end_segment(&mut self, mut ending: Ending) -> Option<String> {
        ending.captures.append(&mut self.windows);
        let mut open = self.segment.take()?;
        for (cpu, distribution) in &ending.outcome.distributions {
            let all = distribution.corrected();
            self.earlier.entry(*cpu).and_modify(|before| before.merge(&all)).or_insert(all);
        }
        for result in &ending.outcome.cpus {
            let (ran, skipped) = open.base.get(&result.cpu).copied().unwrap_or_default();
            let entry = self.cpu(result.cpu);
            (entry.ran, entry.skipped) = (ran + result.ran, skipped + result.skipped.unwrap_or(0));
            entry.released = entry.ran + entry.skipped;
            entry.release_mono_ns = None;
        }
        self.watch.segment = None;
        let name = open.name.clone();
        match open.writer.take() {
            None => Some(format!("{name}: the run directory could not be created; its maxima are in the series")),
            Some(writer) => segment::finish(open, writer, ending).err().map(|e| e.to_string()),
        }
    }

    pub fn cpu(&mut self, cpu: CpuId) -> &mut WatchCpu {
        let cpus = &mut self.watch.cpus;
        let at = cpus.binary_search_by_key(&cpu, |one| one.cpu).unwrap_or_else(|at| {
            let (ever, since_start_ns, release_mono_ns) = (None, None, None);
            cpus.insert(at, WatchCpu { cpu, ever, since_start_ns, released: 0, ran: 0, skipped: 0, release_mono_ns });
            at
        });
        &mut cpus[at]
    }

    pub fn maximum(&mut self, maximum: WatchMaximum) {
        let entry = self.cpu(maximum.cpu);
        let is_later = entry.ever.as_ref().is_none_or(|ever| ever.latency_ns < maximum.latency_ns);
        let is_same = entry.ever.as_ref().is_some_and(|ever| ever.mono_ns == maximum.mono_ns);
        if is_later || is_same {
            entry.ever = Some(maximum.clone());
        }
        self.lines.push(&WatchLine::Maximum(maximum));
    }

    fn take(&mut self, cpu: CpuId, raw: &Histogram, skipped: &Histogram, cell: &Cell) {
        let now = clocks();
        let Some(open) = &self.segment else { return };
        let (ran, missed) = open.base.get(&cpu).copied().unwrap_or_default();
        let segment = Some(open.name.clone());
        let (untraced, floor) = (self.watch.untraced.clone(), self.watch.settings.trace_above_ns.0);
        let worst = cell.worst().into_iter().next();
        let entry = self.cpu(cpu);
        entry.ran = ran + raw.count();
        entry.skipped = missed + skipped.count();
        entry.released = entry.ran + entry.skipped;
        let Some(worst) = worst else { return };
        entry.release_mono_ns = Some(worst.release);
        let is_new = entry.since_start_ns.is_none_or(|before| before < worst.latency);
        entry.since_start_ns = entry.since_start_ns.max(Some(worst.latency));
        let (real_ns, is_traced) = (real_of(&now, worst.release), untraced.is_none());
        let maximum = WatchMaximum {
            cpu,
            real_ns,
            mono_ns: worst.release,
            latency_ns: worst.latency,
            segment,
            verdict: None,
            why_not: untraced,
            trace: None,
        };
        let counts = is_new && !is_traced && worst.latency > floor;
        if entry.ever.as_ref().is_none_or(|ever| ever.latency_ns < worst.latency) {
            entry.ever = Some(maximum.clone());
        }
        if counts {
            self.watch.maxima.seen += 1;
            self.watch.maxima.failed += 1;
            self.lines.push(&WatchLine::Maximum(maximum));
        }
    }

    fn window(&mut self, window: &WindowMax) {
        let done = self.blocks.add(window);
        if let Some(block) = block_of(&done) {
            self.end_block(block, &done, window.mono_ns);
        }
        self.watch.block = block_of(self.blocks.running());
    }

    /// Ends a block: writes a line of the series, and adds the block's maxima, throttling and temperatures to the run
    /// directory.
    fn end_block(&mut self, block: WatchBlock, maxima: &[BlockMaximum], mono_ns: u64) {
        let max_ns = block.max_ns.iter().map(|(cpu, max)| (*cpu, max.unwrap_or(0))).collect();
        let interval_ns = block.lasts_ns;
        self.lines.push(&WatchLine::Block(block));
        let thermal = std::mem::take(&mut self.thermal);
        let Some(open) = &mut self.segment else { return };
        self.renew |= mono_ns + self.watch.settings.block_ns.0 / 2 >= open.due_mono.0;
        let Some(writer) = &mut open.writer else { return };
        writer.maxima(maxima);
        writer.event(&Event::Context(ContextSample { mono_ns, interval_ns, ..thermal }));
        writer.event(&Event::Window(WindowMax { mono_ns, interval_ns, phase: open.phase.id.clone(), max_ns }));
    }

    fn upset(&mut self, event: &Event) {
        let text = match event {
            Event::ClockStep { step_ns, .. } => {
                self.watch.upsets.clock_steps += 1;
                clock_was_set(*step_ns)
            }
            Event::Suspend { asleep_ns, .. } => {
                self.watch.upsets.suspends += 1;
                format!("the machine was suspended for {}", Nanos(*asleep_ns))
            }
            Event::CpuLost { cpu, text, .. } if self.away.insert(*cpu) => {
                self.watch.upsets.cpus_lost += 1;
                text.clone()
            }
            _ => return,
        };
        self.note(text);
        if let Some(writer) = self.segment.as_mut().and_then(|open| open.writer.as_mut()) {
            writer.event(event);
        }
    }

    /// Writes all files. A write failure is reported when it begins and when it ends.
    pub fn checkpoint(&mut self) {
        self.watch.updated = clocks();
        self.watch.cost = own::cost();
        self.watch.disk.lines_lost = self.lines.lost();
        let failed = self.write();
        match (&failed, self.watch.disk.failing.take()) {
            (Some(why), None) => {
                let then = match state::is_removed(&self.dir) {
                    true => "at the end the results are shown, and only there",
                    false => "unwritten data is written as soon as that is possible",
                };
                (self.on_message)(&format!("{why}\n  measuring continues; {then}"));
            }
            (None, Some(why)) => self.note(format!("files can be written again; earlier error: {why}")),
            _ => {}
        }
        self.watch.disk.failures += u64::from(failed.is_some());
        self.watch.disk.failing = failed;
        self.steal = steal_ticks();
    }

    /// Writes all files. Returns the first error.
    fn write(&mut self) -> Option<String> {
        if state::is_removed(&self.dir) {
            return Some(state::removed(&self.dir));
        }
        let mut failed = self.segment.as_mut().and_then(|open| open.flush(self.sync));
        if let Err(e) = self.lines.write(self.sync) {
            failed.get_or_insert(format!("cannot write {}: {e}", self.dir.path().join(crate::lines::SERIES).display()));
        }
        let state = serde_json::to_vec_pretty(&self.watch).map_err(|e| e.to_string());
        let written = state.and_then(|text| self.dir.replace(STATE, &text, false).map_err(|e| e.to_string()));
        failed = failed.or(written.err());
        let now = punctual_rt::monotonic();
        if now >= self.textfile.next {
            self.textfile.next = now + self.textfile.every;
            failed = failed.or(self.prometheus());
        }
        failed
    }

    pub fn prometheus(&self) -> Option<String> {
        let path = self.textfile.path.as_ref()?;
        let cells = self.segment.iter().flat_map(|open| &open.cells);
        let mut all = self.earlier.clone();
        for (cpu, cell) in cells {
            let (mut raw, skipped) = cell.histograms();
            raw.merge(&skipped);
            all.entry(*cpu).and_modify(|before| before.merge(&raw)).or_insert(raw);
        }
        let all: Vec<(CpuId, Histogram)> = all.into_iter().collect();
        let text = punctual_formats::watch_prometheus(&self.watch, &all);
        let written = Dir::of_file(path).and_then(|(dir, name)| dir.replace(name, text.as_bytes(), false));
        written.err().map(|e| e.to_string())
    }

    /// Checks whether the set of online CPUs has changed.
    fn look_at_cpus(&mut self) {
        let Some(online) = own::online() else { return };
        let measured = self.segment.as_ref().map(|open| open.cells.iter().map(|(cpu, _)| *cpu).collect::<CpuList>());
        self.renew |= measured.is_some_and(|measured| measured != self.wanted.and(&online));
    }

    fn status(&self) -> String {
        let max = self.watch.cpus.iter().filter_map(|cpu| Some((cpu.since_start_ns?, cpu.cpu))).max();
        let max = max.map_or("no wakeup yet".into(), |(ns, cpu)| format!("worst wakeup {} on CPU {cpu}", Nanos(ns)));
        let failing = if self.watch.disk.failing.is_some() { "; FILES CANNOT BE WRITTEN" } else { "" };
        format!(
            "WATCHDOG=1\nSTATUS={max}, {} of {} new maxima explained{failing}",
            self.watch.maxima.explained, self.watch.maxima.seen
        )
    }
}

/// Combines the maxima of all CPUs in the same interval into a block; `None` if there are none.
fn block_of(maxima: &[BlockMaximum]) -> Option<WatchBlock> {
    let from = maxima.iter().map(|block| block.from_mono_ns).min()?;
    let to = maxima.iter().map(|block| block.to_mono_ns).max()?;
    let max_ns = maxima.iter().map(|block| (block.cpu, block.max_ns)).collect();
    Some(WatchBlock { from_real_ns: real_of(&clocks(), from), lasts_ns: to.saturating_sub(from), max_ns })
}

impl Recorder for Ledger {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Window(window) => self.window(window),
            Event::Context(sample) => {
                self.thermal.temperatures.clone_from(&sample.temperatures);
                add(&mut self.thermal.throttling, &sample.throttling);
            }
            other => self.upset(other),
        }
    }

    fn progress(&mut self, phase: &str, cpu: CpuId, cell: &Cell) {
        let (raw, skipped) = cell.histograms();
        let episodes = cell.episodes(raw.count() + skipped.count());
        self.take(cpu, &raw, &skipped, cell);
        let worst = cell.worst().into_iter().map(|kept| kept.of(phase, cpu)).collect();
        if let Some(writer) = self.segment.as_mut().and_then(|open| open.writer.as_mut()) {
            writer.progress(Progress {
                phase: phase.to_owned(),
                cpu,
                mono_ns: clocks().mono_ns,
                raw,
                skipped,
                worst,
                episodes,
            });
        }
    }

    fn flush(&mut self) {
        self.checkpoint();
        self.look_at_cpus();
        self.notify.send(&self.status());
    }
}

fn add(sums: &mut Vec<Reading>, new: &[Reading]) {
    for reading in new {
        match sums.iter_mut().find(|sum| sum.name == reading.name) {
            Some(sum) => sum.value = sum.value.saturating_add(reading.value),
            None => sums.push(reading.clone()),
        }
    }
}

fn clock_was_set(step_ns: i64) -> String {
    let direction = if step_ns < 0 { "back" } else { "forward" };
    format!("the wall clock was set {direction} by {}", Nanos(step_ns.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_and_after_a_stamp_are_reported() {
        let now = Stamp { mono_ns: 1_000, boot_ns: 1_000, real_ns: 5_000 };
        assert_eq!((real_of(&now, 400), real_of(&now, 1_000), real_of(&now, 1_500)), (4_400, 5_000, 5_500));
    }

    #[test]
    fn steps_below_a_second_have_their_size() {
        assert_eq!(clock_was_set(-612_000_000), "the wall clock was set back by 612 ms");
        assert_eq!(clock_was_set(31_536_000_000_000_000), "the wall clock was set forward by 365 days");
    }

    #[test]
    fn throttling_adds_up_by_name() {
        let reading = |name: &str, value| Reading { name: name.into(), value };
        let mut sums = Vec::new();
        add(&mut sums, &[reading("a", 1), reading("b", 2)]);
        add(&mut sums, &[reading("b", 3)]);
        assert_eq!(sums, [reading("a", 1), reading("b", 5)]);
    }

    #[test]
    fn a_block_has_every_cpu_and_no_block_none() {
        assert_eq!(block_of(&[]), None);
        let of = |cpu, max_ns| BlockMaximum {
            phase: "1-watch".into(),
            cpu: CpuId(cpu),
            from_mono_ns: 5,
            to_mono_ns: 15,
            max_ns,
        };
        let block = block_of(&[of(0, Some(7)), of(1, None)]).unwrap();
        assert_eq!((block.lasts_ns, block.max_ns), (10, vec![(CpuId(0), Some(7)), (CpuId(1), None)]));
    }
}
