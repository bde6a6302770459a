//! Runs of kind `bench`: an append-only, synced log, from which a killed benchmark can continue.

use crate::Error;
use crate::appended::append_whole;
use crate::bench_reader::LARGEST;
use crate::files;
use crate::finished::write_manifest;
use crate::layout::{self, FileSum};
use crate::segment;
use crate::text::pretty;
use crate::writer::make_empty_folder;
use punctual_model::{Bench, BenchLog, BenchPlan, BenchRecord, Kind, Run};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A run directory of a benchmark being written; locked (flock(2)) while this lives.
pub struct BenchWriter {
    root: PathBuf,
    _lock: File,
    run: Run,
    log: File,
    bytes: u64,
}

impl BenchWriter {
    /// Creates the directory (which must be missing or empty) and writes the run and its plan.
    ///
    /// # Errors
    /// [`Error::NotEmpty`], [`Error::Io`].
    pub fn create(root: &Path, run: Run, plan: &BenchPlan) -> Result<BenchWriter, Error> {
        make_empty_folder(root)?;
        let lock = lock(root)?;
        let log = files::create_new(&root.join(layout::BENCH_LOG))?;
        let mut writer = BenchWriter { root: root.to_owned(), _lock: lock, run, log, bytes: 0 };
        writer.append(&BenchRecord::Plan(Box::new(plan.clone())))?;
        // Written last and atomically: a directory with run.json is a run that can be resumed.
        writer.write_run()?;
        files::sync_folder(root)?;
        Ok(writer)
    }

    /// Continues a run that was killed, interrupted, or lost power. An incomplete end of its log is cut off.
    ///
    /// # Errors
    /// [`Error::NoRun`], [`Error::Format`], [`Error::Damaged`]; [`Error::Busy`] while another process writes it;
    /// [`Error::NotResumable`] if it is no benchmark or is complete; [`Error::Io`].
    pub fn resume(root: &Path) -> Result<(BenchWriter, BenchLog), Error> {
        let recording = crate::read(root)?;
        let refuse = |why| Err(Error::NotResumable { path: root.to_owned(), why });
        if recording.run.kind != Kind::Bench {
            return refuse("it is not a run of `punctual bench`");
        }
        let lock = lock(root)?;
        let path = root.join(layout::BENCH_LOG);
        let content = files::read(&path, LARGEST)?;
        let (records, whole, _) = segment::decode_until(&content);
        let Some(log) = BenchLog::of(records) else {
            return refuse("its log does not begin with a plan; begin a new run with --out DIR");
        };
        // If killed between the last repetition and the end, only the end is missing.
        let has_ended = recording.run.complete && root.join(layout::MANIFEST).exists();
        if log.repetitions.len() as u64 >= log.plan.repetitions && has_ended {
            return refuse("it is complete: `punctual report DIR` shows it");
        }
        for name in [layout::MANIFEST, layout::BENCH] {
            remove(&root.join(name))?;
        }
        let file = open_log(&path, whole as u64)?;
        let run = Run { complete: false, ended: None, ended_by: None, ..recording.run };
        let mut writer = BenchWriter { root: root.to_owned(), _lock: lock, run, log: file, bytes: whole as u64 };
        writer.write_run()?;
        Ok((writer, log))
    }

    /// The benchmark of a complete, undamaged run; `None` if there is work left or anything is wrong. Errors as
    /// [`crate::read`].
    pub fn whole(root: &Path) -> Result<Option<Bench>, Error> {
        let recording = crate::read(root)?;
        let is_whole = recording.run.complete && recording.damage.is_empty() && root.join(layout::MANIFEST).exists();
        Ok(recording.bench.filter(|bench| is_whole && !bench.interrupted))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Appends a record and syncs it: afterwards it survives a power cut.
    ///
    /// # Errors
    /// [`Error::Io`]; the log then holds nothing of the record.
    pub fn append(&mut self, record: &BenchRecord) -> Result<(), Error> {
        let path = self.root.join(layout::BENCH_LOG);
        let line = segment::encode(record).map_err(|e| Error::io("write", &path)(e.into()))?;
        append_whole(&mut self.log, self.bytes, &line).map_err(Error::io("write", &path))?;
        self.bytes += line.len() as u64;
        self.log.sync_data().map_err(Error::io("sync", path))
    }

    /// Writes results, run and checksums. An interrupted run can still be resumed.
    ///
    /// # Errors
    /// [`Error::Io`]; appended records stay readable.
    pub fn finish(mut self) -> Result<Bench, Error> {
        let path = self.root.join(layout::BENCH_LOG);
        let content = files::read(&path, LARGEST)?;
        let log = BenchLog::of(segment::decode_until(&content).0);
        let bench = Bench::of(log.ok_or(Error::Damaged { path, why: "it does not begin with a plan".into() })?);
        let text = pretty(&bench).map_err(Error::io("write", self.root.join(layout::BENCH)))?;
        let sums = BTreeMap::from([
            (layout::BENCH_LOG.to_owned(), files::sum(&content)),
            (layout::BENCH.to_owned(), files::replace(&self.root.join(layout::BENCH), &text, true)?),
            (layout::RUN.to_owned(), self.write_run()?),
        ]);
        write_manifest(&self.root, sums, true)?;
        files::sync_folder(&self.root)?;
        Ok(bench)
    }

    fn write_run(&mut self) -> Result<FileSum, Error> {
        let path = self.root.join(layout::RUN);
        let text = pretty(&self.run).map_err(Error::io("write", &path))?;
        files::replace(&path, &text, true)
    }
}

/// Keeps other processes from writing the run.
fn lock(root: &Path) -> Result<File, Error> {
    let folder = File::open(root).map_err(Error::io("open", root))?;
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(Error::Busy(root.to_owned())),
        Err(e) => Err(Error::io("lock", root)(e.into())),
    }
}

fn remove(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", path)(e)),
        _ => Ok(()),
    }
}

/// Opens the log, truncated after its last complete record.
fn open_log(path: &Path, whole: u64) -> Result<File, Error> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::open(path, flags, Mode::empty()).map_err(|e| Error::io("open", path)(e.into()))?;
    let mut file = File::from(fd);
    file.set_len(whole).map_err(Error::io("cut", path))?;
    file.seek(SeekFrom::Start(whole)).map_err(Error::io("seek in", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests;
