//! Reads ELF files: unwind sections, segments, symbols, and the path of separate debug information.

use crate::symbols::Symbols;
use object::{CompressionFormat, Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolKind};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Maximum size of a file, bytes; larger files are not read.
const LARGEST: u64 = 1 << 30;
/// Maximum size of a section after decompression, bytes; larger sections are not read.
const LARGEST_SECTION: u64 = 1 << 30;
const DEBUG: &str = "/usr/lib/debug";

/// A section: its address range in the image, and its content.
pub(crate) type Section = (std::ops::Range<u64>, Arc<[u8]>);

/// Device and inode of a file. A path does not identify a file, because the same path may lead to different files in
/// different containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId(u64, u64);

/// An executable or library.
#[derive(Debug)]
pub struct Elf {
    path: PathBuf,
    id: FileId,
    data: Vec<u8>,
    symbols: OnceCell<Symbols>,
}

impl Elf {
    fn read(path: &Path) -> Option<Elf> {
        let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
        let mut data = Vec::with_capacity(meta.len() as usize);
        fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut data).ok()?;
        object::File::parse(&*data).ok()?;
        Some(Elf { path: path.to_owned(), id: FileId(meta.dev(), meta.ino()), data, symbols: OnceCell::new() })
    }

    pub fn id(&self) -> FileId {
        self.id
    }

    /// Returns a path with which this process can open the file. For a file in a container, it is below /proc/PID/root
    /// and valid only while that process runs.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the code from a file offset on; `None` if the file is not for x86-64.
    pub fn code_x86_64(&self, offset: u64) -> Option<&[u8]> {
        let is_x86_64 = self.object()?.architecture() == object::Architecture::X86_64;
        self.data.get(usize::try_from(offset).ok().filter(|_| is_x86_64)?..)
    }

    pub(crate) fn object(&self) -> Option<object::File<'_>> {
        object::File::parse(&*self.data).ok()
    }

    /// Converts a file offset within code to its address in the image.
    pub(crate) fn address_of(&self, offset: u64) -> Option<u64> {
        // Mappings begin at page boundaries but segments do not: a page may belong to two segments.
        let page = |n: u64| n & !0xfff;
        let is_code = |segment: &object::Segment<'_, '_>| match segment.flags() {
            object::SegmentFlags::Elf { p_flags } => p_flags & object::elf::PF_X != 0,
            _ => false,
        };
        self.object()?.segments().filter(is_code).find_map(|segment| {
            let (start, size) = segment.file_range();
            let within = page(start) <= offset && offset < start.checked_add(size)?;
            within.then(|| segment.address().checked_sub(start)?.checked_add(offset)).flatten()
        })
    }

    /// Converts an address in the image to its file offset.
    fn offset_of(&self, address: u64) -> Option<u64> {
        self.object()?.segments().find_map(|segment| {
            let (start, size) = segment.file_range();
            let within = address.checked_sub(segment.address()).filter(|within| *within < size)?;
            start.checked_add(within)
        })
    }

    /// Returns name and file offset of the functions with these names, each offset once.
    pub fn functions(&self, names: &[&str]) -> Vec<(String, u64)> {
        let Some(object) = self.object() else { return Vec::new() };
        let mut found: Vec<(String, u64)> = Vec::new();
        for symbol in object.dynamic_symbols().chain(object.symbols()) {
            if symbol.kind() != SymbolKind::Text || !symbol.is_definition() {
                continue;
            }
            let Some(name) = symbol.name().ok().filter(|name| names.contains(name)) else { continue };
            if let Some(offset) = self.offset_of(symbol.address())
                && !found.iter().any(|(_, other)| *other == offset)
            {
                found.push((name.to_owned(), offset));
            }
        }
        found
    }

    /// Returns the file's USDT probes; see [`crate::usdt_probes`].
    pub fn usdt(&self) -> Vec<crate::Usdt> {
        crate::usdt_probes(&self.data)
    }

    pub(crate) fn section(&self, name: &str) -> Option<Section> {
        let object = self.object()?;
        let section = object.section_by_name(name)?;
        let range = section.address()..section.address().checked_add(section.size())?;
        Some((range, bytes_of(&section)?))
    }

    pub(crate) fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| Symbols::of(self, self.debug_file().as_ref()))
    }

    /// Opens the separate debug file; `None` if this file has debug information itself, or no debug file is found.
    fn debug_file(&self) -> Option<Elf> {
        let object = self.object()?;
        if object.section_by_name(".debug_info").is_some() {
            return None;
        }
        let by_id = object.build_id().ok().flatten().and_then(|id| {
            let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            let (first, rest) = hex.split_at_checked(2)?;
            Elf::read(&Path::new(DEBUG).join(".build-id").join(first).join(format!("{rest}.debug")))
        });
        by_id.or_else(|| {
            let (name, _crc) = object.gnu_debuglink().ok().flatten()?;
            let name = std::str::from_utf8(name).ok().filter(|name| !name.contains('/'))?;
            let folder = self.path.parent()?;
            let inside = Path::new(DEBUG).join(folder.strip_prefix("/").unwrap_or(folder));
            let places = [folder.join(name), folder.join(".debug").join(name), inside.join(name)];
            places.iter().filter(|path| **path != self.path).find_map(|path| Elf::read(path))
        })
    }
}

/// Returns the content of a section, decompressed; `None` if it is larger than [`LARGEST_SECTION`].
pub(crate) fn bytes_of<'a>(section: &impl ObjectSection<'a>) -> Option<Arc<[u8]>> {
    let compressed = section.compressed_data().ok()?;
    if compressed.uncompressed_size > LARGEST_SECTION {
        return None;
    }
    let limit = compressed.uncompressed_size;
    let mut out = Vec::new();
    match compressed.format {
        CompressionFormat::None => return Some(compressed.data.into()),
        CompressionFormat::Zlib => {
            flate2::read::ZlibDecoder::new(compressed.data).take(limit).read_to_end(&mut out).ok()?;
        }
        CompressionFormat::Zstandard => {
            let decoder = ruzstd::decoding::StreamingDecoder::new(compressed.data).ok()?;
            decoder.take(limit).read_to_end(&mut out).ok()?;
        }
        _ => return None,
    }
    Some(out.into())
}

/// A cache of files, each read once.
#[derive(Debug, Default)]
pub struct Images {
    read: HashMap<FileId, Option<Rc<Elf>>>,
}

impl Images {
    /// Returns the file that a process sees at `path`, even in a container; `None` if it cannot be read or is not an
    /// ELF file.
    pub fn of_process(&mut self, pid: i32, path: &Path) -> Option<Rc<Elf>> {
        let inside = Path::new("/proc").join(pid.to_string()).join("root").join(path.strip_prefix("/").ok()?);
        // The cached path may be below /proc of a process that has ended.
        let (found, meta) =
            [inside.as_path(), path].into_iter().find_map(|path| Some((path, fs::metadata(path).ok()?)))?;
        let id = FileId(meta.dev(), meta.ino());
        // Outside the container the same file may have a path that remains valid after the process ends.
        let is_here = fs::metadata(path).is_ok_and(|here| FileId(here.dev(), here.ino()) == id);
        let lasting = if is_here { path } else { found };
        self.read.entry(id).or_insert_with(|| Elf::read(lasting).map(Rc::new)).clone()
    }
}
