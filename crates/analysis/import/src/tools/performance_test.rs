//! Logs of performance_test (Apex.AI, ROS 2): one row per second with number, loss and extremes of message latencies,
//! as CSV or JSON.
//!
//! Formats: `AnalysisResult::csv_header` and `to_csv_string` (2018 to 2.x; milliseconds with four significant digits),
//! and `JsonLogger::log` (since 1.2; seconds). Without messages, the extremes are infinite in CSV and 0 in JSON.

use super::extremes::{Stated, clean, count_of, ns, ns_of};
use super::{Line, Taken};
use crate::block::{Block, Found, Loss};
use crate::{Options, number};
use punctual_model::LostKind;
use serde_json::Value;

const MOST_RUNS: usize = 64;
/// Lines of the configuration before the table.
const FACTS: [&str; 20] = [
    "Experiment id:",
    "Performance Test Version:",
    "Logfile name:",
    "Communication mean:",
    "RMW Implementation:",
    "DDS domain id:",
    "QOS:",
    "Publishing rate:",
    "Topic name:",
    "Msg name:",
    "Maximum runtime (sec):",
    "Number of publishers:",
    "Number of subscribers:",
    "Memory check enabled:",
    "With security:",
    "Zero copy transfer:",
    "Roundtrip Mode:",
    "Ignore seconds from beginning:",
    "Use single participant:",
    "---EXPERIMENT-START---",
];

/// One second of a run.
#[derive(Clone, Copy, Debug)]
struct Row {
    /// Seconds since the start of the run.
    at: f64,
    /// Seconds that this row covers.
    lasts: f64,
    received: u64,
    lost: u64,
    /// Number of latencies, if it is stated in addition to the number of messages.
    latencies: Option<u64>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    mean_ns: Option<f64>,
}

/// Sums over all rows of a run.
#[derive(Clone, Debug, Default)]
struct Run {
    rows: u64,
    at: f64,
    received: u64,
    lost: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    sum_ns: f64,
    width_ns: u64,
    round_trip: bool,
    most_seconds: Option<f64>,
    /// Number of seconds without rows at the beginning.
    ignored: Option<f64>,
    /// Number of rows that are duplicated or out of order.
    back: u64,
    gaps: u64,
    without: u64,
    unequal: u64,
}

impl Run {
    fn add(&mut self, row: Row) {
        let since = row.at - self.at;
        if self.rows > 0 {
            self.back = self.back.saturating_add(u64::from(since <= 0.0));
            // A row follows the previous one after its duration plus the time to write it.
            let gap = row.lasts > 0.0 && since > row.lasts * 1.5;
            self.gaps = self.gaps.saturating_add(u64::from(gap));
        } else if self.ignored.is_some_and(|ignored| row.at > ignored + row.lasts * 2.5) {
            self.gaps = 1;
        }
        self.rows = self.rows.saturating_add(1);
        self.at = self.at.max(row.at);
        self.received = self.received.saturating_add(row.received);
        self.lost = self.lost.saturating_add(row.lost);
        self.unequal = self.unequal.saturating_add(u64::from(row.latencies.is_some_and(|n| n != row.received)));
        if row.received == 0 {
            return;
        }
        self.without = self.without.saturating_add(u64::from(row.max_ns.is_none() || row.min_ns.is_none()));
        self.min_ns = self.min_ns.into_iter().chain(row.min_ns).min();
        self.max_ns = self.max_ns.max(row.max_ns);
        self.sum_ns += row.mean_ns.unwrap_or(f64::NAN) * row.received as f64;
    }

    fn block(self, line: u64, before: Option<String>) -> Block {
        let label = if self.round_trip { "round trip of a message" } else { "message latency" };
        let mut block = Block { label: label.into(), line, before, ..Block::default() };
        let mut lose = |n: u64, kind, text: &str| {
            if n > 0 {
                block.lost.push(Loss::problem(kind, Some(n), text));
            }
        };
        lose(self.lost, LostKind::Gap, "messages were sent but not received: they have no latency");
        lose(self.back, LostKind::Disagreement, "rows are duplicated or out of order");
        lose(
            self.gaps,
            LostKind::Gap,
            "rows of the log are missing: adjacent rows are further apart than the duration of a row",
        );
        lose(self.without, LostKind::Unreadable, "rows have messages but no readable latency");
        lose(self.unequal, LostKind::Disagreement, "rows state different numbers of latencies and messages");
        if let Some(most) = self.most_seconds.filter(|&most| most > 0.0 && self.at + 0.5 < most) {
            let text = format!("the log ends after {:.0} s of {most:.0} s", self.at);
            block.lost.push(Loss::problem(LostKind::Truncated, None, text));
        }
        let mean = self.sum_ns / self.received as f64;
        let stated = Stated {
            count: Some(self.received.min(number::MOST_SAMPLES)),
            min_ns: self.min_ns,
            max_ns: self.max_ns,
            mean_ns: Some(mean).filter(|m| m.is_finite()),
        };
        let text = "the latencies of all subscribers are combined";
        block.lost.push(Loss::reported(LostKind::Affinity, None, text));
        block.threads.push(stated.thread(0, self.width_ns.max(1)));
        block
    }
}

