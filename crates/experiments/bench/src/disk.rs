//! Measures the time until written data is on disk: fsync(2) of a growing file, and fdatasync(2) of a file of fixed
//! size.

use crate::axis::{Axis, Ended, Measured, Turn};
use crate::clock::{cpu_time, now};
use crate::error::BenchError;
use punctual_directory::Dir;
use punctual_model::{BenchPlan, BenchSettings};
use punctual_units::Histogram;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const ADVICE: &str = "choose a writable directory on a disk with --dir DIR";

/// Plans the benchmark of the disk that contains `folder`.
///
/// # Errors
/// [`BenchError`] if the directory is not writable, the disk is too full, or the sizes are impossible.
pub fn plan(folder: &Path, bytes: u64, writes: u32, repetitions: u64) -> Result<BenchPlan, BenchError> {
    let folder = std::path::absolute(folder).map_err(BenchError::io("name", folder.display().to_string(), ADVICE))?;
    Disk::new(&folder, bytes, writes)?;
    let mut notes =
        vec!["the scratch file has no name, so it disappears when the program ends, however it ends".to_owned()];
    match punctual_loads::storage(&folder) {
        Ok(on) => notes.push(format!("{} is on {on}", folder.display())),
        Err(what) => notes.push(format!("{} is on {what}, so no disk of this machine is measured", folder.display())),
    }
    let not_measured = vec![
        "whether the drive stores the data that it reports as written, which only a power cut could show".into(),
        "disk bandwidth".into(),
    ];
    Ok(BenchPlan { settings: BenchSettings::Disk { folder, bytes, writes }, repetitions, not_measured, notes })
}

pub(crate) struct Disk {
    folder: PathBuf,
    block: Vec<u8>,
    writes: u32,
}

impl Disk {
    pub fn new(folder: &Path, bytes: u64, writes: u32) -> Result<Disk, BenchError> {
        if !(1..=64 * MIB).contains(&bytes) || !(1..=1_000_000).contains(&writes) {
            let text = format!("{writes} writes of {bytes} bytes: choose 1 to 1000000 writes of 1 byte to 64 MiB");
            return Err(BenchError::Refused(text));
        }
        let on = || folder.display().to_string();
        let space = rustix::fs::statvfs(folder).map_err(|e| BenchError::io("look at", on(), ADVICE)(e.into()))?;
        let (free, needed) = (space.f_bavail.saturating_mul(space.f_frsize), 2 * bytes * u64::from(writes));
        if needed.saturating_add(64 * MIB) > free {
            return Err(BenchError::Refused(format!(
                "{} has {} MiB free, but {} MiB would be written and 64 MiB must stay free: reduce --writes or --size, or choose \
                 another directory with --dir DIR",
                on(),
                free / MIB,
                needed.div_ceil(MIB)
            )));
        }
        drop(scratch(folder)?);
        // The block is not zero, because some file systems and drives do not store blocks of zeros.
        let block = (0..bytes).map(|n| (n.wrapping_mul(0x9E37_79B9) >> 13) as u8 | 1).collect();
        Ok(Disk { folder: folder.to_owned(), block, writes })
    }

    /// Writes one block after another and syncs each. Returns `None` if stopped.
    fn synced(
        &self,
        file: &File,
        turn: &mut Turn<'_>,
        half: f64,
        sync: fn(&File) -> std::io::Result<()>,
    ) -> Result<Option<Histogram>, BenchError> {
        let mut times = Histogram::new();
        let failed = |what| BenchError::io(what, format!("the scratch file in {}", self.folder.display()), ADVICE);
        for n in 0..self.writes {
            if turn.is_stopped() {
                return Ok(None);
            }
            let begin = now();
            file.write_all_at(&self.block, u64::from(n) * self.block.len() as u64).map_err(failed("write"))?;
            sync(file).map_err(failed("sync"))?;
            times.record(now() - begin);
            turn.share((half + f64::from(n + 1) / f64::from(self.writes)) / 2.0);
        }
        Ok(Some(times))
    }
}

impl Axis for Disk {
    fn repetition(&mut self, turn: &mut Turn<'_>) -> Result<Ended, BenchError> {
        let (began, cpu) = (now(), cpu_time());
        let file = scratch(&self.folder)?;
        let Some(growing) = self.synced(&file, turn, 0.0, File::sync_all)? else { return Ok(Ended::Stopped) };
        let Some(staying) = self.synced(&file, turn, 1.0, File::sync_data)? else { return Ok(Ended::Stopped) };
        let mut measured =
            Measured { elapsed_ns: now() - began, cpu_ns: Some(cpu_time() - cpu), ..Measured::default() };
        let bytes = self.block.len();
        measured.times(&format!("disk, {bytes} bytes appended"), "write and fsync", growing);
        measured.times(&format!("disk, {bytes} bytes overwritten"), "write and fdatasync", staying);
        Ok(Ended::Done(measured))
    }
}

/// Creates an unnamed file (O_TMPFILE). If the file system does not support that, creates a named file and unlinks it
/// immediately.
fn scratch(folder: &Path) -> Result<File, BenchError> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        Ok(fd) => Ok(File::from(fd)),
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => named(folder),
        Err(e) => Err(BenchError::io("create a scratch file in", folder.display().to_string(), ADVICE)(e.into())),
    }
}

fn named(folder: &Path) -> Result<File, BenchError> {
    let path = folder.join(format!(".punctual-{}-{}", std::process::id(), now()));
    let made = Dir::of_file(&path).and_then(|(dir, name)| {
        let file = dir.create_new(&name)?;
        dir.remove_file(name).map(|()| file)
    });
    made.map_err(|e| BenchError::io("make", path.display().to_string(), ADVICE)(e.cause()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_file_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (scratch(folder.path()).unwrap(), named(folder.path()).unwrap());
        one.write_all_at(b"x", 0).unwrap();
        other.write_all_at(b"x", 0).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_cannot_be_had_is_refused_with_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let text = |r: Result<Disk, BenchError>| r.err().unwrap().to_string();
        assert!(text(Disk::new(folder.path(), 0, 1)).contains("1 byte to 64 MiB"));
        assert!(text(Disk::new(folder.path(), 64 * MIB, 1_000_000)).contains("--dir DIR"));
        assert!(text(Disk::new(&folder.path().join("none"), 1, 1)).contains("--dir DIR"));
        assert!(text(Disk::new(Path::new("/proc"), 1, 1)).contains("--dir DIR"));
    }
}
