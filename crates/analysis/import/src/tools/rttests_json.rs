//! JSON of the programs of rt-tests that [`crate::json`] does not support: pmqtest, ptsematest, svsematest, sigwaittest
//! (with a sender and a receiver per thread), and signaltest.
//!
//! Format: `rt_write_json` in rt-utils.c and `write_stats` of each program, rt-tests 2.0 to 2.10. Earlier versions do
//! not write JSON. All values are in microseconds.

use super::extremes::{Stated, clean, count_of, cpu_of, ns_of};
use crate::block::{Block, Found, Loss, MOST_THREADS, Thread};
use crate::{Options, cmdline, date, number};
use punctual_model::{LostKind, MachineFacts};
use punctual_units::{Arrange, Priority, Scheduling};
use serde_json::Value;

/// Programs and the quantities that they measure.
const PAIRS: [(&str, &str); 4] = [
    ("pmqtest", "message queue latency"),
    ("ptsematest", "mutex latency"),
    ("svsematest", "semaphore latency"),
    ("sigwaittest", "signal latency"),
];

pub(super) const OF_SECONDS: &str =
    "the program keeps only the fraction of a second of each latency: a latency of a second or more appears shorter";
pub(super) const OF_SENDER: &str = "the number of samples is that of the sender; the receiver may have one fewer";
pub(super) const OF_ROUNDS: &str = "a latency is the duration of one round of the signal through all threads; in every 16th round, the latencies of all threads but the first include a pause of 10 ms made by the first thread";

/// Returns the quantity measured between a sender and a receiver; `None` for another program.
pub(super) fn pair_label(program: &str) -> Option<&'static str> {
    PAIRS.iter().find(|(name, _)| *name == program).map(|(_, label)| *label)
}

/// Reads a document; `None` if it is not JSON of rt-tests, or is from cyclictest, cyclicdeadline or oslat. If the
/// program measures no latency, or is unknown, `tool` names it and there are no results.
pub(crate) fn read(value: &Value, _: &Options) -> Option<Found> {
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let version = text("rt_test_version:").or_else(|| text("rt_test_version"));
    let line = text("cmdline:").or_else(|| text("cmdline"));
    if version.is_none() && line.is_none() || value.get("resolution_in_ns").is_some() {
        return None;
    }
    let words = cmdline::words(line.unwrap_or_default());
    let program = words.first().and_then(|w| w.rsplit('/').next()).unwrap_or_default().to_owned();
    let threads = threads(value);
    let any = |key: &str| threads.iter().any(|(_, t)| t.get(key).is_some());
    // Only oslat reports a frequency. Of the others, only cyclictest and cyclicdeadline have histograms.
    if ["cyclictest", "cyclicdeadline", "oslat"].contains(&program.as_str()) || any("freq") || any("histogram") {
        return None;
    }
    // The program may have been renamed, so the format of its figures decides.
    let pair = any("sender") || any("receiver");
    let known = if pair { pair_label(&program).is_some() } else { program == "signaltest" };
    let tool = if known || !pair && !program.is_empty() { program } else { "rt-tests".into() };
    let mut found = header(value);
    found.version = version.map(|v| clean(v, 400));
    found.started_real_ns = text("start_time").and_then(date::rfc2822);
    found.ended_real_ns = text("end_time").and_then(date::rfc2822);
    found.command = words;
    (found.tool, found.format) = (Some(clean(&tool, 80)), format!("{}-json", clean(&tool, 80)));
    if !pair && !known {
        found.notes.push(format!("{} of rt-tests has no latencies that can be read", clean(&tool, 80)));
        return Some(found);
    }
    let label = pair_label(&tool).unwrap_or(if pair { "latency from sender to receiver" } else { "signal round trip" });
    let mut block = Block { label: label.into(), ..Block::default() };
    let stated: &[&str] = if pair { &[OF_SENDER, OF_SECONDS] } else { &[OF_ROUNDS] };
    block.lost.extend(stated.iter().map(|text| Loss::reported(LostKind::Other, None, *text)));
    for (number, one) in threads {
        block.threads.push(if pair { of_pair(number, one) } else { of_signaltest(number, one) });
    }
    // Times are in whole seconds, so the run may have been one second longer.
    let times = found.ended_real_ns.zip(found.started_real_ns).and_then(|(end, start)| end.checked_sub(start));
    for thread in &mut block.threads {
        thread.longest_ns = times.map(|ns| ns.saturating_add(1_000_000_000));
    }
    let stated = value.get("num_threads").and_then(Value::as_u64);
    if let Some(stated) = stated.filter(|&stated| stated != block.threads.len() as u64) {
        let text = format!("{stated} threads are stated, but the file has results of {}", block.threads.len());
        block.lost.push(Loss::problem(LostKind::Disagreement, None, text));
    }
    if let Some(code) = value.get("return_code").and_then(Value::as_i64).filter(|&code| code != 0) {
        found.notes.push(format!("{tool} ended with exit code {code}"));
    }
    found.blocks.push(block);
    Some(found)
}

