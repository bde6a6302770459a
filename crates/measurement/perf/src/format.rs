//! Tracepoints and the layout of their records, read from tracefs.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Byte offset and size of each field of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    fields: HashMap<String, (usize, usize)>,
}

impl Format {
    /// Reads `events/SYSTEM/NAME/format` of tracefs (Documentation/trace/events.rst, "Event formats").
    pub fn parse(text: &str) -> Format {
        let field = |line: &str| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let declared = parts.next()?;
            let number = |part: Option<&str>, key: &str| part?.strip_prefix(key)?.parse::<usize>().ok();
            let (offset, size) = (number(parts.next(), "offset:")?, number(parts.next(), "size:")?);
            let name = declared.split('[').next()?.split_whitespace().last()?;
            Some((name.trim_start_matches('*').to_owned(), (offset, size)))
        };
        Format { fields: text.lines().filter_map(field).collect() }
    }

    /// Returns the value of an integer field; `None` if this kernel has no such field, or the record ends before it.
    pub fn number(&self, name: &str, raw: &[u8]) -> Option<u64> {
        let (offset, size) = *self.fields.get(name)?;
        word(raw, offset, size)
    }

    /// Returns element `n` of an array field that has `count` elements; `None` if it cannot be read.
    pub fn element(&self, name: &str, n: usize, count: usize, raw: &[u8]) -> Option<u64> {
        let (offset, size) = *self.fields.get(name)?;
        let each = size.checked_div(count)?;
        (n < count).then(|| word(raw, offset + n * each, each)).flatten()
    }
}

fn word(raw: &[u8], offset: usize, size: usize) -> Option<u64> {
    let bytes = raw.get(offset..offset.checked_add(size)?)?;
    Some(match *bytes {
        [a] => a.into(),
        [a, b] => u16::from_ne_bytes([a, b]).into(),
        [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
        _ => u64::from_ne_bytes(bytes.try_into().ok()?),
    })
}

/// A tracepoint of this kernel.
#[derive(Clone, Debug)]
pub struct Tracepoint {
    pub id: u64,
    pub format: Format,
}

impl Tracepoint {
    /// Finds a tracepoint; `None` if this kernel does not have it or its files cannot be read.
    pub fn find(tracefs: &Path, system: &str, name: &str) -> Option<Tracepoint> {
        let folder = tracefs.join("events").join(system).join(name);
        let id = fs::read_to_string(folder.join("id")).ok()?.trim().parse().ok()?;
        Some(Tracepoint { id, format: Format::parse(&fs::read_to_string(folder.join("format")).ok()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SYS_ENTER: &str = "name: sys_enter\nID: 348\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
        \n\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n\nprint fmt: …";

    #[test]
    fn fields_of_a_record_are_found() {
        let format = Format::parse(SYS_ENTER);
        let mut raw = [0u8; 64];
        raw[2] = 8;
        raw[8] = 202;
        raw[24] = 0x80;
        assert_eq!(format.number("common_flags", &raw), Some(8));
        assert_eq!(format.number("id", &raw), Some(202));
        assert_eq!(format.element("args", 1, 6, &raw), Some(0x80));
        assert_eq!(format.element("args", 6, 6, &raw), None);
        assert_eq!(format.number("id", &raw[..10]), None);
        assert_eq!(format.number("none", &raw), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(\\PC|\n|\t){0,200}", raw in prop::collection::vec(any::<u8>(), 0..40)) {
            let format = Format::parse(&text);
            let _ = (format.number("id", &raw), format.element("args", 3, 6, &raw));
            let _ = Format::parse(&format!("field:long id;\toffset:{};\tsize:{};", usize::MAX, raw.len())).number("id", &raw);
        }
    }
}
