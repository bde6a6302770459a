//! Implements `snapshot --contribute`: writes the measurements of a run to a file for publication.

use super::args::SnapshotArgs;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::run_directory::newest;
use crate::{new_file, terminal};
use punctual_audit::SnapshotResult;
use std::path::Path;

pub fn contribute(args: &SnapshotArgs, run: &Path) -> Result<Answer, Refusal> {
    let run = if run.as_os_str().is_empty() { newest()? } else { run.to_owned() };
    let recording = punctual_rundir::read(&run).map_err(Refusal::usage)?;
    let made =
        punctual_report::contribution(&recording).map_err(|why| Refusal::usage(format!("{}: {why}", run.display())))?;
    new_file::write(&args.file, |out| out.write_all(made.text.as_bytes())).map_err(Refusal::usage)?;
    let (file, measurements) = (args.file.display().to_string(), made.measurements);
    let result = || SnapshotResult::Contribution { file: file.clone(), measurements, left_out: made.left_out.clone() };
    let text = || {
        let left_out: String = made.left_out.iter().map(|what| format!("  - {what}\n")).collect();
        terminal::harmless(&format!(
            "{file}: measurements of {}: {measurements}; nothing was sent\n\nLeft out:\n{left_out}\n\
             Next   1. read {file}: it names the board and the kernel\n       \
             2. punctual references check {file}\n",
            run.display()
        ))
    };
    Ok(Answer::new(args.output, 0, result, text))
}
