//! Writes JSON in the format of rt-tests, byte for byte. Its two keys that end in a colon are kept, because programs
//! read them. Unlike in rt-tests, quotes in the command line are escaped. Additional keys are on separate lines:
//! `tool`, `skipped`, `overflows`, `early`.

use crate::options::{FormatVersion, Options};
use crate::plan::ThreadPlan;
use crate::stat::Stat;
use serde_json::Value;
use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

pub(crate) struct Circumstances {
    /// Start time in the format of RFC 2822.
    pub start: String,
    pub end: String,
    pub return_code: i32,
    pub system: SysInfo,
}

/// Output of uname(2), and whether the kernel reports PREEMPT_RT.
pub(crate) struct SysInfo {
    pub sysname: String,
    pub nodename: String,
    pub release: String,
    pub version: String,
    pub machine: String,
    pub is_realtime: bool,
}

impl SysInfo {
    pub fn of_this_machine(is_realtime: bool) -> SysInfo {
        let uname = rustix::system::uname();
        let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
        SysInfo {
            sysname: text(uname.sysname()),
            nodename: text(uname.nodename()),
            release: text(uname.release()),
            version: text(uname.version()),
            machine: text(uname.machine()),
            is_realtime,
        }
    }
}

fn quoted(text: &str) -> Value {
    Value::from(text)
}

pub(crate) fn document(options: &Options, plans: &[ThreadPlan], stats: &[Stat], when: &Circumstances) -> String {
    let words: Vec<&str> = std::iter::once("cyclictest").chain(options.words.iter().map(String::as_str)).collect();
    let version = if options.format == FormatVersion::V2_10 { "2.10" } else { "2.40" };
    let tool = concat!("punctual ", env!("CARGO_PKG_VERSION"));
    let mut out = String::from("{\n  \"file_version\": 1,\n");
    for (key, value) in [
        ("cmdline:", words.join(" ").as_str()),
        ("rt_test_version:", version),
        ("tool", tool),
        ("start_time", &when.start),
        ("end_time", &when.end),
    ] {
        let _ = writeln!(out, "  \"{key}\": {},", quoted(value));
    }
    let _ = writeln!(out, "  \"return_code\": {},\n  \"sysinfo\": {{", when.return_code);
    let system = &when.system;
    for (key, value) in [
        ("sysname", &system.sysname),
        ("nodename", &system.nodename),
        ("release", &system.release),
        ("version", &system.version),
        ("machine", &system.machine),
    ] {
        let _ = writeln!(out, "    \"{key}\": {},", quoted(value));
    }
    let _ = writeln!(out, "    \"realtime\": {}\n  }},", i32::from(system.is_realtime));
    let (threads, nsecs) = (plans.len(), i32::from(options.nsecs));
    let _ = writeln!(out, "  \"num_threads\": {threads},\n  \"resolution_in_ns\": {nsecs},\n  \"thread\": {{");
    for (index, (plan, stat)) in plans.iter().zip(stats).enumerate() {
        thread(&mut out, index, plan, stat);
        out.push_str(if index + 1 < threads { "    },\n" } else { "    }\n" });
    }
    out + "  }\n}\n"
}

/// Writes the lines of one thread without its closing brace.
fn thread(out: &mut String, index: usize, plan: &ThreadPlan, stat: &Stat) {
    let _ = write!(out, "    \"{index}\": {{\n      \"histogram\": {{");
    let bins = stat.histogram.iter().enumerate().map(|(bin, count)| (bin, count.load(Relaxed)));
    let bins: Vec<String> =
        bins.filter(|(_, count)| *count > 0).map(|(bin, count)| format!("\n        \"{bin}\": {count}")).collect();
    // If there are no bins, rt-tests does not end the line.
    out.push_str(&bins.join(","));
    out.push_str(if bins.is_empty() { "      },\n" } else { "\n      },\n" });
    let _ = writeln!(out, "      \"cycles\": {},", stat.cycles.load(Relaxed));
    let _ = writeln!(out, "      \"min\": {},", stat.min.load(Relaxed));
    let _ = writeln!(out, "      \"max\": {},", stat.max.load(Relaxed));
    let _ = writeln!(out, "      \"avg\": {:.2},", stat.average());
    for (key, count) in [("skipped", &stat.skipped), ("overflows", &stat.overflows), ("early", &stat.early)] {
        let _ = writeln!(out, "      \"{key}\": {},", count.load(Relaxed));
    }
    let cpu = plan.cpu.map_or(-1, |cpu| i64::from(cpu.0));
    let _ = writeln!(out, "      \"cpu\": {cpu},\n      \"node\": -1");
}
