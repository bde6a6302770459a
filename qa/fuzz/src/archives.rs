//! Fuzzes the reader of archives received from a board, which are unpacked beneath a directory.

use super::texts::memory;
use punctual_archive::{Limits, unpack};
use punctual_directory::Dir;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

const BLOCK: usize = 512;
const LIMITS: Limits = Limits { bytes: 1 << 16, entries: 32, depth: 4, name: 128 };

pub const WORDS: &[&str] =
    &["../", "/", "a/b", "00000000010", "77777777777", "ustar\u{0}00", "././@LongLink", "\n", "0", "2", "5", "L", "x"];

/// Unpacks an input. Panics if anything lies outside the directory, is neither a regular file nor a folder, or exceeds
/// the limits. Returns 4 plus the number of files and folders.
pub fn execute(input: &[u8]) -> u64 {
    let Some(folder) = memory() else { return 0 };
    let into = folder.path().join("into");
    if fs::create_dir(&into).is_err() {
        return 0;
    }
    let Ok(dir) = Dir::open(&into) else { return 0 };
    let unpacked = unpack(with_sums(input).as_slice(), &dir, LIMITS);
    let mut found = Found::default();
    found.look(&into, 0);
    assert!(found.bytes <= LIMITS.bytes && found.entries <= LIMITS.entries, "{found:?}");
    assert_eq!(fs::read_dir(folder.path()).map(Iterator::count).unwrap_or(1), 1, "something lies outside");
    if unpacked.is_ok() { 4 + found.entries } else { 0 }
}

/// Corrects the checksums of the headers. Otherwise the reader would refuse nearly every mutation at its first block.
fn with_sums(input: &[u8]) -> Vec<u8> {
    let mut archive = input.to_vec();
    for header in archive.chunks_exact_mut(BLOCK).filter(|block| &block[257..262] == b"ustar") {
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    archive
}

#[derive(Debug, Default)]
struct Found {
    entries: u64,
    bytes: u64,
}

impl Found {
    fn look(&mut self, folder: &Path, depth: usize) {
        assert!(depth <= LIMITS.depth, "{}: too deep", folder.display());
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            self.entries += 1;
            let allowed = if meta.is_dir() { 0o755 } else { 0o644 };
            assert!(meta.is_dir() || meta.is_file(), "{}: no regular file", entry.path().display());
            assert_eq!(meta.permissions().mode() & 0o7777 & !allowed, 0, "{}", entry.path().display());
            assert!(!entry.file_name().to_string_lossy().contains(char::is_control), "{:?}", entry.file_name());
            if meta.is_dir() { self.look(&entry.path(), depth + 1) } else { self.bytes += meta.len() }
        }
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let mut plain = tar::Builder::new(Vec::new());
    for (path, content) in [("run.json", &b"{}"[..]), ("segments/000001.json", b"[1]"), (&"n".repeat(110), b"long")] {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o4755);
        // The builder refuses neither of these names.
        let _ = plain.append_data(&mut header, path, content);
    }
    let plain = plain.into_inner().unwrap_or_default();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let packed = std::io::Write::write_all(&mut packed, &plain).and_then(|()| packed.finish());
    vec![plain, packed.unwrap_or_default()]
}
