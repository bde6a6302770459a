use super::*;

fn of(text: &str) -> String {
    said(text).unwrap_or_default()
}

#[test]
fn a_report_says_what_it_means() {
    let said = of("[  12.3] sched: RT throttling activated\n");
    assert!(said.starts_with("\"[  12.3] sched: RT throttling activated\": real-time threads had used up"), "{said}");
    assert_eq!(line(b"[  12.3] sched: RT throttling activated"), Some(said));
    assert_eq!(of("[  12.3] usb 1-1: new device\n"), "");
}

#[test]
fn a_report_has_only_its_own_stack() {
    let log = "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [job:77]\nRIP: 0010:scan_pages+0x1c/0x20\n";
    assert!(of(log).contains("was stopped, in scan_pages"), "{}", of(log));
    let log = "[ 10.0] sched: RT throttling activated\n[ 90.0] INFO: task job:77 blocked\nfor more than 120 seconds.\n[ 90.0] Call Trace:\n \
               [ 90.0]  __schedule+0x1/0x2\n [ 90.0]  wait_on_log+0x1/0x2\n";
    let text = of(log);
    assert!(text.starts_with("\"[ 90.0] INFO: task job:77 blocked for more than 120 seconds.\""), "{text}");
    assert!(text.contains("in wait_on_log; also in the log: \"[ 10.0] sched: RT"), "{text}");
    assert!(!of(&log.replace("blocked", "sleeps")).contains("wait_on_log"), "{}", of(log));
    let two = "watchdog: BUG: soft lockup - CPU#1 stuck for 40s! [a:1]\nwatchdog: BUG: soft lockup - CPU#2 stuck for 41s! [b:2]\n\
               CPU: 1 PID: 1 Comm: a\nRIP: 0010:one+0x1/0x2\nCPU: 2 PID: 2 Comm: b\nRIP: 0010:two+0x1/0x2\n";
    assert!(of(two).contains("[b:2]\"") && of(two).contains(", in two"), "{}", of(two));
    let hard = two.replace("BUG: soft lockup - CPU#1 stuck for 40s! [a:1]", "Watchdog detected hard LOCKUP on cpu 2");
    assert!(
        of(&hard.replace("BUG: soft lockup - CPU#2 stuck for 41s! [b:2]", "")).contains(", in two"),
        "{}",
        of(&hard)
    );
}

#[test]
fn a_missing_stack_is_said_to_be_missing() {
    let log =
        "workqueue: scan hogged CPU for >10000us 4 times\nwatchdog: BUG: soft lockup - CPU#2 stuck for 52s! [job]\n";
    let text = of(log);
    assert!(text.starts_with("\"watchdog: BUG: soft lockup"), "{text}");
    assert!(text.contains("no stack of it was recognised; also in the log: \"workqueue: scan hogged"), "{text}");
}

#[test]
fn frames_of_the_scheduler_are_no_place() {
    let log = "INFO: task job:77 blocked for more than 120 seconds.\nCall Trace:\n <TASK>\n __schedule+0x1/0x2\n ? stale+0x1/0x2\n \
               schedule+0x1/0x2\n __mutex_lock+0x1/0x2\n open_port+0x1/0x2 [nic]\n </TASK>\n";
    assert!(of(log).contains(", in __mutex_lock ← open_port"), "{}", of(log));
    let log = "INFO: task job:77 blocked for more than 120 seconds.\nCall trace:\n __switch_to+0x1/0x2\n __schedule+0x1/0x2\n \
               schedule_timeout+0x1/0x2\n wait_for_common+0x1/0x2\n wait_for_completion+0x1/0x2\n load_image+0x1/0x2\n";
    assert!(of(log).contains(", in wait_for_completion ← load_image"), "{}", of(log));
    let log = "INFO: task job:77 blocked for more than 120 seconds.\nCall trace:\n __switch_to+0x1/0x2\n __schedule+0x1/0x2\n io_schedule+0x1/0x2\n";
    assert!(of(log).contains("no stack of it was recognised"), "{}", of(log));
}

#[test]
fn averages_and_maxima_are_no_single_durations() {
    let log = "perf: interrupt took too long (642744 > 2500), lowering the rate\n";
    assert!(of(log).contains("the running average, in ns"), "{}", of(log));
    let log = "INFO: NMI handler (perf_event_nmi_handler) took too long\nto run: 250.424 msecs\n\
               INFO: NMI handler (perf_event_nmi_handler) took too long to run: 1.723 msecs\nperf: interrupt took too long (642744 > 2500)\n";
    let text = of(log);
    assert!(
        text.starts_with("\"INFO: NMI handler (perf_event_nmi_handler) took too long to run: 250.424 msecs\""),
        "{text}"
    );
    assert!(text.ends_with("also in the log: \"perf: interrupt took too long (642744 > 2500)\""), "{text}");
}

