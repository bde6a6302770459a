//! Where a report goes, and in which format.

use super::args::ReportArgs;
use crate::finish::Answer;
use crate::new_file;
use crate::refusal::Refusal;
use punctual_formats::Writer;

/// The requested format; `--json` is one as well.
pub fn writer(args: &ReportArgs) -> Writer {
    if args.json { Writer::Json } else { args.format.writer }
}

/// To standard output, or into the file. A collector looks at the same name again and again, so its file is replaced at once; all
/// others must be new.
pub fn written(args: &ReportArgs, bytes: Vec<u8>) -> Result<Answer, Refusal> {
    let done = match &args.out {
        None => return Ok(Answer::text(0, bytes).needed()),
        Some(path) if matches!(writer(args), Writer::Prometheus) => new_file::replace(path, &bytes),
        Some(path) => new_file::write(path, |out| out.write_all(&bytes)),
    };
    match done {
        Ok(()) => Ok(Answer::default()),
        Err(what) => Err(Refusal::environment(format!("{what}; name a new file with --out"))),
    }
}
