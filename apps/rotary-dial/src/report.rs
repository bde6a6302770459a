use crate::counts::Counts;
use crate::train::Reason;
use punctual_rt::{PipeCounts, TaskStats};
use punctual_units::Nanos;
use serde_json::{Map, Value, json};
use std::fmt::Write;

#[derive(Clone, Debug, PartialEq)]
pub struct LineReport {
    pub name: String,
    pub place: String,
    pub map: String,
    pub counts: Counts,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub scheduling: String,
    /// Messages about requests that were refused: real-time scheduling, locked memory.
    pub narrowed: Vec<String>,
    pub task: TaskStats,
    pub pipe: String,
    pub piped: PipeCounts,
    /// Events that were counted but not printed, because their queue was full.
    pub unreported: u64,
    pub lines: Vec<LineReport>,
}

impl Report {
    pub fn json(&self) -> Value {
        let (counted, usage) = (&self.task.counted, &self.task.usage);
        json!({
            "event": "report",
            "program": "rotary-dial",
            "version": env!("CARGO_PKG_VERSION"),
            "scheduling": self.scheduling,
            "narrowed": self.narrowed,
            "task": {
                "period_ns": self.task.period.0,
                "released": counted.released,
                "ran": counted.ran,
                "skipped": counted.skipped,
                "lateness_max_ns": counted.lateness.max(),
                "lateness_p50_ns": counted.lateness.quantile(0.5),
                "execution_max_ns": counted.execution.max(),
                "page_faults": usage.page_faults,
            },
            "pipe": {"path": self.pipe, "written": self.piped.sent, "dropped": self.piped.dropped},
            "untold": self.unreported,
            "lines": self.lines.iter().map(line_json).collect::<Vec<_>>(),
        })
    }

    pub fn text(&self) -> String {
        let counted = &self.task.counted;
        let shown = |ns: Option<u64>| ns.map_or("not known".into(), |ns| Nanos(ns).to_string());
        let mut text = format!(
            "loop  {}, every {}: {} released, {} ran, {} skipped; late by {} at the median, {} at most\n",
            self.scheduling,
            self.task.period,
            counted.released,
            counted.ran,
            counted.skipped,
            shown(counted.lateness.quantile(0.5)),
            shown(counted.lateness.max()),
        );
        for narrowed in &self.narrowed {
            let _ = writeln!(text, "      {narrowed}");
        }
        let _ = writeln!(text, "pipe  {}: {} written, {} dropped", self.pipe, self.piped.sent, self.piped.dropped);
        for line in &self.lines {
            text.push_str(&line_text(line));
        }
        if self.unreported > 0 {
            let _ = writeln!(text, "      {} events were not printed: the output was too slow", self.unreported);
        }
        text
    }
}

fn line_json(line: &LineReport) -> Value {
    let Counts { samples, unread, digits, rejected, blind, lifted, hung_up, commands, unknown, dropped } = line.counts;
    let reasons: Map<String, Value> =
        Reason::ALL.iter().zip(rejected).map(|(reason, count)| (reason.name().to_owned(), json!(count))).collect();
    json!({
        "name": line.name, "at": line.place, "map": line.map,
        "samples": samples, "unread": unread, "digits": digits, "rejected": reasons, "blind": blind,
        "lifted": lifted, "hung_up": hung_up,
        "numbers": {"commands": commands, "unknown": unknown, "dropped": dropped},
    })
}

fn line_text(line: &LineReport) -> String {
    let c = &line.counts;
    let reasons: Vec<String> = Reason::ALL
        .iter()
        .zip(c.rejected)
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| format!("{} {count}", reason.name()))
        .collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    format!(
        "line  {} at {}, digits {}: {} samples, {} unread; {} digits, {} rejected{reasons}, samples missing {} times; lifted {} times\n      \
         {} commands, {} unknown numbers, {} incomplete\n",
        line.name,
        line.place,
        line.map,
        c.samples,
        c.unread,
        c.digits,
        c.rejected.iter().sum::<u64>(),
        c.blind,
        c.lifted,
        c.commands,
        c.unknown,
        c.dropped,
    )
}
