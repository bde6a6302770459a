//! Delays caused by a long line in the kernel log on a serial console, which kernels without PREEMPT_RT print with
//! interrupts disabled (kernel/printk/printk.c, `console_emit_next_record`), by polling the port.

use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::kernel_threads::is_rt;
use crate::thread::{ORDINARY, become_thread, now, own_burst, sleep_until};
use crate::truth::Burst;
use std::fs;
use std::io::Write;

const NAME: &str = "prints";
/// Length of the log line, just below LOG_LINE_MAX. Lines of its level, 1, are printed even with `quiet`.
const LENGTH: usize = 900;
/// Minimum time that printing must take for the delay to be long enough, ns.
const MIN_NS: u64 = 4_000_000;

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let console = fs::read_to_string("/sys/class/tty/console/active").unwrap_or_default();
    if is_rt() {
        return Err(InjectError::Impossible("PREEMPT_RT prints in a thread".into()));
    }
    if !["ttyS", "ttyAMA"].iter().any(|port| console.contains(port)) || fs::exists("/.dockerenv").unwrap_or(false) {
        return Err(InjectError::Impossible("no serial console".into()));
    }
    become_thread(NAME, config.cpu, ORDINARY)?;
    let mut log = fs::OpenOptions::new().write(true).open("/dev/kmsg").map_err(InjectError::at("open /dev/kmsg"))?;
    let line = format!("<1>{}\n", "x".repeat(LENGTH));
    let mut print = || {
        let start = now();
        log.write_all(line.as_bytes()).map_err(InjectError::at("write to /dev/kmsg"))?;
        Ok::<_, InjectError>((start, now()))
    };
    let (start, end) = print()?;
    if end - start < MIN_NS {
        return Err(InjectError::Impossible(format!("printing {LENGTH} characters takes only {} ns", end - start)));
    }
    let burst = own_burst("irqs_disabled", NAME, ORDINARY, config.cpu);
    let mut bursts = Vec::new();
    for slot in config.slots(begin()) {
        sleep_until(slot.from);
        let (start_ns, end_ns) = print()?;
        bursts.push(Burst { start_ns, end_ns, earliest_ns: start_ns, ..burst.clone() });
    }
    Ok(bursts)
}
