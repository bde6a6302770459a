//! Reads and writes `watch.json`, locks the directory of a series, and begins or continues the series.

use crate::error::WatchError;
use crate::lines::{self, Lines};
use crate::options::Options;
use crate::own;
use punctual_directory::{Dir, Whose};
use punctual_measure::{clocks, host_name};
use punctual_model::{EndedBy, Stamp, Tool, WATCH_SCHEMA, Watch, WatchLine, WatchMaxima, WatchSettings, WatchUpsets};
use punctual_units::{CpuList, Scheduling};
use std::path::Path;

pub(crate) const STATE: &str = "watch.json";
/// Maximum size of `watch.json`, bytes. A CPU uses about a kilobyte.
const LARGEST: u64 = 16 << 20;

/// Creates the directory if necessary, and locks it. No other process can write to it while the returned [`Dir`] is
/// open.
pub(crate) fn take(out: &Path) -> Result<Dir, WatchError> {
    let dir = Dir::create(out, Whose::Results)?;
    match dir.lock(true) {
        Ok(false) => {
            let pid = read(&dir).ok().flatten().map(|watch| watch.pid);
            Err(WatchError::Locked { path: out.to_owned(), pid })
        }
        // The file system has no locks, so the user is responsible for not starting a second watch.
        _ => {
            dir.remove_stale_drafts();
            Ok(dir)
        }
    }
}

/// Returns true if the directory was removed while it is open: files can no longer be created in it.
pub(crate) fn is_removed(dir: &Dir) -> bool {
    rustix::fs::fstat(dir).is_ok_and(|stat| stat.st_nlink == 0)
}

pub(crate) fn removed(dir: &Dir) -> String {
    format!("{} was removed while the watch was running: nothing could be written since", dir.path().display())
}

/// Reads the state; `None` if there is no series.
pub(crate) fn read(out: &Dir) -> Result<Option<Watch>, WatchError> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    let path = out.path().join(STATE);
    if out.kind(STATE).is_ok_and(|kind| kind.is_none()) {
        return Ok(None);
    }
    let damaged = |why: String| WatchError::Damaged { path: path.clone(), why };
    let content = out.read(STATE, LARGEST).map_err(|e| damaged(e.to_string()))?;
    let head: Head = serde_json::from_slice(&content).map_err(|e| damaged(e.to_string()))?;
    if head.schema != WATCH_SCHEMA {
        return Err(WatchError::Format { path, found: head.schema });
    }
    serde_json::from_slice(&content).map(Some).map_err(|e| damaged(e.to_string()))
}

pub(crate) fn begin(options: &Options, scheduling: Scheduling, cpus: &CpuList) -> Watch {
    let now = clocks();
    Watch {
        schema: WATCH_SCHEMA.into(),
        schema_version: "1.0".into(),
        tool: Tool { name: "punctual".into(), version: Some(env!("CARGO_PKG_VERSION").into()) },
        host: host_name(),
        kernel: Some(rustix::system::uname().release().to_string_lossy().into_owned()),
        boot_id: own::boot_id(),
        series_started_real_ns: now.real_ns,
        started: now,
        updated: now,
        ended_by: None,
        pid: std::process::id(),
        settings: WatchSettings {
            period_ns: options.period,
            scheduling,
            cpus: cpus.clone(),
            segment_ns: options.segment,
            block_ns: options.block,
            trace_above_ns: options.trace_above,
            bytes_a_cpu_and_day: options.bytes_a_cpu_and_day,
        },
        segment: None,
        block: None,
        cpus: Vec::new(),
        maxima: WatchMaxima::default(),
        untraced: None,
        disk: Default::default(),
        cost: own::cost(),
        upsets: WatchUpsets::default(),
        application: None,
    }
}

/// Continues an earlier series in the same directory. Its maxima and counts are kept, and a line records the time that
/// was not measured. Returns notes.
///
/// # Errors
/// The format of the series is newer than this program. The series is not changed.
pub(crate) fn resume(out: &Dir, watch: &mut Watch, lines: &mut Lines) -> Result<Vec<String>, WatchError> {
    let mut notes = Vec::new();
    match lines::repair(out) {
        Ok(0) => {}
        Ok(n) => notes.push(format!("a partial line of {n} bytes was removed from {}", lines::SERIES)),
        Err(e) => return Err(WatchError::Damaged { path: out.path().join(lines::SERIES), why: e.to_string() }),
    }
    let before = match read(out) {
        Ok(before) => before,
        Err(WatchError::Damaged { path, why }) => {
            let name = "watch.damaged.json";
            out.rename(STATE, name)?;
            notes.push(format!(
                "{} could not be read ({why}) and was renamed to {}: maxima and counts start over",
                path.display(),
                out.path().join(name).display()
            ));
            None
        }
        Err(e) => return Err(e),
    };
    if let Some(before) = before {
        notes.push(continued(before, watch, lines));
    }
    Ok(notes)
}

