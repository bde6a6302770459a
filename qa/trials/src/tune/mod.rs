//! `cargo xtask tune`: faults planted in guests beside harmless settings, and what `punctual tune` makes of them; and of none.

use punctual_vm::{Arch, Cache, Clock, FileIn, Guest, Kernel, KernelSpec, Machine, VmError, boot};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is planted: which rule finds it, on which kernels, and how.
struct Fault {
    rule: &'static str,
    /// Only on these; empty: all.
    kernels: &'static str,
    plant: &'static str,
}

/// The gravest first; each is several times as late as the next, as far as [`KNOWN`] goes. Periods are short, so that a block of
/// [`BLOCK`] meets each of them: `worker` uses up the time that throttling leaves, or makes ordinary tasks starve.
const FAULTS: &[Fault] = &[
    Fault {
        rule: "sched-rt-throttle",
        // Since 6.12 the setting throttles FIFO and RR no longer on these kernels.
        kernels: "@6.1",
        plant: "echo 20000 > /proc/sys/kernel/sched_rt_runtime_us; echo 100000 > /proc/sys/kernel/sched_rt_period_us
                app policy=fifo:50 name=worker period=200 busy=60",
    },
    Fault {
        rule: "sched-fair-server",
        kernels: "@6.12",
        // What `batch`, begun shortly before, still wants then runs before FIFO 90. Without -1 the kernel at times refuses the server
        // another runtime (EBUSY).
        plant: "echo -1 > /proc/sys/kernel/sched_rt_runtime_us
                echo 6000000 > /sys/kernel/debug/sched/fair_server/cpu0/runtime
                echo 30000000 > /sys/kernel/debug/sched/fair_server/cpu0/period
                /bin/punctual-application policy=other name=batch period=200 busy=40 & usleep 20000
                app policy=fifo:50 name=worker period=200 busy=60",
    },
    Fault { rule: "rogue-rt-task", kernels: "", plant: "app policy=fifo:99 name=hog busy=2; HOG=$!" },
    Fault {
        rule: "trace-current-tracer",
        kernels: "",
        // Of 2,000 functions: of all 50,000 the emulator takes a quarter of a minute to switch it on or off.
        plant: "echo '*lock* *sched* *timer*' > /sys/kernel/tracing/set_ftrace_filter
                echo function > /sys/kernel/tracing/current_tracer",
    },
    Fault {
        rule: "trace-stack-tracer",
        kernels: "",
        plant: "echo '*lock* *sched* *timer*' > /sys/kernel/tracing/stack_trace_filter
                echo 1 > /proc/sys/kernel/stack_tracer_enabled",
    },
    Fault {
        rule: "trace-events-on",
        kernels: "",
        plant: "for e in sched irq timer; do echo 1 > /sys/kernel/tracing/events/$e/enable; done",
    },
];

/// Of so many faults of a kernel the order is known before: each hides the next. That of the others depends on the kernel.
const KNOWN: usize = 3;

/// Measuring time of a block: one period and a half of the slowest fault.
const BLOCK: &str = "300ms";

/// Wall time of a boot.
const LIMIT: Duration = Duration::from_secs(2_400);

/// Settings that have no effect on what is measured.
const HARMLESS: &[&str] = &["timer-migration", "mem-compaction", "watchdog-hung-task", "mem-dirty-limits"];

/// Their values, to be compared before and after, and then those that faults were planted in.
const VALUES: &str = "/proc/sys/kernel/timer_migration /proc/sys/vm/compaction_proactiveness \
                      /proc/sys/kernel/hung_task_timeout_secs /proc/sys/vm/dirty_background_ratio \
                      /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/stack_tracer_enabled \
                      /sys/kernel/tracing/current_tracer /sys/kernel/debug/sched/fair_server/cpu0/runtime";

/// `tune [--kernel K]… [--out DIR] [--score DIR]`.
pub fn run(words: &[String]) -> Result<(), String> {
    let mut out = env::temp_dir().join("punctual-tune-guests");
    let (mut kernels, mut score) = (Vec::new(), false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--kernel" => kernels.push(value()?),
            "--out" => out = value()?.into(),
            "--score" => (out, score) = (value()?.into(), true),
            _ => return Err(format!("tune does not know `{word}`: see cargo xtask")),
        }
    }
    if kernels.is_empty() {
        kernels = ["rt@6.1", "rt@6.12"].map(String::from).to_vec();
    }
    let mut wrong = 0;
    for kernel in &kernels {
        for planted in [true, false] {
            let folder = out.join(kernel).join(if planted { "faults" } else { "none" });
            if !score {
                record(kernel, planted, &folder)?;
            }
            wrong += usize::from(!told(kernel, planted, &folder)?);
        }
    }
    if wrong == 0 { Ok(()) } else { Err(format!("{wrong} searches did not come out as they should")) }
}

fn faults(kernel: &str) -> Vec<&'static Fault> {
    FAULTS.iter().filter(|fault| fault.kernels.is_empty() || kernel.ends_with(fault.kernels)).collect()
}

