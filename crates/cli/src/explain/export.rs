//! What an explanation can be written as besides sentences.

use super::Found;
use crate::args::ExplainArgs;
use crate::{new_file, terminal};
use punctual_explain::{Explanation, Timeline};
use punctual_report::{TextStyle, explanation_html, timeline_text};

/// Writes the files that were asked for.
pub fn files(args: &ExplainArgs, found: &Found) -> Result<(), String> {
    let Found { explanation, timelines, .. } = found;
    if let Some(path) = &args.html {
        let page = explanation_html(&found.name, explanation, timelines);
        new_file::write(path, |out| out.write_all(page.as_bytes()))?;
    }
    if let Some(path) = &args.perfetto {
        let Some(trace) = &found.trace else {
            return Err("no trace was kept: leave out --task, or record with trace-cmd and explain that file".into());
        };
        let mut source = super::open(trace)?;
        let written = new_file::write(path, |out| punctual_formats::perfetto(source.as_mut(), explanation, out))?;
        if !args.output.quiet {
            eprintln!(
                "punctual: {}: {} events, {} verdicts; {} events are of kinds that Perfetto does not show; open it at \
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

/// The timeline of the latest wakeup that has one.
pub fn picture(explanation: &Explanation, timelines: &[Option<Timeline>]) -> String {
    let style = TextStyle { color: terminal::colour(), width: terminal::width() };
    let found = explanation.victims.iter().zip(timelines).find_map(|(victim, t)| Some((victim, t.as_ref()?)));
    match found {
        Some((victim, timeline)) => format!("\n{}", timeline_text(victim, timeline, style)),
        None => "\nNo timeline: the trace tells of late wakeups in summaries only.\n".to_owned(),
    }
}
