//! Labels each nanosecond of a wakeup with its cause, and sums the labels.

use super::cpu::Running;
use super::cycle::{Culprit, Delay};
use punctual_model::{Class, Confidence};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Ran,
    Around,
    Boosted,
    Nested,
    ByFlags,
    RestOfInterrupt,
    WayOut,
    Entered,
    Tracer,
    TracerLines,
    WithoutCpu,
    AtEnd,
    IdleAtEnd,
    Pulled,
    Cut,
    Unseen,
    LeftOut,
    SilentInside,
    Late,
    LateOthersRan,
    Edf,
    Replenished,
    OffEvents,
    OffFlags,
    Released,
    UserCode,
    Preempted,
    NeedResched,
    NoFlags,
    NotPicked,
    TicksOnly,
    AllSilent,
    RuntimeShort,
    Idle,
    IdleState,
    IdleAwake,
    IdleWoken,
    StoodOff,
    LeftInterrupt,
    Preemptible,
    IdleRunnable,
    Moved,
    Ipi,
    Pending,
    Changed,
    Itself,
    Returning,
    Waking,
    InCall,
    OnItsWay,
    BeforeWaker,
    NoPrio,
    Learned,
    NotTraced,
}

/// An activity without a responsible thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum What {
    Interrupt(u16),
    Softirq(u32),
    Nmi,
}

/// A label: class, the thread or interrupt that it names, confidence, and evidence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub class: Class,
    pub task: Option<Running>,
    pub what: Option<What>,
    /// More precise identification: CPU and start of a section or an interrupt.
    pub at: Option<(u32, u64)>,
    pub confidence: Confidence,
    pub why: Why,
}

impl Label {
    pub fn new(class: Class, confidence: Confidence, why: Why) -> Label {
        Label { class, task: None, what: None, at: None, confidence, why }
    }

    pub fn of(self, task: Running) -> Label {
        Label { task: Some(task), ..self }
    }

    pub fn doing(self, what: What) -> Label {
        Label { what: Some(what), ..self }
    }

    /// Labels a task that ran because of its priority: the label includes, with lower confidence, the time in which the
    /// whole machine stalled, since the task would have run then too.
    pub fn with_stalls(self) -> Ruling {
        Ruling { label: self, keeps_stalls: true }
    }

    /// Labels a task without the time in which the whole machine stalled, which belongs to the stall.
    pub fn without_stalls(self) -> Ruling {
        Ruling { label: self, keeps_stalls: false }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Ruling {
    pub label: Label,
    pub keeps_stalls: bool,
}

/// The total time of labels that name the same cause.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub label: Label,
    pub ns: u64,
    /// Time of the labels by confidence, ns.
    sure: [u64; 3],
    /// Longest piece, whose evidence is reported.
    longest: u64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub parts: Vec<Part>,
}

impl Tally {
    pub fn add(&mut self, label: Label, ns: u64) {
        if ns == 0 {
            return;
        }
        let part = self.part(label);
        part.ns += ns;
        if let Some(sum) = part.sure.get_mut(label.confidence as usize) {
            *sum += ns;
        }
        if ns > part.longest {
            (part.longest, part.label) = (ns, label);
        }
    }

    pub fn absorb(&mut self, other: Tally) {
        for theirs in other.parts {
            let part = self.part(theirs.label);
            part.ns += theirs.ns;
            part.sure.iter_mut().zip(theirs.sure).for_each(|(sum, ns)| *sum += ns);
            if theirs.longest > part.longest {
                (part.longest, part.label) = (theirs.longest, theirs.label);
            }
        }
    }

    /// Returns the part that names the same cause as `label`, inserted if missing.
    fn part(&mut self, label: Label) -> &mut Part {
        let key = |l: &Label| (l.class, l.task.map(|t| t.tid), l.what);
        let at = self.parts.iter().position(|part| key(&part.label) == key(&label)).unwrap_or(self.parts.len());
        if at == self.parts.len() {
            self.parts.push(Part { label, ns: 0, sure: [0; 3], longest: 0 });
        }
        &mut self.parts[at]
    }
}

impl Part {
    /// Returns the part as a delay of a cycle.
    pub fn delay(&self) -> Delay {
        let Label { class, task, what, .. } = self.label;
        let unsure = self.sure[Confidence::Suspected as usize];
        Delay {
            by: Culprit { class, tid: task.map(|task| task.tid), what },
            comm: task.and_then(|task| task.comm),
            ns: self.ns,
            sure_ns: self.ns.saturating_sub(unsure),
        }
    }

    /// Returns the confidence that applies to at least half of the part's time.
    pub fn confidence(&self) -> Confidence {
        let [suspected, medium, _] = self.sure;
        match self.ns / 2 {
            half if suspected > half => Confidence::Suspected,
            half if suspected + medium > half => Confidence::Medium,
            _ => Confidence::High,
        }
    }
}
