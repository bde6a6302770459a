use super::*;

fn said(text: &str) -> String {
    summary(text.as_bytes()).map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn tables_are_told_by_their_worst() {
    let bcc = "irq-off:\n     msecs           : count     distribution\n        10 -> 19         : 0        |      |\n       640 -> 1279       \
               : 1        |******|\nsoft-off:\n     msecs           : count     distribution\n        10 -> 19         : 477      |******|\n";
    assert!(
        said(bcc).starts_with(
            "a histogram, whose worst buckets are irq-off: 640 to 1279 msecs, once; soft-off: 10 to 19 msecs, 477 times"
        ),
        "{}",
        said(bcc)
    );
    let bpftrace = "@usecs:\n[4, 8)                12 |@@@@   |\n[1K, 2K)               7 |@@     |\n";
    let buckets = "@usecs: 1K to 2K, 7 times (of 19 in all; the fullest bucket is 4 to 8: 12)";
    assert!(said(bpftrace).contains(buckets), "{}", said(bpftrace));
    let wrapped = "13:39:55 @usecs:\n[4, 8)                12 \n|@@@@   |\n[1K, 2K)               7 |@@ \n    |\n";
    assert!(said(wrapped).contains(buckets), "{}", said(wrapped));
    let many: String = ["@a: 8 16", "@b: 8 16", "@c: 8 16", "@d: 2K 4K"]
        .map(|of| {
            let words: Vec<&str> = of.split(' ').collect();
            format!("{}\n[{}, {})    3 |@|\n", words[0], words[1], words[2])
        })
        .concat();
    assert!(said(&many).contains("buckets are @d: 2K to 4K, 3 times; @a"), "{}", said(&many));
    let plain = " Tasks     count    total    avg     max\n\nmigration/0    2   39849  19924   28826\nevents/1    9  6353057  705895  2986012\n";
    let row = "(the largest maximum is 2986012, of events/1: count 9, total 6353057, avg 705895; perf sched latency of Linux 2.6.32 prints";
    assert!(said(plain).contains(row), "{}", said(plain));
    let latency = "  Task  |   Runtime ms  | Switches | Avg delay ms | Max delay ms | Max delay start |\n  a:(2) |  12.0 ms |  4 | avg:   0.100 ms | max:   \
                   0.300 ms | max start:  1.5 s |\n  b:77 |  12.0 ms |  4 | avg:   1.100 ms | max:  12.300 ms | max start:  2.5 s |\n";
    assert!(
        said(latency).starts_with(
            "perf sched latency (the longest wait is 12.3 ms, of b:77 at 2.5 s; 4 switches, 1.1 ms on average)"
        ),
        "{}",
        said(latency)
    );
    let timehist = "           time    cpu  task name     wait time  sch delay   run time\n   95.123456 [0001]  app[1234/1230]   0.000  0.015  \
                    0.030\n   95.200000 [0003]  my app[1240]   0.000  2.015  0.030\n";
    assert!(said(timehist).contains("is 2.015 ms, of my app[1240] on CPU 3 at 95.200000"), "{}", said(timehist));
    let pre = "time cpu task name wait time sch delay run time pre-mig time\n 103.721020 [0000]  <idle>  0.000  0.000  15.405  0.000\n 103.721034 [0008]  \
               s  app[38/37]  1.000  3.448  0.013  0.000\n";
    assert!(said(pre).contains("is 3.448 ms, of app[38/37] on CPU 8 at 103.721034"), "{}", said(pre));
    assert!(!said(pre).contains("another CPU"), "{}", said(pre));
    let moved = pre.replace("0.013  0.000", "0.013  3.440");
    assert!(said(&moved).contains("at 103.721034, 3.44 ms of it on another CPU before"), "{}", said(&moved));
    let broken = latency.replace("|   Switches", "|\n Switches").replace("| max:", "|\n max:");
    assert!(
        said(&broken).contains("(the longest wait is 12.3 ms, of b:77 at 2.5 s; 4 switches, 1.1 ms on average)"),
        "{}",
        said(&broken)
    );
    let off = "    finish_task_switch\n    schedule\n    read_events\n    do_io_getevents\n    -   my sql (29896)\n        3500863\n\n    \
               schedule\n    futex_wait\n    -   app (3)\n        12\n";
    assert!(
        said(off).starts_with("offcputime (the largest sum is 3500863 µs, of my sql (29896), in read_events ← do_io"),
        "{}",
        said(off)
    );
    let shown = ">  time cpu task name  prio  wait time sch delay run time\n>  90.765421 [0002]  job[12]  129  0.000  0.062  0.029\n";
    assert!(said(shown).contains("is 0.062 ms, of job[12] on CPU 2"), "{}", said(shown));
    let bare = "  95.123456 [0001]  app[1234/1230]   0.000  0.015  0.030\n  95.123476 [0001]  kcompactd0[37]   0.000  880.478  0.030\n";
    assert!(said(bare).contains("is 880.478 ms, of kcompactd0[37]"), "{}", said(bare));
    let deadline = "DEBUG: deadline thread 163\nT: 0 (163) I:1000 C: 36 Min: 1 Act: 11 Avg: 6 Max:      33\nT: 1 (164) I:1500 C: 24 Min: 1 Act: 4 Avg: 3 Max: 13\n\
                    # Break thread: 163\n# Break value: 51\n";
    assert!(
        said(deadline).starts_with(
            "the lines of cyclicdeadline (worst 33, of thread 0; stopped at 51, of the thread with TID 163)"
        ),
        "{}",
        said(deadline)
    );
    let default =
        said("defaulting realtime priority to 2\nT: 0 ( 24) P: 2 I:1000 C: 12 Min: 9 Act: 6 Avg: 7 Max: 129\n");
    assert!(
        default.contains("of thread 0), at the default priority 2: it took none from its command line"),
        "{default}"
    );
    let coarse =
        "WARN: High resolution timers not available\nT: 0 ( 24) P:99 I:1000 C: 12 Min: 9 Act: 6 Avg: 7 Max:\n  351\n";
    assert!(
        said(coarse).starts_with("the lines of cyclictest (worst 351, of thread 0), without high resolution timers"),
        "{}",
        said(coarse)
    );
    let hwlat = "hwlatdetect:  test duration 900 seconds\nMax Latency: 48us\nSamples recorded: 37\nSMIs during run: 0\nts: 1646837340.3, inner:5, outer:9\n";
    assert!(
        said(hwlat).starts_with("hwlatdetect (gaps of at most 48us with interrupts off in 37 samples, 0 SMIs"),
        "{}",
        said(hwlat)
    );
    assert!(said(&hwlat.replace("48us", "Below threshold")).starts_with("hwlatdetect, which found no gap"));
    let queue = "TIME     COMM             PID           LAT(us)\n04:30:25 kworker/20:2     6023             2264\n04:30:27 my app:1 18446  7500\n";
    assert!(
        said(queue).starts_with("runqslower (the longest wait for a CPU is 7500 µs, of my app:1 (18446))"),
        "{}",
        said(queue)
    );
    let queue = "TIME     COMM             TID           LAT(us) PREV COMM        PREV TID\n04:16:32 cc1 12924 12739 swapper/1 0\n";
    assert!(said(queue).contains("of cc1 (12924), to which the CPU switched from the idle task)"), "{}", said(queue));
    let after = format!("{queue}04:16:33 job 12 700 my app 77\n");
    let other = "from the idle task; the longest after another thread is 700 µs, of job (12), to which the CPU switched from my app (77))";
    assert!(said(&after).contains(other), "{}", said(&after));
    let other = queue.replace("swapper/1 0", "my app 77");
    assert!(said(&other).contains("of cc1 (12924), to which the CPU switched from my app (77))"), "{}", said(&other));
    let off = "trace_irqoff_latency: 8ms\n\n hardirq:\n\n softirq:\n cpu: 3\n     COMMAND: swapper/3 PID: 0 LATENCY: 9ms start_time: 53.8s\n";
    assert!(
        said(off)
            .starts_with("trace-irqoff (softirqs late by 9 ms on CPU 3, interrupting swapper/3 (0), the idle task"),
        "{}",
        said(off)
    );
    assert_eq!(said("nothing of it\n"), "");
}

#[test]
fn tables_of_rtla_and_latmus_have_their_worst() {
    let top = "   Timer Latency\nCPU COUNT | cur min avg max | cur min avg max\n 0 #823 | 24 0 1 24 | 1035 3 7 1035\n 1 #824 | 1 0 1 40 | 6 2 6 11\n";
    let worst = "the table of rtla timerlat top (the worst thread latency is 1035 us on CPU 0, where the interrupt's was 24 us at most)";
    assert!(said(top).starts_with(worst), "{}", said(top));
    let noise =
        "RTLA osnoise\nCPU Period Runtime Noise % CPU Aval\n 0 #59 59000000 9432 99.98401 2078 58 3 0 10 20 30\n";
    let row = "single noise is 58 us on CPU 0; in all there were 9432 us of 59000000 us (99.98401 % left), at most 2078 us in one period, at \
               most 58 us at once; counted there: 3 by hardware or a hypervisor, 0 NMIs, 10 interrupts, 20 softirqs, 30 threads; the counts";
    assert!(said(noise).contains(row), "{}", said(noise));
    let noise = noise.replace("RTLA osnoise", "     Operating System Noise\nduration: 0 00:10:00");
    assert!(
        said(&noise).ends_with(
            "a summary without events, which contains no causes; `punctual import FILE --out DIR` reads its figures"
        ),
        "{}",
        said(&noise)
    );
    let few = noise.replace("2078 58 3 0 10 20 30", "2078 58 0 0 10 0 30")
        + " 1 #59 59000000 60000 99.89830 77 57 0 0 10 0 660\n";
    assert!(said(&few).contains("58 us on CPU 0, from an interrupt or a thread (counted there: 0 by hardware or a hypervisor, 0 NMIs, 10 interrupts, 0 softirqs, 30 threads); most noise is on CPU 1: 60000 us"), "{}", said(&few));
    let few_long = few.replace(" 77 57 0 0", " 77 57 0 6");
    assert!(!said(&few_long).contains("(of the NMIs"), "{}", said(&few_long));
    assert!(
        said(&few).contains("660 threads (of the threads more than on other CPUs: 660 against 30 in the middle)"),
        "{}",
        said(&few)
    );
    let lock = " contended   total wait     max wait     avg wait         type   caller\n\n  6  6.03 s  6.03 s  1.00 s  spinlock   broadcast_control+0xc0\n\
                19  811.74 ms  621.76 ms  42.72 ms  spinlock   rcu_core+0xec\n";
    assert!(
        said(lock)
            .contains("(the longest wait is 6.03 s of 6 waits, for a spinlock in broadcast_control+0xc0); it does not show who held"),
        "{}",
        said(lock)
    );
    let sums = lock.replace("811.74 ms", "811.74 s");
    assert!(
        said(&sums).contains("of 6 waits, for a spinlock in broadcast_control+0xc0; the largest sum is 811.74 s in 19 waits, for a spinlock in rcu_core+0xec)"),
        "{}",
        said(&sums)
    );
    let lock = " contended   total wait     max wait     avg wait          pid   comm\n  1  740.66 ms  740.66 ms  740.66 ms  1950   nv_queue\n";
    assert!(said(lock).contains("is 740.66 ms of 1 wait, of nv_queue (1950))"), "{}", said(lock));
    let sums = "HARDIRQ                    TOTAL_usecs\nenv2    816\nIPI-2   1421603  << fewer\n";
    assert!(said(sums).contains("the largest sum is 1421603 µs, of IPI-2"), "{}", said(sums));
    let both = format!("SOFTIRQ          TOTAL_nsecs\nnet_rx  5000\n{sums}");
    let each = "(the largest sum is 5000 ns, of net_rx; the largest sum is 1421603 µs, of IPI-2;";
    assert!(said(&both).contains(each), "{}", said(&both));
    let slow = "TIME     STAGE                SOFTIRQ  LAT(us)        CPU    COMM\n14:41:43 irq(hard) to softirq net_rx   50223          0      cat\n\
                14:41:43 irq(hard) to softirq tasklet  95280          1      my cat\n";
    assert!(
        said(slow).starts_with(
            "softirqslower (the longest is 95280 µs, of irq(hard) to softirq tasklet on CPU 1, while my cat was"
        ),
        "{}",
        said(slow)
    );
    let off = "Finding critical section with IRQ disabled for > 500us\n=====\nTASK: commit:111 (pid   246 tid   246) Total Time: 580.730  us\n\n\
               Section start: clk_lock -> clk_enable\nSection end:   _raw_spin_unlock -> clk_enable\n  clk_enable+0x80\n";
    assert!(
        said(off).starts_with("criticalstat (interrupts off for 580.73 µs in commit:111 (pid 246 tid 246), from clk_lock ← clk_enable to _raw"),
        "{}",
        said(off)
    );
    let hist = "# RTLA timerlat histogram\nIndex IRQ-000 Thr-000\n0 591157 0\nover: 0 0\nmax: 11 17\n";
    assert!(
        said(hist)
            .contains("(the worst thread latency is 17 us on CPU 0; the worst interrupt latency is 11 us on CPU 0)"),
        "{}",
        said(hist)
    );
    let cut = hist.replace("over:", "[...]\nover:");
    assert!(!said(&cut).contains("left out"), "{}", said(&cut));
    assert!(said(&cut.replace("max: 11 17\n", "")).contains("left out"), "{}", said(&cut));
    let latmus = "RTT|  00:00:01  (user, 1000 us period)\nRTD| 26.675| 26.951| 27.826| 0| 0| 26.675| 31.204\n";
    assert!(said(latmus).contains("(the worst is 31.204 us)"), "{}", said(latmus));
    let overruns = "RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst\nRTD| 2.443| 3.525| 84.411| 52| 0| 1.574| 375.502\n";
    assert!(
        said(overruns).contains("(the worst is 375.502 us, 52 overruns, 0 switches to Linux)"),
        "{}",
        said(overruns)
    );
}

#[test]
fn tables_of_bpf_tools_have_their_worst() {
    let slow = "Tracing softirq latency higher than 10 us...\n23:09:54 irq(hard) to softirq: rcu took 10 us (0 ms), on CPU:1, comm:swapper/1\n\
                23:09:55 softirq runtime: sched took 294 us (0 ms), on CPU:1, comm:my app\n";
    assert!(
        said(slow).starts_with(
            "softirqslower (the longest is 294 µs, of softirq runtime sched on CPU 1, while my app was current)"
        ),
        "{}",
        said(slow)
    );
    let counts =
        "HARDIRQ   TOTAL_count TOTAL_usecs MAX_usecs CPU\nnic0  111375 1420732  303  2\nmy disk  8 162  533 8\n";
    assert!(
        said(counts).starts_with("a table of hardirqs or softirqs (the largest sum is 1420732 µs, of nic0 on CPU 2; the longest is 533 µs, of my disk on CPU 8)"),
        "{}",
        said(counts)
    );
    let counts = "HARDIRQ                    TOTAL_count\nnic0  111375\n";
    assert!(
        said(counts).contains("(the most frequent is nic0, 111375 times; counts do not show delays)"),
        "{}",
        said(counts)
    );
    let locks = "    Caller  Avg Wait    Count   Max Wait   Total Wait\n   down_read+0x5    155 ns    33052   115.5 us       5.1 ms\n     read_dir+0x115\n\
                 Max PID 39643, COMM app, Lock dir_sem (0xffffffff89f87e00)\n\n   Caller  Avg Hold    Count   Max Hold   Total Hold\n\
                 down_write+0x5    8.3 us     7751   373.9 us      64.3 ms\n  Max PID 3, COMM job, Lock no-ksym (0xffff94)\n";
    assert!(
        said(locks).starts_with("klockstat (the longest wait of 33052 is 115.5 us, in down_read+0x5 ← read_dir+0x115, by app (39643), lock dir_sem (0xffffffff89f87e00); \
            the longest hold of 7751 is 373.9 us, in down_write+0x5, by job (3), lock (0xffff94)); it does not show who held a lock while another thread waited"),
        "{}",
        said(locks)
    );
    let old = "   Caller   Avg Spin  Count   Max spin Total spin\n   lock_it   1234  4  8000 9000\n";
    assert!(said(old).contains("the longest wait of 4 is 8000 ns, in lock_it"), "{}", said(old));
    let disk = "67.830  my app  36  sdb  W  6024  4096  0.66\n67.840  my app  36  sdb  W  6032  4096  0.65\n67.851  my app  36  sdb  W  6040  4096  0.67\n";
    assert!(
        said(disk).starts_with("biosnoop (the longest request took 0.67 ms, of my app (36) on sdb, of 3 requests; its requests end 10.00 to 11.00 ms apart"),
        "{}",
        said(disk)
    );
    let file = "TIME     COMM           PID    T BYTES   OFF_KB   LAT(ms) FILENAME\n06:35:01 my app  16464  R 1249    0         7.05 common\n06:35:02 cron  16463  R 1249    0  16.05 common\n";
    assert!(said(file).contains("(the largest LAT(ms) is 16.05, in the row \"06:35:02 cron 16463 R"), "{}", said(file));
    let woken =
        "    target:          ksoftirqd/1\n    ffffffff81 kthread\n    waker:           swapper/1\n        580\n";
    assert!(
        said(woken).contains("ksoftirqd/1 was off the CPU for 580 µs in all until swapper/1 woke it"),
        "{}",
        said(woken)
    );
    let top = "Cause                             Maximum     Percentage\nScheduler: waiting for cpu      14.2 msec   50.0 %\nFork   3.0 msec 1.0 %\n";
    assert!(
        said(top).contains("latencytop (the longest is 14.2 ms, \"Scheduler: waiting for cpu\", 50 % of all"),
        "{}",
        said(top)
    );
    let trace =
        "     0.000 ( 0.012 ms): app/123 futex(uaddr: 0x7f) = 0\n     1.000 (12.500 ms): my app/124 read(fd: 3) = 1\n";
    assert!(
        said(trace).contains("(the longest system call took 12.5 ms: \"my app/124 read(fd: 3) = 1\")"),
        "{}",
        said(trace)
    );
    let strace = "read(3, \"x\", 1) = 1 <0.000012>\nfutex(0x7f, FUTEX_WAIT) = 0 <0.250000>\n";
    assert!(said(strace).contains("took 250 ms: \"futex(0x7f, FUTEX_WAIT) = 0\""), "{}", said(strace));
    let hist = "{ lat:  12, next_pid: 7 } hitcount:  2\n{ lat:  240, next_pid: 9 } hitcount:  1\n";
    assert!(said(hist).contains("(the largest latency is 240, of { lat:  240, next_pid: 9 })"), "{}", said(hist));
    let map = "  *A0           993.552887 secs A0 => perf:23665\n   *.   A0      993.552781 secs .  => swapper:0\n";
    assert!(said(map).starts_with("perf sched map"), "{}", said(map));
}

#[test]
fn sums_with_stacks_tell_sleep_from_preemption() {
    let text = "    waker:           job 92\n    el0_irq_naked\n    handle_fasteoi_irq\n    disk_intr\n    queue_it\n    --               --\n    \
                finish_task_switch\n    preempt_schedule_common\n    do_work\n    target:          worker 33\n        16\n";
    assert!(
        said(text).contains("worker 33 was off the CPU for 16 µs in all, preempted while it could run, in do_work, so it was not blocked; the \
                             entry also names a wakeup: an interrupt (disk_intr), which came while job 92 was current, woke it"),
        "{}",
        said(text)
    );
    let asleep = text
        .replace("preempt_schedule_common", "schedule")
        .replace("    el0_irq_naked\n    handle_fasteoi_irq\n", "")
        .replace("disk_intr", "write_it");
    assert!(
        said(&asleep).contains("worker 33 was blocked for 16 µs in all, in do_work, until job 92 woke it"),
        "{}",
        said(&asleep)
    );
    let folded = "job;main+0x9 [job];-;back_to_user;exit_to_usermode_loop;schedule;finish_task_switch 10\n\
                  job;main+0x9 [job];print [libc.so];-;sys_nanosleep;do_nanosleep;schedule;finish_task_switch 3000082\n";
    assert!(
        said(folded).starts_with(
            "folded stacks of offcputime (the largest sum is 3000082 µs, of job, in do_nanosleep ← sys_nanosleep;"
        ),
        "{}",
        said(folded)
    );
    let preempted = folded.lines().next().unwrap_or_default();
    assert!(
        said(preempted).contains("10 µs, of job, preempted while it could run, in back_to_user;"),
        "{}",
        said(preempted)
    );
    assert_eq!(said("job;main;on_cpu 10\n"), "");
}

#[test]
fn formats_that_are_not_read_have_a_true_first_line() {
    let ltt = "process.wakeup: 4.062738209 (/cpu_0), 75, daemon, 1, 0x0, USER_MODE { 3, 2 }\n\
               process.schedchange: 4.062759716 (/cpu_1), 0, UNNAMED, 0, 0x0, SYSCALL { 5, 75, 2 }\n> a remark\n\
               kernel.trap_entry: 4.063493275 (/cpu_1), 0, UNNAMED, 0, 0x0, TRAP { 2 }\n";
    assert!(
        said(ltt).starts_with("events of LTT (the longest time without an event on any CPU is 733.6 µs, from 4.062759716 to 4.063493275; the last events \
                               before it are of daemon (75) on CPU 0, UNNAMED (0) on CPU 1)"),
        "{}",
        said(ltt)
    );
    let runs = "# Min Latencies: 00060\n# Max Latencies: 224\n# Max Latencies: 37\n";
    assert!(
        said(runs)
            .starts_with("the latencies of cyclictest (the worst latency is 224 us; the maxima in order: 224, 37)"),
        "{}",
        said(runs)
    );
    let stub = " contended   total wait     max wait     avg wait         type   caller\n\n  4  2.33 s  2.28 s  582.35 ms  rwlock:W  __traceiter_contention_begin+0x44\n";
    assert!(said(stub).contains("the longest wait is 2.28 s of 4 waits, for a rwlock:W; __traceiter_contention_begin+0x44 is the tracepoint's own code"), "{}", said(stub));
}

#[test]
fn a_second_hump_is_said() {
    let text = "@us:\n[1, 2)   90 |@@@@@@|\n[2, 4)   20 |@@  |\n[4, 8)   3 |@|\n[8, 16)   17 |@@|\n[16, 32)   1 ||\n";
    let (said, _) = super::bpf::histograms(text, false).unwrap();
    assert_eq!(
        said,
        "@us: 16 to 32, once (of 131 in all; the fullest bucket is 1 to 2: 90, and behind a dip 8 to 16: 17)"
    );
    let (flat, _) = super::bpf::histograms(&text.replace("17 |", "5 |"), false).unwrap();
    assert!(!flat.contains("dip"), "{flat}");
}

#[test]
fn buckets_of_one_value_are_buckets() {
    let text = "@usecs:\n[0]                   3 |@@                  |\n[1]                  40 |@@@@@@@@@@@@@@@@@@@@|\n\
                [2, 4)               20 |@@@@@@@@@@          |\n[64M, 128M)           1 |                    |\n";
    let (said, _) = super::bpf::histograms(text, false).unwrap();
    assert_eq!(said, "@usecs: 64M to 128M, once (of 64 in all; the fullest bucket is 1: 40)");
}

#[test]
fn a_histogram_with_a_count_is_whole_if_its_rows_add_up() {
    let text = "     nsecs   : count     distribution\n[...]\n  1024 -> 2047 : 40 |****|\n  2048 -> 4095 : 3 |*|\n\navg = 1800 nsecs, total: 77400 nsecs, count: 43\n";
    let whole = "a histogram, whose worst buckets are 2048 to 4095 nsecs, 3 times (of 43 in all; the fullest bucket is 1024 to 2047 nsecs: 40); the average is 1800 nsecs; \
                 43 were counted, so no row is missing: a";
    assert!(said(text).starts_with(whole), "{}", said(text));
    let cut = text.replace("count: 43", "count: 44");
    assert!(
        said(&cut).contains("(of 43 shown; the fullest bucket is")
            && said(&cut).contains("44 were counted; rows may be missing"),
        "{}",
        said(&cut)
    );
}

#[test]
fn addresses_before_functions_are_left_out() {
    let text = "    ffffffff810a9581 finish_task_switch\n    ffffffff8185d385 schedule\n    ffffffff810c5672 wait_woken\n    ffffffff8150715a n_tty_read\n    --\n    \
                00007f6733a969b0 read\n    -                bash (24347)\n        1450908\n";
    assert!(said(text).contains("of bash (24347), in wait_woken ← n_tty_read ← read;"), "{}", said(text));
}

#[test]
fn columns_of_perf_lock_contention_have_their_meaning() {
    let heading = |last: &str| format!("contended   total wait     max wait     avg wait   {last}\n\n");
    let rows = "  1    262.96 ms    262.96 ms    262.96 ms   ffff8e67502d0170    (mutex)\n 12    244.24 us     39.91 us     20.35 us   ffff8e6af56f8070   mmap_lock (rwsem)\n";
    let bare = heading("address   symbol") + rows;
    assert!(said(&bare).contains("is 262.96 ms of 1 wait, for a mutex at ffff8e67502d0170)"), "{}", said(&bare));
    let named = heading("address   symbol") + rows.lines().last().unwrap_or_default();
    assert!(
        said(&named).contains("is 39.91 us of 12 waits, for mmap_lock, a rwsem at ffff8e6af56f8070)"),
        "{}",
        said(&named)
    );
    let plain = named.replace(" (rwsem)", "");
    assert!(said(&plain).contains("for mmap_lock, a lock at ffff8e6af56f8070)"), "{}", said(&plain));
    let owner = heading("pid   owner") + "  3  1.00 ms  900.00 us  300.00 us   77   my job\n";
    assert!(said(&owner).contains("is 900.00 us of 3 waits, for locks that my job (77) held): a"), "{}", said(&owner));
    let group = heading("cgroup") + "  3  1.00 ms  900.00 us  300.00 us   /user.slice\n";
    assert!(said(&group).contains("of 3 waits, in cgroup /user.slice); it does not show who held"), "{}", said(&group));
}

#[test]
fn times_at_the_end_of_the_asked_window_are_no_times_of_events() {
    let heading = "# perf sched timehist --time 100,200\n time cpu task name wait time sch delay run time\n";
    let text = format!(
        "{heading} 90.763231 [0000]  job[15]  0.000  0.002  0.003\n{0} 200.000000 [0000]  perf[9]  0.000  0.000  0.000\n 200.000000 [0001]  perf[9]  0.000  0.000  0.000\n",
        heading
    );
    assert!(said(&text).contains("until 90.763231); the 2 rows at 200.000000 have the end of the window that --time asked for, not the time of an event"), "{}", said(&text));
    let one = text.replace("100,200", "100,300");
    assert!(!said(&one).contains("asked for"), "{}", said(&one));
}

#[test]
fn a_thread_with_several_names_casts_doubt_on_the_names() {
    let rows = "TIME     COMM             PID           LAT(us)\n22:19:12 player   2435   178\n22:19:12 gsd-keys   2435  158\n22:19:12 swapper/1  7  191\n";
    let doubt = "191 µs, of swapper/1 (7); 2435 has 2 names: the names need not be those of the threads that waited)";
    assert!(said(rows).contains(doubt), "{}", said(rows));
    assert!(!said(&rows.replace("gsd-keys", "player")).contains("names"));
}

#[test]
fn cpudist_measures_no_waiting() {
    let rows = "     msecs               : count     distribution\n         0 -> 1          : 676      |****|\n       128 -> 255        : 9        |    |\n";
    let own = said(&format!("# ./cpudist.py -Tm 1\n{rows}"));
    assert!(own.contains("how long threads ran on a CPU, not how long they waited"), "{own}");
    for other in ["# ./cpudist.py -O 1\n", ""] {
        assert!(!said(&format!("{other}{rows}")).contains("cpudist"));
    }
}

#[test]
fn statistics_are_told_by_their_longest_wait() {
    let table = |max: u32| {
        format!(
            "Wakeup Latencies percentiles (usec) runtime 10 (s) (94 total samples)\n\t  50.0th: 4          (53 samples)\n\t* 99.0th: 7448       (8 \
             samples)\n\t  min=1, max={max}\n"
        )
    };
    let rest = "Request Latencies percentiles (usec) runtime 10 (s) (94 total samples)\n\t  50.0th: 23264 (2 samples)\n\t  min=4, max=241201\n\
                RPS percentiles (requests) runtime 10 (s) (11 total samples)\n\t* 50.0th: 629760 (15 samples)\n\t  min=617820, max=635475\n";
    let one = said(&(table(15186) + rest));
    assert!(
        one.starts_with("schbench (wakeup latency: longest 15186 µs, median 4 µs, 99th percentile 7448 µs): "),
        "{one}"
    );
    let two = said(&(table(900) + &table(15186) + rest));
    assert!(
        two.starts_with("schbench (wakeup latency: longest 15186 µs") && two.contains("of the last of several tables"),
        "{two}"
    );
    let task = |row: &str| {
        format!(
            "# cat /proc/77/sched\nwriter/1 (77, #threads: 1)\n-----\nse.exec_start     :   65.69\n{row}\nprio    :   49\n"
        )
    };
    let waited = said(&task("se.statistics.wait_max  :  35.957879"));
    assert!(waited.starts_with("/proc/77/sched of writer/1 (it waited 35.958 ms at most for a CPU"), "{waited}");
    let none = said(&task("wait_max  :  0.000000"));
    assert!(none.contains("no wait of it is counted; those of real-time threads are not before Linux 5.16"), "{none}");
    assert!(said(&task("nr_switches : 3")).contains("is not in this text; it is counted with CONFIG_SCHEDSTATS"));
    let old = "Latency percentiles (usec)\n\t50.0000th: 61\n\t*99.0000th: 200\n\tmin=0, max=950\n";
    assert!(
        said(old).starts_with("schbench (wakeup latency: longest 950 µs, median 61 µs, 99th percentile 200 µs)"),
        "{}",
        said(old)
    );
}
