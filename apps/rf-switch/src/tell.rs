use punctual_units::Nanos;
use std::io::Write;

const MOST: u32 = 10;
const SECOND: Nanos = Nanos::from_secs(1);

/// Writes at most 10 lines per second, and the number of lines it left out.
#[derive(Debug)]
pub struct Teller<W> {
    output: W,
    since: Nanos,
    told: u32,
    held: u64,
}

impl<W: Write> Teller<W> {
    pub fn new(output: W) -> Teller<W> {
        Teller { output, since: Nanos::ZERO, told: 0, held: 0 }
    }

    /// Writes a line, or counts it. Write errors are ignored (stderr may be closed).
    pub fn tell(&mut self, now: Nanos, line: &str) {
        self.look(now);
        if self.told < MOST {
            self.told += 1;
            let _ = writeln!(self.output, "rf-switch: {line}");
        } else {
            self.held += 1;
        }
    }

    pub fn look(&mut self, now: Nanos) {
        if now.saturating_sub(self.since) >= SECOND {
            self.say_held();
            (self.since, self.told) = (now, 0);
        }
    }

    pub fn holds(&self) -> bool {
        self.held > 0
    }

    pub fn say_held(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held > 0 {
            let _ = writeln!(self.output, "rf-switch: and {held} more such lines");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_ten_lines_and_a_number() {
        let mut text = Vec::new();
        let mut teller = Teller::new(&mut text);
        (0..1_000).for_each(|n| teller.tell(Nanos::from_secs(5), &n.to_string()));
        assert!(teller.holds());
        teller.tell(Nanos::from_secs(6), "next");
        teller.say_held();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            (lines.len(), lines[9], lines[10], lines[11]),
            (12, "rf-switch: 9", "rf-switch: and 990 more such lines", "rf-switch: next")
        );
    }
}
