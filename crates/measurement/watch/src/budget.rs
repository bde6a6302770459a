//! Limits how often traces are saved and how much space they use.

use crate::child::LARGEST_NOTE;
use crate::keep::{self, RUNS};
use crate::ledger::Ledger;
use punctual_directory::Dir;
use punctual_model::{AppLate, Capture, LateWakeup};
use punctual_proof::Cutter;
use punctual_units::{CpuId, Nanos};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Maximum number of traces saved in quick succession per CPU. New maxima of a CPU become rarer and rarer (the n-th
/// occurs after about e^n times the time to the first), so this limit matters only in bursts.
const BURST_A_CPU: u32 = 16;
/// Maximum number of traces saved in quick succession on all CPUs. Saving and explaining a trace takes about 10 ms of
/// CPU time, more if it has many events, so that a burst takes seconds.
const MOST_AT_ONCE: u32 = 256;
const EVERY: Nanos = Nanos::from_secs(5);
/// Percentage of the total size limit that traces may use. The rest is for other files, which grow between two checks.
const SHARE_PERCENT: u64 = 85;
const DAY_NS: u64 = 86_400_000_000_000;

/// Allows [`BURST_A_CPU`] traces in quick succession per CPU, and one every [`EVERY`] for all CPUs.
pub(crate) struct Pace {
    burst: u32,
    tokens: u32,
    since: Nanos,
}

impl Pace {
    pub fn new(cpus: usize) -> Pace {
        let burst =
            u32::try_from(cpus).unwrap_or(u32::MAX).saturating_mul(BURST_A_CPU).clamp(BURST_A_CPU, MOST_AT_ONCE);
        Pace { burst, tokens: burst, since: Nanos::ZERO }
    }

    /// Returns true if a trace may be saved now, and counts it in that case.
    pub fn may(&mut self, now: Nanos) -> bool {
        let earned = now.saturating_sub(self.since).0 / EVERY.0;
        if earned > 0 {
            self.tokens = self.tokens.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)).min(self.burst);
            self.since = if self.tokens == self.burst { now } else { self.since + Nanos(earned * EVERY.0) };
        }
        let may = self.tokens > 0;
        self.tokens = self.tokens.saturating_sub(1);
        may
    }
}

/// Traces on disk, oldest first.
#[derive(Default)]
pub(crate) struct Kept(VecDeque<Trace>);

/// A saved window of the trace, and the file with facts about it.
pub(crate) struct Trace {
    /// Name of the run directory, relative to the watch directory.
    pub run: String,
    /// Name of the file, relative to the run directory.
    pub file: String,
    pub late: Vec<LateWakeup>,
    /// The moments of an application for which the trace was kept.
    pub moments: Vec<AppLate>,
    bytes: u64,
}

/// The subject of a trace. For each subject, the largest and the newest trace are never deleted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Cpu(CpuId),
    Claim(String),
    /// Moments that the application itself reported.
    Said,
}

impl Kept {
    /// Finds the traces of the series in `out`, including traces saved by earlier processes.
    pub fn found(out: &Dir) -> Kept {
        let runs = keep::segments(out).into_iter().map(|name| format!("{RUNS}/{name}"));
        let of_run = |name: String| out.dir(&name).map(|run| traces(&name, &run)).unwrap_or_default();
        Kept(runs.flat_map(of_run).collect())
    }

