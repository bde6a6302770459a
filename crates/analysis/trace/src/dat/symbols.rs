//! Reads the kernel symbols of a trace.dat, only when the first address occurs, since they make up most of a small
//! file.

use super::meta::At;
use super::v7;
use crate::info::TraceError;
use crate::input::Input;
use crate::raw::Symbols;
use std::io::{Read, Seek};

/// Loads the symbols; omits damaged parts.
pub(super) fn load<R: Read + Seek>(at: At, input: &mut Input<R>, symbols: &mut Symbols) -> Result<(), TraceError> {
    match at {
        At::Text { at, size } => {
            input.seek(at)?;
            symbols.load(input.part(size));
        }
        At::Section { at, codec } => {
            let section = v7::head(input, at)?;
            if !section.packed {
                let size = input.u32()?;
                symbols.load(input.part(size.into()));
                return Ok(());
            }
            let (packed, _) = (input.u32()?, input.u32()?);
            let mut text = codec.reader(input.part(packed.into()))?;
            text.read_exact(&mut [0; 4])?;
            symbols.load(text);
        }
    }
    Ok(())
}
