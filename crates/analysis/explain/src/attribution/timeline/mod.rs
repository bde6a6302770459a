//! Records the activity of every CPU around a late wakeup, in a second pass over the trace for wakeups that are known
//! to matter.
//!
//! It uses the same machine and rules as the first pass, so that picture and verdict agree.

mod join;
pub(super) mod lane;
mod states;

use super::machine::{Machine, Window};
use super::victim::moments;
use super::view::View;
use super::walk::{Drawn, Walk};
use super::{Facts, measured};
use punctual_model::{Moments, Timeline, Victim};
use punctual_trace::{Event, Kind, Source, TraceInfo};
use punctual_units::{Arrange, CpuId};
use std::collections::HashMap;

/// Minimum time shown before T0 and after T3; `MOST_MARGIN` is the maximum. Between these limits, it is the delay
/// divided by `MARGIN_PART`.
const LEAST_MARGIN: u64 = 50_000;
const MOST_MARGIN: u64 = 1_000_000;
const MARGIN_PART: u64 = 10;
const LANES: usize = 8;
/// Maximum number of spans examined, which limits the time for a crafted trace.
const WORK: u64 = 20_000_000;

/// Builds the timelines of known wakeups, event by event, in bounded memory.
#[derive(Debug)]
pub struct Timelines {
    machine: Machine,
    facts: Facts,
    /// Victims of a wakeup by thread, CPU and T2.
    wanted: HashMap<(i32, u32, u64), Vec<(Moments, usize)>>,
    /// Wakeups that are complete except for the margin after them.
    pending: Vec<Pending>,
    found: Vec<Option<Timeline>>,
    first: Option<u64>,
    work: u64,
}

/// A wakeup whose thread has started to run; kept until the margin after it ends.
#[derive(Debug)]
struct Pending {
    victims: Vec<usize>,
    window: Window,
    /// Time at which the thread read its clock, if known.
    t4: Option<u64>,
    drawn: Vec<Drawn>,
    /// Times at which the thread left a CPU since its switch, each with true if it was still runnable.
    outs: Vec<(u64, bool)>,
    end: u64,
}

impl Timelines {
    /// Creates the pass; `victims` and `facts` as in the first pass over the trace; victims without moments get no
    /// timeline.
    pub fn new(victims: &[Victim], facts: Facts) -> Timelines {
        let mut wanted: HashMap<_, Vec<(Moments, usize)>> = HashMap::new();
        for (n, victim) in victims.iter().enumerate() {
            if let (Some(tid), Some(cpu), Some(moments)) = (victim.tid, victim.cpu, victim.moments) {
                wanted.entry((tid, cpu, moments.t2_ns)).or_default().push((moments, n));
            }
        }
        Timelines {
            machine: Machine::default(),
            facts,
            wanted,
            pending: Vec::new(),
            found: vec![None; victims.len()],
            first: None,
            work: WORK,
        }
    }

    pub fn event(&mut self, event: &Event, info: &TraceInfo) {
        let begins = event.kind == Kind::Restart || event.t_ns < self.machine.now;
        if begins {
            self.conclude(u64::MAX);
            self.first = None;
        } else if self.pending.iter().any(|pending| pending.end < event.t_ns) {
            self.conclude(event.t_ns);
        }
        let window = self.machine.apply(event);
        if event.kind == Kind::Restart {
            return;
        }
        self.first.get_or_insert(event.t_ns);
        if let Kind::SchedSwitch { prev, prev_state, .. } = &event.kind {
            for pending in self.pending.iter_mut().filter(|p| p.window.tid == prev.tid && p.outs.len() < states::OUTS) {
                pending.outs.push((event.t_ns, prev_state.runnable()));
            }
        }
        if let Some(window) = window {
            if self.facts.kernel.is_none() {
                self.facts.kernel.clone_from(&info.kernel);
            }
            self.woken(window);
        }
    }

    /// Returns the timelines in the order of the victims; `None` if the wakeup was not found.
    pub fn finish(mut self) -> Vec<Option<Timeline>> {
        self.conclude(u64::MAX);
        self.found
    }

    fn woken(&mut self, mut window: Window) {
        let Some((moments, victims)) = self.wanted_as(&window).filter(|_| self.work > 0) else { return };
        // The first pass used the thread's own due time if that was more precise.
        (window.waking.t0, window.waking.t1) = (moments.t0_ns.min(window.waking.t2), moments.t1_ns);
        window.t3 = window.t3.min(moments.t3_ns);
        let (machine, facts) = (&self.machine, &self.facts);
        let mut walk = Walk { drawn: Some(Vec::new()), ..Walk::new(View { machine, window: &window, facts }) };
        walk.run();
        self.work = self.work.saturating_sub(walk.steps);
        let drawn = walk.drawn.unwrap_or_default();
        let t4 = moments.t4_ns.filter(|t4| *t4 >= window.t3);
        let end = t4.unwrap_or(window.t3).saturating_add(margin(&window));
        self.pending.push(Pending { victims, window, t4, drawn, outs: Vec::new(), end });
    }

