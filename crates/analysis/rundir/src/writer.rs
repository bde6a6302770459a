use crate::Error;
use crate::appended::{Appended, append_whole};
use crate::files;
use crate::finished::write_manifest;
pub use crate::layout::Progress;
use crate::layout::{self, FileSum, HistogramFile, Record, hist_path};
use crate::segment;
use crate::text::{lines, pretty, worst_lines};
use punctual_directory::{Dir, Whose};
use punctual_model::{Application, BlockMaximum, Distribution, Event, Experiment, Finding, Phase, Run, Suite, Worst};
use punctual_units::CpuId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

/// Writer of a run directory, which is locked (flock(2)) as long as the writer exists; readers then treat it as
/// unfinished.
pub struct Writer {
    dir: Dir,
    sync: bool,
    run: Run,
    segment: File,
    segment_number: u32,
    segment_bytes: u64,
    segment_limit: u64,
    compact: bool,
    /// Line of the running phase. A new segment begins with this line and the lines of `results`.
    phase_line: Vec<u8>,
    results: BTreeMap<CpuId, Vec<u8>>,
    events: File,
    events_pending: Vec<u8>,
    events_sum: crc32fast::Hasher,
    events_bytes: u64,
    maxima: Appended,
    worst: Vec<Worst>,
    sums: BTreeMap<String, FileSum>,
    failed: Option<String>,
}

/// Limits on disk usage during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskUse {
    /// Size at which a segment of checkpoints is replaced by a new one.
    pub segment_bytes: u64,
    /// Disk space reserved for the results, in case the disk becomes full; 0 reserves none.
    pub reserve_bytes: u64,
    /// Omits line breaks and spaces from JSON, which reduces it to a third, and omits histograms that are the sum of
    /// two others.
    pub compact: bool,
}

impl Default for DiskUse {
    /// Reserves no space, for results that are already complete.
    fn default() -> DiskUse {
        DiskUse { segment_bytes: SEGMENT_BYTES, reserve_bytes: 0, compact: false }
    }
}

const SEGMENT_BYTES: u64 = 1 << 20;
/// Disk space reserved for results per CPU and load: two histogram files, the worst wakeups twice (old and new), and a
/// share of the report.
const RESERVE_BYTES: u64 = 96 << 10;

impl Writer {
    /// Creates the directory, which must be missing or empty, and writes the initial run.
    ///
    /// If `sync` is true every checkpoint survives a power failure, at the cost of disk traffic.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; [`Error::Io`] if the directory cannot be created or the disk is full.
    pub fn create(root: &Path, run: Run, sync: bool) -> Result<Writer, Error> {
        let cells = (run.settings.cpus.len() * run.settings.loads.len()) as u64;
        let disk = DiskUse { reserve_bytes: (cells + 1) * RESERVE_BYTES, ..DiskUse::default() };
        Writer::create_in(make_empty(root)?, run, sync, disk)
    }

    /// Like [`Writer::create`], in an empty directory, within the given limits.
    pub fn create_in(dir: Dir, run: Run, sync: bool, disk: DiskUse) -> Result<Writer, Error> {
        // The lock can be held only by a reader at this moment. The run is then not marked as running.
        let _ = dir.lock(true);
        let events = dir.create_new(layout::EVENTS)?;
        for folder in [layout::SEGMENTS, layout::HIST] {
            dir.make_dir(folder)?;
        }
        // The space is reserved before the run exists: if there is not enough, no run is created.
        if disk.reserve_bytes > 0 {
            reserve(&dir, disk.reserve_bytes)?;
        }
        // From here on a reader finds a run, even after a kill. Nothing has been measured yet, so the first sync is
        // that of the first checkpoint.
        let sum = write_json(&dir, layout::RUN, &run, disk.compact, false)?;
        let segment = dir.create_new(segment_name(1))?;
        let mut writer = Writer {
            dir: dir.clone(),
            sync,
            run,
            segment,
            segment_number: 1,
            segment_bytes: 0,
            segment_limit: disk.segment_bytes,
            compact: disk.compact,
            phase_line: Vec::new(),
            results: BTreeMap::new(),
            events,
            events_pending: Vec::new(),
            events_sum: crc32fast::Hasher::new(),
            events_bytes: 0,
            maxima: Appended::new(dir, layout::MAXIMA),
            worst: Vec::new(),
            sums: BTreeMap::from([(layout::RUN.to_owned(), sum)]),
            failed: None,
        };
        writer.append(&Record::Run(Box::new(writer.run.clone())))?;
        if sync {
            writer.sync_segment()?;
            writer.dir.sync()?;
            writer.dir.sync_above();
        }
        Ok(writer)
    }

