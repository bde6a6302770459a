//! A flight recorder: a trace buffer that the kernel overwrites continuously, and from which time windows are saved.

use crate::error::TracefsError;
use crate::instance::{Instance, Statistics};
use punctual_directory::{Dir, Draft};
use punctual_trace::{DatFile, DatHead, Layout};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::PathBuf;

/// Number of pages kept in memory per CPU after they are read, because the next window may begin in them.
const TAIL_PAGES: usize = 24;
/// Maximum size of all pages kept in memory for [`Flight::hold`], bytes.
const HELD: usize = 64 << 20;

/// A time window to save. Times are those of the trace clock, ns.
#[derive(Clone, Debug)]
pub struct Cut {
    pub from_ns: u64,
    pub to_ns: u64,
    /// Path of the trace.dat to write, relative to the directory given to [`Flight::cut`]. An existing file is
    /// replaced.
    pub name: PathBuf,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Number of pages saved for the window on all CPUs.
    pub pages: u64,
    /// CPUs on which events of the window are missing, because the kernel had already overwritten them, or there was no
    /// memory for them.
    pub overwritten: Vec<u32>,
}

/// A trace instance whose buffer is read to save time windows, or as a stream, or both.
#[derive(Debug)]
pub struct Flight {
    // Declared first, because it must be closed before the instance is removed: fields are dropped in declaration
    // order.
    pipes: Vec<Pipe>,
    instance: Instance,
    head: DatHead,
}

#[derive(Debug)]
struct Pipe {
    layout: Layout,
    cpu: u32,
    file: File,
    /// Pages that were read but may belong to the next window, oldest first.
    tail: VecDeque<Page>,
    /// Time and size to which [`Flight::hold`] limits the pages in `tail`.
    hold: Option<(u64, usize)>,
    /// Size of the pages in `tail`, bytes.
    held: usize,
    /// True if events before the next page were already read or overwritten.
    cut_off: bool,
}

#[derive(Clone, Debug)]
struct Page {
    start_ns: u64,
    bytes: Vec<u8>,
    /// True if events before the page are missing.
    is_after_loss: bool,
    /// True if [`Flight::drain`] has passed the page on.
    is_drained: bool,
}

impl Kept {
    fn lacks(&mut self, cpu: u32) {
        if self.overwritten.last() != Some(&cpu) {
            self.overwritten.push(cpu);
        }
    }
}

impl Flight {
    /// Takes ownership of an instance.
    ///
    /// # Errors
    /// Its files cannot be opened. The instance is removed.
    pub fn new(instance: Instance) -> Result<Flight, TracefsError> {
        let head = instance.head()?;
        let layout = head.layout();
        let open = |cpu| {
            let (file, tail) = (instance.raw_pipe(cpu)?, VecDeque::new());
            Ok(Pipe { cpu, layout, file, tail, hold: None, held: 0, cut_off: false })
        };
        let pipes = instance.cpus().into_iter().map(open).collect::<Result<_, TracefsError>>()?;
        Ok(Flight { pipes, instance, head })
    }

    pub fn instance(&self) -> &Instance {
        &self.instance
    }

    /// Returns the current tracer of the top-level instance; `nop` means none.
    pub fn main_tracer(&self) -> Option<String> {
        self.instance.main_tracer()
    }

    /// Returns the event formats and other facts stored at the start of a trace.dat.
    pub fn head(&self) -> &DatHead {
        &self.head
    }

    pub fn statistics(&self) -> Statistics {
        let all = self.pipes.iter().filter_map(|pipe| self.instance.statistics(pipe.cpu));
        all.fold(Statistics::default(), |a, b| Statistics {
            entries: a.entries + b.entries,
            overrun: a.overrun + b.overrun,
            commit_overrun: a.commit_overrun + b.commit_overrun,
            read: a.read + b.read,
            dropped: a.dropped + b.dropped,
        })
    }

    /// Saves time windows of the recording. Events before the end of the last window are removed from the buffer,
    /// except events in the last pages, so a later call can only save later windows.
    ///
    /// # Errors
    /// A file could not be written. Other files are complete.
    pub fn cut(&mut self, dir: &Dir, cuts: &[Cut]) -> io::Result<Vec<Kept>> {
        let cpus = self.pipes.last().map_or(0, |pipe| pipe.cpu + 1);
        let mut files = Vec::new();
        for cut in cuts {
            let out = BufWriter::with_capacity(16 << 10, dir.draft(&cut.name)?);
            files.push((cut, DatFile::create(out, &self.head, cpus)?, Kept::default()));
        }
        let until = cuts.iter().map(|cut| cut.to_ns).max().unwrap_or(0);
        for pipe in &mut self.pipes {
            pipe.cut(&mut files, until)?;
        }
        let finish = |(_, file, kept): (&Cut, DatFile<BufWriter<Draft>>, Kept)| {
            file.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.publish(false)?;
            Ok(kept)
        };
        files.into_iter().map(finish).collect()
    }

