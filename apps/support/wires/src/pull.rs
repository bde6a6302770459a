//! Sets the level of a gpio-sim line from outside through its pull attribute, as if a wire were connected to it.

use punctual_gpio::GpioError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HINT: &str = "only root may write gpio-sim's files: see ls -l /sys/devices/platform/gpio-sim.*/*/sim_gpio*/pull";

/// An open `sim_gpioN/pull` file (Documentation/admin-guide/gpio/gpio-sim.rst). If a write changes the level, the
/// program that uses the line as an input sees an edge.
#[derive(Debug)]
pub struct Pull {
    file: File,
    path: PathBuf,
}

impl Pull {
    /// Opens the file and pulls the line to `level`.
    ///
    /// # Errors
    /// The file does not exist or cannot be written.
    pub fn open(path: &Path, level: bool) -> Result<Pull, GpioError> {
        let file = File::options().write(true).open(path).map_err(failed("open", path))?;
        let mut pull = Pull { file, path: path.into() };
        pull.set(level)?;
        Ok(pull)
    }

    /// Writes the level with a single pwrite(2).
    pub(crate) fn set(&mut self, level: bool) -> Result<(), GpioError> {
        let word: &[u8] = if level { b"pull-up" } else { b"pull-down" };
        self.file.write_all_at(word, 0).map_err(failed("write", &self.path))
    }
}

fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> GpioError + 'a {
    move |source| GpioError::Sim { what, path: path.into(), source, hint: HINT }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses an ordinary file instead of the simulator: each write starts at offset 0.
    #[test]
    fn each_level_is_written_from_the_start() {
        let path = std::env::temp_dir().join(format!("punctual-pull-{}", std::process::id()));
        std::fs::write(&path, "").unwrap();
        let mut pull = Pull::open(&path, false).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"pull-down");
        pull.set(true).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"pull-upwn");
        std::fs::remove_file(&path).unwrap();
        let error = Pull::open(&path, true).unwrap_err().to_string();
        assert!(error.contains("punctual-pull") && error.contains("ls -l"), "{error}");
    }
}
