//! Lines with checksums: `crc32 json`, that is, eight hexadecimal digits, a space, a JSON object, and a newline.

use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) fn encode<T: Serialize>(record: &T) -> Result<Vec<u8>, serde_json::Error> {
    let json = serde_json::to_vec(record)?;
    let mut line = format!("{:08x} ", crc32fast::hash(&json)).into_bytes();
    line.extend_from_slice(&json);
    line.push(b'\n');
    Ok(line)
}

/// Returns the records before the first partial or altered line, and a description of that line.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> (Vec<T>, Option<String>) {
    let (records, _, torn) = decode_until(bytes);
    (records, torn)
}

/// Like [`decode`]; also returns the number of valid bytes.
pub(crate) fn decode_until<T: DeserializeOwned>(bytes: &[u8]) -> (Vec<T>, usize, Option<String>) {
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let Some(length) = bytes[at..].iter().position(|&b| b == b'\n') else {
            return (records, at, Some(format!("a partial line of {} bytes at the end was dropped", bytes.len() - at)));
        };
        match decode_line(&bytes[at..at + length]) {
            Some(record) => records.push(record),
            None => return (records, at, Some(format!("checksum mismatch from byte {at} on; the rest was dropped"))),
        }
        at += length + 1;
    }
    (records, at, None)
}

fn decode_line<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (sum, json) = (line.get(..9)?, line.get(9..)?);
    if sum != format!("{:08x} ", crc32fast::hash(json)).as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{FileSum, Record};
    use proptest::prelude::*;

    fn lines(n: u64) -> Vec<u8> {
        (0..n).flat_map(|i| encode(&Record::Events(FileSum { bytes: i, crc32: 7 })).unwrap()).collect()
    }

    proptest! {
        #[test]
        fn a_cut_loses_the_cut_line_only(n in 1u64..20, cut in 0usize..2_000) {
            let whole = lines(n);
            let cut = cut.min(whole.len());
            let (records, damage) = decode::<Record>(&whole[..cut]);
            let complete = whole[..cut].iter().filter(|&&b| b == b'\n').count();
            prop_assert_eq!(records.len(), complete);
            prop_assert_eq!(damage.is_some(), cut > 0 && whole[cut - 1] != b'\n');
        }

        #[test]
        fn a_flipped_bit_is_noticed(at in 0usize..400, bit in 0u8..8) {
            let mut bytes = lines(8);
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            let (records, damage) = decode::<Record>(&bytes);
            prop_assert!(records.len() < 8 && damage.is_some());
        }

        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode::<Record>(&bytes);
        }
    }
}
