//! Reads the auto-analysis of `rtla timerlat` (tools/tracing/rtla/src/timerlat_aa.c); values are kept as printed.

use super::header::micros;
use super::scan::{find, number, split, text, trim, whole_i32};
use crate::info::RtlaAnalysis;
use crate::words::Comm;

/// Maximum number of sections, and of items in a list of a section.
const MOST: usize = 256;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Under {
    #[default]
    Nothing,
    Blocking,
    Stack,
    Interference,
}

#[derive(Debug, Default)]
pub(crate) struct Rtla {
    open: bool,
    under: Under,
}

impl Rtla {
    pub(crate) fn line(&mut self, line: &[u8], sections: &mut Vec<RtlaAnalysis>) -> bool {
        let line = trim(line);
        // The line was pasted into a list.
        let line = line.strip_prefix(b"- ").map_or(line, trim);
        if let Some(rest) = line.strip_prefix(b"## CPU ") {
            return self.begin(rest, sections);
        }
        if !self.open {
            from_idle(line, sections);
            return line.starts_with(b"rtla timerlat hit stop tracing") || self.begin_without(line, sections);
        }
        let Some(section) = sections.last_mut() else { return false };
        if line.is_empty() || line.starts_with(b"---") {
            return true;
        }
        self.item(line, section)
    }

    fn begin(&mut self, rest: &[u8], sections: &mut Vec<RtlaAnalysis>) -> bool {
        let Some((cpu, rest)) = number(rest) else { return false };
        let (Ok(cpu), true) = (u32::try_from(cpu), find(rest, b"hit stop tracing").is_some()) else { return false };
        self.open = sections.len() < MOST;
        self.under = Under::Nothing;
        if self.open {
            sections.push(RtlaAnalysis { cpu: Some(cpu), ..RtlaAnalysis::default() });
        }
        true
    }

    /// Begins a section at the first value of an analysis, if the preceding line, which names the CPU, is missing.
    fn begin_without(&mut self, line: &[u8], sections: &mut Vec<RtlaAnalysis>) -> bool {
        const FIRST: [&[u8]; 3] = [b"IRQ handler delay", b"IRQ latency", b"Timerlat IRQ duration"];
        if sections.len() >= MOST || !FIRST.iter().any(|first| line.starts_with(first)) || labelled(line).is_none() {
            return false;
        }
        (self.open, self.under) = (true, Under::Nothing);
        let mut section = RtlaAnalysis::default();
        let read = self.item(line, &mut section);
        sections.push(section);
        read
    }

    fn item(&mut self, line: &[u8], section: &mut RtlaAnalysis) -> bool {
        if let Some(function) = line.strip_prefix(b"-> ") {
            if section.stack.len() < MOST {
                section.stack.push(text(function, 128));
            }
            return true;
        }
        if find(line, b"stack trace").is_some() {
            self.under = Under::Stack;
            return true;
        }
        let Some((label, us, rest)) = labelled(line) else {
            // If the trace was stopped in the interrupt, neither of them has a figure.
            if line.starts_with(b"Blocking thread") {
                self.under = Under::Blocking;
                return true;
            }
            if self.under == Under::Blocking && self.source(line, 0.0, section) {
                return true;
            }
            section.exit_from_idle |= find(line, b"from idle").is_some();
            return section.exit_from_idle;
        };
        let from_idle = split(label, b"(exit from idle)").map(|(label, _)| trim(label));
        section.exit_from_idle |= from_idle.is_some();
        let label = from_idle.unwrap_or(label);
        // Before Linux 6.4 no newline follows "Previous IRQ interference: up to 2.22 us".
        let read = self.figure(label.strip_suffix(b":").unwrap_or(label), us, section);
        if labelled(rest).is_some() { self.item(rest, section) } else { read }
    }

    fn figure(&mut self, label: &[u8], us: f64, section: &mut RtlaAnalysis) -> bool {
        match label {
            b"IRQ handler delay" => section.irq_handler_delay_us = Some(us),
            b"IRQ latency" => section.irq_latency_us = Some(us),
            b"Timerlat IRQ duration" => section.irq_duration_us = Some(us),
            b"Blocking thread" => {
                section.blocking_thread_us = Some(us);
                self.under = Under::Blocking;
            }
            b"Thread latency" => {
                section.total_us = Some(us);
                self.open = false;
            }
            _ if label.starts_with(b"Previous IRQ interference") => {}
            _ if label.ends_with(b"interference") || label.starts_with(b"Hardware") => {
                self.under = Under::Interference;
                keep(&mut section.interference, (text(label, 64), us));
            }
            _ => return self.source(label, us, section),
        }
        true
    }

    /// Parses `multipathd:183` or `local_timer:236`.
    fn source(&mut self, label: &[u8], us: f64, section: &mut RtlaAnalysis) -> bool {
        let Some(at) = memchr::memrchr(b':', label) else { return false };
        let (Some(name), Some(number)) = (label.get(..at), label.get(at + 1..).and_then(whole_i32)) else {
            return false;
        };
        match self.under {
            Under::Blocking => keep(&mut section.blocking, (Comm::new(name), number, us)),
            _ => keep(&mut section.sources, (text(name, 64), number, us)),
        }
        true
    }
}

/// Takes the CPU of a section that lacks its first line from the last line,
/// `Max timerlat IRQ latency from idle: 49.11 us in cpu 2`.
fn from_idle(line: &[u8], sections: &mut [RtlaAnalysis]) {
    let Some((_, us, rest)) = labelled(line).filter(|(label, ..)| label.ends_with(b"from idle:")) else { return };
    let cpu = rest.strip_prefix(b"in cpu ").and_then(number).and_then(|(cpu, _)| u32::try_from(cpu).ok());
    if let Some(section) = sections.last_mut().filter(|section| section.cpu.is_none())
        && section.irq_latency_us == Some(us)
    {
        section.cpu = cpu;
    }
}

fn keep<T>(list: &mut Vec<T>, item: T) {
    if list.len() < MOST {
        list.push(item);
    }
}

/// Parses `LABEL:   12.34 us (5.6 %)`; some labels lack the colon. Returns the rest of the line too.
fn labelled(line: &[u8]) -> Option<(&[u8], f64, &[u8])> {
    let (front, rest) = split(line, b" us")?;
    let start = front.iter().rposition(|b| matches!(b, b' ' | b'\t'))?;
    let (us, []) = micros(front.get(start..)?)? else { return None };
    let label = trim(front.get(..start)?);
    Some((label, us, trim(rest)))
}
