//! Parses event formats as printed by `events/*/*/format`: the position of each field in a record.

use super::page::Layout;

/// Maximum number of fields of an event. `MOST_PRINT` is the maximum length of a print format.
const MOST_FIELDS: usize = 128;
const MOST_PRINT: usize = 8192;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFormat {
    pub name: String,
    /// `ID:`, the value of `common_type`.
    pub id: u16,
    pub fields: Vec<FieldFormat>,
    /// `print fmt:`, of which only the flag tables are used.
    pub print: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldFormat {
    pub name: String,
    pub slot: Slot,
}

/// The position and type of a field in a record. The default is an absent field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    offset: u16,
    size: u16,
    kind: SlotKind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SlotKind {
    #[default]
    Absent,
    Unsigned,
    Signed,
    /// An array or another type that is not a number.
    Bytes,
    /// 32 bits: offset in the record | length << 16.
    DataLoc,
    /// As `DataLoc`, with the offset relative to the end of the field.
    RelLoc,
}

impl EventFormat {
    /// Parses a format; `None` if the text has no name or no ID.
    pub fn parse(text: &[u8]) -> Option<EventFormat> {
        let mut format = EventFormat::default();
        let mut id = None;
        for line in text.split(|b| *b == b'\n').take(4 * MOST_FIELDS) {
            let line = line.trim_ascii();
            if let Some(name) = line.strip_prefix(b"name:") {
                format.name = shown(name.trim_ascii(), 128);
            } else if let Some(number) = line.strip_prefix(b"ID:") {
                id = std::str::from_utf8(number.trim_ascii()).ok()?.parse().ok();
            } else if let Some(print) = line.strip_prefix(b"print fmt:") {
                format.print = shown(print.trim_ascii(), MOST_PRINT);
            } else if line.starts_with(b"field")
                && format.fields.len() < MOST_FIELDS
                && let Some(field) = FieldFormat::parse(line)
            {
                format.fields.push(field);
            }
        }
        format.id = id?;
        (!format.name.is_empty()).then_some(format)
    }

    pub fn slot(&self, name: &str) -> Slot {
        self.fields.iter().find(|f| f.name == name).map(|f| f.slot).unwrap_or_default()
    }

    /// Returns bits and letters of the flag table in `print fmt`, such as `{ 0x01, "S" }`.
    pub(crate) fn letters(&self) -> Vec<(u64, u8)> {
        let mut rest = self.print.as_str();
        let mut found = Vec::new();
        while let Some(open) = rest.find('{')
            && found.len() < 32
        {
            rest = rest.get(open + 1..).unwrap_or_default();
            let Some((bits, letter)) = rest.split_once('}').and_then(|(pair, _)| pair.split_once(',')) else { break };
            let bits = bits.trim();
            let bits = match bits.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16),
                None => bits.parse(),
            };
            if let (Ok(bits), Some(letter)) = (bits, letter.trim().trim_matches('"').bytes().next()) {
                found.push((bits, letter));
            }
        }
        found
    }
}

impl FieldFormat {
    /// Parses `field:char prev_comm[16]; offset:8; size:16; signed:0;`.
    fn parse(line: &[u8]) -> Option<FieldFormat> {
        let line = std::str::from_utf8(line).ok()?;
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?.split_once(':')?.1.trim();
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", n)) => offset = n.parse().ok(),
                Some(("size", n)) => size = n.parse().ok(),
                Some(("signed", n)) => signed = n == "1",
                _ => {}
            }
        }
        let name = declaration.split('[').next()?.trim();
        let (declaration, array) = match declaration.find("[]") {
            // In "__data_loc char[] name" the brackets belong to the type.
            Some(at) if !declaration.get(at + 2..)?.trim().is_empty() => (declaration, false),
            Some(_) => (name, true),
            None => (name, declaration.contains('[')),
        };
        let name = declaration.rsplit([' ', '*', ']']).next()?.to_owned();
        let kind = match declaration {
            d if d.starts_with("__data_loc") => SlotKind::DataLoc,
            d if d.starts_with("__rel_loc") => SlotKind::RelLoc,
            _ if array || !matches!(size?, 1u16 | 2 | 4 | 8) => SlotKind::Bytes,
            _ if signed => SlotKind::Signed,
            _ => SlotKind::Unsigned,
        };
        Some(FieldFormat { name, slot: Slot { offset: offset?, size: size?, kind } })
    }
}

impl Slot {
    pub fn present(self) -> bool {
        self.kind != SlotKind::Absent
    }

