//! `history baseline` and `history remove`.

use super::args::{BaselineCommand, RemoveArgs};
use super::{Refused, finish, look, open, refused};
use crate::args::common::OutputArgs;
use crate::exit;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// `punctual history remove`.
pub fn remove(args: &RemoveArgs, db: Option<PathBuf>, output: OutputArgs) -> ExitCode {
    let removed = || {
        let id = look(db)?.remove(&args.run).map_err(refused)?;
        let text = format!("{id}: taken out; its folder stays\n");
        Ok((0, json!({"removed": id}), text))
    };
    finish("history-remove", output, removed())
}

/// `punctual history baseline`.
pub fn baseline(command: &BaselineCommand, db: Option<PathBuf>, output: &OutputArgs) -> ExitCode {
    finish("history-baseline", *output, done(command, db))
}

fn done(command: &BaselineCommand, db: Option<PathBuf>) -> Result<(u8, Value, String), Refused> {
    match command {
        BaselineCommand::Set { name, runs } => {
            let ids = open(db)?.set_baseline(name, runs).map_err(refused)?;
            let text = format!("{name}: {} runs\n", ids.len());
            Ok((0, json!({"name": name, "runs": ids}), text))
        }
        BaselineCommand::Remove { name } => {
            let mut store = look(db)?;
            if !store.baselines().map_err(refused)?.iter().any(|(n, _)| n == name) {
                let what = format!("no baseline is named `{name}`; `punctual history baseline list` lists them");
                return Err((exit::USAGE, what));
            }
            store.set_baseline(name, &[]).map_err(refused)?;
            Ok((0, json!({"removed": name}), format!("{name}: taken back\n")))
        }
        BaselineCommand::List => {
            let all = look(db)?.baselines().map_err(refused)?;
            let text = all.iter().map(|(name, runs)| format!("{name}: {}\n", runs.join(" "))).collect();
            let value = all.iter().map(|(name, runs)| json!({"name": name, "runs": runs})).collect::<Vec<_>>();
            Ok((0, json!({ "baselines": value }), text))
        }
    }
}
