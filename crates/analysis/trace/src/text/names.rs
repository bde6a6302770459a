use crate::words::{Name, Symbol};

/// Number of slots: far more than the names of events and interrupts in a trace; functions share the rest.
const SLOTS: usize = 4096;

/// A direct-mapped table of names in bounded memory: a name replaces another in the same slot, at the cost of an
/// allocation when the replaced name recurs.
pub(crate) struct Names(Vec<Option<Name>>);

impl Names {
    pub(crate) fn new() -> Names {
        Names(vec![None; SLOTS])
    }

    /// Returns the shared name; invalid UTF-8 is replaced, and names are truncated to 256 bytes.
    pub(crate) fn get(&mut self, name: &[u8]) -> Name {
        let name = name.get(..name.len().min(256)).unwrap_or_default();
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for b in name {
            hash = (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
        let index = (hash ^ hash >> 32) as usize % SLOTS;
        let Some(slot) = self.0.get_mut(index) else { return Name::from("") };
        if let Some(known) = slot.as_ref().filter(|known| known.as_bytes() == name) {
            return Name::clone(known);
        }
        let new = Name::from(String::from_utf8_lossy(name));
        *slot = Some(Name::clone(&new));
        new
    }

    /// Returns a function in a text trace, without its offset (`+0x12/0x34`, trace-cmd's `/0x0`); plain addresses
    /// remain addresses.
    pub(crate) fn symbol(&mut self, text: &[u8]) -> Symbol {
        if let Some((address, [])) = text.strip_prefix(b"0x").and_then(super::scan::hex) {
            return Symbol::Address(address);
        }
        let end = text.iter().position(|b| matches!(b, b'+' | b'/' | b' ')).unwrap_or(text.len());
        Symbol::Name(self.get(text.get(..end).unwrap_or(text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_share_one_allocation() {
        let mut names = Names::new();
        let (a, b) = (names.get(b"eth0"), names.get(b"eth0"));
        assert!(Name::ptr_eq(&a, &b));
        assert_eq!(names.symbol(b"tick_nohz_handler/0x0"), Symbol::Name(Name::from("tick_nohz_handler")));
        assert_eq!(names.symbol(b"0xff"), Symbol::Address(255));
    }
}
