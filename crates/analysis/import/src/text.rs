//! Files read line by line.

use crate::block::Found;
use crate::lines::{Counted, next_line};
use crate::{Error, Options};
use std::io::Read;

/// Takes lines one by one.
pub(crate) trait Lines {
    /// One cleaned line. What it is not interested in it ignores.
    ///
    /// # Errors
    /// What makes it impossible to go on, and what to do.
    fn line(&mut self, line: &str) -> Result<(), (String, &'static str)>;

    /// What was found.
    fn finish(self, options: &Options) -> Found;
}

/// Reads all lines of a file.
pub(crate) fn read<R: Read>(
    name: &str,
    input: &mut Counted<R>,
    options: &Options,
    mut lines: impl Lines,
) -> Result<Found, Error> {
    let (mut raw, mut number) = (Vec::new(), 0);
    while let Some(line) = next_line(input, &mut raw, &mut number).map_err(|e| Error::io(name, e))? {
        lines.line(&line).map_err(|(why, next)| Error::Form { file: name.into(), line: number, why, next })?;
    }
    Ok(lines.finish(options))
}
