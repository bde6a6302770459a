//! rtl_433's pulse text: `;ook N pulses`, then a line `mark space` in µs for each pulse, then `;end`. A file may
//! contain any number of these packages (pulse_data_load and pulse_data_print_pulse_header in rtl_433's
//! src/pulse_data.c, 22.11).

use crate::waveform::{Pulse, Timing};
use punctual_units::Nanos;
use std::io::{self, Write};

/// Maximum number of pulses per package; rtl_433 accepts 1200 (PD_MAX_PULSES).
const MAX: usize = 1000;

/// An edge of the line, on CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeAt {
    pub at: Nanos,
    pub level: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub packages: u64,
    pub pulses: u64,
    /// Number of edges with the same level as the previous edge or with an earlier time, which shows that an edge
    /// between them was lost.
    pub out_of_order: u64,
    /// Number of edges known to have been lost before they reached the writer.
    pub lost: u64,
}

/// Writes edges as they arrive. A package is written as soon as it ends, so that rtl_433 can read the file of a killed
/// program.
#[derive(Debug)]
pub struct OokWriter<W> {
    output: W,
    /// Minimum length of a space that ends a package.
    quiet: Nanos,
    /// Minimum length of a space at which a package of maximum size is split.
    cut: Nanos,
    pulses: Vec<Pulse>,
    rise: Option<Nanos>,
    fall: Option<Nanos>,
    written: Written,
}

impl<W: Write> OokWriter<W> {
    /// Writes the header. `from` says where the edges were observed, and is written as a comment.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new(mut output: W, timing: &Timing, from: &str) -> io::Result<OokWriter<W>> {
        write!(output, ";pulse data\n;version 1\n;timescale 1us\n;edges from {from}\n")?;
        let gap = timing.times(timing.stop_gap);
        let (quiet, cut) = (Nanos(gap.0 * 2), Nanos(gap.0 / 2));
        Ok(OokWriter { output, quiet, cut, pulses: Vec::new(), rise: None, fall: None, written: Written::default() })
    }

    /// Adds the next edge.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn edge(&mut self, edge: EdgeAt) -> io::Result<()> {
        match (self.rise, self.fall, edge.level) {
            (None, _, true) => self.rise = Some(edge.at),
            (Some(rise), None, false) if edge.at >= rise => self.fall = Some(edge.at),
            (Some(rise), Some(fall), true) if edge.at >= fall => {
                let pulse = Pulse { mark: fall - rise, space: edge.at - fall };
                self.pulses.push(pulse);
                (self.rise, self.fall) = (Some(edge.at), None);
                if pulse.space >= self.quiet || (self.pulses.len() >= MAX && pulse.space >= self.cut) {
                    return self.package();
                }
            }
            _ => self.written.out_of_order += 1,
        }
        Ok(())
    }

    /// Ends the package if the line has been low for long enough at `now`.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn quiet_until(&mut self, now: Nanos) -> io::Result<()> {
        match (self.rise, self.fall) {
            (Some(rise), Some(fall)) if now.saturating_sub(fall) >= self.quiet => {
                self.pulses.push(Pulse { mark: fall - rise, space: self.quiet });
                (self.rise, self.fall) = (None, None);
                self.package()
            }
            _ => Ok(()),
        }
    }

    /// Writes the last package and flushes the output. Must be called after the last edge.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn finish(mut self) -> io::Result<Written> {
        self.quiet_until(Nanos(u64::MAX))?;
        self.package()?;
        self.output.flush()?;
        Ok(self.written)
    }

    pub fn lost(&mut self, edges: u64) {
        self.written.lost = edges;
    }

    pub fn written(&self) -> Written {
        self.written
    }

    fn package(&mut self) -> io::Result<()> {
        for pulses in self.pulses.chunks(MAX) {
            self.output.write_all(package(pulses).as_bytes())?;
            self.written.packages += 1;
            self.written.pulses += pulses.len() as u64;
        }
        self.pulses.clear();
        Ok(())
    }
}

pub fn package(pulses: &[Pulse]) -> String {
    let us = |n: Nanos| (n.0 + 500) / 1_000;
    let mut text = format!(";ook {} pulses\n", pulses.len());
    pulses.iter().for_each(|p| text.push_str(&format!("{} {}\n", us(p.mark), us(p.space))));
    text.push_str(";end\n");
    text
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}: `{text}`; a line is `mark space` in µs, or begins with `;`")]
pub struct NotPulses {
    pub line: usize,
    pub what: &'static str,
    pub text: String,
}

