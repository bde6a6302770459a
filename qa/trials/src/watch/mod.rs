//! `cargo trials watch`: runs `punctual watch` for hours with intermittent loads and injected maxima, and records its
//! memory, its files, its CPU time and the causes that it names. The results can be scored at any time, even while the
//! trial runs or after it has been interrupted.

mod score;

use crate::built::missing;
use crate::random::random;
use punctual_inject::{Held, hold_once};
use punctual_model::Watch;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Interval between samples of memory, files and CPU time.
const SAMPLE: Duration = Duration::from_secs(10);
/// Shortest and longest interval between injected maxima, s.
const INJECT_EVERY: (f64, f64) = (150.0, 300.0);
/// Shortest and longest duration of a load, and of the pauses between loads, s.
const LOAD_RUNS: (f64, f64) = (5.0, 20.0);
const LOAD_RESTS: (f64, f64) = (30.0, 120.0);
const LOADS: [&str; 5] = ["cpu", "memory", "io", "scheduler", "timers"];
/// Longest injected delay, ns. Throttling of real-time threads would interfere with longer delays.
const LONGEST: u64 = 400_000_000;

/// Names of the files and folders in the trial's directory.
pub(crate) const SERIES: &str = "series";
pub(crate) const SAMPLES: &str = "samples.jsonl";
pub(crate) const INJECTED: &str = "injected.jsonl";

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Time since the trial began, s.
    pub seconds: f64,
    pub rss_bytes: u64,
    /// CPU time of the watch and its children, ticks.
    pub cpu_ticks: u64,
    /// Total size of the watch's files, bytes.
    pub file_bytes: u64,
    /// Disk space that the watch's files occupy, bytes.
    pub disk_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Injection {
    pub cpu: u32,
    pub comm: String,
    /// Largest latency of the CPU before the injection, ns.
    pub before_ns: u64,
    pub held: Held,
}

/// Run `punctual watch` for hours with loads and injected maxima, and score it (docs/watch.md); as root
///
/// Scores memory, files and CPU time, and whether every injected maximum is traced and its cause named.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// How long to watch, in hours
    #[arg(long, value_name = "H", default_value_t = 2.0)]
    hours: f64,
    /// Program to test
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// New directory for the recordings
    #[arg(long, value_name = "DIR", default_value = "target/watch-soak")]
    out: PathBuf,
    /// Score the recordings of an earlier or running trial in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if wanted.score.is_none() {
        soak(wanted)?;
    }
    let (text, passed) = score::of(wanted.score.as_ref().unwrap_or(&wanted.out))?;
    print!("{text}");
    if passed { Ok(()) } else { Err("the soak does not meet its targets".into()) }
}

fn soak(wanted: &Wanted) -> Result<(), String> {
    fs::create_dir_all(&wanted.out).map_err(|e| format!("{}: {e}", wanted.out.display()))?;
    let series = wanted.out.join(SERIES);
    let log = new(&wanted.out.join("watch.log"))?;
    let mut child = Command::new(&wanted.punctual)
        .args(["watch", "--trace", "always", "--duration", &format!("{}s", (wanted.hours * 3600.0) as u64)])
        .args([
            "--out".as_ref(),
            series.as_os_str(),
            "--textfile".as_ref(),
            wanted.out.join("punctual.prom").as_os_str(),
        ])
        .stdout(log.try_clone().map_err(|e| e.to_string())?)
        .stderr(log)
        .spawn()
        .map_err(|e| missing(&wanted.punctual, &e))?;
    let soaked = Soak { wanted, series, pid: child.id(), begun: Instant::now() }.until_ended(&mut child);
    let status = child.wait().map_err(|e| e.to_string())?;
    soaked?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("watch ended with {status}: see {}", wanted.out.join("watch.log").display()))
    }
}

struct Soak<'a> {
    wanted: &'a Wanted,
    series: PathBuf,
    pid: u32,
    begun: Instant,
}

