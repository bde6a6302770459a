//! Reads USDT probes, which SystemTap's `<sys/sdt.h>` writes as notes named `stapsdt` of type 3 in the section
//! `.note.stapsdt` (sourceware.org/systemtap/wiki/UserSpaceProbeImplementation).

use object::elf::{FileHeader64, PF_W, PF_X};
use object::read::elf::NoteIterator;
use object::{Architecture, Endian, Endianness, File, Object, ObjectSection, ObjectSegment, SegmentFlags};

/// Name and type of the notes.
const OWNER: &[u8] = b"stapsdt";
const KIND: u32 = 3;
/// Maximum number of places that are read from a file, and of arguments of a probe (`STAP_PROBE12`).
const MOST: usize = 1 << 16;
const ARGUMENTS: usize = 12;
/// Maximum length of the name of a provider or probe.
const LONGEST: usize = 128;

/// One of the places in a file at which a USDT probe fires. A probe in an inlined function has several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usdt {
    /// Provider and name, which are identifiers of C.
    pub provider: String,
    pub name: String,
    /// Offset of the instruction in the file.
    pub offset: u64,
    /// Offset in the file of the probe's semaphore, a 16-bit counter; the program skips the probe while it is 0.
    pub semaphore: Option<u64>,
    pub arguments: Vec<UsdtArgument>,
}

/// Where the value of an argument is when the probe fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsdtArgument {
    Constant(u64),
    /// In a register or in memory, as a uprobe event fetches it: `%ax:s32`, `-20(%bp):u64`
    /// (Documentation/trace/uprobetracer.rst).
    Fetched(String),
    /// A floating-point number, or in a place that a uprobe event cannot fetch it from (an index register, a symbol).
    Unknown,
}

/// Returns the USDT probes of an executable or library, in the order of its notes. Empty for files that are not 64-bit
/// ELF, and for those without section headers. Notes that contradict the file are left out.
pub fn usdt_probes(file: &[u8]) -> Vec<Usdt> {
    let Ok(object) = File::parse(file) else { return Vec::new() };
    let section = object.section_by_name(".note.stapsdt").filter(|_| object.is_64());
    let Some(data) = section.and_then(|section| section.data().ok()) else { return Vec::new() };
    let base = object.section_by_name(".stapsdt.base").map(|base| base.address());
    let endian = object.endianness();
    let Ok(mut notes) = NoteIterator::<FileHeader64<Endianness>>::new(endian, 4, data) else { return Vec::new() };
    let mut found = Vec::new();
    while let Ok(Some(note)) = notes.next() {
        if note.name() == OWNER && note.n_type(endian) == KIND && found.len() < MOST {
            found.extend(probe(&object, endian, base, note.desc()));
        }
    }
    found
}

/// Reads a note: the addresses of the instruction, of `.stapsdt.base` and of the semaphore, then provider, name and
/// arguments, each ended by NUL.
fn probe(object: &File<'_>, endian: Endianness, base: Option<u64>, note: &[u8]) -> Option<Usdt> {
    let word = |n: usize| Some(endian.read_u64(note.get(n * 8..n * 8 + 8)?.try_into().ok()?));
    let (instruction, linked, semaphore) = (word(0)?, word(1)?, word(2)?);
    // prelink(8) moves the sections that are loaded, but does not correct the notes.
    let moved = base.filter(|_| linked != 0).map_or(0, |base| base.wrapping_sub(linked));
    let mut texts = note.get(24..)?.split(|byte| *byte == 0);
    let (provider, name) = (identifier(texts.next()?)?, identifier(texts.next()?)?);
    let arguments = std::str::from_utf8(texts.next()?).ok()?;
    let offset = offset(object, instruction.wrapping_add(moved), PF_X)?;
    let semaphore = match semaphore {
        0 => None,
        address => Some(self::offset(object, address.wrapping_add(moved), PF_W)?),
    };
    let architecture = object.architecture();
    let arguments = operands(arguments).take(ARGUMENTS).map(|text| argument(text, architecture)).collect();
    Some(Usdt { provider, name, offset, semaphore, arguments })
}

