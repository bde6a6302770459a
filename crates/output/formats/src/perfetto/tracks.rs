//! Slices on separate tracks: `TrackDescriptor` and `TrackEvent`
//! (protos/perfetto/trace/track_event/track_descriptor.proto, track_event.proto, debug_annotation.proto).

use super::{PACKET_SEQUENCE, PACKET_SEQUENCE_FLAGS, PACKET_TIMESTAMP};
use crate::proto::Message;
use punctual_model::{Cause, Victim};
use punctual_trace::{Event, Kind, Vector};
use punctual_units::Nanos;
use std::collections::BTreeMap;

const PACKET_TRACK_EVENT: u32 = 11;
const PACKET_TRACK_DESCRIPTOR: u32 = 60;
const DESCRIPTOR_UUID: u32 = 1;
const DESCRIPTOR_NAME: u32 = 2;
const DESCRIPTOR_PARENT: u32 = 5;
const EVENT_ANNOTATION: u32 = 4;
const EVENT_TYPE: u32 = 9;
const EVENT_TRACK: u32 = 11;
const EVENT_CATEGORY: u32 = 22;
const EVENT_NAME: u32 = 23;
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const ANNOTATION_UINT: u32 = 3;
const ANNOTATION_TEXT: u32 = 6;
const ANNOTATION_NAME: u32 = 10;

/// All track packets form one sequence. Its first packet must clear the incremental state
/// (SEQ_INCREMENTAL_STATE_CLEARED), otherwise trace_processor drops all of them.
const SEQUENCE: u64 = 1;
const STATE_CLEARED: u64 = 1;

/// ID of the track that is the parent of all verdicts.
const VERDICTS: u64 = 1;
const OF_THREAD: u64 = 1 << 40;
const OF_CPU: u64 = 1 << 41;

#[derive(Debug, Default)]
pub struct Tracks {
    begun: bool,
    known: Vec<u64>,
    open: BTreeMap<u32, u32>,
    ends: BTreeMap<u64, u64>,
}

/// Maximum nesting depth of vectors. Deeper nesting means that the trace is faulty.
const NESTED: u32 = 16;

impl Tracks {
    /// Returns the packets for an event that starts or ends a slice, or is a complete slice; `None` for any other
    /// event.
    pub fn event(&mut self, event: &Event, t: u64) -> Option<Vec<Message>> {
        let cpu = event.cpu;
        match &event.kind {
            Kind::VectorEntry { vector, .. } => {
                let open = self.open.entry(cpu).or_default();
                if *open >= NESTED {
                    return None;
                }
                *open += 1;
                let mut packets = self.cpu(cpu);
                packets.push(begin(t, cpu_track(cpu), "interrupt", name(vector), &[]));
                Some(packets)
            }
            Kind::VectorExit { .. } => {
                let open = self.open.get_mut(&cpu).filter(|open| **open > 0)?;
                *open -= 1;
                Some(vec![end(t, cpu_track(cpu))])
            }
            Kind::NmiHandler { delta_ns, .. } => {
                let from = t.saturating_sub(u64::try_from(*delta_ns).unwrap_or(0));
                let mut packets = self.cpu(cpu);
                packets.push(begin(from, cpu_track(cpu), "interrupt", "NMI", &[]));
                packets.push(end(t, cpu_track(cpu)));
                Some(packets)
            }
            _ => None,
        }
    }

    pub fn close(&mut self, t: u64) -> Vec<Message> {
        let open = std::mem::take(&mut self.open);
        open.into_iter().flat_map(|(cpu, n)| (0..n).map(move |_| end(t, cpu_track(cpu)))).collect()
    }

    /// Returns a slice from T0 (due) to T3 (on the CPU), or to T4 (return to user space) if known, with nested slices
    /// for its parts. `time` converts times of the trace to times of the file.
    pub fn verdict(&mut self, victim: &Victim, time: impl Fn(u64) -> u64) -> Vec<Message> {
        let (Some(tid), Some(moments)) = (victim.tid, victim.moments) else { return Vec::new() };
        let mut packets = self.describe(VERDICTS, "Late wakeups (punctual)", None);
        let track = OF_THREAD + u64::from(tid.unsigned_abs());
        let thread = format!("{} ({tid})", victim.comm.as_deref().unwrap_or("thread"));
        packets.extend(self.describe(track, &thread, Some(VERDICTS)));
        // Slices of a track must not overlap. If the thread was due again while it was late, the slice starts at the
        // end of the previous one.
        let free = self.ends.get(&track).copied().unwrap_or(0);
        let (t0, t2, t3) =
            (time(moments.t0_ns).max(free), time(moments.t2_ns).max(free), time(moments.t3_ns).max(free));
        let t4 = moments.t4_ns.map_or(t3, &time).max(t3);
        self.ends.insert(track, t4);
        packets.push(begin(t0, track, "verdict", &victim.verdict, &annotations(victim)));
        let stays = [
            (t0, t2, "due, not woken"),
            (t2, t3, "runnable, waiting for the CPU"),
            (t3, t4, "on the CPU, returning to user space"),
        ];
        for (from, to, name) in stays.into_iter().filter(|(from, to, _)| from < to) {
            packets.push(begin(from, track, "verdict", name, &[]));
            packets.push(end(to, track));
        }
        packets.push(end(t4, track));
        packets
    }

