use crate::error::{DeployError, file};
use punctual_directory::sha256;
use std::fs::File;
use std::path::Path;

pub use sha256::of_bytes;

pub fn of_file(path: &Path) -> Result<String, DeployError> {
    sha256::of(File::open(path).map_err(file("open", path))?).map_err(file("read", path))
}
