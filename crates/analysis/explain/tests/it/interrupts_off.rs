//! Sections of irqsoff that one interrupt makes up, and gaps inside a section.

use crate::old_kernels::first;

/// A trace of irqsoff with this latency and these ends, by pid 114 on CPU 0, whose lines are `flags time: function`.
fn section(tracer: &str, us: u32, (from, to): (&str, &str), lines: &[&str]) -> String {
    let count = lines.iter().filter(|line| !line.starts_with(" =>") && !line.starts_with("[..")).count();
    let head = format!(
        "{tracer}# latency: {us} us, #{count}/{count}, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:2)\n#    | task: burner-114 (uid:0 nice:0 policy:0 \
         rt_prio:0)\n#  => started at: {from}\n#  => ended at:   {to}\n#\n"
    );
    lines.iter().fold(head, |text, line| match line.starts_with("[..") || line.starts_with(" =>") {
        true => format!("{text}{line}\n"),
        false => format!("{text}  burner-114       0{line}\n"),
    })
}

const IRQSOFF: &str = "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 4.4.27\n";

#[test]
fn a_section_from_the_entry_of_an_interrupt_to_its_exit_is_that_interrupt() {
    let lines = [
        "d..1    1us : trace_hardirqs_off_thunk <-apic_timer_interrupt",
        "d..1    4us : irq_enter <-smp_apic_timer_interrupt",
        "d.h1   33us : exit_idle <-smp_apic_timer_interrupt",
        "d.h1  180us : tick_work <-tick_sched_timer",
        "d..1  190us : irq_exit <-smp_apic_timer_interrupt",
        "dN.1  253us : trace_hardirqs_on_thunk <-restore_regs_and_iret",
        "dN.1  321us : <stack trace>",
        " => trace_hardirqs_on_thunk",
        " => walk_list",
        " => sys_walk",
    ];
    let said = first(&section(IRQSOFF, 253, ("apic_timer_interrupt", "restore_regs_and_iret"), &lines));
    let one = "interrupts off for 253 µs on CPU 0 in one interrupt, from its entry (apic_timer_interrupt) to its exit (restore_regs_and_iret)";
    assert!(said.contains(one), "{said}");
    assert!(said.contains("upon walk_list ← sys_walk"), "{said}");
    assert!(!said.contains("called by") && !said.contains("of it in interrupts"), "{said}");
    // A hole in its entry is no work of the interrupt.
    let hole = [
        "d..1    1us!: trace_hardirqs_off_thunk <-apic_timer_interrupt",
        "d..1 5004us : smp_apic_timer_interrupt <-apic_timer_interrupt",
        "d..1 5010us : irq_enter <-smp_apic_timer_interrupt",
        "d.h1 5033us : exit_idle <-smp_apic_timer_interrupt",
        "d..1 5190us : irq_exit <-smp_apic_timer_interrupt",
        "d..1 5253us : trace_hardirqs_on_thunk <-restore_regs_and_iret",
    ];
    let hole = section(IRQSOFF, 5253, ("apic_timer_interrupt", "restore_regs_and_iret"), &hole);
    assert!(first(&hole).contains("two successive lines in the entry of an interrupt"), "{}", first(&hole));
    // A section that goes on after the interrupt is not the interrupt's.
    let other = first(&section(IRQSOFF, 253, ("apic_timer_interrupt", "finish_task_switch"), &lines));
    assert!(!other.contains("in one interrupt") && other.contains("called by walk_list"), "{other}");
}

#[test]
fn a_section_whose_tracer_is_not_named_is_said() {
    let lines = [
        "d...    2us : __irq_usr",
        "d...    7us : gic_handle_irq <-__irq_usr",
        "[...]",
        "d.s.  275us : __do_softirq <-irq_exit",
        "d.s.  279us+: tracer_hardirqs_on <-irq_exit",
    ];
    let said = first(&section("", 276, ("__irq_usr", "irq_exit"), &lines));
    assert!(said.contains("interrupts off for 276 µs on CPU 0 in one interrupt, from its entry (__irq_usr)"), "{said}");
    assert!(said.contains("the lines of 268 µs of it are left out") && said.contains("burner (pid 114)"), "{said}");
    // Without the flag that interrupts are off in every line it is open what was.
    let mixed: Vec<String> = lines.iter().map(|line| line.replacen("d.s.", "..s1", 1)).collect();
    let mixed: Vec<&str> = mixed.iter().map(String::as_str).collect();
    let said = first(&section("", 276, ("take", "give"), &mixed));
    assert!(said.contains("a latency tracer: interrupts or preemption off for 276 µs"), "{said}");
}

#[test]
fn the_longest_gaps_of_a_section_are_named() {
    let lines = [
        "dn.1    3us : leave_state <-cpu_enter",
        "dn.1   10us!: try_lock <-lock_regs",
        "dn.1  130us : unlock <-restore_ctx",
        "dn.1  135us!: try_lock <-lock_regs",
        "dn.1  260us : unlock <-restore_ctx",
        "dn.1  270us : restore_debug <-restore_all",
        "dn.1  272us!: call_chain <-restore_debug",
        "dn.1  572us : restore_timer <-restore_all",
        "dn.1  610us : cpu_done <-cpu_enter",
    ];
    let said =
        first(&section(IRQSOFF, 640, ("cpu_enter", "cpuidle_enter"), &lines).replace("burner-114 (", "swapper/0-0 ("));
    assert!(
        said.contains("300 µs of it in one gap without lines, last traced in call_chain ← restore_debug ← restore_all"),
        "{said}"
    );
    assert!(said.contains("245 µs in 2 gaps before the next call by restore_ctx"), "{said}");
    assert!(said.contains("with a reschedule requested in all lines"), "{said}");
    // An omission is no gap.
    let mut cut = lines.to_vec();
    cut.insert(7, "[...]");
    let said = first(&section(IRQSOFF, 640, ("cpu_enter", "cpu_enter"), &cut));
    assert!(!said.contains("300 µs"), "{said}");
}
