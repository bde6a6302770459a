use super::kernel::release;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::list::Release;
use crate::cmdline::values;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use crate::tasks::READS as TASKS;

/// Files that list active probes. Kernels before 5.6 do not list all kinds in dynamic_events.
const LISTS: &[&str] =
    &["/sys/kernel/tracing/dynamic_events", "/sys/kernel/tracing/kprobe_events", "/sys/kernel/tracing/uprobe_events"];

const LONGEST: usize = 120;

const MESSAGES: &str = "/proc/dynamic_debug/control";

/// Source files that define DEBUG, so that their messages are enabled in every kernel (Debian 6.1 and 6.12: 17 and 18
/// such messages, no others).
const ALWAYS_ON: &[&str] = &["init/main.c:", "kernel/power/"];

/// Options that cost time in hot paths, according to their help texts in lib/Kconfig.debug, lib/Kconfig.k*san and
/// arch/x86/Kconfig.debug.
const EXPENSIVE: &[&str] = &[
    "DEBUG_PREEMPT",
    "DEBUG_OBJECTS",
    "DEBUG_VM",
    "DEBUG_ENTRY",
    "DEBUG_PER_CPU_MAPS",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "SLUB_DEBUG_ON",
    "DEBUG_HARD_LOCKS",
];

/// Like [`EXPENSIVE`], but these options exist only in some releases or depend on other options: an option whose state
/// the configuration does not determine counts as off. Lock debugging and the latency tracers have rules of their own
/// (`kconfig-lockdep`, `kconfig-irqsoff-tracer`). FAULT_INJECTION alone has no hook in a hot path. Further files:
/// kernel/dma, kernel/gcov, kernel/rcu/Kconfig.debug, kernel/trace.
const ALSO: &[&str] = &[
    "DEBUG_ATOMIC",
    "DEBUG_HIGHMEM",
    "DEBUG_KMAP_LOCAL_FORCE_MAP",
    "DEBUG_PI_LIST",
    "DEBUG_PLIST",
    "DEBUG_SLAB",
    "DEBUG_VIRTUAL",
    "DMA_API_DEBUG",
    "FAILSLAB",
    "FAIL_PAGE_ALLOC",
    "GCOV_PROFILE_ALL",
    "KCOV_INSTRUMENT_ALL",
    "PROFILE_ALL_BRANCHES",
    "PROFILE_ANNOTATED_BRANCHES",
    "RCU_STRICT_GRACE_PERIOD",
];

/// Options whose checks cost little, or that cost nothing until they are enabled at run time (DEBUG_PAGEALLOC,
/// LATENCYTOP, TIMER_STATS). Distributions ship some of them.
const MODEST: &[&str] = &[
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_CREDENTIALS",
    "DEBUG_IRQFLAGS",
    "DEBUG_LIST",
    "DEBUG_MAPLE_TREE",
    "DEBUG_NOTIFIERS",
    "DEBUG_PAGEALLOC",
    "DEBUG_SG",
    "DEBUG_STACKOVERFLOW",
    "DEBUG_STACK_USAGE",
    "FAIL_MAKE_REQUEST",
    "LATENCYTOP",
    // Documentation/mm/page_table_check.rst: a small cost.
    "PAGE_TABLE_CHECK_ENFORCED",
    "SCHEDSTATS",
    "SCHED_STACK_END_CHECK",
    "TIMER_STATS",
    "UBSAN",
];

pub(super) const PROBES: &[Probe] = &[
    // Options of the kernel's configuration that cost time in hot paths.
    Probe {
        name: "expensive-debugging",
        with: &[],
        reads: &[CONFIG_READS, &["/proc/cmdline", "/proc/sys/kernel/osrelease"]],
        run: expensive,
    },
    // Options with a small cost.
    Probe {
        name: "modest-debugging",
        with: &[],
        reads: &[CONFIG_READS, &["/proc/cmdline", "/proc/sys/kernel/osrelease"]],
        run: modest,
    },
    // Threads of the hwlat, osnoise and timerlat tracers.
    Probe { name: "tracer-threads", with: &[], reads: &[TASKS], run: threads },
    Probe { name: "dynamic-probes", with: &[], reads: &[LISTS], run: dynamic },
    // Dynamic debug messages that were enabled at run time.
    Probe { name: "dynamic-messages", with: &[], reads: &[&[MESSAGES]], run: messages },
    // Number of lines ever written to the kernel's log.
    Probe { name: "log-lines", with: &[], reads: &[&["/dev/kmsg"]], run: log_lines },
];