fn continued(before: Watch, watch: &mut Watch, lines: &mut Lines) -> String {
    if let Some(block) = before.block.clone().filter(|block| block.lasts_ns > 0) {
        lines.push(&WatchLine::Block(block));
    }
    let why = match &before.ended_by {
        Some(EndedBy::Signal { name, .. }) => format!("ended by {name}"),
        Some(EndedBy::Duration) => "ended as planned".into(),
        Some(EndedBy::Error { text }) => format!("ended: {text}"),
        Some(EndedBy::Unknown) => "ended for an unknown reason".into(),
        Some(EndedBy::Killed) | None if before.boot_id != watch.boot_id => {
            "the machine was shut down or crashed".into()
        }
        Some(EndedBy::Killed) | None => "killed".into(),
    };
    let (from_real_ns, to_real_ns) = (before.updated.real_ns, watch.started.real_ns);
    lines.push(&WatchLine::Gap { from_real_ns, to_real_ns, why: why.clone() });
    watch.series_started_real_ns = before.series_started_real_ns;
    watch.cpus = before.cpus;
    for cpu in &mut watch.cpus {
        (cpu.since_start_ns, cpu.release_mono_ns) = (None, None);
    }
    format!("continuing an earlier series ({why}): {} not measured", gap(&before.updated, watch))
}

/// Formats the length of the time that was not measured. The wall clock may have been changed during it.
fn gap(before: &Stamp, watch: &Watch) -> String {
    match watch.started.real_ns.checked_sub(before.real_ns) {
        Some(ns) => punctual_units::Nanos(ns).to_string(),
        None => "an unknown time (the wall clock was set back)".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::{WatchBlock, WatchCpu};
    use punctual_units::{CpuId, Nanos};
    use std::fs;

    fn watch() -> Watch {
        let options = crate::tests::options(Path::new("/nowhere"));
        begin(&options, Scheduling::Other { nice: 0 }, &CpuList::from_iter([CpuId(0)]))
    }

    fn written(watch: &Watch) -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(STATE), serde_json::to_vec(watch).unwrap()).unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        (folder, dir)
    }

    #[test]
    fn a_killed_series_is_continued_with_its_block_and_the_gap() {
        let mut before = watch();
        before.block = Some(WatchBlock { from_real_ns: 5, lasts_ns: 7, max_ns: vec![(CpuId(0), Some(9))] });
        before.cpus.push(WatchCpu {
            cpu: CpuId(0),
            ever: None,
            since_start_ns: Some(3),
            released: 5,
            ran: 4,
            skipped: 1,
            release_mono_ns: Some(1),
        });
        before.series_started_real_ns = 77;
        let (folder, dir) = written(&before);
        let (mut now, mut lines) = (watch(), Lines::new(dir.clone()));
        now.started.real_ns = before.updated.real_ns + 60_000_000_000;
        let notes = resume(&dir, &mut now, &mut lines).unwrap();
        assert!(notes[0].contains("killed") && notes[0].contains("60"), "{notes:?}");
        assert_eq!((now.series_started_real_ns, now.cpus[0].released, now.cpus[0].since_start_ns), (77, 5, None));
        lines.write(false).unwrap();
        let text = fs::read_to_string(folder.path().join(lines::SERIES)).unwrap();
        let read: Vec<WatchLine> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(matches!(&read[..], [WatchLine::Block(_), WatchLine::Gap { why, .. }] if why == "killed"), "{read:?}");
    }

    #[test]
    fn a_clock_that_was_set_back_makes_no_gap_of_years() {
        let before = watch();
        let (_folder, dir) = written(&before);
        let (mut now, mut lines) = (watch(), Lines::new(dir.clone()));
        now.started.real_ns = 1;
        assert!(resume(&dir, &mut now, &mut lines).unwrap()[0].contains("set back"));
    }

    #[test]
    fn a_future_format_is_left_alone_and_a_damaged_file_is_put_aside() {
        let mut future = watch();
        future.schema = "punctual.series/2".into();
        let (folder, dir) = written(&future);
        let (mut now, mut lines) = (watch(), Lines::new(dir.clone()));
        assert!(matches!(resume(&dir, &mut now, &mut lines), Err(WatchError::Format { .. })));
        fs::write(folder.path().join(STATE), b"{\"schema\":\"punctual.series/1\",").unwrap();
        let notes = resume(&dir, &mut now, &mut lines).unwrap();
        assert!(notes[0].contains("start over") && folder.path().join("watch.damaged.json").exists(), "{notes:?}");
    }

    #[test]
    fn two_cannot_write_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(".0123456789abcdef.new"), b"half a state of a killed process").unwrap();
        let _first = take(folder.path()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert!(matches!(take(folder.path()), Err(WatchError::Locked { pid: None, .. })));
    }

    #[test]
    fn lengths_are_told_in_units() {
        let mut now = watch();
        now.started.real_ns = now.updated.real_ns + 1_500_000_000;
        assert_eq!(gap(&now.updated, &now), Nanos(1_500_000_000).to_string());
    }
}
