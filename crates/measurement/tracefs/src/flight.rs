//! A flight recorder: a trace buffer that the kernel overwrites continuously, and from which time windows are saved.

use crate::error::TracefsError;
use crate::instance::{Instance, Statistics};
use punctual_directory::{Dir, Draft};
use punctual_trace::{DatFile, DatHead, Layout};
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::PathBuf;

/// Number of pages kept in memory per CPU after they are read, because the next window may begin in them.
const TAIL_PAGES: usize = 24;

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
    /// CPUs on which the kernel had already overwritten the start of the window.
    pub overwritten: Vec<u32>,
}

/// A trace instance whose buffer is read only to save time windows.
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
    tail: Vec<Page>,
    /// True if events before the next page were already read or overwritten.
    cut_off: bool,
}

#[derive(Clone, Debug)]
struct Page {
    start_ns: u64,
    bytes: Vec<u8>,
}

impl Flight {
    /// Takes ownership of an instance.
    ///
    /// # Errors
    /// Its files cannot be opened. The instance is removed.
    pub fn new(instance: Instance) -> Result<Flight, TracefsError> {
        let head = instance.head()?;
        let layout = head.layout();
        let open = |cpu| Ok(Pipe { cpu, layout, file: instance.raw_pipe(cpu)?, tail: Vec::new(), cut_off: false });
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
    /// except those of the last pages, so a later call can only save later windows.
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

    /// Passes every page recorded since the last read and up to `until_ns` to `page`, CPU by CPU, and keeps none in
    /// memory.
    ///
    /// # Errors
    /// Reading failed.
    pub fn drain(&mut self, until_ns: u64, mut page: impl FnMut(u32, &[u8])) -> io::Result<()> {
        for pipe in &mut self.pipes {
            pipe.tail.drain(..).for_each(|kept| page(pipe.cpu, &kept.bytes));
            while let Some(next) = pipe.read()? {
                let last = next.start_ns > until_ns;
                page(pipe.cpu, &next.bytes);
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
        let mut waiting = std::mem::take(&mut self.tail).into_iter();
        let mut page = match waiting.next() {
            Some(page) => Some(page),
            None => self.read()?,
        };
        for (cut, _, kept) in files.iter_mut() {
            if self.cut_off && page.as_ref().is_none_or(|page| page.start_ns > cut.from_ns) {
                kept.overwritten.push(self.cpu);
            }
        }
        while let Some(this) = page {
            let next = match waiting.next() {
                Some(page) => Some(page),
                None if this.start_ns > until => None,
                None => self.read()?,
            };
            let end = next.as_ref().map_or(u64::MAX, |next| next.start_ns);
            for (cut, file, kept) in files.iter_mut() {
                if end >= cut.from_ns && this.start_ns <= cut.to_ns {
                    file.page(self.cpu, &this.bytes)?;
                    kept.pages += 1;
                }
            }
            self.remember(this);
            page = next;
        }
        Ok(())
    }

    fn remember(&mut self, page: Page) {
        if self.tail.len() >= TAIL_PAGES {
            self.tail.remove(0);
            self.cut_off = true;
        }
        self.tail.push(page);
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
        self.cut_off |= commit & MISSED != 0;
        trim(&mut bytes, commit, &self.layout);
        Ok(Some(Page { start_ns, bytes }))
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
