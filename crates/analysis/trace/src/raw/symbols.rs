//! Maps addresses to functions, by the kernel symbols of a trace.

use crate::words::{Name, Symbol};
use std::collections::HashMap;
use std::io::Read;

/// Maximum number of symbols; `NAMES` limits the total size of their names in bytes. A kernel with many modules has
/// 250,000 symbols with 6 MiB of names.
const SYMBOLS: usize = 1 << 20;
const NAMES: usize = 16 << 20;
const TEXT: u64 = 64 << 20;
/// Maximum length of a line; longer ones are not symbols (KSYM_NAME_LEN is 512).
const LINE: usize = 1024;
/// Maximum distance of an address from the symbol it belongs to.
const FUNCTION: u64 = 1 << 20;
const KEPT: usize = 1 << 14;

/// Kernel functions by address; empty until the symbols are loaded.
#[derive(Default)]
pub struct Symbols {
    /// Address of each function and offset of its name in `names`, sorted by address.
    table: Vec<(u64, u32)>,
    names: Vec<u8>,
    known: HashMap<u64, Symbol>,
    /// Address of `_stext`, from which some events count.
    start: Option<u64>,
    /// Names of offsets from `_stext` in unknown functions.
    offsets: HashMap<i64, Symbol>,
    met: bool,
}

impl Symbols {
    /// True if an address was looked up, but no symbols are loaded.
    pub(crate) fn wanted(&self) -> bool {
        self.met && self.table.is_empty()
    }

    /// Returns the function at an address, without offset; the address itself if unknown.
    pub fn get(&mut self, address: u64) -> Symbol {
        self.met = true;
        if self.table.is_empty() {
            return Symbol::Address(address);
        }
        if let Some(known) = self.known.get(&address) {
            return known.clone();
        }
        let symbol = self.find(address).map_or(Symbol::Address(address), Symbol::Name);
        if self.known.len() < KEPT {
            self.known.insert(address, symbol.clone());
        }
        symbol
    }

    /// Returns the function at an offset from `_stext`; `_stext+0x1234` if the function or `_stext` is unknown.
    pub(crate) fn at_offset(&mut self, offset: i64) -> Symbol {
        if let Some(start) = self.start
            && let Symbol::Name(name) = self.get(start.wrapping_add_signed(offset))
        {
            return Symbol::Name(name);
        }
        self.met = true;
        if let Some(known) = self.offsets.get(&offset) {
            return known.clone();
        }
        let sign = if offset < 0 { '-' } else { '+' };
        let symbol = Symbol::Name(Name::from(format!("_stext{sign}{:#x}", offset.unsigned_abs())));
        if self.offsets.len() < KEPT {
            self.offsets.insert(offset, symbol.clone());
        }
        symbol
    }

    fn find(&self, address: u64) -> Option<Name> {
        let at = self.table.partition_point(|(start, _)| *start <= address).checked_sub(1)?;
        let (start, _) = self.table.get(at).copied()?;
        // If several symbols have the same address, the first one is the kernel's own.
        let (_, name) = self.table.get(..=at)?.iter().rev().take_while(|(other, _)| *other == start).last()?;
        let name = self.names.get(*name as usize..)?;
        let name = name.get(..memchr::memchr(b'\n', name)?)?;
        (address - start < FUNCTION).then(|| Name::from(String::from_utf8_lossy(name)))
    }

    /// Reads a copy of /proc/kallsyms; omits what cannot be read.
    pub fn load(&mut self, text: impl Read) {
        let mut text = text.take(TEXT);
        let (mut buffer, mut used) = (vec![0; 128 << 10], 0);
        while let Some(room) = buffer.get_mut(used..) {
            match text.read(room) {
                Ok(0) | Err(_) => break,
                Ok(n) => used += n,
            }
            let whole = self.lines(buffer.get(..used).unwrap_or_default());
            buffer.copy_within(whole..used, 0);
            used -= whole;
            if used > LINE {
                used = 0;
            }
        }
        // A stable sort preserves the order of symbols at one address; the kernel's own are already sorted.
        if !self.table.is_sorted_by_key(|(address, _)| *address) {
            self.table.sort_by_key(|(address, _)| *address);
        }
    }

    /// Reads the complete lines of `text` and returns their length in bytes.
    fn lines(&mut self, text: &[u8]) -> usize {
        let mut at = 0;
        for end in memchr::memchr_iter(b'\n', text) {
            if let Some((address, name)) = text.get(at..end).and_then(function) {
                self.add(address, name);
            }
            at = end + 1;
        }
        at
    }

    fn add(&mut self, address: u64, name: &[u8]) {
        if name == b"_stext" {
            self.start = Some(address);
        }
        if self.table.len() < SYMBOLS && self.names.len() + name.len() < NAMES {
            self.table.push((address, self.names.len() as u32));
            self.names.extend_from_slice(name);
            self.names.push(b'\n');
        }
    }
}

