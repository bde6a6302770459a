//! Tests formats of four kernels, both byte orders, both word sizes, lost events, task names.

use crate::common;
use crate::common::build;

use build::{Builder, format_of, formats, record};
use common::{fixture, read};
use punctual_trace::{Comm, Event, Kind, NoiseSource, Symbol, TraceInfo, Vector};

fn dat(b: Builder, formats: &[String], uname: &str, records: &[(u32, Vec<u8>)]) -> (Vec<Event>, TraceInfo) {
    let page = b.page(1_000_000, 0, 4096, records);
    read(&b.dat6(formats, "77 listed\n", uname, 4096, &[Vec::new(), page]))
}

#[test]
fn fields_are_where_each_kernel_says() {
    for (name, release) in [
        ("g510.formats.txt", "5.10.0-rt-amd64"),
        ("g61.formats.txt", "6.1.0-rt-amd64"),
        ("g612.formats.txt", "6.12.0-rt-amd64"),
        ("h618.formats.txt", "6.18.5"),
    ] {
        let text = String::from_utf8(fixture(name)).unwrap();
        let formats = formats(&text);
        let b = Builder::new(false, 8);
        let get = |name| format_of(&formats, name);
        let switch =
            [("common_pid", 5), ("common_flags", 1), ("prev_pid", 5), ("prev_prio", 120), ("prev_state", 0x100)];
        let switch = [&switch[..], &[("next_pid", 9), ("next_prio", 0)]].concat();
        let records = [
            (0, record(&b, get("sched_switch"), &switch, &[("prev_comm", "hog"), ("next_comm", "victim")])),
            (
                7,
                record(
                    &b,
                    get("sched_waking"),
                    &[("common_pid", 9), ("pid", 11), ("prio", -1), ("target_cpu", 3)],
                    &[("comm", "dl")],
                ),
            ),
            (
                7,
                record(
                    &b,
                    get("sched_migrate_task"),
                    &[("common_pid", 77), ("pid", 11), ("prio", 19), ("orig_cpu", 1), ("dest_cpu", 2)],
                    &[("comm", "mover")],
                ),
            ),
            (7, record(&b, get("irq_handler_entry"), &[("common_pid", 1), ("irq", 24)], &[("name", "eth0")])),
        ];
        let (events, info) = dat(b, &formats, &format!("Linux host {release} x86_64"), &records);
        assert_eq!((events.len(), info.skipped, info.kernel.as_deref()), (4, 0, Some(release)), "{name} {info:?}");
        let Kind::SchedSwitch { prev, prev_state, next } = &events[0].kind else { panic!("{events:?}") };
        assert_eq!((prev.tid, prev.comm, next.tid, next.prio), (5, Some(Comm::new(b"hog")), 9, Some(0)), "{name}");
        assert_eq!((prev_state.letter, prev_state.preempted, prev_state.runnable()), (b'R', true, true), "{name}");
        assert_eq!((events[0].cpu, events[0].t_ns, events[1].t_ns), (1, 1_000_000, 1_000_007));
        assert_eq!(events[0].flags.unwrap().irqs_off, Some(true));
        // The current task's name: from the switch, or from the file's list.
        assert_eq!((events[1].comm, events[2].comm), (Some(Comm::new(b"victim")), Some(Comm::new(b"listed"))));
        let Kind::SchedWaking { task, target_cpu } = &events[1].kind else { panic!("{events:?}") };
        assert_eq!((task.tid, task.prio, *target_cpu), (11, Some(-1), Some(3)), "{name}");
        let Kind::SchedMigrate { task, from_cpu, to_cpu } = &events[2].kind else { panic!("{events:?}") };
        assert_eq!((task.comm, *from_cpu, *to_cpu), (Some(Comm::new(b"mover")), 1, 2), "{name}");
        assert_eq!(events[3].kind, Kind::IrqEntry { irq: 24, name: Some("eth0".into()) }, "{name}");
    }
}

#[test]
fn rt_kernels_with_a_field_for_migration() {
    let formats = formats(&String::from_utf8(fixture("g510.formats.txt")).unwrap());
    let b = Builder::new(false, 8);
    let fields = [("common_migrate_disable", 2), ("common_preempt_count", 1), ("common_flags", 0x80), ("irq", 3)];
    let records = [(0, record(&b, format_of(&formats, "irq_handler_entry"), &fields, &[("name", "x")]))];
    let (events, _) = dat(b, &formats, "Linux host 5.10.0-rt-amd64 x86_64", &records);
    let flags = events[0].flags.unwrap();
    assert_eq!((flags.migrate_disable, flags.preempt_depth), (Some(2), Some(1)));
    assert_eq!((flags.need_resched_lazy, flags.bh_off), (Some(true), None));
}

/// The text of an event format with the common fields, followed by the given fields.
fn simple(name: &str, id: u16, fields: &[(&str, usize)]) -> String {
    let mut text = format!(
        "name: {name}\nID: {id}\nformat:\n\
         \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
         \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
         \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
         \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    );
    let mut at = 8;
    for (declaration, size) in fields {
        text += &format!("\tfield:{declaration};\toffset:{at};\tsize:{size};\tsigned:1;\n");
        at += size;
    }
    text
}

