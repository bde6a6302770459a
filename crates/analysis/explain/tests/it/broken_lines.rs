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

/// `keeper` gets CPU 2 at 100 µs and leaves it at 40 ms, with this text in between; `quick` is woken and runs on CPU 5.
fn kept(between: &str) -> String {
    let switch = |prev: &str, pid: i32, next: &str, tid: i32| {
        format!(
            "sched_switch: prev_comm={prev} prev_pid={pid} prev_prio=120 prev_state=R ==> next_comm={next} next_pid={tid} next_prio=120"
        )
    };
    line(2, 100, "<idle>-0", &switch("swapper/2", 0, "keeper", 240))
        + &line(5, 300, "<idle>-0", "sched_wakeup: comm=quick pid=248 prio=100 target_cpu=005")
        + &line(5, 309, "<idle>-0", &switch("swapper/5", 0, "quick", 248))
        + &line(2, 400, "keeper-240", "probe: (__wake_up+0x0/0x70)")
        + between
        + &line(2, 40_100, "keeper-240", &switch("keeper", 240, "other", 77))
}

#[test]
fn a_thread_that_has_the_cpu_on_both_sides_of_missing_lines_is_named() {
    let said = first(&kept("   .....\n"));
    let held = "keeper (nice 0, pid 240) got a CPU and left it 40.0 ms later on CPU 2: the lines show no switch in between, but some are missing";
    assert!(said.contains(held) && said.contains("of the wakeups: quick"), "{said}");
    // Another thread had the CPU in between.
    let another = kept(&format!("   .....\n{}   .....\n", line(2, 9_000, "third-70", "probe: (__wake_up+0x0/0x70)")));
    assert!(!first(&another).contains("keeper (nice 0, pid 240) got"), "{}", first(&another));
}
