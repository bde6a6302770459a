//! Tables and histograms of the tools of bcc and bpftrace.

use super::EVENTS;
use crate::text::scan::text;
use std::collections::BTreeSet;

/// Parses `04:30:27 kworker/0:1      18446            7500` of bcc's runqslower, below a line that ends in `LAT(us)`.
pub(super) fn runqslower(head: &str) -> Option<(String, &'static str)> {
    let is_head = |line: &str| line.find("COMM").zip(line.find("LAT(us)")).is_some_and(|(comm, lat)| comm < lat);
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1);
    let row = |row: &str| {
        // The name may contain spaces; with -P the previous thread and its ID follow.
        let words: Vec<&str> = row.split_whitespace().collect();
        let number = |n: usize| words.get(n)?.parse::<u64>().ok();
        let (at, tid, us) = (2..words.len()).find_map(|n| Some((n, number(n)?, number(n + 1)?)))?;
        let name = words.get(1..at)?.join(" ");
        let before = match words.get(at + 2..).and_then(<[&str]>::split_last) {
            Some((&"0", _)) => ", to which the CPU switched from the idle task".to_owned(),
            Some((tid, name)) if !name.is_empty() && tid.parse::<u64>().is_ok() => {
                format!(", to which the CPU switched from {} ({tid})", text(name.join(" ").as_bytes(), 32))
            }
            _ => String::new(),
        };
        let name = text(name.as_bytes(), 32);
        let is_after_thread = before.ends_with(')');
        Some(((us, format!("{us} µs, of {name} ({tid}){before}"), is_after_thread), (tid, name)))
    };
    let (rows, threads): (Vec<_>, BTreeSet<_>) = rows.filter_map(row).unzip();
    let names = |of: u64| threads.iter().filter(|(tid, _)| *tid == of).count();
    let renamed = threads.iter().map(|(tid, _)| *tid).max_by_key(|tid| names(*tid)).filter(|tid| names(*tid) > 1);
    let doubt = renamed
        .map(|tid| format!("; {tid} has {} names: the names need not be those of the threads that waited", names(tid)));
    let doubt = doubt.unwrap_or_default();
    let (longest, what, is_after_thread) = rows.iter().max_by_key(|(us, ..)| *us)?;
    // The idle task keeps nobody waiting.
    let other =
        rows.iter().filter(|(us, _, named)| *named && !is_after_thread && us < longest).max_by_key(|(us, ..)| *us);
    let other = other.map(|(_, what, _)| format!("; the longest after another thread is {what}")).unwrap_or_default();
    Some((format!("runqslower (the longest wait for a CPU is {what}{other}{doubt})"), EVENTS))
}

/// Parses bcc's softirqslower: `14:41:43 irq(hard) to softirq net_rx   50223  0  cat` below a heading, and `23:09:54
/// softirq runtime: rcu took 12 us (0 ms), on CPU:1, comm:swapper/1`.
pub(super) fn softirqslower(head: &str) -> Option<(String, &'static str)> {
    let rows = head.lines().skip_while(|line| !(line.contains("SOFTIRQ") && line.contains("LAT(us)"))).skip(1);
    let row = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let at = words.iter().skip(1).position(|word| word.parse::<u64>().is_ok())? + 1;
        let (us, stage) = (words.get(at)?.parse::<u64>().ok()?, words.get(1..at)?.join(" "));
        let (cpu, who) = (words.get(at + 1)?.parse::<u32>().ok()?, words.get(at + 2..)?.join(" "));
        Some((us, stage, cpu, who))
    };
    let sentence = |line: &str| {
        let (stage, rest) = line.trim().split_once(" took ")?;
        let (us, rest) = rest.split_once(" us")?;
        let (cpu, who) = rest.split_once("on CPU:")?.1.split_once(", comm:")?;
        let stage = stage.split_once(' ')?.1.replace(": ", " ");
        Some((us.parse().ok()?, stage, cpu.trim().parse().ok()?, who.trim().to_owned()))
    };
    let rows = rows.filter_map(row).chain(head.lines().filter_map(sentence));
    let (us, stage, cpu, who) = rows.max()?;
    let (stage, who) = (text(stage.as_bytes(), 60), text(who.as_bytes(), 32));
    let what = format!("softirqslower (the longest is {us} µs, of {stage} on CPU {cpu}, while {who} was current)");
    Some((what, EVENTS))
}

