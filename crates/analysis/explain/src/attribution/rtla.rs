//! Converts rtla's auto-analysis to a victim: its values, with the classes of this crate.
//!
//! timerlat's thread is the victim (tools/tracing/rtla/src/timerlat_aa.c). rtla reports no priorities; the frames below
//! the interrupt in the blocking thread's stack decide whether it could have been preempted.

use super::{Facts, choose, section, victim};
use punctual_model::{Cause, Class, Confidence, Scheduled, Victim};
use punctual_trace::{Comm, RtlaAnalysis, is_interrupt_entry};
use punctual_units::{Arrange, Policy};

/// timerlat's interrupt, which wakes its thread.
pub(super) const OWN: &str = "timerlat's own timer";

/// Evidence text for a blocking thread whose line is missing.
pub(super) const UNNAMED: &str = "rtla: Blocking thread; the line that names it is missing";

/// Converts an analysis; `None` if it has no total.
pub(super) fn victim(analysis: &RtlaAnalysis, facts: &Facts) -> Option<Victim> {
    let parts = [analysis.irq_latency_us, analysis.irq_duration_us, analysis.blocking_thread_us];
    let cut = analysis.total_us.is_none() && analysis.blocking_thread_us.is_some();
    let whole = if cut { parts.into_iter().flatten().reduce(|sum, us| sum + us) } else { analysis.total_us };
    // If the interrupt's threshold stopped the trace, the analysis has no thread latency.
    let latency_ns = ns(whole.or(analysis.irq_latency_us)?);
    let doubt = match cut {
        true => "from rtla's summary, which ends before its thread latency: the total is the sum of the parts present",
        false => "from rtla's summary: the victim's tid and all priorities are unknown",
    };
    Some(assemble(analysis.cpu, latency_ns, raw_causes(analysis, facts), doubt))
}

/// Builds a victim of timerlat from separately measured causes, the most reliable first.
pub(super) fn assemble(cpu: Option<u32>, latency_ns: u64, measured: Vec<Cause>, doubt: &str) -> Victim {
    let mut left = latency_ns;
    let mut causes = Vec::new();
    for mut cause in measured {
        // The tracer's figures may overlap. They are limited so that their sum does not exceed the total.
        cause.ns = cause.ns.min(left);
        left -= cause.ns;
        causes.push(cause);
    }
    causes.push(cause(Class::Unaccounted, left, Confidence::Medium, "not measured by the tracer"));
    causes.retain(|cause| cause.ns > 0);
    causes.arrange_by_key(|cause| std::cmp::Reverse(cause.ns));
    causes.iter_mut().for_each(|cause| cause.share = victim::share(cause.ns, latency_ns));
    let unaccounted_ns = victim::unaccounted(&causes);
    Victim {
        tid: None,
        comm: Some(cpu.map_or_else(|| "timerlat".to_owned(), |cpu| format!("timerlat/{cpu}"))),
        scheduled: Scheduled::default(),
        cpu,
        latency_ns,
        moments: None,
        causes,
        chain: Vec::new(),
        unaccounted_ns,
        coverage: 1.0 - victim::share(unaccounted_ns, latency_ns),
        verdict: String::new(),
        doubts: vec![doubt.to_owned()],
    }
}

fn raw_causes(analysis: &RtlaAnalysis, facts: &Facts) -> Vec<Cause> {
    use Confidence::{High, Medium, Suspected};
    if let (None, Some(late), Some((comm, tid, _))) =
        (analysis.total_us.or(analysis.blocking_thread_us), analysis.irq_latency_us, analysis.blocking.first())
    {
        // The trace stopped in the interrupt: the interrupted code had delayed it, or the CPU stalled.
        let late = Upon {
            ns: ns(late),
            who: Some((Some(*comm), *tid)),
            idle: analysis.exit_from_idle || *tid == 0,
            stack: analysis.stack.iter().map(String::as_str).collect(),
        };
        return vec![late.cause(facts, "rtla: IRQ latency, and the thread that the timer interrupt interrupted")];
    }
    let mut causes: Vec<Cause> =
        analysis.blocking.iter().map(|(c, tid, us)| blocking(analysis, facts, *c, *tid, *us)).collect();
    if let (Some(us), []) = (analysis.blocking_thread_us, analysis.blocking.as_slice()) {
        causes.push(cause(Class::Unaccounted, ns(us), Medium, UNNAMED));
    }
    if let Some(us) = analysis.irq_handler_delay_us {
        let late = Upon {
            ns: ns(us),
            who: analysis.blocking.first().map(|(comm, tid, _)| (Some(*comm), *tid)),
            idle: analysis.exit_from_idle,
            stack: analysis.stack.iter().map(String::as_str).collect(),
        };
        causes.push(late.cause(facts, "rtla: IRQ handler delay"));
    }
    if let Some(us) = analysis.irq_duration_us {
        let what = Some(OWN.to_owned());
        causes.push(Cause { what, ..cause(Class::Irq, ns(us), High, "rtla: Timerlat IRQ duration") });
    }
    for (name, us) in &analysis.interference {
        let (class, sure) = match name.split(' ').next() {
            Some("IRQ" | "NMI") => (Class::Irq, High),
            Some("Softirq") => (Class::Softirq, High),
            Some("Thread") => (Class::HigherPriority, Medium),
            Some("Hardware") => (Class::MachineStall, Suspected),
            _ => (Class::Unaccounted, High),
        };
        causes.push(Cause { what: Some(name.clone()), ..cause(class, ns(*us), sure, "rtla: interference") });
    }
    causes
}

