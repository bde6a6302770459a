//! Keeps a file of the commands that were read from the FIFO but not yet sent. The next start reads it, so that kill -9
//! loses no command. The file belongs on a tmpfs such as /run, so that after a reboot no old command switches a lamp.

use crate::command::{BadCommand, Command, Decoder};
use crate::error::Error;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 1 << 16;

/// The file of pending commands. It is replaced by rename(2), so that a killed program leaves either the old or the new
/// version.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    new: PathBuf,
}

/// Contents of the file that an earlier run left.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The pending commands, in order, without their time stamps.
    pub commands: Vec<Command>,
    /// Text that is not a valid command, for example because the allowed addresses have changed.
    pub bad: Vec<BadCommand>,
}

impl Pending {
    /// Returns the pending file at `path`, which is not created yet.
    pub fn at(path: PathBuf) -> Pending {
        let mut new = path.clone().into_os_string();
        new.push(".new");
        Pending { path, new: new.into() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what an earlier run left. If that run had read the beginning of an invalid word, `decoder` skips the rest
    /// of the word. A missing file counts as empty.
    ///
    /// # Errors
    /// The file cannot be read, is not a regular file, or is too large.
    pub fn restore(&self, decoder: &mut Decoder) -> Result<Left, Error> {
        let failed = || Error::file("read", &self.path);
        let file = match fs::symlink_metadata(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Left::default()),
            Err(e) => return Err(failed()(e)),
            // Opening a FIFO at this path would block.
            Ok(meta) if !meta.is_file() || meta.len() > MAX_BYTES => {
                let why = "it was not written by rf-switch: move it away, or give another path with --pending";
                return Err(failed()(io::Error::other(why)));
            }
            Ok(_) => fs::File::open(&self.path).map_err(failed())?,
        };
        let mut bytes = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed())?;
        let mut left = Left::default();
        for one in bytes.into_iter().filter_map(|byte| decoder.push(byte)) {
            match one {
                Ok(command) => left.commands.push(Command { stamp: None, ..command }),
                Err(bad) => left.bad.push(bad),
            }
        }
        Ok(left)
    }

    /// Writes the waiting commands, and an invalid word whose end has not been read. Removes the file if there is
    /// neither.
    ///
    /// # Errors
    /// The file cannot be written; its old contents are kept.
    pub fn keep<'a>(&self, commands: impl IntoIterator<Item = &'a Command>, rest: &[u8]) -> Result<(), Error> {
        let mut text: Vec<u8> = Vec::new();
        commands.into_iter().for_each(|command| text.extend(format!("{}\n", command.code).bytes()));
        text.extend(rest);
        if text.is_empty() {
            return match fs::remove_file(&self.path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => Err(Error::file("remove", &self.path)(e)),
                _ => Ok(()),
            };
        }
        fs::write(&self.new, text).map_err(Error::file("write", &self.new))?;
        fs::rename(&self.new, &self.path).map_err(Error::file("replace", &self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Addresses;
    use crate::command::read_all;

    #[test]
    fn what_is_kept_is_restored_with_the_bad_word_that_was_cut() {
        let folder = tempfile::tempdir().unwrap();
        let pending = Pending::at(folder.path().join("rtp1.pending"));
        let commands: Vec<Command> = read_all("@5 d21 a10", Addresses::Usual).into_iter().map(|c| c.unwrap()).collect();
        pending.keep(&commands, b"x").unwrap();
        let mut decoder = Decoder::new(Addresses::Usual);
        let left = pending.restore(&mut decoder).unwrap();
        let codes: Vec<String> = left.commands.iter().map(Command::to_string).collect();
        assert_eq!((codes, left.bad.len()), (vec!["d21".to_owned(), "a10".to_owned()], 1));
        assert!(b"b11".iter().all(|byte| decoder.push(*byte).is_none()));
        pending.keep(&[], b"").unwrap();
        assert!(!pending.path().exists() && fs::read_dir(folder.path()).unwrap().count() == 0);
        assert_eq!(pending.restore(&mut decoder).unwrap(), Left::default());
        pending.keep(&[], b"").unwrap();
    }

    #[test]
    fn what_is_no_file_of_ours_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let pending = Pending::at(folder.path().into());
        let error = pending.restore(&mut Decoder::default()).unwrap_err().to_string();
        assert!(error.contains("--pending"), "{error}");
        let pending = Pending::at(folder.path().join("large"));
        fs::write(pending.path(), vec![b'x'; 70_000]).unwrap();
        assert!(pending.restore(&mut Decoder::default()).is_err());
        assert_eq!(fs::metadata(pending.path()).unwrap().len(), 70_000);
        fs::write(pending.path(), "rubbish d21\n e11 \u{0}").unwrap();
        let left = pending.restore(&mut Decoder::default()).unwrap();
        assert_eq!((left.commands.len(), left.bad.len()), (1, 3));
    }
}