/// Parses the packages of a file.
///
/// # Errors
/// [`NotPulses`].
pub fn read(text: &str) -> Result<Vec<Vec<Pulse>>, NotPulses> {
    let (mut packages, mut open): (Vec<Vec<Pulse>>, bool) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        let bad = |what| NotPulses { line: number + 1, what, text: line.escape_debug().take(80).collect() };
        match line.strip_prefix(';').map(str::trim) {
            Some(head) if head.starts_with("ook") => {
                packages.push(Vec::new());
                open = true;
            }
            Some(head) if head.starts_with("fsk") => return Err(bad("frequency shift keying")),
            Some(head) if head.starts_with("timescale") && head != "timescale 1us" => {
                return Err(bad("a timescale other than 1us"));
            }
            Some("end") => open = false,
            Some(_) => {}
            None if line.trim().is_empty() => {}
            None if !open => return Err(bad("a pulse outside `;ook` and `;end`")),
            None => {
                let pulse = pulse(line).ok_or_else(|| bad("not two numbers"))?;
                packages.last_mut().ok_or_else(|| bad("a pulse before `;ook`"))?.push(pulse);
            }
        }
    }
    Ok(packages)
}

fn pulse(line: &str) -> Option<Pulse> {
    let mut numbers = line.split_whitespace().map(|word| word.parse::<u32>().ok());
    let mut next = || Some(Nanos::from_micros(numbers.next()??.into()));
    let pulse = Pulse { mark: next()?, space: next()? };
    numbers.next().is_none().then_some(pulse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(edges: impl IntoIterator<Item = EdgeAt>) -> (String, Written) {
        let mut text = Vec::new();
        let mut writer = OokWriter::new(&mut text, &Timing::default(), "a test").unwrap();
        edges.into_iter().for_each(|edge| writer.edge(edge).unwrap());
        let written = writer.finish().unwrap();
        (String::from_utf8(text).unwrap(), written)
    }

    fn edges_of(pulses: &[Pulse]) -> Vec<EdgeAt> {
        let mut at = Nanos::from_secs(7);
        let mut edges = Vec::new();
        for pulse in pulses {
            edges.extend([EdgeAt { at, level: true }, EdgeAt { at: at + pulse.mark, level: false }]);
            at = at + pulse.mark + pulse.space;
        }
        edges
    }

    #[test]
    fn edges_without_their_partner_are_counted_and_the_rest_is_written() {
        let at = |us, level| EdgeAt { at: Nanos::from_micros(us), level };
        let edges =
            [at(1, false), at(10, true), at(20, true), at(30, false), at(25, true), at(90, true), at(95, false)];
        let (text, written) = write(edges);
        assert_eq!(written, Written { packages: 1, pulses: 2, out_of_order: 3, lost: 0 });
        assert!(text.ends_with(";ook 2 pulses\n20 60\n5 25920\n;end\n"), "{text}");
    }

    #[test]
    fn a_quiet_line_ends_a_package_before_the_next_edge_comes() {
        let mut text = Vec::new();
        let mut writer = OokWriter::new(&mut text, &Timing::default(), "a test").unwrap();
        writer.edge(EdgeAt { at: Nanos(1_000), level: true }).unwrap();
        writer.edge(EdgeAt { at: Nanos(3_000), level: false }).unwrap();
        writer.quiet_until(Nanos::from_millis(20)).unwrap();
        assert_eq!(writer.written().packages, 0);
        writer.quiet_until(Nanos::from_millis(26)).unwrap();
        assert_eq!(writer.written().packages, 1);
        assert_eq!(writer.finish().unwrap().packages, 1);
    }

    #[test]
    fn an_error_in_pulse_text_is_reported_with_its_line() {
        for (text, line) in [
            ("1 2", 1),
            (";ook 1 pulses\n1\n", 2),
            (";ook 1 pulses\n1 2 3", 2),
            (";timescale 1ms", 1),
            (";fsk 3 pulses", 1),
            (";ook 1 pulses\n-1 2", 2),
        ] {
            assert_eq!(read(text).unwrap_err().line, line, "{text}");
        }
        assert_eq!(read(""), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(pulses in proptest::collection::vec((1u64..5_000, 1u64..40_000), 0..2_500)) {
            let pulses: Vec<Pulse> = pulses.into_iter().map(|(m, s)| Pulse { mark: Nanos::from_micros(m), space: Nanos::from_micros(s) }).collect();
            let (text, written) = write(edges_of(&pulses));
            let read = read(&text).unwrap();
            prop_assert!(read.iter().all(|package| !package.is_empty() && package.len() <= MAX));
            prop_assert_eq!((read.len() as u64, written.out_of_order), (written.packages, 0));
            let (read, mut pulses) = (read.concat(), pulses);
            if let Some(last) = pulses.last_mut() {
                last.space = Nanos::from_micros(25_920);
            }
            prop_assert_eq!(read, pulses);
        }
    }
}