#[derive(Default)]
pub(crate) struct Reader {
    tables: Vec<Table>,
    /// Number of runs beyond the maximum.
    further: u64,
    /// Facts about the next run.
    next: Next,
    version: Option<String>,
    unreadable: u64,
}

#[derive(Default)]
struct Next {
    begun: bool,
    round_trip: bool,
    most_seconds: Option<f64>,
    ignored: Option<f64>,
}

struct Table {
    line: u64,
    before: Option<String>,
    columns: Columns,
    run: Run,
}

#[derive(Clone, Copy)]
struct Columns {
    at: usize,
    lasts: usize,
    received: usize,
    lost: usize,
    min: usize,
    max: usize,
    mean: usize,
    all: usize,
}

impl Reader {
    pub fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn fact(&mut self, text: &str) -> bool {
        let Some(key) = FACTS.iter().find(|key| text.starts_with(**key)) else { return false };
        if *key == "Experiment id:" {
            self.next = Next { begun: true, ..Next::default() };
        }
        if !self.next.begun {
            return false;
        }
        let value = text.strip_prefix(key).unwrap_or_default().trim();
        match *key {
            "Performance Test Version:" => self.version = Some(clean(value, 80)).filter(|v| !v.is_empty()),
            "Maximum runtime (sec):" => self.next.most_seconds = number::decimal(value),
            "Ignore seconds from beginning:" => self.next.ignored = number::decimal(value),
            "Roundtrip Mode:" => self.next.round_trip = value.eq_ignore_ascii_case("main"),
            _ => {}
        }
        true
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if let Some(columns) = columns(text) {
            let next = std::mem::take(&mut self.next);
            if self.tables.len() >= MOST_RUNS {
                self.further = self.further.saturating_add(1);
                return Taken::Yes;
            }
            let (round_trip, most_seconds, ignored) = (next.round_trip, next.most_seconds, next.ignored);
            let run = Run { round_trip, most_seconds, ignored, ..Run::default() };
            let before = line.before.map(|b| clean(b, 200));
            self.tables.push(Table { line: line.number, before, columns, run });
            return Taken::Yes;
        }
        if self.fact(text) {
            return Taken::Yes;
        }
        let Some(table) = self.tables.last_mut() else { return Taken::No };
        let fields = text.matches(',').count().saturating_add(1);
        let first = text.split(',').next().and_then(number::decimal);
        if first.is_none() || !(3..=200).contains(&fields) || !text.contains(",\t") && fields != table.columns.all {
            return Taken::No;
        }
        match row(text, table.columns) {
            Some((row, width)) if self.further == 0 => {
                table.run.width_ns = table.run.width_ns.max(width);
                table.run.add(row);
                Taken::Yes
            }
            Some(_) => Taken::Yes,
            None => {
                self.unreadable = self.unreadable.saturating_add(1);
                Taken::Unreadable
            }
        }
    }

    fn finish(self: Box<Self>, _: &Options) -> Option<Found> {
        if self.tables.iter().all(|t| t.run.rows == 0) {
            return None;
        }
        let mut found = Found {
            tool: Some("performance_test".into()),
            format: "performance-test-csv".into(),
            version: self.version,
            ..Found::default()
        };
        if self.unreadable > 0 {
            let text = "rows of performance_test could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.further > 0 {
            let text = format!("only the first {MOST_RUNS} runs of the text are read");
            found.lost.push(Loss::problem(LostKind::Other, Some(self.further), text));
        }
        let tables = self.tables.into_iter().filter(|t| t.run.rows > 0);
        found.blocks = tables.map(|t| t.run.block(t.line, t.before)).collect();
        Some(found)
    }
}

