//! Computes SHA-256 checksums in the form that sha256sum(1) prints.

use crate::error::{RemoteError, file};
use punctual_directory::sha256;
use std::fs::File;
use std::path::Path;

pub(crate) use sha256::{of, of_bytes};

pub(crate) fn of_file(path: &Path) -> Result<String, RemoteError> {
    of(File::open(path).map_err(file("open", path))?).map_err(file("read", path))
}
