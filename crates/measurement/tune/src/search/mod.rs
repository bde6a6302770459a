//! The search: screens candidates, confirms them with independent data, keeps those that help, and repeats.
//!
//! Architecture invariant: the search does not know how a block is measured or a fix applied; [`Bench`] implements
//! both.

mod costs;
mod plan;
#[cfg(test)]
mod tests;

use plan::{Judgement, alpha_of, is_futile, is_hopeless, judge, pairs_for};
use punctual_model::{Ended, Trial, TrialCost, TrialKind};
use punctual_stats::SplitMix64;

/// For each pair of blocks, the minimised quantity without and with a change, ns.
type Pairs = Vec<(f64, f64)>;

/// A change that may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub rule: String,
    /// Description of the change for the user.
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("time is up")]
    TimeUp,
    /// A signal or an error, described by the text.
    #[error("{0}")]
    Because(String),
}

/// Result of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Value of the minimised quantity in the block, ns.
    pub ns: f64,
    /// Power of the machine during the block, W; `None` if unknown.
    pub watts: Option<f64>,
}

pub trait Bench {
    /// Measures one block in the current state of the machine.
    ///
    /// # Errors
    /// The search must stop.
    fn block(&mut self) -> Result<Block, Stop>;

    /// Measures throughput with the changes applied so far, 1/s; `None` if it cannot be measured.
    ///
    /// # Errors
    /// The search must stop.
    fn work(&mut self) -> Result<Option<f64>, Stop>;

    /// Applies a change on trial. The inner error states why it failed; the change is then not tried again.
    ///
    /// # Errors
    /// The search must stop.
    fn apply(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop>;

    /// Applies a change permanently. The inner error states why it failed.
    ///
    /// # Errors
    /// The search must stop.
    fn keep(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop>;

    /// Undoes the change on trial.
    ///
    /// # Errors
    /// The search must stop, even if only undoing failed, because later measurements would be meaningless.
    fn revert(&mut self, candidate: &Candidate) -> Result<(), Stop>;

    /// Measures for as long as the claims require, and returns whether they hold; `None` if there are no claims.
    ///
    /// # Errors
    /// The search must stop.
    fn claims_hold(&mut self) -> Result<Option<bool>, Stop>;
}

#[derive(Clone, Debug)]
pub struct Rules {
    /// Maximum probability that any change is kept if none helps.
    pub alpha: f64,
    /// Number of pairs of a screening. It is odd, so that one pair is the median.
    pub screening: usize,
    /// Minimum reduction for keeping a change, as a share of the value without it; [`Rules::least_ns`] also applies.
    pub least_share: f64,
    /// Minimum reduction for keeping a change, ns; [`Rules::least_share`] also applies.
    pub least_ns: f64,
    /// Seed for the random order of the blocks.
    pub seed: u64,
}

impl Rules {
    /// Returns the default rules.
    pub fn new(seed: u64) -> Rules {
        Rules { alpha: 0.05, screening: 3, least_share: 0.02, least_ns: 1_000.0, seed }
    }
}

#[derive(Debug)]
pub struct Found {
    pub trials: Vec<Trial>,
    /// Candidates that could not be tried, each with the reason.
    pub not_tried: Vec<(String, String)>,
    /// Rules whose changes are kept.
    pub kept: Vec<String>,
    /// Values of the minimised quantity in blocks before any change, ns. `after` contains the values in blocks with all
    /// kept changes.
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    pub ended: Ended,
}

#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    Begins {
        candidate: &'a Candidate,
        /// True for a confirmation, false for a screening.
        confirming: bool,
        /// Position of the candidate in the round, counted from 1.
        number: usize,
        /// Number of candidates in the round.
        of: usize,
        /// Number of pairs planned, before [`Update::Paired`] or [`Update::Ended`].
        pairs: usize,
    },
    /// A pair of a screening was measured. The value is the result with the change minus the result without it, ns.
    Paired(f64),
    /// A confirmation has ended.
    Ended(&'a Trial),
}

pub type OnUpdate<'a> = &'a mut dyn FnMut(Update);

/// Returns the minimum number of blocks of a search. If no candidate helps, each is screened with more than half of its
/// pairs. Each kept change also requires the rest of its screening, its confirmation, and another screening of the
/// other candidates.
pub fn blocks(candidates: usize, kept: usize, rules: &Rules) -> usize {
    let kept = kept.min(candidates);
    let hopeless = rules.screening / 2 + 1;
    // A change that was kept completed its screening.
    let screening = |n: usize| 2 * ((candidates - n) * hopeless + usize::from(n < kept) * (rules.screening - hopeless));
    let confirming = |nth: usize| 2 * pairs_for(alpha_of(rules.alpha, nth as u64));
    (0..=kept).map(|n| screening(n) + if n > 0 { confirming(n) } else { 0 }).sum()
}

/// Returns the number of throughput measurements in a search with this number of candidates, of which `kept` are kept.
pub fn works(candidates: usize, kept: usize) -> usize {
    2 * kept.min(candidates) * costs::pairs_of_work()
}

/// Runs the search. When it returns, only kept changes are applied, unless undoing a change failed, which `ended`
/// reports.
pub fn search(candidates: Vec<Candidate>, bench: &mut dyn Bench, rules: &Rules, on_update: OnUpdate) -> Found {
    let found = Found {
        trials: Vec::new(),
        not_tried: Vec::new(),
        kept: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
        ended: Ended::NothingToTry,
    };
    let random = SplitMix64::new(rules.seed);
    let mut search = Search { open: candidates, bench, rules, on_update, random, confirmations: 0, found };
    search.found.ended = match search.run() {
        Ok(ended) => ended,
        Err(Stop::TimeUp) => Ended::TimeUp,
        Err(Stop::Because(why)) => Ended::Stopped { why },
    };
    search.found
}

enum Round {
    Kept,
    /// Some candidates seemed to help, but none was confirmed.
    Unconfirmed,
    Nothing,
}

struct Search<'a> {
    open: Vec<Candidate>,
    bench: &'a mut dyn Bench,
    rules: &'a Rules,
    on_update: OnUpdate<'a>,
    random: SplitMix64,
    confirmations: u64,
    found: Found,
}

