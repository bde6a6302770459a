//! Traces whose cause was named wrongly, in the words of those who reported them.

use punctual_explain::{Attribution, ExplainOptions};
use punctual_trace::{Options, open_text};
use std::fs;
use std::path::Path;

/// The verdict on the worst wakeup.
fn verdict(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reported").join(name);
    let text = fs::read(path).unwrap();
    let mut source = open_text(text.as_slice(), Options::default()).unwrap();
    let mut attribution = Attribution::new(ExplainOptions::default());
    while let Some(event) = source.next() {
        attribution.event(&event, source.info());
    }
    let found = attribution.finish(source.info());
    found.victims.first().map_or_else(String::new, |victim| victim.verdict.clone())
}

#[test]
fn each_is_told_by_what_it_was() {
    for (name, told, never) in [
        ("r02_hardirq_on_idle.txt", "interrupt nic_interrupt took 146 µs", "leaving idle"),
        ("r06_remark_after_vector.txt", "interrupt local_timer took 101 µs", "leaving idle"),
        ("r07_irq_entry_cut_off.txt", "interrupt local_timer took 108 µs", "leaving idle"),
        ("r09_idle_for_50ms.txt", "suspected: real-time throttling left the CPU idle", "fair server"),
        ("r11_arch_timer_advice.txt", "irq 11 arch_timer took 420 µs", "smp_affinity"),
        ("r12_timerlat_stack_ignored.txt", "by its priority or with preemption off", "lower its priority"),
        ("r16_zero_late.txt", "no longer than an ordinary switch takes", "no cause"),
        ("r17_normal_switch_called_late.txt", "no longer than an ordinary switch takes", "no cause"),
    ] {
        let verdict = verdict(name);
        assert!(verdict.contains(told) && !verdict.contains(never), "{name}: {verdict}");
    }
}
