//! What was read from the FIFO and is not sent yet, in a file that the next start reads: kill -9 loses none of it. It is meant for a
//! tmpfs such as /run: after a reboot no lamp goes on by what was typed before it.

use crate::command::{BadCommand, Command, Decoder};
use crate::error::Error;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// More than the longest queue takes.
const MOST_BYTES: u64 = 1 << 16;

/// The file. It is replaced as a whole by rename(2), so that a killed program leaves the one before or the one after.
#[derive(Debug)]
pub struct Pending {
    path: PathBuf,
    new: PathBuf,
}

/// What an earlier run left.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Commands, in order, without their stamps.
    pub commands: Vec<Command>,
    /// What is no command (any more: the addresses may be others now).
    pub bad: Vec<BadCommand>,
}

impl Pending {
    /// At `path`; nothing is made yet.
    pub fn at(path: PathBuf) -> Pending {
        let mut new = path.clone().into_os_string();
        new.push(".new");
        Pending { path, new: new.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what an earlier run left into `decoder`, which then leaves out a bad word that run was in. No file: nothing.
    ///
    /// # Errors
    /// It cannot be read, is no file, or is larger than one of ours.
    pub fn restore(&self, decoder: &mut Decoder) -> Result<Left, Error> {
        let failed = || Error::file("read", &self.path);
        let file = match fs::symlink_metadata(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Left::default()),
            Err(e) => return Err(failed()(e)),
            // A FIFO in its place would block.
            Ok(meta) if !meta.is_file() || meta.len() > MOST_BYTES => {
                let why = "it is no file that rf-switch wrote: move it away, or give --pending PATH";
                return Err(failed()(io::Error::other(why)));
            }
            Ok(_) => fs::File::open(&self.path).map_err(failed())?,
        };
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(failed())?;
        let mut left = Left::default();
        for one in bytes.into_iter().filter_map(|byte| decoder.push(byte)) {
            match one {
                Ok(command) => left.commands.push(Command { stamp: None, ..command }),
                Err(bad) => left.bad.push(bad),
            }
        }
        Ok(left)
    }

    /// Writes down what waits, and the bad word that is not over; removes the file where there is nothing.
    ///
    /// # Errors
    /// It cannot be written; what it held before it still holds.
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
        assert!(error.contains("--pending PATH"), "{error}");
        let pending = Pending::at(folder.path().join("large"));
        fs::write(pending.path(), vec![b'x'; 70_000]).unwrap();
        assert!(pending.restore(&mut Decoder::default()).is_err());
        assert_eq!(fs::metadata(pending.path()).unwrap().len(), 70_000);
        fs::write(pending.path(), "rubbish d21\n e11 \u{0}").unwrap();
        let left = pending.restore(&mut Decoder::default()).unwrap();
        assert_eq!((left.commands.len(), left.bad.len()), (1, 3));
    }
}
