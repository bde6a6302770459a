//! Names the functions at addresses of one file, with DWARF or, if there is none, with the symbol table.

use crate::elf::{Elf, bytes_of};
use crate::name::demangled;
use gimli::{EndianArcSlice, RunTimeEndian};
use object::{Object, ObjectSymbol, SymbolKind};

type Slice = EndianArcSlice<RunTimeEndian>;

#[derive(Default)]
pub(crate) struct Symbols {
    lines: Option<addr2line::Context<Slice>>,
    /// Address, size (0: up to the next symbol) and name of each symbol, sorted by address.
    table: Vec<(u64, u64, String)>,
}

impl std::fmt::Debug for Symbols {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Symbols({}, {})", self.lines.is_some(), self.table.len())
    }
}

/// Function, file and line of an address; inlined functions precede those that contain them.
pub(crate) type Named = (Option<String>, Option<String>, Option<u32>);

impl Symbols {
    pub(crate) fn of(elf: &Elf, debug: Option<&Elf>) -> Symbols {
        let lines = context(debug.unwrap_or(elf));
        let mut table: Vec<(u64, u64, String)> = Vec::new();
        for object in [Some(elf), debug].into_iter().flatten().filter_map(Elf::object) {
            for symbol in object.symbols().chain(object.dynamic_symbols()) {
                if symbol.kind() == SymbolKind::Text
                    && symbol.is_definition()
                    && let Ok(name) = symbol.name()
                {
                    table.push((symbol.address(), symbol.size(), name.to_owned()));
                }
            }
        }
        // If an address has several names, the one without leading underscores is the documented one.
        table.sort_by(|a, b| {
            (a.0, a.2.starts_with('_'), a.2.len(), &a.2).cmp(&(b.0, b.2.starts_with('_'), b.2.len(), &b.2))
        });
        table.dedup_by_key(|(address, ..)| *address);
        Symbols { lines, table }
    }

    pub(crate) fn name(&self, address: u64) -> Vec<Named> {
        let mut found: Vec<Named> = Vec::new();
        if let Some(lines) = &self.lines
            && let Ok(mut frames) = lines.find_frames(address).skip_all_loads()
        {
            while let Ok(Some(frame)) = frames.next() {
                let function = frame.function.and_then(|f| Some(demangled(f.raw_name().ok()?.as_ref())));
                let (file, line) = frame.location.map_or((None, None), |at| (at.file.map(str::to_owned), at.line));
                found.push((function, file, line));
            }
        }
        let symbol = self.symbol(address);
        match found.last_mut() {
            None => found.push((symbol, None, None)),
            Some((function @ None, ..)) => *function = symbol,
            Some(_) => {}
        }
        found
    }

    fn symbol(&self, address: u64) -> Option<String> {
        let at = self.table.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (start, size, name) = &self.table[at];
        (*size == 0 || address - start < *size).then(|| demangled(name))
    }
}

fn context(elf: &Elf) -> Option<addr2line::Context<Slice>> {
    let object = elf.object()?;
    object.section_by_name(".debug_info")?;
    let endian = if object.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
    let load = |id: gimli::SectionId| -> Result<Slice, gimli::Error> {
        let bytes = object.section_by_name(id.name()).and_then(|section| bytes_of(&section));
        Ok(EndianArcSlice::new(bytes.unwrap_or_default(), endian))
    };
    addr2line::Context::from_dwarf(gimli::Dwarf::load(load).ok()?).ok()
}
