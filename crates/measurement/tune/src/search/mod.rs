//! The search: screens candidates, confirms them with independent data, keeps those that help, and repeats.
//!
//! Architecture invariant: does not depend on how a block is measured and a fix applied, which [`Bench`] implements.

mod costs;
mod plan;
#[cfg(test)]
mod tests;

use plan::{Judgement, alpha_of, is_futile, is_hopeless, judge, pairs_for};
use punctual_model::{Ended, Trial, TrialCost, TrialKind};
use punctual_stats::SplitMix64;

/// Pairs of the minimised values without and with a change, ns.
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
    /// Measures a block.
    ///
    /// # Errors
    /// The search must stop.
    fn block(&mut self) -> Result<Block, Stop>;

    /// Throughput with the applied changes, 1/s; `None` if it cannot be measured.
    ///
    /// # Errors
    /// The search must stop.
    fn work(&mut self) -> Result<Option<f64>, Stop>;

    /// Applies a change. The inner error is the reason for a failure, after which the change is not tried again.
    ///
    /// # Errors
    /// The search must stop.
    fn apply(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop>;

    /// Applies a change permanently. The inner error is the reason for a failure.
    ///
    /// # Errors
    /// The search must stop.
    fn keep(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop>;

    /// Undoes the change on trial.
    ///
    /// # Errors
    /// The search must stop, even if only undoing failed, since later measurements would be meaningless.
    fn revert(&mut self, candidate: &Candidate) -> Result<(), Stop>;

    /// Measures for as long as the claims require, and returns whether they hold; `None` if there are none.
    ///
    /// # Errors
    /// The search must stop.
    fn claims_hold(&mut self) -> Result<Option<bool>, Stop>;
}

#[derive(Clone, Debug)]
pub struct Rules {
    /// Probability of keeping any change if none helps.
    pub alpha: f64,
    /// Number of pairs of a screening. It is odd, so that there is a median pair.
    pub screening: usize,
    /// Minimum reduction for keeping a change, as a share of the value without it. [`Rules::least_ns`] applies as well.
    pub least_share: f64,
    /// Minimum reduction for keeping a change, ns.
    pub least_ns: f64,
    /// Seed of the order in which blocks are measured.
    pub seed: u64,
}

impl Rules {
    /// The default rules.
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
    /// Values of blocks before any change. `after` has those of blocks with all kept changes.
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
        /// Number of pairs before [`Update::Paired`] or [`Update::Ended`].
        pairs: usize,
    },
    /// A pair of a screening was measured: value with the change minus value without it, ns.
    Paired(f64),
    /// A confirmation has ended.
    Ended(&'a Trial),
}

pub type OnUpdate<'a> = &'a mut dyn FnMut(Update);

/// Minimum number of blocks of a search. Without a helpful candidate, each is screened with more than half of its
/// pairs. Each kept change also requires the rest of its screening, its confirmation, and another screening of the
/// others.
pub fn blocks(candidates: usize, kept: usize, rules: &Rules) -> usize {
    let kept = kept.min(candidates);
    let hopeless = rules.screening / 2 + 1;
    // A change kept at the end of a round has a complete screening.
    let screening = |n: usize| 2 * ((candidates - n) * hopeless + usize::from(n < kept) * (rules.screening - hopeless));
    let confirming = |nth: usize| 2 * pairs_for(alpha_of(rules.alpha, nth as u64));
    (0..=kept).map(|n| screening(n) + if n > 0 { confirming(n) } else { 0 }).sum()
}

/// Number of throughput measurements in a search that keeps `kept` of this number of candidates.
pub fn works(candidates: usize, kept: usize) -> usize {
    2 * kept.min(candidates) * costs::pairs_of_work()
}

/// Runs the search. However it ends, only kept changes are applied when it returns, unless undoing failed, which
/// `ended` reports.
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

/// Blocks without and with a change.
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
            // true effect.
            match self.round()? {
                Round::Kept => fruitless = 0,
                Round::Unconfirmed if fruitless == 0 => fruitless += 1,
                Round::Unconfirmed | Round::Nothing => return Ok(Ended::NothingHelps),
            }
        }
    }

    /// Screens the open candidates and confirms the promising ones, best first, until one is kept.
    fn round(&mut self) -> Result<Round, Stop> {
        let mut promising = Vec::new();
        for (candidate, pairs) in self.screened()? {
            let Some(judged) = judge(&pairs) else { continue };
            // Uses the median pair. With three pairs, one outlier affects half of the Walsh averages.
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

    /// Measures a pair of each open candidate in turn, in a new random order for each round of pairs. A temporary
    /// disturbance then affects one pair of several candidates, not all pairs of one. Candidates whose median pair can
    /// no longer suffice are dropped.
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

    /// Measures independent pairs, and keeps the change if they show that it helps.
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

    /// The smallest effect that counts, given the typical value of a block.
    fn least(&self, usual: f64) -> f64 {
        self.rules.least_ns.max(usual * self.rules.least_share)
    }

    /// Measures pairs, and stops early if `alpha` can no longer be reached. `None` if the change could not be applied
    /// and is no longer a candidate.
    fn confirmed(&mut self, candidate: &Candidate, alpha: f64) -> Result<Option<Vec<Pair>>, Stop> {
        let (all, mut pairs) = (pairs_for(alpha), Vec::new());
        while pairs.len() < all && !is_futile(&figures(&pairs), all, alpha) {
            let Some(pair) = self.pair(candidate)? else { return Ok(None) };
            pairs.push(pair);
        }
        Ok(Some(pairs))
    }

    /// A block without the change and one with it, in random order. `None` as for [`Search::confirmed`].
    fn pair(&mut self, candidate: &Candidate) -> Result<Option<Pair>, Stop> {
        let early = if self.random.below(2) == 0 { Some(self.without()?) } else { None };
        let Some(with) = self.with(candidate, |bench| bench.block())? else { return Ok(None) };
        let without = match early {
            Some(without) => without,
            None => self.without()?,
        };
        Ok(Some((without, with)))
    }

    /// Runs `measure` while the change is applied. `None` if it could not be applied and is no longer a candidate.
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
        // The change is undone even if measuring was stopped.
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
