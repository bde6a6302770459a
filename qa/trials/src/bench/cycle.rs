//! `bench cycle`: counts user instructions and system calls per cycle of a `punctual-rt` task, compared with bare loops
//! in C.
//!
//! A thread is single-stepped (ptrace(2)) from one clock_nanosleep(2) to the next: this needs no hardware counters, and
//! other activity on the machine is not counted.

use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::ffi::c_long;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A loop without any library: sleeps until the next release, reads the clock and, with EXECUTION, reads it again after
/// its work; keeps minimum, maximum and sum.
const BARE: &str = r#"
#include <stdint.h>
#include <time.h>
volatile uint64_t low = UINT64_MAX, high, sum, took;
int main(void) {
    struct timespec next, now, end;
    clock_gettime(CLOCK_MONOTONIC, &next);
    for (;;) {
        next.tv_nsec += 20000000;
        if (next.tv_nsec >= 1000000000) { next.tv_nsec -= 1000000000; next.tv_sec++; }
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, 0)) {}
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t late = (now.tv_sec - next.tv_sec) * 1000000000ull + (now.tv_nsec - next.tv_nsec);
        if (late < low) low = late;
        if (late > high) high = late;
        sum += late;
#ifdef EXECUTION
        clock_gettime(CLOCK_MONOTONIC, &end);
        took += (end.tv_sec - now.tv_sec) * 1000000000ull + (end.tv_nsec - now.tv_nsec);
#endif
    }
}
"#;
const CYCLES: usize = 100;
const NANOSLEEP: u64 = 230;
/// Opcode of `syscall` on x86-64.
const SYSCALL: c_long = 0x050f;

pub fn run() -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("bench cycle supports only the system call instruction of x86-64".into());
    }
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
    let bare = compiled(folder.path(), "bare", &[])?;
    let timed = compiled(folder.path(), "timed", &["-DEXECUTION"])?;
    let ours = example()?;
    let rows = [
        ("bare loop in C, one reading of the clock", measure(&bare, &[], None)?),
        ("bare loop in C, also reads the clock after its work", measure(&timed, &[], None)?),
        ("task without execution times", measure(&ours, &["lean"], Some("stepped"))?),
        ("task", measure(&ours, &[], Some("stepped"))?),
    ];
    println!(
        "cycles of 20 ms, minimum of {CYCLES}               user instructions   system calls   ratio to its bare loop"
    );
    for (n, (name, (instructions, calls))) in rows.iter().enumerate() {
        let rival = rows[n % 2].1.0;
        println!("{name:50} {instructions:14} {calls:14} {:12.2}", *instructions as f64 / rival as f64);
    }
    Ok(())
}

fn compiled(folder: &Path, name: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let (source, program) = (folder.join("bare.c"), folder.join(name));
    fs::write(&source, BARE).map_err(|e| format!("{}: {e}", source.display()))?;
    let done = Command::new("cc").arg("-O2").args(flags).arg(&source).arg("-o").arg(&program).status();
    match done {
        Ok(status) if status.success() => Ok(program),
        other => Err(format!("cc: {other:?}; install a C compiler (gcc)")),
    }
}

fn example() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "-q", "-p", "punctual-rt", "--example", "cycle", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("cargo: {e}"))?;
    let lines = String::from_utf8_lossy(&built.stdout).into_owned();
    let program = lines.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    program.ok_or_else(|| "cargo did not build the example `cycle`".into())
}

/// Instructions and system calls of the shortest cycle of the thread with that name, or of the only thread. Longer
/// cycles read the clock while the kernel updated it, and so read it again (28 instructions): with a stop at each
/// instruction a cycle takes milliseconds.
fn measure(program: &Path, words: &[&str], thread: Option<&str>) -> Result<(u64, u64), String> {
    let child = Command::new(program).args(words).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|e| format!("{}: {e}", program.display()))?;
    std::thread::sleep(Duration::from_millis(300));
    let counted = find(&child, thread).and_then(stepped);
    let _ = child.kill();
    let _ = child.wait();
    counted?.into_iter().min().ok_or_else(|| "no cycle".into())
}

fn find(child: &Child, thread: Option<&str>) -> Result<Pid, String> {
    let Some(name) = thread else { return Ok(Pid::from_raw(child.id() as i32)) };
    let folder = format!("/proc/{}/task", child.id());
    let tasks = fs::read_dir(&folder).map_err(|e| format!("{folder}: {e}"))?.flatten();
    let named = |tid: &String| fs::read_to_string(format!("{folder}/{tid}/comm")).is_ok_and(|comm| comm.trim() == name);
    let tid = tasks.filter_map(|task| task.file_name().into_string().ok()).find(named);
    let tid = tid.and_then(|tid| tid.parse().ok()).ok_or(format!("{folder} has no thread named {name}"))?;
    Ok(Pid::from_raw(tid))
}

fn failed(what: &'static str) -> impl Fn(nix::Error) -> String {
    move |error| format!("ptrace {what}: {error}; run as root")
}

fn stepped(tid: Pid) -> Result<Vec<(u64, u64)>, String> {
    ptrace::attach(tid).map_err(failed("attach"))?;
    waitpid(tid, Some(WaitPidFlag::__WALL)).map_err(failed("wait"))?;
    let cycles = count(tid);
    // A traced thread that is killed stays until its tracer has waited for it, and so does its process.
    let _ = ptrace::detach(tid, None);
    cycles
}

fn count(tid: Pid) -> Result<Vec<(u64, u64)>, String> {
    let (mut cycles, mut instructions, mut calls) = (Vec::new(), 0, 0);
    let mut begun = false;
    while cycles.len() < CYCLES {
        let (next, number) = registers(tid)?;
        let word = ptrace::read(tid, next).map_err(failed("read"))?;
        if word & 0xffff == SYSCALL {
            calls += 1;
            if number == NANOSLEEP {
                if begun {
                    cycles.push((instructions, calls));
                }
                (begun, instructions, calls) = (true, 0, 0);
            }
        }
        instructions += 1;
        ptrace::step(tid, None).map_err(failed("step"))?;
        match waitpid(tid, Some(WaitPidFlag::__WALL)).map_err(failed("wait"))? {
            WaitStatus::Stopped(..) => {}
            other => return Err(format!("the thread ended: {other:?}")),
        }
    }
    Ok(cycles)
}

/// Address of a stopped thread's next instruction, and the number of the system call that it would make there.
#[cfg(target_arch = "x86_64")]
fn registers(tid: Pid) -> Result<(ptrace::AddressType, u64), String> {
    let registers = ptrace::getregs(tid).map_err(failed("getregs"))?;
    Ok((registers.rip as ptrace::AddressType, registers.rax))
}

/// Other architectures have other registers; `run` refuses them.
#[cfg(not(target_arch = "x86_64"))]
fn registers(tid: Pid) -> Result<(ptrace::AddressType, u64), String> {
    Err(format!("the registers of thread {tid} are not supported on {}", std::env::consts::ARCH))
}