    /// Returns the value as an unsigned number; signed fields are sign-extended.
    pub fn unsigned(self, record: &[u8], layout: &Layout) -> Option<u64> {
        let at = usize::from(self.offset);
        let value = match self.size {
            1 => u64::from(*record.get(at)?),
            2 => layout.u16(record, at)?.into(),
            4 => layout.u32(record, at)?.into(),
            8 => layout.u64(record, at)?,
            _ => return None,
        };
        match self.kind {
            SlotKind::Unsigned => Some(value),
            SlotKind::Signed => {
                let unused = 64 - 8 * u32::from(self.size);
                Some(((value << unused) as i64 >> unused) as u64)
            }
            _ => None,
        }
    }

    /// Returns the value as a signed number, whatever its declared type.
    pub fn signed(self, record: &[u8], layout: &Layout) -> Option<i64> {
        self.unsigned(record, layout).map(|v| v as i64)
    }

    /// Returns the bytes of an array (up to the end of the record if it has no size) or of a dynamic string.
    pub fn bytes<'a>(self, record: &'a [u8], layout: &Layout) -> Option<&'a [u8]> {
        let at = usize::from(self.offset);
        match self.kind {
            SlotKind::Bytes if self.size == 0 => record.get(at..),
            SlotKind::Bytes => record.get(at..at + usize::from(self.size)),
            SlotKind::DataLoc | SlotKind::RelLoc => {
                let location = layout.u32(record, at)?;
                let (offset, length) = ((location & 0xffff) as usize, (location >> 16) as usize);
                let start = if self.kind == SlotKind::RelLoc { at + 4 + offset } else { offset };
                record.get(start..start.checked_add(length)?)
            }
            _ => None,
        }
    }

    /// Returns all bytes from the start of the field to the end of the record, for arrays longer than declared
    /// (stacks).
    pub fn tail(self, record: &[u8]) -> Option<&[u8]> {
        self.present().then(|| record.get(usize::from(self.offset)..))?
    }
}

fn shown(text: &[u8], most: usize) -> String {
    String::from_utf8_lossy(text.get(..text.len().min(most)).unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &[u8] = include_bytes!("../../tests/fixtures/g612.formats.txt");

    #[test]
    fn fields_by_name_with_offset_size_and_sign() {
        let end = memchr::memmem::find(SWITCH, b"\nname: sched_waking").unwrap();
        let format = EventFormat::parse(&SWITCH[..end]).unwrap();
        assert_eq!((format.name.as_str(), format.id, format.letters().len()), ("sched_switch", 309, 8));
        assert!(format.slot("common_pid").present() && !format.slot("common_migrate_disable").present());
        let layout = Layout::new(false, 8, 4096);
        let field = FieldFormat::parse(b"field:short x;\toffset:2;\tsize:2;\tsigned:1;").unwrap();
        assert_eq!((field.name.as_str(), field.slot.signed(&[0, 0, 0xfe, 0xff], &layout)), ("x", Some(-2)));
        let field = FieldFormat::parse(b"field:void * hrtimer;\toffset:0;\tsize:8;\tsigned:0;").unwrap();
        assert_eq!(
            (field.name.as_str(), field.slot.unsigned(&[1; 8], &layout)),
            ("hrtimer", Some(0x0101_0101_0101_0101))
        );
    }

    #[test]
    fn dynamic_strings_of_both_kinds() {
        let layout = Layout::new(false, 8, 4096);
        let field = FieldFormat::parse(b"field:__data_loc char[] name;\toffset:0;\tsize:4;\tsigned:0;").unwrap();
        assert_eq!(field.name, "name");
        assert_eq!(field.slot.bytes(&[6, 0, 2, 0, 9, 9, b'a', b'b'], &layout), Some(&b"ab"[..]));
        assert_eq!(field.slot.bytes(&[6, 0, 3, 0, 9, 9, b'a', b'b'], &layout), None);
        let field = FieldFormat::parse(b"field:__rel_loc char[] name;\toffset:0;\tsize:4;\tsigned:0;").unwrap();
        assert_eq!(field.slot.bytes(&[2, 0, 2, 0, 9, 9, b'a', b'b'], &layout), Some(&b"ab"[..]));
    }

    #[test]
    fn letters_of_states() {
        let format =
            EventFormat { print: r#"x, "|", { 0x01, "S" }, { 2, "D" }) : "R""#.into(), ..EventFormat::default() };
        assert_eq!(format.letters(), [(1, b'S'), (2, b'D')]);
    }
}
