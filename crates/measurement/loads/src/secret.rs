//! The secret shared by `punctual serve` and its clients. It is never sent: clients prove that they know it by
//! answering a challenge.

use crate::LoadError;
use crate::wire::TOKEN;
use hmac::{Hmac, KeyInit, Mac};
use rustix::fs::OFlags;
use sha2::Sha256;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Minimum size, bytes. A shorter secret could be guessed from one recorded answer.
const SHORTEST: usize = 16;
const LONGEST: u64 = 4096;
/// Advice on how to create a file with a secret.
const MAKE: &str =
    "make one with: (umask 077; head -c 32 /dev/urandom | base64 > FILE), and copy it to the other machine";

/// The secret bytes that both machines have. `Debug` does not print them.
pub struct Secret(Vec<u8>);

impl Secret {
    /// Reads a secret from a file and removes trailing white space.
    ///
    /// # Errors
    /// The file cannot be read, or has fewer than 16 bytes or more than 4096.
    pub fn read(path: &Path) -> Result<Secret, LoadError> {
        let on = path.display().to_string();
        let mut bytes = Vec::new();
        // A FIFO without a writer is empty and does not block; one with a writer is read as usual.
        let flags = OFlags::NONBLOCK.bits() as i32;
        let read = File::options().read(true).custom_flags(flags).open(path).and_then(|file| {
            rustix::io::ioctl_fionbio(&file, false)?;
            file.take(LONGEST + 1).read_to_end(&mut bytes)
        });
        read.map_err(|e| LoadError::Refused(format!("the secret {on} cannot be read: {e}; {MAKE}")))?;
        let bytes = bytes.trim_ascii_end();
        if bytes.len() < SHORTEST || bytes.len() as u64 > LONGEST {
            let size = bytes.len();
            return Err(LoadError::Refused(format!(
                "the secret in {on} has {size} bytes; {SHORTEST} to {LONGEST} are required: {MAKE}"
            )));
        }
        Ok(Secret(bytes.to_vec()))
    }

    /// Returns the HMAC-SHA-256 (RFC 2104) of the challenge in hexadecimal digits.
    pub(crate) fn answer(&self, challenge: &[u8; TOKEN]) -> String {
        self.mac(challenge).finalize().into_bytes().iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Compares a client's answer with the expected one in constant time.
    pub(crate) fn is_answer(&self, challenge: &[u8; TOKEN], answer: &[u8]) -> bool {
        self.mac(challenge).verify_slice(answer).is_ok()
    }

    fn mac(&self, challenge: &[u8; TOKEN]) -> Hmac<Sha256> {
        #[expect(clippy::expect_used, reason = "HMAC takes keys of any length (RFC 2104)")]
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key of any length");
        mac.chain_update(b"punctual serve").chain_update(challenge)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: &[u8]) -> Result<Secret, LoadError> {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("s"), content).unwrap();
        Secret::read(&place.path().join("s"))
    }

    #[test]
    fn only_the_same_secret_answers_a_challenge() {
        let (ours, theirs) = (of(b"0123456789abcdef\n").unwrap(), of(b"0123456789abcdef").unwrap());
        let other = of(b"0123456789abcdeF").unwrap();
        let (challenge, next) = ([7; TOKEN], [8; TOKEN]);
        let bytes = |secret: &Secret, of| crate::wire::bytes_of(&secret.answer(of)).unwrap();
        assert!(ours.is_answer(&challenge, &bytes(&theirs, &challenge)));
        assert!(!ours.is_answer(&challenge, &bytes(&other, &challenge)));
        assert!(!ours.is_answer(&next, &bytes(&theirs, &challenge)), "an answer holds for one challenge");
        assert!(!ours.is_answer(&challenge, b"") && !format!("{ours:?}").contains("0123"));
    }

    #[test]
    fn a_short_a_long_and_a_missing_one_are_refused_with_how_to_make_one() {
        for secret in
            [of(b""), of(b"0123456789abcde  \n"), of(&[b'x'; 4097]), Secret::read(Path::new("/nonexistent/s"))]
        {
            let why = secret.unwrap_err().to_string();
            assert!(why.contains("/dev/urandom"), "{why}");
        }
    }
}
