use super::evidence::worst_cell;
use super::{and, load_name};
use crate::bounds;
use crate::figures::{Figures, QUANTILES};
use crate::number::{at_most, count, count_f, percent};
use punctual_model::{Event, Recording, Verdict};
use punctual_units::WakeupSource;

pub fn cannot_say(recording: &Recording, verdict: &Verdict) -> Vec<String> {
    from_figures(&Figures::new(recording, verdict))
}

pub(crate) fn from_figures(figures: &Figures) -> Vec<String> {
    let Figures { recording, verdict, .. } = *figures;
    if verdict.scored() == 0 {
        return vec!["Nothing was measured.".into()];
    }
    let mut all = Vec::new();
    all.extend(rarer(verdict));
    all.extend(unbounded(figures));
    all.extend(unseen(verdict));
    all.extend(other_loads(recording));
    all.extend(settings(recording));
    all.extend(virtual_time(recording));
    all.extend(machine(recording));
    all.push(other_ways(recording.run.settings.via.as_ref()));
    all
}

/// Returns a sentence on what the run does not show about other wakeup sources.
fn other_ways(via: Option<&WakeupSource>) -> String {
    match via {
        None | Some(WakeupSource::Nanosleep) => {
            "A timer expires in hard interrupt context. A program woken by a threaded interrupt or by another task has larger latencies."
                .into()
        }
        Some(via) => format!(
            "The threads were woken `--via {via}`: the figures do not apply to a program with another wakeup source."
        ),
    }
}

fn rarer(verdict: &Verdict) -> Option<String> {
    let (_, cell) = worst_cell(verdict)?;
    let p = cell.p_beyond_max?;
    Some(format!(
        "The probability of a wakeup later than the worst one, except that it is below {}: the next one may be much later. No worst case follows from a measurement.",
        at_most(p)
    ))
}

fn unbounded(figures: &Figures) -> Option<String> {
    let fewest = figures.cells.iter().map(|c| c.effective()).min_by(f64::total_cmp)?;
    let is_open =
        |i: usize| figures.cells.iter().any(|c| c.quantiles[i].ns.is_some() && c.quantiles[i].upper.is_none());
    let open: Vec<_> = (0..QUANTILES.len()).filter(|i| is_open(*i)).map(|i| QUANTILES[i]).collect();
    let (first, first_name) = open.first()?;
    let names: Vec<String> = open.iter().map(|(_, name)| (*name).to_owned()).collect();
    let are = if names.len() == 1 { "is" } else { "are" };
    // There are enough samples but no bound, because an imported file does not count those beyond its last bin.
    if fewest >= bounds::samples_needed(*first) {
        let names = and(&names);
        let why = "the file does not record the samples beyond its last bin";
        return Some(format!(
            "{names} {are} not bounded by this run: {why}. The figure shown is the observed value only."
        ));
    }
    Some(format!(
        "{} {are} not bounded by this run, under at least one load: {first_name} requires {} independent wakeups on each \
         CPU, and there are as few as {}. The figure shown is the observed value only.",
        and(&names),
        count_f(bounds::samples_needed(*first)),
        count_f(fewest),
    ))
}

fn unseen(verdict: &Verdict) -> Option<String> {
    let missed = verdict.coverage.iter().filter(|c| c.p_run < 0.5).min_by_key(|c| c.every_ns)?;
    Some(format!(
        "Rare events: this run misses one that occurs every {} on average with probability {}.",
        missed.every_ns,
        percent(1.0 - missed.p_run)
    ))
}

fn virtual_time(recording: &Recording) -> Option<String> {
    recording.run.virtual_time.as_ref().map(|_| {
        "Behaviour of a board: caches, memory, buses, idle states, frequency, firmware and real devices are not in the model."
            .into()
    })
}

fn other_loads(recording: &Recording) -> Option<String> {
    if recording.run.import.is_some() {
        return Some("The load: an imported file does not record what else the machine did.".into());
    }
    let mut names: Vec<String> = recording.run.phases.iter().map(|p| load_name(&p.load)).collect();
    // An application has several values under each load, so names repeat.
    names.dedup();
    if names.iter().all(|n| n == "idle") {
        return Some("Only the idle machine was measured: its behaviour under load is unknown.".into());
    }
    let quoted: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    Some(format!(
        "Only {} were measured. Other work, devices and drivers can delay wakeups in ways that these do not.",
        and(&quoted)
    ))
}

fn settings(recording: &Recording) -> Vec<String> {
    let settings = &recording.run.settings;
    let mut all = Vec::new();
    if let Some(us) = settings.cpu_dma_latency_us {
        all.push(format!(
            "The cost of leaving deep idle states is hidden: /dev/cpu_dma_latency was held at {us} µs while measuring. \
             A program that does not hold it has larger latencies."
        ));
    }
    if recording.run.import.is_some() {
        all.push("Causes: an imported file has no counters of the machine.".into());
    } else if !settings.context {
        all.push("Causes: the counters of the machine were not sampled (`--no-context`).".into());
    }
    all
}

fn machine(recording: &Recording) -> Vec<String> {
    let machine = &recording.run.machine;
    let mut all = Vec::new();
    // In virtual time the host has no influence.
    let real_time = recording.run.virtual_time.is_none();
    if let Some(hypervisor) = machine.virtualisation.as_deref().filter(|v| *v != "none" && real_time) {
        all.push(format!(
            "This is a virtual machine ({hypervisor}): its latencies also depend on the host, which may do other things at other times."
        ));
    }
    let steps = recording.events.iter().filter(|e| matches!(e, Event::ClockStep { .. })).count();
    if steps > 0 {
        all.push(format!(
            "Times of day are counted from the start: the wall clock was set {} during the run.",
            if steps == 1 { "once".into() } else { format!("{} times", count(steps as u64)) }
        ));
    }
    all
}