fn threads(value: &Value) -> Vec<(u32, &Value)> {
    let all = value.get("thread").and_then(Value::as_object);
    let mut found: Vec<(u32, &Value)> = all
        .into_iter()
        .flatten()
        .filter_map(|(number, one)| Some((u32::try_from(number::whole(number)?).ok()?, one)))
        .filter(|(number, one)| *number < MOST_THREADS && one.is_object())
        .collect();
    found.arrange_by_key(|(number, _)| *number);
    found
}

fn header(value: &Value) -> Found {
    let system =
        |key: &str| value.pointer(&format!("/sysinfo/{key}")).and_then(Value::as_str).map(|text| clean(text, 400));
    let realtime = value.pointer("/sysinfo/realtime").and_then(Value::as_u64);
    Found {
        host: system("nodename"),
        machine: MachineFacts {
            kernel_release: system("release"),
            kernel_version: system("version"),
            architecture: system("machine"),
            preempt_rt: realtime.map(|n| n != 0),
            ..MachineFacts::default()
        },
        ..Found::default()
    }
}

fn stated(one: &Value, count: Option<u64>) -> Stated {
    let us = |key: &str| ns_of(one.get(key), 1_000.0);
    let mean = one.get("avg").and_then(Value::as_f64).filter(|v| v.is_finite() && *v >= 0.0);
    Stated { count, min_ns: us("min"), max_ns: us("max"), mean_ns: mean.map(|us| us * 1_000.0) }
}

/// Returns a thread of a pair. The receiver measures, and the sender counts.
fn of_pair(number: u32, one: &Value) -> Thread {
    let none = Value::Null;
    let (sender, receiver) = (one.get("sender").unwrap_or(&none), one.get("receiver").unwrap_or(&none));
    let mut thread = stated(receiver, count_of(sender.get("samples"))).thread(number, 1_000);
    if thread.count.is_none() {
        let text = "the number of samples is missing or cannot be read";
        thread.lost.push(Loss::problem(LostKind::Unreadable, None, text));
    }
    thread.cpu = cpu_of(receiver.get("cpu"));
    thread.got = receiver.get("priority").and_then(Value::as_u64).and_then(fifo);
    let timeouts = count_of(receiver.get("timeoutcount")).filter(|&n| n > 0);
    if let Some(n) = timeouts {
        thread.lost.push(Loss::reported(LostKind::Other, Some(n), "the receiver timed out while it waited"));
    }
    thread
}

/// Returns the scheduling of the threads of these programs: FIFO; `None` if the priority is 0 (not real-time) or
/// invalid.
pub(super) fn fifo(priority: u64) -> Option<Scheduling> {
    let priority: Priority = priority.to_string().parse().ok()?;
    Some(Scheduling::Fifo { priority })
}

