//! Tests traces as people paste them: quoted, wrapped, escaped, truncated, several in sequence.

use crate::common;

use common::{fixture, read};
use proptest::prelude::*;
use punctual_trace::{Comm, Damage, Event, Format, Kind, TimeBase};

fn sample(lines: usize) -> String {
    String::from_utf8(fixture("g612.trace.txt")).unwrap().lines().take(lines).map(|l| format!("{l}\n")).collect()
}

fn repaired(text: &str, how: &'static str) -> Vec<Event> {
    let (events, info) = read(text.as_bytes());
    assert!(info.notes.iter().any(|n| n.what == Damage::Repaired { how }), "{how}: {:?}", info.notes);
    events
}

fn same(read: &[Event], original: &[Event]) {
    for (a, b) in read.iter().zip(original) {
        assert_eq!(a, b);
    }
    assert_eq!(read.len(), original.len());
}

fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut length = 0;
        for word in line.split_inclusive(' ') {
            if length > 0 && length + word.trim_end().len() > width && !line.starts_with('#') && length >= 50 {
                out.truncate(out.trim_end_matches(' ').len());
                out.push('\n');
                length = 0;
            }
            out.push_str(word);
            length += word.len();
        }
        out.push('\n');
    }
    out
}

/// Adds soft line breaks and `=3D`, as in quoted-printable mail.
fn quoted_printable(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut length = 0;
        for c in line.chars() {
            let piece = if c == '=' { "=3D".to_owned() } else { c.to_string() };
            if length + piece.len() > 75 {
                out.push_str("=\n");
                length = 0;
            }
            length += piece.len();
            out.push_str(&piece);
        }
        out.push('\n');
    }
    out
}

#[test]
fn repaired_text_gives_the_events_of_the_original() {
    let text = sample(400);
    let (original, _) = read(text.as_bytes());
    let quoted: String = text.lines().map(|l| format!("> > {l}\n")).collect();
    same(&repaired(&quoted, "quoting"), &original);
    let html = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\n', "<br>\n");
    same(&repaired(&html, "HTML escapes"), &original);
    same(&repaired(&wrapped(&text, 78), "wrapped lines"), &original);
    same(&repaired(&quoted_printable(&text), "quoted-printable"), &original);
    let crlf = text.replace('\n', "\r\n");
    same(&read(crlf.as_bytes()).0, &original);
}

#[test]
fn prose_and_prompts_around_a_trace_are_passed_over() {
    let text =
        format!("Hi all,\n\nI see this: [1]\n\nroot@pi:~# cat trace | head\n{}\nAny ideas?\n-- \nJoe\n", sample(60));
    let (events, info) = read(text.as_bytes());
    assert_eq!(events, read(sample(60).as_bytes()).0);
    assert!(info.skipped >= 4);
}

#[test]
fn an_omission_makes_every_cpu_unknown() {
    let mut lines: Vec<String> = sample(60).lines().map(str::to_owned).collect();
    lines.insert(40, "   [omitted for brevity]".into());
    let (events, info) = read(lines.join("\n").as_bytes());
    assert!(info.notes.iter().any(|n| n.what == Damage::Omitted { text: "[omitted for brevity]".into() }));
    let losses: Vec<u32> =
        events.iter().filter(|e| e.kind == Kind::LostEvents { count: None }).map(|e| e.cpu).collect();
    assert_eq!(losses, [0, 1]);
}

#[test]
fn lost_events_of_kernel_and_trace_cmd() {
    let text = format!("{}CPU:1 [LOST 12 EVENTS]\nCPU:0 [EVENTS DROPPED]\n", sample(30));
    let (events, info) = read(text.as_bytes());
    let lost = |cpu, count| events.iter().any(|e| e.cpu == cpu && e.kind == Kind::LostEvents { count });
    assert!(lost(1, Some(12)) && lost(0, None));
    assert_eq!(info.lost_events, Some(13));
}

#[test]
fn two_pasted_traces_are_told_apart() {
    let text = format!("{}{}", sample(60), sample(60));
    let (events, _) = read(text.as_bytes());
    assert_eq!(events.iter().filter(|e| e.kind == Kind::Restart).count(), 1);
    let body: String = sample(60).lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    let (events, info) = read(format!("{body}{body}").as_bytes());
    assert_eq!(events.iter().filter(|e| e.kind == Kind::Restart).count(), 1);
    assert!(info.notes.iter().any(|n| n.what == Damage::TimeWentBack));
}

