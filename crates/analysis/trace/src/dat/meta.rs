//! Sections of a trace.dat, common to both versions (Documentation/trace-cmd/trace-cmd.dat.v7.5.txt).

use super::unpack::Codec;
use crate::Options;
use crate::info::{Damage, Format, Place, TimeBase, TraceError, TraceInfo};
use crate::input::{Input, MOST};
use crate::raw::{Decoder, Layout};
use std::io::{Cursor, Read, Seek};

/// Maximum number of event systems, and of formats in each.
const FORMATS: u32 = 1 << 16;

#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// Plain text.
    Text { at: u64, size: u64 },
    /// A section of version 7, which contains a size and the text.
    Section { at: u64, codec: Codec },
}

pub(crate) struct Meta {
    pub(crate) layout: Layout,
    pub(crate) info: TraceInfo,
    /// Texts of event formats; compiled once byte order and options are known.
    pub(crate) formats: Vec<Vec<u8>>,
    formats_size: usize,
    pub(super) comms: Vec<u8>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) tsc: Option<Tsc>,
    pub(super) symbols: Option<At>,
    /// Number of lost events according to the kernel's statistics.
    pub(super) overrun: Option<u64>,
}

/// A ring buffer of the file. The main one has an empty name.
pub(super) struct Buffer {
    pub(super) name: Vec<u8>,
    pub(super) page: Option<usize>,
    /// CPU, offset and size of the data of each CPU.
    pub(super) cpus: Vec<(u32, u64, u64)>,
    pub(super) packed: bool,
}

/// ns = ticks × mult >> shift − offset (`tsc2nsec` of trace-cmd).
#[derive(Clone, Copy)]
pub(super) struct Tsc {
    pub(super) mult: u32,
    pub(super) shift: u32,
    pub(super) offset: u64,
}

impl Tsc {
    pub(super) fn ns(self, ticks: u64) -> u64 {
        let ns = (u128::from(ticks) * u128::from(self.mult)) >> self.shift.min(127);
        u64::try_from(ns).unwrap_or(u64::MAX).saturating_sub(self.offset)
    }
}

impl Meta {
    pub(crate) fn new(layout: Layout, format: Format) -> Meta {
        let info = TraceInfo { format, resolution_ns: Some(1), ..TraceInfo::default() };
        Meta {
            layout,
            info,
            formats: Vec::new(),
            formats_size: 0,
            comms: Vec::new(),
            buffers: Vec::new(),
            tsc: None,
            symbols: None,
            overrun: None,
        }
    }

    pub(crate) fn headers<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<(), TraceError> {
        input.expect(b"header_page\0", "header_page")?;
        let size = input.u64()?;
        let page = input.bytes(size, MOST)?;
        self.layout = self.layout.with_header_page(&page);
        input.expect(b"header_event\0", "header_event")?;
        let size = input.u64()?;
        input.skip(size)
    }

    pub(crate) fn ftrace<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<(), TraceError> {
        let count = input.u32()?;
        self.format_files(input, count)
    }

    /// Reads the formats of all other events, by system.
    pub(crate) fn events<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<(), TraceError> {
        let systems = input.u32()?;
        for _ in 0..systems.min(FORMATS) {
            input.string(256)?;
            let count = input.u32()?;
            self.format_files(input, count)?;
        }
        Ok(())
    }

    fn format_files<R: Read + Seek>(&mut self, input: &mut Input<R>, count: u32) -> Result<(), TraceError> {
        for _ in 0..count {
            let size = input.u64()?;
            let text = input.bytes(size, 1 << 20)?;
            if self.formats.len() >= FORMATS as usize || self.formats_size >= MOST {
                return Err(input.damaged("number of event formats"));
            }
            self.formats_size += text.len();
            self.formats.push(text);
        }
        Ok(())
    }

    pub(crate) fn cmdlines<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<(), TraceError> {
        let size = input.u64()?;
        self.comms = input.bytes(size, MOST)?;
        Ok(())
    }

