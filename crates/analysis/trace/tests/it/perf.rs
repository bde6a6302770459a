//! Tests perf.data: event counts of recorded files are compared with those of `perf script`; synthetic files cover the
//! other byte order.

use crate::common;
use crate::common::build;

use build::{Builder, format_of, formats, record};
use common::{counts, fixture, in_order, read, read_fixture};
use proptest::prelude::*;
use punctual_trace::{Comm, Damage, Event, Format, Kind, Options, TraceInfo, open};
use std::io::Cursor;

/// Number of events of each type that `perf script -i FILE` prints: softirqs, context switches, sched_waking, hrtimer
/// cancels, expiries and starts, timer interrupts.
const FILES: [(&str, [usize; 7]); 3] = [
    ("h618.perf.data", [70, 177, 91, 7, 145, 152, 144]),
    ("h618.pipe.perf.data", [69, 176, 92, 7, 145, 152, 145]),
    ("h618.zstd.perf.data", [70, 176, 91, 6, 145, 151, 145]),
];

#[test]
fn file_pipe_and_compressed_have_the_events_perf_script_prints() {
    for (name, [soft, switches, wakings, cancels, expiries, starts, timers]) in FILES {
        let (events, info) = read_fixture(name);
        let mut counts = counts(&events);
        // `perf script` shows these records only on request.
        assert!(
            ["fork", "exit", "rename"].iter().filter(|kind| counts.remove(**kind).is_some()).count() >= 2,
            "{name}"
        );
        let expected = [
            ("hrtimer_cancel", cancels),
            ("hrtimer_expire_entry", expiries),
            ("hrtimer_expire_exit", expiries),
            ("hrtimer_start", starts),
            ("local_timer_entry", timers),
            ("local_timer_exit", timers),
            ("sched_switch", switches),
            ("sched_waking", wakings),
            ("softirq_entry", soft),
            ("softirq_exit", soft),
        ];
        assert_eq!(counts, expected.map(|(name, n)| (name.to_owned(), n)).into(), "{name}");
        assert_eq!(
            (info.format, info.clock.as_deref(), info.cpus),
            (Format::PerfData, Some("mono"), Some(2)),
            "{name}"
        );
        assert_eq!((info.kernel.as_deref(), info.skipped), (Some("6.18.44-fc-v595"), 0), "{name}");
        assert!(info.notes.is_empty() && info.lost_events.is_none(), "{name} {:?}", info.notes);
        assert!(events.iter().all(|e| e.tid.is_some() && e.comm.is_some() || e.flags.is_none()), "{name}");
    }
}

fn survive(bytes: &[u8]) -> Option<(Vec<Event>, TraceInfo)> {
    let mut source = open(Cursor::new(bytes), Options { bodies: true }).ok()?;
    let events: Vec<Event> = source.by_ref().take(100_000).collect();
    assert!(events.len() < 100_000);
    in_order(&events);
    let info = source.info().clone();
    Some((events, info))
}

#[test]
fn cut_files_give_what_is_left_or_an_error() {
    for (name, _) in FILES {
        let whole = fixture(name);
        let complete = survive(&whole).unwrap().0.len();
        for end in (0..whole.len()).step_by(997) {
            if let Some((events, info)) = survive(&whole[..end]) {
                // The output of a pipe may end after any record.
                let said = !info.notes.is_empty() || name.contains("pipe");
                assert!(events.len() == complete || (events.len() < complete && said), "{name} {end}");
            }
        }
    }
}

#[test]
fn a_recording_without_formats_or_tracepoints_is_an_error() {
    for bytes in [&b"PERFILE2"[..], b"PERFILE2\x10\0\0\0\0\0\0\0", b"PERFILE2\x68\0\0\0\0\0\0\0", b"2ELIFREP"] {
        assert!(open(Cursor::new(bytes), Options::default()).is_err());
    }
}

struct Pipe {
    b: Builder,
    formats: Vec<String>,
}

impl Pipe {
    /// Starts a pipe-mode file with two events, whose samples have IDENTIFIER, IP, TID, TIME, CPU, RAW, and
    /// sample_id_all.
    fn new(big: bool) -> Pipe {
        let formats = formats(&String::from_utf8(fixture("g612.formats.txt")).unwrap());
        let mut pipe = Pipe { b: Builder::new(big, 8), formats };
        pipe.b.u64(u64::from_le_bytes(*b"PERFILE2"));
        pipe.b.u64(16);
        let mut attr = Builder::new(big, 8);
        [2, 112].into_iter().for_each(|v| attr.u32(v));
        [300, 1, 1 << 16 | 1 | 2 | 4 | 1 << 7 | 1 << 10, 0].into_iter().for_each(|v| attr.u64(v));
        attr.u64(if big { 1 << (63 - 18) | 1 << (63 - 25) } else { 1 << 18 | 1 << 25 });
        attr.bytes.resize(92, 0);
        attr.u32(7);
        attr.bytes.resize(112, 0);
        [1, 2].into_iter().for_each(|id| attr.u64(id));
        pipe.record(64, &attr.bytes);
        pipe.tracing();
        pipe
    }

