//! Reads a file, decompressed and as UTF-8, with its size and checksum.

use flate2::read::MultiGzDecoder;
use lzma_rust2::XzReader;
use ruzstd::decoding::StreamingDecoder;
use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

/// Size limit of an uncompressed file. Results of a measurement are not larger.
const MOST: u64 = 16 << 30;
/// Magic number of gzip (RFC 1952). [`XZ`] is the magic number of xz (its file format, 2.1.1.1), [`ZSTD`] the magic
/// number of zstd (RFC 8878,
/// 3.1.1).
const GZIP: &[u8] = &[0x1f, 0x8b];
const XZ: &[u8] = &[0xfd, b'7', b'z', b'X', b'Z', 0];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const BZIP2: &[u8] = b"BZh";

/// A reader that counts the bytes of the compressed file.
struct Counted<R> {
    inner: R,
    bytes: u64,
    sum: crc32fast::Hasher,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.sum.update(buffer.get(..n).unwrap_or_default());
        self.bytes += n as u64;
        Ok(n)
    }
}

struct Shared<R>(Rc<RefCell<Counted<R>>>);

impl<R: Read> Read for Shared<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(buffer)
    }
}

pub(crate) struct Opened<'a> {
    pub bytes: Box<dyn Read + 'a>,
    /// Compression and encoding that were removed, for example `gzip` or `UTF-16`.
    pub peeled: Vec<&'static str>,
    finish: Box<dyn FnOnce() -> io::Result<(u64, u32)> + 'a>,
}

impl<'a> Opened<'a> {
    pub fn new(input: impl Read + 'a) -> io::Result<Opened<'a>> {
        let counted = Rc::new(RefCell::new(Counted { inner: input, bytes: 0, sum: crc32fast::Hasher::new() }));
        let mut peeled = Vec::new();
        let mut bytes: Box<dyn Read + 'a> = Box::new(Shared(counted.clone()));
        loop {
            let (head, whole) = ahead(bytes, 6)?;
            let name = match head.as_slice() {
                head if head.starts_with(GZIP) => "gzip",
                head if head.starts_with(XZ) => "xz",
                head if head.starts_with(ZSTD) => "zstd",
                head if head.starts_with(BZIP2) && head.get(3).is_some_and(u8::is_ascii_digit) => {
                    return Err(io::Error::other("it is compressed with bzip2: unpack it first (bunzip2)"));
                }
                _ => {
                    bytes = whole;
                    break;
                }
            };
            bytes = match name {
                "gzip" => Box::new(MultiGzDecoder::new(whole).take(MOST)),
                "xz" => Box::new(XzReader::new(whole, true).take(MOST)),
                _ => Box::new(StreamingDecoder::new(whole).map_err(io::Error::other)?.take(MOST)),
            };
            peeled.push(name);
            if peeled.len() > 3 {
                return Err(io::Error::other("it has more than three layers of compression"));
            }
        }
        let (head, whole) = ahead(bytes, 64)?;
        let bytes: Box<dyn Read + 'a> = match utf16(&head) {
            Some(big) => {
                peeled.push("UTF-16");
                Box::new(Utf16 { inner: whole, big, ready: Vec::new(), at: 0, odd: None, high: None })
            }
            None => whole,
        };
        let finish = move || {
            let mut counted = counted.borrow_mut();
            io::copy(&mut *counted, &mut io::sink())?;
            Ok((counted.bytes, counted.sum.clone().finalize()))
        };
        Ok(Opened { bytes, peeled, finish: Box::new(finish) })
    }

    /// Reads the rest of the file. Returns its size and CRC-32.
    pub fn finish(self) -> io::Result<(u64, u32)> {
        drop(self.bytes);
        (self.finish)()
    }
}