#[test]
fn a_cut_event_is_known_to_have_been_there() {
    let line =
        "          <idle>-0       [001] d..2.    19.956713: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_pr";
    let (events, info) = read(line.as_bytes());
    assert_eq!(events.len(), 1);
    assert!(matches!(&events[0].kind, Kind::Other { name, .. } if &**name == "sched_switch"));
    assert!(info.notes.iter().any(|n| matches!(&n.what, Damage::Incomplete { event } if &**event == "sched_switch")));
    assert!(info.notes.iter().any(|n| matches!(n.what, Damage::Truncated { .. })));
}

#[test]
fn the_mail_that_wrapped_its_header() {
    let text = "# tracer: wakeup_rt\n#\n# wakeup_rt latency trace v1.1.5 on 5.4.140-rt64\n\
        # latency: 400 us, #345/345, CPU#1 | (M:preempt_rt VP:0, KP:0, SP:0 HP:=\n0 #P:4)\n\
        #    | task: cyclictest-2065 (uid:0 nice:0 policy:1 rt_prio:80)\n";
    let (events, info) = read(text.as_bytes());
    assert!(events.is_empty());
    assert_eq!((info.cpus, info.latency[0].latency_us, info.latency[0].tid), (Some(4), Some(400), Some(2065)));
}

#[test]
fn a_stack_stays_before_a_mended_event_that_follows_it() {
    let text =
        "  a-1 [000] d..1 5.0: x: y\n  a-1 [000] d..1 5.1: <stack trace>\n => schedule\n> b-2 [000] d..1 1.0: x: y\n";
    let (events, _) = read(text.as_bytes());
    assert!(matches!(&events[1].kind, Kind::Stack { frames } if frames.len() == 1), "{events:?}");
    assert_eq!((events[2].kind.clone(), events[3].t_ns), (Kind::Restart, 1_000_000_000));
}

#[test]
fn an_article_about_a_latency() {
    let text = "I looked at the trace, which said the following (abbreviated):\n\n# tracer: wakeup_rt\n\
        # wakeup_rt latency trace v1.1.5 on 5.4.140-rt64\n\
        # latency: 400 us, #345/345, CPU#1 | (M:preempt_rt VP:0, KP:0, SP:0 HP:0 #P:4)\n\
        #    | task: cyclictest-12905 (uid:0 nice:0 policy:1 rt_prio:80)\n\
        # cmd     pid      |||||||| time   |  caller\n\
        stress-n-12898     1dN.h4..    1us :    12898:120:R   + [001]   12905: 19:R cyclictest\n[omitted for brevity]\n\
        multipat-1456      1d...3..   58us : finish_task_switch <-__schedule\n[omitted for brevity]\n\
        multipat-1456      1d...3..  389us :     1456:  0:S ==> [001]   12905: 19:R cyclictest\n\nSo it is multipathd.";
    let (events, info) = read(text.as_bytes());
    let switch = events.last().unwrap();
    let Kind::SchedSwitch { prev, prev_state, next } = &switch.kind else { panic!("{switch:?}") };
    assert_eq!((prev.tid, prev.prio, prev_state.letter, next.tid, next.prio), (1456, Some(0), b'S', 12905, Some(19)));
    assert_eq!((switch.t_ns, switch.cpu, prev.comm), (389_000, 1, Some(Comm::new(b"multipat"))));
    let omitted = info.notes.iter().filter(|n| matches!(n.what, Damage::Omitted { .. })).count();
    assert_eq!((omitted, info.kernel.as_deref(), info.comms_cut), (3, Some("5.4.140-rt64"), true));
    assert!(!info.notes.iter().any(|n| matches!(n.what, Damage::Truncated { .. })));
}

#[test]
fn headers_of_irqsoff_and_lines_of_perf_script() {
    let text = "# tracer: irqsoff\n#\n# irqsoff latency trace v1.1.5 on 3.8.0-test+\n# ---\n\
        # latency: 16 us, #4/4, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)\n#    -----------------\n\
        #    | task: swapper/0-0 (uid:0 nice:0 policy:0 rt_prio:0)\n#    -----------------\n\
        #  => started at: run_timer_softirq\n#  => ended at:   run_timer_softirq\n#\n\
        <idle>-0       0d.s2    0us+: _raw_spin_lock_irq <-run_timer_softirq\n\
        <idle>-0       0dNs3   17us : _raw_spin_unlock_irq <-run_timer_softirq\n";
    let (events, info) = read(text.as_bytes());
    assert_eq!((events.len(), info.latency[0].started_at.as_deref()), (2, Some("run_timer_softirq")));
    assert_eq!(
        (info.latency[0].ended_at.as_deref(), info.latency[0].latency_us),
        (Some("run_timer_softirq"), Some(16))
    );
    assert_eq!(events[1].flags.unwrap().preempt_depth, Some(3));
    let text = "swapper     0 [001]  9.705463: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 \
        prev_state=R ==> next_comm=x next_pid=5 next_prio=19\nx   4/5 [001] 9.705470: irq_vectors:local_timer_entry: vector=236\n";
    let (events, info) = read(text.as_bytes());
    assert_eq!((events.len(), info.format), (2, Format::PerfScript));
    assert!(matches!(&events[0].kind, Kind::SchedSwitch { next, .. } if next.tid == 5));
    assert_eq!((events[1].tid, events[1].t_ns), (Some(5), 9_705_470_000));
}

