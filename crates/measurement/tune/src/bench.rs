//! Measures blocks on this machine, applies fixes and undoes them.

use crate::choose::Prepared;
use crate::options::{Options, Place, WORK};
use crate::power::Energy;
use crate::search::{Bench, Block, Candidate, Stop};
use punctual_directory::Scratch;
use punctual_fix::{FixOptions, Journal, OnTrial, RulePlan, keep, revert, try_rule};
use punctual_machine::Live;
use punctual_model::Outcome;
use punctual_proof::{self as proof, Done, Quiet, When};
use punctual_uapi::Sig;
use std::time::{Duration, Instant};

pub(crate) struct Machine<'a> {
    pub prepared: &'a [Prepared],
    pub options: &'a Options,
    pub place: &'a Place<'a>,
    /// Parent directory of the blocks' run directories.
    pub scratch: Scratch,
    pub begun: Instant,
    pub block: proof::Options,
    pub number: u64,
    /// Total duration of the last block.
    pub lasted: Duration,
    pub signal: Option<Sig>,
    /// Number of the journal's set of changes that is being tried; `None` if no fix is applied on trial.
    pub on_trial: Option<u64>,
}

fn because(why: impl ToString) -> Stop {
    Stop::Because(why.to_string())
}

pub(crate) fn block_options(options: &Options) -> proof::Options {
    let last = &options.last;
    // Divides the limit equally, so that the blocks are comparable.
    let blocks = (options.max.0 / options.block.0.max(1)).max(1);
    proof::Options {
        duration: options.block,
        until: None,
        loads: options.block_loads.clone(),
        context: false,
        worst_kept: 1,
        deadline: None,
        claims: Vec::new(),
        write_cap: last.write_cap / blocks,
        trace: proof::Trace { when: When::Never, ..last.trace },
        sync: false,
        // Changes are not checked, because those made during a block are this program's own.
        changes: None,
        ..last.clone()
    }
}

impl Machine<'_> {
    /// Measures in a separate thread, which is moved to CPUs that are not measured. The calling thread keeps its
    /// affinity.
    fn measure(&mut self, options: &proof::Options) -> Result<Done, Stop> {
        if let Some(signal) = self.signal {
            return Err(because(signal.name()));
        }
        self.number += 1;
        let number = self.number.to_string();
        let out = self.scratch.path().join(&number);
        let options = proof::Options { out: out.clone(), ..options.clone() };
        let measured = std::thread::scope(|scope| {
            let measure = || proof::measure(&options, &mut Quiet);
            let measuring = std::thread::Builder::new().spawn_scoped(scope, measure);
            let measuring =
                measuring.map_err(|e| because(format!("cannot create the measuring thread: {e}; see `ulimit -u`")))?;
            measuring.join().map_err(|_| because("the measuring thread panicked"))
        });
        // Errors are ignored: the name is not used again, and the whole directory is removed at the end.
        let _ = self.scratch.dir().remove_all(&number);
        punctual_watchdog::unlimited();
        let done = measured?.map_err(because)?;
        self.signal = done.signal;
        match (done.signal, &done.error) {
            (Some(signal), _) => Err(because(signal.name())),
            (None, Some(error)) => Err(because(error)),
            (None, None) => Ok(done),
        }
    }

    fn has_time_for(&self, more: Duration) -> Result<(), Stop> {
        let max = Duration::from_nanos(self.options.max.0);
        if self.begun.elapsed() + more > max { Err(Stop::TimeUp) } else { Ok(()) }
    }

    fn journal(&self) -> Result<Journal<'_>, Stop> {
        Journal::open(self.place.sys, self.place.folder).map_err(because)
    }

    /// Applies a fix and returns the number of its set of changes in the journal. The inner error states why nothing
    /// was changed.
    fn make(&self, rule: &RulePlan) -> Result<Result<u64, String>, Stop> {
        let options = FixOptions { i_know: self.options.i_know, ..FixOptions::default() };
        let mut journal = self.journal()?;
        let OnTrial { set, done } = try_rule(&mut journal, rule, &options, self.place.judge).map_err(because)?;
        if !done.changes.is_empty() {
            return Ok(Ok(set));
        }
        revert(&mut journal, set);
        let why = if done.refused.is_empty() { "already in effect".to_owned() } else { done.refused.join("; ") };
        Ok(Err(why))
    }

    fn prepared(&self, candidate: &Candidate) -> Result<&Prepared, Stop> {
        let found = self.prepared.iter().find(|prepared| prepared.candidate.rule == candidate.rule);
        found.ok_or_else(|| because(format!("no fix is prepared for `{}`", candidate.rule)))
    }

    pub fn revert_all(&mut self) -> Result<(), Stop> {
        let Some(set) = self.on_trial.take() else { return Ok(()) };
        let taken = revert(&mut self.journal()?, set);
        match taken.iter().find(|taken| !taken.outcome.is_settled()) {
            Some(taken) => Err(because(format!("not everything could be undone: {}", taken.outcome.sentence()))),
            None => Ok(()),
        }
    }
}

impl Bench for Machine<'_> {
    fn block(&mut self) -> Result<Block, Stop> {
        self.has_time_for(self.lasted)?;
        let (begun, energy) = (Instant::now(), Energy::read(&Live::new()));
        let options = self.block.clone();
        let done = self.measure(&options)?;
        self.lasted = begun.elapsed();
        let watts = energy.and_then(|energy| Energy::read(&Live::new())?.watts_since(&energy, self.lasted));
        Ok(Block { ns: self.options.objective.figure(&done.recording), watts })
    }

    fn work(&mut self) -> Result<Option<f64>, Stop> {
        self.has_time_for(WORK)?;
        self.number += 1;
        let number = self.number.to_string();
        let rate = (self.place.work)(&self.scratch.path().join(&number));
        // Errors are ignored: the name is not used again, and the whole directory is removed at the end.
        let _ = self.scratch.dir().remove_all(&number);
        Ok(rate)
    }

    fn apply(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop> {
        let made = self.make(&self.prepared(candidate)?.on_trial)?;
        Ok(made.map(|set| self.on_trial = Some(set)))
    }

    fn keep(&mut self, candidate: &Candidate) -> Result<Result<(), String>, Stop> {
        let made = self.make(&self.prepared(candidate)?.to_stay)?;
        let Ok(set) = made else { return Ok(made.map(drop)) };
        self.on_trial = Some(set);
        keep(&mut self.journal()?, set).map_err(because)?;
        self.on_trial = None;
        Ok(Ok(()))
    }

    fn revert(&mut self, _: &Candidate) -> Result<(), Stop> {
        self.revert_all()
    }

    fn claims_hold(&mut self) -> Result<Option<bool>, Stop> {
        let last = &self.options.last;
        if last.claims.is_empty() {
            return Ok(None);
        }
        if self.number > 0 {
            self.has_time_for(Duration::from_nanos(last.duration.0))?;
        }
        // Measures for the full duration unless a wakeup refutes a claim earlier.
        let check = proof::Options {
            until: Some(last.duration),
            claims: last.claims.clone(),
            deadline: last.deadline,
            duration: last.duration,
            loads: last.loads.clone(),
            ..self.block.clone()
        };
        let done = self.measure(&check)?;
        Ok(Some(done.verdict.outcome <= Outcome::Held))
    }
}
