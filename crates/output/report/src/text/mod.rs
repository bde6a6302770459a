mod audit;
pub(crate) mod page;
mod summary;
mod table;

use crate::figures::Figures;
use crate::{date, words};
pub use audit::{Listing, list as audit_list};
pub use page::TextStyle;
use page::{Page, Tint};
use punctual_model::{Judged, Outcome, Recording, Verdict, Worst};
use punctual_units::Nanos;
pub use summary::{Place, SUMMARY_LINES, summary};

const WORST_SHOWN: usize = 3;

/// Formats the report for a terminal: verdict first, then its evidence. The text ends in a newline.
pub fn text(recording: &Recording, verdict: &Verdict, style: TextStyle) -> String {
    let mut page = Page::new(style);
    let headline = words::headline(recording, verdict);
    page.tagged(&format!("{}  ", headline.word), tint(headline.outcome), &headline.sentence);
    page.tagged("", Tint::Plain, &words::measured(recording, verdict));
    let warnings = words::warnings(recording, verdict);
    if !warnings.is_empty() {
        page.gap();
    }
    warnings.iter().for_each(|w| page.tagged("! ", Tint::Warn, w));
    claims(&mut page, recording, verdict);
    let figures = Figures::new(recording, verdict);
    table::summary(&mut page, &figures);
    series(&mut page, recording);
    section(&mut page, "Missing from the file", &words::lost(recording));
    section(&mut page, "Evidence", &words::evidence::from_figures(&figures));
    section(&mut page, "Beyond the data", &words::tails(recording, verdict));
    crate::why::text_section(&mut page, recording, verdict);
    recording.application.iter().for_each(|application| crate::application::section(&mut page, application, verdict));
    worst(&mut page, recording);
    section(&mut page, "Over time", &words::maxima(recording).into_iter().collect::<Vec<_>>());
    audit::section(&mut page, &recording.findings);
    section(&mut page, "Effect of each change", &recording.tuned.as_ref().map(words::tuned).unwrap_or_default());
    section(&mut page, "Published for this board", &crate::references::sentences(&figures));
    section(&mut page, "Notes", &words::notes(recording));
    page.finish()
}

fn tint(outcome: Outcome) -> Tint {
    match outcome {
        Outcome::Pass | Outcome::Held => Tint::Good,
        Outcome::Fail => Tint::Bad,
        Outcome::Inconclusive => Tint::Warn,
    }
}

fn section(page: &mut Page, title: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    page.heading(title);
    sentences.iter().for_each(|s| page.tagged("  - ", Tint::Plain, s));
}

fn claims(page: &mut Page, recording: &Recording, verdict: &Verdict) {
    if verdict.claims.is_empty() {
        return;
    }
    page.heading("Claims");
    for judged in &verdict.claims {
        let Judged { claim, outcome, .. } = judged;
        page.tagged(
            &format!("  {:<12}  ", words::word(*outcome)),
            tint(*outcome),
            &format!("{claim}: {}", words::claim(recording, judged)),
        );
    }
}

/// Prints figures that are not latencies, with their subject above each table.
fn series(page: &mut Page, recording: &Recording) {
    let all = recording.run.import.iter().flat_map(|import| &import.series);
    let mut last = None;
    for series in all {
        if last != Some(&series.of) {
            page.heading(&series.of);
            page.row(Tint::Strong, &series_line(&words::imported::SERIES_HEAD.map(String::from)));
            last = Some(&series.of);
        }
        page.row(Tint::Plain, &series_line(&words::imported::series_row(series)));
    }
}

fn series_line([name, unit, count, mean, min, max]: &[String; 6]) -> String {
    format!("  {name:<26} {unit:<4} {count:>7} {mean:>11} {min:>11} {max:>11}")
}

fn worst(page: &mut Page, recording: &Recording) {
    // Those of an application are shown in its section.
    if recording.worst.is_empty() || recording.application.is_some() {
        return;
    }
    page.heading("Worst wakeups");
    for (n, worst) in recording.worst.iter().take(WORST_SHOWN).enumerate() {
        page.tagged(&format!("  {}. ", n + 1), Tint::Plain, &worst_line(recording, worst));
        if let Some(explained) = recording.explained_of(worst) {
            page.tagged("     ", Tint::Plain, &words::stopped(&explained.victim.verdict));
        } else if let Some(first) = worst.suspicions.first() {
            page.tagged("     ", Tint::Plain, &words::stopped(&words::capital(&first.text)));
        }
    }
}

fn worst_line(recording: &Recording, worst: &Worst) -> String {
    let skipped = match worst.skipped {
        0 => String::new(),
        n => format!(", {} skipped", crate::number::plural(n, "period", "periods")),
    };
    let late = if words::noun(recording) == "wakeup" { " late" } else { "" };
    format!(
        "{}{late} {}{skipped}, at {}",
        Nanos(worst.latency_ns),
        words::at_place(recording, &worst.phase, worst.cpu),
        date::utc_millis(date::real_of(recording, worst.release_mono_ns)),
    )
}
