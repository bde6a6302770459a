//! One thread's cycles in one phase.

use super::breach::Ended;
use super::learn::Learned;
use super::without::Without;
use crate::meter::{self, Part};
use crate::shares::Shares;
use punctual_explain::{Closed, Culprit};
use punctual_judge::{block_limits, episode_limits};
use punctual_measure::{Cell, GRID, LIMITS};
use punctual_model::{AppCycles, AppDelay, AppValue, Claim, Class, CpuResult, Cycle, Distribution, WatchAppThread};
use punctual_rt::Wakeup;
use punctual_units::{CpuId, Nanos};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Number of longest cycles in the results.
const SHOWN: usize = 8;
/// Number of ended cycles that are kept for chains.
const RECENT: usize = 4096;

/// A quantity measured for each cycle or pass, for example the response time, with its distribution.
pub(super) struct Value {
    pub value: AppValue,
    pub cell: Arc<Cell>,
    shares: Shares,
}

impl Value {
    pub fn new(value: AppValue, claims: &[Claim], keep: usize, period: Option<Nanos>) -> Value {
        let own: Vec<Claim> = claims.iter().filter(|claim| claim.of.as_ref() == Some(&value)).cloned().collect();
        let limits = episode_limits(&own, period.unwrap_or(Nanos(u64::MAX)), None);
        let limits: Vec<Nanos> = limits.into_iter().chain(GRID).take(LIMITS).collect();
        Value { value, cell: Arc::new(Cell::new(keep).with_limits(&limits)), shares: Shares::new(block_limits(&own)) }
    }

    /// Counts the values recorded since the last call as one block of time.
    pub fn block(&mut self, cpu: CpuId) {
        let (raw, skipped) = self.cell.histograms();
        self.shares.add(cpu, &Distribution { raw, skipped });
    }

    pub fn part(mut self, cpu: CpuId, period: Option<Nanos>, thread: CpuResult) -> Part {
        self.block(cpu);
        let mut part = Part { value: Some((self.value, period)), ..Part::default() };
        let episodes = self.cell.episodes(self.cell.histograms().0.count() + self.cell.histograms().1.count());
        meter::add(&mut part, cpu, &self.cell, CpuResult { episodes, ..thread });
        self.shares.move_to(&mut part.cpus);
        part
    }
}

/// Times between releases by the thread's timer.
#[derive(Default)]
struct Intervals {
    count: u64,
    sum: u64,
    /// Number of intervals that were far from the period although the previous cycle had ended in time.
    odd: u64,
}

pub(super) struct Lane {
    pub learned: Learned,
    from: u64,
    to: u64,
    pub response: Value,
    jitter: Value,
    cpu: Value,
    /// The latest cycle. The number of releases skipped after it is not known until the next cycle has ended.
    pending: Option<Closed>,
    /// Numbers of the next release and of the next jitter value.
    numbers: (u64, u64),
    /// Start of the previous cycle, ns.
    before: Option<u64>,
    pub recent: VecDeque<Closed>,
    totals: AppCycles,
    unknown: u64,
    intervals: Intervals,
    /// The cycle that had lasted longer than a period when the phase ended, and had not ended.
    unfinished: Option<Cycle>,
    delays: BTreeMap<Class, u64>,
    without: Without,
    cpus: BTreeMap<u32, u64>,
}

impl Lane {
    /// Creates the record of a thread's cycles. Only cycles released in `from..to` are counted.
    pub fn new(learned: Learned, claims: &[Claim], keep: usize, (from, to): (Nanos, Nanos), load: &str) -> Lane {
        let name = learned.thread.name.clone();
        let period = learned.thread.period_ns;
        let value = |value| Value::new(value, claims, keep, period);
        Lane {
            response: value(AppValue::Response(name.clone())),
            jitter: value(AppValue::Jitter(name.clone())),
            cpu: value(AppValue::Cpu(name.clone())),
            learned,
            from: from.0,
            to: to.0,
            pending: None,
            numbers: (0, 0),
            before: None,
            recent: VecDeque::new(),
            totals: AppCycles {
                load: load.to_owned(),
                thread: name,
                cycles: 0,
                skipped: 0,
                overruns: 0,
                response_ns: 0,
                behind_ns: 0,
                ran_ns: 0,
                blocked_ns: 0,
                delays: Vec::new(),
                worst: Vec::new(),
                longest_ns: Vec::new(),
                other_delays_ns: 0,
                without: Vec::new(),
            },
            unknown: 0,
            intervals: Intervals::default(),
            unfinished: None,
            delays: BTreeMap::new(),
            without: Without::default(),
            cpus: BTreeMap::new(),
        }
    }

    /// Sets the measured threads.
    pub fn beside(&mut self, measured: Vec<i32>) {
        self.without = Without::new(measured);
    }