const STARVED: &str = "rcu: rcu_preempt kthread starved for 2100 jiffies! g1 f0x0 RCU_GP_WAIT_FQS(5) ->state=0x0 ->cpu=0\n\
                       task:rcu_preempt  state:R  running task\nCall Trace:\n schedule_timeout+0x1/0x2\n rcu_gp_fqs_loop+0x1/0x2\n";

#[test]
fn the_stack_of_rcus_own_kthread_is_no_culprit() {
    let text = of(&format!("rcu: INFO: rcu_preempt self-detected stall on CPU\n{STARVED}"));
    assert!(
        text.contains("kthread was runnable and got no CPU for 2100 jiffies; what ran instead is unknown"),
        "{text}"
    );
    let seen =
        format!("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:=0D\nrcu: All QSes seen, last=0D\n{STARVED}")
            .replace("->state=0", "->sta=\nte=3D0");
    let text = of(&seen);
    assert!(
        text.contains("no reader is known to have blocked RCU, and RCU's grace-period kthread was runnable"),
        "{text}"
    );
    assert!(!text.contains("rcu_gp_fqs_loop") && !text.contains("=0D"), "{text}");
    let dump = "Task dump for CPU 0:\nkworker/0:1     R running      0    19      2 0x00000008\nWorkqueue: events scan_ports\n";
    let text = of(&format!("INFO: rcu_preempt self-detected stall on CPU\n{STARVED}{dump}"));
    assert!(text.ends_with("; shown running: kworker/0:1 on CPU 0 (Workqueue: events scan_ports)"), "{text}");
    let nmi = "NMI backtrace for cpu 1\nCPU: 1 PID: 484 Comm: spin Tainted\nRIP: 0010:spin_here+0x1/0x2\n";
    let text = of(&format!("rcu: INFO: rcu_preempt self-detected stall on CPU\n{STARVED}{nmi}"));
    assert!(text.ends_with("; shown running: spin, in spin_here"), "{text}");
    let empty = "[ 1.0] Task dump for CPU 1:\n[ 1.0] task:migration/1     state:R\n[ 1.0] Stopper: stop_all+0x0/0x1 <- stop+0x1/0x2\n\
                 [ 1.0] Call Trace:\n[ 1.0] Task dump for CPU 3:\n[ 1.0] Stopper: stop_all+0x0/0x1 <- stop+0x1/0x2\n";
    let text = of(&format!("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n{empty}"));
    assert!(text.ends_with("migration/1 on CPU 1 (Stopper: stop_all+0x0/0x1 <- stop+0x1/0x2)"), "{text}");
}

#[test]
fn the_interrupt_that_printed_a_stack_is_no_place() {
    let log = "INFO: rcu_sched self-detected stall on CPU\nCall trace:\n dump_backtrace+0x1/0x2\n rcu_sched_clock_irq+0x1/0x2\n el1_irq+0x1/0x2\n copy_all+0x1/0x2\n";
    assert!(of(log).ends_with("; shown in copy_all"), "{}", of(log));
}

#[test]
fn a_stuck_pool_is_said_with_the_work_in_flight() {
    let log = "BUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 57s!\n";
    assert!(of(log).ends_with("what is in flight there is unknown"), "{}", of(log));
    let log = format!(
        "{log}workqueue events: flags=0x0\n  pwq 6: cpus=3 node=0 flags=0x0 nice=0 active=1/256\n    in-flight: 9:other\n  \
         pwq 4: cpus=2 node=0 flags=0x0 nice=0 active=1/256\n    in-flight: 36:free_all\nBUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 87s!\n"
    );
    assert!(
        of(&log).contains("stuck for 87s!\"") && of(&log).ends_with("in flight there: 36:free_all"),
        "{}",
        of(&log)
    );
}

#[test]
fn the_frames_of_the_report_itself_are_no_place() {
    let stall = "rcu: INFO: rcu_sched self-detected stall on CPU\nNMI backtrace for cpu 1\nCPU: 1 PID: 7 Comm: napi/wlan Not tainted\nCall Trace:\n\
                 [<8000812c>] show_stack+0x28/0xf0\n[<80382034>] dump_stack_lvl+0x60/0x80\n[<80388e20>] nmi_cpu_backtrace+0x108/0x178\n";
    assert!(of(stall).ends_with("shown running: napi/wlan"), "{}", of(stall));
    let whole = format!("{stall}[<80001234>] handle_int+0x138/0x144\n[<80005678>] poll_ring+0x10/0x20\n");
    assert!(of(&whole).ends_with("shown running: napi/wlan, in poll_ring"), "{}", of(&whole));
    let power = "INFO: rcu_sched self-detected stall on CPU\nTask dump for CPU 101:\nkopald          R  running task        0   854      2 0x804\n\
                 Call Trace:\n[c0002fc6] [c0007c6f0] sched_show_task+0x10c/0x118 (unreliable)\n[c0002fc7] [c0009eda8] rcu_dump_cpu_stacks+0xa0/0xd0\n";
    assert!(of(power).ends_with("shown running: kopald on CPU 101"), "{}", of(power));
}

