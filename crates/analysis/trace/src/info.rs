//! Facts about a trace as a whole, and about what it lacks.

use crate::words::{Comm, Name};

/// Facts about a trace, filled in while it is read; complete after the last event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceInfo {
    pub format: Format,
    /// The kernel's tracer (`nop`, `wakeup_rt`, …), from `# tracer:`.
    pub tracer: Option<String>,
    /// Name of the trace clock (`mono`, `local`, `x86-tsc`, …). Text traces do not name it.
    pub clock: Option<String>,
    pub time: TimeBase,
    /// Resolution of the timestamps in ns: 1000 for most text.
    pub resolution_ns: Option<u64>,
    /// Number of CPUs from the header (`#P:2`); events may name higher ones.
    pub cpus: Option<u32>,
    pub kernel: Option<String>,
    pub machine: Option<String>,
    pub entries_in_buffer: Option<u64>,
    /// Number of entries ever written, according to the header; if more than `entries_in_buffer`, the oldest were
    /// overwritten.
    pub entries_written: Option<u64>,
    /// Number of lost events, from marks and statistics in the file; `None` if it has neither.
    pub lost_events: Option<u64>,
    /// True if task names are truncated to 8 characters (latency format).
    pub comms_cut: bool,
    /// Headers of latency tracers (wakeup*, irqsoff, preemptoff, …), in order.
    pub latency: Vec<LatencyHeader>,
    pub rtla: Vec<RtlaAnalysis>,
    /// Lines of the kernel's log about latencies, with their meaning; at most 8.
    pub log: Vec<String>,
    /// The longest call of function_graph.
    pub longest_call: Option<Call>,
    /// The first line of a text at which time decreases without a header of another trace, and by how much, ns.
    pub went_back: Option<(u64, u64)>,
    /// What is missing, damaged or doubtful, in the order found; at most [`MAX_NOTES`].
    pub notes: Vec<Note>,
    pub notes_dropped: u64,
    /// True if the lines of a text state no CPU: all events are then of CPU 0.
    pub without_cpu: bool,
    /// Number of lines of function_graph without absolute times, which are not read.
    pub untimed: u64,
    /// Number of lines or records that could not be read.
    pub skipped: u64,
    /// The largest maximum that a line beside the trace states, ns, and that line.
    pub claimed: Option<(u64, String)>,
    /// True if the text shows that osnoise ran without its workload (option NO_OSNOISE_WORKLOAD, Linux 6.1): its noises are
    /// run times, which delay no thread of osnoise.
    pub without_workload: bool,
    /// The line of the event returned last, from 1; `None` if the trace is not text. For an event with a stack, it is
    /// the line of the following event.
    pub line: Option<u64>,
}

pub const MAX_NOTES: usize = 64;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Unknown,
    KernelText,
    LatencyText,
    TraceCmdReport,
    PerfScript,
    /// Output of rtla with auto-analysis but without events.
    RtlaText,
    TraceDat6,
    TraceDat7,
    PerfData,
    /// Ring-buffer pages of a running kernel (`trace_pipe_raw`).
    Pages,
}

impl Format {
    pub fn name(self) -> &'static str {
        match self {
            Format::Unknown => "unknown",
            Format::KernelText => "ftrace text",
            Format::LatencyText => "ftrace text, latency format",
            Format::TraceCmdReport => "trace-cmd report",
            Format::PerfScript => "perf script",
            Format::RtlaText => "rtla",
            Format::TraceDat6 => "trace.dat 6",
            Format::TraceDat7 => "trace.dat 7",
            Format::PerfData => "perf.data",
            Format::Pages => "ring-buffer pages",
        }
    }
}