/// Returns the cause for a thread that kept the CPU from timerlat's thread.
fn blocking(analysis: &RtlaAnalysis, facts: &Facts, comm: Comm, tid: i32, us: f64) -> Cause {
    if tid == 0 {
        return cause(Class::IdleExit, ns(us), Confidence::Suspected, "rtla: Blocking thread; it is the idle task");
    }
    let blocked = Blocked::by(facts, tid, analysis.stack.iter().map(String::as_str));
    let evidence = match blocked {
        Blocked { policy: true, .. } => "rtla: Blocking thread; it is a real-time thread",
        Blocked { user: true, .. } => {
            "rtla: Blocking thread; it was interrupted in user space, so it could be preempted, but its priority was high enough that it was not"
        }
        Blocked { place: Some(_), .. } => "rtla: Blocking thread; it was interrupted inside the kernel",
        _ => "rtla: Blocking thread; its priority is unknown",
    };
    let scheduled = scheduled(facts, tid);
    let cause = Cause {
        tid: Some(tid),
        comm: Some(comm.to_string()),
        scheduled,
        ..cause(Class::HigherPriority, ns(us), Confidence::Suspected, evidence)
    };
    blocked.applied(cause)
}

/// The activity that timerlat's late interrupt interrupted.
pub(super) struct Upon<'s> {
    pub ns: u64,
    pub who: Option<(Option<Comm>, i32)>,
    /// True if the CPU was leaving idle.
    pub idle: bool,
    pub stack: Vec<&'s str>,
}

impl Upon<'_> {
    pub fn cause(self, facts: &Facts, evidence: &str) -> Cause {
        let class = if self.idle { Class::IdleExit } else { Class::IrqsDisabled };
        let late = cause(class, self.ns, Confidence::Suspected, evidence);
        let Some((comm, tid)) = self.who.filter(|_| !self.idle) else { return late };
        let comm = comm.map(|comm| comm.to_string());
        let scheduled = scheduled(facts, tid);
        let user = self.stack.last().is_some_and(|last| is_interrupt_entry(last));
        let upon = section::interrupted(self.stack.iter().copied());
        let who = scheduled.thread(comm.as_deref(), Some(tid));
        let place = match upon {
            // The interrupt arrived right after the instruction that enables interrupts.
            Some(upon) if section::releases(&upon) => {
                let evidence = format!("{evidence}, right after an instruction there that enables interrupts");
                return Cause { tid: Some(tid), comm, scheduled, place: Some(format!("in {upon}")), evidence, ..late };
            }
            Some(upon) => format!("while {who} was in {upon}"),
            None if user => format!("while {who} was in user space"),
            None => format!("while {who} was current"),
        };
        Cause { place: Some(place), ..late }
    }
}

/// The information in timerlat's stack about the interrupted thread: its place, and therefore whether it could be
/// preempted.
pub(super) struct Blocked {
    /// True if the interrupted thread is a real-time thread.
    policy: bool,
    user: bool,
    place: Option<String>,
}

impl Blocked {
    pub fn by<'s>(facts: &Facts, tid: i32, stack: impl Iterator<Item = &'s str>) -> Blocked {
        let policy = facts.policies.get(&tid).copied().is_some_and(Policy::has_priority);
        let frames: Vec<&str> = stack.collect();
        let user = frames.last().is_some_and(|last| is_interrupt_entry(last));
        Blocked { policy, user, place: section::interrupted(frames) }
    }

    /// Adds to the cause what the stack shows.
    pub fn applied(self, cause: Cause) -> Cause {
        match self {
            Blocked { policy: true, .. } => Cause { confidence: Confidence::Medium, ..cause },
            Blocked { place: Some(place), user: false, .. } => {
                Cause { class: Class::PreemptionDisabled, place: Some(format!("in {place}")), ..cause }
            }
            _ => cause,
        }
    }
}

pub(super) fn scheduled(facts: &Facts, tid: i32) -> Scheduled {
    match facts.policies.get(&tid).copied() {
        Some(policy) => Scheduled { prio: None, ..choose::scheduled(facts, tid, Some(raw(Some(policy)))) },
        None => Scheduled::default(),
    }
}

/// Returns any raw priority of a policy; only the policy's name is used.
fn raw(policy: Option<Policy>) -> i32 {
    match policy {
        Some(Policy::Deadline) => -1,
        Some(policy) if policy.has_priority() => 50,
        _ => 120,
    }
}

pub(super) fn cause(class: Class, ns: u64, confidence: Confidence, evidence: &str) -> Cause {
    Cause {
        class,
        tid: None,
        comm: None,
        scheduled: Scheduled::default(),
        what: None,
        place: None,
        ns,
        share: 0.0,
        confidence,
        evidence: evidence.to_owned(),
    }
}

/// Converts rtla's microseconds; invalid values become 0.
fn ns(us: f64) -> u64 {
    (us * 1000.0).round().max(0.0) as u64
}
