//! Table of all formats in which a recording can be written, including this program's own formats.

use crate::{
    Cases, CyclictestError, bencher, cyclictest_json, cyclictest_text, junit, lava, squad_metrics, squad_tests, tap,
};
use punctual_model::{Kind, Recording};

/// A format. docs/formats.md lists its consumers.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Alternative name on the command line.
    pub alias: Option<&'static str>,
    /// Description for `--help`.
    pub help: &'static str,
    /// The code that writes this format.
    pub writer: Writer,
}

/// The code that writes a format, and its input.
#[derive(Clone, Copy, Debug)]
pub enum Writer {
    /// Written by [`punctual_report`], with a separate writer for each kind of recording.
    Html,
    Text,
    Json,
    Csv,
    /// JSON lines from many runs (`fleet`).
    Jsonl,
    /// Written from named outcomes and figures, which event suites and benchmarks also have.
    Cases(fn(&Cases) -> String),
    /// Written by [`kcidb`](crate::kcidb) from the same input as `Cases`.
    Kcidb,
    /// Written from wakeup latencies, of one load or of all loads.
    Cyclictest(fn(&Recording, Option<&str>) -> Result<String, CyclictestError>),
    /// Written by [`prometheus`](crate::prometheus) from wakeup latencies.
    Prometheus,
    /// Written by [`sarif`](crate::sarif) from the findings of an audit.
    Sarif,
    /// Written by [`perfetto`](crate::perfetto) from a trace.
    Perfetto,
}

/// The subject of a report. A format either supports or rejects it ([`Writer::takes`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Wakeup latencies, measured or imported.
    Latency,
    /// An imported benchmark: a series of figures without wakeups.
    Series,
    Suite,
    Experiment,
    Bench,
    /// A series recorded by `watch`.
    Watch,
    Fleet,
}

impl Subject {
    pub const ALL: [Subject; 7] = [
        Subject::Latency,
        Subject::Series,
        Subject::Suite,
        Subject::Experiment,
        Subject::Bench,
        Subject::Watch,
        Subject::Fleet,
    ];

    pub fn of(recording: &Recording) -> Subject {
        let has_series = recording.run.import.as_ref().is_some_and(|import| !import.series.is_empty());
        match recording.run.kind {
            Kind::Imported if recording.run.phases.is_empty() && has_series => Subject::Series,
            Kind::Latency | Kind::Imported | Kind::Unknown => Subject::Latency,
            Kind::Events => Subject::Suite,
            Kind::Sched => Subject::Experiment,
            Kind::Bench => Subject::Bench,
        }
    }

    /// Returns the name with its article, for sentences.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Latency => "a run of wakeup latencies",
            Subject::Series => "an imported benchmark",
            Subject::Suite => "an event suite",
            Subject::Experiment => "a scheduling experiment",
            Subject::Bench => "a benchmark",
            Subject::Watch => "a watch",
            Subject::Fleet => "many runs",
        }
    }
}

impl Writer {
    pub fn takes(self, subject: Subject) -> bool {
        use Subject::{Bench, Experiment, Fleet, Latency, Series, Suite};
        match self {
            Writer::Html | Writer::Text | Writer::Json => true,
            Writer::Csv => matches!(subject, Latency | Suite | Experiment | Bench),
            Writer::Jsonl => matches!(subject, Latency | Fleet),
            Writer::Cases(_) | Writer::Kcidb => matches!(subject, Latency | Series | Suite | Bench),
            Writer::Cyclictest(_) | Writer::Prometheus | Writer::Sarif | Writer::Perfetto => subject == Latency,
        }
    }
}

impl Format {
    /// Rejects a subject that the format cannot represent.
    ///
    /// # Errors
    /// The subject is not supported. The text lists the formats that support it.
    pub fn check(&self, subject: Subject) -> Result<(), String> {
        if self.writer.takes(subject) {
            return Ok(());
        }
        let names: Vec<&str> = FORMATS.iter().filter(|f| f.writer.takes(subject)).map(|f| f.name).collect();
        let (last, most) = names.split_last().unwrap_or((&"html", &[]));
        Err(format!("{} cannot represent {}; use --format {} or {last}", self.name, subject.name(), most.join(", ")))
    }
}

pub const FORMATS: &[Format] = &[
    row("html", "Self-contained web page", Writer::Html),
    row("text", "Text for a terminal", Writer::Text),
    row("json", "JSON document with all figures", Writer::Json),
    row("csv", "Histograms, one line per bin", Writer::Csv),
    row("jsonl", "JSON lines from many runs, one per run, phase and CPU, for DuckDB", Writer::Jsonl),
    row("cyclictest", "Output of `cyclictest -q -h`", Writer::Cyclictest(cyclictest_text)),
    Format {
        alias: Some("rt-tests"),
        ..row("cyclictest-json", "Document of `cyclictest --json`", Writer::Cyclictest(cyclictest_json))
    },
    row(
        "junit",
        "JUnit XML: a test case for each claim, CPU and load, with figures as properties",
        Writer::Cases(junit),
    ),
    row("tap", "Test Anything Protocol, valid as version 13, 14 and KTAP", Writer::Cases(tap)),
    row("lava", "Signals for a LAVA dispatcher", Writer::Cases(lava)),
    row(
        "prometheus",
        "For the textfile collector of Prometheus' node exporter; --out replaces the file",
        Writer::Prometheus,
    ),
    row("kcidb", "KCIDB report, schema 5.3", Writer::Kcidb),
    row("squad-tests", "SQUAD test results", Writer::Cases(squad_tests)),
    Format { alias: Some("squad"), ..row("squad-metrics", "SQUAD metrics", Writer::Cases(squad_metrics)) },
    row("bencher", "Bencher Metric Format", Writer::Cases(bencher)),
    row("sarif", "Findings of the audit as SARIF 2.1.0", Writer::Sarif),
    row("perfetto", "Trace of the worst wakeup with its verdict, for ui.perfetto.dev (binary)", Writer::Perfetto),
];

const fn row(name: &'static str, help: &'static str, writer: Writer) -> Format {
    Format { name, alias: None, help, writer }
}
