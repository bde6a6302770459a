//! Reads the report of rteval as XML.

use super::{DEEPEST, Figures, LONGEST, MOST_BLOCKS, Table, clean, finish, unit};
use crate::Options;
use crate::bins::MOST_BINS;
use crate::block::{Found, Loss, MOST_THREADS};
use crate::number;
use punctual_model::LostKind;
use quick_xml::events::{BytesStart, Event};

/// Reads a report in XML; `None` if it is another document. Entities are not expanded, and no other files are read.
pub(super) fn read(text: &str, options: &Options) -> Option<Found> {
    let mut reader = quick_xml::Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut state = Xml::default();
    let problem = loop {
        match reader.read_event() {
            Ok(Event::Start(e)) => {
                state.path.push(name_of(&e));
                if state.path.len() > DEEPEST {
                    break Some("the XML is nested too deeply");
                }
                if state.path.len() == 1 && state.path.last().is_none_or(|root| root != "rteval") {
                    return None;
                }
                state.text.clear();
                state.start(&e);
            }
            Ok(Event::Empty(e)) => {
                state.path.push(name_of(&e));
                state.text.clear();
                state.start(&e);
                state.end();
                state.path.pop();
            }
            Ok(Event::End(_)) => {
                state.end();
                state.path.pop();
                state.text.clear();
                if state.path.is_empty() {
                    break None;
                }
            }
            Ok(Event::Text(t)) => state.add(&String::from_utf8_lossy(&t)),
            Ok(Event::GeneralRef(r)) => state.add(entity(&r)),
            Ok(Event::Eof) => break Some("the XML is truncated"),
            Ok(_) => {}
            Err(_) => break Some("the XML is damaged"),
        }
    };
    if state.version.is_none() && state.tables.is_empty() {
        return None;
    }
    let mut found = state.found;
    (found.tool, found.format) = (Some("rteval".into()), "rteval-xml".into());
    found.lost.extend(problem.map(|text| Loss::problem(LostKind::Truncated, None, text)));
    finish(&mut found, state.tables, state.version.as_deref(), options);
    Some(found)
}

fn name_of(e: &BytesStart) -> String {
    clean(&String::from_utf8_lossy(e.name().into_inner()), 80)
}

fn entity(name: &[u8]) -> &'static str {
    match name {
        b"amp" => "&",
        b"lt" => "<",
        b"gt" => ">",
        b"quot" => "\"",
        b"apos" => "'",
        _ => " ",
    }
}

#[derive(Default)]
struct Xml {
    path: Vec<String>,
    text: String,
    found: Found,
    version: Option<String>,
    tables: Vec<Table>,
    /// Value of the attribute `unit` of the element.
    unit_ns: Option<f64>,
    bins: usize,
}

fn attribute(e: &BytesStart, name: &str) -> Option<String> {
    let found =
        e.attributes().with_checks(false).filter_map(Result::ok).find(|a| a.key.into_inner() == name.as_bytes())?;
    let text = String::from_utf8_lossy(&found.value);
    let plain = text.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    Some(clean(&plain, LONGEST))
}

impl Xml {
    fn add(&mut self, text: &str) {
        let room = LONGEST.saturating_sub(self.text.len());
        self.text.extend(text.chars().take(room));
    }

    /// Returns the measuring tool (cyclictest or timerlat) whose element contains the current element, and the names of
    /// the elements below it.
    fn measured(&self) -> Option<(String, Vec<String>)> {
        let at = self.path.iter().position(|name| name == "cyclictest" || name == "timerlat")?;
        let top =
            self.path.get(..at)?.iter().all(|name| ["rteval", "Measurements", "Profile"].contains(&name.as_str()));
        Some((self.path.get(at).filter(|_| top)?.clone(), self.path.get(at.checked_add(1)?..)?.to_vec()))
    }