/// Parses a header such as `T_experiment,<TAB>T_loop,<TAB>received,…`.
fn columns(text: &str) -> Option<Columns> {
    if !text.starts_with("T_experiment") {
        return None;
    }
    // Until 2019 a separator ended the line.
    let names: Vec<&str> = text.split(',').map(str::trim).take(200).collect();
    let place = |name: &str| names.iter().position(|n| *n == name);
    Some(Columns {
        at: place("T_experiment")?,
        lasts: place("T_loop")?,
        received: place("received")?,
        lost: place("lost")?,
        min: place("latency_min (ms)")?,
        max: place("latency_max (ms)")?,
        mean: place("latency_mean (ms)")?,
        all: names.len(),
    })
}

/// Returns the row, and the resolution of its largest latency in ns.
fn row(text: &str, columns: Columns) -> Option<(Row, u64)> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let get = |at: usize| fields.get(at).copied().filter(|_| fields.len() == columns.all);
    let count = |at: usize| number::samples(get(at)?);
    let received = count(columns.received)?;
    let ms = |at: usize| get(at).and_then(float).filter(|_| received > 0);
    let (min, max) = (ms(columns.min), ms(columns.max));
    // The last field is a number. A truncated field may look like a valid one, but an empty one is truncated unless the
    // header also ends with a separator.
    if get(columns.all.checked_sub(1)?)?.is_empty() && !text.ends_with(',') {
        return None;
    }
    let row = Row {
        at: number::decimal(get(columns.at)?)?,
        lasts: number::decimal(get(columns.lasts)?)?,
        received,
        lost: count(columns.lost)?,
        latencies: None,
        min_ns: min.and_then(|ms| ns(ms, 1e6)),
        max_ns: max.and_then(|ms| ns(ms, 1e6)),
        mean_ns: ms(columns.mean).map(|ms| ms * 1e6),
    };
    let width = max.filter(|&ms| ms > 0.0).map_or(1, |ms| 10_f64.powf((ms * 1e6).log10().floor() - 3.0) as u64);
    Some((row, width.clamp(1, 1_000_000_000)))
}

/// Parses a value such as `0.04512` or `1.2e+03`, which may be neither negative nor infinite.
fn float(text: &str) -> Option<f64> {
    let plain =
        !text.is_empty() && text.len() <= 40 && text.bytes().all(|b| b.is_ascii_digit() || b".e+-".contains(&b));
    plain.then(|| text.parse::<f64>().ok()).flatten().filter(|v| v.is_finite() && *v >= 0.0)
}

/// Reads JSON; `None` if it belongs to another tool.
pub(crate) fn json(value: &Value, _: &Options) -> Option<Found> {
    let rows = value.get("analysis_results")?.as_array()?;
    value.get("perf_test_version").or_else(|| value.get("com_mean_str"))?;
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let mut run = Run {
        width_ns: 1,
        round_trip: text("roundtrip_mode").is_some_and(|m| m.eq_ignore_ascii_case("main")),
        most_seconds: value.get("max_runtime").and_then(Value::as_f64),
        ..Run::default()
    };
    let mut unreadable = 0_u64;
    for one in rows {
        match json_row(one) {
            Some(row) => run.add(row),
            None => unreadable = unreadable.saturating_add(1),
        }
    }
    let mut found = Found {
        tool: Some("performance_test".into()),
        format: "performance-test-json".into(),
        version: text("perf_test_version").map(|v| clean(v, 80)),
        ..Found::default()
    };
    if unreadable > 0 {
        let text = "rows of performance_test could not be read";
        found.lost.push(Loss::problem(LostKind::Unreadable, Some(unreadable), text));
    }
    for (key, what) in [("com_mean_str", "transport"), ("msg_name", "message"), ("topic_name", "topic")] {
        if let Some(text) = text(key).filter(|t| !t.is_empty()) {
            found.notes.push(format!("{what}: {}", clean(text, 80)));
        }
    }
    if run.rows > 0 {
        found.blocks.push(run.block(0, None));
    }
    Some(found)
}

