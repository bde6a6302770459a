//! Edge detection that writes its result within its work.

use crate::canny::Canny;
use crate::image::pgm_head;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Frames between two writes.
pub const FRAMES_PER_WRITE: u64 = 16;

/// [`Canny`], which writes its edges into a file and waits until the disk has them: after the first frame and after every
/// [`FRAMES_PER_WRITE`] more. What a thread must not do that has deadlines: it sleeps in the middle of its work, and whoever has
/// its priority gets the CPU.
#[derive(Debug)]
pub struct CannyIo {
    canny: Canny,
    file: File,
    buffer: Vec<u8>,
    head: usize,
    writes: u64,
    /// Frames since it began.
    frames: u64,
}

impl CannyIo {
    /// Writes go over the beginning of `file` again and again, as a PGM.
    pub fn new(canny: Canny, file: File) -> CannyIo {
        let edges = canny.edges();
        let mut buffer = pgm_head(edges.width(), edges.height());
        let head = buffer.len();
        buffer.resize(head + edges.pixels().len(), 0);
        CannyIo { canny, file, buffer, head, writes: 0, frames: 0 }
    }

    /// One step of the detection, and a write where it ends the frame for which one is due.
    ///
    /// # Errors
    /// pwrite(2) or fdatasync(2) failed: the disk is full, or broken.
    pub fn step(&mut self) -> io::Result<()> {
        let before = self.canny.frames();
        self.canny.step();
        if self.canny.frames() == before {
            return Ok(());
        }
        self.frames += 1;
        if self.frames % FRAMES_PER_WRITE == 1 {
            self.buffer[self.head..].copy_from_slice(self.canny.edges().pixels());
            self.file.write_all_at(&self.buffer, 0)?;
            self.file.sync_data()?;
            self.writes += 1;
        }
        Ok(())
    }

    /// Counts from here on which frames are written.
    pub fn begin_anew(&mut self) {
        self.frames = 0;
    }

    /// The detection.
    pub fn canny(&self) -> &Canny {
        &self.canny
    }

    /// Writes so far.
    pub fn writes(&self) -> u64 {
        self.writes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Image;

    #[test]
    fn the_first_frame_and_every_sixteenth_more_is_written() {
        let canny = Canny::new(Image::scene(32, 24, 5).unwrap());
        let (unit, path) = (canny.steps_a_frame(), tempfile::NamedTempFile::new().unwrap());
        let mut io = CannyIo::new(canny, path.reopen().unwrap());
        for frame in 1..=33 {
            (0..unit).for_each(|_| io.step().unwrap());
            assert_eq!(io.writes(), 1 + (frame - 1) / FRAMES_PER_WRITE, "frame {frame}");
        }
        io.begin_anew();
        (0..unit).for_each(|_| io.step().unwrap());
        assert_eq!(io.writes(), 4, "the first frame since it began anew");
        assert_eq!(std::fs::read(path.path()).unwrap(), io.canny().edges().pgm());
    }

    #[test]
    fn a_full_disk_is_an_error_not_a_panic() {
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            return eprintln!("not tested: no /dev/full");
        };
        let mut io = CannyIo::new(Canny::new(Image::scene(32, 24, 5).unwrap()), full);
        assert!((0..1000).any(|_| io.step().is_err()));
    }
}
