//! What `tune` says: before, meanwhile, and at the end.

use crate::terminal;
use punctual_model::{Trial, TrialKind, Tuned};
use punctual_tune::search::Told;
use punctual_tune::{Chosen, Options};
use punctual_units::Nanos;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// `--dry-run`.
pub fn plan(chosen: &Chosen, options: &Options) -> String {
    let mut out = String::from("what tune would try; nothing is changed or measured now\n\n");
    for prepared in &chosen.prepared {
        out.push_str(&format!("  {}: {}\n", prepared.candidate.rule, prepared.candidate.what));
    }
    if !chosen.not_tried.is_empty() {
        out.push_str("\nnot tried:\n");
        chosen.not_tried.iter().for_each(|(rule, why)| out.push_str(&format!("  {rule}: {why}\n")));
    }
    let count = chosen.prepared.len();
    out.push_str(&format!(
        "\n{count} to try, in blocks of {} under {}; figure: {}\n",
        options.block,
        options.block_loads.join(", "),
        options.objective
    ));
    out.push_str(&format!(
        "it takes about {} where none helps, {} where one does, {} at most (--max), and the last run {}\n",
        rounded(options.least(count, 0)),
        rounded(options.least(count, 1)),
        rounded(options.max),
        rounded(options.last.duration)
    ));
    terminal::harmless(&out)
}

/// The same as a document.
pub fn plan_json(chosen: &Chosen, options: &Options) -> Value {
    let count = chosen.prepared.len();
    let candidates: Vec<Value> = chosen
        .prepared
        .iter()
        .map(|prepared| json!({ "rule": prepared.candidate.rule, "what": prepared.candidate.what }))
        .collect();
    json!({
        "dry_run": true,
        "candidates": candidates,
        "not_tried": chosen.not_tried,
        "objective": options.objective.to_string(),
        "block_ns": options.block,
        "least_ns": options.least(count, 0),
    })
}

/// What stays, and how it is taken back.
pub fn stays(tuned: &Tuned) -> String {
    match tuned.kept.as_slice() {
        [] => "\nThe machine is as it was before.\n".to_owned(),
        kept => format!("\nStays:         {0}\nTaken back by: punctual undo {0}\n", kept.join(" ")),
    }
}

/// Whole seconds are enough to plan a day by.
fn rounded(time: Nanos) -> String {
    let seconds = (time.0 + 500_000_000) / 1_000_000_000;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// A line on standard error for each candidate that is tried.
pub struct Progress {
    begun: Instant,
    max: Nanos,
    /// Of the trial that runs.
    trial_begun: Instant,
    /// What a pair took, as far as is known.
    pair: Option<Duration>,
}

impl Progress {
    /// For a search of at most `max`.
    pub fn new(max: Nanos) -> Progress {
        let now = Instant::now();
        Progress { begun: now, max, trial_begun: now, pair: None }
    }

    /// Says how it goes.
    pub fn tell(&mut self, told: Told) {
        match told {
            Told::Begins { candidate, confirming, number, of, pairs } => {
                self.trial_begun = Instant::now();
                let verb = if confirming { "confirming" } else { "trying" };
                let left = self.pair.map(|pair| pair * (pairs * (of - number + 1)) as u32);
                let left = left.map_or_else(String::new, |left| format!(", about {} for these", short(left)));
                eprint!(
                    "[{} of at most {}] {verb} {} ({number} of {of}{left}) … ",
                    short(self.begun.elapsed()),
                    rounded(self.max),
                    candidate.rule
                );
            }
            Told::Ended(trial) => {
                let pairs = trial.pairs.len().max(1) as u32;
                self.pair = Some(self.trial_begun.elapsed() / pairs);
                eprintln!("{}", came_to(trial));
            }
        }
    }
}

fn short(time: Duration) -> String {
    rounded(Nanos(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)))
}

fn came_to(trial: &Trial) -> String {
    let size = Nanos(trial.shift_ns.abs().round() as u64);
    let so_far = if trial.shift_ns < 0.0 { format!("{size} less") } else { format!("{size} more") };
    match trial.kind {
        TrialKind::Screening => so_far,
        TrialKind::Confirmation { kept: true, .. } => format!("{so_far}: kept"),
        TrialKind::Confirmation { kept: false, .. } => format!("{so_far}: not proven, taken back"),
    }
}
