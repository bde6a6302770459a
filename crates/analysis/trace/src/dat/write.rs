//! Writes trace.dat version 6, for trace-cmd and KernelShark (Documentation/trace-cmd/trace-cmd.dat.v6.5.txt).

use super::MAGIC;
use super::meta::{DONE, TRACECLOCK, UNAME};
use crate::raw::Layout;
use std::io::{self, Seek, SeekFrom, Write};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DatHead {
    /// Content of `events/header_page`.
    pub header_page: Vec<u8>,
    /// Content of `events/header_event`.
    pub header_event: Vec<u8>,
    /// Formats of ftrace's own events (print, function, …).
    pub ftrace: Vec<Vec<u8>>,
    /// Formats of the recorded events by system.
    pub systems: Vec<(String, Vec<Vec<u8>>)>,
    /// The kernel, `Linux HOST RELEASE MACHINE`; empty if unknown.
    pub uname: String,
    /// Content of `trace_clock`, for example `local [mono]`.
    pub clock: String,
}

impl DatHead {
    /// Returns the offset of [`symbols`] in a file with this head. The file reserves space for the symbols, so that
    /// they can be written later.
    pub fn symbols_at(&self) -> u64 {
        // The symbols are preceded by their size.
        self.front().0.len() as u64 + 4
    }

    fn front(&self) -> Bytes {
        let layout = self.layout();
        let mut bytes = Bytes::default();
        bytes.raw(MAGIC);
        bytes.raw(b"6\0");
        bytes.raw(&[u8::from(layout.big_endian), layout.long as u8]);
        bytes.u32(layout.page as u32);
        bytes.raw(b"header_page\0");
        bytes.sized(&self.header_page);
        bytes.raw(b"header_event\0");
        bytes.sized(&self.header_event);
        bytes.formats(&self.ftrace);
        bytes.u32(self.systems.len() as u32);
        for (system, formats) in &self.systems {
            bytes.raw(system.as_bytes());
            bytes.raw(&[0]);
            bytes.formats(formats);
        }
        bytes
    }

    /// Returns the layout of the pages of the running kernel: byte order of this machine, sizes from `header_page`.
    /// They differ from this program's if it is 32-bit and the kernel 64-bit (32-bit Raspberry Pi OS).
    pub fn layout(&self) -> Layout {
        Layout::new(cfg!(target_endian = "big"), size_of::<usize>(), 4096).with_header_page(&self.header_page)
    }
}

/// A trace.dat being written: the head, then all pages CPU by CPU, then [`DatFile::finish`].
pub struct DatFile<W> {
    out: W,
    page: usize,
    /// Offset of the table of offsets and sizes.
    table: u64,
    cpus: Vec<(u64, u64)>,
    at: u64,
    open: Option<usize>,
}

impl<W: Write + Seek> DatFile<W> {
    /// Writes the head for `cpus` CPUs of this machine, with room for [`symbols`].
    pub fn create(out: W, head: &DatHead, cpus: u32) -> io::Result<DatFile<W>> {
        DatFile::with_symbols(out, head, cpus, &symbols(&[]))
    }

    /// Writes the head with these symbols, in the format of /proc/kallsyms.
    pub fn with_symbols(mut out: W, head: &DatHead, cpus: u32, symbols: &[u8]) -> io::Result<DatFile<W>> {
        let page = head.layout().page;
        let mut bytes = head.front();
        bytes.u32(symbols.len() as u32);
        bytes.raw(symbols);
        // Printk formats and task names are omitted: the recorded events contain their names.
        bytes.u32(0);
        bytes.sized(&[]);
        bytes.u32(cpus);
        bytes.options(head);
        bytes.raw(b"flyrecord\0");
        let table = bytes.0.len() as u64;
        bytes.raw(&vec![0; 16 * cpus as usize]);
        bytes.sized(head.clock.as_bytes());
        let padded = bytes.0.len().next_multiple_of(page);
        bytes.0.resize(padded, 0);
        out.write_all(&bytes.0)?;
        Ok(DatFile { out, page, table, cpus: vec![(0, 0); cpus as usize], at: padded as u64, open: None })
    }

    pub fn page_size(&self) -> usize {
        self.page
    }

