//! Traces whose cause was named wrongly, in the words of those who reported them.

use punctual_explain::{Attribution, ExplainOptions, Explanation};
use punctual_trace::{Options, open_text};
use std::fs;
use std::path::Path;

fn explained(name: &str) -> Explanation {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reported").join(name);
    let text = fs::read(path).unwrap();
    let mut source = open_text(text.as_slice(), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions::default());
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    attribution.finish(source.info())
}

/// The verdict on the worst wakeup.
fn verdict(name: &str) -> String {
    explained(name).victims.first().map_or_else(String::new, |victim| victim.verdict.clone())
}

#[test]
fn where_no_real_time_thread_was_woken_another_is_named() {
    let found = explained("r19_no_rt_thread.txt");
    assert!(found.victims.is_empty());
    let said = "the longest wait of another thread is 20.0 ms, of app (pid 730): --task 730 explains it";
    assert!(found.notes.iter().any(|note| note == said), "{:?}", found.notes);
}

#[test]
fn each_is_told_by_what_it_was() {
    for (name, told, never) in [
        ("r02_hardirq_on_idle.txt", "interrupt nic_interrupt took 146 µs", "leaving idle"),
        ("r06_remark_after_vector.txt", "interrupt local_timer took 101 µs", "leaving idle"),
        ("r07_irq_entry_cut_off.txt", "interrupt local_timer took 108 µs", "leaving idle"),
        ("r09_idle_for_50ms.txt", "suspected: real-time throttling left the CPU idle", "fair server"),
        ("r10_long_names.txt", "suspected: real-time throttling left the CPU idle", "fair server"),
        ("r11_arch_timer_advice.txt", "irq 11 arch_timer took 420 µs", "smp_affinity"),
        ("r12_timerlat_stack_ignored.txt", "by its priority or with preemption off", "lower its priority"),
        ("r13_raw_sched_switch.txt", "job (nice 0, pid 300)", "no cause"),
        ("r14_ts_diff.txt", "job (nice 0, pid 300)", "no cause"),
        ("r16_zero_late.txt", "no longer than an ordinary switch takes", "no cause"),
        ("r17_normal_switch_called_late.txt", "no longer than an ordinary switch takes", "no cause"),
    ] {
        let verdict = verdict(name);
        assert!(verdict.contains(told) && !verdict.contains(never), "{name}: {verdict}");
    }
}
