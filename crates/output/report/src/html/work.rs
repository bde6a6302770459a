//! Formats the worst wakeups with causes from counters, and the activity of the loads.

use super::Page;
use super::write::{details, esc, name_class, prose};
use crate::figures::recorded_ns;
use crate::number::{bytes, count, plural, rate};
use crate::{date, words};
use punctual_model::{LoadReport, Phase, Recording, Suspicion, SuspicionClass, Worst};
use punctual_units::Nanos;

const MOST_SHOWN: usize = 20;
/// Number of worst wakeups shown if no trace explains them.
const SHOWN: usize = 4;

/// Formats the worst wakeups; they are in a collapsed part if traces explain some.
pub fn worst(page: &Page) -> String {
    let all = &page.figures.recording.worst;
    if all.is_empty() || page.figures.recording.application.is_some() {
        return String::new();
    }
    let rows: Vec<String> = all.iter().take(MOST_SHOWN).enumerate().map(|(n, w)| worst_row(page, n, w)).collect();
    let more = match all.len().saturating_sub(MOST_SHOWN) {
        0 => String::new(),
        n => format!(" {} in the run directory.", plural(n as u64, "more is", "more are")),
    };
    let note = format!(
        "<p class=\"note\">Counters are read about once a second, so their resolution is one second; a \
         suspicion is not a proof.{more}"
    );
    let what = format!("The {} worst wakeups", rows.len());
    match page.figures.recording.explained.is_empty() {
        false => details(&what, &(worst_table(&rows) + &note)),
        true if rows.len() <= SHOWN => worst_table(&rows) + &note,
        true => worst_table(&rows[..SHOWN]) + &note + &details(&what, &worst_table(&rows)),
    }
}

fn worst_table(rows: &[String]) -> String {
    format!(
        "<div class=\"scroll\"><table class=\"texts cards worst\"><thead><tr><th>#<th>late<th>where<th>when (UTC)<th>skipped<th>what the trace \
         or the counters say<tbody>{}</table></div>",
        rows.concat()
    )
}

fn worst_row(page: &Page, n: usize, worst: &Worst) -> String {
    let recording = page.figures.recording;
    let phases = &recording.run.phases;
    let since = phases.iter().find(|p| p.id == worst.phase).and_then(|p| {
        let since = Nanos(worst.release_mono_ns.saturating_sub(p.start_mono_ns?));
        Some(format!("<small>{since} into the phase, period {}</small>", count(worst.cycle)))
    });
    format!(
        "<tr><td>{}<td class=\"figure\" data-l=\"late\">{}<td>{}<td>{}{}<td class=\"figure\" data-l=\"skipped\">{}<td>{}",
        n + 1,
        prose(&Nanos(worst.latency_ns).to_string()),
        prose(&words::place(recording, &worst.phase, worst.cpu)),
        date::utc_millis(date::real_of(recording, worst.release_mono_ns)),
        since.unwrap_or_default(),
        count(worst.skipped),
        causes(recording, worst)
    )
}

fn causes(recording: &Recording, worst: &Worst) -> String {
    match recording.explained_of(worst) {
        Some(explained) => format!("<p><b>Traced.</b> {}", prose(&words::stopped(&explained.victim.verdict))),
        None => suspicions(&worst.suspicions),
    }
}

fn suspicions(all: &[Suspicion]) -> String {
    let one = |s: &Suspicion| {
        let text = prose(&words::stopped(&words::capital(&s.text)));
        match s.class {
            SuspicionClass::Unknown => format!("<p class=\"quiet\">{text}"),
            class => format!("<p><b>{}.</b> {text}", class_name(class)),
        }
    };
    if all.is_empty() {
        return "<p class=\"quiet\">Not examined.".into();
    }
    all.iter().map(one).collect()
}

fn class_name(class: SuspicionClass) -> &'static str {
    match class {
        SuspicionClass::OtherTask => "Another task",
        SuspicionClass::Steal => "Hypervisor",
        SuspicionClass::Irq => "Interrupts",
        SuspicionClass::Softirq => "Softirq",
        SuspicionClass::Migration => "Migration",
        SuspicionClass::PageFault => "Page fault",
        SuspicionClass::Throttling => "Throttling",
        SuspicionClass::FrequencyStep => "Frequency",
        SuspicionClass::Smi => "Firmware (SMI)",
        SuspicionClass::LateWakeup => "Late wakeup",
        SuspicionClass::Unknown => "Unknown",
    }
}

