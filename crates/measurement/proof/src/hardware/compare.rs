//! Compares gaps between clock readings with the trace.

use punctual_explain::{Activity, GapEvidence, GapSorter, Surroundings};
use punctual_measure::{GapPlan, Topology, steal_ticks};
use punctual_model::{ExplainedGap, Gap, GapFinding};
use punctual_rt::monotonic;
use punctual_units::{Arrange, CpuId, CpuList, Nanos};
use std::collections::{HashMap, VecDeque};

/// Time after a gap until the CPU time in it is accounted for, at the next tick or context switch, ns.
const SETTLE: u64 = 20_000_000;
const WAITING: usize = 1 << 16;
/// Minimum overlap of the gaps of two CPUs that count as one stall, percent.
const SAME: u64 = 80;

/// Number of steal time readings that are kept, enough for two intervals.
const SAMPLES: usize = 4;

/// Steal time of each CPU, in ticks; `None` if it could not be read.
type Ticks = Option<Vec<(CpuId, u64)>>;

pub(super) struct Comparison {
    plan: GapPlan,
    start: Nanos,
    online: CpuList,
    tids: HashMap<CpuId, i32>,
    /// True if the machine is virtual, or this is unknown.
    guest: bool,
    activity: Activity,
    sorter: GapSorter,
    waiting: Vec<Gap>,
    /// Gaps of the previous comparison, because a stall of all CPUs may extend over two comparisons.
    recent: Vec<Gap>,
    /// Recent readings of each CPU's steal time, newest last.
    steal: VecDeque<(u64, Ticks)>,
    /// Number of gaps dropped because the queue was full.
    pub dropped: u64,
}

impl Comparison {
    pub fn new(
        plan: &GapPlan,
        topology: &Topology,
        tids: Vec<(CpuId, i32)>,
        start: Nanos,
        virtualisation: &Option<String>,
    ) -> Comparison {
        Comparison {
            start,
            online: topology.online.clone(),
            tids: tids.into_iter().collect(),
            guest: virtualisation.as_deref() != Some("none"),
            activity: Activity::new(),
            sorter: GapSorter::new(plan.threshold.0),
            waiting: Vec::new(),
            recent: Vec::new(),
            steal: VecDeque::from([(start.0, steal_ticks())]),
            plan: plan.clone(),
            dropped: 0,
        }
    }

    pub fn activity(&mut self) -> &mut Activity {
        &mut self.activity
    }

    /// Queues a gap until the events during it have been read.
    pub fn gap(&mut self, gap: Gap) {
        if self.waiting.len() < WAITING {
            self.waiting.push(gap);
        } else {
            self.dropped += 1;
        }
    }

    /// Compares the gaps that ended long enough before `known_until`, up to which the trace was read.
    pub fn compare(&mut self, known_until: u64, traced: bool) {
        self.waiting.arrange_by_key(|gap| gap.start_ns);
        self.steal.push_back((monotonic().0, steal_ticks()));
        self.steal.drain(..self.steal.len().saturating_sub(SAMPLES));
        let settled = known_until.saturating_sub(if known_until == u64::MAX { 0 } else { SETTLE });
        let (ready, waiting) = std::mem::take(&mut self.waiting).into_iter().partition(|gap: &Gap| end(gap) <= settled);
        self.waiting = waiting;
        let ready: Vec<Gap> = ready;
        for gap in &ready {
            let evidence = GapEvidence {
                spans: if traced { self.activity.between(gap.cpu, gap.start_ns, end(gap)) } else { Vec::new() },
                tid: self.tids.get(&gap.cpu).copied().unwrap_or(0),
                at_once: self.at_once(gap, &ready),
                uncharged_ns: self.activity.uncharged(gap.cpu, gap.start_ns, end(gap)).filter(|_| self.guest),
                steal_rose: self.steal_rose(gap),
            };
            self.sorter.gap(*gap, &evidence);
        }
        self.recent = ready;
    }

    fn steal_rose(&self, gap: &Gap) -> Option<bool> {
        let of = |ticks: &Ticks| ticks.as_ref()?.iter().find(|(cpu, _)| *cpu == gap.cpu).map(|(_, n)| *n);
        let before = self.steal.iter().rev().find(|(t, _)| *t <= gap.start_ns).or(self.steal.front())?;
        // Steal time is accounted at a tick, which may occur a little later.
        let counted = end(gap).saturating_add(SETTLE);
        let after = self.steal.iter().find(|(t, _)| *t >= counted).or(self.steal.back())?;
        Some(of(&after.1)? > of(&before.1)?)
    }

    /// Returns true if the other CPUs stopped as well. A CPU did not stop if it switched tasks in the middle of the
    /// gap, or read its clock without a gap. `None` if that is unknown.
    fn at_once(&self, gap: &Gap, ready: &[Gap]) -> Option<bool> {
        let margin = gap.length_ns / 10;
        let (from, to) = (gap.start_ns.saturating_add(margin), end(gap).saturating_sub(margin));
        let others = || self.online.iter().filter(|cpu| *cpu != gap.cpu);
        if others().any(|cpu| self.activity.turned(cpu, from, to)) {
            return Some(false);
        }
        // A gap of another CPU slightly below the threshold is not reported.
        if gap.length_ns < 2 * self.plan.threshold.0 {
            return None;
        }
        let mut stood_still = None;
        for cpu in others().filter(|cpu| self.reads(*cpu, gap)) {
            let overlap = |other: &&Gap| end(other).min(end(gap)).saturating_sub(other.start_ns.max(gap.start_ns));
            let near = |list: &[Gap]| near(list, gap).iter().filter(|g| g.cpu == cpu).map(|g| overlap(&g)).max();
            let longest = near(ready).max(near(&self.recent)).max(near(&self.waiting)).unwrap_or(0);
            if longest < gap.length_ns / 100 * SAME {
                return Some(false);
            }
            stood_still = Some(true);
        }
        stood_still
    }

    /// Returns true if the thread on `cpu` should have read its clock during the whole gap.
    fn reads(&self, cpu: CpuId, gap: &Gap) -> bool {
        let at = |t: u64| self.plan.reads(cpu, Nanos(t).saturating_sub(self.start));
        // Windows are long, so a gap that starts and ends inside windows lies within one window.
        at(gap.start_ns) && at(end(gap)) && gap.length_ns < self.plan.window.0
    }

    pub fn finish(self, around: &Surroundings) -> (Vec<GapFinding>, Vec<ExplainedGap>) {
        self.sorter.finish(around)
    }
}

fn end(gap: &Gap) -> u64 {
    gap.start_ns.saturating_add(gap.length_ns)
}

/// Returns the gaps from a list sorted by start that may overlap `gap`. They are few unless the data is crafted.
fn near<'a>(list: &'a [Gap], gap: &Gap) -> &'a [Gap] {
    // A gap that started much earlier and still overlaps is at least that long. Searching back twice the gap's length
    // finds a stall of the same length.
    let first = list.partition_point(|g| g.start_ns < gap.start_ns.saturating_sub(gap.length_ns.saturating_mul(2)));
    let last = list.partition_point(|g| g.start_ns < end(gap));
    list.get(first..last.max(first)).unwrap_or_default()
}
