//! Latency tests of RTAI (testsuite/kern/latency, user/latency, kern/kthreads), with one row per averaging interval.
//!
//! Overall minimum, overall maximum and overruns cover the run up to the row. There is no total at the end.

use super::{Line, Taken, signed};
use crate::Options;
use crate::block::{Beyond, Block, Found, Loss, Samples, Skips, Thread};
use crate::number;
use punctual_model::LostKind;

const MOST_RUNS: usize = 256;
const SECOND_NS: u64 = 1_000_000_000;
/// Number of rows between two headers.
const PAGE: u64 = 21;

#[derive(Default)]
pub(crate) struct Reader {
    about: About,
    /// Layout of the following rows.
    columns: Option<Columns>,
    run: Option<Run>,
    done: Vec<Run>,
    dropped: u64,
    unreadable: u64,
}

/// What the lines before a run state about it.
#[derive(Clone, Default)]
struct About {
    line: Option<u64>,
    before: Option<String>,
    what: Option<String>,
    period_ns: Option<u64>,
    seconds: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Columns {
    /// Minimum, overall minimum, mean, maximum, overall maximum, overruns.
    Overall,
    /// Minimum, mean, maximum, overall maximum, overruns, and the column `freq.cntr`.
    Counter,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    min: i64,
    /// Overall minimum.
    least: Option<i64>,
    mean: i64,
    max: i64,
    most: i64,
    overruns: u64,
}

#[derive(Default)]
struct Run {
    about: About,
    rows: u64,
    last: Option<Row>,
    least: Option<i64>,
    /// True if a header precedes the first row.
    headed: bool,
    since: Option<u64>,
    late: bool,
    uneven: u64,
    jumps: u64,
    odd: u64,
}

impl Reader {
    pub(crate) fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn finish_run(&mut self) {
        let Some(run) = self.run.take().filter(|run| run.rows > 0) else { return };
        if self.done.len() < MOST_RUNS {
            self.done.push(run);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    /// Handles a line before the rows of a run, which begins at the first of these lines.
    fn about(&mut self, line: &Line) -> &mut About {
        self.finish_run();
        if self.about.line.is_none() {
            self.about.line = Some(line.number);
            self.about.before = line.before.map(str::to_owned);
        }
        &mut self.about
    }

    fn head(&mut self, text: &str, line: &Line) -> Option<Taken> {
        let bare = text.trim_matches(['#', '*', ' ']);
        if let Some(rest) = text.strip_prefix("RTAI Testsuite - ") {
            let what = rest.strip_suffix(" (all data in nanoseconds)").filter(|what| what.ends_with("latency"))?;
            self.about(line).what = Some(what.chars().filter(|c| !c.is_control()).take(60).collect());
            return Some(Taken::Yes);
        }
        if text == "RTAI testsuite and calibration tool (all data in nanoseconds)"
            || bare == "RTAI latency calibration tool"
            || bare.starts_with("latency verification tool with kernel threads")
        {
            self.about(line);
            return Some(Taken::Yes);
        }
        // These lines are accepted only after one of the above.
        self.about.line?;
        let figure = |key: &str, unit: &str| {
            let value = bare.strip_prefix(key)?.trim().strip_prefix('=')?.trim();
            number::whole(value.strip_suffix(unit)?.trim()).filter(|&n| n > 0)
        };
        if let Some((period, seconds)) = bare.split_once(',').filter(|_| bare.starts_with("period")) {
            let value = |text: &str| number::whole(text.split_once('=')?.1.split_once('(')?.0);
            let (period, seconds) = (value(period)?, value(seconds)?);
            (self.about.period_ns, self.about.seconds) = (Some(period), Some(seconds));
            return Some(Taken::Yes);
        }
        if let Some(period) = figure("period", "(ns)") {
            self.about.period_ns = Some(period);
            return Some(Taken::Yes);
        }
        if let Some(seconds) = figure("avrgtime", "(s)").or_else(|| figure("average time", "(s)")) {
            self.about.seconds = Some(seconds);
            return Some(Taken::Yes);
        }
        let known = ["use the FPU", "do not use the FPU", "start the timer", "do not start the timer"];
        (text.starts_with('#') && (known.contains(&bare) || bare.starts_with("timer_mode is"))).then_some(Taken::Yes)
    }

    fn header(&mut self, rest: &str) -> Taken {
        let names: Vec<&str> = rest.split('|').map(str::trim).take(16).collect();
        self.columns = match names.as_slice() {
            ["lat min", "ovl min", "lat avg", "lat max", "ovl max", "overruns"] => Some(Columns::Overall),
            ["lat min", "lat avg", "lat max", "ovl max", "overruns", "freq.cntr"] => Some(Columns::Counter),
            _ => None,
        };
        if self.columns.is_none() {
            // The following rows belong to another program.
            self.finish_run();
            return Taken::No;
        }
        if let Some(run) = &mut self.run {
            run.uneven = run.uneven.saturating_add(u64::from(run.since.is_some_and(|rows| rows != PAGE)));
            run.since = Some(0);
        }
        Taken::Yes
    }

    fn row(&mut self, rest: &str, line: &Line) -> Taken {
        let Some(columns) = self.columns else { return Taken::No };
        let Some(row) = row(columns, rest) else {
            self.unreadable = self.unreadable.saturating_add(1);
            return Taken::Unreadable;
        };
        let anew = self.run.as_ref().is_none_or(|run| run.last.is_some_and(|last| last.is_before_another(&row)));
        if anew {
            let first = self.run.is_none();
            self.finish_run();
            let mut about = std::mem::take(&mut self.about);
            if about.line.is_none() {
                about.line = Some(line.number);
                about.before = line.before.map(str::to_owned);
            }
            self.run = Some(Run { about, headed: first, since: first.then_some(0), ..Run::default() });
        }
        if let Some(run) = &mut self.run {
            run.add(row);
        }
        Taken::Yes
    }
}

impl super::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        match text.split_once('|') {
            Some(("RTH", rest)) => self.header(rest),
            Some(("RTD", rest)) => self.row(rest, line),
            _ if text.is_empty() => Taken::No,
            _ => {
                // A date precedes each page of the user-space test.
                if self.run.is_some() && is_date(text) {
                    return Taken::Yes;
                }
                self.head(text, line).unwrap_or(Taken::No)
            }
        }
    }