#[test]
fn an_error_of_atomic_code_has_its_place_and_no_length() {
    let log = "BUG: scheduling while atomic: swapper/6/0/0x00000002\nCall trace:\n dump_backtrace+0xb0/0x120\n show_stack+0x1c/0x6c\n\
               dump_stack+0x14/0x2c\n __schedule_bug+0xa8/0xc0\n schedule_debug.constprop.0+0x154/0x170\n __schedule+0x58/0x520\n\
               schedule_rtlock+0x20/0x44\n rtlock_slowlock_locked+0x110/0x260\n rt_spin_lock+0x74/0x94\n lock_domain+0x20/0x30\n";
    assert!(of(log).contains("whose duration was not measured, in rt_spin_lock ← lock_domain"), "{}", of(log));
}

#[test]
fn stacks_of_32_bit_arm_and_the_work_of_a_worker_are_read() {
    let log = "INFO: task kworker/3:1:3160 blocked for more than 120 seconds.\nkworker/3:1     D    0  3160      2 0x00000000\n\
               Workqueue: events poll_values [hwmon]\n[<c0997424>] (__schedule) from [<c0997a94>] (schedule+0x50/0xa8)\n\
               [<c0997a94>] (schedule) from [<c0998fa0>] (__mutex_lock.constprop.5+0x1a8/0x590)\n";
    assert!(
        of(log).contains("for a mutex, whose holder is unknown (Workqueue: events poll_values [hwmon])"),
        "{}",
        of(log)
    );
}

#[test]
fn a_report_without_its_first_line_is_read() {
    let log = "rcu:     0-....: (83337 ticks this GP) idle=00c4/1/0x40 softirq=2/2 fqs=39\nCPU: 0 PID: 1 Comm: shutdown Tainted\n\
               epc : machine_restart+0x18/0x1a\n";
    assert!(of(log).contains("grace period (CPU 0); shown running: shutdown, in machine_restart"), "{}", of(log));
    let log = "Call Trace:\n <IRQ>\n ? watchdog_timer_fn+0x218/0x2a0\n </IRQ>\n <TASK>\n ? native_queued_spin_lock_slowpath+0x2/0x3\n\
               queued_read_lock_slowpath+0x14a/0x150\n _raw_read_lock+0x2f/0x40\n";
    assert!(of(log).contains("is not known, in queued_read_lock_slowpath ← _raw_read_lock"), "{}", of(log));
}

#[test]
fn a_slow_read_of_a_clock_is_no_drift() {
    let log = "clocksource: timekeeping watchdog on CPU227: wd-tsc-wd excessive read-back delay of 153560ns vs. limit of 125000ns\n";
    assert!(of(log).contains("reading the clocks took that long") && !of(log).contains("also in"), "{}", of(log));
}

#[test]
fn what_ran_in_an_interrupt_is_not_dropped_with_it() {
    let atomic = "BUG: scheduling while atomic: irq/4-ttyS0/751/0x00010002\nCall Trace:\n <IRQ>\n dump_stack_lvl+0x33/0x50\n __schedule_bug+0x8/0x9\n\
                  schedule_rtlock+0x1/0x2\n rt_spin_lock+0x41/0x60\n console_write+0x1/0x2\n common_interrupt+0x9f/0xc0\n </IRQ>\n";
    assert!(of(atomic).contains(", in rt_spin_lock ← console_write"), "{}", of(atomic));
    let hard = "watchdog: CPU3: Watchdog detected hard LOCKUP on cpu 3\nRIP: 0010:lock_release+0x13d/0x2a0\nCall Trace:\n <IRQ>\n\
                chain_walk+0xbd/0x200\n irq_work_run+0x18/0x40\n sysvec_irq_work+0x9b/0xc0\n </IRQ>\n";
    assert!(of(hard).contains(", in lock_release ← chain_walk ← irq_work_run"), "{}", of(hard));
}