/// Parses `TASK: app (pid 246 tid 246) Total Time: 580.730 us` and the lines that show where the section begins and
/// ends, of bcc's criticalstat.
pub(super) fn criticalstat(head: &str) -> Option<(String, &'static str)> {
    let what = if head.contains("preempt") && !head.contains("IRQ disabled") { "preemption" } else { "interrupts" };
    let mut worst: Option<(f64, String)> = None;
    let mut lines = head.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        let Some((who, time)) = line.strip_prefix("TASK: ").and_then(|line| line.split_once(" Total Time: ")) else {
            continue;
        };
        let Some(us) = time.split_whitespace().next().and_then(|us| us.trim_end_matches("us").parse::<f64>().ok())
        else {
            continue;
        };
        let end = |line: Option<&str>, key: &str| {
            let (function, caller) = line?.strip_prefix(key)?.trim().split_once(" -> ")?;
            Some(format!("{} ← {}", text(function.as_bytes(), 64), text(caller.as_bytes(), 64)))
        };
        lines.next_if(|line| line.is_empty());
        let from = end(lines.peek().copied(), "Section start:");
        lines.next_if(|_| from.is_some());
        let to = end(lines.peek().copied(), "Section end:");
        let place = from.zip(to).map(|(from, to)| format!(", from {from} to {to}")).unwrap_or_default();
        if worst.as_ref().is_none_or(|(most, _)| us > *most) {
            let who: Vec<&str> = who.split_whitespace().collect();
            let who = text(who.join(" ").as_bytes(), 64);
            worst = Some((us, format!("criticalstat ({what} off for {us} µs in {who}{place})")));
        }
    }
    worst.map(|(_, what)| (what, EVENTS))
}

/// Parses `IPI-2  1421603` below `HARDIRQ  TOTAL_usecs` of bcc's hardirqs and softirqs; later versions have the number
/// of interrupts, the longest and the CPU as well.
pub(super) fn totals(head: &str) -> Option<(String, &'static str)> {
    let name = |line: &str| {
        let is_head = line.contains("IRQ") && (line.contains("TOTAL_") || line.contains("TOTAL ("));
        line.split_whitespace().next().filter(|_| is_head).map(str::to_owned)
    };
    // A text may have the tables of both tools; those of one tool are its intervals.
    let mut tools: Vec<(String, String)> = Vec::new();
    let mut of = None;
    for line in head.lines() {
        if let Some(name) = name(line) {
            of = tools.iter().position(|(tool, _)| *tool == name).or_else(|| {
                tools.push((name, String::new()));
                tools.len().checked_sub(1)
            });
        }
        if let Some((_, lines)) = of.and_then(|of| tools.get_mut(of)) {
            lines.push_str(line);
            lines.push('\n');
        }
    }
    let mut said: Vec<String> = tools.iter().filter_map(|(_, lines)| sums(lines)).collect();
    if let Some((last, others)) = said.split_last_mut() {
        let remark = last.rsplit_once("; ").map(|(_, remark)| format!("; {remark}")).unwrap_or_default();
        for other in others {
            other.truncate(other.strip_suffix(&remark).map_or(other.len(), str::len));
        }
    }
    (!said.is_empty()).then(|| (format!("a table of hardirqs or softirqs ({})", said.join("; ")), EVENTS))
}

/// Describes the tables of one tool, with the largest row of all intervals.
fn sums(head: &str) -> Option<String> {
    let is_head = |line: &&str| line.contains("IRQ") && (line.contains("TOTAL_") || line.contains("TOTAL ("));
    let heading = head.lines().find(is_head)?.replace("TOTAL (", "TOTAL_(");
    let unit = if heading.contains("nsecs") { "ns" } else { "µs" };
    let columns: Vec<&str> = heading.split_whitespace().skip(1).collect();
    let column = |is: &dyn Fn(&str) -> bool| columns.iter().position(|name| is(name));
    let total = column(&|name| name.starts_with("TOTAL") && name.contains("secs"));
    let (max, cpu) = (column(&|name| name.starts_with("MAX")), column(&|name| name == "CPU"));
    let of = total.or_else(|| column(&|name| name.starts_with("TOTAL")))?;
    let rows = head.lines().skip_while(|line| !is_head(line)).skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        // The name may contain spaces, and a remark may follow the row.
        let at = (1..words.len()).find(|at| words.get(*at..at + columns.len()).is_some_and(are_numbers))?;
        let name = words.get(..at)?.join(" ");
        let figures: Vec<u64> =
            words.get(at..at + columns.len())?.iter().filter_map(|word| word.parse().ok()).collect();
        Some((name, figures))
    });
    let on = |row: &(String, Vec<u64>)| {
        let cpu = cpu.and_then(|at| row.1.get(at)).map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
        format!("{}{cpu}", text(row.0.as_bytes(), 40))
    };
    let rows: Vec<(String, Vec<u64>)> = rows.collect();
    let most = |at: usize| rows.iter().filter_map(|row| Some((*row.1.get(at)?, row))).max();
    let (figure, row) = most(of)?;
    let sum = match total {
        Some(_) => format!("the largest sum is {figure} {unit}, of {}", on(row)),
        None => format!("the most frequent is {}, {figure} times", on(row)),
    };
    let longest = max.and_then(most).map(|(max, row)| format!("; the longest is {max} {unit}, of {}", on(row)));
    Some(match longest {
        Some(longest) => format!("{sum}{longest}"),
        None if total.is_some() => format!("{sum}; sums do not show single delays"),
        None => format!("{sum}; counts do not show delays"),
    })
}

