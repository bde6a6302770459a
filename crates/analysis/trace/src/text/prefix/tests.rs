use super::*;
use crate::flags::Context;

fn read(line: &str) -> (Prefix, String) {
    match front(line.as_bytes(), false) {
        Front::Event(prefix, body) => (prefix, String::from_utf8_lossy(body).into_owned()),
        _ => panic!("no event: {line}"),
    }
}

fn comm(prefix: &Prefix) -> String {
    prefix.comm.map(|c| c.to_string()).unwrap_or_default()
}

#[test]
fn columns_of_4_5_7_and_none() {
    for (flags, migrate) in [("d..1", None), ("d..1.", Some(0)), ("d...1..", Some(0))] {
        let (p, body) = read(&format!("     ksoftirqd/1-29      [001] {flags}    23.012512: sched_switch: x"));
        assert_eq!((comm(&p).as_str(), p.tid, p.cpu, p.time), ("ksoftirqd/1", 29, 1, 23_012_512_000));
        assert_eq!(p.flags.unwrap().preempt_depth, Some(1));
        assert_eq!(p.flags.unwrap().migrate_disable, migrate);
        assert_eq!(body, " sched_switch: x");
    }
    let (p, _) = read("            bash-1977  [000] 17284.993652: sys_close <-system_call_fastpath");
    assert_eq!((p.flags, p.cpu, p.tid), (None, 0, 1977));
}

#[test]
fn names_with_spaces_dashes_colons_and_brackets() {
    let (p, _) = read("   my prog: a-b-12    [001] d..1.   1.000000: x: y");
    assert_eq!((comm(&p).as_str(), p.tid), ("my prog: a-b", 12));
    let (p, _) = read("        <...>-12    [001] d..1.   1.000000: x: y");
    assert_eq!(p.comm, None);
    let (p, _) = read("    [kworker]-7    [001] d..1.   1.000000: x: y");
    assert_eq!(comm(&p), "[kworker]");
}

#[test]
fn thread_groups_logs_and_perf() {
    let (p, _) = read("  surfaceflinger-1234  (  567) [002] d..2   100.5: x: y");
    assert_eq!((p.tid, p.cpu, p.time), (1234, 2, 100_500_000_000));
    let (p, _) = read("  surfaceflinger-1234  (-----) [002] d..2   100.5: x: y");
    assert_eq!(comm(&p), "surfaceflinger");
    let (p, _) = read("[   12.345678] cyclictest-9   [001] d..1.   1.000000: x: y");
    assert_eq!((comm(&p).as_str(), p.tid), ("cyclictest", 9));
    let (p, _) = read("cyclictest   191 [001]     9.705463: irq_vectors:local_timer_entry: vector=236");
    assert_eq!((p.tid, p.style, comm(&p).as_str()), (191, Style::Perf, "cyclictest"));
    let (p, _) = read("my prog   190/191 [001]     9.705463: sched:x: y");
    assert_eq!((p.tid, comm(&p).as_str()), (191, "my prog"));
}

#[test]
fn latency_format() {
    let (p, body) = read("  <idle>-0         1dNh5.    1us+:        0:120:R   + [001]     208: 19:R cyclictest");
    assert_eq!((p.cpu, p.time, p.style), (1, 1000, Style::Latency));
    assert_eq!(p.flags.unwrap().context, Some(Context::Hardirq));
    assert!(body.trim_start().starts_with("0:120:R"));
    let (p, _) = read("kworker/0:1-72       12d..2. 3700us : sched_stat_runtime: comm=x pid=1 runtime=5 [ns]");
    assert_eq!((p.cpu, p.tid, p.time), (12, 72, 3_700_000));
    let (p, _) = read("trace-cmd-248     0d.h.. 53.488060: local_timer_entry: vector=236");
    assert_eq!((p.cpu, p.tid, p.time), (0, 248, 53_488_060_000));
}

#[test]
fn prose_is_no_event_and_wrapped_lines_are_seen() {
    for line in ["", "# tracer: nop", "see [1] for details", "root@pi:~# cat trace", " => schedule", "a: b: c"] {
        assert!(matches!(front(line.as_bytes(), false), Front::Other), "{line}");
    }
    assert!(matches!(front(b"  <idle>-0       [001] d.h2.", false), Front::Cut));
}
