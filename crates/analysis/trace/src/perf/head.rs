//! Reads the header of a perf.data: offsets, events, machine (tools/perf/Documentation/perf.data-file-format.txt).

use super::FORMAT;
use super::attr::{Attr, Attrs};
use crate::dat::MAGIC as TRACING;
use crate::dat::meta::{Meta, unpacked};
use crate::info::{Damage, Place, TraceError};
use crate::input::{Input, MOST};
use crate::raw::Layout;
use std::io::{Read, Seek};

/// Size of the header in pipe mode. `FILE` is the size of the header of a file, which has tables.
const PIPE: u64 = 16;
const FILE: u64 = 104;
const TRACING_DATA: u16 = 1;
const OSRELEASE: u16 = 4;
const ARCH: u16 = 6;
const NRCPUS: u16 = 7;
/// Maximum size of an attr; 136 bytes in Linux 6.18.
const ATTR: u64 = 4096;

#[derive(Clone, Copy, Debug)]
struct Part {
    at: u64,
    size: u64,
}

/// Reads the header and leaves the input at the first record. Returns the end of the records.
pub(super) fn read<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &mut Meta,
    attrs: &mut Attrs,
) -> Result<u64, TraceError> {
    input.skip(8)?;
    let size = input.u64()?;
    if size == PIPE {
        return Ok(input.length());
    }
    if size < FILE {
        return Err(input.damaged("size of the head"));
    }
    let attr_size = input.u64()?;
    let (events, data) = (part(input)?, part(input)?);
    part(input)?;
    let mut bits = [0u64; 4];
    for word in &mut bits {
        *word = input.u64()?;
    }
    self::events(input, meta, attrs, events, attr_size)?;
    let whole = data.at.saturating_add(data.size);
    if data.size == 0 {
        // perf writes the size last, so it was killed.
        meta.info.note(Damage::Truncated { inside: "the header, which perf writes last" }, Place::Whole);
    } else if let Err(error) = features(input, meta, whole, bits) {
        let at = input.at();
        let damage = match error {
            TraceError::Damaged { what, .. } => Damage::Corrupt { what },
            other => Damage::Unsupported { what: other.to_string() },
        };
        meta.info.note(damage, Place::Byte(at));
    }
    input.seek(data.at)?;
    Ok(if data.size == 0 { input.length() } else { whole })
}

fn part<R: Read + Seek>(input: &mut Input<R>) -> Result<Part, TraceError> {
    Ok(Part { at: input.u64()?, size: input.u64()? })
}

fn events<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &Meta,
    attrs: &mut Attrs,
    all: Part,
    size: u64,
) -> Result<(), TraceError> {
    let Some(attr_size) = size.checked_sub(16).filter(|size| (64..=ATTR).contains(size)) else {
        return Err(input.damaged("size of an event's attributes"));
    };
    let most = input.length().saturating_sub(all.at) / size;
    for n in 0..(all.size / size).min(most) {
        input.seek(all.at.saturating_add(n * size))?;
        let bytes = input.bytes(attr_size, ATTR as usize)?;
        let ids = part(input)?;
        input.seek(ids.at)?;
        let ids = input.bytes(ids.size, MOST)?;
        if !add(meta.layout, attrs, &bytes, &ids) {
            return Err(input.damaged("attributes of an event"));
        }
    }
    Ok(())
}

pub(super) fn add(layout: Layout, attrs: &mut Attrs, attr: &[u8], ids: &[u8]) -> bool {
    let ids = ids.chunks_exact(8).filter_map(|id| layout.u64(id, 0));
    Attr::parse(attr, &layout).is_some_and(|attr| attrs.add(attr, ids))
}

fn features<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &mut Meta,
    table: u64,
    bits: [u64; 4],
) -> Result<(), TraceError> {
    let present = (0..256u16).filter(|bit| bits.get(usize::from(bit / 64)).is_some_and(|w| w >> (bit % 64) & 1 == 1));
    for (n, bit) in present.enumerate() {
        input.seek(table.saturating_add(16 * n as u64))?;
        let part = part(input)?;
        match bit {
            TRACING_DATA => {
                input.seek(part.at)?;
                let bytes = input.bytes(part.size, MOST)?;
                tracing(meta, bytes)?;
            }
            OSRELEASE | ARCH | NRCPUS => {
                input.seek(part.at)?;
                let bytes = input.bytes(part.size, 4096)?;
                feature(meta, bit.into(), &bytes);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Reads a feature, from the table or from `PERF_RECORD_HEADER_FEATURE`.
pub(super) fn feature(meta: &mut Meta, id: u64, value: &[u8]) {
    let text = || {
        let text = value.get(4..).unwrap_or_default().split(|b| *b == 0).next().unwrap_or_default();
        Some(String::from_utf8_lossy(text.get(..text.len().min(128))?).into_owned()).filter(|text| !text.is_empty())
    };
    match u16::try_from(id) {
        Ok(OSRELEASE) => meta.info.kernel = text(),
        Ok(ARCH) => meta.info.machine = text(),
        // The available CPUs precede those online.
        Ok(NRCPUS) => meta.info.cpus = meta.layout.u32(value, 4),
        _ => {}
    }
}

/// Reads event formats in the form of trace.dat (tools/perf/util/trace-event-info.c).
pub(super) fn tracing(meta: &mut Meta, bytes: Vec<u8>) -> Result<(), TraceError> {
    let mut input = unpacked(bytes, false)?;
    input.expect(TRACING, "event formats")?;
    let version = input.string(16)?;
    let big_endian = input.u8()? == 1;
    input.big_endian = big_endian;
    let long = input.u8()?;
    let page = input.u32()?;
    meta.layout = Layout::new(big_endian, long.into(), page as usize);
    meta.headers(&mut input)?;
    meta.ftrace(&mut input)?;
    meta.events(&mut input)?;
    for _ in ["kallsyms", "printk"] {
        let size = input.u32()?;
        input.skip(size.into())?;
    }
    // Files from version 0.6 on also contain saved command lines.
    if version != b"0.5" && input.at() < input.length() {
        meta.cmdlines(&mut input)?;
    }
    Ok(())
}

pub(crate) fn is_magic(head: &[u8]) -> bool {
    head.starts_with(b"PERFILE2") || head.starts_with(b"2ELIFREP")
}

pub(super) fn input<R: Read + Seek>(reader: R) -> Result<Input<R>, TraceError> {
    let mut input = Input::new(reader, FORMAT)?;
    input.big_endian = input.bytes(8, 8)?.starts_with(b"2");
    input.seek(0)?;
    Ok(input)
}
