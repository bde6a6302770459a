//! Parameters that enable or disable debugging, accounting or protection.

use super::cmdline::{listed, unsupported, with_open, words};
use super::kernel::release;
use super::{CONFIG_READS, Probe, With};
use crate::cmdline::list::Release;
use crate::cmdline::names::key;
use crate::cmdline::{releases, values};
use crate::reading::{Cause, Gap, Reading};
use crate::sight::{Notes, Sight};
use punctual_machine::{is_preempt_rt, parameter, parameters, scrub};

const CMDLINE: &str = "/proc/cmdline";
const VERSION: &str = "/proc/sys/kernel/version";

pub(super) const PROBES: &[Probe] = &[
    // Parameters that enable debugging.
    Probe { name: "debug-parameters", with: &[], reads: &[&[CMDLINE, VERSION], CONFIG_READS], run: debugging },
    // Parameters that enable accounting.
    Probe { name: "accounting-parameters", with: &[], reads: &[&[CMDLINE]], run: accounting },
    // Parameters that disable mitigations of processor vulnerabilities.
    Probe { name: "mitigations-off", with: &[], reads: &[&[CMDLINE], CONFIG_READS], run: mitigations },
    // Parameters that would disable mitigations, and that this release may have from a backport.
    Probe {
        name: "mitigations-perhaps",
        with: &[],
        reads: &[&[CMDLINE], CONFIG_READS],
        run: |sight, _, notes| {
            let found = words(sight, notes).map(|words| {
                let perhaps = words.iter().filter(|word| OFF.contains(&word.as_str()) && is_perhaps(sight, word));
                perhaps.map(|word| scrub(word)).collect()
            });
            listed(found)
        },
    },
    // Sentences about parameters that would disable mitigations, but that this kernel does not support.
    Probe {
        name: "mitigations-without-effect",
        with: &[],
        reads: &[&[CMDLINE, "/proc/sys/kernel/arch"], CONFIG_READS],
        run: |sight, _, notes| {
            let is_one = |word: &&String| OFF.contains(&word.as_str());
            listed(
                words(sight, notes)
                    .map(|words| words.iter().filter(is_one).filter_map(|word| unsupported(sight, word)).collect()),
            )
        },
    },
    // `no` if only some files of a machine are given and none of them shows the processor's vulnerabilities, otherwise
    // `yes`.
    Probe {
        name: "vulnerabilities-given",
        with: &[],
        reads: &[&["/sys/devices/system/cpu/vulnerabilities"]],
        run: |sight, _, _| {
            let listed = sight.names("/sys/devices/system/cpu/vulnerabilities");
            Reading::word(if listed.is_err_and(|gap| gap.is_not_given()) { "no" } else { "yes" })
        },
    },
    // `yes` or `no`; absent without skew_tick=.
    Probe { name: "skew-tick", with: &[], reads: &[&[CMDLINE], CONFIG_READS], run: skew_tick },
];

/// Parameters that enable debugging; a name that ends in a dot is a prefix.
const DEBUGGING: &[&str] = &[
    "debug",
    "ignore_loglevel",
    "initcall_debug",
    "keep_bootcon",
    "loglevel",
    "ftrace",
    "ftrace_filter",
    "trace_event",
    "trace_options",
    "tp_printk",
    "stacktrace",
    "slab_debug",
    "slub_debug",
    "page_owner",
    "page_poison",
    "debug_objects",
    "debug_pagealloc",
    "dyndbg",
    "drm.debug",
    "failslab",
    "fail_page_alloc",
    "irqfixup",
    "irqpoll",
    "kasan",
    "kasan.",
    "sched_verbose",
    "delayacct",
    "profile",
    "lockdep.",
    "memtest",
];

const ACCOUNTING: &[&str] = &["kmemleak", "schedstats", "psi"];

/// User-space parameters that enable debug messages: systemd(1), systemd-udevd.service(8).
const CHATTY: &[&str] = &["systemd.log_level=debug", "udev.log_level=debug", "udev.log_priority=debug"];