/// Formats one row per load: whether it ran, its rate, and the evidence.
pub fn loads(page: &Page) -> String {
    let phases = &page.figures.recording.run.phases;
    if phases.is_empty() || page.figures.recording.run.import.is_some() {
        return String::new();
    }
    let rows: String = phases.iter().map(|p| load_row(page.figures.recording, p)).collect();
    let table = format!(
        "<div class=\"scroll\"><table class=\"texts cards loads\"><thead><tr><th>load<th>ran<th>measured<th>heartbeats<th>rates<th>proof: a \
         counter of the kernel rose<th>notes<tbody>{rows}</table></div>"
    );
    let loads: Vec<&Phase> = phases.iter().filter(|p| p.load != "idle").collect();
    let ran = loads.iter().filter(|p| p.load_report.as_ref().is_some_and(|report| report.ran)).count();
    match loads.len() {
        0..=2 => table,
        all => {
            format!("<p>{ran} of {all} loads ran, as the counters below show.")
                + &details("Activity of each load", &table)
        }
    }
}

fn load_row(recording: &Recording, phase: &Phase) -> String {
    let recorded = Nanos(recorded_ns(recording, phase));
    let planned = phase.planned_ns.map_or_else(|| "–".into(), |planned| planned.to_string());
    let length = match phase.end_mono_ns {
        Some(_) if recorded.to_string() == planned => recorded.to_string(),
        Some(_) => format!("{recorded} of {planned}"),
        None => format!("{recorded} of {planned}, end not recorded"),
    };
    let name = esc(&words::phase_name(recording, &phase.id));
    let class = name_class(&name);
    let report = phase.load_report.as_ref().filter(|_| phase.load != "idle");
    let Some(report) = report else {
        let ran = if phase.load == "idle" { "no&nbsp;load" } else { "<span class=\"open\">? no report</span>" };
        return format!(
            "<tr><th scope=\"row\"{class}>{name}<td data-l=\"ran\">{ran}<td data-l=\"measured\">{length}<td><td><td><td>"
        );
    };
    format!(
        "<tr><th scope=\"row\"{class}>{name}<td data-l=\"ran\">{}<td data-l=\"measured\">{length}<td data-l=\"heartbeats\">{}\
         <td data-l=\"rates\">{}<td data-l=\"proof\">{}<td data-l=\"notes\">{}",
        ran(report),
        beats(report),
        rates(report),
        proofs(report),
        notes(report)
    )
}

fn ran(report: &LoadReport) -> String {
    match (report.ran, &report.why_not) {
        (true, _) => "<span class=\"pass\">✔ yes</span>".into(),
        (false, Some(why)) => format!("<span class=\"open\">✖ no:</span> {}", prose(why)),
        (false, None) => "<span class=\"open\">✖ no</span>".into(),
    }
}

fn beats(report: &LoadReport) -> String {
    let silence = prose(&Nanos(report.longest_silence_ns).to_string());
    format!(
        "{} from {}<small>longest silence {silence}</small>",
        count(report.beats),
        plural(report.workers.into(), "worker", "workers")
    )
}

fn rates(report: &LoadReport) -> String {
    let one = |r: &punctual_model::Rate| format!("<p>{} {} {}", esc(&r.what), rate(r.value), esc(&r.unit));
    report.rates.iter().map(one).collect()
}

fn proofs(report: &LoadReport) -> String {
    let one = |p: &punctual_model::Proof| {
        let (class, mark) = if p.holds() { ("pass", "✔") } else { ("open", "✖") };
        format!(
            "<p><span class=\"{class}\">{mark}</span> {} +{} <small>{} → {}, at least +{} needed</small>",
            esc(&p.what),
            count(p.after.saturating_sub(p.before)),
            count(p.before),
            count(p.after),
            count(p.needed)
        )
    };
    report.proofs.iter().map(one).collect()
}

fn notes(report: &LoadReport) -> String {
    let written = (report.written_bytes > 0).then(|| format!("<p>{} written to disk", bytes(report.written_bytes)));
    let notes = report.notes.iter().map(|n| format!("<p>{}", prose(n)));
    written.into_iter().chain(notes).collect()
}
