//! Passes an input through its reader and, for traces, through attribution, and checks the invariants.

use super::losses::Losses;
use super::parts::Parts;
use super::texts::Texts;
use super::whole::Whole;
use super::{Reader, archives, boot, folder, import, seeds};
use punctual_explain::{Attribution, Explanation, Victims};
use punctual_stacks::{UsdtArgument, usdt_probes};
use punctual_trace::{Decoder, Event, Kind, Layout, MAX_NOTES, Options, Pages, Source, TraceInfo, open, open_text};
use std::io::Cursor;

pub struct Executor {
    reader: Reader,
    formats: Vec<String>,
    audit: Option<Audit>,
    texts: Texts,
}

/// Selects what an input of the audit contains: a small file of a machine, a profile or snapshot, or a whole machine.
enum Audit {
    Parts(Box<Parts>),
    Whole(Box<Whole>),
    Losses(Box<Losses>),
}

impl Executor {
    /// Loads what the reader needs, such as rules, recorded machines and event formats, from files of the repository.
    /// For uploads, creates a folder in memory.
    pub fn new(reader: Reader) -> Executor {
        let audit = match reader {
            Reader::Profile | Reader::Snapshot => Some(Audit::Whole(Box::new(Whole::new()))),
            Reader::Machine => Some(Audit::Losses(Box::new(Losses::new()))),
            _ if Parts::reads(reader) => Some(Audit::Parts(Box::new(Parts::new(reader)))),
            _ => None,
        };
        Executor { reader, formats: seeds::page_formats(), audit, texts: Texts::new(reader) }
    }

    /// Reads an input and attributes or judges it. Panics if an invariant is violated. Returns the number of events or
    /// other results.
    pub fn run(&self, input: &[u8]) -> u64 {
        match &self.audit {
            Some(Audit::Parts(parts)) => return parts.run(input),
            Some(Audit::Whole(whole)) => return whole.run(self.reader, input),
            Some(Audit::Losses(losses)) => return losses.run(input),
            None => {}
        }
        let options = Options { bodies: input.len().is_multiple_of(2) };
        match self.reader {
            Reader::Boot => boot::execute(input),
            Reader::Archive => archives::execute(input),
            Reader::Import(format) => import::execute(format, input),
            Reader::Run | Reader::Package => folder::execute(self.reader, input),
            reader if reader.is_text_of_others() => self.texts.run(reader, input),
            Reader::Pages => self.pages(input, options),
            Reader::Usdt => usdt(input),
            Reader::Kernel | Reader::TraceCmd | Reader::Rtla if input.len().is_multiple_of(3) => {
                match open_text(input, options) {
                    Ok(source) => whole(source, input),
                    Err(_) => 0,
                }
            }
            _ => match open(Cursor::new(input), options) {
                Ok(source) => whole(source, input),
                Err(_) => 0,
            },
        }
    }

    fn pages(&self, input: &[u8], options: Options) -> u64 {
        let Some((first, page)) = input.split_first() else { return 0 };
        let layout = Layout::new(first & 1 != 0, if first & 2 != 0 { 4 } else { 8 }, page.len());
        let mut decoder = Decoder::new(layout, options);
        for format in &self.formats {
            decoder.add_format(format.as_bytes());
        }
        let (mut pages, mut attribution, mut events) = (Pages::new(decoder), attribution(page.len()), 0);
        let info = TraceInfo::default();
        pages.page(0, page, |event| {
            events += 1;
            attribution.event(&event, &info);
        });
        check(&attribution.finish(pages.info()), pages.info());
        events
    }
}

/// Checks that the probes lie in the file, and that their names and arguments cannot change the definition of a uprobe
/// event.
fn usdt(input: &[u8]) -> u64 {
    let probes = usdt_probes(input);
    let is_in_file = |offset: u64| offset < input.len() as u64;
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_fetched = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"%()+-:".contains(&byte);
    for probe in &probes {
        assert!(is_in_file(probe.offset) && probe.semaphore.is_none_or(is_in_file), "{probe:?}");
        assert!(is_word(&probe.provider) && is_word(&probe.name), "{probe:?}");
        for argument in &probe.arguments {
            assert!(!matches!(argument, UsdtArgument::Fetched(text) if !text.bytes().all(is_fetched)), "{probe:?}");
        }
    }
    probes.len() as u64
}

fn attribution(length: usize) -> Attribution {
    let victims = match length % 3 {
        0 => Victims::Measuring,
        1 => Victims::AllRealTime,
        _ => Victims::Tid(9),
    };
    Attribution::new(punctual_explain::ExplainOptions {
        victims,
        cycles: true,
        ..punctual_explain::ExplainOptions::default()
    })
}

fn whole(mut source: Box<dyn Source + '_>, input: &[u8]) -> u64 {
    let mut attribution = attribution(input.len());
    let (mut last, mut events) = (0, 0);
    while let Some(event) = source.next() {
        events += 1;
        let Event { t_ns, ref kind, .. } = event;
        assert!(t_ns >= last, "time goes back: {t_ns} after {last}");
        last = if *kind == Kind::Restart { 0 } else { t_ns };
        attribution.event(&event, source.info());
    }
    check(&attribution.finish(source.info()), source.info());
    events
}

/// Checks that the labels add up exactly and that no text is longer than its limit.
fn check(found: &Explanation, info: &TraceInfo) {
    assert!(info.notes.len() <= MAX_NOTES);
    for victim in &found.victims {
        assert_eq!(victim.causes.iter().map(|c| c.ns).sum::<u64>(), victim.latency_ns, "{}", victim.verdict);
        assert!((0.0..=1.0).contains(&victim.coverage));
    }
    for cycle in &found.cycles {
        let parts = cycle.delays.iter().map(|c| c.ns).chain(cycle.blocked.iter().map(|b| b.ns));
        assert_eq!(cycle.ran_ns + parts.sum::<u64>(), cycle.length_ns, "{}", cycle.verdict);
    }
}