#[test]
fn stacks_of_powerpc_are_read_beyond_a_guess() {
    let hung = "[1.0][  T1] INFO: task job:4365 blocked for more than 122 seconds.\nCall Trace:\n[c0] [01] 0x1 (unreliable)\n\
                [c1] [c2] __switch_to+0x318/0x4e0\n[c1] [c2] schedule+0x68/0x210\n[c1] [c2] __mutex_lock+0x730/0x10f0\n[c1] [c2] nic_open+0x3/0x6\n";
    assert!(of(hung).contains(", in __mutex_lock ← nic_open"), "{}", of(hung));
    let hard = "watchdog: CPU 3 self-detected hard LOCKUP @ free_slow+0x74/0x90\nNIP: c000000000561f34 LR: c00000000056b108\n\
                NIP [c000000000561f34] free_slow+0x74/0x90\n";
    assert!(of(hard).contains(", in free_slow"), "{}", of(hard));
}

#[test]
fn the_owner_of_a_mutex_and_where_the_time_went_are_said() {
    let hung = "INFO: task kworker/2:3:117 blocked for more than 121 seconds.\nCall trace:\n schedule+0x1/0x2\n __mutex_lock+0x1/0x2\n\
                INFO: task kworker/2:3:117 is blocked on a mutex likely owned by task kworker/u16:5:120.\n";
    assert!(of(hung).contains("__mutex_lock; the mutex is likely owned by kworker/u16:5:120"), "{}", of(hung));
    let soft = "watchdog: BUG: soft lockup - CPU#28 stuck for 23s! [fio:83921]\nCPU#28 Utilization every 4s during lockup:\n\
                #1: 0% system, 0% softirq, 100% hardirq, 0% idle\n#2: 1% system, 0% softirq, 99% hardirq, 0% idle\n";
    assert!(of(soft).contains("; the CPU spent that time in interrupts"), "{}", of(soft));
}

#[test]
fn pending_softirqs_are_named() {
    let text = of("NOHZ tick-stop error: local softirq work is pending, handler #208!!!\n");
    assert!(text.contains("who raised them: NET_RX, RCU"), "{text}");
}

#[test]
fn an_interrupt_that_nobody_took_is_said_with_its_handlers() {
    let log = "[ 7.1] irq 42: nobody cared (try booting with the \"irqpoll\" option)\n[ 7.1] CPU: 0 PID: 9 Comm: irq/42-nic\n\
               [ 7.2] Call trace:\n[ 7.2]  note_interrupt+0x220/0x3a0\n[ 7.3] handlers:\n\
               [ 7.3] [<0000000025a6cd31>] irq_default_primary_handler threaded [<0000000093580eb7>] nic_event\n\
               [ 7.3] [<0000000025a6cd41>] dma_done\n[ 7.4] Disabling IRQ #42\n";
    assert!(of(log).ends_with("disables the line; handlers on the line: nic_event, dma_done"), "{}", of(log));
    let old =
        "irq 11: nobody cared (try booting with the \"irqpoll\" option)\nhandlers:\n[<c02f1a10>] (usb_irq+0x0/0x60)\n";
    assert!(of(old).ends_with("handlers on the line: usb_irq"), "{}", of(old));
    assert!(of("irq 11: nobody cared\n").ends_with("its handlers are unknown"));
}

#[test]
fn code_that_sleeps_in_a_handler_is_that_of_the_handler() {
    let arm = "BUG: scheduling while atomic: irq/9-touch/82/0x00010000\nCall trace:\n show_stack from dump_stack_lvl+0x54/0x5c\n \
               dump_stack_lvl from __schedule_bug+0x50/0x70\n __schedule_bug from schedule+0x34/0xa0\n schedule from __mutex_lock+0x1/0x2\n \
               __mutex_lock from clk_lock+0x1/0x2\n clk_lock from clk_rate+0x1/0x2\n clk_rate from read_reg+0x1/0x2\n \
               read_reg from draw+0x1/0x2\n draw from dma_irq+0x1/0x2\n dma_irq from __handle_irq_event_percpu+0x44/0x130\n";
    let text = of(arm);
    assert!(text.contains("in __mutex_lock ← clk_lock ← clk_rate ← read_reg, called by dma_irq, an interrupt handler; context: hard interrupt"), "{text}");
    let bare = "[ 4.2] BUG: sleeping function called from invalid context at kernel/locking/spinlock_rt.c:48\n\
                [ 4.2] in_atomic(): 1, irqs_disabled(): 1, non_block: 0, pid: 0, name: swapper/0\n...\n[ 4.3]  __might_resched+0x13c/0x1f4\n\
                [ 4.3]  rt_spin_lock+0x54/0x11c\n[ 4.3]  report_key+0x48/0x80\n[ 4.3]  keys_timer+0x4c/0x78\n[ 4.3]  __hrtimer_run_queues+0x1a4/0x438\n";
    assert!(of(bare).contains("in rt_spin_lock ← report_key ← keys_timer, a timer callback"), "{}", of(bare));
    let soft = bare.replace("in_atomic(): 1", "preempt_count: 101, expected: 0");
    assert!(of(&soft).contains("; context: softirq"), "{}", of(&soft));
}