    fn finish(mut self: Box<Self>, _: &Options) -> Option<Found> {
        self.finish_run();
        if self.done.is_empty() {
            return None;
        }
        let mut found = Found { format: "rtai-latency".into(), tool: Some("RTAI latency".into()), ..Found::default() };
        if self.unreadable > 0 {
            let text = "rows that look like results could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.dropped > 0 {
            let text = format!("more than {MOST_RUNS} runs: the others were skipped");
            found.lost.push(Loss::problem(LostKind::Truncated, Some(self.dropped), text));
        }
        found.blocks = self.done.into_iter().map(Run::block).collect();
        Some(found)
    }
}

/// Returns true for a date such as `2026/11/3 12:01:00`.
fn is_date(text: &str) -> bool {
    let Some((date, time)) = text.split_once(' ') else { return false };
    let three = |text: &str, at: char| text.split(at).take(4).filter(|part| number::whole(part).is_some()).count() == 3;
    three(date, '/') && three(time, ':')
}

fn row(columns: Columns, rest: &str) -> Option<Row> {
    let fields: Vec<&str> = rest.split('|').map(str::trim).take(16).collect();
    let [a, b, c, d, e, f] = fields.as_slice() else { return None };
    let latency = |text: &str| signed::latency(text, 1).filter(|_| !text.contains('.'));
    match columns {
        Columns::Overall => Some(Row {
            min: latency(a)?,
            least: Some(latency(b)?),
            mean: latency(c)?,
            max: latency(d)?,
            most: latency(e)?,
            overruns: number::whole(f)?,
        }),
        Columns::Counter => {
            number::whole(f)?;
            Some(Row {
                min: latency(a)?,
                least: None,
                mean: latency(b)?,
                max: latency(c)?,
                most: latency(d)?,
                overruns: number::whole(e)?,
            })
        }
    }
}

impl Row {
    fn is_before_another(&self, next: &Row) -> bool {
        next.least.zip(self.least).is_some_and(|(next, least)| next > least)
            || next.most < self.most
            || next.overruns < self.overruns
    }

    fn is_odd(&self) -> bool {
        self.min > self.mean || self.mean > self.max || self.most < self.max || self.least.is_some_and(|l| l > self.min)
    }
}

impl Run {
    fn add(&mut self, row: Row) {
        match self.last {
            // In the test with a counter, the overall maximum starts at 0.
            None => {
                self.late = row.most > row.max.max(if row.least.is_none() { 0 } else { i64::MIN })
                    || row.least.is_some_and(|least| least < row.min);
            }
            Some(last) => {
                let least = row.least.zip(last.least).is_some_and(|(least, before)| least != before.min(row.min));
                let jumps = row.most != last.most.max(row.max) || least;
                self.jumps = self.jumps.saturating_add(u64::from(jumps && !row.is_odd()));
            }
        }
        self.odd = self.odd.saturating_add(u64::from(row.is_odd()));
        self.least = Some(self.least.map_or(row.min, |least| least.min(row.min)).min(row.least.unwrap_or(i64::MAX)));
        self.last = Some(row);
        self.rows = self.rows.saturating_add(1);
        self.since = self.since.map(|rows| rows.saturating_add(1));
    }

