//! Operations that both applying and undoing use: reading a value, running a command.

use crate::system::System;
use punctual_model::Argv;
use std::io;
use std::path::Path;

pub(crate) fn text(sys: &dyn System, path: &Path) -> io::Result<String> {
    String::from_utf8(sys.read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text"))
}

/// Runs a command. Any exit code other than 0 is a failure.
pub(crate) fn execute(sys: &dyn System, argv: &Argv) -> Result<(), String> {
    let ran = sys.run(argv).map_err(|e| format!("{}: {e}", argv.line()))?;
    match ran.code {
        Some(0) => Ok(()),
        Some(code) => Err(format!("{} exited with code {code}: {}", argv.line(), ran.complaint)),
        None => Err(format!("{} was killed by a signal", argv.line())),
    }
}