/// Parameters that disable mitigations, from Documentation/admin-guide/kernel-parameters.txt and
/// Documentation/admin-guide/hw-vuln.
const OFF: &[&str] = &[
    "gather_data_sampling=off",
    "indirect_target_selection=off",
    "l1tf=off",
    "mds=off",
    "mitigations=off",
    "mmio_stale_data=off",
    "no_entry_flush",
    "no_rfi_flush",
    "no_stf_barrier",
    "no_uaccess_flush",
    "nopti",
    "nospec_store_bypass_disable",
    "nospectre_bhb",
    "nospectre_v1",
    "nospectre_v2",
    "pti=off",
    "reg_file_data_sampling=off",
    "retbleed=off",
    "spec_rstack_overflow=off",
    "spec_store_bypass_disable=off",
    "spectre_bhi=off",
    "spectre_v2=off",
    "spectre_v2_user=off",
    "srbds=off",
    "ssbd=force-off",
    "tsa=off",
    "tsx_async_abort=off",
    "vmscape=off",
];

fn those(sight: &Sight, what: &str, notes: &mut Notes, is_one: impl Fn(&str) -> bool) -> Reading {
    let found = words(sight, notes).map(|words| {
        let on = words.iter().filter(|word| is_one(word));
        on.map(|word| scrub(word)).collect()
    });
    let reading = with_open(sight, listed(found));
    notes.add(CMDLINE, format!("of {what}: {}", reading.show()));
    reading
}

fn is_switched_on(word: &str, names: &[&str]) -> bool {
    let key = key(word);
    let fits = |name: &&str| if name.ends_with('.') { key.starts_with(name) } else { key == *name };
    // A query that is rejected enables nothing.
    let is_refused = || key == "dyndbg" && values::refused(word, None).is_some();
    (names.iter().any(fits) || (key.ends_with(".dyndbg") && names.contains(&"dyndbg")))
        && !is_off(word)
        && !is_refused()
}

fn is_off(word: &str) -> bool {
    let Some((_, value)) = word.split_once('=') else { return false };
    match key(word).as_str() {
        // The tracer without effect (kernel/trace/trace_nop.c).
        "ftrace" => value == "nop",
        // `-` disables what the configuration enables, `O` reduces debugging (parse_slub_debug_flags of mm/slub.c).
        "slub_debug" | "slab_debug" => {
            let flags = value.split(',').next().unwrap_or_default();
            value == "-" || (!flags.is_empty() && flags.bytes().all(|b| b.eq_ignore_ascii_case(&b'o')))
        }
        // Without `p` no message is printed (Documentation/admin-guide/dynamic-debug-howto.rst).
        name if name == "dyndbg" || name.ends_with(".dyndbg") => {
            !value.split(['+', '=']).skip(1).any(|flags| flags.contains('p')) && !value.is_empty()
        }
        "drm.debug" => values::number(value) == Some(0),
        // Level 8 prints all messages, those for debugging included (include/linux/kern_levels.h).
        "loglevel" => values::number(value).is_none_or(|level| level < 8),
        _ => matches!(value, "0" | "n" | "N" | "no" | "off" | "-" | "none" | "disable" | "false"),
    }
}

fn debugging(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    // Rejected on such kernels (irqpoll_setup of kernel/irq/spurious.c).
    let is_rt = sight.text(VERSION, &mut Notes::default()).is_ok_and(|version| is_preempt_rt(&version));
    let is_refused = |word: &str| is_rt && matches!(key(word).as_str(), "irqpoll" | "irqfixup");
    let is_chatty = |word: &str| CHATTY.contains(&word);
    // The last word that sets the console's level counts (init/main.c).
    let line = sight.cmdline().unwrap_or_default();
    let is_level = |word: &&String| matches!(key(word).as_str(), "debug" | "loglevel" | "quiet");
    let level = parameters(&line).iter().rfind(is_level).cloned().unwrap_or_default();
    let is_replaced = |word: &str| key(word) == "loglevel" && word != level;
    those(sight, "debugging", notes, |word| {
        (is_switched_on(word, DEBUGGING) || is_chatty(word)) && !is_refused(word) && !is_replaced(word)
    })
}

fn accounting(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    those(sight, "accounting", notes, |word| is_switched_on(word, ACCOUNTING))
}