    fn count(&self) -> Option<u64> {
        let in_a_row = self.about.seconds?.checked_mul(SECOND_NS)?.checked_div(self.about.period_ns?)?;
        in_a_row.checked_mul(self.rows).filter(|&n| n > 0 && n <= number::MOST_SAMPLES)
    }

    fn block(self) -> Block {
        let mut thread = Thread::new(0, Samples::Summary, 1);
        let max = self.last.map(|row| row.most);
        signed::extremes(&mut thread, self.least, None, max);
        thread.period_ns = self.about.period_ns;
        let overruns = self.last.map_or(0, |row| row.overruns);
        if overruns == 0 {
            // The test counts missed periods, and there were none.
            thread.skips = Skips::Never;
        }
        thread.count = self.count();
        let from_ns = thread.min_ns.unwrap_or(0);
        thread.beyond = match thread.count {
            Some(count) => Beyond::Counted { count, from_ns },
            None => Beyond::Unknown { from_ns },
        };
        let what = self.about.what.as_ref().map(|what| format!(" ({what})")).unwrap_or_default();
        Block {
            label: format!("wakeup latency{what}"),
            line: self.about.line.unwrap_or(0),
            before: self.about.before.clone(),
            threads: vec![thread],
            lost: self.faults(overruns),
            ..Block::default()
        }
    }