fn are_numbers(words: &[&str]) -> bool {
    !words.is_empty() && words.iter().all(|word| word.parse::<u64>().is_ok())
}

/// A histogram: its label and unit, its buckets in order.
#[derive(Default)]
struct Histogram<'a> {
    label: String,
    unit: &'a str,
    buckets: Vec<(String, u64)>,
    is_bcc: bool,
    /// The lower bound of the last bucket that is not empty.
    worst: f64,
    /// Average and number of values, where the tool states them.
    average: Option<String>,
    stated: Option<u64>,
}

/// Returns the last nonzero bucket of each histogram of bcc (`640 -> 1279 : 1 |***|`) or bpftrace (`[1K, 2K) 7 |@@|`), and the
/// fullest one; also true if rows are missing, because `is_cut` says so or empty rows are the last ones: bcc prints none
/// after the last one with a count.
pub(super) fn histograms(head: &str, is_cut: bool) -> Option<(String, bool)> {
    const MOST: usize = 3;
    let mut all: Vec<Histogram> = Vec::new();
    let (mut unit, mut label) = ("", String::new());
    let mut begins = true;
    let mut lines = head.lines().map(str::trim).peekable();
    while let Some(line) = lines.next() {
        // A mail client wraps the line before or inside its bar.
        let is_cut = line.starts_with('[') && bucket(line).is_none();
        let wrapped = lines.peek().filter(|_| is_cut).and_then(|next| bucket(&format!("{line} {next}")));
        lines.next_if(|_| wrapped.is_some());
        if let Some((of, _)) =
            line.split_once(':').filter(|(_, rest)| rest.contains("count") && rest.contains("distribution"))
        {
            (unit, begins) = (of.trim(), true);
        } else if let Some((from, to, count)) = bucket(line).or(wrapped) {
            if std::mem::take(&mut begins) || all.is_empty() {
                all.push(Histogram { label: label.clone(), unit, is_bcc: line.contains("->"), ..Histogram::default() });
            }
            if let Some(of) = all.last_mut() {
                of.worst = if count > 0 { bound(&from) } else { of.worst };
                let unit = if of.unit.is_empty() { String::new() } else { format!(" {}", of.unit) };
                let range = if from == to { from } else { format!("{from} to {to}") };
                of.buckets.push((format!("{range}{unit}"), count));
            }
        } else if line.ends_with(':') || line.contains('=') {
            // A time stamp may precede the name.
            let named = line.trim_end_matches(':');
            let name = named.split_whitespace().next_back().filter(|name| name.starts_with('@'));
            (label, begins) = (name.unwrap_or(named).to_owned(), true);
        }
    }
    let stated = stated(head).filter(|_| all.len() == 1);
    if let (Some(stated), [of]) = (&stated, all.as_mut_slice()) {
        (of.average, of.stated) = (Some(stated.average.clone()), Some(stated.count));
    }
    let is_whole = all.iter().all(Histogram::is_whole);
    if all.len() > MOST {
        all.sort_by(|a, b| b.worst.total_cmp(&a.worst));
    }
    let is_cut = !is_whole && (is_cut || has_empty_end(&all));
    let said: Vec<String> = all.iter().filter_map(|of| of.said(is_cut)).take(MOST).collect();
    (!said.is_empty()).then(|| (said.join("; "), is_cut))
}

