//! `io`: writes, fsyncs and reads back an unnamed scratch file.
//!
//! Because SD cards wear, the amount of data is limited and written evenly over the phase. Between writes the load
//! reads, which causes no wear.

use super::{Builtin, Plan, RunsAs};
use crate::LoadError;
use crate::beat::Beat;
use crate::board::now;
use crate::disk;
use crate::message::Unit;
use crate::mounts;
use crate::settings::ChildConfig;
use rustix::fs::{Advice, FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;

pub(super) const LOAD: Builtin = Builtin {
    name: "io",
    about: "writes with fsync and reads back, in a bounded scratch file on disk (--scratch)",
    comm: "load-io",
    runs_as: RunsAs::NobodyOncePrepared,
    in_all: true,
    prepare,
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Size of the scratch file in the load `all`. It is small, so that the whole file is written early: file systems leave
/// the first write of a block to kernel threads, which may wait long for a CPU.
const SMALL: u64 = 8 * MIB;

/// Number of workers. Disks are slower than CPUs, so two workers keep a disk busy.
const WORKERS: usize = 2;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let folder = config.scratch_folder.as_path();
    if config.write_cap_bytes < MIB {
        return Err(LoadError::Refused(format!(
            "it may write only {} bytes: allow at least 1 MiB, or leave this load out",
            config.write_cap_bytes
        )));
    }
    let most = if config.together() { SMALL } else { config.write_cap_bytes };
    let scratch = Scratch::open(folder, most.min(config.write_cap_bytes))?;
    let (counter, note) = disk::proof(&scratch.disk, folder, 0)?;
    let units = vec![Unit { written: true, ..Unit::bytes("written") }, Unit::bytes("read back"), Unit::each("fsyncs")];
    let mut plan = Plan::new(units, vec![counter]);
    plan.notes.extend(note);
    let share = scratch.bytes / WORKERS as u64;
    let allowance = Allowance::new(config.write_cap_bytes / WORKERS as u64, config.phase_ns.0);
    let file = Arc::new(scratch.file);
    for worker in 0..WORKERS {
        let region = Region { file: file.clone(), start: worker as u64 * share, bytes: share };
        // The workers are not bound to CPUs, so that they follow the disk's interrupts.
        plan.worker(None, move |beat| work(beat, region, allowance));
    }
    Ok(plan)
}

/// An unnamed scratch file, which disappears however the load ends.
struct Scratch {
    file: File,
    bytes: u64,
    disk: disk::Disk,
}

impl Scratch {
    fn open(folder: &Path, most: u64) -> Result<Scratch, LoadError> {
        let file = nameless(folder)?;
        let on = folder.display().to_string();
        let room = rustix::fs::fstatvfs(&file).map_err(LoadError::on("fstatvfs", &on))?;
        let (free, total) = (room.f_bavail * room.f_frsize, room.f_blocks * room.f_frsize);
        let bytes = disk::scratch_size(folder, free, total)?.min(most / MIB * MIB);
        let device = disk::numbers(file.metadata().map_err(LoadError::on("fstat", &on))?.dev());
        let disk = disk::disk_of(device, &mounts::own(), disk::is_counted, disk::device_of);
        reserve(&file, bytes, &on)?;
        Ok(Scratch { file, bytes, disk })
    }
}

/// Creates an unnamed file with O_TMPFILE (Linux 3.11; not on NFS, old overlayfs, FAT). Where that is not supported,
/// creates a named file and removes its name immediately.
fn nameless(folder: &Path) -> Result<File, LoadError> {
    let on = folder.display().to_string();
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, mode) {
        Ok(fd) => return Ok(fd.into()),
        Err(e) if e == rustix::io::Errno::OPNOTSUPP || e == rustix::io::Errno::ISDIR => {}
        Err(e) => return Err(LoadError::system("open", on, e)),
    }
    let path = folder.join(format!(".punctual-scratch-{}-{}", super::own_pid(), now()));
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
    let fd = rustix::fs::open(&path, flags, mode).map_err(LoadError::on("open", path.display().to_string()))?;
    rustix::fs::unlink(&path).map_err(LoadError::on("unlink", path.display().to_string()))?;
    Ok(fd.into())
}

/// Allocates the file's space, so that the disk cannot become full during the load. On file systems that do not support
/// this, writes may fail.
fn reserve(file: &File, bytes: u64, on: &str) -> Result<(), LoadError> {
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(e) if e != rustix::io::Errno::OPNOTSUPP && e != rustix::io::Errno::NOSYS => {
            Err(LoadError::system("fallocate", on, e))
        }
        _ => Ok(()),
    }
}

/// Determines how many bytes a worker may have written at a given time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Allowance {
    cap: u64,
    /// Number of bytes that may be written immediately, so that short phases write as well.
    burst: u64,
    /// Bytes per second that may be written after the burst.
    rate: f64,
}

impl Allowance {
    /// Factor by which a phase may last longer than planned.
    const MARGIN: f64 = 1.1;