    pub fn add(&mut self, name: &str, run: &Dir, capture: &Capture) {
        self.0.push_back(Trace::new(name, run, capture));
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|trace| trace.bytes).sum()
    }

    /// Returns the trace of a wakeup; `None` if it is not on disk.
    pub fn of(&self, run: &str, cpu: CpuId, release_mono_ns: u64) -> Option<&Trace> {
        let has = |late: &LateWakeup| (late.cpu, late.release_mono_ns) == (cpu, release_mono_ns);
        self.0.iter().find(|trace| trace.run == run && trace.late.iter().any(has))
    }

    /// Returns the trace of a moment at which the application was late; `None` if it is not on disk.
    pub fn of_moment(&self, run: &str, moment: &AppLate) -> Option<&Trace> {
        self.0.iter().find(|trace| trace.run == run && trace.moments.contains(moment))
    }

    /// Returns the run directories that contain the trace of a current maximum.
    pub fn current_runs(&self) -> BTreeSet<String> {
        let current = self.current();
        let all = self.0.iter().enumerate().filter(|(at, _)| current.contains(at));
        all.map(|(_, trace)| trace.run.clone()).collect()
    }

    /// Returns the indices of the traces that are never deleted: for each CPU, the trace of its largest latency, and
    /// its newest trace, which shows its largest latency since the start; likewise for each claim about an application,
    /// and for the moments that the application itself reported.
    fn current(&self) -> BTreeSet<usize> {
        let (mut largest, mut newest) = (BTreeMap::<Subject, (u64, usize)>::new(), BTreeMap::<Subject, usize>::new());
        for (at, trace) in self.0.iter().enumerate() {
            for (subject, ns) in trace.subjects() {
                let one = largest.entry(subject.clone()).or_insert((ns, at));
                *one = (*one).max((ns, at));
                newest.insert(subject, at);
            }
        }
        largest.into_values().map(|(_, at)| at).chain(newest.into_values()).collect()
    }

    /// Removes the oldest superseded traces from the list until the others fit into `allowance` or are current. Returns
    /// the removed traces.
    pub fn over(&mut self, allowance: u64) -> Vec<Trace> {
        let (current, mut bytes) = (self.current(), self.bytes());
        let (mut gone, mut stays) = (Vec::new(), VecDeque::new());
        for (at, trace) in std::mem::take(&mut self.0).into_iter().enumerate() {
            if bytes > allowance && !current.contains(&at) {
                bytes -= trace.bytes;
                gone.push(trace);
            } else {
                stays.push_back(trace);
            }
        }
        self.0 = stays;
        gone
    }

    /// Removes from the list those traces that were deleted together with their run directory.
    pub fn only_in(&mut self, out: &Dir) {
        let mut there = BTreeMap::new();
        self.0.retain(|trace| {
            *there.entry(trace.run.clone()).or_insert_with(|| out.kind(&trace.run).is_ok_and(|kind| kind.is_some()))
        });
    }
}

impl Trace {
    /// Returns the subjects of the trace, each with the length of its delay, ns.
    fn subjects(&self) -> impl Iterator<Item = (Subject, u64)> {
        let wakeups = self.late.iter().map(|late| (Subject::Cpu(late.cpu), late.latency_ns));
        let moments = self.moments.iter().map(|moment| {
            let subject = moment.claim.clone().map_or(Subject::Said, Subject::Claim);
            (subject, moment.value_ns.map_or(0, |ns| ns.0))
        });
        wakeups.chain(moments)
    }

    fn new(name: &str, run: &Dir, capture: &Capture) -> Trace {
        let path = Path::new(&capture.file);
        let size = |path: &Path| run.file(path).ok().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        let bytes = size(path) + size(&path.with_extension("json"));
        let moments = capture.application.iter().flat_map(|window| window.late.clone()).collect();
        Trace { run: name.to_owned(), file: capture.file.clone(), late: capture.late.clone(), moments, bytes }
    }
}

/// Returns the traces of a run directory in chronological order. Traces without readable facts are skipped.
fn traces(name: &str, run: &Dir) -> Vec<Trace> {
    let entries = run.dir("traces").and_then(|traces| traces.entries()).unwrap_or_default();
    let notes = entries.into_iter().map(|(name, _)| name).filter(|name| name.extension().is_some_and(|e| e == "json"));
    let capture = |note: PathBuf| {
        let text = run.read(Path::new("traces").join(note), LARGEST_NOTE).ok()?;
        serde_json::from_slice::<Capture>(&text).ok()
    };
    let mut all: Vec<Capture> = notes.filter_map(capture).collect();
    all.sort_by_key(|capture| capture.from_mono_ns);
    all.iter().map(|capture| Trace::new(name, run, capture)).collect()
}

impl Ledger {
    /// Deletes superseded traces if all files together are too large. Returns them.
    pub fn make_room(&mut self) -> Vec<Trace> {
        self.kept.only_in(&self.dir);
        let gone = self.kept.over(self.allowance(self.kept.bytes()));
        for trace in &gone {
            if let Ok(run) = self.dir.dir(&trace.run) {
                Cutter::forget(&run, &trace.file);
            }
            let here = self.segment.as_ref().is_some_and(|open| open.name == trace.run);
            self.windows.retain(|window| !here || window.file != trace.file);
            self.watch.maxima.traces_deleted += 1;
        }
        gone
    }

    /// Returns the number of bytes that traces may use now, given that they use `traces`: the space that is left by the
    /// other files, which grow with time.
    pub fn allowance(&self, traces: u64) -> u64 {
        let settings = &self.watch.settings;
        let elapsed_ns = punctual_measure::clocks().mono_ns.saturating_sub(self.watch.started.mono_ns);
        let others = |bytes: u64, traces: u64| bytes.saturating_sub(traces);
        let before = others(self.bytes_at_start, self.traces_at_start);
        let grown = others(self.dir.bytes(), traces).saturating_sub(before);
        let share = |ns| share(settings.bytes_a_cpu_and_day, settings.cpus.len() as u64, ns);
        allowed(share(DAY_NS), share(elapsed_ns), self.traces_at_start).saturating_sub(grown)
    }
}

