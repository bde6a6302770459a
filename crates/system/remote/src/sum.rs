//! SHA-256 as sha256sum(1) prints it.

use crate::error::{RemoteError, file};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::path::Path;

pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

pub(crate) fn of(mut source: impl io::Read) -> io::Result<String> {
    let mut sum = Sha256::new();
    io::copy(&mut source, &mut sum)?;
    Ok(format!("{:x}", sum.finalize()))
}

pub(crate) fn of_file(path: &Path) -> Result<String, RemoteError> {
    of(File::open(path).map_err(file("open", path))?).map_err(file("read", path))
}
