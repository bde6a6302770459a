//! Runs of kind `bench`: an append-only, synced log from which a killed benchmark can continue.

use crate::Error;
use crate::appended::append_whole;
use crate::bench_reader::LARGEST;
use crate::files;
use crate::finished::write_manifest;
use crate::layout::{self, FileSum};
use crate::segment;
use crate::text::pretty;
use crate::writer::make_empty;
use punctual_directory::{Dir, Whose};
use punctual_model::{Bench, BenchLog, BenchPlan, BenchRecord, Kind, Run};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;

/// Writer of a benchmark's run directory, which is locked (flock(2)) as long as the writer exists.
pub struct BenchWriter {
    dir: Dir,
    run: Run,
    log: File,
    bytes: u64,
}

impl BenchWriter {
    /// Creates the directory, which must be missing or empty, and writes the run and its plan.
    ///
    /// # Errors
    /// [`Error::NotEmpty`], [`Error::Io`].
    pub fn create(root: &Path, run: Run, plan: &BenchPlan) -> Result<BenchWriter, Error> {
        let dir = make_empty(root)?;
        lock(&dir)?;
        let log = dir.create_new(layout::BENCH_LOG)?;
        let mut writer = BenchWriter { dir, run, log, bytes: 0 };
        writer.append(&BenchRecord::Plan(Box::new(plan.clone())))?;
        // Written last and atomically, because any directory with run.json is a run that can be resumed.
        writer.write_run()?;
        writer.dir.sync()?;
        Ok(writer)
    }

    /// Continues a run that was killed, interrupted, or lost power. A partial record at the end of its log is removed.
    ///
    /// # Errors
    /// [`Error::NoRun`], [`Error::Format`], [`Error::Damaged`]; [`Error::Busy`] while another process writes to it;
    /// [`Error::NotResumable`] if it is not a benchmark or is complete; [`Error::Io`].
    pub fn resume(root: &Path) -> Result<(BenchWriter, BenchLog), Error> {
        let dir = Dir::open_to_write(root, Whose::Results).map_err(|e| Error::no_run(e, root))?;
        let recording = crate::read_dir(&dir)?;
        let refuse = |why| Err(Error::NotResumable { path: root.to_owned(), why });
        if recording.run.kind != Kind::Bench {
            return refuse("it is not a run of `punctual bench`");
        }
        lock(&dir)?;
        let content = files::read(&dir, layout::BENCH_LOG, LARGEST)?;
        let (records, whole, _) = segment::decode_until(&content);
        let Some(log) = BenchLog::of(records) else {
            return refuse("its log does not begin with a plan; start a new run with --out DIR");
        };
        // If the program was killed between the last repetition and the end, only the final files are missing.
        let has_ended = recording.run.complete && dir.kind(layout::MANIFEST)?.is_some();
        if log.repetitions.len() as u64 >= log.plan.repetitions && has_ended {
            return refuse("it is complete; show it with `punctual report DIR`");
        }
        for name in [layout::MANIFEST, layout::BENCH] {
            dir.remove_all(name)?;
        }
        let log_file = open_log(&dir, whole as u64)?;
        let run = Run { complete: false, ended: None, ended_by: None, ..recording.run };
        let mut writer = BenchWriter { dir, run, log: log_file, bytes: whole as u64 };
        writer.write_run()?;
        Ok((writer, log))
    }

    /// Returns the benchmark of a complete, undamaged run; `None` if repetitions remain or anything is damaged. Fails
    /// like [`crate::read`].
    pub fn whole(root: &Path) -> Result<Option<Bench>, Error> {
        let dir = Dir::open(root).map_err(|e| Error::no_run(e, root))?;
        let recording = crate::read_dir(&dir)?;
        let is_whole = recording.run.complete && recording.damage.is_empty() && dir.kind(layout::MANIFEST)?.is_some();
        Ok(recording.bench.filter(|bench| is_whole && !bench.interrupted))
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// Appends a record and syncs it, so that it survives a power failure.
    ///
    /// # Errors
    /// [`Error::Io`]. The log then contains no part of the record.
    pub fn append(&mut self, record: &BenchRecord) -> Result<(), Error> {
        let path = self.dir.path().join(layout::BENCH_LOG);
        let line = segment::encode(record).map_err(|e| Error::io("write", &path)(e.into()))?;
        append_whole(&mut self.log, self.bytes, &line).map_err(Error::io("write", &path))?;
        self.bytes += line.len() as u64;
        self.log.sync_data().map_err(Error::io("sync", path))
    }

    /// Writes results, run and checksums. An interrupted run can still be resumed.
    ///
    /// # Errors
    /// [`Error::Io`]. Appended records stay readable.
    pub fn finish(mut self) -> Result<Bench, Error> {
        let path = self.dir.path().join(layout::BENCH_LOG);
        let content = files::read(&self.dir, layout::BENCH_LOG, LARGEST)?;
        let log = BenchLog::of(segment::decode_until(&content).0);
        let bench = Bench::of(log.ok_or(Error::Damaged { path, why: "it does not begin with a plan".into() })?);
        let text = pretty(&bench).map_err(Error::io("write", self.dir.path().join(layout::BENCH)))?;
        let sums = BTreeMap::from([
            (layout::BENCH_LOG.to_owned(), files::sum(&content)),
            (layout::BENCH.to_owned(), files::replace(&self.dir, layout::BENCH, &text, true)?),
            (layout::RUN.to_owned(), self.write_run()?),
        ]);
        write_manifest(&self.dir, sums, true)?;
        self.dir.sync()?;
        Ok(bench)
    }

    fn write_run(&mut self) -> Result<FileSum, Error> {
        let text = pretty(&self.run).map_err(Error::io("write", self.dir.path().join(layout::RUN)))?;
        files::replace(&self.dir, layout::RUN, &text, true)
    }
}

/// Locks the run, so that other processes do not write to it.
fn lock(dir: &Dir) -> Result<(), Error> {
    if dir.lock(true)? { Ok(()) } else { Err(Error::Busy(dir.path().to_owned())) }
}

/// Opens the log, truncated after its last complete record.
fn open_log(dir: &Dir, whole: u64) -> Result<File, Error> {
    let path = &dir.path().join(layout::BENCH_LOG);
    let mut file = dir.update(layout::BENCH_LOG)?;
    file.set_len(whole).map_err(Error::io("cut", path))?;
    file.seek(SeekFrom::Start(whole)).map_err(Error::io("seek in", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests;
