//! Measures the CPU time per cycle, compared with other programs.
//!
//! Both programs run at the same time on two CPUs and then swap CPUs, so that disturbances affect both. A pair is the
//! geometric mean of the two ratios. First the other program is compared with itself: if the interval of that ratio is
//! wider than the limit, the method is too imprecise on this machine, and the output says so.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

const PERIOD_US: u32 = 200;
const SETTLE: Duration = Duration::from_millis(700);
const WINDOW: Duration = Duration::from_millis(2_500);
const SECONDS: u32 = 5;

#[derive(Clone, Copy, PartialEq)]
enum Program {
    Ours,
    /// cyclictest, whose main thread wakes every 10 ms on the measured CPU.
    Cyclictest,
    /// cyclictest with `-M`: its main thread sleeps until there is a new maximum, so it wakes as rarely as punctual's.
    CyclictestQuiet,
    Bare,
    /// The bare loop, with a main thread that wakes every 10 ms, like cyclictest's main thread.
    BareTicking,
}

/// Compare the CPU time per cycle with that of cyclictest and of a bare loop that sleeps and reads the clock
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of pairs for each comparison
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub pairs: u32,
}

pub fn run(pairs: u32) -> Result<(), String> {
    println!("CPU time at {PERIOD_US} µs, FIFO 90, ratio and 95 % interval over {pairs} exchanged pairs:");
    for (a, b, name, bar) in [
        (Program::CyclictestQuiet, Program::CyclictestQuiet, "cyclictest -M / cyclictest -M (A/A)", None),
        (Program::Bare, Program::Bare, "bare loop / bare loop (A/A)", None),
        (Program::Ours, Program::Bare, "punctual / bare loop", Some(1.05)),
        (Program::Ours, Program::CyclictestQuiet, "punctual / cyclictest -M", Some(1.02)),
        (Program::Ours, Program::Cyclictest, "punctual / cyclictest", None),
        (Program::Cyclictest, Program::CyclictestQuiet, "cyclictest / cyclictest -M", None),
        (Program::BareTicking, Program::Bare, "bare loop ticking / not", None),
    ] {
        let ratios = (0..pairs).map(|_| pair(a, b)).collect::<Result<Vec<_>, _>>()?;
        let (mid, low, high) = interval(&ratios);
        let judged = match bar {
            Some(bar) if high <= bar => format!("holds: upper bound ≤ {bar}"),
            Some(bar) if low > bar => format!("FAILS: above {bar}"),
            Some(bar) => format!("not resolved against {bar} here"),
            None => String::new(),
        };
        println!("{name:38} {mid:.4} [{low:.4}, {high:.4}] {judged}");
    }
    Ok(())
}

fn pair(a: Program, b: Program) -> Result<f64, String> {
    let one = at_once(a, b, [0, 1])?;
    let two = at_once(a, b, [1, 0])?;
    Ok((one * two).sqrt())
}

fn at_once(a: Program, b: Program, cpus: [u32; 2]) -> Result<f64, String> {
    let mut first = start(a, cpus[0])?;
    let mut second = start(b, cpus[1])?;
    sleep(SETTLE);
    let before = (cpu_ns(first.id())?, cpu_ns(second.id())?);
    sleep(WINDOW);
    let after = (cpu_ns(first.id())?, cpu_ns(second.id())?);
    for child in [&mut first, &mut second] {
        let _ = child.kill();
        child.wait().map_err(|e| e.to_string())?;
    }
    Ok((after.0 - before.0) / (after.1 - before.1))
}

fn start(program: Program, cpu: u32) -> Result<Child, String> {
    let cpu = cpu.to_string();
    let mut command = match program {
        Program::Ours => {
            let mut c = Command::new(xtask::punctual());
            let out = format!("/dev/shm/punctual-bench-{}-{cpu}", std::process::id());
            let _ = fs::remove_dir_all(&out);
            c.args(["measure", "--no-context", "-q", "-p90", "-a", &cpu, "--out", &out]);
            c.args(["-i", &format!("{PERIOD_US}us"), "-D", &format!("{SECONDS}s")]);
            c
        }
        Program::Cyclictest | Program::CyclictestQuiet => {
            let mut c = Command::new("cyclictest");
            if program == Program::CyclictestQuiet {
                c.arg("-M");
            }
            c.args(["-q", "-m", "--laptop", "-p90", "-t1", "-a", &cpu, "-h", "400"]);
            c.args(["-i", &PERIOD_US.to_string(), "-D", &SECONDS.to_string()]);
            c
        }
        Program::Bare | Program::BareTicking => {
            let me = std::env::current_exe().map_err(|e| e.to_string())?;
            let mut c = Command::new("chrt");
            c.args(["-f", "90", "taskset", "-c", &cpu]).arg(me).args(["bench", "bare"]);
            c.args([(PERIOD_US * 1000).to_string(), SECONDS.to_string()]);
            if program == Program::BareTicking {
                c.arg("--ticking");
            }
            c
        }
    };
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|e| format!("{command:?}: {e}"))
}

/// Returns the CPU time of all threads of a process, ns: the first field of schedstat.
fn cpu_ns(pid: u32) -> Result<f64, String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).map_err(|e| format!("process {pid} has ended: {e}"))?;
    let mut sum = 0.0;
    for task in tasks.flatten() {
        let text = fs::read_to_string(task.path().join("schedstat")).map_err(|e| e.to_string())?;
        sum += text.split(' ').next().and_then(|w| w.parse::<f64>().ok()).ok_or("no schedstat in this kernel")?;
    }
    Ok(sum)
}

/// Returns the geometric mean and its 95 % interval (Student's t on the logarithms).
fn interval(ratios: &[f64]) -> (f64, f64, f64) {
    let n = ratios.len() as f64;
    let logs: Vec<f64> = ratios.iter().map(|r| r.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    let half = student(ratios.len().saturating_sub(1)) * (variance / n).sqrt();
    (mean.exp(), (mean - half).exp(), (mean + half).exp())
}

/// Returns the two-sided 95 % quantile of Student's t distribution.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match freedom {
        0 => f64::INFINITY,
        1..=10 => TABLE[freedom - 1],
        11..=20 => 2.201,
        21..=30 => 2.086,
        _ => 2.042,
    }
}
