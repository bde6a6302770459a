use crate::error::RunError;
use crate::json::{Circumstances, SysInfo};
use crate::options::{Asked, Options, UsageError, parse};
use crate::output::{print, warn};
use crate::plan::{Plan, plan};
use crate::sleeper::Method;
use crate::stat::{Keep, Stat};
use crate::watch::Watch;
use crate::worker::{self, Settings, Shared, Start, common_start};
use crate::{idle, report, text};
use jiff::Timestamp;
use punctual_journal::Lease;
use punctual_machine::{Live, Machine};
use punctual_uapi as uapi;
use punctual_units::CpuList;
use punctual_watchdog as watchdog;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::time::ClockId;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::time::Duration;

/// Runs `punctual cyclictest WORDS` and prints the output of cyclictest. Returns its exit code, which is 0 also for
/// interrupted runs.
///
/// # Errors
/// [`RunError`], for which cyclictest exits with 1.
pub fn run(words: &[OsString]) -> Result<u8, RunError> {
    let options = match parse(words)? {
        Asked::Help => {
            print(crate::HELP);
            return Ok(0);
        }
        Asked::Run(options) => *options,
    };
    // The time limit includes the time of the program that reads the output.
    match options.duration {
        Some(duration) => watchdog::measuring("the measurement", Duration::from_nanos(duration.0)),
        None => watchdog::unlimited(),
    }
    let live = Live::new();
    let cpus = Cpus::read(&live)?;
    let plan = plan(&options, &cpus.online, &cpus.allowed, &cpus.isolated)?;
    options.warnings.iter().chain(&plan.warnings).for_each(|warning| warn(warning));
    check(&options, &plan)?;
    if options.verbose {
        print(&text::cpus(cpus.possible, cpus.online.len()));
    }
    let held = prepare(&options, &plan)?;
    let begun = Timestamp::now();
    let interrupts = smi(&options, &plan)?;
    let shared = measure(&options, &plan)?;
    let interrupts: Vec<u64> =
        smi(&options, &plan)?.iter().zip(interrupts).map(|(after, before)| after.saturating_sub(before)).collect();
    drop(held);
    let when = Circumstances {
        start: date(begun),
        end: date(Timestamp::now()),
        return_code: 0,
        system: SysInfo::of_this_machine(live.read("/sys/kernel/realtime").text() == Some("1")),
    };
    report::report(&options, &plan, (&shared, &interrupts), &when)?;
    Ok(0)
}

struct Cpus {
    /// Number of possible CPUs, from /sys/devices/system/cpu/possible.
    possible: usize,
    online: CpuList,
    /// CPUs that this process may use: sched_getaffinity(2).
    allowed: CpuList,
    isolated: CpuList,
}

impl Cpus {
    fn read(live: &Live) -> Result<Cpus, RunError> {
        let allowed = uapi::affinity(0).map_err(|e| RunError::Refused(format!("cannot read the CPU affinity: {e}")))?;
        // Without /sys, the CPUs that this process may use are assumed to be online.
        let online = list(live, "/sys/devices/system/cpu/online").unwrap_or_else(|| allowed.clone());
        let possible = list(live, "/sys/devices/system/cpu/possible").map_or(online.len(), |list| list.len());
        let isolated = list(live, "/sys/devices/system/cpu/isolated").unwrap_or_default();
        Ok(Cpus { possible, online, allowed, isolated })
    }
}

fn check(options: &Options, plan: &Plan) -> Result<(), RunError> {
    if options.system && options.posix_timers && plan.threads.len() > 1 {
        return Err(UsageError("-s -x use the interval timer, of which a process has only one: add -t 1".into()).into());
    }
    let memory = options.histogram.unwrap_or_default().saturating_mul(16).saturating_mul(plan.threads.len());
    if memory > 1 << 30 {
        warn(&format!("the histograms take {} MiB", memory >> 20));
    }
    // Files that cannot be written are reported now instead of after hours of measurement.
    for path in [&options.json, &options.histfile].into_iter().flatten() {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if !folder.is_dir() {
            return Err(RunError::Refused(format!(
                "{}: directory {} does not exist",
                path.display(),
                folder.display()
            )));
        }
    }
    Ok(())
}

