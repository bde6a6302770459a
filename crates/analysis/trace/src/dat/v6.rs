//! Reads trace.dat version 6: sections in a fixed order (trace-cmd.dat.v6.5.txt).

use super::meta::{At, BUFFER, Buffer, DONE, Meta};
use crate::info::{Damage, Place, TraceError};
use crate::input::{Input, MOST};
use std::io::{Read, Seek};

pub(super) const CPUS: u32 = 8192;
const INSTANCES: usize = 64;

/// Reads the head. Returns `true` if the data is a text trace, which begins at the input's position.
pub(super) fn read<R: Read + Seek>(input: &mut Input<R>, meta: &mut Meta) -> Result<bool, TraceError> {
    meta.headers(input)?;
    meta.ftrace(input)?;
    meta.events(input)?;
    let size = input.u32()?;
    meta.symbols = Some(At::Text { at: input.at(), size: size.into() });
    input.skip(size.into())?;
    let printk = input.u32()?;
    input.skip(printk.into())?;
    meta.cmdlines(input)?;
    let cpus = input.u32()?;
    if cpus > CPUS {
        return Err(input.damaged("number of CPUs"));
    }
    meta.info.cpus = Some(cpus);
    let mut kind = input.bytes(10, 10)?;
    let mut instances = Vec::new();
    if kind == b"options  \0" {
        instances = options(input, meta)?;
        kind = input.bytes(10, 10)?;
    }
    match kind.as_slice() {
        b"flyrecord\0" => buffer(input, meta, Vec::new(), cpus)?,
        b"latency  \0" => return Ok(true),
        _ => return Err(input.damaged("kind of the data")),
    }
    for (at, name) in instances {
        if instance(input, meta, at, &name, cpus).is_err() {
            let what = format!("the trace instance \"{}\"", String::from_utf8_lossy(&name));
            meta.info.note(Damage::Unsupported { what }, Place::Byte(at));
        }
    }
    Ok(false)
}

/// Reads the table of an instance, which has the layout of the main buffer's.
fn instance<R: Read + Seek>(
    input: &mut Input<R>,
    meta: &mut Meta,
    at: u64,
    name: &[u8],
    cpus: u32,
) -> Result<(), TraceError> {
    input.seek(at)?;
    input.expect(b"flyrecord\0", "data of an instance")?;
    buffer(input, meta, name.to_vec(), cpus)
}

/// Reads the options. Returns offset and name of each instance.
fn options<R: Read + Seek>(input: &mut Input<R>, meta: &mut Meta) -> Result<Vec<(u64, Vec<u8>)>, TraceError> {
    let mut instances = Vec::new();
    loop {
        let id = input.u16()?;
        if id == DONE {
            return Ok(instances);
        }
        let size = input.u32()?;
        let value = input.bytes(size.into(), MOST)?;
        if id == BUFFER {
            let name = value.get(8..).and_then(|n| n.split(|b| *b == 0).next()).unwrap_or_default();
            if let Some(at) = meta.layout.u64(&value, 0).filter(|_| instances.len() < INSTANCES) {
                instances.push((at, name.to_vec()));
            }
        } else if !meta.option(id, &value) {
            let what = format!("option {id}");
            meta.info.note(Damage::Unsupported { what }, Place::Byte(input.at()));
        }
    }
}

fn buffer<R: Read + Seek>(input: &mut Input<R>, meta: &mut Meta, name: Vec<u8>, cpus: u32) -> Result<(), TraceError> {
    let mut list = Vec::new();
    for cpu in 0..cpus {
        list.push((cpu, input.u64()?, input.u64()?));
    }
    // The name of the clock may follow; the option repeats it.
    meta.buffers.push(Buffer { name, page: None, cpus: list, packed: false });
    Ok(())
}
