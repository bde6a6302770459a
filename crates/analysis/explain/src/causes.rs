//! One function per class of cause; each returns what its counter shows, if anything.

use crate::context::{Index, Part, Reference, Window};
use crate::usual::Usual;
use punctual_model::{Reading, Suspicion, SuspicionClass, Worst};
use punctual_units::{Arrange, CpuList, Nanos, Scheduling};
use std::rc::Rc;

/// A suspicion and its likelihood relative to the others; only the order of the weights matters.
type Weighed = (u32, Suspicion);

struct Case<'a> {
    worst: &'a Worst,
    window: Window<'a>,
    reference: Rc<Reference<'a>>,
    scheduling: Option<Scheduling>,
    /// SMI count before and after the phase.
    smi: Option<(u64, u64)>,
}

const CAUSES: [fn(&Case) -> Vec<Weighed>; 9] =
    [other_task, steal, migration, page_fault, irq, softirq, throttling, frequency, smi];

/// Returns everything that the counters show about `worst`, the likeliest first.
pub fn of(index: &mut Index, worst: &Worst) -> Vec<Suspicion> {
    let Some(window) = index.window(worst) else {
        return vec![unknown("no counters were recorded for that time, so the cause is unknown")];
    };
    let reference = index.reference(&worst.phase, worst.cpu);
    let case = Case { worst, window, reference, scheduling: index.scheduling(worst), smi: index.smi_around(worst) };
    let mut found: Vec<Weighed> = CAUSES.iter().flat_map(|cause| cause(&case)).collect();
    // A count of SMIs over the whole phase and a late wakeup without another cause support each other.
    if found.iter().all(|(_, s)| s.class == SuspicionClass::Smi) {
        found.extend(late_wakeup(&case, || index.also_late(worst)));
    }
    if found.is_empty() {
        return vec![unknown(&case.nothing_moved())];
    }
    found.arrange_by_key(|(weight, _)| std::cmp::Reverse(*weight));
    found.into_iter().map(|(_, suspicion)| suspicion).collect()
}

fn unknown(text: &str) -> Suspicion {
    Suspicion { class: SuspicionClass::Unknown, text: text.to_owned() }
}

fn weighed(weight: u32, class: SuspicionClass, text: String) -> Vec<Weighed> {
    vec![(weight, Suspicion { class, text })]
}

/// Checks whether the thread waited, runnable, for a considerable part of the latency. Counts only the waiting time
/// above the usual one: at a short period the ordinary waits of a second add up to more than one latency.
fn other_task(case: &Case) -> Vec<Weighed> {
    let (wait, holder) = (case.run_delay(), case.likely_holder());
    let cpu = case.worst.cpu;
    let when = case.when();
    match (wait, holder) {
        (Some(wait), holder) if wait.covers(case.worst.latency_ns) => {
            let waited = Nanos(wait.total);
            let usual = case.usually(wait.usual, |n| Nanos(n).to_string());
            let (weight, who) = match holder {
                Some((name, ns)) => (100, format!("another task held CPU {cpu}: {name} ran {} {when}", Nanos(ns))),
                None => (80, format!("something else held CPU {cpu}; the counters do not identify it")),
            };
            let text = format!("the thread was runnable but waited {waited} {when}{usual}; {who}");
            weighed(weight, SuspicionClass::OtherTask, text)
        }
        (None, Some((name, ns))) => {
            let ran = Nanos(ns);
            let text = format!(
                "another task, {name}, ran {ran} on CPU {cpu} {when}; it is unknown whether the thread waited for it (its run delay \
                 could not be read)"
            );
            weighed(75, SuspicionClass::OtherTask, text)
        }
        _ => Vec::new(),
    }
}

