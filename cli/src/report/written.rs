//! Where a report goes, and in which format.

use super::args::{Format, ReportArgs};
use crate::finish::Answer;
use crate::new_file;
use crate::refusal::Refusal;

/// What was asked for; `--json` is a format as well.
pub fn format(args: &ReportArgs) -> Format {
    if args.json { Format::Json } else { args.format }
}

/// To standard output, or into the file. A collector looks at the same name again and again, so its file is replaced at once; all
/// others must be new.
pub fn written(args: &ReportArgs, bytes: Vec<u8>) -> Result<Answer, Refusal> {
    let done = match &args.out {
        None => return Ok(Answer::text(0, bytes).needed()),
        Some(path) if format(args) == Format::Prometheus => new_file::replace(path, &bytes),
        Some(path) => new_file::write(path, |out| out.write_all(&bytes)),
    };
    match done {
        Ok(()) => Ok(Answer::default()),
        Err(what) => Err(Refusal::environment(format!("{what}; name a new file with --out"))),
    }
}
