//! A complete tuning: the search, then the final run.

use crate::bench::{Machine, block_options};
use crate::choose::Chosen;
use crate::options::{Options, Place};
use crate::search::{Candidate, OnUpdate, Rules, Stop, search};
use punctual_directory::{Scratch, Whose};
use punctual_fix::{Journal, JournalError};
use punctual_model::{Ended, TUNE_SCHEMA, Tuned};
use punctual_proof::{self as proof, Done, Observer, ProofError};
use punctual_uapi::Sig;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub struct Sought {
    /// All trials, and the changes that were kept.
    pub tuned: Tuned,
    pub signal: Option<Sig>,
}

#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// An earlier fix waits for confirmation and may be undone at any time.
    #[error("an earlier fix waits for confirmation: `punctual undo --confirm` keeps it, `punctual undo` reverts it")]
    Waiting,
    #[error("cannot create a directory for the blocks' runs: {0}")]
    Folder(punctual_directory::Error),
}

/// Tries the chosen fixes. When it returns, fixes that help are applied and all others are undone.
///
/// Signals must be blocked as for [`proof::measure`].
///
/// # Errors
/// [`TuneError`]; nothing was changed. Errors that occur later are in [`Tuned::ended`].
pub fn seek(options: &Options, chosen: &Chosen, place: &Place, on_update: OnUpdate) -> Result<Sought, TuneError> {
    let journal = Journal::open(place.sys, place.folder)?;
    if journal.sets().iter().any(|set| set.confirm_by_s.is_some()) {
        return Err(TuneError::Waiting);
    }
    drop(journal);
    let scratch = Scratch::create("tune", Whose::Results).map_err(TuneError::Folder)?;
    let mut machine = Machine {
        prepared: &chosen.prepared,
        options,
        place,
        scratch,
        begun: Instant::now(),
        block: block_options(options),
        number: 0,
        lasted: Duration::ZERO,
        signal: None,
        on_trial: None,
    };
    let candidates: Vec<Candidate> = chosen.prepared.iter().map(|prepared| prepared.candidate.clone()).collect();
    // The seed differs in each run, so that a periodic disturbance cannot match the order of the blocks every time.
    let rules = Rules::new(RandomState::new().hash_one(std::process::id()));
    let mut found = search(candidates, &mut machine, &rules, on_update);
    // The search has undone the changes on trial. If undoing failed, it is tried once more.
    if let Err(Stop::Because(why)) = machine.revert_all() {
        found.ended = Ended::Stopped { why };
    }
    let mut not_tried = chosen.not_tried.clone();
    not_tried.extend(found.not_tried);
    let tuned = Tuned {
        schema: TUNE_SCHEMA.to_owned(),
        objective: options.objective.to_string(),
        block_ns: options.block,
        alpha: rules.alpha,
        seed: rules.seed,
        before_ns: found.before,
        after_ns: found.after,
        trials: found.trials,
        not_tried,
        kept: found.kept,
        ended: found.ended,
    };
    Ok(Sought { tuned, signal: machine.signal })
}

/// Measures the machine in its current state, and adds the trials to the run directory and the report.
///
/// # Errors
/// Nothing was measured.
pub fn conclude(options: &Options, tuned: &Tuned, observer: &mut dyn Observer) -> Result<Done, ProofError> {
    let mut done = proof::prove(&options.last, observer)?;
    done.recording.tuned = Some(tuned.clone());
    let attached = match serde_json::to_vec_pretty(tuned) {
        Ok(json) => punctual_rundir::attach(&done.dir, punctual_rundir::TUNE, &json).map_err(|e| e.to_string()),
        Err(e) => Err(e.to_string()),
    };
    let html = punctual_report::html(&done.recording, &done.verdict, &done.dir.path().display().to_string());
    let reported = punctual_rundir::attach(&done.dir, "report.html", html.as_bytes());
    if let Some(why) = attached.err().or(reported.err().map(|e| e.to_string())) {
        done.error.get_or_insert(why);
    }
    Ok(done)
}
