use super::kernel::release;
use super::{CONFIG_READS, Probe, With};
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

/// Options that cost time in hot paths.
const EXPENSIVE: &[&str] = &[
    "DEBUG_PREEMPT",
    "DEBUG_OBJECTS",
    "DEBUG_VM",
    "DEBUG_ENTRY",
    "DEBUG_PER_CPU_MAPS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "KASAN",
    "KCSAN",
    "KMSAN",
    "SLUB_DEBUG_ON",
    "DEBUG_HARD_LOCKS",
];

/// Like [`EXPENSIVE`], but these options exist only in some releases or depend on other options: one that the
/// configuration does not determine counts as off. FAULT_INJECTION alone has no hook in a hot path.
const ALSO: &[&str] = &["DEBUG_CREDENTIALS", "DEBUG_SLAB", "FAILSLAB", "FAIL_PAGE_ALLOC", "PAGE_TABLE_CHECK_ENFORCED"];

pub(super) const PROBES: &[Probe] = &[
    // Options of the kernel's configuration that cost time in hot paths.
    Probe {
        name: "expensive-debugging",
        with: &[],
        reads: &[CONFIG_READS, &["/proc/cmdline", "/proc/sys/kernel/osrelease"]],
        run: expensive,
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
    let mut many = sight.options(&owned(EXPENSIVE), notes);
    many.items.extend(sight.options(&owned(ALSO), notes).items);
    let is_on = |name: &str| sight.option(name, &mut Notes::default()).is_ok_and(|value| value.text() == "y");
    let given = |name: &str| sight.asked(name, &mut Notes::default()).ok().flatten();
    // mm/kmemleak.c, kmemleak_boot_config: `on` or `off`.
    let leaks = match given("kmemleak").as_deref() {
        Some("on") => true,
        Some("off") => false,
        _ => !is_on("DEBUG_KMEMLEAK_DEFAULT_OFF"),
    };
    // A boot parameter enables it since Linux 3.19 (commit 031bc5743f15).
    let is_old = release(sight, &mut Notes::default()).is_ok_and(|(major, minor, _)| (major, minor) < (3, 19));
    let pages = is_old || given("debug_pagealloc").and_then(|value| values::boolean(&value)) == Some(true);
    for (name, runs) in [("DEBUG_KMEMLEAK", leaks), ("DEBUG_PAGEALLOC", pages)] {
        if runs && is_on(name) {
            many.push("", Ok(Value::Text(name.to_owned())));
        }
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

/// Lines `file:line [module]function =flags "format"`; flag `p` prints
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
