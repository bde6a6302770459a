//! Creates recordings with given counts, and their verdicts.

use super::source::Counts;
use punctual_judge::judge;
use punctual_model::{
    Blocks, Claim, CpuResult, Distribution, EndedBy, Episodes, Kind, Outcome, Phase, Quantity, Recording, Run,
    Settings, Stamp, Tool, UntilDecided, Verdict,
};
use punctual_units::{CpuId, Nanos};
use std::collections::HashMap;

/// Period of the releases, for 1 kHz.
pub const PERIOD: Nanos = Nanos::from_millis(1);
/// Latency limit of every claim.
pub const LIMIT: Nanos = Nanos::from_micros(100);
/// Latency of a release that is on time, ns; a late release has the latency [`LATE`].
const IN_TIME: u64 = 5_000;
const LATE: u64 = 150_000;
const PHASE: &str = "1-idle";

/// Returns a complete run without problems, with one phase and one CPU for each cell.
pub fn recording(cells: &[(Counts, Option<Blocks>)], claim: &Claim, until_decided: bool) -> Recording {
    let stamp = Stamp { mono_ns: 0, boot_ns: 0, real_ns: 0 };
    let mut run = Run {
        complete: true,
        ended_by: Some(EndedBy::Duration),
        started: Some(stamp),
        ended: Some(stamp),
        settings: Settings {
            period_ns: Some(PERIOD),
            loads: vec!["idle".into()],
            claims: vec![claim.clone()],
            until_decided: until_decided.then_some(UntilDecided { max_ns: Nanos(u64::MAX) }),
            ..Settings::default()
        },
        ..Run::new(Tool::punctual(), Kind::Latency)
    };
    let mut phase = Phase {
        id: PHASE.into(),
        load: "idle".into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(0),
        end_mono_ns: Some(1),
        planned_ns: None,
        cpus: Vec::new(),
        load_report: None,
        busy_with_others: None,
        traced: None,
        rounds: Vec::new(),
        problems: Vec::new(),
    };
    let mut distributions = Vec::new();
    for (cpu, (counts, blocks)) in (0..).map(CpuId).zip(cells) {
        run.settings.cpus.insert(cpu);
        let mut distribution = Distribution::default();
        distribution.raw.record_n(IN_TIME, counts.released - counts.late);
        distribution.raw.record_n(LATE, counts.late);
        phase.cpus.push(CpuResult {
            cpu,
            tid: None,
            got: None,
            released: Some(counts.released),
            ran: counts.released,
            skipped: Some(0),
            min_ns: distribution.raw.min(),
            max_ns: distribution.raw.max(),
            mean_ns: distribution.raw.mean(),
            page_faults: None,
            involuntary_switches: None,
            run_delay_ns: None,
            blur: None,
            episodes: vec![episodes(counts, claim)],
            blocks: blocks.iter().cloned().collect(),
        });
        distributions.push(((PHASE.to_owned(), cpu), distribution));
    }
    run.phases.push(phase);
    Recording { distributions: distributions.into_iter().collect(), ..Recording::new(run) }
}

fn episodes(counts: &Counts, claim: &Claim) -> Episodes {
    Episodes {
        limit_ns: match claim.quantity {
            Quantity::Quantile { limit, .. } | Quantity::Max(limit) => Nanos(limit.0 - 1),
            _ => LIMIT,
        },
        count: counts.episodes,
        late: counts.late,
        area_ns: counts.late * (LATE - LIMIT.0),
        most_late: counts.late.min(counts.longest),
        longest: counts.longest,
        length: counts.late.max(counts.longest),
        open: counts.open,
        kept: Vec::new(),
    }
}

pub fn judged(cells: &[Counts], claim: &Claim) -> Verdict {
    let cells: Vec<(Counts, Option<Blocks>)> = cells.iter().map(|counts| (*counts, None)).collect();
    judge(&recording(&cells, claim, true), std::slice::from_ref(claim))
}

/// Computes the verdicts on one claim about a share. The same counts are judged only once, and counts that cannot
/// decide the claim are not judged at all.
///
/// A run with fewer late releases and episodes in more time is closer to a pass, and one with more of them in less time
/// is closer to a fail, whether or not an episode was longer than declared. If the former does not pass and the latter
/// does not fail, no run in between is decided. Both are computed from rounded counts, first coarsely, so that a few
/// recordings decide for many.
pub struct Judge {
    claim: Claim,
    outcomes: HashMap<Counts, Outcome>,
    evidence: HashMap<Counts, f64>,
}

/// Maximum number of outcomes that are kept in memory.
const REMEMBERED: usize = 2_000_000;
/// Binary digits kept when counts are rounded.
const DIGITS: [u32; 2] = [4, 7];

impl Judge {
    pub fn new(claim: Claim) -> Judge {
        Judge { claim, outcomes: HashMap::new(), evidence: HashMap::new() }
    }