#[test]
fn other_clocks_and_old_kernels() {
    let (events, info) = read(b"  bash-1977  [000] ....  1234567: sched_process_exit: comm=bash pid=1977 prio=120\n");
    assert_eq!((events[0].t_ns, info.time), (1_234_567, TimeBase::Ticks));
    let old = "     Xorg-1036  [001] d..3  6417.000123: sched_wakeup: comm=multipathd pid=331 prio=0 success=1 target_cpu=001\n";
    let (events, _) = read(old.as_bytes());
    let Kind::SchedWakeup { task, target_cpu, .. } = &events[0].kind else { panic!("{events:?}") };
    assert_eq!((task.tid, task.prio, *target_cpu), (331, Some(0), Some(1)));
    assert_eq!(events[0].flags.unwrap().migrate_disable, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn mutated_text_ends_in_order(at in 0usize..8000, bytes in proptest::collection::vec(any::<u8>(), 0..40), cut in 0usize..9000) {
        let mut text = sample(70).into_bytes();
        let at = at.min(text.len());
        let end = (at + bytes.len()).min(text.len());
        text.splice(at..end, bytes);
        text.truncate(cut.max(600));
        read(&text);
    }

    #[test]
    fn any_lines_end(lines in "([ -~]{0,30}[\\[\\]:=<>#&]){0,60}\n?") {
        let text = format!("# tracer: nop\n{lines}\n  a-1 [000] d..1 1.000001: x: y\n{lines}");
        read(text.as_bytes());
    }
}

#[test]
fn locks_are_read_with_their_kind() {
    let begin = |body: &str| {
        let line = format!("  yes-60  [001] ...1. 0.002900: contention_begin: {body}\n");
        read(line.as_bytes()).0.into_iter().map(|event| event.kind).next()
    };
    let lock = 0xc0ff_ee00;
    for (flags, bits) in
        [("SPIN", Some(1)), ("RT|WRITE", Some(12)), ("SPIN|MUTEX", Some(33)), ("", Some(0)), ("NEW", None)]
    {
        let read = begin(&format!("00000000c0ffee00 (flags={flags})"));
        assert_eq!(read, Some(Kind::ContentionBegin { lock, flags: bits }), "{flags}");
    }
    assert_eq!(begin("0xc0ffee00 (flags=RT"), Some(Kind::ContentionBegin { lock, flags: None }), "cut");
    let end = read(b"  yes-60  [001] ...1. 0.002900: contention_end: 00000000c0ffee00 (ret=0)\n").0;
    assert_eq!(end.first().map(|event| event.kind.clone()), Some(Kind::ContentionEnd { lock }));
}

#[test]
fn a_caller_on_a_line_of_its_own_belongs_to_the_function_before_it() {
    let whole = "# tracer: preemptoff\n#\n# preemptoff latency trace v1.1.5 on 5.11.0\n  bh-27  3.Ns1 10us : clear_page <-end_page\n  \
                 bh-27  3.Ns1 11us : lock\n  bh-27  3.Ns1 12us : add <-take_lock\n";
    let cut = whole.replace(" <-", "\n<-");
    same(&repaired(&cut, "wrapped lines"), &read(whole.as_bytes()).0);
    let quoted: String = cut.lines().map(|line| format!("> {line}\n")).collect();
    same(&repaired(&quoted, "wrapped lines"), &read(whole.as_bytes()).0);
}

#[test]
fn a_remark_behind_the_end_of_a_section_is_not_part_of_its_name() {
    for remark in ["-----the end", "  (the end)", ", here", "\u{2190} hier"] {
        let text = format!(
            "# irqsoff latency trace v1.1.5 on 4.0.0\n# latency: 90 us, #4/4, CPU#2 | (M:server VP:0, KP:0, SP:0 HP:0 #P:4)\n\
             #  => started at: enter_idle.part.0+0x20/0x90{remark}\n#  => ended at:   cpu_idle{remark}\n  <idle>-0  2d...  3us#: f <-g\n"
        );
        let (_, info) = read(text.as_bytes());
        let header = &info.latency[0];
        let ends = [&header.started_at, &header.ended_at].map(|end| end.as_deref());
        assert_eq!(ends, [Some("enter_idle.part.0"), Some("cpu_idle")], "{remark}");
    }
}
