//! Implements `history baseline` and `history remove`.

use super::args::{BaselineCommand, RemoveArgs};
use super::store::{look, open};
use crate::args::common::OutputArgs;
use crate::finish::Answer;
use crate::refusal::Refusal;
use punctual_model::history::{Baseline, BaselineResult, RemoveResult};
use std::path::PathBuf;

pub fn remove(args: &RemoveArgs, db: Option<PathBuf>, output: OutputArgs) -> Result<Answer, Refusal> {
    let id = look(db)?.remove(&args.run)?;
    let text = || format!("{id}: removed; its directory stays\n");
    Ok(Answer::new(output, 0, || RemoveResult { removed: &id }, text).needed())
}

pub fn baseline(command: &BaselineCommand, db: Option<PathBuf>, output: OutputArgs) -> Result<Answer, Refusal> {
    let (result, text) = match command {
        BaselineCommand::Set { name, runs } => {
            let ids = open(db)?.set_baseline(name, runs)?;
            let text = format!("{name}: {} runs\n", ids.len());
            (BaselineResult::Set(Baseline { name: name.clone(), runs: ids }), text)
        }
        BaselineCommand::Remove { name } => {
            let mut store = look(db)?;
            if !store.baselines()?.iter().any(|(n, _)| n == name) {
                let what = format!("no baseline is named `{name}`; `punctual history baseline list` lists them");
                return Err(Refusal::usage(what));
            }
            store.set_baseline(name, &[])?;
            (BaselineResult::Removed { removed: name.clone() }, format!("{name}: removed\n"))
        }
        BaselineCommand::List => {
            let all = look(db)?.baselines()?;
            let text = all.iter().map(|(name, runs)| format!("{name}: {}\n", runs.join(" "))).collect();
            let baselines = all.into_iter().map(|(name, runs)| Baseline { name, runs }).collect();
            (BaselineResult::Listed { baselines }, text)
        }
    };
    Ok(Answer::new(output, 0, || result, || text).needed())
}