    pub fn outcome(&mut self, counts: Counts) -> Outcome {
        let is_open = |digits: &u32| {
            self.remembered(near_pass(counts, *digits)) != Outcome::Pass
                && self.near_fail(counts, *digits).iter().all(|counts| self.remembered(*counts) != Outcome::Fail)
        };
        match DIGITS.iter().any(is_open) {
            true => Outcome::Inconclusive,
            false => self.remembered(counts),
        }
    }

    pub fn may_pass(&mut self, counts: Counts) -> bool {
        DIGITS.iter().all(|digits| self.remembered(near_pass(counts, *digits)) == Outcome::Pass)
    }

    fn remembered(&mut self, counts: Counts) -> Outcome {
        if self.outcomes.len() >= REMEMBERED {
            self.outcomes.clear();
        }
        let claim = &self.claim;
        *self.outcomes.entry(counts).or_insert_with(|| judged(&[counts], claim).outcome)
    }

    /// Returns counts that are late as often or more, in the same time or less: once without an episode longer than
    /// declared, once with one.
    fn near_fail(&self, counts: Counts, digits: u32) -> [Counts; 2] {
        let released = match down(counts.released / MINUTE, digits) {
            0 => counts.released,
            minutes => minutes * MINUTE,
        };
        let episodes = up(counts.episodes, digits);
        let late = up(counts.late, digits).max(episodes);
        let declared = self.claim.stall.map_or(1, |stall| stall.0.div_ceil(PERIOD.0));
        let most = Counts { released, episodes, late, longest: late.min(1), open: 0 };
        [most, Counts { longest: declared + 1, ..most }]
    }

    /// Returns an upper bound of the evidence (e-value) against the claim in one cell: the smallest power of two at
    /// whose confidence the cell alone does not fail.
    pub fn evidence_below(&mut self, counts: Counts) -> f64 {
        let claim = &self.claim;
        let below = |counts: Counts| {
            let fails = |power: f64| {
                let asked = Claim { confidence: 1.0 - 1.0 / power, ..claim.clone() };
                judged(&[counts], &asked).outcome == Outcome::Fail
            };
            (1..50).map(|power| 2f64.powi(power)).find(|power| !fails(*power)).unwrap_or(f64::INFINITY)
        };
        let both = self.near_fail(counts, DIGITS[1]);
        both.into_iter().map(|counts| *self.evidence.entry(counts).or_insert_with(|| below(counts))).fold(0.0, f64::max)
    }

    /// Returns the outcome for all cells together.
    pub fn together(&self, cells: &[Counts]) -> Outcome {
        judged(cells, &self.claim).outcome
    }

    /// Returns the amount of evidence that is needed to refute the claim for all cells together.
    pub fn evidence_needed(&self, cells: usize) -> f64 {
        cells as f64 / (1.0 - self.claim.confidence)
    }
}

fn step(n: u64, digits: u32) -> u64 {
    1 << n.max(1).ilog2().saturating_sub(digits)
}

fn down(n: u64, digits: u32) -> u64 {
    n / step(n, digits) * step(n, digits)
}

fn up(n: u64, digits: u32) -> u64 {
    n.next_multiple_of(step(n, digits))
}

/// Returns counts that are late as often or less, in the same time or more, with no episode longer than declared.
fn near_pass(counts: Counts, digits: u32) -> Counts {
    let episodes = down(counts.episodes, digits);
    let late = down(counts.late, digits).max(episodes);
    let released = up(counts.released.div_ceil(MINUTE), digits) * MINUTE;
    Counts { released, episodes, late, longest: late.min(1), open: 0 }
}

/// Number of releases per minute.
pub const MINUTE: u64 = 60_000_000_000 / PERIOD.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(text: &str) -> Claim {
        text.parse().expect(text)
    }

    /// In a recording without problems, a claim that is easily met passes and a wrong one fails.
    #[test]
    fn nothing_is_in_doubt() {
        let counts = Counts { released: 100 * MINUTE, ..Counts::default() };
        let verdict = judged(&[counts; 3], &claim("P(>100us) < 1e-6"));
        assert_eq!((verdict.outcome, verdict.problems.len()), (Outcome::Pass, 0));
        let late = Counts { episodes: 100, late: 100, longest: 1, ..counts };
        assert_eq!(judged(&[late], &claim("P(>100us) < 1e-6")).outcome, Outcome::Fail);
        assert_eq!(judged(&[late], &claim("P(>100us) < 1e-6 @stall 8ms")).outcome, Outcome::Fail);
    }

    #[test]
    fn what_is_not_judged_is_not_decided() {
        let claim = claim("P(>100us) < 1e-4 @stall 8ms");
        let mut judge = Judge::new(claim.clone());
        for minute in (1..700).step_by(37) {
            let expected = minute as f64 * 0.75;
            for of_expected in [0.0, 0.5, 0.8, 0.9, 1.0, 1.1, 1.2, 1.5] {
                let episodes = (of_expected * expected) as u64;
                let late = 8 * episodes;
                let counts = Counts { released: minute * MINUTE, episodes, late, longest: 8.min(late), open: 0 };
                assert_eq!(judge.outcome(counts), judged(&[counts], &claim).outcome, "{counts:?}");
            }
        }
    }
}
