//! Perfetto traces: streams of `TracePacket`s (protos/perfetto/trace/trace_packet.proto).
//!
//! Scheduler events become ftrace bundles like those of Perfetto's own recorder, so that the viewer and trace_processor
//! recognise threads, states and interrupts. Events without an ftrace message in Perfetto (x86 system vectors except
//! that of the timer, NMIs) become slices on a track per CPU, and verdicts become slices on a track per thread.
//!
//! Times are on the clock of the trace. Packets specify no clock, so Perfetto uses its trace clock. Several traces in
//! one file are placed one after the other, a millisecond apart, because Perfetto has a single time line.

mod ftrace;
mod tracks;

use crate::proto::Message;
use punctual_model::{Explanation, Victim};
use punctual_trace::{Event, Kind, Source};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use tracks::Tracks;

const TRACE_PACKET: u32 = 1;
const PACKET_FTRACE_EVENTS: u32 = 1;
const PACKET_TIMESTAMP: u32 = 8;
const PACKET_SEQUENCE: u32 = 10;
const PACKET_SEQUENCE_FLAGS: u32 = 13;
const BUNDLE_CPU: u32 = 1;
const BUNDLE_EVENT: u32 = 2;
const BUNDLE_LOST_EVENTS: u32 = 3;

/// Number of supported CPUs. trace_processor rejects a file with a higher CPU number (ftrace_tokenizer.cc,
/// kMaxCpuCount).
const CPUS: u32 = 1024;
/// Size at which the events of one CPU are written out, bytes. The next constant is the limit for all CPUs together.
const BUNDLE: usize = 32 << 10;
const BUNDLES: usize = 4 << 20;
/// ID of the packet sequence that contains the bundles. Tracks use a different sequence.
const SEQUENCE: u64 = 2;
/// Interval between two traces in a file, ns.
const PAUSE: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Number of events written as ftrace events or slices.
    pub events: u64,
    /// Number of events that were omitted, because Perfetto has no message for them and they are not needed to find
    /// causes, or because their CPU number exceeds 1023.
    pub left_out: u64,
    pub verdicts: u64,
}

/// Writes a trace and its explanation. `source` is the trace, opened again; `explanation` is the result of `punctual
/// explain`. Fails if writing to `out` fails.
pub fn perfetto(source: &mut dyn Source, explanation: &Explanation, out: &mut dyn Write) -> io::Result<Written> {
    let mut writer = Writer::new(explanation, out);
    for event in source {
        writer.event(&event)?;
    }
    writer.finish()
}

/// Thread ID, CPU and time of the switch at which a pending verdict ends.
type Key = (i32, u32, u64);

struct Writer<'a> {
    out: &'a mut dyn Write,
    bundles: BTreeMap<u32, Bundle>,
    bytes: usize,
    tracks: Tracks,
    verdicts: HashMap<Key, Vec<&'a Victim>>,
    /// Offset added to the times of this trace, ns.
    shift: i128,
    end: u64,
    now: u64,
    begins: bool,
    written: Written,
}

#[derive(Default)]
struct Bundle {
    events: Message,
    lost: bool,
    current: Option<i32>,
}

impl<'a> Writer<'a> {
    fn new(explanation: &'a Explanation, out: &'a mut dyn Write) -> Writer<'a> {
        let mut verdicts: HashMap<Key, Vec<&Victim>> = HashMap::new();
        for victim in &explanation.victims {
            if let (Some(tid), Some(cpu), Some(moments)) = (victim.tid, victim.cpu, victim.moments) {
                verdicts.entry((tid, cpu, moments.t3_ns)).or_default().push(victim);
            }
        }
        Writer {
            out,
            bundles: BTreeMap::new(),
            bytes: 0,
            tracks: Tracks::default(),
            verdicts,
            shift: 0,
            end: 0,
            now: 0,
            begins: false,
            written: Written::default(),
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        if event.kind == Kind::Restart {
            self.begins = true;
            return Ok(());
        }
        if std::mem::take(&mut self.begins) || event.t_ns < self.now {
            self.restart(event.t_ns)?;
        }
        self.now = event.t_ns;
        let t = self.shifted(event.t_ns);
        self.end = self.end.max(t);
        match event.cpu < CPUS {
            true => self.of_cpu(event, t)?,
            false => self.written.left_out += 1,
        }
        if let Kind::SchedSwitch { next, .. } = &event.kind {
            self.verdict((next.tid, event.cpu, event.t_ns))?;
        }
        Ok(())
    }

