//! Reads a run that is finished, still running, or was killed at any time.

use crate::Error;
use crate::brief;
use crate::events::{self, Detail};
use crate::files;
use crate::layout::{self, FileSum, HistogramFile, Manifest, Progress, Record, hist_path};
use crate::segment;
use punctual_directory::Dir;
use punctual_model::{
    BlockMaximum, Capture, CpuResult, Distribution, EndedBy, Experiment, Explained, Finding, Kind, Phase, Problem,
    ProblemKind, Recording, Run, Tuned, Worst,
};
use punctual_units::{Arrange, CpuId};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// Size limit of a file, which prevents a sparse file from exhausting the memory.
const LARGEST: u64 = 1 << 30;

/// Reads a run directory. Damaged data is skipped and named in [`Recording::damage`].
///
/// # Errors
/// [`Error::NoRun`], [`Error::Format`], [`Error::Damaged`] if nothing usable is left, [`Error::Io`].
pub fn read(root: &Path) -> Result<Recording, Error> {
    read_dir(&opened(root)?)
}

/// Like [`read`], for a directory that is already open. It also reads a run whose path has been moved or replaced since
/// it was written.
pub fn read_dir(dir: &Dir) -> Result<Recording, Error> {
    read_as(dir, Detail::Whole)
}

/// Like [`read`], but several times as fast for a run of days. The contexts in [`Recording::events`] have only time,
/// temperatures and throttling.
pub fn read_brief(root: &Path) -> Result<Recording, Error> {
    read_as(&opened(root)?, Detail::Brief)
}

fn opened(root: &Path) -> Result<Dir, Error> {
    Dir::open(root).map_err(|e| Error::no_run(e, root))
}

fn read_as(dir: &Dir, detail: Detail) -> Result<Recording, Error> {
    let mut damage = Vec::new();
    let manifest = read_manifest(dir, &mut damage);
    let segments = match manifest {
        Some(_) => Segments::default(),
        None => Segments::read(dir, &mut damage),
    };
    let mut run = read_run(dir, manifest.as_ref(), &segments, &mut damage)?;
    let newer = newer(&run);
    if run.kind == Kind::Unknown {
        damage.push(format!("run.json: unknown kind of run{newer}: its results are not shown"));
    }
    run.phases.retain(|phase| {
        let is_id = layout::is_phase_id(&phase.id);
        if !is_id {
            damage.push(format!("run.json: {:?} is not a valid phase ID; skipped", phase.id));
        }
        is_id
    });
    let mut recording = Recording { damage, ..Recording::new(run) };
    let check = |name: &str| manifest.as_ref().and_then(|m| m.files.get(name).copied());
    read_distributions(&mut recording, dir, &check);
    read_lists(&mut recording, dir, &check, segments.events, detail);
    crate::bench_reader::read_bench(&mut recording, dir, check(layout::BENCH));
    if manifest.is_none() {
        add_running(&mut recording, dir, segments);
    }
    if !newer.is_empty() {
        // Data that could not be read may be new in that version.
        for what in recording.damage.iter_mut().filter(|what| what.ends_with(LEFT_OUT)) {
            what.push_str(&newer);
        }
    }
    recording.worst.arrange_by(|a, b| b.latency_ns.cmp(&a.latency_ns).then(a.release_mono_ns.cmp(&b.release_mono_ns)));
    Ok(recording)
}

/// End of a damage message about data that was skipped.
const LEFT_OUT: &str = "skipped";

/// Returns a note for a run of a later minor version, which may contain kinds that are unknown here; empty if the run
/// is not of a later version.
fn newer(run: &Run) -> String {
    let minor = |version: &str| version.rsplit_once('.').and_then(|(_, minor)| minor.parse::<u64>().ok());
    match minor(&run.schema_version) > minor(punctual_model::RUN_SCHEMA_VERSION) {
        true => format!(
            " (the run has version {}, this program {})",
            run.schema_version,
            punctual_model::RUN_SCHEMA_VERSION
        ),
        false => String::new(),
    }
}

fn read_manifest(dir: &Dir, damage: &mut Vec<String>) -> Option<Manifest> {
    let content = files::read(dir, layout::MANIFEST, LARGEST).ok()?;
    match serde_json::from_slice(&content) {
        Ok(manifest) => Some(manifest),
        Err(e) => {
            damage.push(format!("manifest.json cannot be read ({e}): checksums are not verified"));
            None
        }
    }
}