struct Held {
    _latency: Option<File>,
    _states: Option<Lease>,
}

fn prepare(options: &Options, plan: &Plan) -> Result<Held, RunError> {
    if options.resolution {
        resolution();
    }
    if options.mlockall {
        mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE).map_err(|e| {
            RunError::Refused(format!(
                "mlockall: {e}: raise the memlock limit in /etc/security/limits.d, or run as root"
            ))
        })?;
    }
    let measured: CpuList = plan.threads.iter().filter_map(|thread| thread.cpu).collect();
    let states = match options.deepest_idle_state {
        Some(_) if measured.is_empty() => {
            return Err(UsageError("--deepest-idle-state needs -a or -S".into()).into());
        }
        Some(deepest) => {
            Some(idle::limit(&measured, deepest).map_err(|e| RunError::Refused(format!("--deepest-idle-state: {e}")))?)
        }
        None => None,
    };
    let wanted = options.dma_latency.filter(|_| states.is_none());
    let latency = wanted.and_then(|us| match idle::hold(us) {
        Ok(file) => {
            print(&text::latency_held(us));
            Some(file)
        }
        Err(e) => {
            warn(&format!("/dev/cpu_dma_latency: {e}: CPUs may enter any idle state"));
            None
        }
    });
    options.not_held.iter().for_each(|why| warn(why));
    Ok(Held { _latency: latency, _states: states })
}

fn settings(options: &Options) -> Settings {
    let unit = if options.nsecs { 1 } else { 1000 };
    let method = match (options.posix_timers, options.system) {
        (true, true) => Method::IntervalTimer,
        (true, false) => Method::Timer { is_relative: options.relative },
        (false, true) => Method::System,
        (false, false) if options.relative => Method::Relative,
        (false, false) => Method::Absolute,
    };
    let realtime = options.realtime_clock && !matches!(method, Method::System | Method::IntervalTimer);
    let start = match (options.aligned, options.secaligned) {
        (Some(offset), _) => Start::Aligned(offset.0),
        (_, Some(offset)) => Start::Second(offset.0),
        _ => Start::AtOnce,
    };
    Settings {
        method,
        clock: if realtime { ClockId::Realtime } else { ClockId::Monotonic },
        unit,
        limit: options.breaktrace.map(|limit| limit.0 / unit),
        spike: options.spike.map(|spike| spike.0 / unit),
        loops: options.loops,
        start,
    }
}

fn measure(options: &Options, plan: &Plan) -> Result<Arc<Shared>, RunError> {
    let failed = |what: &str, e: &dyn std::fmt::Display| RunError::Refused(format!("{what}: {e}"));
    let count = plan.threads.len();
    let keep = Keep {
        bins: options.histogram.unwrap_or(0),
        values: options.verbose,
        spikes: options.spike.map_or(0, |_| options.spike_nodes),
    };
    let mut watch = Watch::new(options, plan).map_err(|e| failed("signals", &e))?;
    let shared = Arc::new(Shared {
        settings: settings(options),
        stats: plan.threads.iter().map(|_| Stat::new(keep)).collect(),
        stop: AtomicBool::new(false),
        finished: AtomicUsize::new(0),
        ready: Barrier::new(count + 1),
        go: Barrier::new(count + 1),
        start: AtomicU64::new(0),
        refused: Mutex::new(None),
        broke: (AtomicI64::new(0), AtomicU64::new(0)),
        trace: trace(options)?,
    });
    let starting = watchdog::limit("the start of the threads", watchdog::SHORT);
    let threads = spawn(&shared, plan)?;
    keep_off(plan);
    shared.ready.wait();
    shared.start.store(common_start(&shared.settings, count), Relaxed);
    let is_refused = || shared.refused.lock().unwrap_or_else(PoisonError::into_inner).clone();
    shared.stop.store(is_refused().is_some(), Relaxed);
    shared.go.wait();
    drop(starting);
    watch.until_the_end(&shared);
    let _ending = watchdog::limit("the end of the threads", watchdog::SHORT);
    end(&shared, threads);
    match is_refused() {
        Some(what) => Err(RunError::Refused(what)),
        None => Ok(shared),
    }
}

