//! Compares run directories, directories of runs, and other tools' files.

use super::args::{CompareArgs, PageFormat};
use super::groups;
use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::{exit, new_file, terminal};
use punctual_compare::Refused;
use punctual_model::{Comparison, ComparisonDrawings};
use punctual_report::{self as report, Decision};
use std::path::Path;
use std::process::ExitCode;

pub fn run(args: &CompareArgs) -> ExitCode {
    let output = OutputArgs { json: args.output.json || args.format == PageFormat::Json, ..args.output };
    finish("compare", output, answer(args, output))
}

fn answer(args: &CompareArgs, output: OutputArgs) -> Result<Answer, Refusal> {
    let (comparison, drawings) = compared(args).map_err(Refusal::usage)?;
    let code = code_of(args, &comparison);
    let text = match args.format {
        _ if output.json => report::Document::new("compare", code, report::comparison_json(&comparison)).text(),
        PageFormat::Html => report::comparison_html(&comparison, &drawings),
        PageFormat::Text | PageFormat::Json => {
            let to_file = args.out.is_some();
            let width = if to_file { 80 } else { terminal::width() };
            let style = report::TextStyle { color: !to_file && terminal::colour(), width };
            match args.full || to_file {
                true => report::comparison_text(&comparison, style),
                false => report::comparison_summary(&comparison, decision(&comparison), &again(args), style),
            }
        }
    };
    match &args.out {
        Some(path) => new_file::write(path, |file| file.write_all(text.as_bytes())).map_err(Refusal::environment)?,
        None if output.quiet || terminal::print(&text) => {}
        None => return Err(Refusal::environment("standard output is closed")),
    }
    Ok(Answer::text(code, ""))
}

fn compared(args: &CompareArgs) -> Result<(Comparison, ComparisonDrawings), String> {
    let groups = groups::read(args)?;
    let sides = groups::sides(&groups);
    let comparison = punctual_compare::compare(&sides).map_err(|e| refused(&e))?;
    let drawings = punctual_compare::drawings(&sides, &comparison);
    Ok((comparison, drawings))
}

/// Writes the comparison as a page to a new file.
pub fn page(args: &CompareArgs, path: &Path) -> Result<(), Refusal> {
    let (comparison, drawings) = compared(args).map_err(Refusal::environment)?;
    let text = report::comparison_html(&comparison, &drawings);
    new_file::write(path, |file| file.write_all(text.as_bytes())).map_err(Refusal::environment)
}

fn refused(refused: &Refused) -> String {
    match refused {
        Refused::TooFewGroups => {
            "a comparison takes two groups: name two runs, or `punctual compare A… --vs B…`".into()
        }
        Refused::Clocks(a, b) => format!(
            "{a} and {b} use different clocks: an emulator's clock that counts instructions cannot be compared with another such clock or with a real one; \
             compare runs of one machine"
        ),
        Refused::NothingInCommon => "the groups have no load and no series in common: `punctual report` shows \
                                     what each has"
            .into(),
    }
}

fn code_of(args: &CompareArgs, comparison: &Comparison) -> u8 {
    match decision(comparison) {
        Decision::NotJudged => exit::INCONCLUSIVE,
        Decision::Worse if args.fail_if_worse => exit::FAILED,
        Decision::Worse | Decision::NotWorse => 0,
    }
}

fn decision(comparison: &Comparison) -> Decision {
    match punctual_compare::is_worse(comparison) {
        _ if punctual_compare::is_inconclusive(comparison) => Decision::NotJudged,
        true => Decision::Worse,
        false => Decision::NotWorse,
    }
}

/// Returns the command line as it was typed, or a short form if it is long.
fn again(args: &CompareArgs) -> String {
    let named: Vec<String> = args.groups.iter().map(|path| path.display().to_string()).collect();
    let line = match args.last {
        Some(n) => format!("--last {n}"),
        None if args.vs.is_empty() => named.join(" "),
        None => {
            let vs: Vec<String> = args.vs.iter().map(|path| path.display().to_string()).collect();
            format!("{} --vs {}", named.join(" "), vs.join(" "))
        }
    };
    if line.chars().count() > 50 { "punctual compare …".into() } else { format!("punctual compare {line}") }
}
