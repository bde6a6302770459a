use crate::block::Found;
use crate::lines::{Counted, next_line};
use crate::{Error, Options};
use std::io::Read;

pub(crate) trait Lines {
    /// Takes a cleaned line; ignores irrelevant ones. The error says why reading cannot go on, and what the user can
    /// do.
    fn line(&mut self, line: &str) -> Result<(), (String, &'static str)>;

    fn finish(self, options: &Options) -> Found;
}

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
