//! Writes runs in the formats of other tools.

use super::args::ReportArgs;
use crate::explain;
use punctual_formats::{self as formats, Cases, Format, KcidbIds, Writer};
use punctual_model::{Recording, Verdict};
use std::io::IsTerminal;

/// Writes a run with latencies, measured or imported.
///
/// # Errors
/// The reason why this run cannot be written in the format, and the command to type instead.
pub fn of_run(args: &ReportArgs, recording: &Recording, verdict: &Verdict) -> Result<Vec<u8>, String> {
    let text = match args.format.writer {
        Writer::Cyclictest(write) => write(recording, args.load.as_deref()).map_err(|e| e.to_string())?,
        Writer::Prometheus => formats::prometheus(recording, verdict),
        Writer::Sarif if recording.findings.is_empty() => {
            return Err("the run has no audit findings; type `punctual audit --format sarif`, or measure with \
                        `punctual prove`"
                .into());
        }
        Writer::Sarif => formats::sarif(&recording.findings, recording.run.tool.version.as_deref()),
        Writer::Perfetto => return perfetto(args),
        _ => return of_cases(args, &Cases::of_run(recording, verdict)),
    };
    Ok(text.into_bytes())
}

/// Writes named outcomes and values.
///
/// # Errors
/// The reason why they cannot be written in the format, and the command to type instead.
pub fn of_cases(args: &ReportArgs, cases: &Cases) -> Result<Vec<u8>, String> {
    let text = match args.format.writer {
        Writer::Cases(write) => write(cases),
        Writer::Kcidb => {
            let ids = KcidbIds { origin: args.kcidb_origin.clone(), build: args.kcidb_build.clone() };
            formats::kcidb(cases, &ids).map_err(|e| e.to_string())?
        }
        _ => return Err(not_built(args.format)),
    };
    Ok(text.into_bytes())
}

/// Returns the error for a format whose writer is not in this build.
pub fn not_built(format: &Format) -> String {
    format!("{} is not in this build of punctual: build it with its default features", format.name)
}

fn perfetto(args: &ReportArgs) -> Result<Vec<u8>, String> {
    let [root] = args.run.as_slice() else {
        return Err("perfetto takes the trace of one run directory: name one".into());
    };
    if !root.is_dir() {
        return Err(format!(
            "{} is not a run directory with traces; type `punctual explain FILE --perfetto OUT`",
            root.display()
        ));
    }
    if args.out.is_none() && std::io::stdout().is_terminal() {
        return Err("perfetto is binary: name a file with --out".into());
    }
    let (bytes, written) = explain::perfetto_of_run(root)?;
    message!("{} events, {} verdicts; open it at https://ui.perfetto.dev", written.events, written.verdicts);
    Ok(bytes)
}
