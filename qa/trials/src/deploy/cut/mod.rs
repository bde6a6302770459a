//! `cargo trials deploy cut`: cuts the link of a deployment over ssh at random points and restarts the machine each
//! time. Checks what the machine boots then, and whether it responds. At the end a deployment must succeed, be
//! committed, and be removed completely.

mod machine;
mod plan;
mod relay;

use super::Bench;
use machine::{Machine, Up};
use plan::{At, Cut, Link, Restart, cuts};
use punctual_vm::Cache;
use relay::Relay;
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(100);
/// Time limit of a deployment to an emulated machine on a busy host.
const LIMIT: Duration = Duration::from_secs(1800);

/// Options of this trial.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Request {
    /// Number of cuts (cut only)
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub cuts: usize,
    /// Seed of the points at which the link is cut (cut only)
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub seed: u64,
}

struct Series<'b> {
    bench: &'b Bench,
    cache: Cache,
    /// Cuts that are still to be made, taken from the end. The last ones are made while bytes are sent.
    left: Mutex<Vec<(usize, Cut)>>,
    /// How long a whole deployment runs on the machine, as measured on the first machine; `Err` if that failed.
    installing: Mutex<Option<Result<Duration, String>>>,
    failed: Mutex<Vec<String>>,
}

/// Makes the cuts, on `jobs` machines in parallel.
pub fn run(bench: &Bench, request: Request) -> Result<String, String> {
    let cache = Cache::usual().map_err(|e| e.to_string())?;
    let mut left: Vec<(usize, Cut)> = (1..).zip(cuts(request.cuts, request.seed)).collect();
    left.sort_by_key(|(_, cut)| matches!(cut.at, At::Sending(_)));
    let (left, installing, failed) = (Mutex::new(left), Mutex::new(None), Mutex::new(Vec::new()));
    let series = Series { bench, cache, left, installing, failed };
    let jobs = bench.jobs.clamp(1, request.cuts.max(1));
    println!("{} cuts, seed {}, {jobs} machines; consoles in {}", request.cuts, request.seed, bench.folder.display());
    std::thread::scope(|scope| {
        for job in 0..jobs {
            let series = &series;
            scope.spawn(move || {
                let result = series.on_one(job);
                let Err(why) = result else { return };
                series.failed(format!("machine-{job}: {why}"));
                if let (0, Ok(mut installing)) = (job, series.installing.lock()) {
                    installing.get_or_insert(Err(why));
                }
            });
        }
    });
    let failed = series.failed.into_inner().map_err(|e| e.to_string())?;
    let left = series.left.into_inner().map_err(|e| e.to_string())?.len();
    match (failed.is_empty(), left) {
        (true, 0) => {
            Ok(format!("{0} of {0} booted and responded; deployed again, committed, undone to the byte", request.cuts))
        }
        _ => Err(format!("{left} cuts not made; {}", failed.join("; "))),
    }
}