fn identifier(text: &[u8]) -> Option<String> {
    let is_word = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let is_good = is_word && (1..=LONGEST).contains(&text.len());
    is_good.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Converts an address in the image to its file offset. The segment must be either executable or writable, as `wanted`
/// says ([`PF_X`], [`PF_W`]).
fn offset(object: &File<'_>, address: u64, wanted: u32) -> Option<u64> {
    let is_wanted = |segment: &object::Segment<'_, '_>| match segment.flags() {
        SegmentFlags::Elf { p_flags } => p_flags & (PF_X | PF_W) == wanted,
        _ => false,
    };
    object.segments().filter(is_wanted).find_map(|segment| {
        let size = segment.data().ok()?.len() as u64;
        let within = address.checked_sub(segment.address()).filter(|within| *within < size)?;
        segment.file_range().0.checked_add(within)
    })
}

/// Splits the text of the arguments at spaces, except those in brackets: `8@%rax -4@[sp, 60]`.
fn operands(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    let parts = text.split(move |c| {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ' ' && depth == 0
    });
    parts.filter(|part| !part.is_empty())
}

/// Size of a value in bits, and whether it is signed.
#[derive(Clone, Copy)]
struct Width(u32, bool);

/// Reads an argument: its size in bytes, negative if it is signed, `@`, and an operand of the assembler.
fn argument(text: &str, architecture: Architecture) -> UsdtArgument {
    let known = text.split_once('@').and_then(|(size, operand)| {
        let (size, is_signed) = size.strip_prefix('-').map_or((size, false), |size| (size, true));
        let width = match size {
            "1" => Width(8, is_signed),
            "2" => Width(16, is_signed),
            "4" => Width(32, is_signed),
            "8" => Width(64, is_signed),
            _ => return None,
        };
        match architecture {
            Architecture::X86_64 => x86_64(operand, width),
            Architecture::Aarch64 => aarch64(operand, width),
            _ => None,
        }
    });
    known.unwrap_or(UsdtArgument::Unknown)
}

fn x86_64(operand: &str, width: Width) -> Option<UsdtArgument> {
    if let Some(number) = operand.strip_prefix('$') {
        return constant(number, width);
    }
    let register = |name: &str| name.strip_prefix('%').and_then(x86_64_register);
    match operand.strip_suffix(')') {
        Some(memory) => {
            let (offset, base) = memory.split_once('(')?;
            let (base, _) = register(base).filter(|(_, bits)| *bits == 64)?;
            memory_at(offset, &base, width)
        }
        None => in_register(register(operand)?, width),
    }
}

/// Returns the kernel's name of a register (regs_query_register_offset in arch/x86/kernel/ptrace.c) and the number of
/// bits that `name` means.
fn x86_64_register(name: &str) -> Option<(String, u32)> {
    if let Some(number) = name.strip_prefix('r').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        let digits = number.trim_end_matches(['d', 'w', 'b']);
        let bits = match number.strip_prefix(digits)? {
            "" => 64,
            "d" => 32,
            "w" => 16,
            "b" => 8,
            _ => return None,
        };
        let is_one = ["8", "9", "10", "11", "12", "13", "14", "15"].contains(&digits);
        return is_one.then(|| (format!("r{digits}"), bits));
    }
    for short in ["ax", "bx", "cx", "dx", "si", "di", "bp", "sp"] {
        // The low byte is al, bl, … and sil, dil, bpl, spl.
        let low = format!("{}l", short.strip_suffix('x').unwrap_or(short));
        let bits = match name.strip_suffix(short) {
            Some("r") => 64,
            Some("e") => 32,
            Some("") => 16,
            _ if name == low => 8,
            _ => continue,
        };
        return Some((short.to_owned(), bits));
    }
    None
}

fn aarch64(operand: &str, width: Width) -> Option<UsdtArgument> {
    if let Some(memory) = operand.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        let (base, offset) = memory.split_once(',').unwrap_or((memory, ""));
        let (base, _) = aarch64_register(base.trim()).filter(|(_, bits)| *bits == 64)?;
        return memory_at(offset.trim().trim_start_matches('#'), &base, width);
    }
    if ["xzr", "wzr"].contains(&operand) {
        return Some(UsdtArgument::Constant(0));
    }
    match aarch64_register(operand) {
        Some(register) => in_register(register, width),
        None => constant(operand.trim_start_matches('#'), width),
    }
}

/// Returns the kernel's name of a register (regoffset_table in arch/arm64/kernel/ptrace.c) and the number of bits that
/// `name` means.
fn aarch64_register(name: &str) -> Option<(String, u32)> {
    if name == "sp" {
        return Some((name.to_owned(), 64));
    }
    let (bits, number) = match (name.strip_prefix('x'), name.strip_prefix('w')) {
        (Some(number), _) => (64, number),
        (_, Some(number)) => (32, number),
        _ => return None,
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let number: u8 = number.parse().ok().filter(|_| is_number)?;
    (number <= 30).then(|| (format!("x{number}"), bits))
}

fn constant(number: &str, Width(bits, is_signed): Width) -> Option<UsdtArgument> {
    let value = number.parse::<i64>().map(i64::cast_unsigned).or_else(|_| number.parse::<u64>()).ok()?;
    let unused = 64 - bits;
    let value = match is_signed {
        true => ((value << unused).cast_signed() >> unused).cast_unsigned(),
        false => value << unused >> unused,
    };
    Some(UsdtArgument::Constant(value))
}

fn in_register((register, bits): (String, u32), width: Width) -> Option<UsdtArgument> {
    (bits >= width.0).then(|| UsdtArgument::Fetched(format!("%{register}:{}", kind(width))))
}

fn memory_at(offset: &str, base: &str, width: Width) -> Option<UsdtArgument> {
    let offset: i64 = if offset.is_empty() { 0 } else { offset.parse().ok()? };
    Some(UsdtArgument::Fetched(format!("{offset:+}(%{base}):{}", kind(width))))
}

fn kind(Width(bits, is_signed): Width) -> String {
    format!("{}{bits}", if is_signed { 's' } else { 'u' })
}

#[cfg(test)]
mod tests;