    fn cpu(&mut self, cpu: u32) -> Vec<Message> {
        self.describe(cpu_track(cpu), &format!("CPU {cpu}: system vectors, NMIs"), None)
    }

    fn describe(&mut self, uuid: u64, name: &str, parent: Option<u64>) -> Vec<Message> {
        let Err(at) = self.known.binary_search(&uuid) else { return Vec::new() };
        self.known.insert(at, uuid);
        let mut descriptor = Message::default();
        descriptor.uint(DESCRIPTOR_UUID, uuid);
        descriptor.text(DESCRIPTOR_NAME, name);
        if let Some(parent) = parent {
            descriptor.uint(DESCRIPTOR_PARENT, parent);
        }
        let mut packet = Message::default();
        packet.uint(PACKET_SEQUENCE, SEQUENCE);
        if !std::mem::replace(&mut self.begun, true) {
            packet.uint(PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
        }
        packet.message(PACKET_TRACK_DESCRIPTOR, &descriptor);
        vec![packet]
    }
}

fn cpu_track(cpu: u32) -> u64 {
    OF_CPU + u64::from(cpu)
}

fn begin(t: u64, track: u64, category: &str, name: &str, annotations: &[Message]) -> Message {
    let mut event = Message::default();
    event.uint(EVENT_TYPE, SLICE_BEGIN);
    event.uint(EVENT_TRACK, track);
    event.text(EVENT_CATEGORY, category);
    event.text(EVENT_NAME, name);
    annotations.iter().for_each(|annotation| event.message(EVENT_ANNOTATION, annotation));
    packet(t, &event)
}

fn end(t: u64, track: u64) -> Message {
    let mut event = Message::default();
    event.uint(EVENT_TYPE, SLICE_END);
    event.uint(EVENT_TRACK, track);
    packet(t, &event)
}

fn packet(t: u64, event: &Message) -> Message {
    let mut packet = Message::default();
    packet.uint(PACKET_TIMESTAMP, t);
    packet.uint(PACKET_SEQUENCE, SEQUENCE);
    packet.message(PACKET_TRACK_EVENT, event);
    packet
}

/// Returns causes and other facts as annotations of the slice.
fn annotations(victim: &Victim) -> Vec<Message> {
    let annotation = |name: &str| {
        let mut message = Message::default();
        message.text(ANNOTATION_NAME, name);
        message
    };
    let text = |name: &str, value: &str| {
        let mut message = annotation(name);
        message.text(ANNOTATION_TEXT, value);
        message
    };
    let mut latency = annotation("latency_ns");
    latency.uint(ANNOTATION_UINT, victim.latency_ns);
    let causes = victim.causes.iter().enumerate().map(|(n, c)| text(&format!("cause {}", n + 1), &shown(c)));
    let doubts = victim.doubts.iter().enumerate().map(|(n, d)| text(&format!("doubt {}", n + 1), d));
    std::iter::once(latency).chain(causes).chain(doubts).collect()
}

/// Formats a cause: `multipathd (195), higher_priority: 33.2 ms, 97 %, high: it was current, with this priority`.
fn shown(cause: &Cause) -> String {
    let who = match (&cause.comm, cause.tid, &cause.what) {
        (Some(comm), Some(tid), _) => format!("{comm} ({tid}), "),
        (None, Some(tid), _) => format!("{tid}, "),
        (_, None, Some(what)) => format!("{what}, "),
        _ => String::new(),
    };
    let (ns, share) = (Nanos(cause.ns), cause.share * 100.0);
    let (class, sure) = (cause.class.name(), cause.confidence.name());
    format!("{who}{class}: {ns}, {share:.1} %, {sure}: {}", cause.evidence)
}

fn name(vector: &Vector) -> &str {
    match vector {
        Vector::LocalTimer => "local_timer",
        Vector::Reschedule => "reschedule",
        Vector::CallFunction => "call_function",
        Vector::CallFunctionSingle => "call_function_single",
        Vector::IrqWork => "irq_work",
        Vector::Other(name) => name,
    }
}