    /// Starts another trace at `t`, placed after the previous one.
    fn restart(&mut self, t: u64) -> io::Result<()> {
        let open = self.tracks.close(self.end);
        self.packets(&open)?;
        self.flush()?;
        self.bundles.clear();
        if self.end > 0 {
            self.shift = i128::from(self.end) + i128::from(PAUSE) - i128::from(t);
        }
        Ok(())
    }

    fn of_cpu(&mut self, event: &Event, t: u64) -> io::Result<()> {
        let bundle = self.bundles.entry(event.cpu).or_default();
        let before = bundle.events.len();
        match &event.kind {
            Kind::LostEvents { .. } => {
                self.flush_cpu(event.cpu)?;
                self.bundles.entry(event.cpu).or_default().lost = true;
                return Ok(());
            }
            Kind::SchedSwitch { next, .. } => bundle.current = Some(next.tid),
            _ => bundle.current = event.tid.or(bundle.current),
        }
        let by = match &event.kind {
            Kind::SchedSwitch { prev, .. } => Some(prev.tid),
            _ => bundle.current,
        };
        if let Some(message) = ftrace::event(event, t, by) {
            bundle.events.message(BUNDLE_EVENT, &message);
            self.bytes += bundle.events.len() - before;
            self.written.events += 1;
        } else if let Some(packets) = self.tracks.event(event, t) {
            self.packets(&packets)?;
            self.written.events += 1;
        } else {
            self.written.left_out += 1;
        }
        if self.bytes >= BUNDLES {
            self.flush()?;
        } else if self.bundles.get(&event.cpu).is_some_and(|bundle| bundle.events.len() >= BUNDLE) {
            self.flush_cpu(event.cpu)?;
        }
        Ok(())
    }

    fn verdict(&mut self, key: Key) -> io::Result<()> {
        for victim in self.verdicts.remove(&key).unwrap_or_default() {
            let shift = self.shift;
            let packets = self.tracks.verdict(victim, |t| shifted(t, shift));
            self.packets(&packets)?;
            self.written.verdicts += 1;
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<Written> {
        let open = self.tracks.close(self.end);
        self.packets(&open)?;
        self.flush()?;
        self.out.flush()?;
        Ok(self.written)
    }

    fn shifted(&self, t: u64) -> u64 {
        shifted(t, self.shift)
    }

    fn flush(&mut self) -> io::Result<()> {
        let cpus: Vec<u32> = self.bundles.keys().copied().collect();
        cpus.into_iter().try_for_each(|cpu| self.flush_cpu(cpu))
    }

    fn flush_cpu(&mut self, cpu: u32) -> io::Result<()> {
        let Some(bundle) = self.bundles.get_mut(&cpu).filter(|bundle| !bundle.events.is_empty()) else { return Ok(()) };
        let mut message = Message::default();
        message.uint(BUNDLE_CPU, cpu.into());
        if std::mem::take(&mut bundle.lost) {
            message.uint(BUNDLE_LOST_EVENTS, 1);
        }
        let events = std::mem::take(&mut bundle.events);
        self.bytes = self.bytes.saturating_sub(events.len());
        message.append(&events);
        let mut packet = Message::default();
        packet.uint(PACKET_SEQUENCE, SEQUENCE);
        packet.message(PACKET_FTRACE_EVENTS, &message);
        self.packets(&[packet])
    }

    fn packets(&mut self, packets: &[Message]) -> io::Result<()> {
        for packet in packets {
            let mut trace = Message::default();
            trace.message(TRACE_PACKET, packet);
            self.out.write_all(trace.encoded())?;
        }
        Ok(())
    }
}

fn shifted(t: u64, shift: i128) -> u64 {
    // Times are signed in Perfetto.
    (i128::from(t) + shift).clamp(0, i128::from(i64::MAX)) as u64
}
