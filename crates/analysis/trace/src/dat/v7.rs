//! Reads trace.dat version 7: sections found through linked lists of options (trace-cmd.dat.v7.5.txt).

use super::meta::{self, At, Buffer, Meta, unpacked};
use super::unpack::Codec;
use super::v6::CPUS;
use crate::info::{Damage, Place, TraceError};
use crate::input::{Input, MOST};
use std::io::{Cursor, Read, Seek};

/// Maximum number of option sections; a longer chain is a cycle.
const CHAIN: usize = 4096;
const OPTIONS: usize = 1 << 16;

pub(super) struct Section {
    id: u16,
    pub(super) packed: bool,
    size: u64,
}

/// Reads what follows the fixed head. Returns `Some` if the only data is this text trace.
pub(super) fn read<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &mut Meta,
    codec: Codec,
) -> Result<Option<Vec<u8>>, TraceError> {
    let mut next = input.u64()?;
    let mut places = Vec::new();
    for _ in 0..CHAIN {
        match options(input, meta, codec, next, &mut places) {
            Ok(0) => break,
            Ok(offset) => next = offset,
            Err(error) if places.is_empty() => return Err(error),
            Err(error) => {
                damage(meta, error);
                break;
            }
        }
    }
    // The header page is read first, since it contains the size of a long.
    places.sort_by_key(|(id, _)| *id);
    let mut text = None;
    for (id, offset) in places {
        let result = match id {
            meta::BUFFER_TEXT => contents(input, codec, offset).map(|bytes| text = Some(bytes)),
            _ => section(input, meta, codec, id, offset),
        };
        if let Err(error) = result {
            damage(meta, error);
        }
    }
    Ok(text)
}

fn damage(meta: &mut Meta, error: TraceError) {
    let (what, place) = match error {
        TraceError::Damaged { what, at, .. } => (Damage::Corrupt { what }, Place::Byte(at)),
        other => (Damage::Unsupported { what: other.to_string() }, Place::Whole),
    };
    meta.info.note(what, place);
}

pub(super) fn head<R: Read + Seek>(input: &mut Input<R>, offset: u64) -> Result<Section, TraceError> {
    input.seek(offset)?;
    let (id, flags) = (input.u16()?, input.u16()?);
    input.u32()?;
    let size = input.u64()?;
    Ok(Section { id, packed: flags & 1 != 0, size })
}

/// Reads a section of options. Returns the offset of the next one, or 0.
fn options<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &mut Meta,
    codec: Codec,
    offset: u64,
    places: &mut Vec<(u16, u64)>,
) -> Result<u64, TraceError> {
    let section = head(input, offset)?;
    if section.id != meta::DONE {
        return Err(input.damaged("no section of options"));
    }
    for _ in 0..OPTIONS {
        let id = input.u16()?;
        let size = input.u32()?;
        let value = input.bytes(size.into(), MOST)?;
        let offset = meta.layout.u64(&value, 0);
        match (id, offset) {
            (meta::DONE, next) => return Ok(next.unwrap_or(0)),
            (meta::BUFFER, Some(offset)) => buffer(input, meta, &value, offset)?,
            (meta::KALLSYMS, Some(at)) => meta.symbols = Some(At::Section { at, codec }),
            (meta::PRINTK, _) => {}
            (meta::HEADER_INFO..=meta::CMDLINES | meta::BUFFER_TEXT, Some(offset)) => places.push((id, offset)),
            _ if meta.option(id, &value) => {}
            _ => {
                let what = format!("option {id}");
                meta.info.note(Damage::Unsupported { what }, Place::Byte(input.at()));
            }
        }
    }
    Err(input.damaged("number of options"))
}

/// Reads a BUFFER option: offset, name, clock, page size, CPUs. The section at the offset states whether the data is
/// compressed.
fn buffer<R: Read + Seek>(input: &mut Input<R>, meta: &mut Meta, value: &[u8], offset: u64) -> Result<(), TraceError> {
    let back = input.at();
    let mut option = unpacked(value.to_vec(), input.big_endian)?;
    option.skip(8)?;
    let name = option.string(256)?;
    let clock = option.string(64)?;
    let page = option.u32()?;
    let count = option.u32()?;
    if count > CPUS {
        return Err(input.damaged("number of CPUs"));
    }
    let mut cpus = Vec::new();
    for _ in 0..count {
        cpus.push((option.u32()?, option.u64()?, option.u64()?));
    }
    let packed = head(input, offset).map(|section| section.packed);
    input.seek(back)?;
    if name.is_empty() {
        meta.set_clock(&String::from_utf8_lossy(&clock));
    }
    meta.buffers.push(Buffer { name, page: usize::try_from(page).ok(), cpus, packed: packed? });
    Ok(())
}

fn contents<R: Read + Seek>(input: &mut Input<R>, codec: Codec, offset: u64) -> Result<Vec<u8>, TraceError> {
    let section = head(input, offset)?;
    if !section.packed {
        return input.bytes(section.size, MOST);
    }
    let (packed, size) = (input.u32()?, input.u32()?);
    let packed = input.bytes(packed.into(), MOST)?;
    let mut bytes = Vec::new();
    let most = usize::try_from(size).unwrap_or(MOST).min(MOST);
    if !codec.unpack(&packed, most, &mut bytes) {
        return Err(input.damaged("a compressed section"));
    }
    Ok(bytes)
}

fn section<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &mut Meta,
    codec: Codec,
    id: u16,
    offset: u64,
) -> Result<(), TraceError> {
    let mut section: Input<Cursor<Vec<u8>>> = unpacked(contents(input, codec, offset)?, input.big_endian)?;
    match id {
        meta::HEADER_INFO => meta.headers(&mut section),
        meta::FTRACE_EVENTS => meta.ftrace(&mut section),
        meta::EVENT_FORMATS => meta.events(&mut section),
        meta::CMDLINES => meta.cmdlines(&mut section),
        _ => Ok(()),
    }
}
