//! Selects the format of a report and writes it.

use super::args::ReportArgs;
use crate::finish::Answer;
use crate::new_file;
use crate::refusal::Refusal;
use punctual_formats::{FORMATS, Format, Writer};

/// Returns the requested format; `--json` selects JSON.
pub fn format(args: &ReportArgs) -> &'static Format {
    let json = FORMATS.iter().find(|format| args.json && matches!(format.writer, Writer::Json));
    json.unwrap_or(args.format)
}

pub fn writer(args: &ReportArgs) -> Writer {
    format(args).writer
}

/// Writes to standard output or to the file. A file for Prometheus' textfile collector, which reads a fixed name, is
/// replaced atomically; other files must not exist.
pub fn written(args: &ReportArgs, bytes: Vec<u8>) -> Result<Answer, Refusal> {
    let done = match &args.out {
        None => return Ok(Answer::text(0, bytes).needed()),
        Some(path) if matches!(writer(args), Writer::Prometheus) => new_file::replace(path, &bytes),
        Some(path) => new_file::write(path, |out| out.write_all(&bytes)),
    };
    match done {
        Ok(()) => Ok(Answer::default()),
        Err(what) => Err(Refusal::environment(what)),
    }
}
