//! Formats statistics as a few lines of text.

use crate::{Counted, End, Finished, InterruptStats, TaskStats, TaskUsage};
use punctual_units::{Histogram, Nanos, debug_as_display};
use std::fmt;

/// Formats a histogram: `9.34 µs at the median, 12.1 µs at 99 %, 93.0 µs at most`. Quantiles for which there are too
/// few samples are omitted.
struct Times<'a>(&'a Histogram);

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (q, name) in [(0.5, "at the median"), (0.99, "at 99 %")] {
            if let Some(ns) = self.0.quantile(q) {
                write!(f, "{} {name}, ", Nanos(ns))?;
            }
        }
        write!(f, "{} at most", Nanos(self.0.max().unwrap_or(0)))
    }
}

/// Formats two or three lines: releases, lateness, execution times.
impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} released: {} ran, {} skipped", self.released, self.ran, self.skipped)?;
        if self.pending > 0 {
            write!(f, ", {} pending", self.pending)?;
        }
        write!(f, "; {} after their deadline", self.deadline_misses)?;
        if self.overruns > 0 {
            write!(f, "; throttled {} times", self.overruns)?;
        }
        if self.lateness.count() > 0 {
            write!(f, "\nlate by {}", Times(&self.lateness))?;
        }
        if let Some(worst) = &self.worst {
            write!(f, " (release {})", worst.index)?;
        }
        if self.execution.count() > 0 {
            write!(f, "\nran for {}", Times(&self.execution))?;
        }
        Ok(())
    }
}

/// Formats `0 page faults, 1,000 voluntary and 2 involuntary switches, 0 migrations`, with `?` for counters that the
/// kernel does not report.
impl fmt::Display for TaskUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |count: Option<u64>| count.map_or("?".into(), |count| count.to_string());
        write!(
            f,
            "{} page faults, {} voluntary and {} involuntary switches, {} migrations",
            known(self.page_faults),
            known(self.voluntary_switches),
            known(self.involuntary_switches),
            known(self.migrations)
        )
    }
}

/// Formats the name and period, then [`Counted`] and [`TaskUsage`], without a final newline.
impl fmt::Display for TaskStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, every {}: {}\n{}", self.name, self.period, self.counted, self.usage)
    }
}

/// Formats the statistics, and how the task ended.
impl fmt::Display for Finished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.stats, self.end)
    }
}

/// Formats how the task ended, as a sentence without a full stop.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::Returned => write!(f, "ended by its body"),
            End::Stopped => write!(f, "stopped"),
            End::Cycles => write!(f, "ended after its number of cycles"),
            End::Missed => write!(f, "ended because it was late (Miss::Stop)"),
            End::Failed => write!(f, "ended because its source of events failed"),
            End::Panicked(message) => write!(f, "ended by a panic: {message}"),
        }
    }
}

/// Formats events, latency, execution times and usage, without a final newline.
impl fmt::Display for InterruptStats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InterruptStats { name, events, handled, coalesced, lost, .. } = self;
        write!(f, "{name}: {events} events: {handled} handled, {coalesced} coalesced, {lost} lost")?;
        if self.latency.max().is_some_and(|max| max > 0) {
            write!(f, "\nlate by {}", Times(&self.latency))?;
        }
        if self.execution.count() > 0 {
            write!(f, "\nran for {}", Times(&self.execution))?;
        }
        write!(f, "\n{}", self.usage)?;
        if let Some(errno) = self.failed {
            write!(f, "\nits source failed: {errno}")?;
        }
        Ok(())
    }
}

debug_as_display!(Counted, TaskStats, Finished, InterruptStats);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorstCycle;

    fn histogram(values: std::ops::Range<u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.for_each(|n| histogram.record(n * 1_000));
        histogram
    }

    fn counted() -> Counted {
        let worst = Some(WorstCycle { index: 41, scheduled: Nanos(1), lateness: Nanos(200_000) });
        Counted { released: 203, ran: 200, skipped: 3, lateness: histogram(1..201), worst, ..Counted::default() }
    }

    #[test]
    fn counts_are_a_few_lines_in_either_form() {
        let text = counted().to_string();
        assert_eq!(text, format!("{:?}", counted()));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "203 released: 200 ran, 3 skipped; 0 after their deadline");
        assert!(lines[1].starts_with("late by ") && lines[1].ends_with("200 µs at most (release 41)"), "{text}");
        assert_eq!(lines.len(), 2);
        assert_eq!(Counted::default().to_string(), "0 released: 0 ran, 0 skipped; 0 after their deadline");
        let more = Counted { pending: 2, overruns: 5, execution: histogram(5..6), ..Counted::default() }.to_string();
        assert!(more.contains("2 pending") && more.contains("throttled 5 times"), "{more}");
        assert!(more.ends_with("ran for 5.00 µs at the median, 5.00 µs at most"), "{more}");
    }

    #[test]
    fn a_task_s_statistics_name_what_is_unknown() {
        let usage = TaskUsage { page_faults: Some(0), ..TaskUsage::default() };
        let stats =
            TaskStats { name: "control".into(), period: Nanos(1_000_000), at: Nanos(0), counted: counted(), usage };
        let text = format!("{}", Finished { end: End::Stopped, stats });
        assert!(text.starts_with("control, every 1.00 ms: 203 released"), "{text}");
        assert!(text.contains("0 page faults, ? voluntary") && text.ends_with("\nstopped"), "{text}");
    }
}
