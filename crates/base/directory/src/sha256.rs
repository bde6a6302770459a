//! SHA-256 (FIPS 180-4) digests in hexadecimal digits, as printed by sha256sum(1).

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::io::{self, Read};

pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Returns the digest of the remaining bytes of `source`.
///
/// # Errors
/// Reading from `source` failed.
pub fn of(mut source: impl Read) -> io::Result<String> {
    let (mut sum, mut block) = (Sha256::new(), vec![0_u8; 1 << 16]);
    loop {
        match source.read(&mut block) {
            Ok(0) => return Ok(hex(&sum.finalize())),
            Ok(length) => sum.update(block.get(..length).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn hex(sum: &[u8]) -> String {
    sum.iter().fold(String::with_capacity(2 * sum.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sum_is_the_published_one() {
        // The one-block example of FIPS 180-4.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::of_bytes(b"abc"), abc);
        assert_eq!(super::of(&b"abc"[..]).unwrap(), abc);
    }
}