/// Checks whether the hypervisor ran something else for long enough to explain the latency within the counter's
/// resolution.
fn steal(case: &Case) -> Vec<Weighed> {
    // The unit of /proc/stat, 1/USER_HZ = 10 ms: proc_stat(5).
    const TICK_NS: u64 = 10_000_000;
    let Some(stolen) = case.window.sum(|p| p.cpu.steal_ns) else { return Vec::new() };
    if stolen < TICK_NS || stolen.saturating_add(TICK_NS) < case.worst.latency_ns {
        return Vec::new();
    }
    let usual = case.reference.usual(|p| p.cpu.steal_ns.map(|n| n as f64));
    let unusual = usual.is_some_and(|u| stolen as f64 > 2.0 * u.over(case.window.length_ns));
    let text = format!(
        "the hypervisor ran something else on CPU {} for {} {}{}; steal is counted in steps of 10 ms",
        case.worst.cpu,
        Nanos(stolen),
        case.when(),
        case.usually(usual, |n| Nanos(n).to_string()),
    );
    weighed(if unusual { 90 } else { 25 }, SuspicionClass::Steal, text)
}

/// Checks for migrations; the measuring thread is bound to its CPU, so any migration is unusual.
fn migration(case: &Case) -> Vec<Weighed> {
    let moved = case.window.sum(|p| p.cpu.migrations).unwrap_or(0);
    if moved == 0 {
        return Vec::new();
    }
    let text = format!("the measuring thread was moved to another CPU {} {}", times(moved), case.when());
    weighed(70, SuspicionClass::Migration, text)
}

/// Checks for page faults; the measuring thread's memory is locked and prefaulted, so any fault is unusual.
fn page_fault(case: &Case) -> Vec<Weighed> {
    let faults = case.window.sum(|p| p.cpu.page_faults).unwrap_or(0);
    if faults == 0 {
        return Vec::new();
    }
    let text = format!("the measuring thread took {} {}", plural(faults, "page fault"), case.when());
    weighed(60, SuspicionClass::PageFault, text)
}

fn irq(case: &Case) -> Vec<Weighed> {
    let found = case.bursts(|p| &p.cpu.top_irqs, LISTED_IRQS);
    match found.is_empty() {
        true => irqs_together(case),
        false => found.iter().map(|b| (50, b.suspicion(case, SuspicionClass::Irq, "interrupt"))).collect(),
    }
}

/// Checks all interrupts of the CPU together, if no single source is conspicuous.
fn irqs_together(case: &Case) -> Vec<Weighed> {
    let Some(count) = case.window.sum(|p| p.cpu.irqs) else { return Vec::new() };
    let usual = case.reference.usual(|p| p.cpu.irqs.map(|n| n as f64));
    let Some(usual) = usual.map(|u| u.over(case.window.length_ns)).filter(|u| is_burst(count, *u)) else {
        return Vec::new();
    };
    let burst = Burst { name: "all sources together", count, usual };
    vec![(48, burst.suspicion(case, SuspicionClass::Irq, "interrupt"))]
}

fn softirq(case: &Case) -> Vec<Weighed> {
    let found = case.bursts(|p| &p.cpu.softirqs, usize::MAX);
    found.iter().map(|b| (45, b.suspicion(case, SuspicionClass::Softirq, "softirq"))).collect()
}

fn throttling(case: &Case) -> Vec<Weighed> {
    let own = case.window.sum(|p| p.cpu.throttle_events).unwrap_or(0);
    if own > 0 {
        let text = format!("CPU {} was throttled {} {}", case.worst.cpu, times(own), case.when());
        return weighed(40, SuspicionClass::Throttling, text);
    }
    let found = case.window.named(|p| &p.sample.throttling);
    let say = |(name, count): &(&str, u64)| {
        let text = format!("the machine throttled: {name} rose by {} {}", counted(*count), case.when());
        (38, Suspicion { class: SuspicionClass::Throttling, text })
    };
    found.iter().map(say).collect()
}

/// Checks for frequency changes, if they are rarer at other times.
fn frequency(case: &Case) -> Vec<Weighed> {
    const FEWEST_IF_USUAL: f64 = 20.0;
    let Some(steps) = case.window.sum(|p| p.sample.frequency_transitions).filter(|n| *n > 0) else {
        return Vec::new();
    };
    let usual = case.reference.usual(|p| p.sample.frequency_transitions.map(|n| n as f64));
    let Some(expected) = usual.map(|u| u.over(case.window.length_ns)) else { return Vec::new() };
    if expected > 0.0 && ((steps as f64) < 5.0 * expected || (steps as f64) < FEWEST_IF_USUAL) {
        return Vec::new();
    }
    let usual = case.usually(usual, counted);
    let text = format!("the processor changed frequency {} {}{usual}, on any CPU", times(steps), case.when());
    weighed(30, SuspicionClass::FrequencyStep, text)
}