    /// Reads an option whose value is inline; both versions use the same numbers. Returns `false` for an unknown one.
    pub(super) fn option(&mut self, id: u16, value: &[u8]) -> bool {
        let text = || String::from_utf8_lossy(value.split(|b| *b == 0).next().unwrap_or_default()).into_owned();
        match id {
            CPUSTAT => self.statistics(&text()),
            TRACECLOCK => self.clock(&text()),
            UNAME => self.uname(&text()),
            CPUCOUNT => self.info.cpus = self.layout.u32(value, 0),
            TSC2NSEC => {
                let (mult, shift) = (self.layout.u32(value, 0), self.layout.u32(value, 4));
                if let (Some(mult), Some(shift), Some(offset)) = (mult, shift, self.layout.u64(value, 8)) {
                    self.tsc = (mult > 0).then_some(Tsc { mult, shift, offset });
                }
            }
            // Date, hooks, version, process maps, trace ID, guests, strings: irrelevant to events.
            1 | 6 | 9..=11 | 13 | 15 => {}
            OFFSET | TIME_SHIFT => {
                let what = "a time offset of trace-cmd, which is not applied".to_owned();
                self.info.note(Damage::Unsupported { what }, Place::Whole);
            }
            _ => return false,
        }
        true
    }

    /// Parses a list of clocks, `local global [mono] boot`.
    fn clock(&mut self, list: &str) {
        let chosen = list.split_whitespace().find_map(|c| c.strip_prefix('[')?.strip_suffix(']'));
        self.set_clock(chosen.unwrap_or_default());
    }

    pub(super) fn set_clock(&mut self, name: &str) {
        if !name.is_empty() {
            self.info.clock = Some(name.to_owned());
        }
    }

    /// Parses `Linux HOST RELEASE MACHINE`.
    fn uname(&mut self, text: &str) {
        let words: Vec<&str> = text.split_whitespace().collect();
        if let [.., release, machine] = words.as_slice() {
            (self.info.kernel, self.info.machine) = (Some((*release).to_owned()), Some((*machine).to_owned()));
        }
    }

    /// Parses the statistics of the buffer of one CPU in the format of tracefs.
    fn statistics(&mut self, text: &str) {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok());
        let cpu = value("CPU:").and_then(|cpu| u32::try_from(cpu).ok());
        let lost = [value("overrun:"), value("commit overrun:"), value("dropped events:")];
        if lost.iter().all(Option::is_none) {
            return;
        }
        let lost: u64 = lost.into_iter().flatten().fold(0, u64::saturating_add);
        self.overrun = Some(self.overrun.unwrap_or(0).saturating_add(lost));
        if let Some(cpu) = cpu.filter(|_| lost > 0) {
            self.info.note(Damage::Lost { cpu, count: Some(lost) }, Place::Whole);
        }
    }

    pub(crate) fn decoder(&mut self, options: Options) -> Decoder {
        let mut decoder = Decoder::new(self.layout, options);
        if let Some(release) = &self.info.kernel {
            decoder.set_release(release);
        }
        for text in std::mem::take(&mut self.formats) {
            if !decoder.add_format(&text) {
                self.info.note(Damage::Corrupt { what: "format of an event" }, Place::Whole);
            }
        }
        decoder.add_comms(&std::mem::take(&mut self.comms));
        let ticks = matches!(self.info.clock.as_deref(), Some("x86-tsc" | "counter" | "ppc-tb"));
        if self.tsc.is_none() && ticks {
            self.info.time = TimeBase::Ticks;
        }
        decoder
    }
}

pub(crate) fn unpacked(bytes: Vec<u8>, big_endian: bool) -> Result<Input<Cursor<Vec<u8>>>, TraceError> {
    let mut input = Input::new(Cursor::new(bytes), super::FORMAT)?;
    input.big_endian = big_endian;
    Ok(input)
}

/// Option numbers (tracecmd-lib, `TRACECMD_OPTION_*`).
pub(super) const DONE: u16 = 0;
const CPUSTAT: u16 = 2;
pub(super) const BUFFER: u16 = 3;
pub(super) const TRACECLOCK: u16 = 4;
pub(super) const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const CPUCOUNT: u16 = 8;
const TIME_SHIFT: u16 = 12;
const TSC2NSEC: u16 = 14;
pub(super) const HEADER_INFO: u16 = 16;
pub(super) const FTRACE_EVENTS: u16 = 17;
pub(super) const EVENT_FORMATS: u16 = 18;
pub(super) const KALLSYMS: u16 = 19;
pub(super) const PRINTK: u16 = 20;
pub(super) const CMDLINES: u16 = 21;
pub(super) const BUFFER_TEXT: u16 = 22;