fn of_signaltest(number: u32, one: &Value) -> Thread {
    let mut thread = stated(one, count_of(one.get("cycles"))).thread(number, 1_000);
    if thread.count.is_none() {
        let text = "the number of samples is missing or cannot be read";
        thread.lost.push(Loss::problem(LostKind::Unreadable, None, text));
    }
    // The program reports the CPU of the first thread for every thread.
    thread.cpu = cpu_of(one.get("cpu")).filter(|_| number == 0);
    thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn pmqtest() -> Value {
        serde_json::from_str(include_str!("../../tests/fixtures/tools/pmqtest-2.10.json")).unwrap()
    }

    fn signaltest() -> Value {
        serde_json::from_str(include_str!("../../tests/fixtures/tools/signaltest-2.10.json")).unwrap()
    }

    fn get(value: &Value) -> Found {
        read(value, &Options::default()).unwrap()
    }

    fn problems(found: &Found) -> Vec<&str> {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        let blocks = found.blocks.iter().flat_map(|b| &b.lost);
        threads.chain(blocks).chain(&found.lost).filter(|l| l.problem).map(|l| l.text.as_str()).collect()
    }

    #[test]
    fn pairs_are_read() {
        let found = get(&pmqtest());
        assert_eq!((found.tool.as_deref(), found.format.as_str()), (Some("pmqtest"), "pmqtest-json"));
        assert_eq!(found.blocks[0].label, "message queue latency");
        let [a, b] = found.blocks[0].threads.as_slice() else { panic!() };
        assert_eq!((a.count, a.min_ns, a.max_ns), (Some(2_204), Some(4_000), Some(91_000)));
        assert_eq!((a.mean_ns.map(|ns| ns as u64), a.cpu, a.got), (Some(5_270), Some(1), fifo(70)));
        assert_eq!((b.count, b.max_ns, b.cpu), (Some(1_903), Some(2_134_000), Some(3)));
        assert_eq!(a.longest_ns, Some(4_000_000_000));
        assert!(problems(&found).is_empty(), "{found:?}");
    }

    #[test]
    fn signaltest_is_not_cyclictest() {
        let found = get(&signaltest());
        assert_eq!((found.tool.as_deref(), found.format.as_str()), (Some("signaltest"), "signaltest-json"));
        let threads = &found.blocks[0].threads;
        assert_eq!((threads[0].count, threads[0].min_ns, threads[0].max_ns), (Some(812), Some(14_000), Some(633_000)));
        assert_eq!((threads[1].max_ns, threads[0].cpu, threads[1].cpu), (Some(10_421_000), Some(2), None));
        assert!(problems(&found).is_empty(), "{found:?}");
    }

    #[test]
    fn other_programs_are_not_read_as_cyclictest() {
        let mut other = signaltest();
        other["cmdline:"] = json!("/usr/bin/rt-migrate-test -c");
        let found = get(&other);
        assert_eq!((found.tool.as_deref(), found.blocks.len()), (Some("rt-migrate-test"), 0));
        for program in ["cyclictest", "/opt/oslat", "cyclicdeadline"] {
            other["cmdline:"] = json!(program);
            assert!(read(&other, &Options::default()).is_none());
        }
        // The program is renamed, but has the format of cyclictest.
        let mut renamed = signaltest();
        renamed["cmdline:"] = json!("./ct -S");
        renamed["resolution_in_ns"] = json!(0);
        assert!(read(&renamed, &Options::default()).is_none());
        let mut renamed = pmqtest();
        renamed["cmdline:"] = json!("./mq -S");
        assert_eq!(get(&renamed).tool.as_deref(), Some("rt-tests"));
        assert!(read(&json!({"thread": {"0": {"cycles": 1}}}), &Options::default()).is_none());
    }

    #[test]
    fn what_contradicts_or_is_missing_is_a_problem() {
        let changed = |path: &str, new: Value| {
            let mut file = pmqtest();
            *file.pointer_mut(path).unwrap() = new;
            problems(&get(&file)).len()
        };
        assert_eq!(changed("/num_threads", json!(3)), 1);
        assert_eq!(changed("/thread/0/sender/samples", json!(null)), 1);
        assert_eq!(changed("/thread/0/receiver/max", json!("x")), 1);
        assert_eq!(changed("/thread/0/receiver/max", json!(3)), 2);
        assert_eq!(changed("/thread/0/receiver", json!(null)), 1);
        assert_eq!(changed("/thread/1", json!(7)), 1);
        // Nothing was received: `-1` is the initial value of the minimum.
        assert_eq!(changed("/thread/0/receiver/min", json!(-1)), 0);
    }

    proptest! {
        #[test]
        fn any_json_is_survived(at in 0_usize..900, with in "[0-9.eE\"{}:,-]{0,6}") {
            let text = include_str!("../../tests/fixtures/tools/pmqtest-2.10.json");
            let mut bytes = text.as_bytes().to_vec();
            let at = at.min(bytes.len());
            let end = (at + with.len()).min(bytes.len());
            bytes.splice(at..end, with.bytes());
            if let Ok(value) = serde_json::from_slice(&bytes) {
                read(&value, &Options::default());
            }
        }
    }
}
