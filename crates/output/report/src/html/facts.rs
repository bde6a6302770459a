use super::write::{details, esc, facts, list, table};
use crate::number::{bytes, confidence, count, nanos, plural};
use crate::svg::Table;
use crate::{bounds, date, words};
use punctual_model::{Alignment, Claim, EndedBy, OwnCost, Quantity, Recording, VirtualTime};
use punctual_units::{CpuList, Nanos, WakeupSource};

fn words(recording: &Recording) -> String {
    let due = due(recording.run.settings.via.as_ref());
    let first = match recording.application {
        Some(_) => "<dt>Response<dd>From the release of a cycle, when its timer was due or the thread was woken, to the next call \
                    in which the thread waits for one. <dt>Jitter<dd>Deviation of the time between two starts from whole periods."
            .to_owned(),
        None => format!("<dt>Wakeup latency<dd>From {due} to the thread's first instruction after it. "),
    };
    format!("<dl class=\"words\">{first}{WORDS}")
}

/// Describes the instant from which a latency is measured, which depends on the wakeup source.
fn due(via: Option<&WakeupSource>) -> &'static str {
    match via {
        Some(via) if via.is_woken() => "the sender's clock reading just before the call that wakes a thread",
        Some(WakeupSource::Relative) => "a thread's own clock reading before it slept, plus one period,",
        _ => "the instant a thread's timer was due",
    }
}

const WORDS: &str = "<dt>HELD<dd>Not refuted, but not proven: a run cannot prove a maximum or that no period is ever missed.\
    <dt>Episode<dd>The releases that one disturbance makes late: from the first late release to the last, with fewer than \
    ten consecutive releases in time between them. A declared longest stall limits the length of an episode.\
    <dt>Period<dd>One release of the thread, which ran or was skipped.\
    <dt>Missed, skipped<dd>A period that passed while the thread was still late for an earlier one.\
    <dt>Corrected<dd>All periods, a skipped one with the delay after which the thread ran again. Omitting \
    them would hide the tail (coordinated omission). Claims are judged on these figures.\
    <dt>p99.9<dd>999 of 1,000 periods were not later. Its bounds are order statistics; * means that no sample of this \
    run bounds it.<dt>θ̂<dd>Extremal index: 1 if late wakeups are independent, less if they occur in groups. \
    The bounds of these quantiles count the number of samples times this index as independent.</dl>";

pub fn machine(recording: &Recording) -> String {
    let m = &recording.run.machine;
    let yes = |b: Option<bool>| b.map(|b| if b { "yes" } else { "no" }.to_owned());
    let cpus = |list: &Option<CpuList>| {
        list.as_ref().map(|l| if l.is_empty() { "none".into() } else { format!("{l} ({})", l.len()) })
    };
    let rows = facts(&[
        ("Host", recording.run.host.clone()),
        ("Board", m.board.clone()),
        ("Processor", m.cpu_model.clone()),
        ("Architecture", m.architecture.clone()),
        ("Memory", m.memory_bytes.map(bytes)),
        ("System", m.os.clone()),
        ("Kernel", m.kernel_release.clone()),
        ("Kernel build", m.kernel_version.clone()),
        ("Fully preemptible (PREEMPT_RT)", yes(m.preempt_rt)),
        ("Preemption", m.preemption.clone()),
        ("CPUs online", cpus(&m.cpus_online)),
        ("CPUs isolated", cpus(&m.cpus_isolated)),
        ("SMT in use", yes(m.smt_active)),
        ("Governors", m.governors.as_ref().filter(|g| !g.is_empty()).map(|g| g.join(", "))),
        ("Clocksource", m.clocksource.clone()),
        ("Cost of a clock read", m.clock_read_ns.map(|ns| format!("{ns:.1} ns"))),
        ("RT throttling", m.rt_throttling.clone()),
        ("Virtualisation", m.virtualisation.clone()),
        ("Kernel command line", m.cmdline.clone()),
    ]);
    format!("{rows}<p class=\"note\">Facts that could not be read are omitted.")
}

fn virtual_time(model: &VirtualTime) -> String {
    let VirtualTime { emulator, machine, kernel, instruction_ns, cpus, seed } = model;
    format!(
        "{emulator}, machine {machine}, kernel {kernel}, one instruction = {instruction_ns} ns on {}, seed {seed}",
        plural(u64::from(*cpus), "CPU", "CPUs")
    )
}

pub fn method(recording: &Recording) -> String {
    let cost = recording.run.cost.as_ref().map(cost).unwrap_or_default();
    [
        list("", &words::notes(recording)),
        details("Settings of the measurement", &settings(recording)),
        cost,
        details("Words", &words(recording)),
    ]
    .concat()
}

/// Returns the basis and the assumption of the verdicts that are valid whenever the run ends; `None` if the run has no
/// such claims.
fn claims_rest_on(recording: &Recording) -> Option<String> {
    let claims = &recording.run.settings.claims;
    let is_quantile = |claim: &Claim| matches!(claim.quantity, Quantity::Quantile { .. });
    let rests = "based on e-processes of late episodes, valid whenever the run ended; assumption: at every moment, given the past, episodes are \
                 more frequent than the limit for every false claim, and not for a true one";
    claims.iter().any(|claim| claim.is_of_frequency() && !is_quantile(claim)).then(|| rests.into())
}