    /// Keeps the pages for this time after [`Flight::drain`] has passed them on, so that windows of the events passed
    /// on by its last call can be saved. They take at most [`HELD`] bytes of memory; beyond that, the oldest pages are
    /// dropped.
    pub fn hold(&mut self, ns: u64) {
        let most = HELD / self.pipes.len().max(1);
        self.pipes.iter_mut().for_each(|pipe| pipe.hold = Some((ns, most)));
    }

    /// Passes every page recorded since the last read and up to `until_ns` to `page`, CPU by CPU. `since_ns` is the end
    /// of the last call; no later window can end before it.
    ///
    /// # Errors
    /// Reading failed.
    pub fn drain(&mut self, since_ns: u64, until_ns: u64, mut page: impl FnMut(u32, &[u8])) -> io::Result<()> {
        for pipe in &mut self.pipes {
            for kept in pipe.tail.iter_mut().filter(|kept| !kept.is_drained) {
                page(pipe.cpu, &kept.bytes);
                kept.is_drained = true;
            }
            pipe.forget(since_ns);
            while let Some(mut next) = pipe.read()? {
                let last = next.start_ns > until_ns;
                page(pipe.cpu, &next.bytes);
                next.is_drained = true;
                if pipe.hold.is_some() {
                    pipe.remember(next);
                }
                if last {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Removes the instance.
    ///
    /// # Errors
    /// Descriptions of what could not be removed.
    pub fn end(self) -> Result<(), Vec<String>> {
        let Flight { pipes, instance, .. } = self;
        drop(pipes);
        instance.remove()
    }
}

type Files<'a, W> = [(&'a Cut, DatFile<W>, Kept)];

impl Pipe {
    fn cut<W: io::Write + io::Seek>(&mut self, files: &mut Files<'_, W>, until: u64) -> io::Result<()> {
        self.held = 0;
        let mut waiting = std::mem::take(&mut self.tail).into_iter();
        let mut page = match waiting.next() {
            Some(page) => Some(page),
            None => self.read()?,
        };
        let mut cut_off = self.cut_off;
        while let Some(this) = page {
            let next = match waiting.next() {
                Some(page) => Some(page),
                None if this.start_ns > until => None,
                None => self.read()?,
            };
            let end = next.as_ref().map_or(u64::MAX, |next| next.start_ns);
            for (cut, file, kept) in files.iter_mut() {
                // Events are missing before the first page, and before each page that follows a loss.
                if this.start_ns > cut.from_ns && (cut_off || this.is_after_loss && this.start_ns <= cut.to_ns) {
                    kept.lacks(self.cpu);
                }
                if end >= cut.from_ns && this.start_ns <= cut.to_ns {
                    file.page(self.cpu, &this.bytes)?;
                    kept.pages += 1;
                }
            }
            cut_off = false;
            self.remember(this);
            page = next;
        }
        // If a CPU has no page, it is unknown whether it had events.
        if cut_off {
            files.iter_mut().for_each(|(_, _, kept)| kept.lacks(self.cpu));
        }
        Ok(())
    }

    fn remember(&mut self, page: Page) {
        self.held += page.bytes.len();
        self.tail.push_back(page);
        while self.hold.map_or(self.tail.len() > TAIL_PAGES, |(_, most)| self.held > most) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        self.held -= self.tail.pop_front().map_or(0, |page| page.bytes.len());
        self.cut_off = true;
    }

    /// Drops the pages that are not needed by any window that ends at `since_ns` or later.
    fn forget(&mut self, since_ns: u64) {
        let Some((ns, _)) = self.hold else {
            while !self.tail.is_empty() {
                self.drop_oldest();
            }
            return;
        };
        let from = since_ns.saturating_sub(ns);
        while self.tail.get(1).is_some_and(|next| next.start_ns <= from) {
            self.drop_oldest();
        }
    }

    /// Reads the next page; `None` if the buffer is empty or the CPU is offline.
    fn read(&mut self) -> io::Result<Option<Page>> {
        let mut bytes = vec![0; self.layout.page];
        let n = match self.file.read(&mut bytes) {
            Ok(n) => n,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => return Ok(None),
            // The CPU went offline.
            Err(e) if e.raw_os_error() == Some(rustix::io::Errno::NODEV.raw_os_error()) => return Ok(None),
            Err(e) => return Err(e),
        };
        bytes.truncate(n);
        let Some(stamp) = bytes.first_chunk::<8>() else { return Ok(None) };
        let start_ns = u64::from_ne_bytes(*stamp);
        // The kernel marks a page before which events were lost (kernel/trace/ring_buffer.c, RB_MISSED_EVENTS).
        let commit = self.layout.long(&bytes, 8).unwrap_or(0);
        let is_after_loss = commit & MISSED != 0;
        trim(&mut bytes, commit, &self.layout);
        Ok(Some(Page { start_ns, bytes, is_after_loss, is_drained: false }))
    }
}

/// RB_MISSED_EVENTS. Bit 30 is RB_MISSED_STORED; the lower bits are the length.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 3 << 30;
const LENGTH: u64 = (1 << 27) - 1;

/// Removes the unused end of a page, because many 4 KiB pages contain only 50 bytes of data.
fn trim(bytes: &mut Vec<u8>, commit: u64, layout: &Layout) {
    let counted = if commit & MISSED_STORED != 0 { 2 * layout.long } else { 0 };
    bytes.truncate(layout.data + (commit & LENGTH) as usize + counted);
    bytes.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pages with 20 bytes of data each that start at these times. `lost` contains the times of the pages
    /// before which events were lost.
    fn pipe(starts: &[u64], lost: &[u64]) -> Pipe {
        use std::io::{Seek, Write};
        let layout = Layout::new(cfg!(target_endian = "big"), 8, 36);
        let mut file = tempfile::tempfile().unwrap();
        for start in starts {
            let commit = 20 | if lost.contains(start) { MISSED } else { 0 };
            file.write_all(&start.to_ne_bytes()).unwrap();
            file.write_all(&commit.to_ne_bytes()).unwrap();
            file.write_all(&[0; 20]).unwrap();
        }
        file.rewind().unwrap();
        Pipe { layout, cpu: 0, file, tail: VecDeque::new(), hold: None, held: 0, cut_off: false }
    }

    fn starts(pipe: &Pipe) -> Vec<u64> {
        pipe.tail.iter().map(|page| page.start_ns).collect()
    }

    #[test]
    fn pages_are_held_for_a_time_and_up_to_a_size() {
        let mut pipe = pipe(&[0, 10, 20, 30, 40, 50], &[]);
        pipe.hold = Some((15, 5 * 36));
        while let Some(page) = pipe.read().unwrap() {
            pipe.remember(page);
        }
        // A sixth page does not fit.
        assert_eq!((starts(&pipe), pipe.held, pipe.cut_off), (vec![10, 20, 30, 40, 50], 5 * 36, true));
        // The page that begins at 20 also contains time 27 (42 − 15).
        pipe.forget(42);
        assert_eq!((starts(&pipe), pipe.held), (vec![20, 30, 40, 50], 4 * 36));
        pipe.forget(1000);
        assert_eq!(starts(&pipe), [50], "the last may go on");
    }

    /// CPUs that lack events of windows from 15 to 35 and from 25 to 35.
    fn lacks(mut pipe: Pipe) -> Vec<bool> {
        let head = DatHead::default();
        let cut = |from_ns| Cut { from_ns, to_ns: 35, name: PathBuf::new() };
        let cuts = [cut(15), cut(25)];
        let file = |cut| {
            let file = DatFile::create(io::Cursor::new(Vec::new()), &head, 1).unwrap();
            (cut, file, Kept::default())
        };
        let mut files: Vec<_> = cuts.iter().map(file).collect();
        pipe.cut(&mut files, 35).unwrap();
        files.iter().map(|(_, _, kept)| kept.overwritten == [0]).collect()
    }

    #[test]
    fn what_a_window_lacks_is_said() {
        assert_eq!(lacks(pipe(&[0, 10, 20, 30, 40], &[])), [false, false]);
        assert_eq!(lacks(pipe(&[0, 10, 20, 30, 40], &[20])), [true, false], "within the first window only");
        assert_eq!(lacks(pipe(&[0, 10, 20, 30, 40], &[40])), [false, false], "behind both");
        let without_first = Pipe { cut_off: true, ..pipe(&[20, 30], &[]) };
        assert_eq!(lacks(without_first), [true, false]);
        assert_eq!(lacks(Pipe { cut_off: true, ..pipe(&[], &[]) }), [true, true]);
    }

    /// A 32-bit program on a 64-bit kernel reads pages whose commit word has 8 bytes. No data may be removed.
    #[test]
    fn what_is_cut_off_depends_on_the_kernel_and_not_on_this_program() {
        for (long, ends) in [(4, 12 + 20), (8, 16 + 20)] {
            let layout = Layout::new(cfg!(target_endian = "big"), long, 4096);
            for (flags, counted) in [(0, 0), (MISSED, 2 * long), (MISSED_STORED, 2 * long)] {
                let mut bytes = vec![7; 4096];
                trim(&mut bytes, 20 | flags, &layout);
                assert_eq!(bytes.len(), ends + counted);
            }
        }
    }
}
