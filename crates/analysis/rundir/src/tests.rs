use crate::{Error, Progress, Writer, attach, read, replace_worst};
use punctual_directory::Dir;
use punctual_model::*;
use punctual_units::{CpuId, Histogram, Nanos, Scheduling};
use std::fs;
use std::path::Path;

pub(crate) fn run() -> Run {
    let stamp = Stamp { mono_ns: 5, boot_ns: 5, real_ns: 1_700_000_000_000_000_000 };
    Run {
        started: Some(stamp),
        host: Some("pi".into()),
        command: vec!["punctual".into()],
        settings: Settings {
            clock: Some("CLOCK_MONOTONIC".into()),
            scheduling: Some(Scheduling::Other { nice: 0 }),
            period_ns: Some(Nanos::from_millis(1)),
            cpus: "0-1".parse().unwrap(),
            alignment: Some(Alignment::Aligned),
            duration_ns: Some(Nanos::from_secs(2)),
            warmup_ns: Some(Nanos::ZERO),
            loads: vec!["idle".into(), "cpu".into()],
            context: true,
            worst_kept: 8,
            claims: vec![Claim::none_missed()],
            ..Settings::default()
        },
        ..Run::new(Tool { name: "punctual".into(), version: Some("0".into()) }, Kind::Latency)
    }
}

fn phase(id: &str, cpus: u32) -> Phase {
    let result = |cpu| CpuResult {
        cpu: CpuId(cpu),
        tid: Some(1),
        got: Some(Scheduling::Other { nice: 0 }),
        released: Some(0),
        ran: 0,
        skipped: Some(0),
        min_ns: None,
        max_ns: None,
        mean_ns: None,
        page_faults: None,
        involuntary_switches: None,
        run_delay_ns: None,
        blur: None,
        episodes: Vec::new(),
        blocks: Vec::new(),
    };
    Phase {
        id: id.into(),
        load: "idle".into(),
        label: None,
        value: None,
        period_ns: None,
        start_mono_ns: Some(10),
        end_mono_ns: None,
        planned_ns: Some(Nanos::from_secs(1)),
        cpus: (0..cpus).map(result).collect(),
        load_report: None,
        busy_with_others: None,
        traced: None,
        rounds: Vec::new(),
        problems: Vec::new(),
    }
}

fn histogram(n: u64) -> Histogram {
    let mut h = Histogram::new();
    (0..n).for_each(|i| h.record(1_000 + i));
    h
}

fn worst(phase: &str, latency_ns: u64) -> Worst {
    Worst {
        phase: phase.into(),
        cpu: CpuId(0),
        release_mono_ns: latency_ns,
        latency_ns,
        cycle: 1,
        skipped: 0,
        trace_offset: None,
        suspicions: Vec::new(),
    }
}

fn progress(phase: &str, n: u64) -> Progress {
    Progress {
        phase: phase.into(),
        cpu: CpuId(0),
        mono_ns: n,
        raw: histogram(n),
        skipped: Histogram::new(),
        worst: vec![worst(phase, 1_000 + n)],
        episodes: Vec::new(),
    }
}

fn end(phase: &mut Phase) -> Vec<(CpuId, Distribution)> {
    phase.end_mono_ns = Some(99);
    let distribution = Distribution { raw: histogram(100), skipped: histogram(3) };
    phase.cpus.iter().map(|c| (c.cpu, distribution.clone())).collect()
}

fn signal() -> Event {
    Event::Signal { mono_ns: 7, number: 2 }
}

/// Writes a run with a finished phase and an unfinished one.
fn write_half(root: &Path) -> Writer {
    let mut writer = Writer::create(root, run(), false).unwrap();
    let mut first = phase("1-idle", 2);
    writer.phase_started(&first);
    writer.event(&signal());
    writer.progress(progress("1-idle", 50));
    writer.flush();
    let distributions = end(&mut first);
    writer.phase_done(first, &distributions, vec![worst("1-idle", 2_000)]).unwrap();
    writer.phase_started(&phase("2-cpu", 2));
    for n in 1..4 {
        writer.event(&signal());
        writer.progress(progress("2-cpu", n * 10));
        writer.flush();
    }
    writer
}

