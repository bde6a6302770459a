//! What a trace says of late wakeups, in the form of `punctual explain --json` and of `causes.jsonl`.

use crate::{Class, Confidence};
use punctual_units::CpuId;
use serde::{Deserialize, Serialize};

/// A thread's policy and priority as people write them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduled {
    /// `FIFO`, `RR`, `DEADLINE`, `OTHER`…; `RT` if the trace does not tell FIFO from RR; `None` if unknown.
    pub policy: Option<String>,
    /// Real-time priority 1–99, or the nice value of ordinary threads; `None` if unknown or without one.
    pub prio: Option<i32>,
}

/// One cause of one late wakeup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Its class.
    pub class: Class,
    /// The thread to blame, or whose code it was; `None` if no thread is.
    pub tid: Option<i32>,
    /// That thread's name, if known.
    pub comm: Option<String>,
    /// Its policy and priority.
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// What it was if no thread: `local_timer`, `irq 24 eth0`, `NET_RX`.
    pub what: Option<String>,
    /// Nanoseconds of the delay.
    pub ns: u64,
    /// Its part of the delay, 0–1.
    pub share: f64,
    /// How sure.
    pub confidence: Confidence,
    /// What the trace shows for it.
    pub evidence: String,
}

/// The moments of a wakeup, ns of the trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moments {
    /// When it was due: expiry of the timer, or the waking where no timer was seen.
    pub t0_ns: u64,
    /// When the timer's interrupt began.
    pub t1_ns: Option<u64>,
    /// sched_waking.
    pub t2_ns: u64,
    /// sched_switch to the thread.
    pub t3_ns: u64,
    /// When the thread read its clock, back in user space; `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub t4_ns: Option<u64>,
}

/// One late wakeup.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Victim {
    /// Thread id; `None` only where a summary does not tell it.
    pub tid: Option<i32>,
    /// Name, if known.
    pub comm: Option<String>,
    /// Policy and priority.
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// CPU it began to run on.
    pub cpu: u32,
    /// From due to running, ns; the sum of all causes.
    pub latency_ns: u64,
    /// Its moments; `None` where only a summary tells of it.
    pub moments: Option<Moments>,
    /// All causes, the largest first; their `ns` add up to `latency_ns`. `unaccounted` is among them if not 0.
    pub causes: Vec<Cause>,
    /// Nanoseconds without a cause.
    pub unaccounted_ns: u64,
    /// The part of the delay that has a cause, 0–1.
    pub coverage: f64,
    /// The one sentence.
    pub verdict: String,
    /// What lowers the confidence, and what would raise it.
    pub doubts: Vec<String>,
}

/// Late wakeups with the same main cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CulpritGroup {
    /// Class of the main cause.
    pub class: Class,
    /// Thread of the main cause.
    pub tid: Option<i32>,
    /// Its name.
    pub comm: Option<String>,
    /// What it was if no thread.
    pub what: Option<String>,
    /// Late wakeups.
    pub wakeups: u64,
    /// The latest, ns.
    pub worst_ns: u64,
    /// Usual distance from one to the next, ns, if there is a usual one.
    pub every_ns: Option<u64>,
    /// The same as a sentence.
    pub sentence: String,
}

/// A time in which a thread was blocked in the middle of its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Blocked {
    /// Nanoseconds until it was woken.
    pub ns: u64,
    /// The kernel's letter for its state: `S` sleeping, `D` uninterruptible (device, page fault).
    pub state: String,
    /// Who woke it, for a lock its owner; `None` if an interrupt did.
    pub woken_by: Option<i32>,
    /// The waker's name.
    pub comm: Option<String>,
    /// The waker's own priority is worse: if it held a lock, this is an inversion. `None` if unknown.
    pub inverted: Option<bool>,
}

/// One cycle of a thread, from its timer to the end of its work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cycle {
    /// Thread id.
    pub tid: i32,
    /// Name, if known.
    pub comm: Option<String>,
    /// Policy and priority.
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// CPU it began to run on.
    pub cpu: u32,
    /// When its timer was due, ns of the trace's clock.
    pub release_ns: u64,
    /// From there to the end of its work: `ran_ns`, `delays` and `blocked` add up to it.
    pub length_ns: u64,
    /// Nanoseconds it ran itself.
    pub ran_ns: u64,
    /// What kept it from running while it could have run.
    pub delays: Vec<Cause>,
    /// When it could not run.
    pub blocked: Vec<Blocked>,
    /// The one sentence.
    pub verdict: String,
}

/// What a trace says about late wakeups.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The latest wakeups, the latest first.
    pub victims: Vec<Victim>,
    /// Late wakeups by culprit, the most delay first.
    pub groups: Vec<CulpritGroup>,
    /// The longest cycles, the longest first; empty unless asked for.
    pub cycles: Vec<Cycle>,
    /// Wakeups of the chosen threads that were followed from waking to running.
    pub wakeups: u64,
    /// How the victims were chosen.
    pub chosen: String,
    /// What the trace cannot say, and why.
    pub notes: Vec<String>,
    /// What latency tracers and rtla found, where the trace holds their summaries.
    pub tracers: Vec<String>,
}

