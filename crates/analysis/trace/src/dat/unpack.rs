use crate::info::TraceError;
use crate::input::MOST;
use ruzstd::decoding::StreamingDecoder;
use std::io::{Cursor, Read};

/// Maximum window, which the decoder fills before it yields anything; `zstd -19` uses 8 MiB.
const WINDOW: u64 = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    None,
    Zlib,
    Zstd,
}

impl Codec {
    pub(super) fn of(name: &[u8]) -> Option<Codec> {
        match name {
            b"none" | b"" => Some(Codec::None),
            b"zlib" => Some(Codec::Zlib),
            b"zstd" => Some(Codec::Zstd),
            _ => None,
        }
    }

    pub(super) fn reader<'a>(self, packed: impl Read + 'a) -> Result<Box<dyn Read + 'a>, TraceError> {
        let damaged = TraceError::Damaged { format: super::FORMAT, what: "compressed data", at: 0 };
        match self {
            Codec::None => Ok(Box::new(packed)),
            Codec::Zlib => {
                let (mut bytes, mut out) = (Vec::new(), Vec::new());
                packed.take(MOST as u64).read_to_end(&mut bytes)?;
                self.unpack(&bytes, MOST, &mut out);
                Ok(Box::new(Cursor::new(out)))
            }
            Codec::Zstd => match StreamingDecoder::new_with_max_window_size(packed, WINDOW) {
                Ok(decoder) => Ok(Box::new(decoder)),
                Err(_) => Err(damaged),
            },
        }
    }

    /// Appends at most `most` decompressed bytes to `out`. Returns `false` if `packed` is damaged or contains more.
    pub(super) fn unpack(self, packed: &[u8], most: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Codec::None => {
                out.extend_from_slice(packed.get(..packed.len().min(most)).unwrap_or_default());
                packed.len() <= most
            }
            Codec::Zlib => match miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, most) {
                Ok(bytes) => {
                    out.extend_from_slice(&bytes);
                    true
                }
                Err(error) => {
                    out.extend_from_slice(&error.output);
                    false
                }
            },
            Codec::Zstd => zstd(packed, most, out),
        }
    }
}

fn zstd(packed: &[u8], most: usize, out: &mut Vec<u8>) -> bool {
    let Ok(decoder) = StreamingDecoder::new_with_max_window_size(packed, WINDOW) else { return false };
    let before = out.len();
    let complete = decoder.take(most as u64 + 1).read_to_end(out).is_ok();
    let fits = out.len() - before <= most;
    out.truncate(before.saturating_add(most));
    complete && fits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 64 MiB of zeros as RLE blocks.
    fn bomb() -> Vec<u8> {
        let mut packed = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
        for n in 0..512u32 {
            let word: u32 = (128 << 10) << 3 | 1 << 1 | u32::from(n == 511);
            packed.extend(word.to_le_bytes().get(..3).unwrap());
            packed.push(0);
        }
        packed
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let mut out = Vec::new();
        assert!(!Codec::Zstd.unpack(&bomb(), 100_000, &mut out));
        assert_eq!(out.len(), 100_000);
        out.clear();
        assert!(Codec::Zstd.unpack(&bomb(), 64 << 20, &mut out));
        assert_eq!(out.len(), 64 << 20);
    }

    #[test]
    fn zlib_with_a_limit() {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&[7; 5000], 6);
        let mut out = Vec::new();
        assert!(Codec::Zlib.unpack(&packed, 5000, &mut out) && out == [7; 5000]);
        out.clear();
        assert!(!Codec::Zlib.unpack(&packed, 4999, &mut out));
        assert!(!Codec::Zlib.unpack(b"nonsense", 10, &mut out) && !Codec::Zstd.unpack(b"nonsense", 10, &mut out));
    }
}