    fn new(cap: u64, phase_ns: u64) -> Allowance {
        let burst = (cap / 20).clamp(64 * KIB, 8 * MIB).min(cap);
        let seconds = (phase_ns as f64 / 1e9).max(0.1) * Allowance::MARGIN;
        Allowance { cap, burst, rate: (cap - burst) as f64 / seconds }
    }

    fn bytes_at(&self, elapsed_ns: u64) -> u64 {
        self.cap.min(self.burst + (self.rate * elapsed_ns as f64 / 1e9) as u64)
    }

    /// Returns the size of a write, 4 to 256 KiB, chosen so that there are about four or more writes per second.
    fn block(&self) -> u64 {
        (self.rate as u64 / 4).clamp(4 * KIB, 256 * KIB) / (4 * KIB) * (4 * KIB)
    }
}

struct Region {
    file: Arc<File>,
    start: u64,
    bytes: u64,
}

const ON: &str = "the scratch file";

fn work(beat: &mut Beat, region: Region, allowance: Allowance) -> Result<(), LoadError> {
    let began = now();
    let block = allowance.block().min(region.bytes);
    let blocks = region.bytes / block;
    let mut buffer = vec![0u8; block as usize];
    let (mut written, mut number) = (0u64, 0u64);
    loop {
        if written + block <= allowance.bytes_at(now() - began) {
            region.write((number % blocks) * block, &mut buffer, number)?;
            (written, number) = (written + block, number + 1);
            beat.count(0, block);
            beat.count(2, 1);
        } else {
            // Reads a block that has been written, in pseudorandom order.
            let known = number.min(blocks).max(1);
            let at = (now() / 1000).wrapping_mul(0x9e37_79b9_7f4a_7c15) % known;
            region.read(at * block, &mut buffer)?;
            beat.count(1, block);
        }
        beat.beat_and_rest();
    }
}

impl Region {
    fn write(&self, at: u64, buffer: &mut [u8], number: u64) -> Result<(), LoadError> {
        fill(buffer, number);
        self.file.write_all_at(buffer, self.start + at).map_err(LoadError::on("pwrite", ON))?;
        // Metadata is also synced regularly, because journalling is part of the load.
        let synced = if number.is_multiple_of(8) { self.file.sync_all() } else { self.file.sync_data() };
        synced.map_err(LoadError::on("fsync", ON))
    }

    fn read(&self, at: u64, buffer: &mut [u8]) -> Result<(), LoadError> {
        // Drops the page cache first, so that the data is read from the disk. If that fails, it is read from the cache.
        let length = std::num::NonZeroU64::new(buffer.len() as u64);
        let _ = rustix::fs::fadvise(&*self.file, self.start + at, length, Advice::DontNeed);
        self.file.read_exact_at(buffer, self.start + at).map_err(LoadError::on("pread", ON))
    }
}

/// Fills the buffer with incompressible data, different for each `number`: xorshift64* seeded with the number.
fn fill(buffer: &mut [u8], number: u64) {
    let mut x = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for chunk in buffer.chunks_mut(8) {
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        let bytes = x.wrapping_mul(0x2545_f491_4f6c_dd1d).to_le_bytes();
        chunk.copy_from_slice(&bytes[..chunk.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_scratch_file_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = nameless(folder.path()).unwrap();
        file.write_all_at(b"x", 0).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error = nameless(Path::new("/nonexistent/x")).unwrap_err().to_string();
        assert!(error.contains("/nonexistent/x"), "{error}");
    }

    #[test]
    fn a_long_phase_writes_small_blocks() {
        let day = Allowance::new(512 * MIB, 86_400 * 1_000_000_000);
        assert_eq!(day.block(), 4 * KIB);
        let minute = Allowance::new(512 * MIB, 60 * 1_000_000_000);
        assert_eq!(minute.block(), 256 * KIB);
        assert_eq!(minute.bytes_at(0), 8 * MIB);
    }

    proptest! {
        #[test]
        fn the_cap_holds(cap in MIB / 2..(1u64 << 44), phase in 0u64..(1 << 60), at in 0u64..(1 << 60)) {
            let allowance = Allowance::new(cap, phase);
            prop_assert!(allowance.bytes_at(at) <= cap);
            prop_assert!(allowance.bytes_at(0) <= allowance.bytes_at(at));
            prop_assert!(allowance.block() >= 4 * KIB && allowance.block() <= 256 * KIB);
            // The allowance is spread until the end of the phase.
            prop_assert!(phase < 100_000_000 || allowance.bytes_at(phase) < cap);
        }
    }

    #[test]
    fn no_two_blocks_are_alike() {
        let (mut a, mut b) = ([0; 4096], [0; 4096]);
        fill(&mut a, 0);
        fill(&mut b, 1);
        assert_ne!(a, b);
        assert!(a.iter().collect::<std::collections::BTreeSet<_>>().len() > 200);
    }
}