/// A block without a change and a block with it.
type Pair = (Block, Block);

fn figures(pairs: &[Pair]) -> Vec<(f64, f64)> {
    pairs.iter().map(|(without, with)| (without.ns, with.ns)).collect()
}

impl Search<'_> {
    fn run(&mut self) -> Result<Ended, Stop> {
        let mut fruitless = 0;
        loop {
            if fruitless == 0 && self.bench.claims_hold()? == Some(true) {
                return Ok(Ended::ClaimsHold);
            }
            if self.open.is_empty() {
                return Ok(if self.found.trials.is_empty() { Ended::NothingToTry } else { Ended::NothingHelps });
            }
            // A candidate that seemed to help but was not confirmed is tried once more, because one outlier can hide a
            // real effect.
            match self.round()? {
                Round::Kept => fruitless = 0,
                Round::Unconfirmed if fruitless == 0 => fruitless += 1,
                Round::Unconfirmed | Round::Nothing => return Ok(Ended::NothingHelps),
            }
        }
    }

    /// Screens the open candidates, then confirms the promising ones, best first, until one is kept.
    fn round(&mut self) -> Result<Round, Stop> {
        let mut promising = Vec::new();
        for (candidate, pairs) in self.screened()? {
            let Some(judged) = judge(&pairs) else { continue };
            // Ranks by the median pair. With three pairs, one outlier would affect half of the Walsh averages.
            let differences: Vec<f64> = pairs.iter().map(|(without, with)| with - without).collect();
            let seems = punctual_stats::median(&differences).unwrap_or(0.0);
            if self.is_worth_it(&pairs, seems) {
                promising.push((seems, candidate.clone()));
            }
            self.note(&candidate, pairs, &judged, TrialKind::Screening, Vec::new());
        }
        promising.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (before, (_, candidate)) in promising.iter().enumerate() {
            if self.confirm(candidate, before + 1, promising.len())? {
                return Ok(Round::Kept);
            }
        }
        Ok(if promising.is_empty() { Round::Nothing } else { Round::Unconfirmed })
    }

    /// Measures one pair of each open candidate per pass, in a new random order for each pass. A temporary disturbance
    /// then affects one pair of several candidates instead of all pairs of one. Candidates whose median pair can no
    /// longer be good enough are dropped.
    fn screened(&mut self) -> Result<Vec<(Candidate, Pairs)>, Stop> {
        let all = self.rules.screening;
        let mut screened: Vec<(Candidate, Pairs)> = self.open.iter().map(|open| (open.clone(), Vec::new())).collect();
        for _ in 0..all {
            let least = |usual: f64| self.least(usual);
            let mut turn: Vec<usize> = (0..screened.len())
                .filter(|n| !screened.get(*n).is_some_and(|s| is_hopeless(&s.1, all, least)))
                .collect();
            self.random.shuffle(&mut turn);
            let of = turn.len();
            for (number, n) in (1..).zip(turn) {
                let Some((candidate, pairs)) = screened.get_mut(n) else { continue };
                (self.on_update)(Update::Begins { candidate, confirming: false, number, of, pairs: 1 });
                let Some((without, with)) = self.pair(candidate)? else { continue };
                (self.on_update)(Update::Paired(with.ns - without.ns));
                pairs.push((without.ns, with.ns));
            }
            screened.retain(|(candidate, _)| self.open.contains(candidate));
        }
        Ok(screened)
    }

    /// Measures independent pairs, and keeps the change if they show that it helps. Returns whether it was kept.
    fn confirm(&mut self, candidate: &Candidate, number: usize, of: usize) -> Result<bool, Stop> {
        self.confirmations += 1;
        let alpha = alpha_of(self.rules.alpha, self.confirmations);
        (self.on_update)(Update::Begins { candidate, confirming: true, number, of, pairs: pairs_for(alpha) });
        let Some(blocks) = self.confirmed(candidate, alpha)? else { return Ok(false) };
        let pairs = figures(&blocks);
        let Some(judged) = judge(&pairs) else { return Ok(false) };
        let helps = judged.p <= alpha && self.is_worth_it(&pairs, judged.shift.value);
        let costs = if helps { self.costs(candidate, &blocks)? } else { Vec::new() };
        let kept = match helps {
            true => match self.bench.keep(candidate)? {
                Ok(()) => true,
                Err(why) => {
                    self.found
                        .not_tried
                        .push((candidate.rule.clone(), format!("it helps, but could not be made permanent: {why}")));
                    self.open.retain(|open| open != candidate);
                    false
                }
            },
            false => false,
        };
        self.note(candidate, pairs.clone(), &judged, TrialKind::Confirmation { p: judged.p, alpha, kept }, costs);
        if kept {
            self.open.retain(|open| open != candidate);
            self.found.kept.push(candidate.rule.clone());
            self.found.after = pairs.into_iter().map(|(_, with)| with).collect();
        }
        Ok(kept)
    }

    fn is_worth_it(&self, pairs: &[(f64, f64)], shift: f64) -> bool {
        let without: Vec<f64> = pairs.iter().map(|(without, _)| *without).collect();
        let usual = punctual_stats::median(&without).unwrap_or(0.0);
        -shift >= self.least(usual)
    }

    /// Returns the smallest effect that counts, given the typical value of a block, ns.
    fn least(&self, usual: f64) -> f64 {
        self.rules.least_ns.max(usual * self.rules.least_share)
    }

    /// Measures pairs, and stops early if level `alpha` can no longer be reached. `None` if the change could not be
    /// applied, and is no longer a candidate.
    fn confirmed(&mut self, candidate: &Candidate, alpha: f64) -> Result<Option<Vec<Pair>>, Stop> {
        let (all, mut pairs) = (pairs_for(alpha), Vec::new());
        while pairs.len() < all && !is_futile(&figures(&pairs), all, alpha) {
            let Some(pair) = self.pair(candidate)? else { return Ok(None) };
            pairs.push(pair);
        }
        Ok(Some(pairs))
    }

    /// Measures a block without the change and one with it, in random order; returns `None` in the same cases as
    /// [`Search::confirmed`].
    fn pair(&mut self, candidate: &Candidate) -> Result<Option<Pair>, Stop> {
        let early = if self.random.below(2) == 0 { Some(self.without()?) } else { None };
        let Some(with) = self.with(candidate, |bench| bench.block())? else { return Ok(None) };
        let without = match early {
            Some(without) => without,
            None => self.without()?,
        };
        Ok(Some((without, with)))
    }

    /// Calls `measure` while the change is applied; `None` if it could not be applied, and is no longer a candidate.
    fn with<T>(
        &mut self,
        candidate: &Candidate,
        measure: impl FnOnce(&mut dyn Bench) -> Result<T, Stop>,
    ) -> Result<Option<T>, Stop> {
        if let Err(why) = self.bench.apply(candidate)? {
            self.found.not_tried.push((candidate.rule.clone(), why));
            self.open.retain(|open| open != candidate);
            return Ok(None);
        }
        let measured = measure(self.bench);
        // The change is undone even if the measurement was interrupted.
        self.bench.revert(candidate)?;
        measured.map(Some)
    }

    fn without(&mut self) -> Result<Block, Stop> {
        let block = self.bench.block()?;
        if self.found.kept.is_empty() {
            self.found.before.push(block.ns);
        }
        Ok(block)
    }

    fn note(
        &mut self,
        candidate: &Candidate,
        pairs: Vec<(f64, f64)>,
        judged: &Judgement,
        kind: TrialKind,
        costs: Vec<TrialCost>,
    ) {
        let trial = Trial {
            rule: candidate.rule.clone(),
            what: candidate.what.clone(),
            round: self.found.kept.len(),
            shift_ns: judged.shift.value,
            interval_ns: judged.shift.interval.map(|i| (i.low, i.high)),
            pairs,
            kind,
            costs,
        };
        if kind != TrialKind::Screening {
            (self.on_update)(Update::Ended(&trial));
        }
        self.found.trials.push(trial);
    }
}