/// Returns the permitted total size: at the start, the growth permitted in one day; later, the size when this process
/// started, plus the growth permitted since then. Restarting the process repeatedly therefore gains no space.
fn allowed(day: u64, since_start: u64, at_start: u64) -> u64 {
    day.max(at_start.saturating_add(since_start))
}

fn share(bytes: u64, cpus: u64, elapsed_ns: u64) -> u64 {
    let factors = [u128::from(cpus), u128::from(SHARE_PERCENT), u128::from(elapsed_ns)];
    let all = factors.into_iter().fold(u128::from(bytes), u128::saturating_mul);
    u64::try_from(all / (100 * u128::from(DAY_NS))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    #[test]
    fn a_storm_is_bounded_and_a_rare_maximum_is_always_traced() {
        for (cpus, burst) in [(0, 16), (1, 16), (2, 32), (4, 64), (128, 256)] {
            let mut pace = Pace::new(cpus);
            let at = |s: u64| Nanos::from_secs(10_000 + s);
            assert_eq!((0..1000).filter(|_| pace.may(at(0))).count(), burst);
            assert!(!pace.may(at(4)) && pace.may(at(5)) && !pace.may(at(6)));
            assert_eq!((0..1000).filter(|_| pace.may(at(100_000))).count(), burst);
        }
    }

    fn trace(run: u64, cpu: u32, at: u64, latency_ns: u64, bytes: u64) -> Trace {
        let late = vec![LateWakeup { cpu: CpuId(cpu), tid: 1, release_mono_ns: at, latency_ns }];
        Trace { run: format!("runs/{run}"), file: format!("traces/{at}.dat"), late, moments: Vec::new(), bytes }
    }

    #[test]
    fn superseded_traces_go_first_and_a_current_maximum_never() {
        // CPU 0 had its largest latency before this process started. CPU 1 has a single trace.
        let all = [(0, 900), (0, 100), (1, 50), (0, 200), (0, 300)];
        let traces = (0..).zip(all).map(|(at, (cpu, latency))| trace(1, cpu, at, latency, 100));
        let mut kept = Kept(traces.collect());
        let mut gone = |allowance| kept.over(allowance).into_iter().map(|trace| trace.file).collect::<Vec<_>>();
        assert_eq!(gone(450), ["traces/1.dat"]);
        assert!(gone(400).is_empty());
        assert_eq!(gone(0), ["traces/3.dat"]);
        assert!(gone(0).is_empty(), "the largest and the newest of CPU 0, and that of CPU 1");
        assert!(kept.of("runs/1", CpuId(0), 4).is_some() && kept.of("runs/2", CpuId(0), 4).is_none());
        assert_eq!(kept.current_runs(), ["runs/1".to_owned()].into());
    }

    #[test]
    fn the_largest_and_the_newest_of_a_claim_stay() {
        let moment = |claim: Option<&str>, at: u64, value: u64| {
            let (by, thread, tid, name) = (punctual_model::LateBy::Claim, None, None, None);
            let (claim, value_ns, release_mono_ns) = (claim.map(str::to_owned), Some(Nanos(value)), None);
            AppLate {
                by,
                at_mono_ns: at,
                thread,
                tid,
                name,
                claim,
                value_ns,
                release_mono_ns,
                is_open: false,
                completes: false,
            }
        };
        let a = Some("late(a) = 0");
        let all = [(a, 900), (a, 100), (None, 0), (a, 200), (None, 0), (None, 0), (a, 300)];
        let traces = (0..).zip(all).map(|(at, (claim, value))| Trace {
            late: Vec::new(),
            moments: vec![moment(claim, at, value)],
            ..trace(1, 0, at, 0, 100)
        });
        let mut kept = Kept(traces.collect());
        let gone: Vec<String> = kept.over(0).into_iter().map(|trace| trace.file).collect();
        assert_eq!(gone, ["traces/1.dat", "traces/2.dat", "traces/3.dat", "traces/4.dat"]);
        assert!(kept.of_moment("runs/1", &moment(a, 6, 300)).is_some());
        assert!(
            kept.of_moment("runs/1", &moment(a, 3, 200)).is_none()
                && kept.of_moment("runs/2", &moment(a, 6, 300)).is_none()
        );
    }

    #[test]
    fn traces_of_earlier_processes_are_found_with_their_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let capture = |n: u64| Capture {
            phase: "1-watch".into(),
            file: format!("traces/1-watch-{n}.dat"),
            from_mono_ns: n,
            to_mono_ns: n,
            late: vec![LateWakeup { cpu: CpuId(0), tid: 1, release_mono_ns: n, latency_ns: n }],
            overwritten: Vec::new(),
            policies: Default::default(),
            fair_server: None,
            tracer: None,
            throttled: None,
            kernel: None,
            guest: None,
            rt_group_sched: None,
            released: Vec::new(),
            application: None,
        };
        let mut bytes = 0;
        for n in [9, 10] {
            let traces = folder.path().join("runs/20261122T205244Z/traces");
            fs::create_dir_all(&traces).unwrap();
            let note = serde_json::to_vec(&capture(n)).unwrap();
            fs::write(traces.join(format!("1-watch-{n}.dat")), [0; 100]).unwrap();
            fs::write(traces.join(format!("1-watch-{n}.json")), &note).unwrap();
            fs::write(traces.join("torn.json"), b"{").unwrap();
            bytes += 100 + note.len() as u64;
        }
        let dir = Dir::open(folder.path()).unwrap();
        let mut kept = Kept::found(&dir);
        assert_eq!((kept.bytes(), kept.over(bytes - 1)[0].file.as_str()), (bytes, "traces/1-watch-9.dat"));
        fs::remove_dir_all(folder.path().join("runs/20261122T205244Z")).unwrap();
        kept.only_in(&dir);
        assert_eq!(kept.bytes(), 0);
    }

    /// Simulates weeks on a noisy machine with occasional restarts. The files must stay within the limit plus the
    /// traces of current maxima, which are never deleted.
    #[test]
    fn weeks_stay_within_the_budget_and_keep_every_current_maximum() {
        const CPUS: u32 = 4;
        let (hour, day) = (DAY_NS / 24, share(1 << 20, u64::from(CPUS), DAY_NS));
        let (mut kept, mut random) = (Kept::default(), 7u64);
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % below
        };
        let (mut started, mut at_start, mut ever) = (0, 0, BTreeMap::new());
        let mut worst = BTreeMap::new();
        let (mut deleted, mut first_day) = (0, 0);
        for hours in 0..28 * 24u64 {
            if next(50) == 0 {
                (started, at_start) = (hours, kept.bytes());
                worst.clear();
            }
            for n in 0..20 {
                let (cpu, latency) = (next(u64::from(CPUS)) as u32, next(1 << 20));
                if latency <= worst.get(&cpu).copied().unwrap_or(0) {
                    continue;
                }
                worst.insert(cpu, latency);
                let largest = ever.entry(cpu).or_insert((0, 0));
                *largest = (*largest).max((latency, hours * 100 + n));
                kept.0.push_back(trace(hours / 6, cpu, hours * 100 + n, latency, 10_000 + next(20_000)));
                let allowance = allowed(day, share(1 << 20, u64::from(CPUS), (hours - started) * hour), at_start);
                deleted += kept.over(allowance).len();
                assert!(kept.bytes() <= allowance + 2 * u64::from(CPUS) * 30_000);
                assert!(kept.0.iter().any(|trace| trace.late[0].latency_ns == latency));
                assert!(ever.iter().all(|(_, (_, at))| kept.0.iter().any(|t| t.late[0].release_mono_ns == *at)));
            }
            first_day = if hours == 24 { deleted } else { first_day };
        }
        assert_eq!(first_day, 0, "a day's budget holds a day's maxima");
        assert!(kept.bytes() <= 28 * day);
    }

    proptest! {
        #[test]
        fn never_more_than_the_pace(steps in proptest::collection::vec(0u64..60_000_000_000, 1..200)) {
            let mut pace = Pace::new(1);
            let (mut now, mut taken) = (Nanos(EVERY.0 * 100), 0u64);
            let begun = now;
            for step in steps {
                now = now + Nanos(step);
                taken += u64::from(pace.may(now));
                prop_assert!(taken <= u64::from(BURST_A_CPU) + (now - begun).0 / EVERY.0 + 1);
            }
        }
    }

    #[test]
    fn a_day_of_two_cpus_has_its_share() {
        let day = share(1 << 20, 2, DAY_NS);
        assert_eq!(day, (2 << 20) * 85 / 100);
        assert_eq!(allowed(day, 0, 0), day, "from the start");
        assert_eq!(allowed(day, share(1 << 20, 2, DAY_NS / 2), day / 3), day, "as much after a restart");
        assert_eq!(allowed(day, 2 * day, 3 * day), 5 * day);
        assert_eq!(share(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }
}
