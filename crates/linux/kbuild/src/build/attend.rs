//! Runs make and watches its progress and the temperature.

use super::progress::{compiled, planned};
use super::state::started;
use super::{Broken, Job, Log, MAKE, Progress, State, has_dtbs, has_modules, make};
use crate::KbuildError;
use crate::files::DAY;
use punctual_kernel::programs::{ProgramError, run};
use punctual_watchdog::{GRACE, PROGRAMS};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(250);
/// Interval between temperature readings and progress reports.
const SHOW: Duration = Duration::from_secs(2);

/// Builds headers and scripts: without them a dry run cannot list what to compile.
pub fn prepare(job: &Job, log: &Log) -> Result<(), KbuildError> {
    let begin = length(log)?;
    let mut make = make(job);
    make.arg(format!("-j{}", job.jobs))
        .args(["prepare"])
        .args(has_modules(job).then_some("modules_prepare"))
        .stdin(Stdio::null());
    let status =
        punctual_watchdog::status(make.stdout(shared(log)?).stderr(shared(log)?), PROGRAMS).map_err(missing)?;
    ended(status, log, begin)
}

/// Returns the number of objects to compile according to a dry run; `None` if the dry run failed without listing any.
/// If vmlinux.a does not exist yet (6.12), the dry run fails after it has listed all objects.
pub fn count(job: &Job) -> Result<Option<usize>, KbuildError> {
    let ran = run(make(job).arg("-n").args(targets(job)), b"", MAKE)?;
    let counted = planned(&String::from_utf8_lossy(&ran.stdout));
    Ok(Some(counted).filter(|counted| *counted > 0 || ran.status.success()))
}

fn targets(job: &Job) -> Vec<String> {
    let mut all = vec![job.target.clone()];
    if has_modules(job) {
        all.push("modules".to_owned());
    }
    if has_dtbs(job) {
        all.push("dtbs".to_owned());
    }
    all
}

/// Compiles, and returns how long the build was paused. make inherits the lock as standard input: if this process is
/// killed and make survives, no other build can start here.
pub fn compile(
    job: &Job,
    log: &Log,
    lock: &File,
    objects: Option<usize>,
    state: &mut State,
    report: &mut dyn FnMut(&str),
    show: &mut dyn FnMut(&Progress),
) -> Result<Duration, KbuildError> {
    let begin = length(log)?;
    let lock = lock.try_clone().map_err(KbuildError::file("share", &job.out))?;
    let mut command = ending_with_us(&make(job));
    command.arg(format!("-j{}", job.jobs)).args(targets(job));
    // A separate process group, so that all of it can be paused at once.
    let child = command.stdin(lock).stdout(shared(log)?).stderr(shared(log)?).process_group(0).spawn();
    let mut running = Running(child.map_err(missing)?);
    let pid = i32::try_from(running.0.id()).unwrap_or(0);
    state.running = started(pid).map(|start| (pid, start));
    state.done = false;
    state.write(&job.out)?;
    let (status, paused) = attend(&mut running, job, log, begin, objects, report, show)?;
    state.running = None;
    state.write(&job.out)?;
    ended(status, log, begin).map(|()| paused)
}

fn attend(
    running: &mut Running,
    job: &Job,
    log: &Log,
    begin: u64,
    of: Option<usize>,
    report: &mut dyn FnMut(&str),
    show: &mut dyn FnMut(&Progress),
) -> Result<(ExitStatus, Duration), KbuildError> {
    let mut tail = Tail::open(&log.path, begin)?;
    let (mut begun, mut worked, mut paused) = (Instant::now(), Duration::ZERO, Duration::ZERO);
    let (mut is_paused, mut shown) = (false, Instant::now());
    let limit = punctual_watchdog::limit_child(&running.0, "make", DAY);
    loop {
        if let Some(status) = running.0.try_wait().map_err(KbuildError::file("wait for", "make"))? {
            limit.ended().map_err(KbuildError::file("wait for", "make"))?;
            return Ok((status, paused));
        }
        sleep(LOOK);
        let lasted = begun.elapsed();
        begun = Instant::now();
        if is_paused {
            limit.renew();
            paused += lasted
        } else {
            worked += lasted
        }
        if shown.elapsed() < SHOW {
            continue;
        }
        shown = Instant::now();
        let hottest = job.heat.as_ref().and_then(|heat| heat.hottest());
        let wanted = job.heat.as_ref().is_some_and(|heat| heat.pauses(is_paused, hottest));
        if wanted != is_paused {
            running.signal(if wanted { Signal::STOP } else { Signal::CONT });
            is_paused = wanted;
            report(&said(is_paused, hottest, job));
        }
        let paused_at = hottest.filter(|_| is_paused);
        show(&Progress { objects: tail.objects()?, of, worked, paused_at });
    }
}

