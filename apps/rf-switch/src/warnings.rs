use punctual_units::Nanos;
use std::io::Write;

const MAX: u32 = 10;
const SECOND: Nanos = Nanos::from_secs(1);

/// Writes at most 10 lines per second, and reports how many lines it omitted.
#[derive(Debug)]
pub struct Warnings<W> {
    output: W,
    since: Nanos,
    written: u32,
    held: u64,
}

impl<W: Write> Warnings<W> {
    pub fn new(output: W) -> Warnings<W> {
        Warnings { output, since: Nanos::ZERO, written: 0, held: 0 }
    }

    /// Writes a line, or counts it as omitted. Write errors are ignored, since stderr may be closed.
    pub fn warn(&mut self, now: Nanos, line: &str) {
        self.look(now);
        if self.written < MAX {
            self.written += 1;
            let _ = writeln!(self.output, "rf-switch: {line}");
        } else {
            self.held += 1;
        }
    }

    pub fn look(&mut self, now: Nanos) {
        if now.saturating_sub(self.since) >= SECOND {
            self.write_omitted();
            (self.since, self.written) = (now, 0);
        }
    }

    pub fn holds(&self) -> bool {
        self.held > 0
    }

    pub fn write_omitted(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held > 0 {
            let _ = writeln!(self.output, "rf-switch: {held} more lines omitted");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_ten_lines_and_a_number() {
        let mut text = Vec::new();
        let mut warnings = Warnings::new(&mut text);
        (0..1_000).for_each(|n| warnings.warn(Nanos::from_secs(5), &n.to_string()));
        assert!(warnings.holds());
        warnings.warn(Nanos::from_secs(6), "next");
        warnings.write_omitted();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines.len(), lines[9], lines[10], lines[11]),
            (12, "rf-switch: 9", "rf-switch: 990 more lines omitted", "rf-switch: next")
        );
    }
}
