//! Writing a run while it is measured.

use crate::Error;
use crate::appended::{Appended, append_whole};
use crate::files;
use crate::finished::write_manifest;
pub use crate::layout::Progress;
use crate::layout::{self, FileSum, HistogramFile, Record, hist_path};
use crate::segment;
use crate::text::{lines, pretty, worst_lines};
use punctual_model::{BlockMaximum, Distribution, Event, Experiment, Finding, Phase, Run, Suite, Worst};
use punctual_units::CpuId;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A run directory being written. Locked (flock(2)) as long as this lives, so that a reader knows it is not finished.
pub struct Writer {
    root: PathBuf,
    _lock: File,
    sync: bool,
    run: Run,
    segment: File,
    segment_number: u32,
    segment_bytes: u64,
    segment_limit: u64,
    compact: bool,
    /// Lines of the running phase that a new segment must begin with: the phase, and each CPU's latest results.
    phase_line: Vec<u8>,
    latest: BTreeMap<CpuId, Vec<u8>>,
    events: File,
    events_pending: Vec<u8>,
    events_sum: crc32fast::Hasher,
    events_bytes: u64,
    maxima: Appended,
    worst: Vec<Worst>,
    sums: BTreeMap<String, FileSum>,
    failed: Option<String>,
}

/// How much room a run takes while it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// A segment of checkpoints is followed by a new one, and removed, when it is this large.
    pub segment_bytes: u64,
    /// Disk space kept for the results in case the disk fills up meanwhile; 0: none.
    pub reserve_bytes: u64,
    /// JSON without line breaks and blanks, a third of the size, and without histograms that are the sum of two others.
    pub compact: bool,
}

/// A segment is followed by a new one when it is this large; the old one, superseded, is removed.
const SEGMENT_BYTES: u64 = 1 << 20;
/// Disk space kept for the results of a run whose disk fills up meanwhile, for each CPU and load: two files of bins, the
/// worst wakeups twice (old and new), and their share of the report.
const RESERVE_BYTES: u64 = 96 << 10;

impl Writer {
    /// Makes the folder (which must not exist, or be empty) and writes the run as it begins.
    ///
    /// `sync` makes every checkpoint survive a power cut, at the price of the disk traffic that costs.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; [`Error::Io`] where the folder cannot be made or the disk is full.
    pub fn create(root: &Path, run: Run, sync: bool) -> Result<Writer, Error> {
        let cells = (run.settings.cpus.len() * run.settings.loads.len()) as u64;
        let room = Room { segment_bytes: SEGMENT_BYTES, reserve_bytes: (cells + 1) * RESERVE_BYTES, compact: false };
        Writer::create_in(root, run, sync, room)
    }

    /// As [`Writer::create`], in as much room as is told.
    ///
    /// # Errors
    /// As [`Writer::create`].
    pub fn create_in(root: &Path, run: Run, sync: bool, room: Room) -> Result<Writer, Error> {
        make_empty_folder(root)?;
        let lock = File::open(root).map_err(Error::io("open", root))?;
        // Only a reader that runs at this very instant could hold it; then the run is merely not marked as running.
        let _ = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        let events = files::create_new(&root.join(layout::EVENTS))?;
        // From here on a reader finds a run, killed at whatever instant. Nothing is measured yet, so nothing is lost: the
        // first sync comes with the first checkpoint.
        let sum = write_json(&root.join(layout::RUN), &run, room.compact, false)?;
        for folder in [layout::SEGMENTS, layout::HIST] {
            let path = root.join(folder);
            fs::create_dir(&path).map_err(Error::io("create", path))?;
        }
        if room.reserve_bytes > 0 {
            reserve(&root.join(layout::RESERVE), room.reserve_bytes)?;
        }
        let segment = files::create_new(&segment_path(root, 1))?;
        let mut writer = Writer {
            root: root.to_owned(),
            _lock: lock,
            sync,
            run,
            segment,
            segment_number: 1,
            segment_bytes: 0,
            segment_limit: room.segment_bytes,
            compact: room.compact,
            phase_line: Vec::new(),
            latest: BTreeMap::new(),
            events,
            events_pending: Vec::new(),
            events_sum: crc32fast::Hasher::new(),
            events_bytes: 0,
            maxima: Appended::new(root.join(layout::MAXIMA)),
            worst: Vec::new(),
            sums: BTreeMap::from([(layout::RUN.to_owned(), sum)]),
            failed: None,
        };
        writer.append(&Record::Run(Box::new(writer.run.clone())))?;
        Ok(writer)
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The run as it will be written.
    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    /// The first thing that could not be written while a phase ran, if any.
    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// The first thing that could not be written since this was last asked; what follows is told again. For who goes on when
    /// there is room again.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failed.take()
    }

