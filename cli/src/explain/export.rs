//! Writes an explanation to files: an excerpt of the trace, a page, a Perfetto trace.

use super::args::ExplainArgs;
use super::found::Found;
use super::run::Shown;
use super::trace;
use crate::new_file;
use punctual_formats::{BundleHead, Written, bundle};
use punctual_report::explanation_html;
use std::path::Path;

const NOT_KEPT: &str = "no trace was kept: leave out --task, or record with trace-cmd and explain that file";

/// Writes the files that the options name.
pub fn files(args: &ExplainArgs, found: &Found) -> Result<(), String> {
    let Found { explanation, timelines, .. } = found;
    if let Some(path) = &args.html {
        let page = explanation_html(&found.name, explanation, timelines);
        new_file::write(path, |out| out.write_all(page.as_bytes()))?;
    }
    if let Some(path) = &args.bundle {
        let file = found.trace.as_ref().ok_or(NOT_KEPT)?;
        let victim = explanation.victims.first().ok_or("no late wakeup to bundle")?;
        let head = BundleHead { kernel: None, policies: trace::facts(file).policies.into_iter().collect() };
        let mut source = trace::open(file)?;
        new_file::write(path, |out| bundle(source.as_mut(), victim, &head, out))?;
    }
    if let Some(path) = &args.perfetto {
        let file = found.trace.as_ref().ok_or(NOT_KEPT)?;
        let mut source = trace::open(file)?;
        let written = new_file::write(path, |out| punctual_formats::perfetto(source.as_mut(), explanation, out))?;
        if !args.output.quiet {
            message!(
                "{}: {} events, {} verdicts; {} events are of kinds that Perfetto does not show; open it at \
                 https://ui.perfetto.dev",
                path.display(),
                written.events,
                written.verdicts,
                written.left_out
            );
        }
    }
    Ok(())
}

/// Returns the trace of a run's worst wakeup with all verdicts, in Perfetto's format.
///
/// # Errors
/// The run cannot be read, or has no trace.
pub fn perfetto_of_run(root: &Path) -> Result<(Vec<u8>, Written), String> {
    let found = super::run::found(root, Shown::ALL)?;
    let why = found.explanation.notes.join("; ");
    let none = || format!("{} has no trace of a late wakeup; measure with --trace always. {why}", root.display());
    let file = found.trace.as_ref().ok_or_else(none)?;
    let mut source = trace::open(file)?;
    let mut bytes = Vec::new();
    let written = punctual_formats::perfetto(source.as_mut(), &found.explanation, &mut bytes)
        .map_err(|e| format!("cannot read {}: {e}", file.display()))?;
    Ok((bytes, written))
}
