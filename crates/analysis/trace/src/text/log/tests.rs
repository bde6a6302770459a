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
    assert!(text.contains("its stack is not in this text; also in the log: \"workqueue: scan hogged"), "{text}");
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
    assert!(of(log).contains("its stack is not in this text"), "{}", of(log));
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
        text.contains("kthread was runnable and got no CPU for 2100 jiffies; what ran instead is not in"),
        "{text}"
    );
    let seen =
        format!("rcu: INFO: rcu_sched detected stalls on CPUs/tasks:=0D\nrcu: All QSes seen, last=0D\n{STARVED}")
            .replace("->state=0", "->sta=\nte=3D0");
    let text = of(&seen);
    assert!(text.contains("no CPU and no reader blocked RCU, and RCU's grace-period kthread was runnable"), "{text}");
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
    assert!(of(log).ends_with("what is in flight there is not in this text"), "{}", of(log));
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
    assert!(of(log).contains("of no measured length, in rt_spin_lock ← lock_domain"), "{}", of(log));
}

#[test]
fn stacks_of_32_bit_arm_and_the_work_of_a_worker_are_read() {
    let log = "INFO: task kworker/3:1:3160 blocked for more than 120 seconds.\nkworker/3:1     D    0  3160      2 0x00000000\n\
               Workqueue: events poll_values [hwmon]\n[<c0997424>] (__schedule) from [<c0997a94>] (schedule+0x50/0xa8)\n\
               [<c0997a94>] (schedule) from [<c0998fa0>] (__mutex_lock.constprop.5+0x1a8/0x590)\n";
    assert!(of(log).contains(", in __mutex_lock.constprop.5 (Workqueue: events poll_values [hwmon])"), "{}", of(log));
}

#[test]
fn a_report_without_its_first_line_is_read() {
    let log = "rcu:     0-....: (83337 ticks this GP) idle=00c4/1/0x40 softirq=2/2 fqs=39\nCPU: 0 PID: 1 Comm: shutdown Tainted\n\
               epc : machine_restart+0x18/0x1a\n";
    assert!(of(log).contains("grace period; shown running: shutdown, in machine_restart"), "{}", of(log));
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
    assert!(text.contains("is not in the line: NET_RX, RCU"), "{text}");
}
