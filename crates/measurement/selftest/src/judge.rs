use crate::inject::{Injected, Kind};
use punctual_measure::Outcome;
use punctual_model::{CpuResult, ProblemKind, Worst};
use punctual_units::Nanos;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Name of the injected delay, or of the property that is checked.
    pub name: String,
    pub passed: bool,
    pub said: String,
}

/// Tolerance below the injected length, for inaccurate clock readings at both ends of the delay.
const LESS: Nanos = Nanos::from_micros(50);

/// Tolerance above the injected length, for the context switch to the measuring thread and other activity. It is
/// generous because a shared host may add milliseconds, while a faulty detector reports too little.
const MORE: Nanos = Nanos::from_millis(5);

/// Returns one check per injected delay, and one check per CPU that every period is accounted for.
pub fn judge(injected: &[Injected], outcome: &Outcome, period: Nanos) -> Vec<Check> {
    let mut checks: Vec<Check> = injected.iter().map(|delay| one(delay, outcome, period)).collect();
    checks.extend(outcome.cpus.iter().map(accounts));
    checks
}

fn one(delay: &Injected, outcome: &Outcome, period: Nanos) -> Check {
    let name = match delay.kind {
        Kind::Spinner => format!("{} occupied by a thread of higher priority", delay.wanted),
        Kind::LateStart => format!("{} occupied at the first period", delay.wanted),
        Kind::PageFault => "page fault".to_owned(),
    };
    if delay.kind == Kind::PageFault {
        return faults(name, delay, outcome);
    }
    // The victim is a wakeup that was released during the delay, or at most one period before it.
    let victim = |worst: &&Worst| {
        worst.cpu == delay.cpu && worst.release_mono_ns + period.0 >= delay.from.0 && worst.release_mono_ns < delay.to.0
    };
    let Some(found) = outcome.worst.iter().filter(victim).max_by_key(|worst| worst.latency_ns) else {
        if let Some(longer) = longer(delay, outcome) {
            return Check { name, passed: delay.kind == Kind::Spinner, said: longer };
        }
        return Check {
            name,
            passed: false,
            said: format!("no late wakeup is reported on CPU {} at that time", delay.cpu),
        };
    };
    let expected = Nanos(delay.to.0 - found.release_mono_ns.max(delay.from.0).min(delay.to.0));
    let got = Nanos(found.latency_ns);
    let fits = got + LESS >= expected && got <= expected + MORE;
    // Number of periods released after this one and before the thread woke.
    let skipped = (found.release_mono_ns + found.latency_ns).saturating_sub(found.release_mono_ns) / period.0.max(1);
    let is_counted = found.skipped == skipped;
    let is_first = delay.kind != Kind::LateStart || found.cycle == 0;
    let said = format!(
        "injected {expected} on CPU {}, reported {got}, {} periods skipped (expected {skipped}), cycle {}",
        delay.cpu, found.skipped, found.cycle
    );
    Check { name, passed: fits && is_counted && is_first, said }
}

/// Describes a longer delay that includes the injected one, which happens if a hypervisor or another thread already
/// occupied the CPU. `None` unless a wakeup was already late when the delay began and still late when it ended.
fn longer(delay: &Injected, outcome: &Outcome) -> Option<String> {
    let lasts = |worst: &&Worst| {
        worst.cpu == delay.cpu
            && worst.release_mono_ns < delay.from.0
            && worst.release_mono_ns + worst.latency_ns + LESS.0 >= delay.to.0
    };
    let found = outcome.worst.iter().filter(lasts).max_by_key(|worst| worst.release_mono_ns)?;
    let before = Nanos(delay.from.0 - found.release_mono_ns);
    let injected = Nanos(delay.to.0 - delay.from.0);
    let (cpu, got) = (delay.cpu, Nanos(found.latency_ns));
    Some(format!(
        "injected {injected} on CPU {cpu}, within a reported delay of {got} that began {before} earlier: the CPU was already occupied"
    ))
}

fn faults(name: String, delay: &Injected, outcome: &Outcome) -> Check {
    let counted = outcome.cpus.iter().find(|cpu| cpu.cpu == delay.cpu).and_then(|cpu| cpu.page_faults);
    let is_reported = outcome.problems.iter().any(|problem| problem.kind == ProblemKind::PageFaults);
    let said = match counted {
        Some(n) => {
            format!(
                "{n} page faults counted on CPU {}, {}",
                delay.cpu,
                if is_reported { "and reported" } else { "not reported" }
            )
        }
        None => "page faults could not be read".to_owned(),
    };
    Check { name, passed: is_reported && counted.is_some_and(|n| n > 0), said }
}

fn accounts(cpu: &CpuResult) -> Check {
    let name = format!("every period on CPU {} accounted for", cpu.cpu);
    let (Some(released), ran, Some(skipped)) = (cpu.released, cpu.ran, cpu.skipped) else {
        return Check {
            name,
            passed: false,
            said: "the numbers of released and skipped periods are not reported".into(),
        };
    };
    let said = format!("{released} released, {ran} with a wakeup, {skipped} skipped");
    Check { name, passed: released == ran + skipped && ran > 0, said }
}

#[cfg(test)]
mod tests;