    fn start(&mut self, e: &BytesStart) {
        if self.path.len() == 1 {
            self.version = Some(attribute(e, "version").unwrap_or_default());
            return;
        }
        self.unit_ns = attribute(e, "unit").as_deref().and_then(unit);
        if self.path.last().is_some_and(|n| n == "kernel") && self.path.iter().any(|n| n == "uname") {
            self.found.machine.preempt_rt = attribute(e, "is_RT").map(|text| text == "1");
        }
        let Some((tool, below)) = self.measured() else { return };
        let below: Vec<&str> = below.iter().map(String::as_str).collect();
        match below.as_slice() {
            [] if self.tables.len() < MOST_BLOCKS => {
                let command = attribute(e, "command_line").unwrap_or_default();
                self.tables.push(Table { tool, command, ..Table::default() });
            }
            ["abort_report"] => {
                if let Some(table) = self.tables.last_mut() {
                    table.aborted = attribute(e, "reason");
                }
            }
            ["system" | "core"] => {
                let core = attribute(e, "id").and_then(|id| number::whole(&id)).filter(|&id| id < 8_192);
                let priority = attribute(e, "priority").and_then(|p| number::whole(&p));
                let is_core = below == ["core"];
                let Some(table) = self.tables.last_mut() else { return };
                if table.all.len() > MOST_THREADS as usize || is_core && core.is_none() {
                    table.dropped = table.dropped.saturating_add(1);
                } else {
                    let core = core.filter(|_| is_core).map(|id| id as u32);
                    table.all.push(Figures { core, priority, ..Figures::default() });
                }
            }
            ["system" | "core", rest @ ..]
                if rest.first() == Some(&"histogram") || rest.get(1) == Some(&"histogram") =>
            {
                let full = self.bins >= MOST_BINS;
                let Some(figures) = self.tables.last_mut().and_then(|t| t.all.last_mut()) else { return };
                if rest.last() == Some(&"histogram") {
                    figures.buckets = attribute(e, "nbuckets").and_then(|n| number::whole(&n));
                    figures.bins.get_or_insert_default();
                } else if rest.last() == Some(&"bucket") {
                    let whole = |name: &str| attribute(e, name).and_then(|n| number::whole(&n));
                    figures.bucket(whole("index").filter(|_| !full), whole("value"));
                    self.bins = self.bins.saturating_add(1);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self) {
        let text = clean(&self.text, LONGEST);
        let last = self.path.last().map(String::as_str).unwrap_or_default();
        if self.path.iter().any(|n| n == "uname") && !text.is_empty() {
            match last {
                "node" => self.found.host = Some(text.clone()),
                "kernel" => self.found.machine.kernel_release = Some(text.clone()),
                "arch" => self.found.machine.architecture = Some(text.clone()),
                _ => {}
            }
        }
        let Some((_, below)) = self.measured() else { return };
        let below: Vec<&str> = below.iter().map(String::as_str).collect();
        match below.as_slice() {
            // Used until v1.
            ["command_line"] => {
                if let Some(table) = self.tables.last_mut() {
                    table.command = text;
                }
            }
            ["system" | "core", "statistics", key] => {
                let unit_ns = self.unit_ns.unwrap_or(1_000.0);
                let Some(figures) = self.tables.last_mut().and_then(|t| t.all.last_mut()) else { return };
                figures.tell(key, &text, unit_ns);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::block::{Beyond, Samples};
    use proptest::prelude::*;

    const XML: &str = include_str!("../../../tests/fixtures/tools/rteval-3.xml");
    const OLD: &str = include_str!("../../../tests/fixtures/tools/rteval-1.xml");

    fn found(text: &str) -> Found {
        super::read(text, &Options::default()).unwrap()
    }

    pub(crate) fn problems(found: &Found) -> Vec<&str> {
        let threads = found.blocks.iter().flat_map(|b| &b.threads).flat_map(|t| &t.lost);
        let all = threads.chain(found.blocks.iter().flat_map(|b| &b.lost)).chain(&found.lost);
        all.filter(|l| l.problem).map(|l| l.text.as_str()).collect()
    }

    #[test]
    fn cores_are_threads() {
        let all = found(XML);
        assert_eq!((all.tool.as_deref(), all.version.as_deref()), (Some("rteval"), Some("3.11")));
        assert_eq!((all.host.as_deref(), all.machine.preempt_rt), (Some("bench"), Some(true)));
        let [block] = all.blocks.as_slice() else { panic!() };
        let [a, b] = block.threads.as_slice() else { panic!() };
        assert_eq!((a.cpu, a.count, a.min_ns, a.max_ns), (Some(2), Some(1_000), Some(3_000), Some(19_000)));
        assert_eq!((b.cpu, b.count, b.period_ns), (Some(3), Some(1_000), Some(100_000)));
        let Samples::Bins(bins) = &b.samples else { panic!() };
        assert_eq!(bins.filled, [(2_000, 10), (4_000, 900), (7_000, 90)]);
        assert!(matches!(a.beyond, Beyond::Rest { from_ns: 3_500_000 }));
        assert!(problems(&all).is_empty(), "{all:?}");
        // Earlier versions do not report larger latencies.
        let older = found(&XML.replace("version=\"3.11\"", "version=\"3.7\""));
        assert!(matches!(older.blocks[0].threads[0].beyond, Beyond::Unknown { from_ns: 3_500_000 }));
    }

    #[test]
    fn the_first_version_is_read() {
        let all = found(OLD);
        let thread = &all.blocks[0].threads[0];
        assert_eq!((thread.cpu, thread.count, thread.max_ns), (Some(0), Some(50), Some(31_000)));
        assert!(matches!(thread.beyond, Beyond::Unknown { from_ns: 2_000_000 }), "{thread:?}");
        assert_eq!(all.command.first().map(String::as_str), Some("cyclictest"));
        assert!(problems(&all).is_empty(), "{all:?}");
    }

    #[test]
    fn lost_doubled_and_cut_lines_are_problems() {
        let lines: Vec<&str> = XML.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let figure = line.contains(" unit=") || line.contains("<samples") || line.contains("<bucket");
            if !figure {
                continue;
            }
            let mut fewer = lines.clone();
            fewer.remove(at);
            assert!(!problems(&found(&fewer.join("\n"))).is_empty(), "without {line}");
            let mut more = lines.clone();
            more.insert(at, line);
            assert!(!problems(&found(&more.join("\n"))).is_empty(), "twice {line}");
        }
        for cut in XML.find("<Measurements").unwrap()..XML.rfind("</rteval>").unwrap() {
            assert!(!problems(&found(&XML[..cut])).is_empty(), "cut at {cut}");
        }
        let core = XML.find("<core id=\"3\"").unwrap();
        let end = XML.rfind("</cyclictest>").unwrap();
        assert_eq!(problems(&found(&format!("{}{}", &XML[..core], &XML[end..]))).len(), 1);
    }

    #[test]
    fn other_documents_and_bombs() {
        assert!(super::read("<html><rteval/></html>", &Options::default()).is_none());
        assert!(super::read("T: 0 ( 12) P:80", &Options::default()).is_none());
        assert!(super::read("", &Options::default()).is_none());
        let bomb = format!("<!DOCTYPE r [<!ENTITY a \"{}\">]><rteval>{}", "x".repeat(90), "<a>&a;".repeat(5_000));
        assert_eq!(problems(&found(&bomb)), ["the XML is nested too deeply"]);
    }

    proptest! {
        #[test]
        fn mangled_text_is_survived(at in 0_usize..4000, n in 0_usize..80, with in "[0-9<>/=\"&; a-e-]{0,9}") {
            let at = at.min(XML.len());
            let end = (at + n).min(XML.len());
            super::read(&format!("{}{with}{}", &XML[..at], &XML[end..]), &Options::default());
        }
    }
}
