//! Opens the FIFO for commands: the one given by `--pipe`, or the one held by systemd (sd_listen_fds(3),
//! `ListenFIFO=`).

use crate::error::Error;
use crate::options::{Options, USUAL_PIPE};
use crate::tap::Tap;
use punctual_rt::Fifo;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The first descriptor passed by systemd. The FIFO is opened by its name and not read through this descriptor; systemd
/// only holds it open, so that unread bytes are kept after this program ends.
const HANDED: &str = "/proc/self/fd/3";

/// Opens the FIFO: the one passed by systemd if there is one, otherwise the one given by `--pipe`. If both are given,
/// they must be the same.
///
/// # Errors
/// The FIFO cannot be opened, or the two differ.
pub fn open(options: &Options) -> Result<Tap, Error> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u32>().ok());
    let handed =
        number("LISTEN_PID") == Some(std::process::id()) && number("LISTEN_FDS").is_some_and(|count| count >= 1);
    let path = match (handed, &options.pipe) {
        (true, asked) => of_systemd(Path::new(HANDED), asked.as_deref())?,
        (false, Some(path)) => path.clone(),
        (false, None) => USUAL_PIPE.into(),
    };
    // The folder of the default FIFO belongs to this program; others must exist.
    if let Some(folder) = Path::new(USUAL_PIPE).parent().filter(|_| path == Path::new(USUAL_PIPE)) {
        // The journal of a capture is in that folder too, and requires that only its owner can write there.
        fs::DirBuilder::new().recursive(true).mode(0o755).create(folder).map_err(Error::file("make", folder))?;
    }
    Tap::new(Fifo::open(&*path)?)
}

fn of_systemd(handed: &Path, asked: Option<&Path>) -> Result<PathBuf, Error> {
    let path = fs::read_link(handed).map_err(Error::file("read", handed))?;
    let asked = asked.unwrap_or(&path);
    let inode = |path: &Path| fs::metadata(path).map(|meta| (meta.dev(), meta.ino())).ok();
    match inode(handed).is_some() && inode(handed) == inode(asked) {
        true => Ok(asked.into()),
        false => Err(Error::NotOurFifo { what: path.display().to_string(), path: asked.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_over_must_be_what_is_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        fs::write(&one, "").unwrap();
        fs::write(&two, "").unwrap();
        let handed = folder.path().join("3");
        std::os::unix::fs::symlink(&one, &handed).unwrap();
        assert_eq!(of_systemd(&handed, None).unwrap(), one);
        assert_eq!(of_systemd(&handed, Some(&one)).unwrap(), one);
        let error = of_systemd(&handed, Some(&two)).unwrap_err().to_string();
        assert!(error.contains("ListenFIFO=") && error.contains("two"), "{error}");
        assert!(of_systemd(&folder.path().join("none"), None).is_err());
    }
}
