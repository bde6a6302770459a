//! Decodes pages of a running kernel as read from `per_cpu/cpuN/trace_pipe_raw`.

use super::decode::{Decoder, Undecoded};
use super::page::Walk;
use crate::event::Event;
use crate::info::{Damage, Format, Place, TraceInfo};
use crate::text::loss;

/// Decodes pages of any CPU as they come. The caller merges the CPUs by time.
///
/// ```no_run
/// # use punctual_trace::{Decoder, Layout, Options, Pages};
/// # fn read(_: &str) -> Vec<u8> { Vec::new() }
/// let layout = Layout::new(cfg!(target_endian = "big"), 8, 4096).with_header_page(&read("events/header_page"));
/// let mut decoder = Decoder::new(layout, Options::default());
/// decoder.add_format(&read("events/sched/sched_switch/format"));
/// let mut pages = Pages::new(decoder);
/// pages.page(0, &read("per_cpu/cpu0/trace_pipe_raw"), |event| println!("{event:?}"));
/// ```
pub struct Pages {
    decoder: Decoder,
    info: TraceInfo,
}

impl Pages {
    pub fn new(decoder: Decoder) -> Pages {
        let info = TraceInfo { format: Format::Pages, resolution_ns: Some(1), ..TraceInfo::default() };
        Pages { decoder, info }
    }

    /// Sets the trace clock of the pages, and the kernel's release if known.
    pub fn on_clock(&mut self, clock: &str, release: Option<&str>) {
        self.info.clock = Some(clock.to_owned());
        self.info.kernel = release.map(str::to_owned);
        release.into_iter().for_each(|release| self.decoder.set_release(release));
    }

    pub fn decoder(&mut self) -> &mut Decoder {
        &mut self.decoder
    }

    pub fn info(&self) -> &TraceInfo {
        &self.info
    }

    /// Calls `event` for the events of a page of `cpu`, in order. Damage is noted in [`Pages::info`].
    pub fn page(&mut self, cpu: u32, page: &[u8], mut event: impl FnMut(Event)) {
        let layout = *self.decoder.layout();
        let mut walk = match Walk::new(page, &layout) {
            Ok(walk) => walk,
            Err(damage) => return self.info.note(Damage::Corrupt { what: damage.what }, Place::Byte(damage.at as u64)),
        };
        let mut missed = walk.missed;
        loop {
            match walk.next(page, &layout) {
                Ok(Some(record)) => {
                    if let Some(count) = missed.take() {
                        self.info.lose(cpu, count, Place::Whole);
                        event(loss(record.t, cpu, count));
                    }
                    let data = page.get(record.start..record.end).unwrap_or_default();
                    match self.decoder.decode(cpu, record.t, data) {
                        Ok(decoded) => event(decoded),
                        Err(why) => undecoded(&mut self.info, why, Place::Whole),
                    }
                }
                Ok(None) => return,
                Err(damage) => {
                    return self.info.note(Damage::Corrupt { what: damage.what }, Place::Byte(damage.at as u64));
                }
            }
        }
    }
}

/// Notes a record that could not be decoded. A missing format is noted once.
pub(crate) fn undecoded(info: &mut TraceInfo, why: Undecoded, place: Place) {
    info.skipped += 1;
    match why {
        Undecoded::NoFormat(id) => {
            let damage = Damage::MissingFormat { id };
            if !info.notes.iter().any(|note| note.what == damage) {
                info.note(damage, place);
            }
        }
        Undecoded::Short(event) => info.note(Damage::Incomplete { event }, place),
        Undecoded::Empty => info.note(Damage::Corrupt { what: "record" }, place),
    }
}
