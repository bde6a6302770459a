//! Reads `linux_banner` from an image (init/version-timestamp.c), which becomes `uname -r` and `uname -v`.

use flate2::read::GzDecoder;
use std::io::Read;

const WORDS: &[u8] = b"Linux version ";
/// Maximum size in bytes of an uncompressed image; larger than any kernel.
const LIMIT: u64 = 256 << 20;
/// gzip's magic number and its only method (RFC 1952).
const GZIP: [u8; 3] = [0x1f, 0x8b, 8];
/// Maximum number of gzip headers tried in an image, since some may be false.
const TRIES: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Banner {
    /// Output of `uname -r`.
    pub release: String,
    /// Output of `uname -v`.
    pub version: String,
}

impl Banner {
    /// Returns true if `uname -v` contains the word PREEMPT_RT (scripts/mkcompile_h, init/Makefile), or `PREEMPT RT`
    /// before 5.4.
    pub fn is_rt(&self) -> bool {
        self.version.split_whitespace().any(|word| word == "PREEMPT_RT") || self.version.contains(" PREEMPT RT ")
    }
}

/// Searches a kernel image for its banner. The image may be plain, a bzImage, a gzip file, or contain gzip data
/// (zImage). Returns `None` if it is compressed otherwise, or is not a kernel.
pub fn banner(image: &[u8]) -> Option<Banner> {
    if let Some(found) = of_x86(image).or_else(|| plain(image)) {
        return Some(found);
    }
    let starts = image.windows(GZIP.len()).enumerate().filter(|(_, window)| *window == GZIP).map(|(at, _)| at);
    starts.take(TRIES).find_map(|at| {
        let mut text = Vec::new();
        // The data after the compressed part of a zImage is not gzip, so an error is ignored and what was read before
        // it is used.
        let _ = GzDecoder::new(&image[at..]).take(LIMIT).read_to_end(&mut text);
        plain(&text)
    })
}

fn plain(bytes: &[u8]) -> Option<Banner> {
    let mut from = 0;
    while let Some(at) = find(&bytes[from..], WORDS) {
        let start = from + at + WORDS.len();
        let end = bytes[start..].iter().take(1024).position(|b| *b == b'\n' || *b == 0).map(|length| start + length);
        if let Some(found) = end.and_then(|end| parsed(&String::from_utf8_lossy(&bytes[start..end]))) {
            return Some(found);
        }
        from = start;
    }
    None
}

/// Reads kernel_version of the boot protocol: its offset, minus 0x200, is at 0x20e (Documentation/arch/x86/boot.rst).
fn of_x86(image: &[u8]) -> Option<Banner> {
    if image.get(0x202..0x206)? != b"HdrS" {
        return None;
    }
    let at = usize::from(u16::from_le_bytes([*image.get(0x20e)?, *image.get(0x20f)?])) + 0x200;
    let text = image.get(at..)?.iter().take(512).take_while(|b| **b != 0).copied().collect::<Vec<u8>>();
    parsed(&String::from_utf8_lossy(&text))
}

/// Parses `6.12.9-rt (user@host) (compiler) #1 SMP PREEMPT_RT date`.
fn parsed(text: &str) -> Option<Banner> {
    let release = text.split(' ').next().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let at = text.rfind(") #")?;
    Some(Banner { release: release.to_owned(), version: text[at + 2..].trim_end().to_owned() })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // Searches for the first byte, which is rare.
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|b| *b == wanted[0]) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    const TEXT: &[u8] = b"\0\0Linux version %s (%s)\0Linux version 6.12.9-punctual-rt (p@k) (gcc (Debian 12.2.0-14) 12.2.0) #1 SMP PREEMPT_RT Sun Nov 06 08:49:37 UTC 1994\n\0";

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn plain_packed_and_packed_within_are_read() {
        let within = [b"\x1f\x8b\x08code".as_slice(), &gzip(TEXT), b"and a tail"].concat();
        for image in [TEXT.to_vec(), gzip(TEXT), within] {
            let found = banner(&image).unwrap();
            assert_eq!(found.release, "6.12.9-punctual-rt");
            assert_eq!(found.version, "#1 SMP PREEMPT_RT Sun Nov 06 08:49:37 UTC 1994");
            assert!(found.is_rt());
        }
        let mut x86 = vec![0; 0x400];
        x86[0x202..0x206].copy_from_slice(b"HdrS");
        x86[0x20f] = 1;
        x86.splice(0x300.., *b"6.1.0-rt (a@b) #2 SMP PREEMPT_DYNAMIC x\0");
        let found = banner(&x86).unwrap();
        assert_eq!((found.release.as_str(), found.is_rt()), ("6.1.0-rt", false));
    }

    #[test]
    fn a_file_that_is_not_a_kernel_gives_nothing() {
        for image in [&b""[..], b"Linux version 6.12", b"HdrS", b"Linux version x (a) #1 y\n"] {
            assert_eq!(banner(image), None);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..700)) {
            let _ = banner(&bytes);
            let _ = banner(&[WORDS, b"6", &bytes].concat());
        }
    }
}
