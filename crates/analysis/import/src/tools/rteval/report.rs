//! Reads the report of rteval as text.

use super::{Figures, KEYS, MOST_BLOCKS, Table, clean, finish, unit};
use crate::block::{Found, Loss, MOST_THREADS};
use crate::tools::scan::Scan;
use crate::tools::{self, Line, Taken};
use crate::{Options, cmdline};
use punctual_model::LostKind;

#[derive(Default)]
pub(crate) struct Reader {
    found: Found,
    /// Reports. The first one contains the results before the first heading.
    reports: Vec<Report>,
    further: u64,
    unreadable: u64,
    /// Text above the horizontal line that begins a report.
    above: Option<String>,
}

#[derive(Default)]
struct Report {
    before: Option<String>,
    version: Option<String>,
    /// For each table, the number of cores stated in `System:`.
    stated: Vec<Option<u64>>,
    tables: Vec<Table>,
    ended: bool,
}

impl Reader {
    pub fn new(_: &Options) -> Reader {
        Reader::default()
    }

    fn report(&mut self) -> Option<&mut Report> {
        self.reports.last_mut().filter(|report| !report.ended)
    }

    fn fact(&mut self, text: &str) -> bool {
        let after = |key: &str| text.strip_prefix(key).map(|v| clean(v, 200)).filter(|v| !v.is_empty());
        if let Some(node) = after("Tested node:") {
            self.found.host = Some(node);
        } else if let Some(kernel) = after("Kernel:") {
            self.found.machine.preempt_rt = Some(kernel.ends_with("(RT enabled)"));
            self.found.machine.kernel_release = kernel.split_ascii_whitespace().next().map(str::to_owned);
        } else if let Some(arch) = after("Architecture:") {
            self.found.machine.architecture = Some(arch);
        } else {
            return false;
        }
        true
    }

    /// Reads a line of a table of latencies.
    fn figure(&mut self, text: &str) -> Taken {
        let Some(report) = self.reports.last_mut() else { return Taken::No };
        let Some(table) = report.tables.last_mut() else { return Taken::No };
        if let Some(command) = text.strip_prefix("Command:") {
            table.command = clean(command, 2_000);
            let program = cmdline::words(&table.command).first().map(|w| w.rsplit('/').next().unwrap_or(w).to_owned());
            table.tool = if program.as_deref() == Some("rtla") { "timerlat".into() } else { "cyclictest".into() };
            return Taken::Yes;
        }
        if let Some(rest) = text.strip_prefix("System:") {
            let mut scan = Scan(rest);
            if let Some(stated) = report.stated.last_mut() {
                *stated = scan.skip("(").and_then(|()| scan.whole()).filter(|_| scan.0.starts_with(" cores)"));
            }
            table.all.push(Figures::default());
            return Taken::Yes;
        }
        if let Some(reason) = text.strip_prefix("Run aborted:") {
            table.aborted = Some(clean(reason, 80));
            return Taken::Yes;
        }
        if ["Started:", "Stopped:", "Statistics:"].iter().any(|key| text.starts_with(key)) {
            return Taken::Yes;
        }
        let mut scan = Scan(text);
        if scan.skip("CPU core ").is_some() {
            let core = scan.whole().filter(|&core| core < 8_192);
            let priority = scan.skip("Priority:").and_then(|()| scan.whole());
            let full = table.all.len() > MOST_THREADS as usize;
            if let (Some(core), Some(_), false) = (core, priority, full) {
                table.all.push(Figures { core: Some(core as u32), priority, ..Figures::default() });
                return Taken::Yes;
            }
            table.dropped = table.dropped.saturating_add(1);
            return Taken::Unreadable;
        }
        let Some((key, name, _)) = KEYS.iter().find(|(_, name, _)| text.starts_with(name)) else { return Taken::No };
        let value = text.strip_prefix(name).unwrap_or_default().trim();
        let Some(figures) = table.all.last_mut() else { return Taken::No };
        let digits = value.find(|c: char| !c.is_ascii_digit() && !".e+-".contains(c)).unwrap_or(value.len());
        let (number, rest) = value.split_at_checked(digits).unwrap_or_default();
        // Numbers of samples have no unit.
        let unit_ns = if *key == "samples" && rest.is_empty() { Some(1.0) } else { unit(rest) };
        let before = figures.unreadable;
        match unit_ns {
            Some(unit_ns) => figures.tell(key, number, unit_ns),
            None => figures.unreadable = figures.unreadable.saturating_add(1),
        }
        if figures.unreadable == before { Taken::Yes } else { Taken::Unreadable }
    }
}