    fn faults(&self, overruns: u64) -> Vec<Loss> {
        let mut lost = Vec::new();
        let mut problem = |kind, count, text: &str| lost.push(Loss::problem(kind, count, text));
        if self.late {
            problem(LostKind::Truncated, None, "the text begins in the middle of the run");
        }
        if self.odd > 0 {
            problem(LostKind::Disagreement, Some(self.odd), "rows are inconsistent");
        }
        if self.jumps > 0 {
            let text = "an overall minimum or maximum occurs in no row: rows are missing";
            problem(LostKind::Gap, Some(self.jumps), text);
        }
        // All headers may have been removed.
        if self.uneven > 0 || self.headed && self.since.is_some_and(|rows| rows > PAGE && rows != self.rows) {
            let text = "pages do not have 21 rows: rows are missing or duplicated";
            problem(LostKind::Gap, Some(self.uneven.max(1)), text);
        }
        if overruns > 0 {
            let text = "periods passed while the task was late (overruns)";
            lost.push(Loss::reported(LostKind::SkippedPeriods, Some(overruns), text));
        }
        let text = "the test has no totals: whether it continued after the last row is unknown";
        lost.push(Loss::reported(LostKind::Other, None, text));
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::super::alone;
    use super::*;
    use proptest::prelude::*;

    const KERNEL: &str = include_str!("../../tests/fixtures/tools/rtai-kernel.txt");
    const USER: &str = include_str!("../../tests/fixtures/tools/rtai-user.txt");

    fn read(text: &str) -> Option<Found> {
        alone(Box::new(Reader::new(&Options::default())), text)
    }

    fn problems(found: &Found) -> Vec<String> {
        let settled = |t: &Thread| crate::settle::settle(t.clone(), punctual_units::CpuId(0)).lost;
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(settled);
        let all = found.lost.iter().cloned().chain(found.blocks.iter().flat_map(|b| b.lost.clone())).chain(threads);
        all.filter(|l| l.problem).map(|l| l.text).collect()
    }

    #[test]
    fn the_kernel_test() {
        let found = read(KERNEL).unwrap();
        assert_eq!((found.format.as_str(), problems(&found)), ("rtai-latency", vec![]));
        let [block] = found.blocks.as_slice() else { panic!() };
        assert_eq!((block.label.as_str(), block.line), ("wakeup latency (KERNEL latency)", 1));
        let [thread] = block.threads.as_slice() else { panic!() };
        assert_eq!((thread.count, thread.min_ns, thread.max_ns), (Some(45_000), None, Some(32_427)));
        assert_eq!((thread.period_ns, thread.cpu, thread.skips), (Some(1_000_000), None, Skips::Never));
        assert_eq!(thread.beyond, Beyond::Counted { count: 45_000, from_ns: 0 });
        assert!(thread.lost.iter().any(|l| l.text.contains("-19752 ns")), "{:?}", thread.lost);
    }

    #[test]
    fn the_user_test_does_not_tell_its_period() {
        let found = read(USER).unwrap();
        assert_eq!(problems(&found), [""; 0]);
        let thread = &found.blocks[0].threads[0];
        assert_eq!((thread.count, thread.min_ns, thread.max_ns), (None, Some(70), Some(2_103)));
        assert_eq!((thread.beyond, thread.skips), (Beyond::Unknown { from_ns: 70 }, Skips::Uncounted));
        assert!(found.blocks[0].lost.iter().any(|l| l.count == Some(3) && l.kind == LostKind::SkippedPeriods));
        let threads = "RTAI Testsuite - KERNEL threads latency (all data in nanoseconds)\\n\n\
                       *** latency verification tool with kernel threads ***\n***    period = 100000 (ns),  avrgtime = 2 (s)    ***\n\
                       RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns\n\
                       RTD|         60|         60|        141|       1040|       1040|          0\n";
        let found = read(&threads.replace("\\n", "")).unwrap();
        assert_eq!(found.blocks[0].threads[0].count, Some(20_000));
        let counter = "RTAI Testsuite - LXRT latency (all data in nanoseconds)\n\
                       RTH|    lat min|    lat avg|    lat max|    ovl max|   overruns|  freq.cntr\n\
                       RTD|        -60|        141|       1040|       1040|          0|         12\n";
        let found = read(counter).unwrap();
        assert_eq!((problems(&found), found.blocks[0].threads[0].max_ns), (vec![], Some(1_040)));
    }

    #[test]
    fn missing_and_doubled_rows_of_a_page_are_problems() {
        let lines: Vec<&str> = KERNEL.lines().collect();
        let last = lines.iter().rposition(|l| l.starts_with("RTH")).unwrap();
        for at in (0..last).filter(|&at| lines[at].starts_with("RTD")) {
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(!problems(&read(&fewer.join("\n")).unwrap()).is_empty(), "without {}", lines[at]);
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(!problems(&read(&more.join("\n")).unwrap()).is_empty(), "twice {}", lines[at]);
        }
        let torn = KERNEL.trim_end().rsplit_once('|').unwrap().0;
        assert_eq!(problems(&read(torn).unwrap()).len(), 1);
    }

    #[test]
    fn several_runs_are_several_blocks() {
        let found = read(&format!("idle\n{USER}\nstressed\n{KERNEL}\nbye\n")).unwrap();
        assert_eq!((found.blocks.len(), problems(&found)), (2, vec![]));
        assert_eq!(found.blocks[0].before.as_deref(), Some("idle"));
        assert_eq!(found.blocks[1].before.as_deref(), Some("stressed"));
        // A decreasing number of overruns indicates another run.
        let (head, row) =
            ("RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns", "RTD|1|1|2|9|9|");
        let found = read(&format!("{head}\n{row}4\nagain\n{row}0\n")).unwrap();
        assert_eq!((found.blocks.len(), found.blocks[1].before.as_deref()), (2, Some("again")));
    }

    #[test]
    fn other_text_is_not_taken() {
        let preempt = "RTAI Testsuite - UP preempt (all data in nanoseconds)\n\
                       RTH|     lat min|     lat avg|     lat max|    jit fast|    jit slow\n\
                       RTD|         100|         200|         300|         400|         500\n";
        let xenomai = include_str!("../../tests/fixtures/tools/xenomai-2.txt");
        for text in [preempt, xenomai, "RTD|1|1|2|9|9|0\n", "period = 100000 (ns)\n", "# start the timer\n"] {
            assert!(read(text).is_none(), "{text}");
        }
        let xenomai_reader = super::super::xenomai::Reader::new(&Options::default());
        assert!(alone(Box::new(xenomai_reader), KERNEL).is_none());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

        #[test]
        fn anything_is_read_or_refused(at in 0usize..5_000, with in "[ 0-9RTDH|#=().a-z\n-]{0,40}", cut in 0usize..60) {
            let mut text = format!("{USER}{KERNEL}");
            let (at, end) = (at.min(text.len()), (at + cut).min(text.len()));
            text.replace_range(at..end, &with);
            if let Some(found) = read(&text) {
                problems(&found);
            }
        }
    }
}