impl Soak<'_> {
    fn until_ended(&self, watch: &mut Child) -> Result<(), String> {
        let (mut samples, mut injected) = (new(&self.wanted.out.join(SAMPLES))?, new(&self.wanted.out.join(INJECTED))?);
        let (mut next_injection, mut next_load) = (40.0, 20.0);
        let (mut load, mut number): (Option<Child>, u32) = (None, 0);
        while watch.try_wait().map_err(|e| e.to_string())?.is_none() {
            let seconds = self.begun.elapsed().as_secs_f64();
            line(&mut samples, &self.sample(seconds)?)?;
            if load.as_mut().is_some_and(|load| load.try_wait().is_ok_and(|ended| ended.is_some())) {
                (load, next_load) = (None, seconds + between(LOAD_RESTS));
            }
            if load.is_none() && seconds >= next_load {
                load = Some(self.load()?);
            }
            if seconds >= next_injection {
                number += 1;
                next_injection = seconds + between(INJECT_EVERY);
                if let Some(injection) = self.inject(number)? {
                    line(&mut injected, &injection)?;
                }
            }
            sleep(SAMPLE.saturating_sub(self.begun.elapsed().saturating_sub(Duration::from_secs_f64(seconds))));
        }
        load.into_iter().for_each(|mut load| drop(load.wait()));
        Ok(())
    }

    fn sample(&self, seconds: f64) -> Result<Sample, String> {
        let read = |name: &str| {
            fs::read_to_string(format!("/proc/{}/{name}", self.pid)).map_err(|e| format!("the watch: {e}"))
        };
        let (stat, statm) = (read("stat")?, read("statm")?);
        let ticks = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().skip(11).take(4);
        let pages: u64 = statm.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
        let (file_bytes, disk_bytes) = files(&self.series);
        let rss_bytes = pages * rustix::param::page_size() as u64;
        Ok(Sample {
            seconds,
            rss_bytes,
            cpu_ticks: ticks.filter_map(|t| t.parse::<u64>().ok()).sum(),
            file_bytes,
            disk_bytes,
        })
    }

    /// Starts a built-in load through a measurement whose result is not used.
    fn load(&self) -> Result<Child, String> {
        let name = LOADS[(random() * LOADS.len() as f64) as usize % LOADS.len()];
        let out = self.wanted.out.join("load.run");
        let _ = fs::remove_dir_all(&out);
        Command::new("nice")
            .args(["-n".as_ref(), "5".as_ref(), self.wanted.punctual.as_os_str()])
            .args(["measure", "--quiet", "--no-context", "--policy", "other", "--period", "1s", "--write-cap", "64"])
            .args(["--load", name, "--duration", &format!("{:.0}s", between(LOAD_RUNS)), "--out"])
            .arg(&out)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot start a load: {e}"))
    }

    /// Makes one CPU later than it has ever been, with a thread of FIFO priority 95. Returns `None` if no release is
    /// known yet, or if that would take too long.
    fn inject(&self, number: u32) -> Result<Option<Injection>, String> {
        let text = fs::read(self.series.join("watch.json")).map_err(|e| format!("watch.json: {e}"))?;
        let watch: Watch = serde_json::from_slice(&text).map_err(|e| format!("watch.json: {e}"))?;
        let one = watch.cpus.get((random() * watch.cpus.len() as f64) as usize);
        let Some((one, release)) = one.and_then(|one| Some((one, one.release_mono_ns?))) else { return Ok(None) };
        let before_ns = one.since_start_ns.unwrap_or(0);
        let size = (before_ns + before_ns / 8).max(before_ns + 500_000);
        if size > LONGEST {
            return Ok(None);
        }
        let (now, period) = (rustix::time::clock_gettime(rustix::time::ClockId::Monotonic), watch.settings.period_ns.0);
        let soon = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64 + 300_000_000;
        let at = release + soon.saturating_sub(release).div_ceil(period) * period;
        let comm = format!("injected-{number}");
        let held = hold_once(&comm, one.cpu.0, 95, at, size).map_err(|e| e.to_string())?;
        Ok(Some(Injection { cpu: one.cpu.0, comm, before_ns, held }))
    }
}

fn between((from, to): (f64, f64)) -> f64 {
    from + random() * (to - from)
}

fn new(path: &Path) -> Result<File, String> {
    File::create_new(path).map_err(|e| format!("{}: {e}; choose a new directory with --out", path.display()))
}

fn line(file: &mut File, value: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string(value).map_err(|e| e.to_string())? + "\n";
    file.write_all(text.as_bytes()).map_err(|e| format!("cannot write a sample: {e}"))
}

/// Returns the size of all files below a folder, and the disk space of its files and directories, bytes. Files that
/// disappear in the meantime count as 0.
fn files(folder: &Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let each = |entry: fs::DirEntry| {
        let Ok(meta) = entry.metadata() else { return (0, 0) };
        let below = if meta.is_dir() { files(&entry.path()) } else { (meta.len(), 0) };
        (below.0, below.1 + meta.blocks() * 512)
    };
    entries.map(each).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}