#[test]
fn a_finished_run_reads_back_whole() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = write_half(root.path());
    let mut second = phase("2-cpu", 2);
    let distributions = end(&mut second);
    writer.phase_done(second, &distributions, vec![worst("2-cpu", 3_000)]).unwrap();
    writer.run_mut().complete = true;
    writer.finish().unwrap();
    attach(&Dir::open(root.path()).unwrap(), "report.html", b"<p>").unwrap();
    let recording = read(root.path()).unwrap();
    assert_eq!(recording.damage, [""; 0]);
    assert!(recording.run.complete && recording.run.phases.len() == 2);
    assert_eq!(recording.distributions.len(), 4);
    assert_eq!(recording.worst.iter().map(|w| w.latency_ns).collect::<Vec<_>>(), [3_000, 2_000]);
    assert_eq!(recording.events.len(), 4);
    replace_worst(&Dir::open(root.path()).unwrap(), &recording.worst[..1]).unwrap();
    let again = read(root.path()).unwrap();
    assert_eq!((again.worst.len(), again.damage.len()), (1, 0));
    assert!(!root.path().join("segments").exists());
}

#[test]
fn a_killed_run_keeps_its_last_checkpoint() {
    let root = tempfile::tempdir().unwrap();
    drop(write_half(root.path()));
    let recording = read(root.path()).unwrap();
    assert!(!recording.run.complete);
    assert_eq!(recording.run.ended_by, Some(EndedBy::Killed));
    assert_eq!(recording.run.phases.len(), 2);
    let half = &recording.run.phases[1];
    assert_eq!((half.cpus.len(), half.cpus[0].released), (1, Some(30)));
    assert_eq!(half.problems[0].kind, ProblemKind::Interrupted);
    assert_eq!(recording.distribution("2-cpu", CpuId(0)).unwrap().raw, histogram(30));
    assert_eq!(recording.events.len(), 4);
    assert_eq!(recording.damage, [""; 0]);
}

#[test]
fn maxima_of_blocks_are_kept_also_after_a_kill() {
    let block = |from: u64, max_ns| BlockMaximum {
        phase: "1-idle".into(),
        cpu: CpuId(0),
        from_mono_ns: from,
        to_mono_ns: from + 300,
        max_ns,
    };
    for finished in [true, false] {
        let root = tempfile::tempdir().unwrap();
        let mut writer = write_half(root.path());
        writer.maxima(&[]);
        assert!(!root.path().join("maxima.jsonl").exists());
        writer.maxima(&[block(0, Some(77))]);
        writer.maxima(&[block(300, None), block(600, Some(5))]);
        if finished {
            writer.finish().unwrap();
        }
        drop(writer);
        let recording = read(root.path()).unwrap();
        assert_eq!(recording.maxima, [block(0, Some(77)), block(300, None), block(600, Some(5))]);
        assert_eq!(recording.damage, [""; 0]);
        fs::write(root.path().join("maxima.jsonl"), "{}\n").unwrap();
        let damaged = read(root.path()).unwrap();
        assert!(damaged.maxima.is_empty() && damaged.damage[0].contains("maxima.jsonl"));
    }
}

/// Returns a round of `1-idle` that ends with `n` wakeups on each of two CPUs.
fn round(number: usize) -> Phase {
    let mut phase = phase("1-idle", 2);
    phase.rounds = vec![Round { start_mono_ns: 10, end_mono_ns: None }; number];
    phase
}

#[test]
fn rounds_of_a_phase_are_one_phase() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(root.path(), run(), false).unwrap();
    for number in 1..=3 {
        let mut phase = round(number);
        writer.phase_started(&phase);
        let distributions = end(&mut phase);
        writer.phase_done(phase, &distributions, vec![worst("1-idle", 2_000 + number as u64)]).unwrap();
    }
    drop(writer);
    let recording = read(root.path()).unwrap();
    assert_eq!((recording.run.phases.len(), recording.run.phases[0].rounds.len()), (1, 3));
    assert_eq!(recording.worst.iter().map(|w| w.latency_ns).collect::<Vec<_>>(), [2_003]);
    assert_eq!(recording.damage, [""; 0]);
}