    fn wanted_as(&mut self, window: &Window) -> Option<(Moments, Vec<usize>)> {
        let wanted = self.wanted.get_mut(&(window.tid, window.cpu, window.waking.t2))?;
        let exact = moments(window);
        let known = |m: &Moments| *m == exact || (m.t4_ns.is_some() && m.t2_ns == exact.t2_ns);
        let found = wanted.iter().map(|(moments, _)| *moments).find(known)?;
        let victims = wanted.iter().filter(|(moments, _)| *moments == found).map(|(_, n)| *n).collect();
        wanted.retain(|(moments, _)| *moments != found);
        Some((found, victims))
    }

    /// Draws the wakeups whose margin ends before `now`.
    fn conclude(&mut self, now: u64) {
        let (over, open) = std::mem::take(&mut self.pending).into_iter().partition(|pending| pending.end < now);
        self.pending = open;
        let over: Vec<Pending> = over;
        for mut pending in over {
            self.draw_after(&mut pending);
            // No further event occurred up to this moment.
            let known = if now == u64::MAX { self.machine.now } else { now };
            let timeline = self.draw(&pending, known.max(pending.window.t3));
            for n in pending.victims {
                if let Some(found) = self.found.get_mut(n) {
                    *found = Some(timeline.clone());
                }
            }
        }
    }

    /// Draws the time between the switch to the thread and its clock reading.
    fn draw_after(&mut self, pending: &mut Pending) {
        let Some(t4) = pending.t4 else { return };
        let (machine, facts) = (&self.machine, &self.facts);
        let drawn = Some(std::mem::take(&mut pending.drawn));
        let mut walk = Walk { drawn, ..Walk::new(View { machine, window: &pending.window, facts }) };
        measured::after(&mut walk, t4);
        self.work = self.work.saturating_sub(walk.steps);
        pending.drawn = walk.drawn.unwrap_or_default();
    }

    fn draw(&mut self, pending: &Pending, known: u64) -> Timeline {
        let Pending { window, .. } = pending;
        let waking = &window.waking;
        let first = self.first.unwrap_or(waking.t0);
        let start_ns = waking.t0.saturating_sub(margin(window)).max(first).min(waking.t0);
        let end_ns = pending.end.min(known);
        let cpus = self.cpus(window, (start_ns, end_ns));
        let mut notes = Vec::new();
        let mut lanes = Vec::new();
        for cpu in cpus.iter().copied().take(LANES) {
            let spans = lane::spans(&self.machine, &self.facts, pending, cpu, (start_ns, end_ns));
            self.work = self.work.saturating_sub(spans.len() as u64);
            lanes.push(join::lane(CpuId(cpu), spans, end_ns - start_ns, join::budget(lanes.len())));
        }
        if end_ns < pending.end {
            notes.push("the trace ends soon after the thread ran".to_owned());
        }
        if start_ns == first && first > waking.t0.saturating_sub(margin(window)) {
            notes.push("the trace begins shortly before the thread was due".to_owned());
        }
        Timeline {
            start_ns,
            end_ns,
            moments: Moments { t4_ns: pending.t4, ..moments(window) },
            states: states::of(&self.machine, pending, (start_ns, end_ns)),
            lanes,
            cpus_left_out: cpus.len().saturating_sub(LANES) as u32,
            notes,
        }
    }

    /// Returns the CPUs by importance: the victim's CPU, the CPUs on which it depended, then the others by activity.
    fn cpus(&self, window: &Window, (start, end): (u64, u64)) -> Vec<u32> {
        let path = window.waking.path.iter().map(|(_, cpu)| *cpu);
        let mut cpus = vec![window.cpu];
        for cpu in [window.waking.from_cpu].into_iter().chain(path) {
            if !cpus.contains(&cpu) && self.machine.cpu(cpu).is_some() {
                cpus.push(cpu);
            }
        }
        let others = self.machine.cpus().filter(|(cpu, _)| !cpus.contains(cpu));
        let mut others: Vec<(u64, u32)> = others.map(|(cpu, state)| (lane::busy(state, start, end), cpu)).collect();
        others.arrange_by_key(|(busy, cpu)| (std::cmp::Reverse(*busy), *cpu));
        cpus.extend(others.iter().map(|(_, cpu)| *cpu));
        cpus
    }
}

/// Returns the time shown before and after: a tenth of the delay, 50 µs to 1 ms.
fn margin(window: &Window) -> u64 {
    (window.t3.saturating_sub(window.waking.t0) / MARGIN_PART).clamp(LEAST_MARGIN, MOST_MARGIN)
}

/// Draws the timelines of `victims`, as [`super::explain`] found them in the same trace, which `source` reads again;
/// the result has the same order.
pub fn timelines(source: &mut dyn Source, victims: &[Victim], facts: Facts) -> Vec<Option<Timeline>> {
    let mut timelines = Timelines::new(victims, facts);
    while let Some(event) = source.next() {
        timelines.event(&event, source.info());
    }
    timelines.finish()
}
