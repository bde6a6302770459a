//! The search: screen, confirm with fresh data, keep, again.
//!
//! Architecture invariant: knows neither how a block is measured nor how a fix is applied; both are behind [`Bench`].

mod plan;
#[cfg(test)]
mod tests;

use plan::{Judgement, alpha_of, is_futile, is_hopeless, judge, pairs_for};
use punctual_model::{Ended, Trial, TrialKind};

/// A change that may help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub rule: String,
    /// What it changes, for people.
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    #[error("time is up")]
    TimeUp,
    /// A signal or an error.
    #[error("{0}")]
    Because(String),
}

pub trait Bench {
    /// Measures one block with the applied changes; its figure in ns.
    ///
    /// # Errors
    /// [`Stop`].
    fn block(&mut self) -> Result<f64, Stop>;

    /// Applies a change. The inner error says why that failed: it is not tried again.
    ///
    /// # Errors
    /// [`Stop`].
    fn apply(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop>;

    /// Applies a change permanently. The inner error says why that failed.
    ///
    /// # Errors
    /// [`Stop`].
    fn keep(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop>;

    /// Undoes what is on trial.
    ///
    /// # Errors
    /// [`Stop`] also if undoing failed: later measurements would be meaningless.
    fn revert(&mut self, candidate: &Candidate) -> Result<(), Stop>;

    /// Do the claims hold now, measured for as long as they need? `None`: there are none.
    ///
    /// # Errors
    /// [`Stop`].
    fn claims_hold(&mut self) -> Result<Option<bool>, Stop>;
}

#[derive(Clone, Debug)]
pub struct Rules {
    /// Probability to keep anything where nothing helps.
    pub alpha: f64,
    /// Pairs of a screening; an odd number, so that there is a middle one.
    pub screening: usize,
    /// A change is kept only if it saves at least this share of the figure without it …
    pub least_share: f64,
    /// … and this, ns.
    pub least_ns: f64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { alpha: 0.05, screening: 3, least_share: 0.02, least_ns: 1_000.0 }
    }
}

#[derive(Debug)]
pub struct Found {
    pub trials: Vec<Trial>,
    /// Candidates that could not be tried, and why.
    pub not_tried: Vec<(String, String)>,
    /// Rules whose changes stay.
    pub kept: Vec<String>,
    /// Figures of blocks before anything was applied; `after`: with all that was kept.
    pub before: Vec<f64>,
    pub after: Vec<f64>,
    pub ended: Ended,
}

#[derive(Clone, Copy, Debug)]
pub enum Update<'a> {
    Begins {
        candidate: &'a Candidate,
        /// Is it confirmed, rather than screened?
        confirming: bool,
        /// Its position in the round, from 1.
        number: usize,
        /// Candidates in the round.
        of: usize,
        pairs: usize,
    },
    Ended(&'a Trial),
}

pub type OnUpdate<'a> = &'a mut dyn FnMut(Update);

/// Minimum number of blocks of a search: a screening of each candidate, of more than half of its pairs, which suffices
/// if none helps; and for each that is kept the rest of its screening, its confirmation and a screening of the others.
pub fn blocks(candidates: usize, kept: usize, rules: &Rules) -> usize {
    let kept = kept.min(candidates);
    let hopeless = rules.screening / 2 + 1;
    // What is kept at the end of a round has completed its screening.
    let screening = |n: usize| 2 * ((candidates - n) * hopeless + usize::from(n < kept) * (rules.screening - hopeless));
    let confirming = |nth: usize| 2 * pairs_for(alpha_of(rules.alpha, nth as u64));
    (0..=kept).map(|n| screening(n) + if n > 0 { confirming(n) } else { 0 }).sum()
}

/// Whatever ends the search, only what was kept is applied when it returns (unless undoing failed, which `ended`
/// reports).
pub fn search(candidates: Vec<Candidate>, bench: &mut dyn Bench, rules: &Rules, tell: OnUpdate) -> Found {
    let found = Found {
        trials: Vec::new(),
        not_tried: Vec::new(),
        kept: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
        ended: Ended::NothingToTry,
    };
    let mut search = Search { open: candidates, bench, rules, tell, confirmations: 0, found };
    search.found.ended = match search.run() {
        Ok(ended) => ended,
        Err(Stop::TimeUp) => Ended::TimeUp,
        Err(Stop::Because(why)) => Ended::Stopped { why },
    };
    search.found
}

enum Round {
    Kept,
    /// Some looked helpful; none was confirmed.
    Unconfirmed,
    Nothing,
}

struct Search<'a> {
    open: Vec<Candidate>,
    bench: &'a mut dyn Bench,
    rules: &'a Rules,
    tell: OnUpdate<'a>,
    confirmations: u64,
    found: Found,
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
            // What looked helpful and was not confirmed gets a second chance: one outlier can hide a true effect.
            match self.round()? {
                Round::Kept => fruitless = 0,
                Round::Unconfirmed if fruitless == 0 => fruitless += 1,
                Round::Unconfirmed | Round::Nothing => return Ok(Ended::NothingHelps),
            }
        }
    }

    /// Screens the open candidates and confirms the promising, best first, until one stays.
    fn round(&mut self) -> Result<Round, Stop> {
        let mut promising = Vec::new();
        let open = self.open.clone();
        for (before, candidate) in open.iter().enumerate() {
            let (number, of, pairs) = (before + 1, open.len(), self.rules.screening);
            (self.tell)(Update::Begins { candidate, confirming: false, number, of, pairs });
            let Some(pairs) = self.pairs(candidate, self.rules.screening, None)? else { continue };
            let Some(judged) = judge(&pairs) else { continue };
            // The middle pair: of three, one outlier moves half of the Walsh averages.
            let differences: Vec<f64> = pairs.iter().map(|(without, with)| with - without).collect();
            let seems = punctual_stats::median(&differences).unwrap_or(0.0);
            if self.is_worth_it(&pairs, seems) {
                promising.push((seems, candidate.clone()));
            }
            self.note(candidate, pairs, &judged, TrialKind::Screening);
        }
        promising.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (before, (_, candidate)) in promising.iter().enumerate() {
            if self.confirm(candidate, before + 1, promising.len())? {
                return Ok(Round::Kept);
            }
        }
        Ok(if promising.is_empty() { Round::Nothing } else { Round::Unconfirmed })
    }

    /// Measures fresh pairs; keeps the change if they show that it helps.
    fn confirm(&mut self, candidate: &Candidate, number: usize, of: usize) -> Result<bool, Stop> {
        self.confirmations += 1;
        let alpha = alpha_of(self.rules.alpha, self.confirmations);
        (self.tell)(Update::Begins { candidate, confirming: true, number, of, pairs: pairs_for(alpha) });
        let Some(pairs) = self.pairs(candidate, pairs_for(alpha), Some(alpha))? else { return Ok(false) };
        let Some(judged) = judge(&pairs) else { return Ok(false) };
        let helps = judged.p <= alpha && self.is_worth_it(&pairs, judged.shift.value);
        let kept = match helps {
            true => match self.bench.keep(candidate)? {
                Ok(()) => true,
                Err(why) => {
                    self.found.not_tried.push((candidate.rule.clone(), format!("it helps, but could not stay: {why}")));
                    self.open.retain(|open| open != candidate);
                    false
                }
            },
            false => false,
        };
        self.note(candidate, pairs.clone(), &judged, TrialKind::Confirmation { p: judged.p, alpha, kept });
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

    /// The smallest effect that counts, given the usual figure.
    fn least(&self, usual: f64) -> f64 {
        self.rules.least_ns.max(usual * self.rules.least_share)
    }

    /// Measures pairs in the order without, with, with, without; fewer if `alpha`, or without one the least effect, is
    /// out of reach. `None`: it could not be applied, and is no longer a candidate.
    fn pairs(
        &mut self,
        candidate: &Candidate,
        all: usize,
        alpha: Option<f64>,
    ) -> Result<Option<Vec<(f64, f64)>>, Stop> {
        let mut pairs = Vec::new();
        let is_over = |search: &Self, pairs: &[(f64, f64)]| match alpha {
            Some(alpha) => is_futile(pairs, all, alpha),
            None => is_hopeless(pairs, all, |usual| search.least(usual)),
        };
        while pairs.len() < all && !is_over(self, &pairs) {
            let with_first = pairs.len() % 2 == 1;
            let early = if with_first { None } else { Some(self.without()?) };
            if let Err(why) = self.bench.apply(candidate)? {
                self.found.not_tried.push((candidate.rule.clone(), why));
                self.open.retain(|open| open != candidate);
                return Ok(None);
            }
            let with = self.bench.block();
            // Undone also if measuring was stopped.
            self.bench.revert(candidate)?;
            let without = match early {
                Some(without) => without,
                None => self.without()?,
            };
            pairs.push((without, with?));
        }
        Ok(Some(pairs))
    }

    fn without(&mut self) -> Result<f64, Stop> {
        let figure = self.bench.block()?;
        if self.found.kept.is_empty() {
            self.found.before.push(figure);
        }
        Ok(figure)
    }

    fn note(&mut self, candidate: &Candidate, pairs: Vec<(f64, f64)>, judged: &Judgement, kind: TrialKind) {
        let trial = Trial {
            rule: candidate.rule.clone(),
            what: candidate.what.clone(),
            round: self.found.kept.len(),
            shift_ns: judged.shift.value,
            interval_ns: judged.shift.interval.map(|i| (i.low, i.high)),
            pairs,
            kind,
        };
        (self.tell)(Update::Ended(&trial));
        self.found.trials.push(trial);
    }
}
