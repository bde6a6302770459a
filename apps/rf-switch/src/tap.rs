//! Reads the FIFO in two steps: copies its contents with tee(2), and consumes them once they are in the pending file. A
//! program killed between the two steps reads them again: sending a command twice is harmless, losing it is not.

use crate::error::Error;
use punctual_rt::Fifo;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, read};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, tee};
use std::path::Path;

pub const MAX: usize = 4096;

#[derive(Debug)]
pub struct Tap {
    fifo: Fifo,
    seen: OwnedFd,
    copy: OwnedFd,
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fifo.as_fd()
    }
}

impl Tap {
    /// Creates a tap on this FIFO, with a pipe for the copies.
    ///
    /// # Errors
    /// pipe2(2) fails.
    pub fn new(fifo: Fifo) -> Result<Tap, Error> {
        let (seen, copy) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).map_err(Error::call("pipe2"))?;
        Ok(Tap { fifo, seen, copy })
    }

    pub fn path(&self) -> &Path {
        self.fifo.path()
    }

    /// Returns the next bytes of the FIFO, at most [`MAX`], without removing them.
    ///
    /// # Errors
    /// tee(2) or read(2) fails; an empty FIFO is not an error.
    pub fn look<'a>(&self, bytes: &'a mut [u8; MAX]) -> Result<&'a [u8], Error> {
        match tee(&self.fifo, &self.copy, MAX, SpliceFlags::NONBLOCK) {
            Ok(0) | Err(Errno::AGAIN | Errno::INTR) => return Ok(&[]),
            Err(errno) => return Err(Error::call("tee")(errno)),
            Ok(_) => {}
        }
        let count = read(&self.seen, &mut bytes[..]).map_err(Error::call("read"))?;
        Ok(&bytes[..count])
    }

    /// Consumes bytes that [`Tap::look`] has returned. Returns `false` if they differ, because another program also
    /// reads this FIFO.
    ///
    /// # Errors
    /// read(2) fails.
    pub fn take(&self, seen: &[u8]) -> Result<bool, Error> {
        let mut bytes = [0; MAX];
        let mut taken = 0;
        while taken < seen.len() {
            match read(&self.fifo, &mut bytes[taken..seen.len()]) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(false),
                Ok(count) => taken += count,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::call("read")(errno)),
            }
        }
        Ok(bytes[..taken] == *seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_seen_stays_until_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rtp1");
        let tap = Tap::new(Fifo::open(&*path).unwrap()).unwrap();
        let mut bytes = [0; MAX];
        assert_eq!(tap.look(&mut bytes).unwrap(), b"");
        let mut writer = std::fs::File::options().write(true).open(&path).unwrap();
        writer.write_all(b"d21").unwrap();
        assert_eq!(tap.look(&mut bytes).unwrap(), b"d21");
        writer.write_all(b"d20").unwrap();
        let seen = tap.look(&mut bytes).unwrap();
        assert_eq!(seen, b"d21d20");
        assert!(tap.take(&seen[..3]).unwrap());
        assert!(!tap.take(b"xxx").unwrap(), "somebody else read");
        assert!(!tap.take(b"d21").unwrap(), "nothing is left");
    }
}
