//! JUnit XML with one `testsuite` per group, for Jenkins (junit-10.xsd of its xUnit plugin), GitLab, Azure and the
//! readers of pytest.
//!
//! Implemented without `quick-junit`, which would add eight crates (chrono, uuid, vte, …) and 101 KB to the binary.

use crate::cases::{Case, CaseOutcome, Cases, Figure, FigureUnit, Group};
use punctual_clean as clean;
use punctual_report::utc;
use std::fmt::Write;

/// Writes JUnit XML. A failed case becomes a `failure`, an inconclusive one an `error`, so that neither is displayed as passed,
/// and a skipped one `skipped`. Figures are properties of their suite, with names such as `cpu1.p99_ns`.
pub fn junit(cases: &Cases) -> String {
    let all: Vec<&Case> = cases.cases().collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"punctual\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
        all.len(),
        count(&all, CaseOutcome::Fail),
        count(&all, CaseOutcome::Inconclusive)
    );
    cases.groups.iter().for_each(|group| suite(&mut out, cases, group));
    out + "</testsuites>\n"
}

fn count(cases: &[&Case], outcome: CaseOutcome) -> usize {
    cases.iter().filter(|case| case.outcome == outcome).count()
}

fn suite(out: &mut String, cases: &Cases, group: &Group) {
    let own: Vec<&Case> = group.cases.iter().collect();
    let counts = [CaseOutcome::Fail, CaseOutcome::Inconclusive, CaseOutcome::Skip].map(|o| count(&own, o));
    let _ = write!(
        out,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        group.name,
        own.len(),
        counts[0],
        counts[1],
        counts[2]
    );
    if let Some(seconds) = group.seconds {
        let _ = write!(out, " time=\"{seconds:.3}\"");
    }
    if let Some(real_ns) = cases.about.started_real_ns {
        let _ = write!(out, " timestamp=\"{}\"", utc(real_ns));
    }
    if let Some(host) = &cases.about.host {
        let _ = write!(out, " hostname=\"{}\"", xml(host));
    }
    out.push_str(">\n    <properties>\n");
    properties(out, cases, group);
    let not_known =
        cases.not_known.iter().filter(|_| cases.groups.first().is_some_and(|first| first.name == group.name));
    not_known.for_each(|sentence| property(out, "not_known", &xml(&clean::line(sentence))));
    out.push_str("    </properties>\n");
    own.iter().for_each(|case| testcase(out, group, case));
    out.push_str("  </testsuite>\n");
}

fn properties(out: &mut String, cases: &Cases, group: &Group) {
    let about = &cases.about;
    let clock = if about.is_virtual { "virtual" } else { "real" };
    let properties = [
        ("title", Some(group.title.as_str())),
        ("tool", Some(about.tool.as_str())),
        ("clock", Some(clock)),
        ("kernel", about.kernel_release.as_deref()),
        ("architecture", about.architecture.as_deref()),
        ("board", about.board.as_deref()),
    ];
    for (name, value) in properties.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        property(out, name, &xml(value));
    }
    for figure in &group.figures {
        property(out, &property_name(figure), &figure.value.to_string());
    }
}

fn property(out: &mut String, name: &str, value: &str) {
    let _ = writeln!(out, "      <property name=\"{name}\" value=\"{value}\"/>");
}

/// Returns the path below the group, followed by the unit if there is one.
fn property_name(figure: &Figure) -> String {
    let name = figure.path.get(1..).unwrap_or_default().join(".");
    match &figure.unit {
        FigureUnit::Nanoseconds => format!("{name}_ns"),
        FigureUnit::Count => name,
        FigureUnit::Other(unit) => format!("{name}_{}", crate::slug(unit)),
    }
}

fn testcase(out: &mut String, group: &Group, case: &Case) {
    let name = case.path.get(1..).unwrap_or_default().join(".");
    let _ = write!(out, "    <testcase classname=\"punctual.{}\" name=\"{name}\">", group.name);
    let (title, said) = (xml(&case.title), xml(&case.sentence));
    let _ = match case.outcome {
        CaseOutcome::Pass => write!(out, "<system-out>{title}: {said}</system-out>"),
        CaseOutcome::Held => write!(out, "<system-out>HELD: {title}: {said}</system-out>"),
        CaseOutcome::Skip => write!(out, "<skipped message=\"{said}\"/>"),
        CaseOutcome::Inconclusive => write!(out, "<error type=\"inconclusive\" message=\"{said}\">{title}</error>"),
        CaseOutcome::Fail => write!(out, "<failure type=\"failed\" message=\"{said}\">{title}</failure>"),
    };
    out.push_str("</testcase>\n");
}

/// Escapes a line of text for XML 1.0, which allows neither control characters (already replaced) nor U+FFFE and
/// U+FFFF, even if escaped.
pub(crate) fn xml(text: &str) -> String {
    clean::html(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
