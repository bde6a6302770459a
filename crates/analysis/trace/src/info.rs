//! What is known about a trace as a whole, and what is missing from it.

use crate::words::{Comm, Name};

/// What is known about a trace besides its events. It grows while the trace is read and is complete after the last event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceInfo {
    /// The format that was recognised.
    pub format: Format,
    /// The kernel's tracer (`nop`, `wakeup_rt`, …), from `# tracer:`.
    pub tracer: Option<String>,
    /// Name of the trace clock (`mono`, `local`, `x86-tsc`…), where the file names it. Text does not.
    pub clock: Option<String>,
    /// What times mean.
    pub time: TimeBase,
    /// Step of the timestamps, ns: 1000 for most text.
    pub resolution_ns: Option<u64>,
    /// CPUs, from the header (`#P:2`); events may name higher ones.
    pub cpus: Option<u32>,
    /// Kernel release, if the file tells.
    pub kernel: Option<String>,
    /// Machine architecture, if the file tells.
    pub machine: Option<String>,
    /// Entries in the file, as its header says.
    pub entries_in_buffer: Option<u64>,
    /// Entries ever written, as its header says: if more than `entries_in_buffer`, the oldest were overwritten.
    pub entries_written: Option<u64>,
    /// Events lost, from lost-event marks and statistics in the file; `None` if nothing was said about it.
    pub lost_events: Option<u64>,
    /// Task names are cut to 8 characters (latency format).
    pub comms_cut: bool,
    /// Headers of latency tracers (wakeup*, irqsoff, preemptoff…), in order.
    pub latency: Vec<LatencyHeader>,
    /// Auto-analysis sections of rtla, in order.
    pub rtla: Vec<RtlaAnalysis>,
    /// What is missing, damaged or doubtful, in order of discovery; at most [`MAX_NOTES`].
    pub notes: Vec<Note>,
    /// Notes that were not kept because of that limit.
    pub notes_dropped: u64,
    /// Lines or records that could not be read at all.
    pub skipped: u64,
}

/// Notes kept in [`TraceInfo::notes`].
pub const MAX_NOTES: usize = 64;

/// The formats this crate reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Nothing recognised yet.
    #[default]
    Unknown,
    /// The kernel's `trace` file.
    KernelText,
    /// The same in latency format.
    LatencyText,
    /// `trace-cmd report`.
    TraceCmdReport,
    /// `perf script`.
    PerfScript,
    /// Output of rtla with auto-analysis, and no events.
    RtlaText,
    /// trace.dat version 6.
    TraceDat6,
    /// trace.dat version 7.
    TraceDat7,
    /// perf.data.
    PerfData,
    /// Ring-buffer pages of a running kernel (`trace_pipe_raw`).
    Pages,
}

impl Format {
    /// Its name for people and programs.
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

/// What `t_ns` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeBase {
    /// Nanoseconds of the trace clock.
    #[default]
    Absolute,
    /// Nanoseconds since the trace's own start (latency format).
    Relative,
    /// Not nanoseconds: ticks of a counter clock, uncalibrated.
    Ticks,
}

/// Something that is missing or damaged, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// What.
    pub what: Damage,
    /// Where in the input.
    pub place: Place,
}

/// A place in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line, counted from 1.
    Line(u64),
    /// Byte offset.
    Byte(u64),
    /// Nowhere in particular.
    Whole,
}

