//! `cargo trials tune`: injects faults together with harmless settings in guests, and checks what `punctual tune`
//! keeps, also without any fault.

mod score;

use crate::{built, guests};
use punctual_vm::{Arch, Clock, Guest, Machine, boot};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A fault: the rule that finds it, the kernels to which it applies, and how it is injected.
struct Fault {
    rule: &'static str,
    /// Kernels to which the fault applies; empty for all.
    kernels: &'static str,
    inject: &'static str,
}

/// The faults, the most severe first. Each of the first [`KNOWN`] faults causes several times the latency of the next.
/// Their periods are short, so that a block of [`BLOCK`] contains each of them. `worker` uses the time that throttling
/// leaves, or starves ordinary tasks.
const FAULTS: &[Fault] = &[
    Fault {
        rule: "sched-rt-throttle",
        // Since 6.12, the setting no longer throttles FIFO and RR on these kernels.
        kernels: "@6.1",
        inject: "echo 20000 > /proc/sys/kernel/sched_rt_runtime_us; echo 100000 > /proc/sys/kernel/sched_rt_period_us
                app policy=fifo:50 name=worker period=200 busy=60",
    },
    Fault {
        rule: "sched-fair-server",
        kernels: "@6.12",
        // What is left of the work of `batch`, which was started shortly before, then runs before FIFO 90. Without -1,
        // the kernel sometimes refuses to change the server's runtime (EBUSY).
        inject: "echo -1 > /proc/sys/kernel/sched_rt_runtime_us
                echo 6000000 > /sys/kernel/debug/sched/fair_server/cpu0/runtime
                echo 30000000 > /sys/kernel/debug/sched/fair_server/cpu0/period
                /bin/punctual-application policy=other name=batch period=200 busy=40 & usleep 20000
                app policy=fifo:50 name=worker period=200 busy=60",
    },
    Fault { rule: "rogue-rt-task", kernels: "", inject: "app policy=fifo:99 name=hog busy=2; HOG=$!" },
    Fault {
        rule: "trace-current-tracer",
        kernels: "",
        // Only 2,000 functions: with all 50,000 the emulator takes 15 s to switch the tracer on or off.
        inject: "echo '*lock* *sched* *timer*' > /sys/kernel/tracing/set_ftrace_filter
                echo function > /sys/kernel/tracing/current_tracer",
    },
    Fault {
        rule: "trace-stack-tracer",
        kernels: "",
        inject: "echo '*lock* *sched* *timer*' > /sys/kernel/tracing/stack_trace_filter
                echo 1 > /proc/sys/kernel/stack_tracer_enabled",
    },
    Fault {
        rule: "trace-events-on",
        kernels: "",
        inject: "for e in sched irq timer; do echo 1 > /sys/kernel/tracing/events/$e/enable; done",
    },
];

/// Number of faults of a kernel whose order is known, because each of them hides the next. The order of the other
/// faults depends on the kernel.
const KNOWN: usize = 3;

/// Measurement time per block: one and a half periods of the slowest fault.
const BLOCK: &str = "300ms";

/// Time limit of a boot, in real time.
const LIMIT: Duration = Duration::from_secs(2_400);

/// Rules whose settings have no effect on what is measured.
const HARMLESS: &[&str] = &["timer-migration", "mem-compaction", "watchdog-hung-task", "mem-dirty-limits"];

/// Files with the values of the harmless settings, which are compared before and after, followed by the files that the
/// faults change.
const VALUES: &str = "/proc/sys/kernel/timer_migration /proc/sys/vm/compaction_proactiveness \
                      /proc/sys/kernel/hung_task_timeout_secs /proc/sys/vm/dirty_background_ratio \
                      /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/stack_tracer_enabled \
                      /sys/kernel/tracing/current_tracer /sys/kernel/debug/sched/fair_server/cpu0/runtime";

/// Inject faults together with harmless settings in guests, and score what `tune` keeps, also without any fault
/// (docs/tune.md)
///
/// Build first: cargo build --release; cargo build --release -p punctual-inject
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of the guest
    #[arg(long = "kernel", value_name = "K", default_values = ["rt@6.1", "rt@6.12"])]
    kernels: Vec<String>,
    /// Directory for the recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-tune-guests"))]
    out: PathBuf,
    /// Boot nothing; score the recordings in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let out = wanted.score.as_ref().unwrap_or(&wanted.out);
    let mut wrong = 0;
    for kernel in &wanted.kernels {
        for injected in [true, false] {
            let folder = out.join(kernel).join(if injected { "faults" } else { "none" });
            if wanted.score.is_none() {
                record(kernel, injected, &folder)?;
            }
            wrong += usize::from(!score::score(kernel, injected, &folder)?);
        }
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} searches did not have the expected result")) }
}

fn faults(kernel: &str) -> Vec<&'static Fault> {
    FAULTS.iter().filter(|fault| fault.kernels.is_empty() || kernel.ends_with(fault.kernels)).collect()
}

fn record(name: &str, injected: bool, folder: &Path) -> Result<(), String> {
    let (kernel, cache) = guests::kernel(name, Arch::Amd64)?;
    let mut guest = Guest::new(Machine::usual(Arch::Amd64), kernel, script(name, injected));
    // The guest's own time, which this machine's load does not affect.
    guest.clock = Clock::Virtual { shift: 1 };
    guest.memory_mib = 1024;
    guest.limit = LIMIT;
    guest.fetch = vec!["/tune".into()];
    guest.files = built::for_guests()?;
    guest.log = Some(folder.with_extension("log"));
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let place = folder.with_extension("boot");
    let _ = fs::remove_dir_all(&place);
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.parent().unwrap_or(folder)).map_err(failed)?;
    let booted = boot(&guest, &cache, Some(&place)).map_err(|e| e.to_string())?;
    println!("{name} {}: {:.0} s", if injected { "faults" } else { "none" }, booted.lasted.as_secs_f64());
    fs::rename(place.join("tune"), folder).map_err(failed)?;
    fs::remove_dir_all(&place).map_err(failed)
}

fn script(kernel: &str, injected: bool) -> String {
    let faults = faults(kernel);
    let ids: Vec<&str> = HARMLESS.iter().copied().chain(faults.iter().map(|fault| fault.rule)).collect();
    let injections: Vec<&str> = faults.iter().filter(|_| injected).map(|fault| fault.inject).collect();
    let values = |into: &str| {
        format!(
            "{{ grep -s . {VALUES}; [ -z \"$HOG\" ] || cut -d' ' -f 40 /proc/$HOG/stat; sort /sys/kernel/tracing/set_event; }} > /tune/{into}"
        )
    };
    [
        "mkdir -p /tune; HOG=; app() { /bin/punctual-application \"$@\" & usleep 300000; }".to_owned(),
        // Waits for the kernel's self-tests of its ciphers, which run for some seconds after boot.
        "while ps | grep -q '[c]ryptomgr_test'; do sleep 1; done".to_owned(),
        injections.join("\n"),
        values("before"),
        format!(
            "/bin/punctual tune {} --for dedicated-core --i-know -l idle --block {BLOCK} --time-limit 2h -D 2s -o /tune/run --json > \
             /tune/tune.json",
            ids.join(" ")
        ),
        "echo code $?".to_owned(),
        values("after"),
        "/bin/punctual undo > /tune/undo".to_owned(),
        values("undone"),
        "rm -rf /tune/run/traces; exit 0".to_owned(),
    ]
    .join("\n")
}