    /// Returns the number of cycles whose release time is unknown.
    pub fn unknown(&self) -> u64 {
        self.unknown
    }

    /// Returns the time from the end of the last cycle to the end of the phase if it is far longer than usual.
    pub fn silence(&self) -> Option<Nanos> {
        const OFTEN: u64 = 10;
        let last = self.pending.as_ref().map(|last| last.end_ns).unwrap_or(self.from);
        let usual = self.to.saturating_sub(self.from) / (self.totals.cycles + 1);
        let usual = self.learned.thread.period_ns.map_or(usual, |period| period.0);
        let silent = self.to.saturating_sub(last);
        (silent > OFTEN * usual).then_some(Nanos(silent))
    }

    pub fn phase(&self) -> (u64, u64) {
        (self.from, self.to)
    }

    pub fn counts(&self, release: u64) -> bool {
        (self.from..self.to).contains(&release)
    }

    /// Counts a cycle. Returns its values that may break a claim.
    pub fn cycle(&mut self, closed: Closed) -> Ended {
        let mut ended = Ended {
            release: closed.release_ns,
            end: closed.end_ns,
            ran: closed.ran_ns,
            jitter: None,
            skipped: (closed.release_ns, 0),
        };
        if let Some(pending) = self.pending.take() {
            // If events were lost, there may have been other cycles in between.
            let is_known = closed.is_next && pending.is_timed && closed.is_timed;
            let skipped = if is_known { self.skipped(pending.release_ns, closed.release_ns) } else { 0 };
            if let Some(period) = self.learned.grid.filter(|_| is_known && self.counts(closed.release_ns)) {
                let between = closed.release_ns.saturating_sub(pending.release_ns);
                let was_in_time = pending.end_ns.saturating_sub(pending.release_ns) <= period.0;
                if was_in_time {
                    ended.skipped = (pending.release_ns, skipped);
                }
                self.intervals.count += 1;
                self.intervals.sum += between;
                self.intervals.odd += u64::from(was_in_time && between.abs_diff(period.0) > period.0 / 4);
            }
            self.settle(&pending, skipped);
        }
        let before = self.before.replace(closed.start_ns).filter(|_| closed.is_next);
        if let (Some(before), Some(period), true) =
            (before, self.learned.thread.period_ns, self.counts(closed.release_ns))
        {
            let between = closed.start_ns.saturating_sub(before);
            let whole = (between + period.0 / 2) / period.0.max(1) * period.0;
            let (cycle, release) = (self.numbers.1, Nanos(closed.start_ns));
            self.numbers.1 += 1;
            let woke = release + Nanos(between.abs_diff(whole));
            ended.jitter = Some(between.abs_diff(whole));
            self.jitter.cell.record(&Wakeup { cycle, release, woke, skipped: 0 }, u64::MAX);
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(closed.clone());
        self.pending = Some(closed);
        ended
    }

    /// Returns the numbers of cycles, of releases without a cycle, and of cycles longer than the period so far, and the
    /// longest response.
    pub fn so_far(&self) -> WatchAppThread {
        let AppCycles { cycles, skipped, overruns, .. } = self.totals;
        let longest = self.response.cell.worst().first().map(|worst| Nanos(worst.latency));
        WatchAppThread { thread: self.learned.thread.name.clone(), cycles, skipped, overruns, longest_ns: longest }
    }

    /// Returns the number of the next release in the phase, and counts it and the `skipped` ones after it.
    fn number(&mut self, skipped: u64) -> u64 {
        let number = self.numbers.0;
        self.numbers.0 += 1 + skipped;
        number
    }

    /// Returns the number of releases between two cycles that led to no cycle.
    fn skipped(&self, release: u64, next: u64) -> u64 {
        let Some(period) = self.learned.grid else { return 0 };
        let periods = (next.saturating_sub(release) + period.0 / 2) / period.0.max(1);
        let last = self.to.saturating_sub(release).saturating_sub(1) / period.0.max(1);
        periods.saturating_sub(1).min(last)
    }

    fn settle(&mut self, closed: &Closed, skipped: u64) {
        if !self.counts(closed.release_ns) {
            return;
        }
        let response = closed.end_ns.saturating_sub(closed.release_ns);
        let period = self.learned.grid.map_or(u64::MAX, |period| period.0);
        let own = skipped.min(response / period);
        let cycle = self.number(skipped);
        let wakeup = |ns: u64, skipped| Wakeup {
            cycle,
            release: Nanos(closed.release_ns),
            woke: Nanos(closed.release_ns.saturating_add(ns)),
            skipped,
        };
        self.response.cell.record(&wakeup(response, own), period);
        self.response.cell.skip(skipped - own);
        let ran = Wakeup { cycle: self.totals.cycles, ..wakeup(closed.ran_ns, 0) };
        self.cpu.cell.record(&ran, u64::MAX);
        self.unknown += u64::from(!closed.is_known);
        let totals = &mut self.totals;
        totals.cycles += 1;
        totals.skipped += skipped;
        totals.overruns += u64::from(self.learned.thread.period_ns.is_some_and(|period| response > period.0));
        totals.response_ns += response;
        totals.behind_ns += closed.behind_ns;
        totals.ran_ns += closed.ran_ns;
        totals.blocked_ns += closed.blocked_ns;
        closed.delays.iter().for_each(|delay| *self.delays.entry(delay.by.class).or_default() += delay.ns);
        self.without.cycle(closed);
        *self.cpus.entry(closed.cpu).or_default() += 1;
    }

    /// Records a cycle that has lasted longer than a period and has not ended.
    pub fn unfinished(&mut self, release: u64, now: u64, cycle: Option<Cycle>) {
        let release = Wakeup { cycle: self.numbers.0, release: Nanos(release), woke: Nanos(now), skipped: 0 };
        self.response.cell.record(&release, u64::MAX);
        self.unfinished = cycle;
    }

    /// Returns the mean time between the thread's releases if its timer did not keep to the period determined before
    /// the measurement.
    pub fn changed_period(&self) -> Option<Nanos> {
        const FEW: u64 = 4;
        let Intervals { count, sum, odd } = self.intervals;
        (odd >= FEW && odd > count / 20).then(|| Nanos(sum / count))
    }

    pub fn blocks(&mut self) {
        let cpu = self.home();
        [&mut self.response, &mut self.jitter, &mut self.cpu].into_iter().for_each(|value| value.block(cpu));
    }

    /// Returns the CPU on which most of the thread's cycles started.
    pub fn home(&self) -> CpuId {
        CpuId(self.cpus.iter().max_by_key(|(_, count)| **count).map_or(0, |(cpu, _)| *cpu))
    }

    /// Returns the results. `until` is the time up to which missing cycles after the last one count as skipped
    /// releases; `None` if they do not count. `interrupt` names the interrupts that delayed the cycles.
    pub fn finish(
        mut self,
        worst: &[Cycle],
        until: Option<u64>,
        interrupt: &dyn Fn(Culprit) -> Option<String>,
    ) -> (Vec<Part>, AppCycles) {
        if let Some(last) = self.pending.take() {
            // The next cycle is due one period later. A cycle that has not ended is not a skip.
            let most = until.filter(|_| last.is_timed).map_or(0, |until| {
                let next = until.min(self.to).saturating_add(self.learned.grid.map_or(0, |period| period.0 / 2));
                self.skipped(last.release_ns, next)
            });
            self.settle(&last, most);
        }
        let cpu = self.home();
        let thread = &self.learned.thread;
        let result = CpuResult { tid: Some(thread.tid), got: Some(thread.scheduling), ..meter::nothing(cpu) };
        let period = thread.period_ns;
        let mut parts = vec![self.response.part(cpu, period, result.clone())];
        parts.extend(period.map(|_| self.jitter.part(cpu, period, result.clone())));
        parts.push(self.cpu.part(cpu, period, result));
        self.totals.delays = self.delays.into_iter().map(|(class, ns)| AppDelay { class, ns }).collect();
        self.totals.delays.sort_by_key(|delay| std::cmp::Reverse(delay.ns));
        self.without.finish(&mut self.totals, interrupt);
        self.totals.worst = self
            .unfinished
            .iter()
            .chain(worst)
            .filter(|cycle| (self.from..self.to).contains(&cycle.release_ns))
            .cloned()
            .collect();
        self.totals.worst.sort_by_key(|cycle| std::cmp::Reverse(cycle.length_ns));
        self.totals.worst.truncate(SHOWN);
        (parts, self.totals)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use punctual_cycles::{Awaited, WaitCall};
    use punctual_explain::{Delay, Released};
    use punctual_model::AppThread;
    use punctual_units::Scheduling;

    const MS: u64 = 1_000_000;

    fn lane() -> Lane {
        lane_of("control", 7)
    }

    /// Returns a lane with a period of 1 ms, in a phase from 10 to 20 ms.
    pub(in crate::app) fn lane_of(name: &str, tid: i32) -> Lane {
        let learned = Learned {
            thread: AppThread {
                name: name.into(),
                tid,
                pid: 7,
                program: "plc".into(),
                scheduling: Scheduling::Other { nice: 0 },
                cpus: None,
                release: "absolute sleep".into(),
                released_by: Vec::new(),
                call: "clock_nanosleep(2)".into(),
                period_ns: Some(Nanos(MS)),
                phase_ns: None,
                jitter_ns: None,
                ambiguous_with: None,
            },
            awaited: Awaited::only(WaitCall::new(230, &[], [0, 0])),
            grid: Some(Nanos(MS)),
        };
        Lane::new(learned, &[], 16, (Nanos(10 * MS), Nanos(20 * MS)), "idle")
    }

    pub(in crate::app) fn closed(release: u64, length: u64) -> Closed {
        Closed {
            tid: 7,
            release_ns: release,
            start_ns: release + 10_000,
            end_ns: release + length,
            cpu: 1,
            is_next: true,
            is_timed: true,
            is_known: true,
            released_in: None,
            releases: vec![Released { at_ns: release, by: Some(0) }],
            given: Vec::new(),
            behind_ns: 0,
            ran_ns: length - 10_000,
            blocked_ns: 0,
            delays: vec![Delay { by: Culprit::thread(Class::Irq, 9), comm: None, ns: 10_000, sure_ns: 10_000 }],
        }
    }

    pub(in crate::app) fn totals() -> AppCycles {
        lane().totals
    }

    fn results(lane: Lane) -> (AppCycles, CpuResult) {
        let (parts, totals) = lane.finish(&[], None, &|_| None);
        assert_eq!(
            totals.behind_ns + totals.ran_ns + totals.blocked_ns + totals.delays.iter().map(|d| d.ns).sum::<u64>(),
            totals.response_ns
        );
        (totals, parts[0].cpus[0].clone())
    }

    #[test]
    fn cycles_released_in_the_phase_count() {
        let mut lane = lane();
        for n in 5..25 {
            lane.cycle(closed(n * MS, 200_000));
        }
        let (totals, response) = results(lane);
        assert_eq!((totals.cycles, totals.skipped, totals.overruns), (10, 0, 0));
        assert_eq!((response.released, response.max_ns, response.cpu), (Some(10), Some(200_000), CpuId(1)));
    }

    #[test]
    fn a_cycle_over_several_periods_skips_the_releases_in_it() {
        let mut lane = lane();
        lane.cycle(closed(10 * MS, 200_000));
        lane.cycle(closed(11 * MS, 2_300_000));
        lane.cycle(closed(14 * MS, 200_000));
        let (totals, response) = results(lane);
        assert_eq!((totals.cycles, totals.skipped, totals.overruns), (3, 2, 1));
        assert_eq!((response.released, response.skipped), (Some(5), Some(2)));
    }

    #[test]
    fn nothing_is_skipped_where_events_were_lost() {
        let mut lane = lane();
        lane.cycle(closed(10 * MS, 200_000));
        lane.cycle(Closed { is_next: false, ..closed(17 * MS, 200_000) });
        let (totals, _) = results(lane);
        assert_eq!((totals.cycles, totals.skipped), (2, 0));
    }

    #[test]
    fn releases_after_the_end_of_the_phase_are_not_skipped() {
        let mut lane = lane();
        lane.cycle(closed(18 * MS, 200_000));
        lane.cycle(closed(30 * MS, 200_000));
        let (totals, _) = results(lane);
        assert_eq!((totals.cycles, totals.skipped), (1, 1));
    }

    #[test]
    fn a_changed_period_is_said_and_an_overrun_is_none() {
        let with = |cycles: &[(u64, u64)]| {
            let mut lane = lane();
            for (release, length) in cycles {
                lane.cycle(closed(*release, *length));
            }
            lane.changed_period()
        };
        let every = |step: u64| (0..).map(move |n| (10 * MS + n * step, 200_000)).take_while(|(t, _)| *t < 20 * MS);
        assert_eq!(with(&every(MS).collect::<Vec<_>>()), None);
        assert_eq!(with(&every(MS / 2).collect::<Vec<_>>()), Some(Nanos(MS / 2)));
        assert_eq!(with(&every(2 * MS).collect::<Vec<_>>()), Some(Nanos(2 * MS)));
        let late: Vec<_> = every(2 * MS).map(|(release, _)| (release, 1_500_000)).collect();
        assert_eq!(with(&late), None);
    }

    #[test]
    fn a_cycle_that_has_not_ended_is_among_the_longest() {
        let mut lane = lane();
        lane.cycle(closed(10 * MS, 200_000));
        let cycle = Cycle {
            tid: 7,
            comm: None,
            scheduled: Default::default(),
            cpu: 1,
            release_ns: 11 * MS,
            length_ns: 9 * MS,
            behind_ns: 0,
            ran_ns: 0,
            delays: Vec::new(),
            blocked: Vec::new(),
            verdict: "it has not ended".into(),
        };
        lane.unfinished(11 * MS, 20 * MS, Some(cycle));
        let (totals, response) = results(lane);
        assert_eq!((totals.worst.len(), response.max_ns), (1, Some(9 * MS)));
    }
}