/// True if a histogram of bcc ends in rows without a count: bcc prints none after the last one with a count.
fn has_empty_end(all: &[Histogram]) -> bool {
    all.iter().any(|of| of.is_bcc && of.buckets.last().is_some_and(|(_, count)| *count == 0))
}

/// What bcc's funclatency and biolatency print below a histogram: `avg = 1825567 nsecs, total: 7477526027 nsecs, count: 4096`.
struct Stated {
    average: String,
    count: u64,
}

fn stated(head: &str) -> Option<Stated> {
    let mut found = head.lines().filter_map(|line| {
        let (average, rest) = line.trim().strip_prefix("avg = ")?.split_once(", total: ")?;
        let count = rest.split_once(", count: ")?.1.trim().parse().ok()?;
        Some(Stated { average: text(average.as_bytes(), 40), count })
    });
    found.next().filter(|_| found.next().is_none())
}

impl Histogram<'_> {
    /// True if the rows have as many values as the tool counted, so that no row is missing.
    fn is_whole(&self) -> bool {
        self.stated == Some(self.sum())
    }

    fn sum(&self) -> u64 {
        self.buckets.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count))
    }

    /// Returns the fullest bucket behind a dip after the fullest one of all.
    fn hump(&self) -> Option<&(String, u64)> {
        const FEWEST: u64 = 5;
        let (most, fullest) = self.buckets.iter().enumerate().max_by_key(|(_, (_, count))| *count)?;
        let mut lowest = fullest.1;
        let behind = self.buckets.iter().skip(most + 1).filter(|(_, count)| {
            lowest = lowest.min(*count);
            *count >= FEWEST && *count >= lowest.saturating_mul(2)
        });
        behind.max_by_key(|(_, count)| *count)
    }

    fn said(&self, is_cut: bool) -> Option<String> {
        let (worst, count) = self.buckets.iter().rfind(|(_, count)| *count > 0)?;
        let times = if *count == 1 { "once".to_owned() } else { format!("{count} times") };
        let all = self.sum();
        let fullest = self.buckets.iter().max_by_key(|(_, count)| *count).filter(|(bucket, _)| bucket != worst);
        let fullest = fullest
            .map(|(bucket, count)| {
                let all = if is_cut { format!("{all} shown") } else { format!("{all} in all") };
                let hump = self.hump().filter(|(bucket, _)| bucket != worst);
                let hump = hump.map(|(bucket, count)| format!(", and behind a dip {bucket}: {count}"));
                format!(" (of {all}; the fullest bucket is {bucket}: {count}{})", hump.unwrap_or_default())
            })
            .unwrap_or_default();
        let average = self.average.as_ref().map(|average| format!("; the average is {average}")).unwrap_or_default();
        let counted = match self.stated {
            Some(stated) if stated == all => format!("; {stated} were counted, so no row is missing"),
            Some(stated) => format!("; {stated} were counted"),
            None => String::new(),
        };
        let of = format!("{worst}, {times}{fullest}{average}{counted}");
        Some(if self.label.is_empty() { of } else { format!("{}: {of}", text(self.label.as_bytes(), 40)) })
    }
}

/// Parses a bound such as `64K`, in which the letter stands for a power of 1024.
fn bound(from: &str) -> f64 {
    let digits = from.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = ["K", "M", "G", "T"].iter().position(|letter| from.ends_with(letter)).map_or(0, |n| n as i32 + 1);
    digits.parse::<f64>().unwrap_or(0.0) * 1024f64.powi(scale)
}

fn bucket(line: &str) -> Option<(String, String, u64)> {
    let (range, rest) = match line.strip_prefix('[') {
        // bpftrace prints a bucket of one value as `[1]`, and lower limits as `(..., 0)`.
        Some(rest) => {
            let (range, rest) = rest.split_once([')', ']'])?;
            (range.split_once(", ").unwrap_or((range, range)), rest)
        }
        None => {
            let (range, rest) = line.split_once(" : ")?;
            (range.split_once(" -> ")?, rest)
        }
    };
    let (count, bar) = rest.trim().split_once('|')?;
    let is_bar =
        bar.trim_end().strip_suffix('|').is_some_and(|bar| bar.chars().all(|c| c == '@' || c == '*' || c == ' '));
    is_bar.then_some(())?;
    Some((range.0.trim().to_owned(), range.1.trim().to_owned(), count.trim().parse().ok()?))
}