/// One boot: plants, searches, and brings back what was found.
fn record(name: &str, planted: bool, folder: &Path) -> Result<(), String> {
    let said = |e: VmError| e.to_string();
    let cache = Cache::usual().map_err(said)?;
    let spec: KernelSpec = name.parse().map_err(said)?;
    let kernel = Kernel::resolve(&spec, Arch::Amd64, &cache).map_err(said)?;
    let mut guest = Guest::new(Machine::usual(Arch::Amd64), kernel, script(name, planted));
    // The guest's own time: what this machine does meanwhile is no noise in it.
    guest.clock = Clock::Virtual { shift: 1 };
    guest.memory_mib = 1024;
    guest.limit = LIMIT;
    guest.fetch = vec!["/tune".into()];
    guest.files = ["punctual", "punctual-application"].into_iter().map(file).collect::<Result<_, _>>()?;
    guest.log = Some(folder.with_extension("log"));
    let failed = |e: std::io::Error| format!("{}: {e}", folder.display());
    let place = folder.with_extension("boot");
    let _ = fs::remove_dir_all(&place);
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder.parent().unwrap_or(folder)).map_err(failed)?;
    let booted = boot(&guest, &cache, Some(&place)).map_err(said)?;
    println!("{name} {}: {:.0} s", if planted { "faults" } else { "none" }, booted.lasted.as_secs_f64());
    fs::rename(place.join("tune"), folder).map_err(failed)?;
    fs::remove_dir_all(&place).map_err(failed)
}

fn script(kernel: &str, planted: bool) -> String {
    let faults = faults(kernel);
    let ids: Vec<&str> = HARMLESS.iter().copied().chain(faults.iter().map(|fault| fault.rule)).collect();
    let plants: Vec<&str> = faults.iter().filter(|_| planted).map(|fault| fault.plant).collect();
    let values = |into: &str| {
        format!(
            "{{ grep -s . {VALUES}; [ -z \"$HOG\" ] || cut -d' ' -f 40 /proc/$HOG/stat; sort /sys/kernel/tracing/set_event; }} > /tune/{into}"
        )
    };
    [
        "mkdir -p /tune; HOG=; app() { /bin/punctual-application \"$@\" & usleep 300000; }".to_owned(),
        // The kernel's own tests of its ciphers, for some seconds after boot.
        "while ps | grep -q '[c]ryptomgr_test'; do sleep 1; done".to_owned(),
        plants.join("\n"),
        values("before"),
        format!(
            "/bin/punctual tune {} --for dedicated-core --i-know -l idle --block {BLOCK} --max 2h -D 2s -o /tune/run --json > \
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

fn file(name: &str) -> Result<FileIn, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let path = target.join("release").join(name);
    let content = fs::read(&path).map_err(|e| {
        format!("{}: {e}; cargo build --release -p punctual; the same with -p punctual-plant", path.display())
    })?;
    Ok(FileIn { path: format!("/bin/{name}"), mode: 0o755, content })
}

/// Prints what a search found; `true` where it is what it should be.
fn told(kernel: &str, planted: bool, folder: &Path) -> Result<bool, String> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| format!("{}: {e}", folder.display()));
    let document: Value =
        serde_json::from_str(&read("tune.json")?).map_err(|e| format!("{}: {e}", folder.display()))?;
    let tuned = &document["result"]["tuned"];
    let kept: Vec<&str> = tuned["kept"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    println!("\n{kernel}, {}: kept {kept:?}, ended {}", if planted { "faults" } else { "none" }, tuned["ended"]["how"]);
    let trials = tuned["trials"].as_array().map(Vec::as_slice).unwrap_or_default();
    trials.iter().for_each(|trial| println!("  {}", line(trial)));
    tuned["not_tried"].as_array().into_iter().flatten().for_each(|pair| println!("  not tried: {pair}"));
    let blocks: usize = trials.iter().filter_map(|trial| Some(2 * trial["pairs"].as_array()?.len())).sum();
    println!(
        "  {blocks} blocks; median of a block {} us before, {} us after",
        median(tuned, "before_ns"),
        median(tuned, "after_ns")
    );
    let (before, after, undone) = (read("before")?, read("after")?, read("undone")?);
    let is_back = undone == before;
    println!("  values after undo as before: {is_back}; harmless ones never changed: {}", harmless(&before, &after));
    let all: Vec<&str> = faults(kernel).iter().filter(|_| planted).map(|fault| fault.rule).collect();
    let known = KNOWN.min(all.len());
    let is_found = kept.len() == all.len() && all.iter().all(|rule| kept.contains(rule));
    let is_ordered = kept.get(..known) == all.get(..known);
    Ok(is_found && is_ordered && is_back && harmless(&before, &after))
}

/// The median of figures, us.
fn median(tuned: &Value, name: &str) -> String {
    let mut all: Vec<f64> = tuned[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).map_or_else(|| "?".to_owned(), |ns| format!("{:.1}", ns / 1e3))
}

/// Are the values of harmless settings, the first four, the same?
fn harmless(before: &str, after: &str) -> bool {
    let first = |text: &str| text.lines().take(HARMLESS.len()).map(str::to_owned).collect::<Vec<_>>();
    first(before) == first(after)
}

fn line(trial: &Value) -> String {
    let us = |value: &Value| value.as_f64().map_or_else(|| "?".to_owned(), |ns| format!("{:.1}", -ns / 1e3));
    let kind = match (&trial["kind"]["kind"], &trial["kind"]["kept"]) {
        (Value::String(kind), Value::Bool(kept)) => format!("{kind}, kept: {kept}"),
        (kind, _) => kind.as_str().unwrap_or_default().to_owned(),
    };
    format!(
        "round {} {}: buys {} us ({} to {}), {kind}",
        trial["round"],
        trial["rule"].as_str().unwrap_or_default(),
        us(&trial["shift_ns"]),
        us(&trial["interval_ns"][1]),
        us(&trial["interval_ns"][0])
    )
}
