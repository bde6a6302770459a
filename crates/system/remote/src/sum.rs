//! SHA-256 as sha256sum(1) prints it.

use crate::error::{RemoteError, file};
use punctual_directory::sha256;
use std::fs::File;
use std::path::Path;

pub(crate) use sha256::{of, of_bytes};

pub(crate) fn of_file(path: &Path) -> Result<String, RemoteError> {
    of(File::open(path).map_err(file("open", path))?).map_err(file("read", path))
}