/// Returns the function that contains each of these ascending addresses: its address and name. Reads all of `kallsyms`
/// (/proc/kallsyms) with little memory; omits what cannot be read.
pub fn functions_at(kallsyms: impl Read, addresses: &[u64]) -> Vec<Option<(u64, String)>> {
    let mut found: Vec<Option<(u64, String)>> = vec![None; addresses.len()];
    let mut lines = std::io::BufReader::with_capacity(64 << 10, kallsyms.take(TEXT));
    let mut line = Vec::new();
    loop {
        line.clear();
        match std::io::BufRead::read_until(&mut lines, b'\n', &mut line) {
            Ok(0) | Err(_) => return found,
            Ok(_) => {}
        }
        let Some((start, name)) = function(line.get(..line.len().min(LINE)).unwrap_or_default()) else { continue };
        let first = addresses.partition_point(|address| *address < start);
        let behind =
            addresses.iter().zip(&mut found).skip(first).take_while(|(address, _)| **address - start < FUNCTION);
        for (_, slot) in behind {
            // If several symbols have the same address, the first one is the kernel's own.
            if slot.as_ref().is_none_or(|(other, _)| *other < start) {
                *slot = Some((start, String::from_utf8_lossy(name).into_owned()));
            }
        }
    }
}

/// Parses `ffffffff81000000 T _stext`, followed by a tab and the module if any. `None` if the symbol is not a function,
/// or if its address is hidden (all zeros).
fn function(line: &[u8]) -> Option<(u64, &[u8])> {
    let space = memchr::memchr(b' ', line.get(..17.min(line.len()))?)?;
    let mut address = 0;
    for digit in line.get(..space)? {
        address = address << 4 | u64::from((*digit as char).to_digit(16)?);
    }
    let [b't' | b'T' | b'w' | b'W', b' ', name @ ..] = line.get(space + 1..)? else { return None };
    let end = name.iter().position(|b| b.is_ascii_whitespace()).unwrap_or(name.len());
    let name = name.get(..end.min(256)).filter(|name| !name.is_empty())?;
    (address != 0).then_some((address, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "0000000000000000 A hidden\nffffffff81000000 T _stext\nffffffff81000000 T _text\n\
        ffffffff81000100 t tick_nohz_handler\nffffffff81000180 d no_function\nnonsense\n\
        ffffffffc0000000 t of_module\t[mod]\nffffffff81000200 W weak\n";

    fn name(symbols: &mut Symbols, address: u64) -> Option<String> {
        match symbols.get(address) {
            Symbol::Name(name) => Some(name.to_string()),
            Symbol::Address(_) => None,
        }
    }

    #[test]
    fn offsets_count_from_stext() {
        let mut symbols = Symbols::default();
        let known = |name: &str| Symbol::Name(Name::from(name));
        assert_eq!((symbols.at_offset(0x110), symbols.at_offset(-16)), (known("_stext+0x110"), known("_stext-0x10")));
        assert!(symbols.wanted());
        symbols.load(TEXT.as_bytes());
        assert_eq!((symbols.at_offset(0x110), symbols.at_offset(0x200)), (known("tick_nohz_handler"), known("weak")));
        assert_eq!(symbols.at_offset(-16), known("_stext-0x10"));
    }

    struct Slow<'a>(&'a [u8]);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = buffer.len().min(7);
            self.0.read(&mut buffer[..most])
        }
    }

    #[test]
    fn functions_by_address() {
        let mut symbols = Symbols::default();
        assert!(!symbols.wanted());
        assert_eq!(symbols.get(5), Symbol::Address(5));
        assert!(symbols.wanted());
        symbols.load(Slow(TEXT.as_bytes()));
        assert_eq!(name(&mut symbols, 0xffff_ffff_8100_0190).as_deref(), Some("tick_nohz_handler"));
        assert_eq!(name(&mut symbols, 0xffff_ffff_8100_0005).as_deref(), Some("_stext"));
        assert_eq!(name(&mut symbols, 0xffff_ffff_8100_0200).as_deref(), Some("weak"));
        assert_eq!(name(&mut symbols, 0xffff_ffff_c000_0004).as_deref(), Some("of_module"));
        assert_eq!(name(&mut symbols, 0xffff_ffff_9000_0000), None);
        assert_eq!(name(&mut symbols, 77), None);
    }

    #[test]
    fn the_functions_of_some_addresses() {
        let at = [77, 0xffff_ffff_8100_0005, 0xffff_ffff_8100_0190, 0xffff_ffff_8100_0200, 0xffff_ffff_9000_0000];
        let names: Vec<Option<String>> =
            functions_at(Slow(TEXT.as_bytes()), &at).into_iter().map(|found| found.map(|(_, name)| name)).collect();
        let expected = [None, Some("_stext"), Some("tick_nohz_handler"), Some("weak"), None];
        assert_eq!(names, expected.map(|name| name.map(String::from)));
    }

    #[test]
    fn a_line_without_an_end_is_bounded() {
        let mut symbols = Symbols::default();
        symbols.load([&vec![b'a'; 1 << 20][..], b"\nffffffff81000100 t f\n"].concat().as_slice());
        assert_eq!(name(&mut symbols, 0xffff_ffff_8100_0100).as_deref(), Some("f"));
    }
}