fn json_row(one: &Value) -> Option<Row> {
    let seconds = |key: &str| one.get(key).and_then(Value::as_f64).filter(|ns| *ns >= 0.0).map(|ns| ns / 1e9);
    let received = count_of(one.get("num_samples_received"))?;
    let latencies = count_of(one.get("latency_n"));
    let some = received > 0 && latencies != Some(0);
    let value = |key: &str| ns_of(one.get(key), 1e9).filter(|_| some);
    Some(Row {
        at: seconds("experiment_start")?,
        lasts: seconds("loop_start")?,
        received,
        lost: count_of(one.get("num_samples_lost"))?,
        latencies,
        min_ns: value("latency_min"),
        max_ns: value("latency_max"),
        mean_ns: one.get("latency_mean").and_then(Value::as_f64).map(|s| s * 1e9).filter(|_| some),
    })
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const CSV: &str = include_str!("../../tests/fixtures/tools/performance_test.csv");
    const JSON: &str = include_str!("../../tests/fixtures/tools/performance_test.json");

    fn found(text: &str) -> Found {
        alone(Box::new(Reader::new(&Options::default())), text).unwrap()
    }

    fn of_json(value: &Value) -> Found {
        json(value, &Options::default()).unwrap()
    }

    fn problems(found: &Found) -> Vec<&str> {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        let all = threads.chain(found.blocks.iter().flat_map(|b| &b.lost)).chain(&found.lost);
        all.filter(|l| l.problem).map(|l| l.text.as_str()).collect()
    }

    #[test]
    fn a_log_as_csv() {
        let all = found(CSV);
        assert_eq!((all.tool.as_deref(), all.version.as_deref()), (Some("performance_test"), Some("2.0.0")));
        let [block] = all.blocks.as_slice() else { panic!() };
        let thread = &block.threads[0];
        assert_eq!((block.label.as_str(), thread.count), ("message latency", Some(2_999)));
        // 12.35 ms has four significant digits.
        assert_eq!((thread.min_ns, thread.max_ns, thread.width_ns), (Some(45_120), Some(12_350_000), 10_000));
        let mean = (0.07231 * 999.0 + 0.08102 * 1_000.0 + 0.07007 * 1_000.0) / 2_999.0 * 1e6;
        assert!((thread.mean_ns.unwrap() - mean).abs() < 1e-6);
        assert_eq!(problems(&all), ["messages were sent but not received: they have no latency"]);
        assert_eq!(block.lost[0].count, Some(1));
        let text = CSV.replace("Mode: NONE", "Mode: MAIN");
        assert_eq!(found(&text).blocks[0].label, "round trip of a message");
        assert_eq!(found(&format!("{CSV}\nagain\n{CSV}")).blocks.len(), 2);
    }

    #[test]
    fn lost_doubled_and_cut_rows_are_problems() {
        let lines: Vec<&str> = CSV.lines().collect();
        let first = lines.iter().position(|l| l.starts_with("1.0")).unwrap();
        for at in first + 1..lines.len() {
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(problems(&found(&fewer.join("\n"))).len() > 1, "without line {at}");
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(problems(&found(&more.join("\n"))).len() > 1, "line {at} twice");
        }
        let last = CSV.rfind("4.004").unwrap();
        for cut in last + 30..CSV.rfind(',').unwrap() {
            assert!(problems(&found(&CSV[..cut])).len() > 1, "{}", &CSV[..cut]);
        }
    }

    #[test]
    fn a_log_as_json() {
        let value: Value = serde_json::from_str(JSON).unwrap();
        let all = of_json(&value);
        let thread = &all.blocks[0].threads[0];
        assert_eq!((thread.count, thread.min_ns, thread.max_ns), (Some(200), Some(41_003), Some(1_234_567)));
        assert!((thread.mean_ns.unwrap() - 70_000.0).abs() < 1e-6);
        assert!(problems(&all).is_empty(), "{all:?}");
        let changed = |path: &str, new: Value| {
            let mut value = value.clone();
            *value.pointer_mut(path).unwrap() = new;
            problems(&of_json(&value)).len()
        };
        assert_eq!(changed("/analysis_results/1/num_samples_lost", json!(3)), 1);
        assert_eq!(changed("/analysis_results/1/latency_n", json!(99.0)), 1);
        assert_eq!(changed("/analysis_results/1/latency_max", json!(-0.5)), 1);
        assert!(changed("/analysis_results/1/experiment_start", json!(1)) > 0);
        assert_eq!(changed("/analysis_results/1", json!(null)), 1 + 1);
        assert_eq!(changed("/max_runtime", json!(60)), 1);
        assert!(json(&json!({"analysis_results": []}), &Options::default()).is_none());
    }

    #[test]
    fn other_text_is_not_taken() {
        let text = "seq,latency_us\n1,3\n2,900\nT_experiment is stated\nTopic name: x\n0:  1: 2\n";
        assert!(alone(Box::new(Reader::default()), text).is_none());
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..1400, n in 0_usize..60, with in "[0-9,.einf\t -]{0,9}") {
            let at = at.min(CSV.len());
            let end = (at + n).min(CSV.len());
            alone(Box::new(Reader::default()), &format!("{}{with}{}", &CSV[..at], &CSV[end..]));
            let at = at.min(JSON.len());
            let end = (at + n).min(JSON.len());
            if let Ok(value) = serde_json::from_str(&format!("{}{with}{}", &JSON[..at], &JSON[end..])) {
                json(&value, &Options::default());
            }
        }
    }
}