/// Checks for SMIs, which are counted between phases only, since reading the counter disturbs the CPU.
fn smi(case: &Case) -> Vec<Weighed> {
    let Some((before, after)) = case.smi.filter(|(before, after)| after > before) else { return Vec::new() };
    let text = format!(
        "the firmware took CPU {} {} during this phase (SMI count {before} → {after}), at unknown times",
        case.worst.cpu,
        times(after - before),
    );
    weighed(20, SuspicionClass::Smi, text)
}

/// Handles a thread that was not runnable while nothing ran instead: the wakeup itself was late.
fn late_wakeup(case: &Case, also_late: impl Fn() -> CpuList) -> Vec<Weighed> {
    let Some(wait) = case.run_delay().filter(|w| case.window.whole && w.rules_out(case.worst.latency_ns)) else {
        return Vec::new();
    };
    let others = match also_late() {
        cpus if cpus.is_empty() => String::new(),
        cpus if cpus.len() == 1 => format!("; CPU {cpus} was late at the same instant"),
        cpus => format!("; CPUs {cpus} were late at the same instant"),
    };
    let text = format!(
        "the timer or the wakeup itself was late: the thread was runnable but waiting for only {} {}. Possible causes are interrupts \
         off, exit from idle, the hypervisor or the firmware{others}",
        Nanos(wait.total),
        case.when(),
    );
    weighed(10, SuspicionClass::LateWakeup, text)
}

/// The time in which the thread was runnable but not running in the window.
struct Wait {
    total: u64,
    usual: Option<Usual>,
    length_ns: u64,
}

impl Wait {
    fn more_than_usual(&self) -> Option<f64> {
        self.usual.map(|u| self.total as f64 - u.over(self.length_ns))
    }

    fn noise(&self) -> f64 {
        self.usual.map_or(0.0, |u| u.noise_over(self.length_ns))
    }

    /// True if the thread waited, in addition to the usual waiting time, for at least half of this latency.
    fn covers(&self, latency_ns: u64) -> bool {
        self.more_than_usual().is_some_and(|more| more >= 0.5 * latency_ns as f64 && more > self.noise())
    }

    /// True if the wait was certainly no more than a quarter of this latency.
    fn rules_out(&self, latency_ns: u64) -> bool {
        let quarter = 0.25 * latency_ns as f64;
        let nearly_usual = |more| more <= quarter && self.noise() <= quarter;
        self.total as f64 <= quarter || self.more_than_usual().is_some_and(nearly_usual)
    }
}

struct Burst<'a> {
    name: &'a str,
    count: u64,
    usual: f64,
}

impl Burst<'_> {
    /// Formats a burst: `interrupt burst on CPU 1: virtio0-req.0, 9,140 times in that second (usually 50)`.
    fn suspicion(&self, case: &Case, class: SuspicionClass, what: &str) -> Suspicion {
        let (name, usual) = (self.name, counted(self.usual.round() as u64));
        let (times, when) = (times(self.count), case.when());
        let text = format!("{what} burst on CPU {}: {name}, {times} {when} (usually {usual})", case.worst.cpu);
        Suspicion { class, text }
    }
}

/// Number of interrupt sources per CPU that the sampler lists; one missing from a full list may still have counted.
const LISTED_IRQS: usize = 4;

/// True for a burst: at least five times the usual count, and enough handlers to matter.
fn is_burst(count: u64, usual: f64) -> bool {
    const FEWEST: f64 = 300.0;
    let count = count as f64;
    count >= 5.0 * usual && count - usual >= FEWEST
}

impl<'a> Case<'a> {
    fn run_delay(&self) -> Option<Wait> {
        let total = self.window.sum(|p| p.cpu.run_delay_ns)?;
        let usual = self.reference.usual_of_run(|p| p.cpu.run_delay_ns.map(|n| n as f64));
        Some(Wait { total, usual, length_ns: self.window.length_ns })
    }