    /// The audit's findings.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn findings(&mut self, findings: &[Finding]) -> Result<(), Error> {
        self.json(layout::FINDINGS, &findings)
    }

    /// The audit's findings as another process wrote them: a JSON list of [`Finding`].
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn findings_text(&mut self, text: &[u8]) -> Result<(), Error> {
        let sum = files::replace(&self.root.join(layout::FINDINGS), text, self.sync)?;
        self.sums.insert(layout::FINDINGS.into(), sum);
        Ok(())
    }

    /// What the event suite has found so far.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn suite(&mut self, suite: &Suite) -> Result<(), Error> {
        self.json(layout::SUITE, suite)
    }

    /// What a scheduling experiment has measured so far.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn experiment(&mut self, experiment: &Experiment) -> Result<(), Error> {
        self.json(layout::EXPERIMENT, experiment)
    }

    /// Facts of the machine: `machine/<name>.json`.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn machine<T: Serialize>(&mut self, name: &str, facts: &T) -> Result<(), Error> {
        let folder = self.root.join("machine");
        fs::create_dir_all(&folder).map_err(Error::io("create", folder))?;
        self.json(&format!("machine/{name}.json"), facts)
    }

    /// A phase begins. What cannot be written is remembered in [`Writer::failure`]; measuring goes on.
    pub fn phase_started(&mut self, phase: &Phase) {
        let result = self.append(&Record::Phase(Box::new(phase.clone()))).map(|line| self.phase_line = line);
        self.note(result);
    }

    /// Takes an event; written at the next [`Writer::flush`].
    pub fn event(&mut self, event: &Event) {
        match layout::event_line(event) {
            Ok(line) => self.events_pending.extend(line),
            Err(e) => self.failed = Some(format!("an event cannot be written as JSON: {e}")),
        }
    }

    /// Appends the maxima of blocks that are over. What cannot be written is remembered in [`Writer::failure`]; measuring goes
    /// on.
    pub fn maxima(&mut self, maxima: &[BlockMaximum]) {
        if !maxima.is_empty() {
            let result = self.maxima.append(&lines(maxima), self.sync);
            self.note(result);
        }
    }

    /// Takes results so far of one CPU. What cannot be written is remembered in [`Writer::failure`]; measuring goes on.
    pub fn progress(&mut self, progress: Progress) {
        let cpu = progress.cpu;
        let result = self.append(&Record::Progress(progress)).map(|line| drop(self.latest.insert(cpu, line)));
        self.note(result);
    }

    /// Writes what was taken, and syncs it where asked.
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
        let path = self.root.join(layout::EVENTS);
        append_whole(&mut self.events, self.events_bytes, &self.events_pending).map_err(Error::io("write", path))?;
        self.events_sum.update(&self.events_pending);
        self.events_bytes += self.events_pending.len() as u64;
        self.events_pending.clear();
        let mark = FileSum { bytes: self.events_bytes, crc32: self.events_sum.clone().finalize() };
        self.append(&Record::Events(mark))?;
        if self.sync {
            self.events.sync_data().map_err(Error::io("sync", self.root.join(layout::EVENTS)))?;
            self.segment.sync_data().map_err(Error::io("sync", self.root.join(layout::SEGMENTS)))?;
        }
        if self.segment_bytes > self.segment_limit { self.next_segment() } else { Ok(()) }
    }

    /// A phase, or a round of it, has ended: its results, those of all rounds so far, become files.
    ///
    /// # Errors
    /// [`Error::Io`]; what was checkpointed before stays readable.
    pub fn phase_done(
        &mut self,
        phase: Phase,
        distributions: &[(CpuId, Distribution)],
        worst: Vec<Worst>,
    ) -> Result<(), Error> {
        if self.failed.is_some() {
            self.free_reserve();
        }
        let folder = self.root.join(layout::HIST).join(&phase.id);
        fs::create_dir_all(&folder).map_err(Error::io("create", folder))?;
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
        self.worst.retain(|w| w.phase != phase.id);
        self.worst.extend(worst);
        self.write_worst()?;
        match self.run.phases.iter_mut().find(|p| p.id == phase.id) {
            Some(earlier) => *earlier = phase,
            None => self.run.phases.push(phase),
        }
        self.write_run()?;
        self.phase_line.clear();
        self.latest.clear();
        self.try_flush()?;
        self.next_segment()
    }

    /// Everything is measured: writes the rest, the checksums, and removes the segments. The last call.
    ///
    /// # Errors
    /// [`Error::Io`]; what was written before stays readable.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.free_reserve();
        self.try_flush()?;
        self.write_worst()?;
        self.write_run()?;
        let events = FileSum { bytes: self.events_bytes, crc32: self.events_sum.clone().finalize() };
        self.sums.insert(layout::EVENTS.into(), events);
        self.sums.extend(self.maxima.sum().map(|sum| (layout::MAXIMA.to_owned(), sum)));
        write_manifest(&self.root, std::mem::take(&mut self.sums), self.sync)?;
        let segments = self.root.join(layout::SEGMENTS);
        fs::remove_dir_all(&segments).map_err(Error::io("remove", segments))?;
        if self.sync { files::sync_folder(&self.root) } else { Ok(()) }
    }

    /// Gives up the space kept for the results of a run whose disk is full; on any other disk nobody misses it.
    fn free_reserve(&self) {
        let _ = fs::remove_file(self.root.join(layout::RESERVE));
    }

    /// Appends a record to the segment; returns its line.
    fn append(&mut self, record: &Record) -> Result<Vec<u8>, Error> {
        let path = segment_path(&self.root, self.segment_number);
        let line = segment::encode(record).map_err(|e| Error::io("write", &path)(e.into()))?;
        self.append_line(&line)?;
        Ok(line)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<(), Error> {
        let path = segment_path(&self.root, self.segment_number);
        append_whole(&mut self.segment, self.segment_bytes, line).map_err(Error::io("write", path))?;
        self.segment_bytes += line.len() as u64;
        Ok(())
    }

    /// Starts a segment that holds all there is to know so far, then removes the one before.
    fn next_segment(&mut self) -> Result<(), Error> {
        let old = segment_path(&self.root, self.segment_number);
        let path = segment_path(&self.root, self.segment_number + 1);
        self.segment = files::create_new(&path)?;
        self.segment_number += 1;
        self.segment_bytes = 0;
        self.append(&Record::Run(Box::new(self.run.clone())))?;
        let lines: Vec<Vec<u8>> = std::iter::once(&self.phase_line).chain(self.latest.values()).cloned().collect();
        for line in lines {
            self.append_line(&line)?;
        }
        let mark = FileSum { bytes: self.events_bytes, crc32: self.events_sum.clone().finalize() };
        self.append(&Record::Events(mark))?;
        if self.sync {
            self.segment.sync_data().map_err(Error::io("sync", path))?;
        }
        fs::remove_file(&old).map_err(Error::io("remove", old))
    }

    fn write_worst(&mut self) -> Result<(), Error> {
        let lines = worst_lines(&mut self.worst);
        let sum = files::replace(&self.root.join(layout::WORST), &lines, self.sync)?;
        self.sums.insert(layout::WORST.into(), sum);
        Ok(())
    }

    fn write_run(&mut self) -> Result<(), Error> {
        let run = self.run.clone();
        self.json(layout::RUN, &run)
    }

    fn json<T: Serialize>(&mut self, name: &str, value: &T) -> Result<(), Error> {
        let sum = write_json(&self.root.join(name), value, self.compact, self.sync)?;
        self.sums.insert(name.to_owned(), sum);
        Ok(())
    }
}

fn write_json<T: Serialize>(path: &Path, value: &T, compact: bool, sync: bool) -> Result<FileSum, Error> {
    let text = if compact { serde_json::to_vec(value).map_err(Into::into) } else { pretty(value) };
    files::replace(path, &text.map_err(|e| Error::io("write", path)(e))?, sync)
}

fn segment_path(root: &Path, number: u32) -> PathBuf {
    root.join(layout::SEGMENTS).join(format!("{number:06}.log"))
}

pub(crate) fn make_empty_folder(root: &Path) -> Result<(), Error> {
    fs::create_dir_all(root).map_err(Error::io("create", root))?;
    match fs::read_dir(root).map_err(Error::io("read", root))?.next() {
        None => Ok(()),
        Some(_) => Err(Error::NotEmpty(root.to_owned())),
    }
}

fn reserve(path: &Path, bytes: u64) -> Result<(), Error> {
    let file = files::create_new(path)?;
    match rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        // A file system that cannot reserve: nothing is promised then.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(errno) => Err(Error::io("reserve space at", path)(errno.into())),
    }
}