#[test]
fn reports_of_lockdep_have_the_locks_and_no_delay() {
    let wait = "=====\n[ BUG: Invalid wait context ]\nrepro/837 is trying to lock:\nffff88801acfabd8 (&queue->wait){....}-{3:3}, at: __wake_up+0x26/0x60\n\
                2 locks held by repro/837:\n #0: ffffffff8725cd00 (rcu_read_lock){....}-{1:3}, at: switch_in+0xd1/0xbc0\n \
                #1: ffff88806ca3c6f8 (&cpu_lock){....}-{2:2}, at: switch_in+0x1a7/0xbc0\n";
    let text = of(wait);
    assert!(
        text.ends_with(
            "whose duration was not measured; repro/837 tried to take &queue->wait in __wake_up, holding the raw spinlocks &cpu_lock"
        ),
        "{text}"
    );
    let circle = "WARNING: possible circular locking dependency detected\njob/5 is trying to acquire lock:\nc1 (&a->lock){+.+.}-{3:3}, at: open_a+0x1/0x2\n\
                  but task is already holding lock:\nc2 (&b->lock){+.+.}-{3:3}, at: open_b+0x1/0x2\n";
    assert!(of(circle).ends_with("job/5 tried to take &a->lock in open_a, holding &b->lock"), "{}", of(circle));
}

#[test]
fn a_stall_of_sched_ext_has_what_ran() {
    let dump = " runnable task stall (kworker/0:0[106377] failed to run for 5.043s)\n CPU 1 : nr_run=0\n   curr=swapper/1[0] class=idle_sched_class\n \
                CPU 0   : nr_run=3\n    curr=player[994] class=rt_sched_class\n   R kworker/0:0[106377] -5043ms\n     cpus=01\n";
    assert!(of(dump).contains("CPU 0, on whose queue it was, ran player[994] of the rt class"), "{}", of(dump));
    let own = dump.replace("class=rt", "class=ext");
    assert!(of(&own).contains("ran player[994], which the BPF scheduler schedules as well"), "{}", of(&own));
    assert!(of("runnable task stall (a[1] failed to run for 5.0s)\n").contains("what ran on its CPU is unknown"));
    // The dump contains a line that is also the first line of trace-cmd's reports.
    let error = crate::text::TextSource::new(dump.as_bytes(), std::io::empty(), crate::Options::default()).err();
    assert!(matches!(error, Some(crate::TraceError::Log { .. })), "{error:?}");
}

#[test]
fn every_culprit_of_one_kind_is_said() {
    let log = "[ 5.1] workqueue: poll_a [drm] hogged CPU for >10000us 4 times, consider\n[ 5.2] workqueue: poll_b hogged CPU for >10000us 4 times, consider\n\
               [ 9.1] workqueue: poll_a [drm] hogged CPU for >10000us 8 times, consider\n";
    assert!(
        of(log).ends_with("; also in the log: \"workqueue: poll_b hogged CPU for >10000us 4 times, consider\""),
        "{}",
        of(log)
    );
    let log = "Mar 20 01:02:56 host kernel: [96.1] BUG: soft lockup - CPU#0 stuck for 61s! [temp:7]\nMar 20 01:02:56 host kernel: [97.1] BUG: soft lockup - CPU#1 stuck for 61s! [swap:4]\n\
               Mar 20 01:02:56 host kernel: [98.1] BUG: soft lockup - CPU#0 stuck for 61s! [temp:7]\n";
    let text = of(log);
    assert!(text.contains("CPU#0 stuck for 61s! [temp:7]\": CPU 0 switched to no other thread"), "{text}");
    assert!(text.ends_with("also in the log: \"BUG: soft lockup - CPU#1 stuck for 61s! [swap:4]\""), "{text}");
}

#[test]
fn a_stall_has_its_cpus_and_a_lockup_its_cpu() {
    let rcu = "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nrcu:  0-...!: (1 GPs behind) idle=312\nrcu:  1-...!: (1 GPs behind) idle=694\n\
               rcu: Tasks blocked on level-0 rcu_node (CPUs 0-3): P123/1:b..l\n";
    assert!(of(rcu).contains("no quiescent state (CPU 0, 1; task P123/1:b..l); what ran"), "{}", of(rcu));
    let after = format!("[70.6] sched: RT throttling activated\n{rcu}");
    assert!(of(&after).contains("tasks:\" (CPU 0, 1; task"), "{}", of(&after));
    let power = "watchdog: CPU 1 detected hard LOCKUP on other CPUs 0\nwatchdog: CPU 1 TB:167, last SMP heartbeat\nTB:84 (16191ms ago)\n\
                 watchdog: CPU 0 Hard LOCKUP\nCPU: 0 PID: 0 Comm: idle\nNIP [c0561f34] wait_here+0x74/0x90\n";
    assert!(
        of(power).contains(
            "no timer interrupt ran on CPU 0 for seconds (the last time that all CPUs had one was 16191 ms ago), in wait_here"
        ),
        "{}",
        of(power)
    );
}

