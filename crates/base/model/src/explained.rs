//! Explanations of late wakeups from a trace, as in `punctual explain --json` and `causes.jsonl`.

use crate::{Class, Confidence};
use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// Policy and priority of a thread as shown to users.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduled {
    /// `FIFO`, `RR`, `DEADLINE`, `OTHER`…; `RT` if the trace does not distinguish FIFO from RR; null if unknown.
    pub policy: Option<String>,
    /// Real-time priority 1–99, or the nice value of a thread with another policy; null if unknown or not applicable.
    pub prio: Option<i32>,
}

impl Scheduled {
    /// Returns a description of a thread: `multipathd (RR 99, pid 144)`. A missing or blank name becomes `a thread`.
    pub fn thread(&self, comm: Option<&str>, tid: Option<i32>) -> String {
        let name = comm.filter(|name| !name.trim().is_empty()).unwrap_or("a thread");
        let prio = match (self.policy.as_deref(), self.prio) {
            (Some("OTHER" | "BATCH"), Some(nice)) => format!("nice {nice}, "),
            (Some(policy), Some(prio)) if policy != "IDLE" => format!("{policy} {prio}, "),
            (Some(policy), _) => format!("{policy}, "),
            (None, _) => String::new(),
        };
        match tid {
            Some(tid) => format!("{name} ({prio}pid {tid})"),
            None => name.to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    pub class: Class,
    /// ID of the responsible thread, or of the thread whose code ran; null if the cause is not a thread.
    pub tid: Option<i32>,
    /// Name of the thread in `tid`; null if unknown.
    pub comm: Option<String>,
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// Name of a cause that is not a thread: `local_timer`, `irq 24 eth0`, `NET_RX`; null otherwise.
    pub what: Option<String>,
    /// Kernel function in which interrupts or preemption were disabled (`in foo_write ← vfs_write`,
    /// `last traced in …`), or origin of a thread's or interrupt's activity (`sent by rsync (pid 9), CPU 0`,
    /// `queued by …`); absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Delay due to this cause, ns.
    pub ns: u64,
    /// Share of the whole delay, 0–1.
    pub share: f64,
    pub confidence: Confidence,
    /// Evidence in the trace.
    pub evidence: String,
}

/// A wait in the chain of events that led to a late wakeup. The waiting thread is the late thread itself before it was
/// woken, its waker, the waker's waker, or a thread that spun on a lock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// ID of the thread that waited; null for an interrupt.
    pub tid: Option<i32>,
    /// Name of the thread; null if unknown.
    pub comm: Option<String>,
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// Time at which the wait began, on the trace's clock.
    pub from_ns: u64,
    pub ns: u64,
    pub confidence: Confidence,
    /// One sentence that describes the wait.
    pub sentence: String,
}

impl Link {
    /// Returns the sentence about the wait, preceded by `suspected: ` if the wait is only suspected.
    pub fn text(&self) -> String {
        let guess = if self.confidence == Confidence::Suspected { "suspected: " } else { "" };
        format!("{guess}{}", self.sentence)
    }
}

/// Times of a wakeup on the trace's clock, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moments {
    /// Time at which the wakeup was due: expiry of the timer, or the waking event if the trace has no timer.
    pub t0_ns: u64,
    /// Start of the timer interrupt; null if not in the trace.
    pub t1_ns: Option<u64>,
    /// Time of sched_waking.
    pub t2_ns: u64,
    /// Time of sched_switch to the thread.
    pub t3_ns: u64,
    /// Time at which the thread read its clock in user space; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t4_ns: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Victim {
    /// Thread ID; null only if the trace is a summary that does not report it.
    pub tid: Option<i32>,
    /// Name of the thread; null if unknown.
    pub comm: Option<String>,
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// CPU on which the thread started to run; null only if the trace is a summary that does not report it.
    pub cpu: Option<u32>,
    /// Time from `t0` to `t3`, ns; the sum of all causes.
    pub latency_ns: u64,
    /// Times of the wakeup; null if the trace is only a summary.
    pub moments: Option<Moments>,
    /// Causes, largest first. Their `ns` add up to `latency_ns`. Includes `unaccounted` if that is not 0.
    pub causes: Vec<Cause>,
    /// Waits of the thread and of the threads on which it depended, most recent first. Waits before `moments.t0_ns` are
    /// not part of `latency_ns`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<Link>,
    /// Part of the delay for which no cause was found, ns.
    pub unaccounted_ns: u64,
    /// Share of the delay for which a cause was found, 0–1.
    pub coverage: f64,
    /// The explanation as one sentence.
    pub verdict: String,
    /// Reasons for a lower confidence, and measures that would raise it.
    pub doubts: Vec<String>,
}

