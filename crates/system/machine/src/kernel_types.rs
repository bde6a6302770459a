//! Names in the kernel's type information (BTF), which every user may read. They show which features a kernel supports
//! when its debug files cannot be read (Documentation/bpf/btf.rst).

use crate::text::contains;
use crate::{Machine, Read};

pub const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeName {
    Present,
    /// All names were read, and the one looked up is not among them.
    Absent,
    /// The result of reading the file: `Absent` if the kernel was built without type information, `Failed(EINVAL)` if
    /// the file has another format.
    Unknown(Read),
}

/// Number of bytes read at once. The file has 5–10 MB and its names 1–3 MB; small steps keep memory use low.
const STEP: usize = 64 << 10;

const EINVAL: i32 = 22;

/// struct btf_header of include/uapi/linux/btf.h: magic, version and flags, then header length, offset and length of
/// the types, offset and length of the names. Both offsets count from the end of the header.
const HEADER: usize = 24;
const MAGIC: u16 = 0xeb9f;

pub fn kernel_type_name(machine: &dyn Machine, name: &str) -> TypeName {
    let (start, length) = match names_section(machine) {
        Ok(section) => section,
        Err(read) => return TypeName::Unknown(read),
    };
    // Names are NUL-terminated, and the first one is empty, so every other is between two NULs.
    let needle = [b"\0", name.as_bytes(), b"\0"].concat();
    let (mut at, mut held) = (0, Vec::new());
    while at < length {
        let wanted = STEP.min(usize::try_from(length - at).unwrap_or(STEP));
        let part = match machine.read_part(KERNEL_TYPES, start + at, wanted) {
            Read::Known(part) if part.len() == wanted => part,
            Read::Known(_) => return TypeName::Unknown(Read::Failed(EINVAL)),
            other => return TypeName::Unknown(other),
        };
        held.extend_from_slice(&part);
        if contains(&held, &needle) {
            return TypeName::Present;
        }
        held.drain(..held.len().saturating_sub(needle.len()));
        at += wanted as u64;
    }
    TypeName::Absent
}

fn names_section(machine: &dyn Machine) -> Result<(u64, u64), Read> {
    let header = match machine.read_part(KERNEL_TYPES, 0, HEADER) {
        Read::Known(header) => header,
        other => return Err(other),
    };
    let word = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes).map(u64::from);
    let magic = header.get(..2).and_then(|m| m.try_into().ok()).map(u16::from_ne_bytes);
    match (magic, word(4), word(16), word(20)) {
        (Some(MAGIC), Some(header), Some(offset), Some(length)) if length > 1 => Ok((header + offset, length)),
        _ => Err(Read::Failed(EINVAL)),
    }
}

/// Encodes BTF with these names and no types, for recorded machines.
pub(crate) fn encode(names: &[String]) -> Vec<u8> {
    let mut section = vec![0];
    for name in names {
        section.extend(name.as_bytes());
        section.push(0);
    }
    let mut bytes = Vec::new();
    bytes.extend(MAGIC.to_ne_bytes());
    bytes.extend([1, 0]);
    let length = u32::try_from(section.len()).unwrap_or(u32::MAX);
    [24, 0, 0, 0, length].iter().for_each(|n: &u32| bytes.extend(n.to_ne_bytes()));
    bytes.extend(section);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Recorded;

    fn machine(names: &[u8], length: usize) -> Recorded {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_ne_bytes());
        bytes.extend([1, 0]);
        let length = u32::try_from(length).unwrap();
        [24, 0, 8, 8, length].iter().for_each(|n: &u32| bytes.extend(n.to_ne_bytes()));
        bytes.extend([7; 8]);
        bytes.extend(names);
        let mut machine = Recorded::default();
        machine.set(KERNEL_TYPES, Read::Known(bytes));
        machine
    }

    #[test]
    fn whole_names_are_found() {
        let m = machine(b"\0rq\0fair_server\0", 16);
        assert_eq!(kernel_type_name(&m, "fair_server"), TypeName::Present);
        assert_eq!(kernel_type_name(&m, "fair"), TypeName::Absent);
    }

    #[test]
    fn a_name_across_two_steps_is_found() {
        for gap in STEP - 14..STEP + 2 {
            let mut names = vec![b'x'; gap];
            names[0] = 0;
            names.extend(b"\0fair_server\0yy\0");
            assert_eq!(kernel_type_name(&machine(&names, names.len()), "fair_server"), TypeName::Present, "{gap}");
        }
    }

    #[test]
    fn a_cut_or_foreign_file_tells_nothing() {
        let unknown = TypeName::Unknown(Read::Failed(EINVAL));
        assert_eq!(kernel_type_name(&machine(b"\0rq\0", 9), "fair_server"), unknown);
        let mut m = Recorded::default();
        assert_eq!(kernel_type_name(&m, "x"), TypeName::Unknown(Read::Absent));
        m.set(KERNEL_TYPES, Read::Known(b"hello, this is not type information".to_vec()));
        assert_eq!(kernel_type_name(&m, "x"), unknown);
    }
}
