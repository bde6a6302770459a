//! Tests that marks are in the kernel's trace.

use punctual_rt::{MarkCounts, Marks};
use std::fs;

#[test]
#[ignore = "live: root, tracefs"]
fn marks_stand_in_the_kernel_s_trace_as_lines() {
    let marks = Marks::open();
    let name = format!("marks-test-{}", std::process::id());
    marks.mark(&name);
    marks.mark_value(&name, 42);
    if let Some(problem) = marks.problem() {
        assert_eq!(marks.counts(), MarkCounts { written: 0, failed: 2 });
        return println!("not tested: {problem}");
    }
    assert_eq!(marks.counts(), MarkCounts { written: 2, failed: 0 });
    let trace = ["/sys/kernel/tracing/trace", "/sys/kernel/debug/tracing/trace"].map(fs::read_to_string);
    let trace = trace.into_iter().find_map(Result::ok).unwrap();
    let lines: Vec<&str> = trace.lines().filter(|line| line.contains(&name)).collect();
    let texts: Vec<&str> = lines.iter().map(|line| line.split_once("tracing_mark_write: ").unwrap().1).collect();
    assert_eq!(texts, [format!("punctual: {name}"), format!("punctual: {name} 42")]);
}
