//! Implements `references`: shows published latencies of boards, and checks files that contain such latencies.

pub mod args;

use crate::exit;
use crate::finish::{Answer, finish};
use crate::kernel::inputs::text_file;
use crate::refusal::Refusal;
use crate::suggest::similar;
use crate::terminal;
use args::{CheckArgs, ReferencesArgs, ReferencesCommand};
use punctual_references::{Board, LARGEST, Problem, board, boards, check};
use punctual_report::{CheckedResult, ReferencesResult, TextStyle, references_board, references_list};
use std::process::ExitCode;

/// Runs `punctual references`. Exits 0, or 2 for an unknown board or a file with errors.
pub fn references(args: &ReferencesArgs) -> ExitCode {
    match &args.command {
        Some(ReferencesCommand::Check(args)) => finish("references-check", args.output, checked(args)),
        None => finish("references", args.output, shown(args)),
    }
}

fn shown(args: &ReferencesArgs) -> Result<Answer, Refusal> {
    let style = TextStyle { color: terminal::colour(), width: terminal::width() };
    let Some(named) = &args.board else {
        let all = || ReferencesResult { boards: boards().iter().collect() };
        return Ok(Answer::new(args.output, 0, all, || references_list(boards(), args.full, style)));
    };
    let board = known(named).map_err(Refusal::usage)?;
    let one = || ReferencesResult { boards: vec![board] };
    Ok(Answer::new(args.output, 0, one, || references_board(board, args.full, style)))
}

/// Looks up a board by key, name or device tree model.
///
/// # Errors
/// A sentence with similar names.
pub fn known(named: &str) -> Result<&'static Board, String> {
    board(named).ok_or_else(|| {
        let word = named.trim().to_lowercase().replace([' ', '_'], "-");
        // `pi4` and `pi-4` are the same.
        let joined = |text: &str| text.replace('-', "");
        let contain = |board: &&Board| word.len() > 2 && joined(&board.key).contains(&joined(&word));
        let containing: Vec<&str> = boards().iter().filter(contain).map(|board| board.key.as_str()).collect();
        let similar = match containing.as_slice() {
            [] => similar(&word, boards().iter().map(|board| board.key.as_str())),
            some => format!("; similar: {}", some.join(", ")),
        };
        format!("no board named \"{named}\" has published figures{similar}; all boards: punctual references --full")
    })
}

fn checked(args: &CheckArgs) -> Result<Answer, Refusal> {
    let text = text_file(&args.file, LARGEST)?;
    let (problems, file) = (check(&text), args.file.display().to_string());
    let errors = problems.iter().filter(|problem| problem.is_error).count();
    let code = if errors > 0 { exit::USAGE } else { 0 };
    let lines = || {
        let line = |p: &Problem| {
            let kind = if p.is_error { "error" } else { "remark" };
            format!("{file}:{}: {kind}: {}\n", p.line, p.what)
        };
        let end = match (errors, problems.len()) {
            (0, 0) => "complete".to_owned(),
            (0, remarks) => format!("usable; remarks about missing facts: {remarks}"),
            (errors, _) => format!(
                "not usable; errors: {errors}; `punctual snapshot FILE --contribute` writes an example from a run"
            ),
        };
        terminal::harmless(&format!("{}{file}: {end}\n", problems.iter().map(line).collect::<String>()))
    };
    Ok(Answer::new(args.output, code, || CheckedResult { file: file.clone(), problems: problems.clone() }, lines))
}