/// Returns true if mainline added the parameter after this kernel's release but it may have been backported: only the
/// patch level or the distributor shows whether this kernel has it.
fn is_perhaps(sight: &Sight, word: &str) -> bool {
    let release = release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    unsupported(sight, word).is_none() && release.is_some_and(|release| releases::may_be_backported(word, release))
}

fn mitigations(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let release = release(sight, &mut Notes::default()).ok().map(|(major, minor, _)| (major, minor));
    let is_new = release.is_some_and(|release| release >= values::VECTORS);
    let line = sight.cmdline().unwrap_or_default();
    let pti = page_table_isolation(&line, release);
    those(sight, "mitigations that are off", notes, |word| match key(word).as_str() {
        _ if unsupported(sight, word).is_some() || is_perhaps(sight, word) => false,
        "pti" | "nopti" if pti != Some(false) => false,
        // Of several occurrences the last one counts.
        name if word.contains('=') && parameter(&line, name).as_deref() != word.split_once('=').map(|(_, v)| v) => {
            false
        }
        "mitigations" if is_new => word.starts_with("mitigations=off"),
        "kpti" => word.split_once('=').is_some_and(|(_, value)| values::boolean(value) == Some(false)),
        _ => OFF.contains(&word),
    })
}

/// Returns whether the line requests page table isolation. The last of pti= and nopti counts since Linux 6.7; earlier
/// kernels let a valid pti= decide (pti_check_boottime_disable of arch/x86/mm/pti.c). `None` if the line has neither,
/// or the deciding one is unknown.
fn page_table_isolation(line: &str, release: Option<Release>) -> Option<bool> {
    let words = parameters(line);
    let meant = |word: &String| match word.as_str() {
        "pti=on" | "pti=auto" => Some(true),
        "pti=off" => Some(false),
        word => (key(word) == "nopti").then_some(false),
    };
    let last = words.iter().rev().find_map(meant)?;
    let by_value = words.iter().rev().filter(|word| key(word) == "pti").find_map(meant).unwrap_or(last);
    match release {
        Some(release) => Some(if release >= (6, 7) { last } else { by_value }),
        None => (last == by_value).then_some(last),
    }
}

fn skew_tick(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.asked("skew_tick", notes) {
        // get_option() stores 0 if it finds no number.
        Ok(Some(value)) => Reading::word(if values::number(&value).unwrap_or(0) != 0 { "yes" } else { "no" }),
        Ok(None) => Reading::gap(Gap::new("/proc/cmdline skew_tick", Cause::Absent)),
        Err(gap) => Reading::gap(gap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pti_is_decided_by_release() {
        for (line, release, expected) in [
            ("pti=on ro nopti", Some((6, 6)), Some(true)),
            ("pti=on ro nopti", Some((6, 7)), Some(false)),
            ("pti=on ro nopti", None, None),
            ("nopti pti=on", None, Some(true)),
            ("nopti pti=maybe", Some((6, 1)), Some(false)),
            ("pti=off pti=auto", Some((6, 12)), Some(true)),
            ("ro", Some((6, 12)), None),
        ] {
            assert_eq!(page_table_isolation(line, release), expected, "{line} {release:?}");
        }
    }

    #[test]
    fn what_switches_off_is_no_debugging() {
        for word in [
            "ftrace=nop",
            "slub_debug=O",
            "slub_debug=-",
            "drm.debug=0",
            "drm.debug=0x0",
            "debug_pagealloc=off",
            "kasan=off",
            "dyndbg=\"file x -p\"",
            "loglevel=7",
            "loglevel=",
        ] {
            assert!(!is_switched_on(word, DEBUGGING), "{word}");
        }
        for word in [
            "ftrace=function",
            "slub_debug=FZ",
            "slub_debug",
            "drm.debug=0x1f",
            "drm.debug=14",
            "dyndbg=file x +p",
            "i915.dyndbg=+p",
            "debug_pagealloc=on",
            "irqpoll",
            "loglevel=8",
            "loglevel=0xf",
            "slab_debug=,kmalloc-64",
        ] {
            assert!(is_switched_on(word, DEBUGGING), "{word}");
        }
    }
}