fn expensive(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut of_none = Notes::default();
    let mut many = sight.options(&owned(EXPENSIVE), &mut of_none);
    many.items.extend(sight.options(&owned(ALSO), &mut Notes::default()).items);
    for found in many.items.iter().filter_map(|item| item.value.as_ref().ok()) {
        let _ = sight.option(&found.text(), notes);
    }
    if many.items.is_empty() {
        notes.extend(&of_none.into_evidence());
    }
    let is_on = |name: &str| sight.option(name, &mut Notes::default()).is_ok_and(|value| value.text() == "y");
    let given = |name: &str| sight.asked(name, &mut Notes::default()).ok().flatten();
    // mm/kmemleak.c, kmemleak_boot_config: `on` or `off`.
    let leaks = match given("kmemleak").as_deref() {
        Some("on") => true,
        Some("off") => false,
        _ => !is_on("DEBUG_KMEMLEAK_DEFAULT_OFF"),
    };
    // Boot parameters enable these since Linux 3.19 (commit 031bc5743f15) and 4.6 (commit 8823b1dbc05f).
    let pages = match given("debug_pagealloc").and_then(|value| values::boolean(&value)) {
        Some(is_enabled) => is_enabled,
        None => is_before(sight, (3, 19)) || is_on("DEBUG_PAGEALLOC_ENABLE_DEFAULT"),
    };
    let poison =
        is_before(sight, (4, 6)) || given("page_poison").and_then(|value| values::boolean(&value)) == Some(true);
    // Reported as the option that selects it, by a rule of its own.
    let irqs = !is_on("IRQSOFF_TRACER") && !is_on("PROVE_LOCKING");
    let preemption = !is_on("PREEMPT_TRACER");
    for (name, runs) in [
        ("DEBUG_KMEMLEAK", leaks),
        ("DEBUG_PAGEALLOC", pages),
        ("PAGE_POISONING", poison),
        ("TRACE_IRQFLAGS", irqs),
        ("TRACE_PREEMPT_TOGGLE", preemption),
    ] {
        if runs && is_on(name) {
            many.push("", Ok(Value::Text(name.to_owned())));
        }
    }
    Reading::Many(many)
}

/// Returns true if the kernel is known to be older than a release.
fn is_before(sight: &Sight, other: Release) -> bool {
    release(sight, &mut Notes::default()).is_ok_and(|(major, minor, _)| (major, minor) < other)
}

fn modest(sight: &Sight, with: &With, notes: &mut Notes) -> Reading {
    let is_cheap = |name: &&&str| match **name {
        // Since Linux 4.6 it costs nothing until it is enabled (commit cb2517653fcc).
        "SCHEDSTATS" => is_before(sight, (4, 6)),
        _ => true,
    };
    let names: Vec<String> = MODEST.iter().filter(is_cheap).map(|name| (*name).to_owned()).collect();
    let mut many = Many { missing: None, ..sight.options(&names, notes) };
    if let Reading::Many(expensive) = expensive(sight, with, &mut Notes::default()) {
        many.items.retain(|item| !expensive.items.contains(item));
    }
    Reading::Many(many)
}

fn threads(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let tasks = sight.tasks();
    let mut many = Many { items: Vec::new(), missing: tasks.missing.clone() };
    let is_tracer = |name: &str| ["hwlatd", "osnoise/", "timerlat/"].iter().any(|start| name.starts_with(start));
    for task in tasks.all.iter().filter(|task| task.is_kernel && is_tracer(&task.name)) {
        many.push("", Ok(Value::Text(task.name.clone())));
    }
    notes.add("threads of tracers", Reading::Many(many.clone()).show());
    Reading::Many(many)
}

fn dynamic(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    let mut is_there = false;
    for path in LISTS {
        match sight.text(path, notes) {
            Ok(text) => {
                is_there = true;
                for line in text.lines() {
                    let line: String = line.chars().take(80).collect();
                    if !many.items.iter().any(|item| item.value == Ok(Value::Text(line.clone()))) {
                        many.push("", Ok(Value::Text(line)));
                    }
                }
            }
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(gap) => {
                many.missing.get_or_insert(gap);
            }
        }
    }
    if !is_there && many.missing.is_none() {
        many.missing = Some(Gap::new("/sys/kernel/tracing", Cause::Absent));
    }
    Reading::Many(many)
}

/// Lines `file:line [module]function =flags "format"`; flag `p` enables the message
/// (Documentation/admin-guide/dynamic-debug-howto.rst).
fn messages(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let text = match sight.text(MESSAGES, &mut Notes::default()) {
        Ok(text) if text.is_empty() => Err(Gap::new(MESSAGES, Cause::Garbled("line"))),
        read => read,
    };
    let text = match text {
        Ok(text) => text,
        Err(gap) => {
            notes.add(MESSAGES, gap.cause.describe());
            return Reading::Many(Many::unknown(gap));
        }
    };
    let is_on = |line: &&str| {
        let head = line.split('"').next().unwrap_or_default();
        head.split_whitespace().next_back().is_some_and(|flags| flags.starts_with('=') && flags.contains('p'))
    };
    let (always, other): (Vec<&str>, Vec<&str>) =
        text.lines().filter(is_on).partition(|line| ALWAYS_ON.iter().any(|start| line.starts_with(start)));
    let mut many = Many::default();
    for line in other {
        many.push("", Ok(Value::Text(line.chars().take(LONGEST).collect())));
    }
    let shown = Reading::Many(many.clone()).show();
    notes.add(MESSAGES, format!("{} enabled at build time; others: {shown}", always.len()));
    Reading::Many(many)
}

/// Returns the number of the newest record: all records are numbered, including overwritten ones.
fn log_lines(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match (sight.log().last, &sight.log().missing) {
        (Some(last), _) => {
            notes.add("/dev/kmsg", format!("newest record {last}"));
            Reading::One(Ok(Value::Number(i64::try_from(last).unwrap_or(i64::MAX))))
        }
        (None, Some(gap)) => Reading::gap(gap.clone()),
        (None, None) => Reading::gap(Gap::new("/dev/kmsg", Cause::Garbled("record"))),
    }
}