    /// Returns the run directory, for adding further files.
    pub fn dir(&self) -> &Dir {
        &self.dir
    }

    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Returns and clears the first write error, so that later errors are reported again. Callers use it to continue
    /// when space becomes available.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failed.take()
    }

    pub fn findings(&mut self, findings: &[Finding]) -> Result<(), Error> {
        self.json(layout::FINDINGS, &findings)
    }

    /// Writes the audit's findings, received from another process as a JSON list of [`Finding`].
    pub fn findings_text(&mut self, text: &[u8]) -> Result<(), Error> {
        let sum = files::replace(&self.dir, layout::FINDINGS, text, self.sync)?;
        self.sums.insert(layout::FINDINGS.into(), sum);
        Ok(())
    }

    pub fn suite(&mut self, suite: &Suite) -> Result<(), Error> {
        self.json(layout::SUITE, suite)
    }

    pub fn application(&mut self, application: &Application) -> Result<(), Error> {
        self.json(layout::APPLICATION, application)
    }

    pub fn experiment(&mut self, experiment: &Experiment) -> Result<(), Error> {
        self.json(layout::EXPERIMENT, experiment)
    }

    /// Writes facts about the machine to `machine/<name>.json`.
    pub fn machine<T: Serialize>(&mut self, name: &str, facts: &T) -> Result<(), Error> {
        self.dir.make_dir("machine")?;
        self.json(&format!("machine/{name}.json"), facts)
    }

    /// Saves the start of a phase. A write error is stored in [`Writer::failure`]; measuring continues.
    pub fn phase_started(&mut self, phase: &Phase) {
        let result = self.append(&Record::Phase(Box::new(phase.clone()))).map(|line| self.phase_line = line);
        self.note(result);
    }

    /// Buffers an event until the next [`Writer::flush`].
    pub fn event(&mut self, event: &Event) {
        match layout::event_line(event) {
            Ok(line) => self.events_pending.extend(line),
            Err(e) => self.failed = Some(format!("an event cannot be written as JSON: {e}")),
        }
    }

    /// Appends the maxima of finished blocks. A write error is stored in [`Writer::failure`]; measuring continues.
    pub fn maxima(&mut self, maxima: &[BlockMaximum]) {
        if !maxima.is_empty() {
            let result = self.maxima.append(&lines(maxima), self.sync);
            self.note(result);
        }
    }

    /// Saves the results of a CPU so far. A write error is stored in [`Writer::failure`]; measuring continues.
    pub fn progress(&mut self, progress: Progress) {
        let cpu = progress.cpu;
        let result =
            self.append(&Record::Progress(Box::new(progress))).map(|line| drop(self.results.insert(cpu, line)));
        self.note(result);
    }

    pub fn flush(&mut self) {
        let result = self.try_flush();
        self.note(result);
    }

    fn note(&mut self, result: Result<(), Error>) {
        if let Err(e) = result
            && self.failed.is_none()
        {
            self.failed = Some(e.to_string());
        }
    }

    fn try_flush(&mut self) -> Result<(), Error> {
        let path = self.dir.path().join(layout::EVENTS);
        append_whole(&mut self.events, self.events_bytes, &self.events_pending).map_err(Error::io("write", path))?;
        self.events_sum.update(&self.events_pending);
        self.events_bytes += self.events_pending.len() as u64;
        self.events_pending.clear();
        let mark = FileSum { bytes: self.events_bytes, crc32: self.events_sum.clone().finalize() };
        self.append(&Record::Events(mark))?;
        if self.sync {
            self.events.sync_data().map_err(Error::io("sync", self.dir.path().join(layout::EVENTS)))?;
            self.segment.sync_data().map_err(Error::io("sync", self.dir.path().join(layout::SEGMENTS)))?;
        }
        if self.segment_bytes > self.segment_limit { self.next_segment() } else { Ok(()) }
    }

    /// Writes the results of a finished phase, or of all its rounds so far, to files.
    ///
    /// # Errors
    /// [`Error::Io`]. Earlier checkpoints stay readable.
    pub fn phase_done(
        &mut self,
        phase: Phase,
        distributions: &[(CpuId, Distribution)],
        worst: Vec<Worst>,
    ) -> Result<(), Error> {
        if self.failed.is_some() {
            self.free_reserve();
        }
        self.dir.make_dir(Path::new(layout::HIST).join(&phase.id))?;
        for (cpu, distribution) in distributions {
            let file = HistogramFile {
                schema: layout::HIST_SCHEMA.into(),
                phase: phase.id.clone(),
                cpu: *cpu,
                raw: distribution.raw.clone(),
                skipped: distribution.skipped.clone(),
                corrected: (!self.compact).then(|| distribution.corrected()),
            };
            self.json(&hist_path(&phase.id, *cpu), &file)?;
        }
        if self.sync {
            self.dir.dir(layout::HIST)?.sync()?;
        }
        self.worst.retain(|w| w.phase != phase.id);
        self.worst.extend(worst);
        self.write_worst()?;
        match self.run.phases.iter_mut().find(|p| p.id == phase.id) {
            Some(earlier) => *earlier = phase,
            None => self.run.phases.push(phase),
        }
        self.write_run()?;
        self.phase_line.clear();
        self.results.clear();
        self.try_flush()?;
        self.next_segment()
    }

    /// Ends the run: writes the remaining files and the checksums, and removes the segments.
    ///
    /// # Errors
    /// [`Error::Io`]. Data written before stays readable.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.free_reserve();
        self.try_flush()?;
        self.write_worst()?;
        self.write_run()?;
        let events = FileSum { bytes: self.events_bytes, crc32: self.events_sum.clone().finalize() };
        self.sums.insert(layout::EVENTS.into(), events);
        self.sums.extend(self.maxima.sum().map(|sum| (layout::MAXIMA.to_owned(), sum)));
        write_manifest(&self.dir, std::mem::take(&mut self.sums), self.sync)?;
        self.dir.remove_all(layout::SEGMENTS)?;
        if self.sync { Ok(self.dir.sync()?) } else { Ok(()) }
    }

    /// Frees the space reserved for results. This has no effect on correctness if the disk is not full.
    fn free_reserve(&self) {
        let _ = self.dir.remove_file(layout::RESERVE);
    }

    fn append(&mut self, record: &Record) -> Result<Vec<u8>, Error> {
        let path = self.dir.path().join(segment_name(self.segment_number));
        let line = segment::encode(record).map_err(|e| Error::io("write", &path)(e.into()))?;
        self.append_line(&line)?;
        Ok(line)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<(), Error> {
        let path = self.dir.path().join(segment_name(self.segment_number));
        append_whole(&mut self.segment, self.segment_bytes, line).map_err(Error::io("write", path))?;
        self.segment_bytes += line.len() as u64;
        Ok(())
    }

    /// Starts a segment with all results so far, then removes the previous one.
    fn next_segment(&mut self) -> Result<(), Error> {
        let old = segment_name(self.segment_number);
        let name = segment_name(self.segment_number + 1);
        self.segment = self.dir.create_new(&name)?;
        self.segment_number += 1;
        self.segment_bytes = 0;
        self.append(&Record::Run(Box::new(self.run.clone())))?;
        let lines: Vec<Vec<u8>> = std::iter::once(&self.phase_line).chain(self.results.values()).cloned().collect();
        for line in lines {
            self.append_line(&line)?;
        }
        let mark = FileSum { bytes: self.events_bytes, crc32: self.events_sum.clone().finalize() };
        self.append(&Record::Events(mark))?;
        if self.sync {
            self.sync_segment()?;
        }
        Ok(self.dir.remove_file(old)?)
    }

    /// Syncs the segment and its directory entry.
    fn sync_segment(&self) -> Result<(), Error> {
        let path = self.dir.path().join(segment_name(self.segment_number));
        self.segment.sync_all().map_err(Error::io("sync", path))?;
        Ok(self.dir.dir(layout::SEGMENTS)?.sync()?)
    }

    fn write_worst(&mut self) -> Result<(), Error> {
        let lines = worst_lines(&mut self.worst);
        let sum = files::replace(&self.dir, layout::WORST, &lines, self.sync)?;
        self.sums.insert(layout::WORST.into(), sum);
        Ok(())
    }

    fn write_run(&mut self) -> Result<(), Error> {
        let run = self.run.clone();
        self.json(layout::RUN, &run)
    }

    fn json<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        let sum = write_json(&self.dir, name, value, self.compact, self.sync)?;
        self.sums.insert(name.to_owned(), sum);
        Ok(())
    }
}

fn write_json<T: Serialize>(dir: &Dir, name: &str, value: &T, compact: bool, sync: bool) -> Result<FileSum, Error> {
    let text = if compact { serde_json::to_vec(value).map_err(Into::into) } else { pretty(value) };
    files::replace(dir, name, &text.map_err(Error::io("write", dir.path().join(name)))?, sync)
}

fn segment_name(number: u32) -> String {
    format!("{}/{number:06}.log", layout::SEGMENTS)
}

pub(crate) fn make_empty(root: &Path) -> Result<Dir, Error> {
    let dir = Dir::create(root, Whose::Results).map_err(Error::refused)?;
    if dir.entries()?.is_empty() { Ok(dir) } else { Err(Error::NotEmpty(root.to_owned())) }
}

fn reserve(dir: &Dir, bytes: u64) -> Result<(), Error> {
    let file = dir.create_new(layout::RESERVE)?;
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        // The file system does not support reservations, so no space is guaranteed.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(errno) => Err(Error::io("reserve space at", dir.path().join(layout::RESERVE))(errno.into())),
    }
}
