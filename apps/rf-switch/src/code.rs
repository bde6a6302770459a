//! The code that is sent: twelve bits, of which eight are the socket's address and four mean on or off.

use std::fmt;

pub const BITS: usize = 12;

/// The last four bits: sent as `0111` for on, and as `0110` for off (section 4.2.1 of the paper). Since the least
/// significant bit is sent first, the values are 14 and 6.
const ON: u8 = 0b1110;
const OFF: u8 = 0b0110;

/// The letter wheel of a socket, A to P.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct House(u8);

/// The number wheel of a socket, 1 to 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(u8);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code {
    pub house: House,
    pub unit: Unit,
    pub on: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Addresses {
    /// The addresses that the paper's sockets use: houses A to D, units 1 to 3.
    #[default]
    Usual,
    All,
}

impl House {
    /// Converts a letter in either case. Returns `None` unless it is A to P.
    pub fn of_letter(letter: u8) -> Option<House> {
        let index = letter.to_ascii_uppercase().wrapping_sub(b'A');
        (index < 16).then_some(House(index))
    }

    /// Returns the letter, A to P.
    pub fn letter(self) -> char {
        char::from(b'A' + self.0)
    }
}

impl Unit {
    /// Converts a number. Returns `None` unless it is 1 to 16.
    pub fn of_number(number: u8) -> Option<Unit> {
        (1..=16).contains(&number).then(|| Unit(number - 1))
    }

    /// Returns the number, 1 to 16.
    pub fn number(self) -> u8 {
        self.0 + 1
    }
}

impl Addresses {
    pub fn allow(self, code: Code) -> bool {
        self == Addresses::All || (code.house.0 < 4 && code.unit.0 < 3)
    }

    /// Returns every allowed code, in order.
    pub fn codes(self) -> impl Iterator<Item = Code> {
        let all = (0..16).flat_map(|house| (0..16).map(move |unit| (House(house), Unit(unit))));
        all.flat_map(|(house, unit)| [true, false].map(|on| Code { house, unit, on }))
            .filter(move |code| self.allow(*code))
    }
}

impl Code {
    /// Returns the bits in the order in which they are sent: house, unit, on or off, each with the least significant
    /// bit first.
    pub fn bits(self) -> [bool; BITS] {
        let word =
            u16::from(self.house.0) | u16::from(self.unit.0) << 4 | u16::from(if self.on { ON } else { OFF }) << 8;
        std::array::from_fn(|bit| word >> bit & 1 == 1)
    }

    /// Decodes the bits. Returns `None` if the last four bits mean neither on nor off.
    pub fn of_bits(bits: [bool; BITS]) -> Option<Code> {
        let word = bits.iter().rev().fold(0u16, |word, bit| word << 1 | u16::from(*bit));
        let on = match (word >> 8) as u8 {
            ON => true,
            OFF => false,
            _ => return None,
        };
        Some(Code { house: House((word & 15) as u8), unit: Unit((word >> 4 & 15) as u8), on })
    }
}

/// Formats the code as a user types it: `d21`, or `d:10:1` for units of two digits.
impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (house, unit, on) = (self.house.letter().to_ascii_lowercase(), self.unit.number(), u8::from(self.on));
        match unit {
            1..=9 => f.pad(&format!("{house}{unit}{on}")),
            _ => f.pad(&format!("{house}:{unit}:{on}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(code: Code) -> String {
        code.bits().iter().map(|bit| if *bit { '1' } else { '0' }).collect()
    }

    #[test]
    fn d21_is_the_bits_of_the_paper() {
        let code = Code { house: House(3), unit: Unit(1), on: true };
        assert_eq!(sent(code), "110010000111");
        assert_eq!(sent(Code { on: false, ..code }), "110010000110");
        assert_eq!(code.to_string(), "d21");
    }

    #[test]
    fn all_512_differ_and_are_read_back() {
        let mut seen = std::collections::BTreeSet::new();
        for code in Addresses::All.codes() {
            assert_eq!(Code::of_bits(code.bits()), Some(code));
            assert!(seen.insert(code.bits()));
        }
        assert_eq!(seen.len(), 512);
        assert_eq!(Addresses::Usual.codes().count(), 4 * 3 * 2);
        assert_eq!(Code::of_bits([true; BITS]), None);
    }

    #[test]
    fn wheels_end_where_the_sockets_do() {
        assert_eq!((House::of_letter(b'p').map(House::letter), House::of_letter(b'q')), (Some('P'), None));
        assert!(House::of_letter(b'@').is_none() && House::of_letter(b'[').is_none());
        assert_eq!(
            (Unit::of_number(16).map(Unit::number), Unit::of_number(0), Unit::of_number(17)),
            (Some(16), None, None)
        );
    }
}
