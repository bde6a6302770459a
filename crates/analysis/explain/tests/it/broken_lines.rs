//! Lines that a terminal broke within a word or cut at its width.

use crate::old_kernels::first;

fn line(cpu: u32, us: u32, who: &str, body: &str) -> String {
    format!(" {who} [{cpu:03}] d..2. 7.{us:06}: {body}\n")
}

/// `helper` is woken at 100 µs on CPU 3 and has it 30 µs later; it is interrupted at 900 µs by the wakeup of `reader`.
fn trace() -> String {
    let wake = |comm: &str, pid: i32, cpu: u32| format!("comm={comm} pid={pid} prio=120 target_cpu={cpu:03}");
    let idle = |cpu: u32, next: &str, pid: i32| {
        format!(
            "sched_switch: prev_comm=swapper/{cpu} prev_pid=0 prev_prio=120 prev_state=R ==> next_comm={next} next_pid={pid} next_prio=120"
        )
    };
    line(3, 100, "<idle>-0", &format!("sched_waking: {}", wake("helper", 297, 3)))
        + &line(3, 120, "<idle>-0", &format!("sched_wakeup: {}", wake("helper", 297, 3)))
        + &line(3, 130, "<idle>-0", &idle(3, "helper", 297))
        + &line(3, 900, "helper-297", &format!("sched_waking: {}", wake("reader", 7669, 3)))
        + &line(3, 903, "helper-297", "sched_migrate_task: comm=reader pid=7669 prio=120 orig_cpu=3 dest_cpu=9")
        + &line(9, 930, "<idle>-0", &format!("sched_wakeup: {}", wake("reader", 7669, 9)))
        + &line(9, 934, "<idle>-0", &idle(9, "reader", 7669))
        + &line(
            9,
            980,
            "reader-7669",
            "sched_switch: prev_comm=reader prev_pid=7669 prev_prio=120 prev_state=S ==> next_comm=swapper/9 next_pid=0 next_prio=120",
        )
}

#[test]
fn a_switch_broken_within_a_field_or_a_number_is_read() {
    let whole = first(&trace());
    assert!(whole.contains("reader (nice 0, pid 7669) on CPU 9, 34.0 µs late"), "{whole}");
    let in_field = trace().replace("next_pid=297", "nex\nt_pid=297");
    let in_number = trace().replace("next_pid=7669", "next_pid=766\n9");
    assert_eq!(first(&in_field), whole);
    assert_eq!(first(&in_number), whole);
}

#[test]
fn a_cut_switch_to_the_idle_task_names_it() {
    let cut = trace().replace("next_comm=swapper/9 next_pid=0 next_prio=120", "next_comm=swapper/9 next_pid=");
    let after = line(9, 990, "<idle>-0", "sched_waking: comm=last pid=70 prio=120 target_cpu=009")
        + &line(
            9,
            999,
            "<idle>-0",
            "sched_switch: prev_comm=swapper/9 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=last next_pid=70 next_prio=120",
        );
    let said = first(&(cut + &after));
    assert!(said.contains("reader (nice 0, pid 7669) on CPU 9, 34.0 µs late"), "{said}");
    assert!(!said.contains("another thread was current"), "{said}");
}