/// Returns the first bytes, and a reader of the whole input including them.
fn ahead<'a>(mut bytes: Box<dyn Read + 'a>, most: u64) -> io::Result<(Vec<u8>, Box<dyn Read + 'a>)> {
    let mut head = Vec::new();
    // If the file is damaged, reading its lines fails later.
    let failed = bytes.by_ref().take(most).read_to_end(&mut head).err();
    let first = io::Cursor::new(head.clone());
    let rest: Box<dyn Read + 'a> = match failed {
        Some(e) => Box::new(Failing(Some(e))),
        None => bytes,
    };
    Ok((head, Box::new(first.chain(rest))))
}

struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Detects UTF-16 by its byte order mark or by the zeros of Latin text. `true` means that the high byte comes first.
fn utf16(head: &[u8]) -> Option<bool> {
    match head {
        [0xff, 0xfe, ..] => return Some(false),
        [0xfe, 0xff, ..] => return Some(true),
        _ => {}
    }
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|b| **b == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let most = head.len() / 2;
    match head.len() >= 16 {
        true if odd * 10 > most * 8 && even * 10 < most => Some(false),
        true if even * 10 > most * 8 && odd * 10 < most => Some(true),
        _ => None,
    }
}

struct Utf16<R> {
    inner: R,
    big: bool,
    ready: Vec<u8>,
    at: usize,
    /// First byte of an incomplete UTF-16 code unit at the end of the bytes read.
    odd: Option<u8>,
    /// First half of a surrogate pair.
    high: Option<u16>,
}

impl<R: Read> Read for Utf16<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.ready.len() {
            let mut chunk = [0; 16 << 10];
            let n = self.inner.read(&mut chunk)?;
            if n == 0 {
                return Ok(0);
            }
            let raw: Vec<u8> = self.odd.take().into_iter().chain(chunk.into_iter().take(n)).collect();
            (self.ready, self.at) = (Vec::new(), 0);
            let units = raw.chunks_exact(2);
            self.odd = units.remainder().first().copied();
            let units: Vec<u16> = units
                .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
                .map(|pair| if self.big { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) })
                .collect();
            let mut all: Vec<u16> = self.high.take().into_iter().chain(units).collect();
            if all.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
                self.high = all.pop();
            }
            for c in char::decode_utf16(all) {
                let mut bytes = [0; 4];
                self.ready.extend_from_slice(c.unwrap_or('\u{fffd}').encode_utf8(&mut bytes).as_bytes());
            }
        }
        let ready = self.ready.get(self.at..).unwrap_or_default();
        let n = ready.len().min(out.len());
        out.iter_mut().zip(ready).for_each(|(to, from)| *to = *from);
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, Vec<&'static str>, u64) {
        let mut opened = Opened::new(bytes).unwrap();
        let mut out = String::new();
        opened.bytes.read_to_string(&mut out).unwrap();
        let peeled = opened.peeled.clone();
        (out, peeled, opened.finish().unwrap().0)
    }

    #[test]
    fn utf_16_of_either_order_with_and_without_a_mark() {
        let words = "# Histogram 😀\nT: 0 µs\n".repeat(2_000);
        for big in [false, true] {
            for mark in ["", "\u{feff}"] {
                let of = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
                let bytes: Vec<u8> = format!("{mark}{words}").encode_utf16().flat_map(of).collect();
                let (out, peeled, size) = text(&bytes);
                assert_eq!(
                    (out.trim_start_matches('\u{feff}'), peeled, size),
                    (words.as_str(), vec!["UTF-16"], bytes.len() as u64)
                );
            }
        }
        assert_eq!(text(b"plain text of more than sixteen bytes").1, Vec::<&str>::new());
    }

    #[test]
    fn a_compressed_file_is_unpacked_and_one_cut_fails_at_its_end() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, "T: 0 \n".repeat(9_000).as_bytes()).unwrap();
        let whole = gzip.finish().unwrap();
        assert_eq!((text(&whole).0.len(), text(&whole).1), (54_000, vec!["gzip"]));
        let mut cut = Opened::new(whole.get(..whole.len() / 2).unwrap()).unwrap();
        assert!(cut.bytes.read_to_end(&mut Vec::new()).is_err());
    }
}