fn settings(recording: &Recording) -> String {
    let (run, s) = (&recording.run, &recording.run.settings);
    let mut got: Vec<String> =
        run.phases.iter().flat_map(|p| &p.cpus).filter_map(|c| Some(c.got?.to_string())).collect();
    got.sort();
    got.dedup();
    let latency = match s.cpu_dma_latency_us {
        Some(us) => format!("held at {us} µs: idle states with a longer exit latency were disabled"),
        None if run.import.is_some() => "not recorded".into(),
        None => "not held: idle states as configured".into(),
    };
    let alignment = s.alignment.map(|alignment| match alignment {
        Alignment::Aligned => "all CPUs at the same instant",
        Alignment::Staggered => "evenly spread over one period",
    });
    let context = if s.context { "about once a second" } else { "not read" };
    facts(&[
        ("Clock and sleep", s.clock.clone()),
        ("Virtual time", run.virtual_time.as_ref().map(virtual_time)),
        ("Requested scheduling", s.scheduling.map(|s| s.to_string())),
        ("Actual scheduling", (!got.is_empty()).then(|| words::and(&got))),
        ("Period", s.period_ns.map(|p| p.to_string())),
        ("Deadline", s.deadline_ns.map(|d| d.to_string())),
        ("CPUs measured", (!s.cpus.is_empty()).then(|| format!("{} ({})", s.cpus, s.cpus.len()))),
        ("Releases", alignment.map(String::from)),
        ("Measuring time", s.duration_ns.map(|d| format!("{d} over all loads"))),
        ("Warm-up", s.warmup_ns.map(|w| format!("{w} before each load, not recorded"))),
        ("/dev/cpu_dma_latency", Some(latency)),
        ("Machine's counters", Some(context.into())),
        ("Histogram", Some("bins at most 0.78 % wide from 1 ns to 584 years; minimum and maximum exact".into())),
        ("Bounds of quantiles", Some(format!("order statistics, {} two-sided", confidence(bounds::CONFIDENCE)))),
        ("Claims of shares and episodes", claims_rest_on(recording)),
        ("Page faults while recording", page_faults(recording)),
        ("Command", (!run.command.is_empty()).then(|| run.command.join(" "))),
        ("Start", began(recording)),
        ("End", run.ended.map(|e| e.real_ns).or_else(|| run.import.as_ref()?.ended_real_ns).map(date::utc)),
        ("Ended by", run.import.is_none().then(|| ended_by(recording))),
    ])
}

/// Returns the start of the run, as measured or as stated in the imported file.
pub fn began(recording: &Recording) -> Option<String> {
    let run = &recording.run;
    run.started.map(|s| s.real_ns).or_else(|| run.import.as_ref()?.started_real_ns).map(date::utc)
}

fn page_faults(recording: &Recording) -> Option<String> {
    let results = || recording.run.phases.iter().flat_map(|p| &p.cpus);
    if results().count() == 0 {
        return None;
    }
    let sum = results().try_fold(0u64, |sum, c| c.page_faults.map(|n| sum.saturating_add(n)));
    Some(sum.map_or_else(|| "could not be read".into(), count))
}

fn ended_by(recording: &Recording) -> String {
    match &recording.run.ended_by {
        Some(EndedBy::Duration) => "its planned end".into(),
        Some(EndedBy::Signal { name, .. }) => format!("{name}; results up to then are complete"),
        Some(EndedBy::Error { text }) => format!("an error: {text}"),
        Some(EndedBy::Unknown) => "of a kind unknown to this version".into(),
        Some(EndedBy::Killed) | None => "unknown: killed, power cut, or still running".into(),
    }
}

fn cost(cost: &OwnCost) -> String {
    let wakeups = plural(cost.context_wakeups, "wakeup", "wakeups");
    let rows = facts(&[
        ("CPU time of the measuring threads", cost.measuring_cpu_ns.map(|n| nanos(Some(n)))),
        ("Thread that samples the counters", Some(format!("{wakeups}, {} of CPU time", nanos(cost.context_cpu_ns)))),
        ("The sampler ran on", Some(cost.context_cpus.clone())),
        ("Resident and locked memory", Some(format!("{}, {}", size(cost.rss_bytes), size(cost.locked_bytes)))),
        ("Time to the first sample", cost.start_to_first_sample_ns.map(|n| Nanos(n).to_string())),
    ]);
    details("Cost of measuring", &rows)
}

fn size(n: Option<u64>) -> String {
    n.map_or_else(|| "–".into(), bytes)
}

pub fn tuned(recording: &Recording) -> String {
    recording.tuned.as_ref().map(|tuned| list("evidence", &words::tuned(tuned))).unwrap_or_default()
}

pub fn series(recording: &Recording) -> String {
    let all: Vec<_> = recording.run.import.iter().flat_map(|import| &import.series).collect();
    if all.is_empty() {
        return String::new();
    }
    let head = ["of"].iter().chain(&words::imported::SERIES_HEAD).map(ToString::to_string).collect();
    let row = |s: &&punctual_model::Series| {
        [crate::clean::line(&s.of)].into_iter().chain(words::imported::series_row(s)).collect::<Vec<_>>()
    };
    let rows = all.iter().map(row).collect();
    format!("<h3>Other figures</h3>{}", table(&Table { head, rows }))
}

pub fn lost(recording: &Recording) -> String {
    let lost = words::lost(recording);
    if lost.is_empty() { String::new() } else { format!("<h3>Missing from the file</h3>{}", list("", &lost)) }
}

pub fn footer(recording: &Recording) -> String {
    let run = &recording.run;
    format!(
        "<footer>Measured by {} {}. Run format {}, version {}.</footer>",
        esc(&run.tool.name),
        esc(run.tool.version.as_deref().unwrap_or_default()),
        esc(&run.schema),
        esc(&run.schema_version)
    )
}
