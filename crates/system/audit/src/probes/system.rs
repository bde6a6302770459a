use super::{CONFIG_READS, Probe, With};
use crate::reading::{Cause, Gap, Reading, Value};
use crate::sight::{Notes, Sight, config_gap};
use punctual_machine::{Virtualisation, is_preempt_rt};

pub(super) const PROBES: &[Probe] = &[
    // `none` or the hypervisor's name.
    Probe { name: "virtualisation", with: &[], reads: &[Virtualisation::READS], run: virtualisation },
    // Stolen time of all CPUs since boot, in hundredths of a second.
    Probe { name: "steal-ticks", with: &[], reads: &[&[STAT]], run: steal },
    Probe { name: "kernel-config", with: &[], reads: &[CONFIG_READS], run: kernel_config },
    // `whole`, `defconfig`, `fragment`, or `part`: options are missing, or the heading that Kconfig writes.
    Probe { name: "kernel-config-form", with: &[], reads: &[CONFIG_READS], run: form },
    Probe { name: "preempt-rt", with: &[], reads: &[&[VERSION, REALTIME]], run: preempt_rt },
    // Timer resolution, ns.
    Probe { name: "timer-resolution", with: &[], reads: &[&["/proc/timer_list"]], run: timer_resolution },
];

fn virtualisation(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let looked_at = "CPU flags, DMI, device tree, /sys/hypervisor";
    match sight.virtualisation() {
        Virtualisation::None => {
            notes.add(looked_at, "no hypervisor");
            Reading::word("none")
        }
        Virtualisation::Guest(name) => {
            notes.add(looked_at, name);
            Reading::word(name)
        }
        Virtualisation::Unknown(paths) => {
            let path = paths.first().map_or("/proc/cpuinfo", String::as_str);
            let cause =
                Cause::of(&sight.machine.read(path)).unwrap_or(Cause::Garbled("evidence for or against a hypervisor"));
            let gap = Gap::new(path, cause).expected();
            notes.add(path, gap.cause.describe());
            Reading::gap(gap)
        }
    }
}

const STAT: &str = "/proc/stat";

/// Reads the steal time: the eighth number in the first line of /proc/stat (proc_stat(5)).
fn steal(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let text = match sight.text(STAT, &mut Notes::default()).map_err(Gap::expected) {
        Ok(text) => text,
        Err(gap) => return Reading::gap(gap),
    };
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "));
    match line.and_then(|line| line.split_whitespace().nth(7)?.parse().ok()) {
        Some(steal) => {
            notes.add(STAT, format!("steal {steal}"));
            Reading::One(Ok(Value::Number(steal)))
        }
        None => Reading::gap(Gap::new(STAT, Cause::Garbled("steal"))),
    }
}

const VERSION: &str = "/proc/sys/kernel/version";
const REALTIME: &str = "/sys/kernel/realtime";

/// Recognises PREEMPT_RT in the same way as the rule kernel-preempt-rt: by the kernel's version string, and by a file
/// that only some PREEMPT_RT kernels have.
fn preempt_rt(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let mut unnoted = Notes::default();
    if sight.number(REALTIME, &mut unnoted) == Ok(1) {
        notes.add(REALTIME, "1");
        return Reading::word("yes");
    }
    match sight.text(VERSION, notes) {
        Ok(version) if version.is_empty() => Reading::gap(Gap::new(VERSION, Cause::Garbled("version"))),
        Ok(version) => Reading::word(if is_preempt_rt(&version) { "yes" } else { "no" }),
        Err(gap) => Reading::gap(gap.expected()),
    }
}

fn kernel_config(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    match sight.config() {
        Ok(config) => {
            notes.add(config.path(), "a kernel configuration");
            Reading::word(config.path())
        }
        Err(error) => {
            notes.add("kernel configuration", error.to_string());
            Reading::gap(config_gap(error))
        }
    }
}

fn form(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    match sight.config() {
        Ok(config) => Reading::word(config.form()),
        Err(error) => Reading::gap(config_gap(error)),
    }
}

/// Reads the first `.resolution:` of /proc/timer_list: 1 ns with high-resolution timers, else the tick (4 000 000 ns at
/// 250 Hz).
fn timer_resolution(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    const PATH: &str = "/proc/timer_list";
    let read = sight.machine.read(PATH);
    if let Some(cause) = Cause::of(&read) {
        notes.add(PATH, cause.describe());
        return Reading::gap(Gap::new(PATH, cause));
    }
    let text = read.text().unwrap_or_default();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(".resolution:")).map(str::trim);
    match line.and_then(|line| line.strip_suffix("nsecs")).and_then(|number| number.trim().parse().ok()) {
        Some(number) => {
            notes.add(PATH, format!(".resolution: {number} nsecs"));
            Reading::One(Ok(Value::Number(number)))
        }
        None => {
            notes.add(PATH, "no .resolution");
            Reading::gap(Gap::new(PATH, Cause::Garbled("timer resolution")))
        }
    }
}
