use super::{PatchError, ProgramError};
use crate::programs::{last_lines, run};
use flate2::read::MultiGzDecoder;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;

/// Maximum uncompressed size in bytes; no published patch is larger.
const LIMIT: usize = 64 << 20;

/// Reads a patch and decompresses it (xz by the external program, gzip internally).
///
/// # Errors
/// It cannot be read, is damaged, or is larger than 64 MiB.
pub fn unpack(path: &Path) -> Result<Vec<u8>, PatchError> {
    let damaged = |why: String| PatchError::Damaged { name: path.display().to_string(), why };
    let file = std::fs::File::open(path).map_err(ProgramError::file("read", path))?;
    let mut bytes = Vec::new();
    file.take(LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(ProgramError::file("read", path))?;
    let unpacked = match bytes.as_slice() {
        [0x1f, 0x8b, ..] => {
            let mut text = Vec::new();
            let gzip = MultiGzDecoder::new(bytes.as_slice()).take(LIMIT as u64 + 1).read_to_end(&mut text);
            gzip.map_err(|error| damaged(error.to_string()))?;
            text
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => {
            let ran = run(Command::new("xz").args(["-dc"]), &bytes, "apt-get install xz-utils")?;
            match ran.status.success() || ran.stdout.len() > LIMIT {
                true => ran.stdout,
                false => return Err(damaged(last_lines(&ran.stderr, 2))),
            }
        }
        _ => bytes,
    };
    match unpacked.len() {
        0 => Err(damaged("it is empty".to_owned())),
        length if length > LIMIT => Err(damaged("it is larger than 64 MiB, which no real-time patch is".to_owned())),
        _ => Ok(unpacked),
    }
}
