//! Reads the settings of the machine on which the predictions depend, including its protection against runaway threads.

use crate::plan::Timing;
use punctual_model::{RtLimit, SchedSettings};
use punctual_rt::monotonic;
use punctual_units::{CpuId, CpuList, Nanos};
use rustix::time::ClockId;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Quantum assumed if the kernel does not report it (RR_TIMESLICE in include/linux/sched/rt.h).
pub(crate) const RR_QUANTUM: Nanos = Nanos::from_millis(100);

/// Base slice on a machine with one CPU (normalized_sysctl_sched_base_slice in kernel/sched/fair.c).
const BASE_SLICE: Nanos = Nanos(700_000);
/// Scheduling period of CFS on a machine with one CPU (normalized_sysctl_sched_latency before Linux 6.6).
const LATENCY: Nanos = Nanos::from_millis(6);
/// Number of ticks that are observed to find their phase.
const TICKS: u64 = 16;

/// Reads from files below `root` the properties of the kernel that determine when it switches threads. The tick period
/// is the resolution of the coarse clocks (clock_getres(2)).
///
/// Blocks for some ticks.
pub(crate) fn timing(root: &Path, cpus: usize) -> Timing {
    let time = |t: rustix::time::Timespec| Nanos(t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs());
    let tick = time(rustix::time::clock_getres(ClockId::MonotonicCoarse)).max(Nanos(1));
    let coarse = || time(rustix::time::clock_gettime(ClockId::MonotonicCoarse));
    let slice = number(&root.join("sys/kernel/debug/sched/base_slice_ns")).and_then(|ns| u64::try_from(ns).ok());
    // update_sysctl()
    let default = BASE_SLICE.0 * (1 + u64::from(cpus.clamp(1, 8).ilog2()));
    let realtime = fs::read_to_string(root.join("sys/kernel/realtime")).is_ok_and(|text| text.trim() == "1");
    let slice = Nanos(slice.unwrap_or(default));
    let cfs = is_before(&root.join("proc/sys/kernel"), (6, 6)).then(|| Nanos(LATENCY.0 * default / BASE_SLICE.0));
    Timing { tick, phase: phase(tick, coarse, monotonic), realtime, grouped: is_grouped(root), cfs, slice }
}

/// Returns `true` if this process is in a cgroup of the `cpu` controller, or in the autogroup of its session
/// (/proc/self/autogroup, which is empty for the root group).
fn is_grouped(root: &Path) -> bool {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let cgroups = read("proc/self/cgroup");
    // cgroups(7): hierarchy-ID:controllers:path; version 2 has no controllers.
    let path = |line: &str| {
        let mut words = line.splitn(3, ':').skip(1);
        let (controllers, path) = (words.next()?, words.next()?);
        (controllers.is_empty() || controllers.split(',').any(|one| one == "cpu")).then(|| path.to_owned())
    };
    let autogroups = read("proc/sys/kernel/sched_autogroup_enabled").trim() == "1";
    cgroups.lines().filter_map(path).any(|path| path != "/")
        || (autogroups && !read("proc/self/autogroup").trim().is_empty())
}

/// Returns the phase of the tick: the earliest time within a tick period at which the coarse clock was seen to advance.
/// The kernel advances this clock at ticks.
fn phase(tick: Nanos, coarse: impl Fn() -> Nanos, now: impl Fn() -> Nanos) -> Nanos {
    let end = now() + Nanos(2 * TICKS * tick.0);
    let (mut before, mut first, mut least) = (coarse(), None, 0);
    loop {
        let at = now();
        let after = coarse();
        if at > end {
            return Nanos((first.unwrap_or(0) + tick.0 - least) % tick.0);
        }
        if after != before {
            before = after;
            let first = *first.get_or_insert(at.0 % tick.0);
            // A tick is later than the first one by less than half a tick, or earlier.
            let later = (at.0 + tick.0 - first) % tick.0;
            least = least.max(if later > tick.0 / 2 { tick.0 - later } else { 0 });
        }
    }
}