impl Series<'_> {
    fn failed(&self, why: String) {
        println!("FAILED  {why}");
        if let Ok(mut failed) = self.failed.lock() {
            failed.push(why);
        }
    }

    fn next(&self) -> Option<(usize, Cut)> {
        self.left.lock().ok()?.pop()
    }

    /// Does the work of one machine: makes cuts until none are left, then deploys without a cut.
    fn on_one(&self, job: usize) -> Result<(), String> {
        let mut machine = Machine::new(self.bench, &self.cache, &format!("machine-{job}"))?;
        let up = machine.boot()?;
        println!("machine-{job}: {} is up after {} s", up.release, up.seconds);
        if job == 0 {
            let measured = whole(self.bench, &machine)?;
            println!("machine-0: a whole deployment runs there for {:.1} s", measured.as_secs_f64());
            self.installing.lock().map_err(|e| e.to_string())?.get_or_insert(Ok(measured));
            machine.punctual("rollback")?;
        }
        while let Some((number, cut)) = self.next() {
            match self.point(cut, &machine).and_then(|point| one(self.bench, &mut machine, point, cut, &up.release)) {
                Ok(result) => println!("cut {number:2}: {result}"),
                Err(why) => {
                    self.failed(format!("cut {number}, {cut:?}: {why}"));
                    machine.cut_power();
                    machine.boot()?;
                }
            }
        }
        last(self.bench, &mut machine, &up.release)?;
        println!("machine-{job}: deployed, tried, committed, rolled back: every byte as before");
        Ok(())
    }

    /// Converts the share in `cut` to a number of bytes or to a time. For a time, waits until the first machine has
    /// been measured.
    fn point(&self, cut: Cut, machine: &Machine) -> Result<Point, String> {
        let share = match cut.at {
            At::Sending(share) => {
                let package = machine.package.metadata().map_err(|e| e.to_string())?.len();
                let bytes = self.bench.program.content.len() as u64 + package;
                return Ok(Point::Byte((bytes as f64 * share) as u64));
            }
            At::Installing(share) => share,
        };
        loop {
            if let Some(measured) = self.installing.lock().map_err(|e| e.to_string())?.clone() {
                return Ok(Point::Time(measured?.mul_f64(share)));
            }
            sleep(LOOK);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Point {
    Byte(u64),
    Time(Duration),
}

fn controller(bench: &Bench, machine: &Machine, port: u16) -> Result<Child, String> {
    let log = machine.folder.join("controller");
    let log = File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let other = log.try_clone().map_err(|e| e.to_string())?;
    let mut command = Command::new(&bench.path);
    command.args(["kernel", "deploy"]).arg(&machine.package).args(["--limit", "300s"]);
    command.arg("--target").arg(format!("ssh://root@127.0.0.1:{port}")).arg("--ssh-config").arg(&machine.config);
    command.process_group(0).stdin(Stdio::null()).stdout(log).stderr(other);
    command.spawn().map_err(|e| format!("{}: {e}", bench.path.display()))
}

fn ended(child: &mut Child, machine: &Machine) -> Result<(), String> {
    let begun = Instant::now();
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => {
                let said = std::fs::read_to_string(machine.folder.join("controller")).unwrap_or_default();
                return Err(format!("the deployment ended with {status}: {said}"));
            }
            None if begun.elapsed() > LIMIT => {
                kill(child);
                return Err("the deployment took too long".to_owned());
            }
            None => sleep(LOOK),
        }
    }
}

fn kill(child: &mut Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    let _ = child.wait();
}

/// Deploys without a cut. Returns how long the command ran on the machine.
fn whole(bench: &Bench, machine: &Machine) -> Result<Duration, String> {
    let mut child = controller(bench, machine, machine.port)?;
    let (begun, mut started, mut done) = (Instant::now(), None, None);
    while child.try_wait().map_err(|e| e.to_string())?.is_none() && begun.elapsed() < LIMIT {
        let at = machine.at();
        if started.is_none() && is_installing(&at) {
            started = Some(Instant::now());
        }
        if at == "done" && done.is_none() {
            done = Some(Instant::now());
        }
        sleep(LOOK);
    }
    let end = done.unwrap_or_else(Instant::now);
    ended(&mut child, machine)?;
    started
        .map(|at| end.duration_since(at))
        .ok_or_else(|| "the machine never reported that it is installing".to_owned())
}

/// Returns true if the command is running on the machine, according to the machine's report.
fn is_installing(at: &str) -> bool {
    !["nothing", "program", "program-there", "package", "sent"].contains(&at)
}