impl Victim {
    /// Returns the name of the CPU: `CPU 2`, or `an unknown CPU`.
    pub fn place(&self) -> String {
        self.cpu.map_or_else(|| "an unknown CPU".to_owned(), |cpu| format!("CPU {cpu}"))
    }
}

/// Late wakeups with the same main cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CulpritGroup {
    /// Class of the main cause.
    pub class: Class,
    /// ID of the thread that is the main cause; null if the main cause is not a thread.
    pub tid: Option<i32>,
    /// Name of the thread in `tid`; null if unknown.
    pub comm: Option<String>,
    /// Name of the main cause if it is not a thread, for example `local_timer`; null otherwise.
    pub what: Option<String>,
    pub wakeups: u64,
    pub worst_ns: u64,
    /// Typical interval between the wakeups, ns; null if they are not periodic.
    pub every_ns: Option<u64>,
    /// One sentence that describes the group.
    pub sentence: String,
}

/// An interval in which a thread was blocked during its cycle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blocked {
    /// Length of the interval, which ends when the thread is woken, ns.
    pub ns: u64,
    /// Task state in the kernel's notation: `S` sleeping, `D` uninterruptible (device, page fault).
    pub state: String,
    /// ID of the thread that woke the blocked thread (the owner of the lock, if it waited for one); null if an
    /// interrupt woke it.
    pub woken_by: Option<i32>,
    /// Name of the waking thread; null if unknown.
    pub comm: Option<String>,
    /// True if the waking thread has a lower base priority, which is a priority inversion if it held a lock. Null if
    /// unknown.
    pub inverted: Option<bool>,
    /// Lock for which the thread waited: `the rtmutex at 0x…, held by logger (nice 0, pid 9)`; null if it did not wait
    /// for a lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
}

/// One cycle of a thread, from its release to the end of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cycle {
    pub tid: i32,
    /// Name of the thread; null if unknown.
    pub comm: Option<String>,
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// CPU on which the thread started to run.
    pub cpu: u32,
    /// Time at which the thread's timer was due, or at which the thread was woken, ns on the trace's clock.
    pub release_ns: u64,
    /// Time from the release to the end of the cycle's work, ns; the sum of `behind_ns`, `ran_ns`, `delays` and
    /// `blocked`.
    pub length_ns: u64,
    /// Time after the release during which the previous cycle had not ended, ns; absent if 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub behind_ns: u64,
    pub ran_ns: u64,
    /// Delays during which the thread was runnable but did not run, by cause.
    pub delays: Vec<Cause>,
    /// Intervals in which the thread was not runnable.
    pub blocked: Vec<Blocked>,
    /// The explanation as one sentence.
    pub verdict: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// Explanations of the late wakeups in a trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The worst wakeups, worst first.
    pub victims: Vec<Victim>,
    /// Late wakeups by cause, largest total delay first.
    pub groups: Vec<CulpritGroup>,
    /// Moments at which an application was late and for which the trace was kept, each as a sentence with the cycle that
    /// explains it; empty for other traces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<String>,
    /// The longest cycles, longest first; empty if not requested.
    pub cycles: Vec<Cycle>,
    /// Number of wakeups of the selected threads for which the trace shows both when the thread was woken and when it
    /// started to run.
    pub wakeups: u64,
    /// How the wakeups were selected.
    pub chosen: String,
    /// Facts that the trace cannot show, with the reason.
    pub notes: Vec<String>,
    /// Result of a tracer that reports no wakeups: a section from irqsoff or preemptoff, a gap from hwlat, or noise
    /// from osnoise. Absent if wakeups are explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Results of latency tracers and rtla, if the trace contains their summaries.
    pub tracers: Vec<String>,
}

/// Output of `explain --json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainResult<'a> {
    #[serde(flatten)]
    pub explanation: &'a Explanation,
    /// Format of the trace.
    pub trace_format: &'a str,
    /// One timeline per victim; present only with `--timeline`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timelines: Option<&'a [Option<Timeline>]>,
}

