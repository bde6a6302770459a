//! trace.dat version 6: everything in one row (trace-cmd.dat.v6.5.txt).

use super::meta::{BUFFER, Buffer, DONE, MOST, Meta};
use crate::info::{Damage, Place, TraceError};
use crate::input::Input;
use std::io::{Read, Seek};

/// Most CPUs of a file.
pub(super) const CPUS: u32 = 8192;

/// Reads the head. `true`: the data is a text trace, and the input stands at its beginning.
pub(super) fn read<R: Read + Seek>(input: &mut Input<R>, meta: &mut Meta) -> Result<bool, TraceError> {
    meta.headers(input)?;
    meta.ftrace(input)?;
    meta.events(input)?;
    for _ in ["kallsyms", "printk"] {
        let size = input.u32()?;
        input.skip(size.into())?;
    }
    meta.cmdlines(input)?;
    let cpus = input.u32()?;
    if cpus > CPUS {
        return Err(input.damaged("number of CPUs"));
    }
    meta.info.cpus = Some(cpus);
    let mut kind = input.bytes(10, 10)?;
    if kind == b"options  \0" {
        options(input, meta)?;
        kind = input.bytes(10, 10)?;
    }
    match kind.as_slice() {
        b"flyrecord\0" => buffer(input, meta, Vec::new(), cpus).map(|()| false),
        b"latency  \0" => Ok(true),
        _ => Err(input.damaged("kind of the data")),
    }
}

fn options<R: Read + Seek>(input: &mut Input<R>, meta: &mut Meta) -> Result<(), TraceError> {
    loop {
        let id = input.u16()?;
        if id == DONE {
            return Ok(());
        }
        let size = input.u32()?;
        let value = input.bytes(size.into(), MOST)?;
        if id == BUFFER {
            let name = value.get(8..).and_then(|n| n.split(|b| *b == 0).next()).unwrap_or_default();
            let what = format!("the trace instance \"{}\"", String::from_utf8_lossy(name));
            meta.info.note(Damage::Unsupported { what }, Place::Byte(input.at()));
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
    // The clock's name may follow; the option says the same.
    meta.buffers.push(Buffer { name, page: None, cpus: list, packed: false });
    Ok(())
}