/// Reads the settings from files below `root` (`/`, or another directory in tests). Values that cannot be read are
/// `None`, with a note. Real-time threads scheduled by group are throttled as before Linux 6.12.
pub fn settings(root: &Path, online: CpuList, rt_group_sched: Option<bool>) -> (SchedSettings, Vec<String>) {
    let kernel = root.join("proc/sys/kernel");
    let rr_quantum_ns = number(&kernel.join("sched_rr_timeslice_ms")).and_then(|ms| u64::try_from(ms).ok());
    let quantum = rr_quantum_ns.filter(|ms| *ms > 0).map(Nanos::from_millis);
    let mut notes = Vec::new();
    if is_before(&kernel, (6, 6)) {
        notes.push(
            "this kernel schedules ordinary threads by CFS: they are predicted as under EEVDF (since Linux 6.6), and the bounds \
             of their ends are wider by a scheduling period"
                .into(),
        );
    }
    if quantum.is_none() {
        notes.push("sched_rr_timeslice_ms cannot be read: assuming 100 ms".into());
    }
    // The fair server replaced RT throttling in Linux 6.12 (5f6bd380c7bd).
    let is_old = is_before(&kernel, (6, 12));
    let throttles = rt_group_sched == Some(true) || is_old;
    let (fair_server, throttling) = (fair_server(root, &online), throttling(&kernel, throttles, is_old));
    let limit = if throttles { throttling.or(fair_server) } else { fair_server.or(throttling) };
    if limit.is_none() {
        notes.push(
            "RT throttling is off (sched_rt_runtime_us is -1, or cannot be read) and no fair server was found: predictions assume that real-time threads can use \
             all of a CPU"
                .into(),
        );
    }
    (SchedSettings { rr_quantum_ns: quantum, limit, online }, notes)
}

/// Returns `true` if a known limit takes CPU time from real-time threads that never sleep.
pub fn is_throttled(settings: &SchedSettings) -> bool {
    settings.limit.as_ref().is_some_and(|limit| limit.runtime_ns < limit.period_ns)
}

/// Returns the limit set by the fair server (kernel/sched/deadline.c, since 6.12): the smallest share that it leaves to
/// real-time threads on any CPU.
fn fair_server(root: &Path, online: &CpuList) -> Option<RtLimit> {
    let folder = root.join("sys/kernel/debug/sched/fair_server");
    let of = |cpu: CpuId| {
        let read = |name: &str| {
            let value = number(&folder.join(format!("cpu{cpu}/{name}")))?;
            u64::try_from(value).ok()
        };
        Some((read("runtime")?, read("period")?))
    };
    let (runtime, period) =
        online.iter().filter_map(of).filter(|(runtime, period)| *runtime > 0 && runtime < period).max()?;
    Some(RtLimit {
        runtime_ns: Nanos(period - runtime),
        period_ns: Nanos(period),
        by: "the fair server (/sys/kernel/debug/sched/fair_server)".into(),
        always: false,
        fair_server: true,
    })
}

/// Returns `true` if the running kernel is older than `since`; `false` if its release is unknown.
fn is_before(kernel: &Path, since: (u64, u64)) -> bool {
    let release = fs::read_to_string(kernel.join("osrelease")).unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|number| number.parse::<u64>().ok());
    matches!((numbers.next(), numbers.next()), (Some(major), Some(minor)) if (major, minor) < since)
}

fn throttling(kernel: &Path, always: bool, is_old: bool) -> Option<RtLimit> {
    let runtime = u64::try_from(number(&kernel.join("sched_rt_runtime_us"))?).ok()?;
    let period = u64::try_from(number(&kernel.join("sched_rt_period_us"))?).ok().filter(|period| *period > 0)?;
    (runtime < period).then(|| RtLimit {
        runtime_ns: Nanos::from_micros(runtime),
        period_ns: Nanos::from_micros(period),
        by: match always {
            true => "RT throttling (/proc/sys/kernel/sched_rt_runtime_us)".into(),
            false => "the fair server, whose settings cannot be read (/proc/sys/kernel/sched_rt_runtime_us)".into(),
        },
        always,
        fair_server: !is_old,
    })
}