    /// Appends a page of `cpu`, zero-padded if shorter. All pages of a CPU must be contiguous.
    ///
    /// # Errors
    ///
    /// Fails if writing fails, the page is too long, `cpu` exceeds the number in the head, or its pages have ended.
    pub fn page(&mut self, cpu: u32, page: &[u8]) -> io::Result<()> {
        let n = cpu as usize;
        let fits =
            page.len() <= self.page && (self.open == Some(n) || self.cpus.get(n).is_some_and(|(_, size)| *size == 0));
        if !fits {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "page out of order"));
        }
        self.open = Some(n);
        let at = self.at;
        let Some((offset, size)) = self.cpus.get_mut(n) else { return Ok(()) };
        if *size == 0 {
            *offset = at;
        }
        self.out.write_all(page)?;
        self.out.write_all(&vec![0; self.page - page.len()])?;
        *size += self.page as u64;
        self.at += self.page as u64;
        Ok(())
    }

    pub fn finish(mut self) -> io::Result<W> {
        let mut bytes = Bytes::default();
        for (offset, size) in &self.cpus {
            bytes.u64(if *size == 0 { self.at } else { *offset });
            bytes.u64(*size);
        }
        self.out.seek(SeekFrom::Start(self.table))?;
        self.out.write_all(&bytes.0)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Bytes reserved for symbols in each file, which is enough for about 300 functions.
const SYMBOLS: usize = 16 << 10;

/// Formats functions by address like /proc/kallsyms, as many as fit; the rest of the reserved space is filled with
/// lines that name no function.
pub fn symbols(functions: &[(u64, String)]) -> Vec<u8> {
    const FILLER: &str = "0000000000000000 t -\n";
    let mut text = String::new();
    for (address, name) in functions {
        let line = format!("{address:016x} t {name}\n");
        if text.len() + line.len() + FILLER.len() <= SYMBOLS {
            text += &line;
        }
    }
    while SYMBOLS - text.len() >= 2 * FILLER.len() {
        text += FILLER;
    }
    let last = SYMBOLS - text.len();
    text += &format!("0000000000000000 t {}\n", "-".repeat(last - FILLER.len() + 1));
    text.into_bytes()
}

#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn u16(&mut self, n: u16) {
        self.raw(&n.to_ne_bytes());
    }

    fn u32(&mut self, n: u32) {
        self.raw(&n.to_ne_bytes());
    }

    fn u64(&mut self, n: u64) {
        self.raw(&n.to_ne_bytes());
    }

    fn sized(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.raw(bytes);
    }

    fn formats(&mut self, formats: &[Vec<u8>]) {
        self.u32(formats.len() as u32);
        formats.iter().for_each(|format| self.sized(format));
    }

    fn options(&mut self, head: &DatHead) {
        self.raw(b"options  \0");
        for (id, text) in [(TRACECLOCK, &head.clock), (UNAME, &head.uname)] {
            if !text.is_empty() {
                self.u16(id);
                self.u32(text.len() as u32 + 1);
                self.raw(text.as_bytes());
                self.raw(&[0]);
            }
        }
        self.u16(DONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Options};
    use std::io::Cursor;

    const FORMAT: &str = "name: sched_wakeup\nID: 7\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
                          \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
                          \tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n\
                          \tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";
    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                          \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

    fn page(t: u64, tid: i32) -> Vec<u8> {
        let mut page = Vec::new();
        page.extend(t.to_ne_bytes());
        page.extend(40u64.to_ne_bytes());
        page.extend((9u32).to_ne_bytes());
        page.extend(7u16.to_ne_bytes());
        page.extend([0; 6]);
        page.extend(b"victim\0\0\0\0\0\0\0\0\0\0");
        for n in [tid, 9, 1] {
            page.extend(n.to_ne_bytes());
        }
        page
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn what_is_written_is_read_again_in_order_of_time() {
        let head = DatHead {
            header_page: HEADER.into(),
            systems: vec![("sched".into(), vec![FORMAT.into()])],
            uname: "Linux box 6.12.1-rt x86_64".into(),
            clock: "local [mono]".into(),
            ..DatHead::default()
        };
        let mut file = DatFile::create(Cursor::new(Vec::new()), &head, 3).unwrap();
        file.page(0, &page(1000, 10)).unwrap();
        file.page(0, &page(3000, 11)).unwrap();
        file.page(2, &page(2000, 12)).unwrap();
        assert!(file.page(0, &page(4000, 13)).is_err() && file.page(3, &[]).is_err());
        let bytes = file.finish().unwrap();
        let mut source = crate::open(Cursor::new(bytes.into_inner()), Options::default()).unwrap();
        let woken: Vec<(u64, u32, i32)> = std::iter::from_fn(|| source.next())
            .filter_map(|e| match e.kind {
                Kind::SchedWakeup { task, .. } => Some((e.t_ns, e.cpu, task.tid)),
                _ => None,
            })
            .collect();
        assert_eq!(woken, [(1000, 0, 10), (2000, 2, 12), (3000, 0, 11)]);
        let info = source.info();
        assert_eq!((info.clock.as_deref(), info.kernel.as_deref()), (Some("mono"), Some("6.12.1-rt")));
        assert!(info.notes.is_empty(), "{:?}", info.notes);
    }

    #[test]
    fn symbols_fill_their_space_exactly() {
        for n in [0, 1, 50, 400] {
            let functions: Vec<(u64, String)> = (1..=n).map(|n| (n << 12, format!("function_{n}"))).collect();
            let text = symbols(&functions);
            assert_eq!(text.len(), SYMBOLS);
            let text = String::from_utf8(text).unwrap();
            assert!(text.ends_with('\n') && text.lines().all(|line| line.split(' ').count() == 3), "{n}");
            assert_eq!(text.contains("0000000000001000 t function_1\n"), n > 0);
        }
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn symbols_are_where_they_are_said_to_be() {
        let systems = vec![("sched".into(), vec![FORMAT.into()])];
        let head = DatHead { header_page: HEADER.into(), systems, ..DatHead::default() };
        let mut bytes = DatFile::create(Cursor::new(Vec::new()), &head, 1).unwrap().finish().unwrap().into_inner();
        let at = head.symbols_at() as usize;
        assert_eq!(&bytes[at..at + SYMBOLS], symbols(&[]));
        bytes[at..at + SYMBOLS].copy_from_slice(&symbols(&[(0x1000, "f".into())]));
        assert!(crate::open(Cursor::new(bytes), Options::default()).is_ok());
    }
}
