//! Edge detection that writes its result as part of its work.

use crate::canny::Canny;
use crate::image::pgm_head;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Number of frames from one write to the next.
pub const FRAMES_PER_WRITE: u64 = 16;

/// [`Canny`] that writes its edges to a file and waits for the disk after the first frame, and after every
/// [`FRAMES_PER_WRITE`] further frames. A thread with deadlines must not do this: while it waits for the disk, another
/// thread of the same priority gets the CPU.
#[derive(Debug)]
pub struct CannyIo {
    canny: Canny,
    file: File,
    buffer: Vec<u8>,
    head: usize,
    writes: u64,
    frames: u64,
}

impl CannyIo {
    /// Creates a workload that repeatedly overwrites the beginning of `file` with a PGM image.
    pub fn new(canny: Canny, file: File) -> CannyIo {
        let edges = canny.edges();
        let mut buffer = pgm_head(edges.width(), edges.height());
        let head = buffer.len();
        buffer.resize(head + edges.pixels().len(), 0);
        CannyIo { canny, file, buffer, head, writes: 0, frames: 0 }
    }

    /// Runs one step of the detection. If the step ends a frame that is due for writing, writes the edges.
    ///
    /// # Errors
    /// An I/O error if pwrite(2) or fdatasync(2) failed, for example because the disk is full.
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

    /// Restarts the count of frames that determines when the edges are written.
    pub fn begin_anew(&mut self) {
        self.frames = 0;
    }

    pub fn canny(&self) -> &Canny {
        &self.canny
    }

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