fn number(path: &Path) -> Option<i64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Returns the steal time of each CPU since boot (/proc/stat, in hundredths of a second). Empty if not readable.
pub fn steal() -> BTreeMap<CpuId, Nanos> {
    parse_steal(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn parse_steal(text: &str) -> BTreeMap<CpuId, Nanos> {
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let cpu = words.next()?.strip_prefix("cpu")?.parse().ok()?;
        // The fields are user nice system idle iowait irq softirq steal (proc_stat(5)). USER_HZ is 100 for every
        // program.
        let ticks: u64 = words.nth(7)?.parse().ok()?;
        Some((CpuId(cpu), Nanos::from_millis(ticks.saturating_mul(10))))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn quantum_and_throttling_are_read() {
        let root = machine(&[
            ("proc/sys/kernel/sched_rr_timeslice_ms", "90\n"),
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ]);
        let (settings, notes) = settings(root.path(), "0-1".parse().unwrap(), None);
        assert_eq!(settings.rr_quantum_ns, Some(Nanos::from_millis(90)));
        assert_eq!(settings.limit.as_ref().unwrap().runtime_ns, Nanos::from_millis(950));
        assert!(is_throttled(&settings) && notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn the_fair_server_counts_where_it_can_be_seen() {
        let root = machine(&[
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("sys/kernel/debug/sched/fair_server/cpu1/runtime", "50000000\n"),
            ("sys/kernel/debug/sched/fair_server/cpu1/period", "1000000000\n"),
        ]);
        let (settings, _) = settings(root.path(), "0-1".parse().unwrap(), Some(true));
        assert!(settings.limit.unwrap().by.contains("fair server"));
    }

    #[test]
    fn only_kernels_with_a_fair_server_and_without_groups_spare_threads_that_nobody_waits_for() {
        for (release, groups, always) in
            [("6.1.0-rt", None, true), ("6.12.0", Some(false), false), ("6.18.44", Some(true), true), ("", None, false)]
        {
            let root = machine(&[
                ("proc/sys/kernel/osrelease", release),
                ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
                ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ]);
            let limit = settings(root.path(), "0".parse().unwrap(), groups).0.limit.unwrap();
            assert_eq!((limit.always, limit.by.starts_with("RT throttling")), (always, always), "{release}");
        }
    }

    #[test]
    fn a_cgroup_with_the_cpu_controller_and_a_session_are_groups() {
        let files: &[(&[(&str, &str)], bool)] = &[
            (&[("proc/self/cgroup", "4:memory:/a\n1:cpu,cpuacct:/\n0::/\n")], false),
            (&[("proc/self/cgroup", "1:cpu,cpuacct:/a\n0::/\n")], true),
            (&[("proc/self/cgroup", "0::/user.slice\n")], true),
            (&[("proc/self/autogroup", "/autogroup-7 nice 0\n")], false),
            (
                &[("proc/self/autogroup", "/autogroup-7 nice 0\n"), ("proc/sys/kernel/sched_autogroup_enabled", "1\n")],
                true,
            ),
        ];
        for (files, grouped) in files {
            assert_eq!(is_grouped(machine(files).path()), *grouped, "{files:?}");
        }
    }

    #[test]
    fn what_is_off_or_unreadable_is_no_bound() {
        let off = machine(&[("proc/sys/kernel/sched_rt_runtime_us", "-1\n")]);
        for root in [off, machine(&[])] {
            let (settings, notes) = settings(root.path(), "0".parse().unwrap(), Some(false));
            assert!(settings.limit.is_none() && !is_throttled(&settings));
            assert_eq!(notes.len(), 2, "{notes:?}");
        }
    }

    #[test]
    fn the_earliest_advance_of_the_coarse_clock_is_that_of_the_tick() {
        // Ticks at 3, 7, 11 … ms, of which every third is seen 1 ms late.
        let now = std::cell::Cell::new(Nanos::from_millis(100));
        let advance = || {
            now.set(now.get() + Nanos::from_micros(50));
            now.get()
        };
        let coarse = || {
            let tick = (now.get().0 / 1_000_000 + 1) / 4;
            let late = tick.is_multiple_of(3) && (now.get().0 / 1_000_000 + 1).is_multiple_of(4);
            Nanos(if late { tick - 1 } else { tick })
        };
        let found = phase(Nanos::from_millis(4), coarse, advance);
        assert!(found.0.abs_diff(3_000_000) <= 50_000, "{found}");
    }

    #[test]
    fn steal_is_the_eighth_figure() {
        let text = "cpu  1 2 3 4 5 6 7 8 9 0\ncpu0 1 2 3 4 5 6 7 20 0 0\ncpu1 1 2 3\nintr 5\n";
        assert_eq!(parse_steal(text), [(CpuId(0), Nanos::from_millis(200))].into());
    }
}