/// What is missing or damaged.
#[derive(Clone, Debug, PartialEq)]
pub enum Damage {
    /// The file ends inside a structure.
    Truncated { inside: &'static str },
    /// A length, offset or value that cannot be.
    Corrupt { what: &'static str },
    /// A limit of this reader cut something short.
    LimitReached { what: &'static str },
    /// Known event, but these bytes or fields of it are missing.
    Incomplete { event: Name },
    /// The event format needed to decode an event is not in the file; counted by [`TraceInfo::skipped`] as well.
    MissingFormat { id: u16 },
    /// Events of a CPU were lost here.
    Lost { cpu: u32, count: Option<u64> },
    /// "[omitted for brevity]", "[...]", "snip" and the like: an unknown number of lines is missing.
    Omitted { text: String },
    /// Lines were quoted, wrapped, or escaped by a mail or web page and were put together again.
    Mended { how: &'static str },
    /// Time goes back here: events after this belong to another trace.
    TimeWentBack,
    /// Other sections in the file are not read by this crate.
    Unsupported { what: String },
}

/// Header of a latency tracer (kernel/trace/trace.c, `print_trace_header`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyHeader {
    /// Tracer, e.g. `wakeup_rt`.
    pub tracer: Option<String>,
    /// Longest latency, µs, as the tracer measured it.
    pub latency_us: Option<u64>,
    /// Entries in the trace, and ever written.
    pub entries: Option<(u64, u64)>,
    /// CPU it was on.
    pub cpu: Option<u32>,
    /// Preemption model, e.g. `preempt_rt`.
    pub preemption: Option<String>,
    /// The task: the victim of wakeup tracers, the culprit of irqsoff and preemptoff.
    pub task: Option<Comm>,
    /// Its thread id.
    pub tid: Option<i32>,
    /// Its nice value.
    pub nice: Option<i32>,
    /// Its policy number (1 FIFO, 2 RR, 6 DEADLINE; sched(7)).
    pub policy: Option<u32>,
    /// Its real-time priority, 0 if it is not real-time.
    pub rt_prio: Option<u32>,
    /// `=> started at:` of irqsoff and preemptoff.
    pub started_at: Option<String>,
    /// `=> ended at:`.
    pub ended_at: Option<String>,
}

/// Auto-analysis of `rtla timerlat -a`, one CPU that hit the threshold (tools/tracing/rtla/src/timerlat_aa.c). µs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RtlaAnalysis {
    /// CPU.
    pub cpu: u32,
    /// Delay of the IRQ handler.
    pub irq_handler_delay_us: Option<f64>,
    /// IRQ latency.
    pub irq_latency_us: Option<f64>,
    /// Duration of the timer interrupt.
    pub irq_duration_us: Option<f64>,
    /// Thread that kept the CPU.
    pub blocking_thread_us: Option<f64>,
    /// Threads named under "Blocking thread": name, tid, time.
    pub blocking: Vec<(Comm, i32, f64)>,
    /// Stack of the blocking thread, as printed (outermost of the interrupt first).
    pub stack: Vec<String>,
    /// "IRQ interference", "Softirq interference", "Thread interference", "Hardware latency or noise": class and time.
    pub interference: Vec<(String, f64)>,
    /// Single sources below them: name, number (vector, tid), time.
    pub sources: Vec<(String, i32, f64)>,
    /// "Thread latency" or "IRQ latency": the total.
    pub total_us: Option<f64>,
    /// "Max timerlat IRQ latency from idle": this CPU left idle.
    pub exit_from_idle: bool,
}

/// Why a trace cannot be read at all. Damage inside a readable trace is a [`Note`].
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Reading failed.
    #[error("reading the trace: {0}")]
    Io(#[from] std::io::Error),
    /// No line or magic number of any known format in the part that was looked at.
    #[error("no trace that this tool knows: neither trace.dat nor kernel, trace-cmd, perf or rtla text")]
    Unrecognised,
    /// The head of the file is damaged beyond use.
    #[error("damaged {format}: {what} at byte {at}")]
    Damaged {
        /// Format.
        format: &'static str,
        /// What is wrong.
        what: &'static str,
        /// Byte offset.
        at: u64,
    },
    /// A known format, but a variant that is not supported.
    #[error("{format}: {what} is not supported")]
    Unsupported {
        /// Format.
        format: &'static str,
        /// Which part.
        what: String,
    },
}

impl TraceInfo {
    /// Adds a note, or counts it if there are [`MAX_NOTES`] already.
    pub(crate) fn note(&mut self, what: Damage, place: Place) {
        if self.notes.len() < MAX_NOTES {
            self.notes.push(Note { what, place });
        } else {
            self.notes_dropped += 1;
        }
    }

    /// Notes and counts lost events.
    pub(crate) fn lose(&mut self, cpu: u32, count: Option<u64>, place: Place) {
        let before = self.lost_events.unwrap_or(0);
        self.lost_events = Some(before.saturating_add(count.unwrap_or(1)));
        self.note(Damage::Lost { cpu, count }, place);
    }
}
