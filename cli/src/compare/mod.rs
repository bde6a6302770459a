//! `compare`: groups of runs beside each other.

pub mod args;
mod experiment;
mod groups;

use crate::{document, exit, new_file, terminal};
use args::{CompareArgs, PageFormat};
use punctual_compare::Refused;
use punctual_model::{Comparison, ComparisonDrawings, Told};
use punctual_report as report;
use std::process::ExitCode;

/// `punctual compare`.
pub fn compare(args: &CompareArgs) -> ExitCode {
    if let Some(folder) = &args.experiment {
        return experiment::run(args, folder);
    }
    match compared(args) {
        Ok((comparison, drawings)) => {
            let code = code_of(args, &comparison);
            match show(args, &comparison, &drawings, code) {
                Ok(()) => ExitCode::from(code),
                Err(message) => failed(args, exit::ENVIRONMENT, &message),
            }
        }
        Err(message) => failed(args, exit::USAGE, &message),
    }
}

fn failed(args: &CompareArgs, code: u8, message: &str) -> ExitCode {
    eprintln!("punctual: {message}");
    if is_json(args) {
        terminal::print(&(document::document("compare", code, &document::error(message)) + "\n"));
    }
    ExitCode::from(code)
}

fn is_json(args: &CompareArgs) -> bool {
    args.output.json || args.format == PageFormat::Json
}

fn compared(args: &CompareArgs) -> Result<(Comparison, ComparisonDrawings), String> {
    let groups = groups::read(args)?;
    let sides = groups::sides(&groups);
    let comparison = punctual_compare::compare(&sides).map_err(|e| refused(&e))?;
    let drawings = punctual_compare::drawings(&sides, &comparison);
    Ok((comparison, drawings))
}

/// The comparison as a page, into a new file.
fn page(args: &CompareArgs, path: &std::path::Path) -> Result<(), String> {
    let (comparison, drawings) = compared(args)?;
    let text = report::comparison_html(&comparison, &drawings);
    new_file::write(path, |file| file.write_all(text.as_bytes()))
}

fn refused(refused: &Refused) -> String {
    match refused {
        Refused::TooFewGroups => {
            "a comparison takes two groups: name two runs, or `punctual compare A… --vs B…`".into()
        }
        Refused::Clocks(a, b) => format!(
            "{a} and {b} are not of one clock: an emulator's clock that counts instructions cannot stand beside another or a real one; \
             compare runs of one machine"
        ),
        Refused::NothingInCommon => {
            "nothing is in all of them, neither a load nor a series of the same name: `punctual report` shows \
                                     what each has"
                .into()
        }
    }
}

fn code_of(args: &CompareArgs, comparison: &Comparison) -> u8 {
    let worse = |row: &punctual_model::ComparisonRow| {
        let bad = if row.more_is_better { Told::Less } else { Told::More };
        row.against.iter().any(|a| a.told == bad && !a.covariate.is_some_and(|c| c.is_most))
    };
    match (args.fail_if_worse && comparison.rows.iter().any(worse), comparison.problems.is_empty()) {
        (true, _) => exit::FAILED,
        (false, true) => 0,
        (false, false) => exit::INCONCLUSIVE,
    }
}

fn show(args: &CompareArgs, comparison: &Comparison, drawings: &ComparisonDrawings, code: u8) -> Result<(), String> {
    let text = match args.format {
        _ if is_json(args) => document::document("compare", code, &report::comparison_json(comparison)) + "\n",
        PageFormat::Html => report::comparison_html(comparison, drawings),
        _ => {
            let to_file = args.out.is_some();
            let width = if to_file { 80 } else { terminal::width() };
            let style = report::TextStyle { color: !to_file && terminal::colour(), width };
            report::comparison_text(comparison, style)
        }
    };
    if let Some(path) = &args.out {
        return new_file::write(path, |file| file.write_all(text.as_bytes()));
    }
    if args.output.quiet || terminal::print(&text) { Ok(()) } else { Err("standard output is closed".into()) }
}
