//! rt-tests' JSON form: its two keys that end in a colon stay, because programs ask for them; quotes in the command line are
//! escaped, which rt-tests forgets. What it leaves out is added: `skipped`, `overflows`, `early`.

use crate::options::Options;
use crate::plan::ThreadPlan;
use crate::stat::Stat;
use serde_json::{Map, Value, json};
use std::sync::atomic::Ordering::Relaxed;

/// When and where it ran.
pub(crate) struct Circumstances {
    /// RFC 2822, as rt-tests writes it.
    pub start: String,
    pub end: String,
    pub return_code: i32,
    pub is_realtime: bool,
}

/// The document.
pub(crate) fn document(options: &Options, plans: &[ThreadPlan], stats: &[Stat], when: &Circumstances) -> String {
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    let threads: Map<String, Value> =
        plans.iter().zip(stats).enumerate().map(|(n, (plan, stat))| (n.to_string(), thread(plan, stat))).collect();
    let words: Vec<&str> = std::iter::once("cyclictest").chain(options.words.iter().map(String::as_str)).collect();
    let document = json!({
        "file_version": 1,
        "cmdline:": words.join(" "),
        "rt_test_version:": if options.format == crate::FormatVersion::V2_10 { "2.10" } else { "2.40" },
        "tool": concat!("punctual ", env!("CARGO_PKG_VERSION")),
        "start_time": when.start,
        "end_time": when.end,
        "return_code": when.return_code,
        "sysinfo": {
            "sysname": text(uname.sysname()),
            "nodename": text(uname.nodename()),
            "release": text(uname.release()),
            "version": text(uname.version()),
            "machine": text(uname.machine()),
            "realtime": i32::from(when.is_realtime),
        },
        "num_threads": plans.len(),
        "resolution_in_ns": i32::from(options.nsecs),
        "thread": threads,
    });
    format!("{document:#}\n")
}

fn thread(plan: &ThreadPlan, stat: &Stat) -> Value {
    let bins = stat.histogram.iter().enumerate().map(|(bin, count)| (bin, count.load(Relaxed)));
    let histogram: Map<String, Value> =
        bins.filter(|(_, count)| *count > 0).map(|(bin, count)| (bin.to_string(), count.into())).collect();
    json!({
        "histogram": histogram,
        "cycles": stat.cycles.load(Relaxed),
        "min": stat.min.load(Relaxed),
        "max": stat.max.load(Relaxed),
        "avg": (stat.average() * 100.0).round() / 100.0,
        "cpu": plan.cpu.map_or(-1, |cpu| i64::from(cpu.0)),
        "node": -1,
        "skipped": stat.skipped.load(Relaxed),
        "overflows": stat.overflows.load(Relaxed),
        "early": stat.early.load(Relaxed),
    })
}
