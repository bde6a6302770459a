//! Recognises texts that are not traces but are mistaken for them: tables of other tools, and the kernel's log.

mod bpf;
mod figures;
mod measuring;
mod negative;
mod perf;
mod programs;
mod rows;
mod stacks;
mod statistics;
mod tables;

use super::{log, repair};
use crate::info::TraceError;
use bpf::{criticalstat, histograms, runqslower, softirqslower, totals};
use measuring::{measured, trace_irqoff};
use perf::{contention, kwork, kwork_tables, lock_report, sched_latency, timehist, trace_summary};
use programs::{maps, noises, pressure, strace_sums, syscounts, uftrace};
use stacks::{folded, offcpu, wakers};
use statistics::{proc_sched, schbench};
use tables::{biosnoop, calls, hist_triggers, klockstat, latencies, latencytop, ltt, other_tools, with_maximum};

const LATENCIES: &str = "`punctual import FILE --out DIR` reads its figures";
const RECORD: &str = "`perf script` prints the underlying events";
const EVENTS: &str = "record sched_switch, sched_waking, irq and irq_vectors events at that time, with stacks where preemption or interrupts are off";

/// Reads the output of one tool. Returns what it contains, and what to record next; `None` for another tool's output.
type Reader = fn(&str) -> Option<(String, &'static str)>;

/// Describes a text that contains no trace, with the worst latency in it.
pub(super) fn summary(head: &[u8]) -> Option<TraceError> {
    let mut lines = head.split(|b| *b == b'\n').map(|line| repair::unquote(line).0);
    let head = unbroken(&String::from_utf8_lossy(&lines.by_ref().collect::<Vec<_>>().join(&b'\n')));
    let log = || {
        let said = log::said(&head)?;
        let below_zero = negative::note(&head).filter(|_| !said.contains("below 0")).unwrap_or_default();
        Some(TraceError::Log { said: said + &below_zero, next: EVENTS })
    };
    let table = |(what, next)| TraceError::Summary { what, next };
    let known = negative::without(&head, tables).map(|(what, next)| (with_omission(what, &head), next)).map(table);
    known.or_else(log).or_else(|| negative::without(&head, others).map(table))
}

/// Joins the lines that quoted-printable mail broke: those that end with `=`, if several do. A heading such as `Max=` may
/// lack the blank before the break.
fn unbroken(head: &str) -> String {
    const FEWEST: usize = 2;
    let is_soft = |line: &str| line.ends_with('=') && !line.ends_with("==");
    if head.lines().filter(|line| is_soft(line)).count() < FEWEST {
        return head.to_owned();
    }
    let mut out = String::with_capacity(head.len());
    for line in head.lines() {
        match line.strip_suffix('=').filter(|_| is_soft(line)) {
            Some(part) => out.push_str(part),
            None => out.extend([line, "\n"]),
        }
    }
    out.replace("=3D", "=").replace("=20", " ")
}

/// Returns the figures of a table or list that no reader knows.
pub(super) fn unknown(head: &[u8]) -> Option<TraceError> {
    figures::figures(&String::from_utf8_lossy(head)).map(|figures| TraceError::Figures { figures })
}

/// Reads the tables of the known tools.
fn tables(head: &str) -> Option<(String, &'static str)> {
    const TOOLS: [Reader; 31] = [
        schbench,
        proc_sched,
        timehist,
        sched_latency,
        kwork,
        kwork_tables,
        runqslower,
        trace_irqoff,
        offcpu,
        folded,
        wakers,
        ltt,
        lock_report,
        contention,
        totals,
        softirqslower,
        criticalstat,
        klockstat,
        biosnoop,
        latencytop,
        trace_summary,
        calls,
        hist_triggers,
        latencies,
        uftrace,
        noises,
        pressure,
        syscounts,
        strace_sums,
        maps,
        buckets,
    ];
    let measured = measured(head);
    measured.or_else(|| TOOLS.iter().find_map(|read| read(head)))
}

/// Reads tables that are recognised by little.
fn others(head: &str) -> Option<(String, &'static str)> {
    other_tools(head).or_else(|| with_maximum(head))
}

fn buckets(head: &str) -> Option<(String, &'static str)> {
    let (buckets, is_cut) = histograms(head, has_omission(head))?;
    let what = if is_cut {
        format!(
            "a cut histogram, whose last buckets shown with a count are {buckets}; rows may be missing, so larger values are possible"
        )
    } else {
        format!("a histogram, whose worst buckets are {buckets}")
    };
    let calls = |line: &str| line.contains("cpudist") && !line.contains(" -O") && !line.contains("--offcpu");
    let ran = match head.lines().any(calls) {
        true => "; cpudist measures how long threads ran on a CPU, not how long they waited",
        false => "",
    };
    Some((what + ran, EVENTS))
}

/// True if whoever pasted the text left lines out.
fn has_omission(head: &str) -> bool {
    head.lines().any(|line| repair::is_omission(line.as_bytes()))
}

fn with_omission(what: String, head: &str) -> String {
    // A row of maxima is of the whole run.
    let has_row = |row: &str| head.lines().any(|line| line.trim_start().starts_with(row));
    let has_maxima = (what.starts_with("a histogram of cyclictest (") && has_row("# Max Latencies:"))
        || (what.starts_with("a histogram of rtla") && has_row("max:") && !what.contains("without the row of maxima"));
    let is_known =
        ["rows may be missing", "values are left out", "no row is missing"].iter().any(|said| what.contains(said))
            || (has_maxima && !what.contains("; the lines of"));
    match has_omission(head) && !is_known {
        true => what + "; lines are left out of this text, and the largest value may be in them",
        false => what,
    }
}

#[cfg(test)]
mod tests;