/// One of a run's worst wakeups, explained from a trace; a line of `causes.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    pub phase: String,
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC time of the release; with `phase` and `cpu` it identifies the wakeup in `worst.jsonl`.
    pub release_mono_ns: u64,
    /// Latency measured by the thread itself. In the trace a wakeup ends at sched_switch, so [`Victim::latency_ns`] is
    /// slightly smaller.
    pub latency_ns: u64,
    /// Path of the trace file, relative to the run directory.
    pub trace: String,
    pub victim: Victim,
    /// Activity of the CPUs around the time of the wakeup; absent if the trace is only a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// Activity of the CPUs around one late wakeup, limited in size, for drawing. Times are on the trace's clock, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    pub start_ns: u64,
    pub end_ns: u64,
    /// Times of the wakeup, which the drawing marks.
    pub moments: Moments,
    /// The relevant CPUs: first the late thread's CPU, then the CPUs from which it migrated or for which it waited,
    /// then the busiest CPUs.
    pub lanes: Vec<Lane>,
    /// States of the late thread, ordered by time and without gaps.
    pub states: Vec<StateSpan>,
    /// Number of CPUs with events but without a lane.
    pub cpus_left_out: u32,
    /// Facts that the lanes cannot show, with the reason; usually empty.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lane {
    pub cpu: CpuId,
    /// Activities of the CPU in order of start time. Task, idle and unknown spans follow each other without gaps.
    /// Softirqs, interrupts and NMIs overlap them, and may overlap each other.
    pub spans: Vec<Span>,
    /// Number of spans merged with their neighbours because they are too short to draw.
    pub joined: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    pub start_ns: u64,
    pub end_ns: u64,
    pub kind: SpanKind,
    /// Name of the activity in the trace: comm of a task, `irq 24 eth0`, `local_timer`, `NET_RX`; empty if it has none.
    pub label: String,
    /// Thread ID of the task; null if the activity is not a task, or if the ID is unknown.
    pub tid: Option<i32>,
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// Class of the delay that the span causes; null if it causes none.
    pub cause: Option<Class>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// The trace does not show what ran.
    Unknown,
    Idle,
    Task,
    Softirq,
    Irq,
    Nmi,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateSpan {
    pub start_ns: u64,
    pub end_ns: u64,
    pub state: ThreadState,
}

/// States of a thread from its sleep until it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    /// The thread sleeps until its timer expires.
    Sleeping,
    /// The timer is due (T0), but the thread has not been woken.
    Due,
    /// The thread has been woken (T2), but does not run yet.
    Runnable,
    /// The thread runs (from T3 on).
    Running,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"phase":"2-cpu","cpu":1,"release_mono_ns":5,"latency_ns":130,"trace":"traces/1.dat","victim":{"tid":7,"comm":null,"policy":"FIFO","prio":80,"cpu":1,"latency_ns":120,"moments":{"t0_ns":1,"t1_ns":null,"t2_ns":2,"t3_ns":121},"causes":[{"class":"higher_priority","tid":9,"comm":"x","policy":null,"prio":null,"what":null,"ns":120,"share":1.0,"confidence":"high","evidence":"e"}],"unaccounted_ns":0,"coverage":1.0,"verdict":"v","doubts":[]},"timeline":{"start_ns":0,"end_ns":200,"moments":{"t0_ns":1,"t1_ns":null,"t2_ns":2,"t3_ns":121},"lanes":[{"cpu":1,"spans":[{"start_ns":0,"end_ns":200,"kind":"task","label":"x","tid":9,"policy":"RT","prio":99,"cause":"higher_priority"}],"joined":0}],"states":[{"start_ns":0,"end_ns":1,"state":"sleeping"}],"cpus_left_out":2,"notes":[]}}"#;

    /// Files written by earlier versions of `punctual explain --json`, and old `causes.jsonl`, must stay readable.
    #[test]
    fn a_line_reads_and_writes_the_same() {
        let read: Explained = serde_json::from_str(LINE).unwrap();
        assert_eq!(read.victim.scheduled, Scheduled { policy: Some("FIFO".into()), prio: Some(80) });
        assert_eq!(serde_json::to_string(&read).unwrap(), LINE);
    }

    #[test]
    fn a_thread_without_a_name_or_with_a_blank_one_is_a_thread() {
        let scheduled = |policy: &str, prio| Scheduled { policy: Some(policy.into()), prio };
        assert_eq!(scheduled("RR", Some(99)).thread(Some("multipathd"), Some(144)), "multipathd (RR 99, pid 144)");
        assert_eq!(scheduled("OTHER", Some(5)).thread(Some(" "), Some(7)), "a thread (nice 5, pid 7)");
        assert_eq!(scheduled("IDLE", Some(0)).thread(None, Some(7)), "a thread (IDLE, pid 7)");
        assert_eq!(Scheduled::default().thread(Some(""), None), "a thread");
    }
}