impl tools::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        let text = line.text.trim();
        if let Some(version) = text.strip_prefix("rteval (v").and_then(|rest| rest.strip_suffix(") report")) {
            if self.reports.len() >= MOST_BLOCKS {
                self.further = self.further.saturating_add(1);
                return Taken::Yes;
            }
            let above = self.above.take();
            let before = if line.before.is_some_and(is_rule) { above } else { line.before.map(|b| clean(b, 200)) };
            self.reports.push(Report { before, version: Some(clean(version, 80)), ..Report::default() });
            return Taken::Yes;
        }
        let Some(report) = self.report() else {
            if is_rule(text) && !line.before.is_some_and(is_rule) {
                self.above = line.before.map(|b| clean(b, 200));
            }
            return Taken::No;
        };
        if is_rule(text) {
            // A rule after the measurements ends the report; those before frame the heading.
            report.ended = !report.tables.is_empty();
            return Taken::Yes;
        }
        if text == "Latency test" {
            if report.tables.len() >= MOST_BLOCKS {
                self.further = self.further.saturating_add(1);
                return Taken::Yes;
            }
            let before = report.before.clone();
            report.stated.push(None);
            report.tables.push(Table { line: line.number, before, tool: "cyclictest".into(), ..Table::default() });
            return Taken::Yes;
        }
        if report.tables.is_empty() {
            return if self.fact(text) { Taken::Yes } else { Taken::No };
        }
        let taken = self.figure(text);
        self.unreadable = self.unreadable.saturating_add(u64::from(taken == Taken::Unreadable));
        taken
    }

    fn finish(self: Box<Self>, options: &Options) -> Option<Found> {
        let mut found = self.found;
        (found.tool, found.format) = (Some("rteval".into()), "rteval-text".into());
        for report in self.reports {
            let cores: Vec<u64> =
                report.tables.iter().map(|t| t.all.iter().filter(|f| f.core.is_some()).count() as u64).collect();
            if !report.ended && !report.tables.is_empty() {
                let text = "the report is incomplete";
                found.lost.push(Loss::problem(LostKind::Truncated, None, text));
            }
            for (stated, cores) in report.stated.iter().zip(cores) {
                if let Some(stated) = stated.filter(|&stated| stated != cores) {
                    let text = format!("{stated} cores are stated, but the report has results of {cores}");
                    found.lost.push(Loss::problem(LostKind::Disagreement, None, text));
                }
            }
            finish(&mut found, report.tables, report.version.as_deref(), options);
        }
        if self.further > 0 {
            let text = format!("only the first {MOST_BLOCKS} measurements are read");
            found.lost.push(Loss::problem(LostKind::Other, Some(self.further), text));
        }
        (!found.blocks.is_empty()).then_some(found)
    }
}

fn is_rule(text: &str) -> bool {
    text.len() > 20 && text.bytes().all(|b| b == b'=')
}

#[cfg(test)]
mod tests {
    use super::super::xml::tests::problems;
    use super::*;
    use crate::block::Beyond;
    use crate::tools::alone;
    use proptest::prelude::*;

    const TEXT: &str = include_str!("../../../tests/fixtures/tools/rteval-3.txt");

    fn found(text: &str) -> Found {
        alone(Box::new(Reader::new(&Options::default())), text).unwrap()
    }

    #[test]
    fn a_report_is_read() {
        let all = found(TEXT);
        assert_eq!((all.version.as_deref(), all.host.as_deref()), (Some("3.11"), Some("bench")));
        let [block] = all.blocks.as_slice() else { panic!() };
        let [a, b] = block.threads.as_slice() else { panic!() };
        assert_eq!((a.cpu, a.count, a.min_ns, a.max_ns), (Some(2), Some(1_000), Some(3_000), Some(19_000)));
        assert_eq!((b.cpu, b.max_ns, b.mean_ns), (Some(3), Some(7_000), Some(4_250.0)));
        assert!(matches!(a.beyond, Beyond::Counted { count: 1_000, from_ns: 0 }));
        assert!(problems(&all).is_empty(), "{all:?}");
        assert_eq!(problems(&found(&TEXT.replace("(v3.11)", "(v3.7)"))).len(), 2);
        let two = found(&format!("{TEXT}\nagain\n{TEXT}"));
        assert_eq!(two.blocks.iter().map(|b| b.before.as_deref()).collect::<Vec<_>>(), [None, Some("again")]);
    }

    #[test]
    fn lost_doubled_and_cut_lines_are_problems() {
        let lines: Vec<&str> = TEXT.lines().collect();
        let first = lines.iter().position(|l| l.contains("System:  (")).unwrap();
        for at in first + 1..lines.len() {
            let figure = lines[at].contains(':') && !lines[at].contains("Statistics:");
            if !figure {
                continue;
            }
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(!problems(&found(&fewer.join("\n"))).is_empty(), "without {}", lines[at]);
            let mut more = lines.clone();
            more.insert(at, lines[at]);
            assert!(!problems(&found(&more.join("\n"))).is_empty(), "twice {}", lines[at]);
        }
        for cut in TEXT.find("CPU core 2").unwrap() + 40..TEXT.rfind("  =====").unwrap() {
            assert!(!problems(&found(&TEXT[..cut])).is_empty(), "cut at {cut}");
        }
    }

    #[test]
    fn other_text_is_not_taken() {
        let text = "Latency test\nMax: 3us\nSamples: 4\nCPU core 0 Priority: 5\nrteval (v3) was used\n=========================\n";
        assert!(alone(Box::new(Reader::default()), text).is_none());
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..3000, n in 0_usize..80, with in "[0-9.:a-z -]{0,9}") {
            let at = at.min(TEXT.len());
            let end = (at + n).min(TEXT.len());
            alone(Box::new(Reader::default()), &format!("{}{with}{}", &TEXT[..at], &TEXT[end..]));
        }
    }
}