#[test]
fn the_owner_of_a_mutex_has_its_own_place() {
    let hung = "INFO: task ring0:155 blocked for more than 122 seconds.\nCall trace:\n schedule+0x1/0x2\n mutex_lock+0x5/0x9\n run_job+0x9/0x14\n\
                INFO: task ring0:155 is blocked on a mutex likely owned by task worker:154.\nCall trace:\n schedule+0x1/0x2\n wait_fence+0x1/0x2\n shrink_all+0x1/0x2\n";
    assert!(
        of(hung).ends_with(
            ", in mutex_lock ← run_job; the mutex is likely owned by worker:154, which is in wait_fence ← shrink_all"
        ),
        "{}",
        of(hung)
    );
}

#[test]
fn registers_of_other_architectures_are_read() {
    for line in [
        "   ERA: 90000000002a4b9c scan_here+0x1c/0x20",
        "Krnl PSW : 0704c00180000000 00000000001a2b3c (scan_here+0x1c/0x20)",
        "epc   : 80123456 scan_here+0x1c/0x20",
        "PC is at scan_here+0x1c/0x20",
        "EIP is at scan_here+0x1c/0x20",
        "TPC: <scan_here+0x1c/0x20>",
        "PC: [<000b4a3c>] scan_here+0x1c/0x20",
    ] {
        let log = format!("BUG: soft lockup - CPU#1 stuck for 22s! [job:7]\n{line}\n");
        assert!(of(&log).contains(", in scan_here"), "{}", of(&log));
    }
    let m68k = "INFO: task job:77 blocked for more than 120 seconds.\nCall Trace: [<00032b1c>] schedule+0x0/0x6a\n [<00032b1c>] wait_log+0x0/0x6a\n";
    assert!(of(m68k).contains(", in wait_log"), "{}", of(m68k));
}

#[test]
fn a_reader_that_blocks_rcu_is_said() {
    let seen = "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nrcu:   Tasks blocked on level-0 rcu_node (CPUs 0-3):\n\
                \t(detected by 2, t=21010 jiffies)\nrcu: All QSes seen, last rcu_preempt kthread activity 1\n";
    let text = of(seen);
    assert!(text.contains("not a CPU but a reader blocked RCU") && text.contains("; which one is unknown"), "{text}");
    let named = format!(
        "{seen}rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: {{ P77 }} 21382 jiffies s: 117 root: 0x0/T\n"
    );
    assert!(
        of(&named).contains("another report of this log names task P77; the place of that task is unknown"),
        "{}",
        of(&named)
    );
    let own = seen.replace("0-3):", "0-3): P88");
    assert!(of(&own).contains("read-side section (task P88)"), "{}", of(&own));
    let expedited =
        "rcu: INFO: rcu_sched detected expedited stalls on CPUs/tasks: { 3-...D P9 } 60 jiffies s: 1 root: 0x8/T\n";
    assert!(of(expedited).contains("no quiescent state (CPU 3; task P9)"), "{}", of(expedited));
    let tasks = "INFO: rcu_tasks detected stalls on tasks:\n 00000000b92b832d: .. nvcsw: 1/1 holdout: 1 idle_cpu: -1/7\n \
                 task:spin/7       state:R  running task     stack:    0 pid: 33 ppid:     2\n Call Trace:\n  ? spin_here+0x1/0x2\n";
    assert!(of(tasks).ends_with("; shown: spin/7 (pid 33), runnable or running on CPU 7"), "{}", of(tasks));
}

#[test]
fn a_lockup_has_the_heartbeat_and_the_thread_of_its_own_cpu() {
    let power = "watchdog: CPU 12 detected hard LOCKUP on other CPUs 68\nwatchdog: CPU 12 TB:855, last SMP heartbeat TB:854 (15999ms ago)\n\
                 watchdog: CPU 68 Hard LOCKUP\nwatchdog: CPU 68 TB:856, last heartbeat TB:857 (19930ms ago)\n\
                 CPU: 68 PID: 450 Comm: diag Not tainted\nNIP [c0000000006f5578] find_next_bit+0x38/0x90\nLR [c000000000cba9ec] next_cpu+0x2c/0x50\n\
                 Call Trace:\n[c0002] [c0003] 0xc000201cae26ec18 (unreliable)\n[c0002] [c0003] pick_target+0x1b8/0x240\n";
    let text = of(power);
    assert!(text.contains("(the last one was 19930 ms ago), while diag (pid 450) was current"), "{text}");
    assert!(text.contains(", in find_next_bit ← next_cpu ← pick_target"), "{text}");
}

