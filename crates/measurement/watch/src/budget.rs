//! How often a trace is cut, and how much space traces take.

use crate::ledger::Ledger;
use punctual_directory::Dir;
use punctual_model::Capture;
use punctual_units::Nanos;
use std::collections::VecDeque;
use std::path::Path;

/// New maxima of a CPU become ever rarer: the n-th comes after about e^n times the time to the first. So this only
/// bounds a storm.
const BURST_A_CPU: u32 = 16;
/// Cutting and explaining one takes some 10 ms of CPU time, more where much is traced: this bounds a burst to seconds,
/// however many CPUs.
const MOST_AT_ONCE: u32 = 256;
const EVERY: Nanos = Nanos::from_secs(5);
/// Share of the space for all files that traces may fill; the rest is for what is written between two checks.
const SHARE_PERCENT: u64 = 85;
const DAY_NS: u128 = 86_400_000_000_000;

/// At most [`BURST_A_CPU`] at once for each CPU, and one every [`EVERY`] for all.
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

    /// May one be traced now? If so, counts it.
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

/// Traces on disk, the oldest first: the name of the run directory, the window, its size in bytes.
#[derive(Default)]
pub(crate) struct Kept(VecDeque<(String, Capture, u64)>);

impl Kept {
    pub fn add(&mut self, name: &str, run: &Dir, capture: Capture) {
        let path = Path::new(&capture.file);
        let size = |path: &Path| run.file(path).ok().and_then(|file| file.metadata().ok()).map_or(0, |meta| meta.len());
        let bytes = size(path) + size(&path.with_extension("json"));
        self.0.push_back((name.to_owned(), capture, bytes));
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|(.., bytes)| bytes).sum()
    }

    /// Removes and returns the oldest, until the rest fits: each has been superseded by a newer maximum of its CPU.
    pub fn over(&mut self, allowance: u64) -> Vec<(String, Capture)> {
        let mut gone = Vec::new();
        while self.bytes() > allowance {
            let Some((run, capture, _)) = self.0.pop_front() else { break };
            gone.push((run, capture));
        }
        gone
    }
}

impl Ledger {
    /// Bytes that traces may take by now, if they take `traces`: what the other files, which grow with time, leave
    /// them.
    pub fn allowance(&self, traces: u64) -> u64 {
        let elapsed = punctual_measure::clocks().mono_ns.saturating_sub(self.watch.started.mono_ns);
        let cpus = self.watch.settings.cpus.len() as u64;
        let grown = self.dir.bytes().saturating_sub(self.bytes_at_start);
        share(self.watch.settings.bytes_a_cpu_and_day, cpus, elapsed).saturating_sub(grown.saturating_sub(traces))
    }
}

fn share(bytes: u64, cpus: u64, elapsed_ns: u64) -> u64 {
    let factors = [u128::from(cpus), u128::from(SHARE_PERCENT), u128::from(elapsed_ns)];
    let all = factors.into_iter().fold(u128::from(bytes), u128::saturating_mul);
    u64::try_from(all / (100 * DAY_NS)).unwrap_or(u64::MAX)
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

    #[test]
    fn the_oldest_traces_go_first() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("traces")).unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let mut kept = Kept::default();
        for n in 0..4 {
            let file = format!("traces/1-watch-{n}.dat");
            fs::write(folder.path().join(&file), [0; 100]).unwrap();
            let capture = Capture {
                phase: "1-watch".into(),
                file,
                from_mono_ns: 0,
                to_mono_ns: 0,
                late: Vec::new(),
                overwritten: Vec::new(),
                policies: Default::default(),
                fair_server: None,
                tracer: None,
                throttled: None,
                kernel: None,
                guest: None,
                rt_group_sched: None,
                released: Vec::new(),
            };
            kept.add("runs/1", &dir, capture);
        }
        let gone: Vec<String> = kept.over(250).into_iter().map(|(_, capture)| capture.file).collect();
        assert_eq!(gone, ["traces/1-watch-0.dat", "traces/1-watch-1.dat"]);
        assert!(kept.over(200).is_empty());
        assert_eq!(kept.over(0).len(), 2);
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
        assert_eq!(share(1 << 20, 2, 86_400_000_000_000), (2 << 20) * 85 / 100);
        assert_eq!(share(u64::MAX, u64::MAX, u64::MAX), u64::MAX);
    }
}