fn said(is_paused: bool, hottest: Option<i64>, job: &Job) -> String {
    let now = hottest.map_or(0.0, |now| now as f64 / 1e3);
    let back = job.heat.as_ref().map_or(0.0, |heat| heat.resume_millidegrees as f64 / 1e3);
    match is_paused {
        true => format!("paused at {now:.1} °C: resumes below {back:.0} °C"),
        false => format!("{now:.1} °C: resumed"),
    }
}

/// Wraps make so that it ends when this process ends, and does not run beside the make of a later build.
fn ending_with_us(make: &Command) -> Command {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| std::env::split_paths(&paths).any(|folder| folder.join(program).is_file());
    let mut command = Command::new("nice");
    command.args(["-n", "10"]);
    if is_there("setpriv") {
        command.args(["setpriv", "--pdeathsig", "TERM", "--"]);
    }
    command.arg(make.get_program()).args(make.get_args());
    for (name, value) in make.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        if let Some(group) = Pid::from_raw(i32::try_from(self.0.id()).unwrap_or(0)) {
            // The process group may just have ended.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.signal(Signal::TERM);
            self.signal(Signal::CONT);
            let _ = punctual_watchdog::wait(&mut self.0, "make, ended,", GRACE);
        }
    }
}

/// Reads each line of a growing log once.
struct Tail {
    file: File,
    rest: Vec<u8>,
    objects: usize,
    path: std::path::PathBuf,
}

impl Tail {
    fn open(path: &Path, begin: u64) -> Result<Tail, KbuildError> {
        let mut file = File::open(path).map_err(KbuildError::file("read", path))?;
        file.seek(SeekFrom::Start(begin)).map_err(KbuildError::file("read", path))?;
        Ok(Tail { file, rest: Vec::new(), objects: 0, path: path.to_owned() })
    }

    fn objects(&mut self) -> Result<usize, KbuildError> {
        self.file.read_to_end(&mut self.rest).map_err(KbuildError::file("read", &self.path))?;
        if let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') {
            let lines: Vec<u8> = self.rest.drain(..=end).collect();
            self.objects += compiled(&String::from_utf8_lossy(&lines));
        }
        Ok(self.objects)
    }
}

fn length(log: &Log) -> Result<u64, KbuildError> {
    log.file.metadata().map(|meta| meta.len()).map_err(KbuildError::file("read", &log.path))
}

fn shared(log: &Log) -> Result<File, KbuildError> {
    log.file.try_clone().map_err(KbuildError::file("share", &log.path))
}

fn ended(status: ExitStatus, log: &Log, begin: u64) -> Result<(), KbuildError> {
    if status.success() {
        return Ok(());
    }
    let mut file = File::open(&log.path).map_err(KbuildError::file("read", &log.path))?;
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(begin)).and_then(|_| file.read_to_end(&mut bytes));
    read.map_err(KbuildError::file("read", &log.path))?;
    let broken = Broken::of(&String::from_utf8_lossy(&bytes), status.to_string(), &log.path);
    Err(KbuildError::Broken(Box::new(broken)))
}

fn missing(source: std::io::Error) -> KbuildError {
    let program = "make".to_owned();
    KbuildError::Program(match source.kind() {
        ErrorKind::NotFound => ProgramError::Missing { program, remedy: MAKE },
        _ => ProgramError::Failed { program, source },
    })
}
