//! `bench cycle`: counts user instructions and system calls per cycle of a `punctual-rt` task, compared with bare loops
//! in C, and of a task in C++, compared with the same task in C.
//!
//! A thread is single-stepped (ptrace(2)) from one clock_nanosleep(2) to the next: this needs no hardware counters, and
//! other activity on the machine is not counted.

use crate::built::program;
use nix::sys::ptrace;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::ffi::c_long;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A loop without any library. It sleeps until the next release, reads the clock and, with EXECUTION, reads it again
/// after its work; it keeps minimum, maximum and sum.
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
/// Maximum ratio of a cycle's instructions in C++ to the instructions of the same cycle in C.
const MAX_CPP: f64 = 1.05;
const CYCLES: usize = 100;
const NANOSLEEP: u64 = 230;
/// Opcode of `syscall` on x86-64.
const SYSCALL: c_long = 0x050f;

pub fn run() -> Result<(), String> {
    if !cfg!(target_arch = "x86_64") {
        return Err("bench cycle supports only the system call instruction of x86-64".into());
    }
    let folder = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
    let bare = |flags: &[&str]| compiled(folder.path(), "bare.c", BARE, flags);
    let (plain, timed, ours) = (bare(&[])?, bare(&["-DEXECUTION"])?, example()?);
    let in_c = linked(folder.path(), "task.c", include_str!("cycle-task.c"))?;
    let in_cpp = linked(folder.path(), "task.cpp", include_str!("cycle-task.cpp"))?;
    let task = Some("stepped");
    // Each row has the number of the row with which it is compared.
    let rows = [
        ("bare loop in C, one reading of the clock", measure(&plain, &[], None)?, 0),
        ("bare loop in C, also reads the clock after its work", measure(&timed, &[], None)?, 1),
        ("task without execution times", measure(&ours, &["lean"], task)?, 0),
        ("task", measure(&ours, &[], task)?, 1),
        ("task in C that sends a sample through a queue", measure(&in_c, &[], task)?, 1),
        ("the same in C++", measure(&in_cpp, &[], task)?, 4),
    ];
    println!(
        "cycles of 20 ms, minimum of {CYCLES}               user instructions   system calls   ratio       to row"
    );
    for (n, (name, (instructions, calls), rival)) in rows.iter().enumerate() {
        let ratio = *instructions as f64 / rows[*rival].1.0 as f64;
        println!("{}: {name:50} {instructions:14} {calls:14} {ratio:12.3} {:8}", n + 1, rival + 1);
    }
    let (c, cpp) = (rows[4].1, rows[5].1);
    if cpp.0 as f64 > c.0 as f64 * MAX_CPP || cpp.1 != c.1 {
        return Err(format!(
            "a cycle in C++ takes more than {MAX_CPP} times the instructions of C, or other system calls"
        ));
    }
    Ok(())
}

/// Compiles a source in C, or in C++ if its name says so.
fn compiled(folder: &Path, name: &str, text: &str, flags: &[&str]) -> Result<PathBuf, String> {
    let (source, output) = (folder.join(name), folder.join(format!("{name}-{}", flags.len())));
    fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
    let compiler = if name.ends_with(".cpp") { ["g++", "-std=c++17"] } else { ["cc", "-std=gnu11"] };
    let mut command = Command::new(compiler[0]);
    let done = command.arg(compiler[1]).arg("-O2").arg(&source).args(flags).arg("-o").arg(&output).status();
    match done {
        Ok(status) if status.success() => Ok(output),
        other => Err(format!("{}: {other:?}; install a compiler (gcc, g++)", compiler[0])),
    }
}

/// Compiles a source and links it statically with the C interface.
fn linked(folder: &Path, name: &str, text: &str) -> Result<PathBuf, String> {
    let include = xtask::root().join("crates/realtime/capi/include").display().to_string();
    let archive =
        program("release/libpunctual_rt_c.a", "cargo build --release -p punctual-rt-capi")?.display().to_string();
    compiled(folder, name, text, &["-I", &include, &archive, "-lgcc_s", "-lpthread", "-lm", "-ldl"])
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

/// Returns the numbers of instructions and system calls in the shortest cycle of the thread with that name, or of the
/// only thread. Other cycles are longer because they read the clock while the kernel updated it, and so read it again
/// (28 instructions): with a stop at each instruction, a cycle takes milliseconds.
fn measure(file: &Path, words: &[&str], thread: Option<&str>) -> Result<(u64, u64), String> {
    let child = Command::new(file).args(words).stdout(Stdio::null()).spawn();
    let mut child = child.map_err(|e| format!("{}: {e}", file.display()))?;
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

/// Returns the address of a stopped thread's next instruction, and the number of the system call that it would make
/// there.
#[cfg(target_arch = "x86_64")]
fn registers(tid: Pid) -> Result<(ptrace::AddressType, u64), String> {
    let registers = ptrace::getregs(tid).map_err(failed("getregs"))?;
    Ok((registers.rip as ptrace::AddressType, registers.rax))
}

/// Returns an error: other architectures have other registers, and `run` refuses them.
#[cfg(not(target_arch = "x86_64"))]
fn registers(tid: Pid) -> Result<(ptrace::AddressType, u64), String> {
    Err(format!("the registers of thread {tid} are not supported on {}", std::env::consts::ARCH))
}