fn spawn(shared: &Arc<Shared>, plan: &Plan) -> Result<Vec<std::thread::JoinHandle<()>>, RunError> {
    let mut threads = Vec::new();
    for (index, line) in plan.threads.iter().enumerate() {
        let (mine, line) = (Arc::clone(shared), line.clone());
        let builder = std::thread::Builder::new().name("cyclictest".into()).stack_size(128 * 1024);
        match builder.spawn(move || worker::run(&mine, index, &line)) {
            Ok(thread) => threads.push(thread),
            // Threads waiting at the barrier end with the process.
            Err(e) => return Err(RunError::Refused(format!("thread {index}: {e}"))),
        }
    }
    Ok(threads)
}

/// Ends the threads, including those in a long sleep.
fn end(shared: &Shared, threads: Vec<std::thread::JoinHandle<()>>) {
    shared.stop.store(true, Relaxed);
    while shared.finished.load(Relaxed) < threads.len() {
        for tid in shared.stats.iter().filter_map(|stat| i32::try_from(stat.tid.load(Relaxed)).ok()) {
            // A thread that has ended need not be woken.
            let _ = uapi::wake(tid);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    threads.into_iter().for_each(|thread| drop(thread.join()));
}

/// MSR_SMI_COUNT of Intel processors since Nehalem.
const SMI_COUNT: u64 = 0x34;

/// Returns the number of system management interrupts so far on each thread's CPU; empty if not requested. It is called
/// only before and after the run, because each read interrupts the CPU.
fn smi(options: &Options, plan: &Plan) -> Result<Vec<u64>, RunError> {
    if !options.smi {
        return Ok(Vec::new());
    }
    let count = |thread: &crate::plan::ThreadPlan| {
        let Some(cpu) = thread.cpu else { return Err(RunError::from(UsageError("--smi needs -a or -S".into()))) };
        let path = format!("/dev/cpu/{cpu}/msr");
        let mut bytes = [0; 8];
        let read = File::open(&path).and_then(|file| file.read_exact_at(&mut bytes, SMI_COUNT));
        read.map_err(|e| {
            RunError::Refused(format!("--smi: {path}: {e}: needs an Intel processor, root, and modprobe msr"))
        })?;
        Ok(u64::from_le_bytes(bytes) & u64::from(u32::MAX))
    };
    plan.threads.iter().map(count).collect()
}

/// Moves this thread, which prints, away from the measured CPUs.
fn keep_off(plan: &Plan) {
    if plan.main.is_empty() {
        return;
    }
    if let Err(e) = uapi::set_affinity(0, &plan.main) {
        warn(&format!("the main thread could not be moved to CPU {}: {e}", plan.main));
    }
}

/// Opens trace_marker and tracing_on if a latency above the limit is to be marked in the trace.
fn trace(options: &Options) -> Result<Option<(File, File)>, RunError> {
    if !options.tracemark {
        return Ok(None);
    }
    let root = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .into_iter()
        .find(|root| Path::new(root).join("tracing_on").exists());
    let Some(root) = root else {
        return Err(RunError::Refused(
            "--tracemark: tracefs is not mounted, or only accessible to root: run as root".into(),
        ));
    };
    let open = |name: &str| {
        let path = format!("{root}/{name}");
        File::options().write(true).open(&path).map_err(|e| RunError::Refused(format!("--tracemark: {path}: {e}")))
    };
    Ok(Some((open("trace_marker")?, open("tracing_on")?)))
}

fn resolution() {
    let reported = rustix::time::clock_getres(ClockId::Monotonic);
    let reported = reported.tv_sec as u64 * 1_000_000_000 + reported.tv_nsec as u64;
    text::resolution(reported, punctual_rt::clock_read_cost()).iter().for_each(|line| warn(line));
}

/// Reads a CPU list; `None` if the file cannot be read.
fn list(live: &Live, path: &str) -> Option<CpuList> {
    live.read(path).text()?.parse().ok()
}

/// Formats a time as `Fri, 20 Nov 2026 21:04:11 +0000`.
fn date(time: Timestamp) -> String {
    time.strftime("%a, %d %b %Y %T %z").to_string()
}
