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

/// A run directory being written; locked (flock(2)) while this lives, which tells readers that it is unfinished.
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
    /// Lines of the running phase with which a new segment must begin: the phase, and the last results of each CPU.
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

/// Disk space of a run while it is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Size at which a segment of checkpoints is replaced by a new one.
    pub segment_bytes: u64,
    /// Disk space reserved for the results in case the disk fills up; 0: none.
    pub reserve_bytes: u64,
    /// JSON without line breaks and spaces, a third of the size, and without histograms that are the sum of two others.
    pub compact: bool,
}

const SEGMENT_BYTES: u64 = 1 << 20;
/// Disk space reserved for results per CPU and load: two files of bins, the worst wakeups twice (old and new), and
/// their share of the report.
const RESERVE_BYTES: u64 = 96 << 10;

impl Writer {
    /// Creates the directory (which must be missing or empty) and writes the initial run.
    ///
    /// With `sync` every checkpoint survives a power cut, at the cost of disk traffic.
    ///
    /// # Errors
    /// [`Error::NotEmpty`]; [`Error::Io`] if the directory cannot be created or the disk is full.
    pub fn create(root: &Path, run: Run, sync: bool) -> Result<Writer, Error> {
        let cells = (run.settings.cpus.len() * run.settings.loads.len()) as u64;
        let room = Room { segment_bytes: SEGMENT_BYTES, reserve_bytes: (cells + 1) * RESERVE_BYTES, compact: false };
        Writer::create_in(root, run, sync, room)
    }

    /// As [`Writer::create`], within the given space.
    pub fn create_in(root: &Path, run: Run, sync: bool, room: Room) -> Result<Writer, Error> {
        make_empty_folder(root)?;
        let lock = File::open(root).map_err(Error::io("open", root))?;
        // Only a reader running at this instant can hold the lock; then the run is merely not marked as running.
        let _ = rustix::fs::flock(&lock, rustix::fs::FlockOperation::NonBlockingLockExclusive);
        let events = files::create_new(&root.join(layout::EVENTS))?;
        // From here on a reader finds a run, even after a kill. Nothing has been measured yet; the first sync comes
        // with the first checkpoint.
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

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn run_mut(&mut self) -> &mut Run {
        &mut self.run
    }

    pub fn failure(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// Takes the first failed write, so that later ones are reported again. For callers that continue once there is
    /// space.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failed.take()
    }

    pub fn findings(&mut self, findings: &[Finding]) -> Result<(), Error> {
        self.json(layout::FINDINGS, &findings)
    }

    /// The audit's findings as another process wrote them: a JSON list of [`Finding`].
    pub fn findings_text(&mut self, text: &[u8]) -> Result<(), Error> {
        let sum = files::replace(&self.root.join(layout::FINDINGS), text, self.sync)?;
        self.sums.insert(layout::FINDINGS.into(), sum);
        Ok(())
    }

    pub fn suite(&mut self, suite: &Suite) -> Result<(), Error> {
        self.json(layout::SUITE, suite)
    }

    pub fn experiment(&mut self, experiment: &Experiment) -> Result<(), Error> {
        self.json(layout::EXPERIMENT, experiment)
    }

    /// Writes facts about the machine to `machine/<name>.json`.
    pub fn machine<T: Serialize>(&mut self, name: &str, facts: &T) -> Result<(), Error> {
        let folder = self.root.join("machine");
        fs::create_dir_all(&folder).map_err(Error::io("create", folder))?;
        self.json(&format!("machine/{name}.json"), facts)
    }

    /// A failed write is kept in [`Writer::failure`]; measuring continues.
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

    /// Appends the maxima of finished blocks. A failed write is kept in [`Writer::failure`]; measuring continues.
    pub fn maxima(&mut self, maxima: &[BlockMaximum]) {
        if !maxima.is_empty() {
            let result = self.maxima.append(&lines(maxima), self.sync);
            self.note(result);
        }
    }

    /// Saves the results so far of a CPU. A failed write is kept in [`Writer::failure`]; measuring continues.
    pub fn progress(&mut self, progress: Progress) {
        let cpu = progress.cpu;
        let result = self.append(&Record::Progress(progress)).map(|line| drop(self.latest.insert(cpu, line)));
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

    /// Writes the results of a finished phase, or of all its rounds so far, to files.
    ///
    /// # Errors
    /// [`Error::Io`]; earlier checkpoints stay readable.
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

    /// Ends the run: writes the rest and the checksums, and removes the segments.
    ///
    /// # Errors
    /// [`Error::Io`]; everything written before stays readable.
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

    /// Frees the space reserved for results; harmless if the disk is not full.
    fn free_reserve(&self) {
        let _ = fs::remove_file(self.root.join(layout::RESERVE));
    }

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

    /// Starts a segment with everything known so far, then removes the preceding one.
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
        // The file system cannot reserve space: nothing is guaranteed then.
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => Ok(()),
        Err(errno) => Err(Error::io("reserve space at", path)(errno.into())),
    }
}