fn read_run(
    dir: &Dir,
    manifest: Option<&Manifest>,
    segments: &Segments,
    damage: &mut Vec<String>,
) -> Result<Run, Error> {
    let path = dir.path().join(layout::RUN);
    let content = match files::read(dir, layout::RUN, LARGEST) {
        Ok(content) => content,
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return segments.run.clone().ok_or_else(|| Error::NoRun(dir.path().to_owned()));
        }
        Err(e) => return Err(e),
    };
    if let Some(sum) = manifest.and_then(|m| m.files.get(layout::RUN))
        && files::sum(&content) != *sum
    {
        damage.push("run.json was changed after the run: checksum mismatch".into());
    }
    check_format(&path, &content)?;
    match serde_json::from_slice(&content) {
        Ok(run) => Ok(run),
        Err(e) => match &segments.run {
            Some(run) => {
                damage.push(format!("run.json cannot be read ({e}): the last checkpoint is used instead"));
                Ok(run.clone())
            }
            None => Err(Error::Damaged { path, why: e.to_string() }),
        },
    }
}

/// Rejects another major version before anything else is read.
fn check_format(path: &Path, content: &[u8]) -> Result<(), Error> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    match serde_json::from_slice::<Head>(content) {
        Ok(head) if head.schema != punctual_model::RUN_SCHEMA => {
            Err(Error::Format { path: path.to_owned(), found: head.schema })
        }
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Segments {
    run: Option<Run>,
    phase: Option<Phase>,
    progress: BTreeMap<(String, CpuId), Progress>,
    events: Option<FileSum>,
}

impl Segments {
    fn read(dir: &Dir, damage: &mut Vec<String>) -> Segments {
        let mut all = Segments::default();
        for name in names(dir, layout::SEGMENTS, "log") {
            match files::read(dir, &name, LARGEST) {
                Ok(content) => {
                    let (records, torn) = segment::decode(&content);
                    damage.extend(torn.map(|what| format!("{}: {what}", dir.path().join(&name).display())));
                    records.into_iter().for_each(|record| all.take(record));
                }
                Err(e) => damage.push(e.to_string()),
            }
        }
        all
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Run(run) => self.run = Some(*run),
            Record::Phase(phase) => self.phase = Some(*phase).filter(|phase| layout::is_phase_id(&phase.id)),
            Record::Progress(p) => {
                self.progress.insert((p.phase.clone(), p.cpu), *p);
            }
            Record::Events(mark) => self.events = Some(mark),
        }
    }
}

fn read_distributions(recording: &mut Recording, dir: &Dir, check: &dyn Fn(&str) -> Option<FileSum>) {
    for phase in recording.run.phases.clone() {
        for cpu in phase.cpus.iter().map(|c| c.cpu) {
            let name = hist_path(&phase.id, cpu);
            match checked(dir, &name, check(&name)).and_then(|content| parse::<HistogramFile>(&name, &content)) {
                Ok(file) => {
                    let both = Distribution { raw: file.raw, skipped: file.skipped };
                    recording.distributions.insert((phase.id.clone(), cpu), both);
                }
                Err(what) => recording.damage.push(what),
            }
        }
    }
}

fn read_lists(
    recording: &mut Recording,
    dir: &Dir,
    check: &dyn Fn(&str) -> Option<FileSum>,
    events: Option<FileSum>,
    detail: Detail,
) {
    match files::read(dir, layout::FINDINGS, LARGEST) {
        Ok(content) => match parse::<Vec<Finding>>(layout::FINDINGS, &content) {
            Ok(findings) => recording.findings = findings,
            Err(what) => recording.damage.push(what),
        },
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        Err(e) => recording.damage.push(e.to_string()),
    }
    match files::read(dir, layout::TUNE, LARGEST) {
        Ok(content) => match parse::<Tuned>(layout::TUNE, &content) {
            Ok(tuned) => recording.tuned = Some(tuned),
            Err(what) => recording.damage.push(what),
        },
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {}
        Err(e) => recording.damage.push(e.to_string()),
    }
    read_whole(recording, dir, check);
    if !recording.run.phases.is_empty() {
        match checked(dir, layout::WORST, check(layout::WORST)) {
            Ok(content) => recording.worst = json_lines::<Worst>(layout::WORST, &content, &mut recording.damage),
            Err(what) => recording.damage.push(what),
        }
    }
    read_causes(recording, dir, check);
    read_maxima(recording, dir, check);
    // A benchmark stores its conditions in a separate file.
    if recording.run.kind == Kind::Bench {
        return;
    }
    let mark = check(layout::EVENTS).or(events);
    if let (Some(mark), Detail::Brief) = (mark, detail)
        && let Some(events) = brief::events(dir, mark, LARGEST)
    {
        recording.events = events;
        return;
    }
    match files::read(dir, layout::EVENTS, LARGEST) {
        Ok(mut content) => {
            if let Some(mark) = mark {
                content.truncate(usize::try_from(mark.bytes).unwrap_or(usize::MAX));
                if files::sum(&content) != mark {
                    recording.damage.push("events.jsonl: checksum mismatch".into());
                }
            } else {
                content.clear();
            }
            let parse = |line: &[u8]| events::event(line, detail);
            recording.events = lines(layout::EVENTS, &content, &mut recording.damage, parse);
        }
        Err(e) => recording.damage.push(e.to_string()),
    }
}