    fn record(&mut self, kind: u32, body: &[u8]) {
        self.b.u32(kind);
        self.b.u16(0);
        self.b.u16(8 + body.len() as u16);
        self.b.bytes.extend(body);
    }

    fn tracing(&mut self) {
        let dat = Builder::new(self.b.big, 8).dat6(&self.formats, "", "", 4096, &[]);
        // The same as in a trace.dat up to the number of CPUs, except for the version.
        let end = dat.windows(10).position(|w| w == b"options  \0").unwrap() - 4;
        let data = [&dat[..10], b"0.6\0", &dat[12..end]].concat();
        let mut size = Builder::new(self.b.big, 8);
        size.u32(data.len() as u32);
        self.record(66, &size.bytes);
        self.b.bytes.extend(data);
    }

    fn waking(&mut self, t: u64, cpu: u32, tid: i64) {
        let format = format_of(&self.formats, "sched_waking");
        let fields = [("common_pid", 5), ("pid", tid), ("prio", 19), ("target_cpu", 1)];
        let raw = record(&self.b, format, &fields, &[("comm", "woken")]);
        let mut body = Builder::new(self.b.big, 8);
        [1, 0xffff].into_iter().for_each(|v| body.u64(v));
        [5, 5].into_iter().for_each(|v| body.u32(v));
        body.u64(t);
        [cpu, 0, raw.len() as u32].into_iter().for_each(|v| body.u32(v));
        body.bytes.extend(raw);
        self.record(9, &body.bytes);
    }

    /// Adds a record that is not a sample: the words and the text, then the sample_id: task, time, CPU, event.
    fn other(&mut self, kind: u32, words: &[u32], text: &[u8], t: u64, cpu: u32) {
        let mut body = Builder::new(self.b.big, 8);
        words.iter().for_each(|v| body.u32(*v));
        body.bytes.extend(text);
        [5, 5].into_iter().for_each(|v| body.u32(v));
        body.u64(t);
        [cpu, 0].into_iter().for_each(|v| body.u32(v));
        body.u64(1);
        self.record(kind, &body.bytes);
    }
}

#[test]
fn both_byte_orders_and_what_is_no_sample() {
    for big in [false, true] {
        let mut pipe = Pipe::new(big);
        pipe.other(3, &[5, 5], b"before\0\0", 0, 0);
        pipe.waking(3_000, 1, 31);
        pipe.waking(1_000, 0, 30);
        pipe.record(68, &[]);
        pipe.other(7, &[40, 5, 40, 5], &[], 3_500, 0);
        let lost = if big { [0, 1, 0, 12] } else { [1, 0, 12, 0] };
        pipe.other(2, &lost, &[], 4_000, 1);
        pipe.waking(2_000, 0, 32);
        pipe.record(68, &[]);
        let (events, info) = read(&pipe.b.bytes);
        let times: Vec<(u64, u32)> = events.iter().map(|e| (e.t_ns, e.cpu)).collect();
        assert_eq!(times, [(1_000, 0), (2_000, 0), (3_000, 1), (3_500, 0), (4_000, 1)]);
        let Kind::SchedWaking { task, target_cpu } = &events[0].kind else { panic!("{events:?}") };
        assert_eq!((task.tid, task.prio, task.comm, *target_cpu), (30, Some(19), Some(Comm::new(b"woken")), Some(1)));
        assert_eq!(events[0].comm, Some(Comm::new(b"before")));
        assert_eq!(events[3].kind, Kind::Fork { parent_tid: 5, child_tid: 40, child_comm: None });
        assert_eq!(events[4].kind, Kind::LostEvents { count: Some(12) });
        assert_eq!((info.clock.as_deref(), info.lost_events), (Some("boot"), Some(12)));
    }
}

#[test]
fn what_comes_too_late_is_lost_and_said() {
    let mut pipe = Pipe::new(false);
    for t in [5_000_000, 6_000_000] {
        pipe.waking(t, 0, 1);
        pipe.record(68, &[]);
    }
    pipe.record(68, &[]);
    pipe.waking(1_000, 1, 2);
    let (events, info) = read(&pipe.b.bytes);
    assert_eq!((events.len(), events[2].t_ns, events[2].cpu), (3, 6_000_000, 1));
    assert_eq!(events[2].kind, Kind::LostEvents { count: Some(1) });
    assert!(info.notes.iter().any(|n| n.what == Damage::TimeWentBack) && info.lost_events == Some(1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn changed_files(which in 0usize..3, changes in proptest::collection::vec((any::<u32>(), any::<u8>()), 1..20)) {
        let mut whole = fixture(FILES[which].0);
        let length = whole.len();
        for (at, byte) in changes {
            whole[at as usize % length] = byte;
        }
        survive(&whole);
    }
}