    /// Returns the other real-time task that could have held the CPU: it is served before the late thread, ran for at
    /// least half of the latency, and at least twice its usual time.
    fn likely_holder(&self) -> Option<(&'a str, u64)> {
        let tasks = self.window.named(|p| &p.cpu.rt_tasks);
        let long_enough = |ns: u64| ns.saturating_mul(2) >= self.worst.latency_ns;
        tasks.into_iter().find(|(name, ns)| {
            let usual = self.reference.usual_of_run(|p| Some(value_of(&p.cpu.rt_tasks, name).unwrap_or(0.0)));
            let unusual = usual.is_some_and(|u| *ns as f64 >= 2.0 * u.over(self.window.length_ns));
            long_enough(*ns) && unusual && self.is_served_before(name)
        })
    }

    /// True if a task with this name (`rogue99 (FIFO 99, pid 144)`) is served before the late thread; false if unknown.
    fn is_served_before(&self, task: &str) -> bool {
        let Some((_, details)) = task.rsplit_once(" (") else { return false };
        let mut words = details.split([',', ' ', ')']);
        let policy = words.next().unwrap_or("");
        let priority = words.next().and_then(|p| p.parse::<u8>().ok());
        match (self.scheduling, policy, priority) {
            (Some(Scheduling::Deadline { .. }), "DEADLINE", _) => true,
            (Some(Scheduling::Deadline { .. }) | None, ..) => false,
            (Some(_), "DEADLINE", _) => true,
            (Some(mine), "FIFO" | "RR", Some(theirs)) => mine.priority().is_none_or(|m| theirs >= m.get()),
            _ => false,
        }
    }

    fn bursts(&self, list: impl Fn(&Part<'a>) -> &'a [Reading] + Copy, listed: usize) -> Vec<Burst<'a>> {
        let length = self.window.length_ns;
        let burst = |(name, count)| {
            let usual = self.reference.usual(|p| count_in(p, list(p), name, listed))?.over(length);
            is_burst(count, usual).then_some(Burst { name, count, usual })
        };
        let mut bursts: Vec<Burst> = self.window.named(list).into_iter().filter_map(burst).collect();
        let ratio = |b: &Burst| b.count as f64 / b.usual.max(1.0);
        bursts.arrange_by(|a, b| ratio(b).total_cmp(&ratio(a)));
        bursts.truncate(2);
        bursts
    }

    /// Returns `in that second`, or the interval that the counters cover.
    fn when(&self) -> String {
        match self.window.length_ns {
            900_000_000..=1_100_000_000 => "in that second".into(),
            other => format!("in those {}", Nanos(other)),
        }
    }

    /// Returns ` (usually 1.02 ms)`, or nothing if that is unknown.
    fn usually(&self, usual: Option<Usual>, show: impl Fn(u64) -> String) -> String {
        let words = |u: Usual| format!(" (usually {})", show(u.over(self.window.length_ns).round() as u64));
        usual.map(words).unwrap_or_default()
    }

    fn nothing_moved(&self) -> String {
        let missing = match self.window.sum(|p| p.cpu.run_delay_ns) {
            None => " (whether the thread was waiting for the CPU could not be read)",
            Some(_) => "",
        };
        format!("no counter changed unusually {}, so the cause is unknown{missing}", self.when())
    }
}

/// Returns the count of a named counter in an interval. Zero counts are omitted from the lists, so a missing name means
/// zero, unless nothing could be read. If the list is full, a missing counter counted at most as much as the last one
/// listed.
fn count_in(part: &Part, list: &[Reading], name: &str, listed: usize) -> Option<f64> {
    let if_missing = match list {
        [] if part.cpu.irqs.is_none() => None,
        [.., last] if list.len() >= listed => Some(last.value as f64),
        _ => Some(0.0),
    };
    value_of(list, name).or(if_missing)
}

fn value_of(list: &[Reading], name: &str) -> Option<f64> {
    list.iter().find(|r| r.name == name).map(|r| r.value as f64)
}

fn times(n: u64) -> String {
    plural(n, "time")
}

fn plural(n: u64, what: &str) -> String {
    format!("{} {what}{}", counted(n), if n == 1 { "" } else { "s" })
}

/// Formats with separators: `12,340`.
fn counted(n: u64) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or_default()).collect();
    groups.join(",")
}