/// The unit of [`crate::Event::t_ns`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBase {
    #[default]
    Absolute,
    /// Nanoseconds since the start of the trace (latency format).
    Relative,
    /// Ticks of an uncalibrated counter, not nanoseconds.
    Ticks,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub what: Damage,
    pub place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line number, from 1.
    Line(u64),
    Byte(u64),
    Whole,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Damage {
    /// The file ends inside a structure.
    Truncated { inside: &'static str },
    /// An impossible length, offset or value.
    Corrupt { what: &'static str },
    /// A limit of this reader was reached.
    LimitReached { what: &'static str },
    /// A known event with missing bytes or fields.
    Incomplete { event: Name },
    /// The file lacks the format of an event; counted in [`TraceInfo::skipped`] as well.
    MissingFormat { id: u16 },
    /// Events of a CPU were lost.
    Lost { cpu: u32, count: Option<u64> },
    /// "[omitted for brevity]", "[...]", "snip" and the like: an unknown number of lines is missing.
    Omitted { text: String },
    /// Lines were quoted, wrapped or escaped by a mail client or a web page, and were restored.
    Repaired { how: &'static str },
    /// Time decreases: later events belong to another trace.
    TimeWentBack,
    /// Part of the file is not read or not applied, such as other buffers or a time offset.
    Unsupported { what: String },
}

/// Header of a latency tracer (kernel/trace/trace.c, `print_trace_header`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyHeader {
    pub tracer: Option<String>,
    /// Longest latency in µs, as the tracer measured it.
    pub latency_us: Option<u64>,
    /// Number of entries in the trace, and number of entries ever written.
    pub entries: Option<(u64, u64)>,
    pub cpu: Option<u32>,
    /// Preemption model, e.g. `preempt_rt`.
    pub preemption: Option<String>,
    /// The victim of wakeup tracers, the culprit of irqsoff and preemptoff.
    pub task: Option<Comm>,
    pub tid: Option<i32>,
    pub nice: Option<i32>,
    /// Policy number (1 FIFO, 2 RR, 6 DEADLINE; sched(7)).
    pub policy: Option<u32>,
    /// Real-time priority; 0 for other policies.
    pub rt_prio: Option<u32>,
    pub started_at: Option<String>,
    pub ended_at: Option<String>,
    /// `maximum-latency wakeup` or `critical section` in the kernel log of the -rt patches of 2.6.
    pub logged: Option<Logged>,
}

/// What a line of the kernel log reports (kernel/latency_trace.c of the -rt patches of 2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logged {
    Wakeup,
    CriticalSection,
}

impl LatencyHeader {
    /// True for the latency tracer of the -rt patches of 2.6, which has the same name for wakeups and for sections.
    pub fn is_old(&self) -> bool {
        self.tracer.as_deref() == Some("preemption")
    }

    /// True if the header's task was woken; false if it had interrupts or preemption off; `None` if unknown.
    pub fn is_wakeup(&self) -> Option<bool> {
        match (self.logged, &self.started_at) {
            _ if !self.is_old() => Some(self.tracer.as_deref().is_some_and(|tracer| tracer.starts_with("wakeup"))),
            (Some(logged), _) => Some(logged == Logged::Wakeup),
            (None, Some(from)) => Some(from.starts_with("try_to_wake_up") || from.contains("trace_start_sched_wakeup")),
            (None, None) => None,
        }
    }
}

/// A call of function_graph, and the longest calls in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub cpu: u32,
    /// Task, recorded with the option funcgraph-proc.
    pub comm: Option<Comm>,
    pub tid: Option<i32>,
    /// True if a reschedule was requested at the end of the call; recorded with the option latency-format.
    pub need_resched: Option<bool>,
    pub function: String,
    pub ns: u64,
    /// Duration excluding traced callees, ns.
    pub own_ns: u64,
    pub longest: Option<Box<Call>>,
}

/// Auto-analysis of `rtla timerlat -a` for one CPU that hit the threshold (tools/tracing/rtla/src/timerlat_aa.c).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RtlaAnalysis {
    /// The CPU; `None` if the line `## CPU 2 hit stop tracing` is missing.
    pub cpu: Option<u32>,
    pub irq_handler_delay_us: Option<f64>,
    pub irq_latency_us: Option<f64>,
    pub irq_duration_us: Option<f64>,
    /// Time for which another thread kept the CPU, µs.
    pub blocking_thread_us: Option<f64>,
    /// Threads listed under "Blocking thread": name, tid, µs.
    pub blocking: Vec<(Comm, i32, f64)>,
    /// Stack of the blocking thread, in the order printed (outermost frame of the interrupt first).
    pub stack: Vec<String>,
    /// "IRQ interference", "Softirq interference", "Thread interference", "Hardware latency or noise": class, µs.
    pub interference: Vec<(String, f64)>,
    /// The individual sources listed below these classes: name, number (vector, tid), µs.
    pub sources: Vec<(String, i32, f64)>,
    /// Value of "Thread latency" or "IRQ latency", µs.
    pub total_us: Option<f64>,
    /// True for "Max timerlat IRQ latency from idle": the CPU was leaving idle.
    pub exit_from_idle: bool,
}

/// Words with which a summary names the threads that ran during a wait.
pub(crate) const RAN_THEN: &str = "most of that time the CPU ran";

/// A trace that cannot be read at all. Damage inside a readable trace is a [`Note`].
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("reading the trace: {0}")]
    Io(#[from] std::io::Error),
    /// No line or magic number of a known format in the part that was searched.
    #[error("not a known trace format: neither trace.dat nor kernel, trace-cmd, perf or rtla text")]
    Unrecognised,
    /// A summary in the form of a table, which contains no causes, except for the threads that ran during a wait.
    #[error("{what}: a summary without events{}; {next}", if what.contains(RAN_THEN) { "" } else { ", which contains no causes" })]
    Summary { what: String, next: &'static str },
    /// A table or list of latencies that no reader knows.
    #[error("not a known format: {figures}; what it measures is what its heading says")]
    Figures { figures: String },
    /// Lines of the kernel's log, without a trace.
    #[error("not a trace but the kernel's log: {said}; {next}")]
    Log { said: String, next: &'static str },
    /// Lines of scheduler events that have a CPU and no time.
    #[error(
        "events without times: they contain the order of wakeups and switches, but no durations ({order}); record the time of each event \
             (`perf script -F comm,tid,cpu,time,event,trace`, or the kernel's own trace file)"
    )]
    Untimed { order: String },
    /// Lines of events without the columns before the event's name.
    #[error(
        "events without their thread, CPU, time or name (\"{line}\"): such lines do not show which thread ran where and when; supply the lines as the kernel or \
             `trace-cmd report` prints them: comm-TID [CPU] flags time: event: fields"
    )]
    Unplaced { line: String },
    /// The head of the file is damaged beyond use.
    #[error("damaged {format}: {what} at byte {at}")]
    Damaged { format: &'static str, what: &'static str, at: u64 },
    #[error("{format}: {what} is not supported")]
    Unsupported { format: &'static str, what: String },
}

impl TraceInfo {
    pub(crate) fn note(&mut self, what: Damage, place: Place) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { what, place });
        } else {
            self.notes_dropped += 1;
        }
    }

    pub(crate) fn lose(&mut self, cpu: u32, count: Option<u64>, place: Place) {
        let before = self.lost_events.unwrap_or(0);
        self.lost_events = Some(before.saturating_add(count.unwrap_or(1)));
        self.note(Damage::Lost { cpu, count }, place);
    }
}