#[test]
fn a_run_killed_in_a_later_round_keeps_the_earlier_ones() {
    for checkpointed in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(root.path(), run(), false).unwrap();
        let mut first = round(1);
        writer.phase_started(&first);
        let distributions = end(&mut first);
        let before = first.cpus.clone();
        writer.phase_done(first, &distributions, vec![worst("1-idle", 2_000)]).unwrap();
        writer.phase_started(&round(2));
        if checkpointed {
            writer.progress(progress("1-idle", 5_000));
            writer.flush();
        }
        drop(writer);
        let recording = read(root.path()).unwrap();
        assert_eq!(recording.run.phases.len(), 1);
        let phase = &recording.run.phases[0];
        assert_eq!(phase.rounds.len(), 2);
        assert_eq!(phase.cpus[1], before[1]);
        assert_eq!(phase.cpus[0].scored(), if checkpointed { 5_000 } else { before[0].scored() });
        assert_eq!(phase.problems.last().unwrap().kind, ProblemKind::Interrupted);
        assert_eq!(recording.distributions.len(), 2);
        assert!(!recording.worst.is_empty());
        assert_eq!(recording.damage, [""; 0]);
    }
}

#[test]
fn a_run_being_written_is_said_to_be() {
    let root = tempfile::tempdir().unwrap();
    let writer = write_half(root.path());
    let recording = read(root.path()).unwrap();
    assert_eq!(recording.run.ended_by, None);
    assert!(recording.damage[0].contains("still being measured"));
    drop(writer);
}

#[test]
fn a_run_is_there_before_its_segments() {
    let root = tempfile::tempdir().unwrap();
    drop(Writer::create(root.path(), run(), false).unwrap());
    fs::remove_dir_all(root.path().join("segments")).unwrap();
    fs::remove_dir_all(root.path().join("hist")).unwrap();
    let recording = read(root.path()).unwrap();
    assert!(!recording.run.complete && recording.run.phases.is_empty());
    assert_eq!(recording.damage, [""; 0]);
}

#[test]
fn a_segment_cut_anywhere_is_readable() {
    let root = tempfile::tempdir().unwrap();
    drop(write_half(root.path()));
    let segment = fs::read_dir(root.path().join("segments")).unwrap().flatten().map(|e| e.path());
    let segment = segment.filter(|p| p.extension().is_some()).max().unwrap();
    let whole = fs::read(&segment).unwrap();
    let mut least = u64::MAX;
    for cut in (0..whole.len()).rev().step_by(7) {
        fs::write(&segment, &whole[..cut]).unwrap();
        let recording = read(root.path()).unwrap();
        let half = recording.run.phases.get(1).and_then(|p| p.cpus.first()).map_or(0, |c| c.scored());
        assert!(half <= least && recording.run.phases[0].cpus.len() == 2);
        least = half;
    }
    assert!(least < 30);
}

#[test]
fn any_file_missing_or_altered_is_named_not_fatal() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = write_half(root.path());
    writer.run_mut().complete = true;
    writer.findings(&[]).unwrap();
    writer.machine("before", &1).unwrap();
    writer.finish().unwrap();
    for name in ["hist/1-idle/0.json", "worst.jsonl", "events.jsonl", "findings.json"] {
        let path = root.path().join(name);
        let content = fs::read(&path).unwrap();
        fs::write(&path, b"{").unwrap();
        assert!(!read(root.path()).unwrap().damage.is_empty(), "{name}");
        if name != "findings.json" {
            fs::remove_file(&path).unwrap();
            assert!(!read(root.path()).unwrap().damage.is_empty(), "{name}");
        }
        fs::write(&path, content).unwrap();
        assert!(read(root.path()).unwrap().damage.is_empty(), "{name}");
    }
    fs::write(root.path().join("run.json"), b"{").unwrap();
    assert!(matches!(read(root.path()), Err(Error::Damaged { .. })));
    fs::write(root.path().join("run.json"), br#"{"schema":"punctual.run/2"}"#).unwrap();
    let error = read(root.path()).unwrap_err().to_string();
    assert!(error.contains("punctual.run/2") && error.contains("newer"), "{error}");
}

#[test]
fn nothing_is_written_over() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("precious"), b"x").unwrap();
    let error = Writer::create(root.path(), run(), false).err().unwrap();
    assert!(error.to_string().contains("--out"), "{error}");
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    assert!(matches!(Writer::create(&root.path().join("precious"), run(), false), Err(Error::Io { .. })));
    assert!(matches!(read(root.path()), Err(Error::NoRun(_))));
}