/// One of a run's worst wakeups, explained from a trace; a line of `causes.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// Phase id.
    pub phase: String,
    /// Where it was measured.
    pub cpu: CpuId,
    /// CLOCK_MONOTONIC at which the thread should have woken: with `phase` and `cpu`, this finds it in `worst.jsonl`.
    pub release_mono_ns: u64,
    /// How much later it did, as measured by the thread itself. The trace ends a wakeup at sched_switch, so
    /// [`Victim::latency_ns`] is a little less.
    pub latency_ns: u64,
    /// The trace it was explained from: a file, relative to the run directory.
    pub trace: String,
    /// The same wakeup as the trace shows it.
    pub victim: Victim,
    /// What the CPUs did meanwhile; `None` where the trace is no more than a summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// What the CPUs did around one late wakeup: enough for a picture, and bounded. Times are of the trace's clock, ns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// Its first moment.
    pub start_ns: u64,
    /// Its last.
    pub end_ns: u64,
    /// The wakeup's own moments, within.
    pub moments: Moments,
    /// The CPUs that matter: the victim's first, then those it came from or waited for, then the busiest.
    pub lanes: Vec<Lane>,
    /// What became of the late thread, in order and without holes.
    pub states: Vec<StateSpan>,
    /// CPUs with events that have no lane.
    pub cpus_left_out: u32,
    /// What the picture cannot show, and why; empty as a rule.
    pub notes: Vec<String>,
}

/// One CPU of a [`Timeline`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lane {
    /// Which.
    pub cpu: CpuId,
    /// What ran there, by start. Tasks, idle and unknown time follow each other without holes; softirqs, interrupts and
    /// NMIs lie on top of them, and may lie on top of each other.
    pub spans: Vec<Span>,
    /// Spans too short for the picture that were joined with their neighbours.
    pub joined: u64,
}

/// What a CPU did from one moment to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span {
    /// From.
    pub start_ns: u64,
    /// To.
    pub end_ns: u64,
    /// What it was.
    pub kind: SpanKind,
    /// Its name as the trace gives it: a task's comm, `irq 24 eth0`, `local_timer`, `NET_RX`; empty if it has none.
    pub label: String,
    /// The task; `None` if it is none, or unknown.
    pub tid: Option<i32>,
    /// Its policy and priority, where known.
    #[serde(flatten)]
    pub scheduled: Scheduled,
    /// What it contributes to the delay; `None` where it delayed nothing.
    pub cause: Option<Class>,
}

/// What a CPU can be busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// The trace does not tell.
    Unknown,
    /// The idle task.
    Idle,
    /// A thread.
    Task,
    /// A softirq.
    Softirq,
    /// A hard interrupt.
    Irq,
    /// A non-maskable interrupt.
    Nmi,
}

/// A stretch of the late thread's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StateSpan {
    /// From.
    pub start_ns: u64,
    /// To.
    pub end_ns: u64,
    /// In which state.
    pub state: ThreadState,
}

/// States of a thread on its way to the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThreadState {
    /// Waiting for its time, as it should.
    Sleeping,
    /// Its time has come (T0), but nobody has woken it yet.
    Due,
    /// Woken (T2), but it does not have the CPU.
    Runnable,
    /// It runs (T3).
    Running,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"phase":"2-cpu","cpu":1,"release_mono_ns":5,"latency_ns":130,"trace":"traces/1.dat","victim":{"tid":7,"comm":null,"policy":"FIFO","prio":80,"cpu":1,"latency_ns":120,"moments":{"t0_ns":1,"t1_ns":null,"t2_ns":2,"t3_ns":121},"causes":[{"class":"higher_priority","tid":9,"comm":"x","policy":null,"prio":null,"what":null,"ns":120,"share":1.0,"confidence":"high","evidence":"e"}],"unaccounted_ns":0,"coverage":1.0,"verdict":"v","doubts":[]},"timeline":{"start_ns":0,"end_ns":200,"moments":{"t0_ns":1,"t1_ns":null,"t2_ns":2,"t3_ns":121},"lanes":[{"cpu":1,"spans":[{"start_ns":0,"end_ns":200,"kind":"task","label":"x","tid":9,"policy":"RT","prio":99,"cause":"higher_priority"}],"joined":0}],"states":[{"start_ns":0,"end_ns":1,"state":"sleeping"}],"cpus_left_out":2,"notes":[]}}"#;

    /// The contract of `punctual explain --json` and `causes.jsonl`.
    #[test]
    fn a_line_reads_and_writes_the_same() {
        let read: Explained = serde_json::from_str(LINE).unwrap();
        assert_eq!(read.victim.scheduled, Scheduled { policy: Some("FIFO".into()), prio: Some(80) });
        assert_eq!(serde_json::to_string(&read).unwrap(), LINE);
    }
}