#[test]
fn both_byte_orders_and_word_sizes() {
    for (big, long) in [(false, 4), (false, 8), (true, 4), (true, 8)] {
        let b = Builder::new(big, long);
        let formats = [
            simple("local_timer_entry", 10, &[("int vector", 4)]),
            simple("sched_stat_runtime", 11, &[("char comm[16]", 16), ("pid_t pid", 4), ("u64 runtime", 8)]),
            simple(
                "thread_noise",
                12,
                &[("char comm[16]", 16), ("u64 start", 8), ("u64 duration", 8), ("pid_t pid", 4)],
            ),
            simple("kernel_stack", 13, &[("int size", 4), ("unsigned long caller[8]", 0)]),
            simple("sys_exit_futex", 14, &[("int __syscall_nr", 4), ("long ret", long)]),
        ];
        let mut stack = record(&b, &formats[3], &[("size", 2)], &[]);
        let mut words = Builder::new(big, long);
        words.long(0x1234);
        words.long(0x5678);
        stack.extend(&words.bytes);
        let records = [
            (1, record(&b, &formats[0], &[("vector", 236), ("common_pid", 3)], &[])),
            (2, record(&b, &formats[1], &[("pid", 4), ("runtime", 1 << 40)], &[("comm", "yes")])),
            (3, record(&b, &formats[2], &[("start", 5), ("duration", 6), ("pid", 7)], &[("comm", "hog")])),
            (4, stack),
            (5, record(&b, &formats[4], &[("__syscall_nr", 202), ("ret", -110)], &[])),
        ];
        let (events, info) = dat(b, &formats, "Linux host 6.6.1 armv7l", &records);
        let kinds: Vec<Kind> = events.into_iter().map(|e| e.kind).collect();
        let yes = Some(Comm::new(b"yes"));
        let hog = NoiseSource::Thread { tid: 7, comm: Some(Comm::new(b"hog")) };
        assert_eq!(kinds[0], Kind::VectorEntry { vector: Vector::LocalTimer, number: Some(236) }, "{big} {long}");
        assert_eq!(kinds[1], Kind::StatRuntime { tid: 4, comm: yes, runtime_ns: 1 << 40 });
        assert_eq!(kinds[2], Kind::Noise { source: hog, start_ns: 5, duration_ns: 6 });
        assert!(matches!(&kinds[3], Kind::Stack { frames } if frames.len() == 2), "{:?}", kinds[3]);
        assert_eq!(kinds[4], Kind::SysExit { nr: Some(202), name: Some("futex".into()), ret: -110 });
        assert_eq!(info.machine.as_deref(), Some("armv7l"));
    }
}

#[test]
fn lost_events_stand_before_the_page_they_precede() {
    let b = Builder::new(false, 8);
    let formats = [simple("local_timer_entry", 10, &[("int vector", 4)])];
    let one = || vec![(0, record(&Builder::new(false, 8), &formats[0], &[("vector", 236)], &[]))];
    let mut second = b.page(2000, 3 << 30, 4096, &one());
    // The count follows the data: 16 bytes of page header, 4 of event header, 12 of data.
    second[32..40].copy_from_slice(&9u64.to_le_bytes());
    let cpu = [b.page(1000, 0, 4096, &one()), second, b.page(3000, 1 << 31, 4096, &one())].concat();
    let (events, info) = read(&b.dat6(&formats, "", "", 4096, &[cpu]));
    let kinds: Vec<(u64, bool)> = events.iter().map(|e| (e.t_ns, matches!(e.kind, Kind::LostEvents { .. }))).collect();
    assert_eq!(kinds, [(1000, false), (2000, true), (2000, false), (3000, true), (3000, false)]);
    assert_eq!(events[1].kind, Kind::LostEvents { count: Some(9) });
    assert_eq!((events[3].kind.clone(), info.lost_events), (Kind::LostEvents { count: None }, Some(10)));
}

/// In version 6 of trace.dat, an instance is read if the main buffer is empty, and otherwise only noted; timer
/// callbacks are named by the symbols in the file.
#[test]
fn instances_and_symbols_of_version_6() {
    let formats = formats(&String::from_utf8(fixture("g612.formats.txt")).unwrap());
    for (main, symbols) in [(false, true), (true, false)] {
        let mut b = Builder::new(false, 8);
        let fields = |function| [("common_pid", 9), ("function", function), ("expires", 5000)];
        let start = |b: &Builder, function| record(b, format_of(&formats, "hrtimer_start"), &fields(function), &[]);
        let records = [(0, start(&b, 0x8100_0100)), (5, start(&b, 0x8100_0000)), (5, start(&b, 0x10))];
        let page = b.page(1_000_000, 0, 4096, &records);
        if symbols {
            b.symbols = "81000000 T hrtimer_wakeup\n81000100 t tick_nohz_handler\n".into();
        }
        b.instance.clone_from(&page);
        let cpus = [if main { page[..].to_vec() } else { Vec::new() }, Vec::new()];
        let (events, info) = read(&b.dat6(&formats, "", "", 4096, &cpus));
        let functions = events.iter().map(|event| match &event.kind {
            Kind::HrtimerStart { function: Some(function), .. } => function.clone(),
            other => panic!("{other:?}"),
        });
        let name = |name: &str, address| match symbols {
            true => Symbol::Name(name.into()),
            false => Symbol::Address(address),
        };
        let expected =
            [name("tick_nohz_handler", 0x8100_0100), name("hrtimer_wakeup", 0x8100_0000), Symbol::Address(0x10)];
        assert_eq!(functions.collect::<Vec<_>>(), expected);
        let noted = info.notes.iter().any(|n| format!("{n:?}").contains("instance \\\"room\\\""));
        assert_eq!(noted, main, "{:?}", info.notes);
    }
}