#[test]
fn the_owner_of_a_spinlock_is_searched_in_the_text() {
    let alone = "BUG: spinlock lockup suspected on CPU#3, wait/7\n";
    assert!(of(alone).contains("; the lock's owner is unknown"), "{}", of(alone));
    let head = format!("{alone} lock: 0xffff88, .magic: dead4ead, .owner: hold/9, .owner_cpu: 1\n");
    let waits = format!(
        "{head}CPU: 3 PID: 7 Comm: wait Not tainted\nCall Trace:\ndump_stack (lib/dump_stack.c:52)\nspin_dump (kernel/spin.c:68 (discriminator 6))\n\
         _raw_spin_lock (include/linux/spin.h:143 kernel/spin.c:151)\n? old (mm/a.c:1)\nmove_page (mm/a.c:137)\n"
    );
    let text = of(&waits);
    assert!(text.contains("about a second, in _raw_spin_lock ← move_page; the lock is owned by hold (9) on CPU 1, whose stack was not recognised"), "{text}");
    let both = format!(
        "{waits}\nNMI backtrace for cpu 1\nCPU: 1 PID: 9 Comm: hold Not tainted\nRIP: delay_some (lib/delay.c:68)\nCall Trace:\n <IRQ>\n\
         account (kernel/a.c:1)\n <EOI>\ncopy_range (mm/b.c:81)\ncopy_all (mm/b.c:97)\n"
    );
    let text = of(&both);
    assert!(text.contains("on CPU 1, which is in delay_some ← account"), "{text}");
    assert!(text.contains("an interrupt that occurred in copy_range ← copy_all"), "{text}");
    assert!(
        of(&head.replace("hold/9, .owner_cpu: 1", "<none>/-1, .owner_cpu: -1"))
            .contains("no owner of the lock was recorded")
    );
}

#[test]
fn a_helper_is_named_with_its_caller() {
    let hung = "INFO: task job:77 blocked for more than 64 seconds.\nCall Trace:\n <TASK>\n schedule+0x1/0x2\n mutex_wait+0x5/0x9\n \
                stale+0x20/0x20\n fault+0x1/0x2\nRIP: 0010:__put_user_4+0xd/0x20\n do_clone+0x1/0x2\n </TASK>\n";
    assert!(of(hung).contains(", in mutex_wait ← fault"), "{}", of(hung));
    let soft =
        "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [job:77]\nRIP: 0010:smp_call_function_single+0xce/0xf2\n";
    assert!(of(soft).ends_with("in smp_call_function_single: it waits there for another CPU to handle an IPI"));
    let bare = "BUG: sleeping function called from invalid context at mm/a.h:419\nin_atomic(): 1, irqs_disabled(): 0, pid: 60, name: tables\nCall Trace:\n\
                [<80118a88>] cache_alloc+0x44/0x1c0\n[<8e83a6dc>] 0x8e83a6dc\n";
    assert!(
        of(bare).ends_with("while tables (pid 60) was current, in cache_alloc ← 0x8e83a6dc (without a symbol); context: preemption disabled"),
        "{}",
        of(bare)
    );
}

#[test]
fn the_error_that_came_first_is_the_headline() {
    let log = "[ 5.6] rtmutex deadlock detected\n[ 5.7] CPU: 2 PID: 11 Comm: net Tainted\nCall trace:\n slow_lock+0x1/0x2\n open_port+0x1/0x2\n\
               [ 66.4] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\nrcu:     4-...!: (1 GPs behind)\n";
    let text = of(log);
    assert!(text.starts_with("\"[ 5.6] rtmutex deadlock detected\""), "{text}");
    assert!(
        text.contains("while net (pid 11) was current, in slow_lock ← open_port; also in the log: \"[ 66.4] rcu"),
        "{text}"
    );
    let later = log.replace("[ 5.6] rtmutex deadlock detected", "") + "[ 99.0] rtmutex deadlock detected\n";
    assert!(of(&later).starts_with("\"[ 66.4] rcu"), "{}", of(&later));
}