fn read_whole(recording: &mut Recording, dir: &Dir, check: &dyn Fn(&str) -> Option<FileSum>) {
    match recording.run.kind {
        Kind::Events => recording.suite = read_one(layout::SUITE, dir, check, &mut recording.damage),
        Kind::Sched => {
            let experiment: Option<Experiment> = read_one(layout::EXPERIMENT, dir, check, &mut recording.damage);
            recording.experiment = experiment.map(Experiment::comparable);
        }
        Kind::Latency if check(layout::APPLICATION).is_some() => {
            recording.application = read_one(layout::APPLICATION, dir, check, &mut recording.damage);
        }
        // Without the file, a benchmark's results are in its log.
        Kind::Bench | Kind::Latency | Kind::Imported | Kind::Unknown => {}
    }
}

fn read_one<T: DeserializeOwned>(
    name: &str,
    dir: &Dir,
    check: &dyn Fn(&str) -> Option<FileSum>,
    damage: &mut Vec<String>,
) -> Option<T> {
    let read = checked(dir, name, check(name)).and_then(|content| parse::<T>(name, &content));
    read.map_err(|what| damage.push(what)).ok()
}

/// Reads the maxima of blocks. A short run, or one without a context thread, has none.
fn read_maxima(recording: &mut Recording, dir: &Dir, check: &dyn Fn(&str) -> Option<FileSum>) {
    if check(layout::MAXIMA).is_none() && !matches!(dir.kind(layout::MAXIMA), Ok(Some(_))) {
        return;
    }
    match checked(dir, layout::MAXIMA, check(layout::MAXIMA)) {
        Ok(content) => {
            recording.maxima = json_lines::<BlockMaximum>(layout::MAXIMA, &content, &mut recording.damage);
            recording.maxima.arrange_by_key(|block| block.from_mono_ns);
        }
        Err(what) => recording.damage.push(what),
    }
}

fn read_causes(recording: &mut Recording, dir: &Dir, check: &dyn Fn(&str) -> Option<FileSum>) {
    for name in names(dir, layout::TRACES, "json") {
        match checked(dir, &name, check(&name)).and_then(|content| parse::<Capture>(&name, &content)) {
            // Run directories are untrusted, so a note may refer only to the trace beside it.
            Ok(capture) if layout::capture_note(&capture.file) == name => recording.captures.push(capture),
            Ok(_) => recording.damage.push(format!("{name}: does not belong to the trace beside it; skipped")),
            Err(what) => recording.damage.push(what),
        }
    }
    recording.captures.arrange_by_key(|capture| capture.from_mono_ns);
    if check(layout::CAUSES).is_some() {
        match checked(dir, layout::CAUSES, check(layout::CAUSES)) {
            Ok(content) => {
                recording.explained = json_lines::<Explained>(layout::CAUSES, &content, &mut recording.damage);
            }
            Err(what) => recording.damage.push(what),
        }
    }
}

