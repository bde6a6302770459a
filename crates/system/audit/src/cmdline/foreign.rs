//! Words on the command line that do not belong to a mainline kernel.

use super::names::key;
use punctual_machine::scrub;

/// Settings from raspberrypi/documentation, asciidoc/computers/config_txt. A name that ends in `_` is a prefix.
const CONFIG_TXT: &[&str] = &[
    "arm_64bit",
    "arm_boost",
    "arm_freq",
    "arm_freq_min",
    "auto_initramfs",
    "avoid_warnings",
    "camera_auto_detect",
    "core_freq",
    "core_freq_min",
    "disable_fw_kms_setup",
    "disable_overscan",
    "disable_splash",
    "display_auto_detect",
    "dtoverlay",
    "dtparam",
    "enable_uart",
    "force_turbo",
    "gpu_freq",
    "gpu_mem",
    "hdmi_",
    "initial_turbo",
    "max_framebuffers",
    "over_voltage",
    "over_voltage_",
    "sdram_freq",
    "start_x",
    "temp_limit",
    "uart_2ndstage",
    "usb_max_current_enable",
    "v3d_freq",
];

/// Recognises a word that is a setting of a Raspberry Pi's config.txt.
pub(crate) fn config_txt(word: &str) -> Option<String> {
    let key = key(word);
    let is_one = |name: &&str| if name.ends_with('_') { key.starts_with(*name) } else { key == *name };
    CONFIG_TXT
        .iter()
        .any(is_one)
        .then(|| format!("`{}` is a setting of config.txt: the kernel passes it to init", scrub(word)))
}

/// Files of /proc/sys/kernel (kernel/sched/rt.c, kernel/sched/fair.c).
const SYSCTLS: &[&str] =
    &["sched_rt_runtime_us", "sched_rt_period_us", "sched_rr_timeslice_ms", "perf_cpu_time_max_percent"];

const NO_CPUFREQ: &str = "is not a parameter of Linux: cpufreq.off=1 disables frequency scaling";

/// Names from real-time guides that no mainline kernel supports, with the text to show.
const UNKNOWN: &[(&str, &str)] = &[
    ("cpufreq_disable", NO_CPUFREQ),
    // The name of the function behind cpufreq.off= (drivers/cpufreq/cpufreq.c).
    ("disable_cpufreq", NO_CPUFREQ),
    ("housekeeping", "is not a parameter of Linux: isolcpus= and irqaffinity= name the CPUs"),
    ("kthread_cpus", "is not in mainline Linux: only patched kernels support it"),
    ("noht", "is not a parameter of Linux: nosmt keeps one thread of each core (since 4.19)"),
    (
        "noirqbalance",
        "is not a parameter of Linux: irqbalance is a service, disabled with `systemctl disable irqbalance`",
    ),
    ("preempt_rt", "is not a parameter of Linux: PREEMPT_RT is set when the kernel is built"),
    ("preempt_rt_full", "is not a parameter of Linux: PREEMPT_RT is set when the kernel is built"),
    ("workqueue.cpumask", "is not a parameter of Linux: workqueue.unbound_cpus= takes a CPU list (since 6.6)"),
];

/// Explains why no mainline kernel supports a parameter that real-time guides name.
pub(crate) fn unknown(word: &str) -> Option<String> {
    let key = key(word);
    if let Some((name, why)) = UNKNOWN.iter().find(|(name, _)| *name == key) {
        return Some(format!("{name} {why}"));
    }
    let sysctl = match SYSCTLS.contains(&key.as_str()) {
        true => Some(format!("kernel.{key}")),
        // The kernel treats this as the parameter of a module that does not exist.
        false => (key.starts_with("kernel.") || key.starts_with("vm.")).then(|| key.clone()),
    }?;
    Some(format!(
        "`{}` is a sysctl, not a parameter: /etc/sysctl.d sets it, or sysctl.{sysctl}= (since Linux 5.8)",
        scrub(word)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_others_are_reported() {
        for word in ["dtparam=spi=on", "force_turbo=1", "hdmi_group=2", "over_voltage_delta=50000"] {
            assert!(config_txt(word).is_some(), "{word}");
        }
        for word in [
            "kthread_cpus=0",
            "housekeeping=0-1",
            "workqueue.cpumask=1",
            "noht",
            "preempt_rt",
            "sched_rt_runtime_us=-1",
            "kernel.nmi_watchdog=0",
            "cpufreq_disable=1",
        ] {
            assert!(unknown(word).is_some(), "{word}");
        }
        for word in ["isolcpus=2", "sysctl.kernel.sched_rt_runtime_us=-1", "net.ifnames=0", "gpio", "quiet", "hd=1"] {
            assert!(unknown(word).is_none() && config_txt(word).is_none(), "{word}");
        }
    }
}
