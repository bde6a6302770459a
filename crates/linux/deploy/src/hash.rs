use crate::error::{DeployError, file};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

pub fn of_file(path: &Path) -> Result<String, DeployError> {
    let mut source = File::open(path).map_err(file("open", path))?;
    let (mut sum, mut part) = (Sha256::new(), vec![0_u8; 1 << 16]);
    loop {
        match source.read(&mut part).map_err(file("read", path))? {
            0 => return Ok(hex(&sum.finalize())),
            length => sum.update(part.get(..length).unwrap_or_default()),
        }
    }
}

fn hex(sum: &[u8]) -> String {
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sum_is_the_published_one() {
        // FIPS 180-4, example of one block.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(super::of_bytes(b"abc"), abc);
    }
}