/// Adds the contents of the segments of an unfinished run: its last phase, and how the run ended.
fn add_running(recording: &mut Recording, dir: &Dir, segments: Segments) {
    recording.run.complete = false;
    if is_locked(dir) {
        recording.damage.push("the run is still being measured: these are its results so far".into());
    } else if recording.run.ended_by.is_none() {
        recording.run.ended_by = Some(EndedBy::Killed);
    }
    let Some(mut phase) = segments.phase else { return };
    let place = recording.run.phases.iter().position(|p| p.id == phase.id);
    if let Some(earlier) = place.and_then(|at| recording.run.phases.get(at)) {
        // A phase measured in rounds may already have earlier rounds. A complete phase is not running.
        if earlier.rounds.len() >= phase.rounds.len() {
            return;
        }
        continue_from(&mut phase, earlier);
    }
    phase.problems.push(Problem {
        kind: ProblemKind::Interrupted,
        text: "the run ended during this phase: its results are those of the last checkpoint".into(),
    });
    let in_segments = |cpu: CpuId| segments.progress.contains_key(&(phase.id.clone(), cpu));
    // If the run was killed while the phase's results were being written, some of them have been read already.
    recording.worst.retain(|w| w.phase != phase.id || (place.is_some() && !in_segments(w.cpu)));
    for ((id, cpu), progress) in segments.progress.into_iter().filter(|((id, _), _)| *id == phase.id) {
        if let Some(result) = phase.cpus.iter_mut().find(|c| c.cpu == cpu) {
            fill(result, &progress);
        }
        recording.worst.extend(progress.worst);
        recording.distributions.insert((id, cpu), Distribution { raw: progress.raw, skipped: progress.skipped });
    }
    phase.cpus.retain(|c| recording.distributions.contains_key(&(phase.id.clone(), c.cpu)));
    match place.and_then(|at| recording.run.phases.get_mut(at)) {
        Some(earlier) => *earlier = phase,
        None => recording.run.phases.push(phase),
    }
}

/// Adds the results of earlier rounds. The results saved for the running round include them.
fn continue_from(phase: &mut Phase, earlier: &Phase) {
    for result in &mut phase.cpus {
        if let Some(before) = earlier.cpus.iter().find(|c| c.cpu == result.cpu) {
            *result = before.clone();
        }
    }
    phase.load_report = earlier.load_report.clone();
    phase.traced = earlier.traced.clone();
    phase.problems.extend(earlier.problems.iter().cloned());
}

fn fill(result: &mut CpuResult, progress: &Progress) {
    result.ran = progress.raw.count();
    result.skipped = Some(progress.skipped.count());
    result.released = result.ran.checked_add(progress.skipped.count());
    result.min_ns = progress.raw.min();
    result.max_ns = progress.raw.max();
    result.mean_ns = progress.raw.mean();
    result.episodes = progress.episodes.clone();
}

/// Opens a separate descriptor, because a lock belongs to the open file description (flock(2)).
fn is_locked(dir: &Dir) -> bool {
    dir.dir(".").and_then(|own| own.lock(false)).is_ok_and(|free| !free)
}

/// Returns the files with this extension in a directory of the run, as sorted paths relative to the run directory.
fn names(dir: &Dir, folder: &str, extension: &str) -> Vec<String> {
    let entries = dir.dir(folder).and_then(|folder| folder.entries()).unwrap_or_default();
    let names = entries.into_iter().filter_map(|(name, _)| name.into_os_string().into_string().ok());
    let wanted = names.filter(|name| Path::new(name).extension().is_some_and(|e| e == extension));
    wanted.map(|name| format!("{folder}/{name}")).collect()
}

fn checked(dir: &Dir, name: &str, sum: Option<FileSum>) -> Result<Vec<u8>, String> {
    let content = files::read(dir, name, LARGEST).map_err(|e| e.to_string())?;
    match sum {
        Some(sum) if files::sum(&content) != sum => Err(format!("{name}: checksum mismatch; skipped")),
        _ => Ok(content),
    }
}

fn parse<T: DeserializeOwned>(name: &str, content: &[u8]) -> Result<T, String> {
    serde_json::from_slice(content).map_err(|e| format!("{name}: {e}; skipped"))
}

fn json_lines<T: DeserializeOwned>(name: &str, content: &[u8], damage: &mut Vec<String>) -> Vec<T> {
    lines(name, content, damage, |line| serde_json::from_slice(line))
}

fn lines<T>(
    name: &str,
    content: &[u8],
    damage: &mut Vec<String>,
    parse: impl Fn(&[u8]) -> Result<T, serde_json::Error>,
) -> Vec<T> {
    let mut bad = 0;
    let lines = content.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let values = lines.filter_map(|line| parse(line).map_err(|_| bad += 1).ok()).collect();
    if bad > 0 {
        damage.push(format!("{name}: {bad} unreadable lines; skipped"));
    }
    values
}