#[test]
fn ticks_and_pending_work_are_said_where_times_are_not() {
    let clock = "clocksource: timekeeping watchdog on CPU2: Marking clocksource 'tsc' as unstable:\n\
                 clocksource:   'acpi_pm' wd_now: 10 wd_last: fffff0 mask: ffffff\nclocksource:   'tsc' cs_now: 1100 cs_last: 1000 mask: ffff\n\
                 clocksource: Switched to clocksource acpi_pm\n";
    let text = of(clock);
    assert!(text.contains("between two checks tsc advanced 256 ticks, and acpi_pm advanced 32 ticks (0.000 s, or that plus a multiple of 4.687 s)"), "{text}");
    assert!(text.ends_with("; the kernel switched to acpi_pm"), "{text}");
    let pool = "BUG: workqueue lockup - pool cpus=7 node=0 flags=0x0 nice=0 stuck for 37s!\nworkqueue high: flags=0x10\n  pwq 1: cpus=7 node=0 flags=0x0 nice=-20\n    \
                pending: flush_all BAR(8)\n  pwq 2: cpus=9 node=0 flags=0x0 nice=0\n    in-flight: 8:clean_up\n    pending: other\n";
    assert!(
        of(pool).ends_with(
            "what is in flight there is unknown; pending for that CPU: flush_all BAR(8) (worker 8, in clean_up, waits for it)"
        ),
        "{}",
        of(pool)
    );
    assert!(
        line(b"NOHZ tick-stop error: local softirq work is pending, handler #08!!!")
            .is_some_and(|said| said.ends_with(": NET_RX"))
    );
}

#[test]
fn a_stack_behind_another_report_is_found() {
    let two = "watchdog: BUG: soft lockup - CPU#1 stuck for 40s! [a:1]\nwatchdog: BUG: soft lockup - CPU#2 stuck for 30s! [b:2]\n\
               CPU: 2 PID: 2 Comm: b\nRIP: 0010:two+0x1/0x2\nCPU: 1 PID: 1 Comm: a\nRIP: 0010:one+0x1/0x2\n";
    assert!(of(two).contains("[a:1]\"") && of(two).contains(", in one;"), "{}", of(two));
}

#[test]
fn every_waiting_thread_has_its_place() {
    let log = "[ 1.0] INFO: task keeper:72 blocked for more than 122 seconds.\n[ 1.0] Call Trace:\n[ 1.0]  __schedule+0x2a/0x59\n[ 1.0]  \
               __mutex_lock+0x4/0x8\n[ 1.0]  unload_one+0x3/0x5\n[ 1.1] INFO: task kworker/u6:6:1514 blocked for more than 122 seconds.\n[ 1.1] \
               Workqueue: health dump_work\n[ 1.1] Call Trace:\n[ 1.1]  __schedule+0x2a/0x59\n[ 1.1]  wait_cfg+0x8/0xe\n[ 1.1]  collect+0x3/0x1c\n";
    let said = of(log);
    assert!(
        said.contains(
            "in __mutex_lock ← unload_one: it waits there for a mutex, whose holder is unknown; also in the log"
        ),
        "{said}"
    );
    assert!(
        said.contains("1514 blocked for more than 122 seconds.\" in wait_cfg ← collect (Workqueue: health dump_work)"),
        "{said}"
    );
    assert!(said.ends_with("; they may wait for one another: no line names the owner of a lock"), "{said}");
}

#[test]
fn the_dump_of_the_thread_counts_whatever_its_cpu() {
    let log = "BUG: soft lockup - CPU#3 stuck for 22s! [kworker/u30:3:54]\nCPU: 0 PID: 54 Comm: kworker/u30:3 3.15.0\nWorkqueue: net-wq rx_work\nRIP: \
               0010:[<f0>]  [<f0>] _raw_spin_lock+0x1e/0x30\n";
    let said = of(log);
    assert!(
        said.contains(", in _raw_spin_lock: most likely it waits there for a spinlock, whose holder is unknown"),
        "{said}"
    );
    assert!(said.contains("(Workqueue: net-wq rx_work)") && said.contains("its dump says CPU 0"), "{said}");
    assert!(of(&log.replace("PID: 54", "PID: 55")).contains("no stack of it was recognised"));
}

#[test]
fn the_readings_of_a_clock_are_not_lost_beside_another_report() {
    let log = "hrtimer: interrupt took 11082175 ns\nclocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable:\nclocksource: 'acpi_pm' \
               wd_now: 8d5199 wd_last: 60e92e mask: ffffff\nclocksource: 'tsc' cs_now: 1981c973dc9 cs_last: 1940283c820 mask: ffffffffffffffff\n";
    let said = of(log);
    assert!(said.contains("acpi_pm advanced 2910315 ticks (0.813 s, or that plus a multiple of 4.687 s)"), "{said}");
}

#[test]
fn a_cpu_that_another_cpu_of_powerpc_watches_is_the_one_locked_up() {
    let log = "Watchdog CPU:71 detected Hard LOCKUP other CPUS:42\nWatchdog CPU:42 Hard LOCKUP\nCPU: 42 PID: 3391 Comm: job Not tainted\n\
               NIP:  c0000000001d5364 LR: c0000000001d5340\n";
    let text = of(log);
    assert!(text.contains("no timer interrupt ran on CPU 42 for seconds, while job (pid 3391) was current"), "{text}");
}