#[test]
fn segments_are_followed_by_new_ones() {
    let root = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(root.path(), run(), false).unwrap();
    writer.phase_started(&phase("1-idle", 2));
    let mut spread = Histogram::new();
    (0..4_000u64).for_each(|i| spread.record(i * i));
    for n in 0..150 {
        let mut p = progress("1-idle", 5);
        (p.raw, p.mono_ns) = (spread.clone(), n);
        writer.progress(p);
        writer.flush();
    }
    assert_eq!(writer.failure(), None);
    drop(writer);
    let size: u64 = fs::read_dir(root.path().join("segments"))
        .unwrap()
        .flatten()
        .filter(|e| e.path().extension().is_some())
        .map(|e| e.metadata().unwrap().len())
        .sum();
    assert!(size < 3 << 20, "{size}");
    assert_eq!(read(root.path()).unwrap().run.phases[0].cpus[0].released, Some(4_000));
}

/// Changes the text of a file in a finished run, as a later version would write it.
fn rewrite(root: &Path, name: &str, change: impl Fn(&str) -> String) {
    let text = change(&fs::read_to_string(root.join(name)).unwrap());
    let path = root.join("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["files"][name] = serde_json::to_value(crate::files::sum(text.as_bytes())).unwrap();
    fs::write(root.join(name), text).unwrap();
    fs::write(path, manifest.to_string()).unwrap();
}

#[test]
fn kinds_of_a_later_minor_version_are_unknown_and_the_rest_is_read() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let mut writer = Writer::create(root, Run { ended_by: Some(EndedBy::Duration), ..run() }, false).unwrap();
    let mut first = phase("1-idle", 1);
    first.problems.push(Problem { kind: ProblemKind::Storage, text: "a ray was seen".into() });
    let distributions = end(&mut first);
    writer.event(&signal());
    writer.phase_done(first, &distributions, vec![worst("1-idle", 2_000)]).unwrap();
    writer.finish().unwrap();
    rewrite(root, "run.json", |text| {
        let text = text.replace("\"storage\"", "\"cosmic_ray\"").replace("\"duration\"", "\"evaporation\"");
        text.replace(RUN_SCHEMA_VERSION, "1.99").replace("\"complete\"", "\"new\": {\"a\": [1]}, \"complete\"")
    });
    rewrite(root, "events.jsonl", |text| format!("{{\"event\": \"aurora\", \"mono_ns\": 3}}\n{text}"));
    let seen = read(root).unwrap();
    assert_eq!(seen.run.ended_by, Some(EndedBy::Unknown));
    let problem = &seen.run.phases[0].problems[0];
    assert_eq!((problem.kind, problem.text.as_str()), (ProblemKind::Unknown, "a ray was seen"));
    assert_eq!((seen.events, seen.distributions.len(), seen.worst.len()), (vec![signal()], 1, 1));
    let [damage] = &seen.damage[..] else { panic!("{:?}", seen.damage) };
    assert!(damage.starts_with("events.jsonl: 1 unreadable lines") && damage.contains("version 1.99"), "{damage}");

    rewrite(root, "run.json", |text| text.replace("\"latency\"", "\"divination\""));
    let seen = read(root).unwrap();
    assert_eq!(seen.run.kind, Kind::Unknown);
    assert!(seen.damage.iter().any(|what| what.contains("kind of run") && what.contains("1.99")), "{:?}", seen.damage);
}

#[test]
fn an_id_that_is_a_path_is_no_phase() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path();
    let mut writer = Writer::create(root, run(), false).unwrap();
    for id in ["1-idle", "2-cpu"] {
        let mut phase = phase(id, 1);
        let distributions = end(&mut phase);
        writer.phase_done(phase, &distributions, Vec::new()).unwrap();
    }
    writer.finish().unwrap();
    for bad in ["../../etc", "..", "", "/etc", "a\\u0000b", ".hidden"] {
        rewrite(root, "run.json", |text| text.replace("\"id\": \"2-cpu\"", &format!("\"id\": \"{bad}\"")));
        let seen = read(root).unwrap();
        assert_eq!(seen.run.phases.len(), 1, "{bad}");
        assert!(seen.damage.iter().any(|what| what.contains("is not a valid phase ID")), "{bad}: {:?}", seen.damage);
        rewrite(root, "run.json", |text| text.replace(&format!("\"id\": \"{bad}\""), "\"id\": \"2-cpu\""));
    }
    assert_eq!(read(root).unwrap().run.phases.len(), 2);
}
