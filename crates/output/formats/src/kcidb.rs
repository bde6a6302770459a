//! Reports for KCIDB, the common database of kernel test reports, in version 5.3 of its I/O schema
//! (kcidb_io/schema/v05_03.py).

use crate::cases::{Case, CaseOutcome, Cases, Figure, FigureUnit};
use punctual_clean as clean;
use punctual_report::{json_text, utc};
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KcidbIds {
    /// Name of the CI system as registered with KCIDB: `[a-z0-9_]+`.
    pub origin: String,
    /// The tested build, `origin:text`. If `None`, it is derived from the release and version of the kernel.
    pub build: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KcidbError {
    #[error(
        "`{0}` is not a valid KCIDB origin, which consists of a-z, 0-9 and _: give your CI system with --kcidb-origin"
    )]
    Origin(String),
    #[error("`{0}` is not a valid KCIDB build: use --kcidb-build ORIGIN:ID")]
    Build(String),
    #[error("the run does not state its kernel, so its build has no name: use --kcidb-build ORIGIN:ID")]
    Kernel,
    /// The run has neither a start time nor a checksum to identify it.
    #[error(
        "the run states neither its start time nor the file it was read from, so its tests have no IDs: import it with `punctual import`"
    )]
    Identity,
}

/// Writes a test object per case, and one with a `number` per figure (status DONE). Inconclusive becomes ERROR, because
/// DONE would rank below PASS.
///
/// # Errors
/// An ID is invalid, or cannot be derived from the run.
pub fn kcidb(cases: &Cases, ids: &KcidbIds) -> Result<String, KcidbError> {
    let is_origin =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_origin(&ids.origin) {
        return Err(KcidbError::Origin(clean::line(&ids.origin)));
    }
    let about = &cases.about;
    let build = match &ids.build {
        Some(build) if build.split_once(':').is_some_and(|(origin, _)| is_origin(origin)) => clean::line(build),
        Some(build) => return Err(KcidbError::Build(clean::line(build))),
        None => {
            let release = about.kernel_release.as_deref().ok_or(KcidbError::Kernel)?;
            let words = [about.architecture.as_deref(), Some(release), about.kernel_version.as_deref()];
            let words: Vec<&str> = words.into_iter().flatten().collect();
            format!("{}:{}", ids.origin, clean::line(&words.join(" ")))
        }
    };
    let run = match (about.started_real_ns, about.identity) {
        (Some(real_ns), _) => format!("{}-{}", utc(real_ns), real_ns % 1_000_000_000),
        (None, Some(crc)) => format!("{crc:08x}"),
        (None, None) => return Err(KcidbError::Identity),
    };
    let host = about.host.as_deref().map(crate::slug);
    let writer = Writer {
        cases,
        origin: &ids.origin,
        build,
        run: [host, Some(run)].into_iter().flatten().collect::<Vec<_>>().join("-"),
    };
    let tests: Vec<Value> = cases
        .cases()
        .map(|case| writer.case(case))
        .chain(cases.figures().map(|figure| writer.figure(figure)))
        .collect();
    Ok(json_text(&json!({"version": {"major": 5, "minor": 3}, "tests": tests})))
}

struct Writer<'a> {
    cases: &'a Cases,
    origin: &'a str,
    build: String,
    run: String,
}

impl Writer<'_> {
    fn case(&self, case: &Case) -> Value {
        let status = match case.outcome {
            CaseOutcome::Pass | CaseOutcome::Held => "PASS",
            CaseOutcome::Fail => "FAIL",
            CaseOutcome::Inconclusive => "ERROR",
            CaseOutcome::Skip => "SKIP",
        };
        let mut test = self.test(&case.path, status);
        test.insert("comment".into(), clean::line(&case.title).into());
        // The schema allows 16,384 characters. Lines are truncated at 2,000.
        let held = if case.outcome == CaseOutcome::Held { "HELD: " } else { "" };
        test.insert("log_excerpt".into(), (held.to_owned() + &clean::line(&case.sentence)).into());
        Value::Object(test)
    }

    fn figure(&self, figure: &Figure) -> Value {
        let mut test = self.test(&figure.path, "DONE");
        let number = match &figure.unit {
            FigureUnit::Nanoseconds => json!({"value": figure.value / 1e9, "unit": "s", "prefix": "metric"}),
            FigureUnit::Count => json!({"value": figure.value}),
            FigureUnit::Other(unit) => json!({"value": figure.value, "unit": clean::line(unit)}),
        };
        test.insert("number".into(), number);
        Value::Object(test)
    }

    fn test(&self, path: &[String], status: &str) -> Map<String, Value> {
        let about = &self.cases.about;
        let name = format!("punctual.{}", path.join("."));
        let mut test = Map::new();
        test.insert("id".into(), format!("{}:{}-{name}", self.origin, self.run).into());
        test.insert("origin".into(), self.origin.into());
        test.insert("build_id".into(), self.build.clone().into());
        test.insert("path".into(), name.into());
        test.insert("status".into(), status.into());
        if let Some(real_ns) = about.started_real_ns {
            test.insert("start_time".into(), utc(real_ns).into());
        }
        let seconds = self.cases.groups.iter().find(|g| Some(&g.name) == path.first()).and_then(|g| g.seconds);
        if let Some(seconds) = seconds {
            test.insert("duration".into(), seconds.into());
        }
        let comment: Vec<String> = [&about.host, &about.board].into_iter().flatten().map(|t| clean::line(t)).collect();
        let clock = if about.is_virtual { "virtual" } else { "real" };
        let mut misc = json!({"clock": clock, "tool": clean::line(&about.tool)});
        let is_of_run = self.cases.groups.first().is_some_and(|group| Some(&group.name) == path.first());
        if is_of_run && !self.cases.not_known.is_empty() {
            let sentences: Vec<String> = self.cases.not_known.iter().map(|text| clean::line(text)).collect();
            misc["not_known"] = sentences.into();
        }
        test.insert("environment".into(), json!({"comment": comment.join(", "), "misc": misc}));
        test
    }
}
