//! Reads the benchmark of a run directory: its results, or, if they are missing, its log.

use crate::files;
use crate::layout::{self, FileSum};
use crate::segment;
use punctual_directory::Dir;
use punctual_model::{Bench, BenchLog, Kind, Recording};

/// Size limit of a benchmark's log.
pub(crate) const LARGEST: u64 = 1 << 30;

pub(crate) fn read_bench(recording: &mut Recording, dir: &Dir, sum: Option<FileSum>) {
    if recording.run.kind != Kind::Bench {
        return;
    }
    let written = sum.and_then(|sum| {
        let content = files::read(dir, layout::BENCH, LARGEST).ok()?;
        if files::sum(&content) == sum { serde_json::from_slice::<Bench>(&content).ok() } else { None }
    });
    if sum.is_some() && written.is_none() {
        recording.damage.push("bench.json: checksum mismatch; read from bench.jsonl instead".into());
    }
    recording.bench = match written {
        Some(bench) => Some(bench),
        None => read_log(recording, dir),
    };
    recording.events = recording.bench.as_ref().map(Bench::events).unwrap_or_default();
}

fn read_log(recording: &mut Recording, dir: &Dir) -> Option<Bench> {
    let content = match files::read(dir, layout::BENCH_LOG, LARGEST) {
        Ok(content) => content,
        Err(e) => {
            recording.damage.push(e.to_string());
            return None;
        }
    };
    let (records, _, torn) = segment::decode_until(&content);
    recording.damage.extend(torn.map(|what| format!("bench.jsonl: {what}")));
    let bench = BenchLog::of(records).map(Bench::of);
    if bench.is_none() {
        recording.damage.push("bench.jsonl: it does not begin with a plan; skipped".into());
    }
    bench
}
