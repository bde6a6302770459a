//! Implements `history` without a subcommand: analyses the stored runs.

use super::args::QueryArgs;
use super::store::look;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::{new_file, terminal};
use punctual_history::{Filter, analyse};
use punctual_report as report;
use std::path::PathBuf;

/// Runs `punctual history`. Exits 0 if there are runs to show, 2 if there is no history or no run matches.
pub fn query(args: &QueryArgs, db: Option<PathBuf>) -> Result<Answer, Refusal> {
    let store = look(db)?;
    let filter = Filter {
        machine: args.machine.clone(),
        kernel: args.kernel.clone(),
        load: args.load.clone(),
        since_ns: args.since,
    };
    let runs = store.runs(|run| filter.wants(run))?;
    if runs.is_empty() {
        return Err(Refusal::usage(format!("no run in the history {} matches the options", store.path().display())));
    }
    let mut figures = args.judged.figures.clone();
    let mut seen = Vec::new();
    figures.retain(|figure| {
        !seen.contains(figure) && {
            seen.push(*figure);
            true
        }
    });
    let history = analyse(runs, args.load.as_deref(), &figures, args.alarms);
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    let mut text = report::history_text(&history, style);
    if let Some(path) = &args.html {
        let page = report::history_html(&history);
        new_file::write(path, |out| out.write_all(page.as_bytes())).map_err(Refusal::environment)?;
        text += &format!("\nPage: {}\n", path.display());
    }
    Ok(Answer::new(args.output, 0, || report::history_json(&history), || text).needed())
}