/// Deploys, cuts the link and restarts the machine. Returns the outcome.
fn one(bench: &Bench, machine: &mut Machine, point: Point, cut: Cut, old: &str) -> Result<String, String> {
    // Files that already exist would not be sent again.
    let sent = if matches!(cut.at, At::Sending(_)) { "remote" } else { "remote/jobs" };
    // Long enough for the machine to report its new state.
    machine.shell(&format!("rm -rf .cache/punctual/{sent}; sync; sleep 2"))?;
    let limit = if let Point::Byte(byte) = point { Some(byte) } else { None };
    let relay = Relay::start(machine.port, limit)?;
    let mut child = controller(bench, machine, relay.port)?;
    let place = wait_for(&mut child, machine, &relay, point)?;
    relay.die();
    let at = machine.at();
    kill(&mut child);
    // Unless the link is killed, the dead relay is dropped only when the machine is down.
    let relay = if cut.link == Link::Killed {
        drop(relay);
        None
    } else {
        Some(relay)
    };
    sleep(cut.after);
    let then = machine.at();
    match cut.restart {
        Restart::Power => machine.cut_power(),
        Restart::Reboot => machine.restart()?,
    }
    drop(relay);
    let up = machine.boot()?;
    let end = settled(machine, &up, old)?;
    Ok(format!(
        "{place}, at `{at}`, link {:?}; {:?} {:.1} s later at `{then}`; {} up after {} s{end}",
        cut.link,
        cut.restart,
        cut.after.as_secs_f64(),
        up.release,
        up.seconds,
    ))
}

/// Waits until the point is reached or the controller has ended. Returns which of the two happened, as text.
fn wait_for(child: &mut Child, machine: &Machine, relay: &Relay, point: Point) -> Result<String, String> {
    let (begun, mut started) = (Instant::now(), None);
    loop {
        if started.is_none() && is_installing(&machine.at()) {
            started = Some(Instant::now());
        }
        let installing = started.map_or(Duration::ZERO, |at: Instant| at.elapsed());
        match point {
            Point::Byte(byte) if relay.is_dead() => return Ok(format!("byte {byte}")),
            Point::Time(time) if installing > time => {
                return Ok(format!("{:.1} s of the installation", installing.as_secs_f64()));
            }
            _ => {}
        }
        if child.try_wait().map_err(|e| e.to_string())?.is_some() {
            ended(child, machine)?;
            return Ok("after its end".to_owned());
        }
        if begun.elapsed() > LIMIT {
            kill(child);
            return Err(format!("{point:?} was not reached"));
        }
        sleep(LOOK);
    }
}

/// Checks that the old kernel is running, or the new one on trial; in the latter case the next restart must return to
/// the old one.
fn settled(machine: &mut Machine, up: &Up, old: &str) -> Result<String, String> {
    let status =
        |machine: &Machine| machine.punctual("status").map(|text| text.lines().next().unwrap_or_default().to_owned());
    if !up.is_trial {
        return match up.release == old {
            true => Ok(format!(": {}", status(machine)?)),
            false => Err(format!("{} boots by default, not {old}", up.release)),
        };
    }
    let trial = status(machine)?;
    machine.restart()?;
    let back = machine.boot()?;
    if back.is_trial || back.release != old {
        return Err(format!("{trial}, but the next boot is {}, not {old}", back.release));
    }
    Ok(format!(": {trial}; restarted: {}: {}", back.release, status(machine)?))
}

/// Deploys without a cut, commits, and removes the deployment.
fn last(bench: &Bench, machine: &mut Machine, old: &str) -> Result<(), String> {
    let mut child = controller(bench, machine, machine.port)?;
    ended(&mut child, machine)?;
    machine.restart()?;
    let trial = machine.boot()?;
    if !trial.is_trial {
        return Err(format!("the whole deployment was not tried: {} runs", trial.release));
    }
    machine.punctual("verify -D 2s")?;
    machine.punctual("commit")?;
    machine.restart()?;
    let kept = machine.boot()?;
    if kept.is_trial || kept.release != trial.release {
        return Err(format!("{} was committed, {} runs", trial.release, kept.release));
    }
    // This kernel is running, so its files stay until the other kernel runs.
    let _ = machine.punctual("rollback");
    machine.restart()?;
    let back = machine.boot()?;
    if back.release != old {
        return Err(format!("{} runs after the rollback, not {old}", back.release));
    }
    machine.punctual("rollback")?;
    machine.shell(". /run/lab/tools/functions; list > /root/after; diff /root/before /root/after").map(drop)
}
