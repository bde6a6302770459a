use crate::info::TraceError;
use crate::{Options, open_text};

/// Returns what is said of a text that is no trace.
fn said(text: &str) -> String {
    match open_text(text.as_bytes(), Options::default()) {
        Err(error) => error.to_string(),
        Ok(_) => "a trace".to_owned(),
    }
}

#[test]
fn the_largest_value_of_an_unknown_table_has_its_row_and_unit() {
    let two = "   PID    Lock (hex)   Avg Wait   Count   Max Wait\n  ----------------\n  270   58f680a0   52.0   212   3587.4\n  \
               lock_it+0x75 [libc]\n\n   PID    Lock (hex)   Avg Hold   Count   Max Hold\n  ----------------\n  270   58f68060   2089.3   18   2249.7\n";
    let text = said(two);
    assert!(text.starts_with("not a known format: a table whose largest \"Max Wait\" in the rows shown is 3587.4 (unit not stated): PID 270, Lock (hex) 58f680a0, Avg Wait 52.0, Count 212"), "{text}");
    assert!(text.contains("largest \"Max Hold\" in the rows shown is 2249.7"), "{text}");
    assert!(text.ends_with("; what it measures is what its heading says"), "{text}");
    let unit = said("queue  p50(us)  p99(us)\nrx0  12  310\nrx1  11  475\n");
    assert!(unit.contains("largest \"p99(us)\" in the rows shown is 475 us: queue rx1, p50(us) 11"), "{unit}");
}

#[test]
fn values_of_different_units_are_compared_as_times() {
    let mixed = said("name   count   max wait\nlock_a   12   300us\nlock_b   11   2ms\nlock_c   9   900ns\n");
    assert!(mixed.contains("largest \"max wait\" in the rows shown is 2 ms: name lock_b, count 11"), "{mixed}");
}

#[test]
fn the_largest_value_of_a_list_has_its_line() {
    let locks = "thread 1\n  mutex 0x7f [m] ::: wait time 28487.80us ::: enter count 6842\n    walk+0x35\nthread 2\n  \
                 mutex 0x7f [m] ::: wait time 371.58us ::: enter count 76\n";
    let text = said(locks);
    assert!(
        text.contains("2 lines with \"wait time\", whose largest value shown is 28487.8 us in \"mutex 0x7f"),
        "{text}"
    );
    let percentiles = "The avg wakeup latency is 3.475 microseconds\nThe 50 th %ile wakeup latency is 2 microseconds\n\
                       The 99 th %ile wakeup latency is 20 microseconds\n";
    assert!(said(percentiles).contains("is 20 microseconds in \"The 99 th"), "{}", said(percentiles));
    let keys = "[1] out: {\"comm\"=>\"a\", \"runq_latency_ns\"=>2826}\n[2] out: {\"comm\"=>\"b\", \"runq_latency_ns\"=>2971}]\n[3] x\n";
    assert!(said(keys).contains("is 2971 ns in \"[2] out"), "{}", said(keys));
    let counts = "@t[a, 6]: count 24, average 2, total 67\n@t[b c, 7]: count 1432, average 8, total 125\n";
    assert!(
        said(counts).contains("\"average\", whose largest value shown is 8 (unit not stated) in \"@t[b c"),
        "{}",
        said(counts)
    );
    let times = "handler: sched out 5.315us as comm: a/3\nhandler: sched out 4.6us as comm: b\nhandler: sched out 0.7us as irq: 3\n";
    assert!(said(times).contains("is 5.315 us in \"handler: sched out 5.315us as comm: a/3\""), "{}", said(times));
    let grouped = said("a: wait 1,234 us\nb: wait 2,500 us\nc: wait 17 us\n");
    assert_eq!(grouped, TraceError::Unrecognised.to_string());
    let single = said("min latency: 2 us\navg latency: 3.5 us\nmax latency: 49 us\nmax wait: 1 ms\n");
    assert!(single.contains("a list in which \"max wait\" is 1 ms;"), "{single}");
}

#[test]
fn other_texts_have_no_such_table() {
    let source = "struct limits {\n  int max_latency = 5;\n  int max_wait = 7;\n};\n// max latency: 5 us\n// max latency: 6 us\n";
    let prose = "We saw a maximum latency of 50 us on the first board.\nThe second one waits longer, and the max is 70 us or so.\n";
    let log = "[    0.000000] clocksource: hpet: mask: 0xf max_cycles: 0xf, max_idle_ns: 133484882848 ns\n\
               [    0.000000] clocksource: jiffies: mask: 0xf max_cycles: 0xf, max_idle_ns: 1911260446275000 ns\n";
    let bare = log.replace("[    0.000000] ", "");
    let memory = "               total        used        free\nMem:          15843        4021        9120\nSwap:          2047           0        2047\n";
    let script = "class Player(object):\n  def wait(self):\n    for at in self.all:\n      waited = 5 # seconds\n  def go(self):\n    waited = 7\n";
    let settings =
        "[package]\nname = \"max\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nserde = \"1\"\n";
    let tuning =
        "kernel.sched_latency_ns = 24000000\nkernel.sched_wakeup_granularity_ns = 4000000\nkernel.sched_delay_us = 4\n";
    let mixed = "task        max\nplayer      300us\nmixer       900\n";
    let cycles = "task        max       count\nplayer      300us     4\nmixer       5cycles   9\n";
    for text in [source, prose, log, &bare, memory, script, settings, tuning, mixed, cycles] {
        assert_eq!(said(text), TraceError::Unrecognised.to_string(), "{text}");
    }
    let known = "TIME     COMM             PID           LAT(us)\n22:19:12 player   2435              178\n";
    assert!(said(known).starts_with("runqslower"), "{}", said(known));
}
