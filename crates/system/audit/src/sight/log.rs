//! The kernel's log: /dev/kmsg (Documentation/ABI/testing/dev-kmsg).

use super::{Notes, Sight};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use punctual_machine::LOG_PART;

const LOG: &str = "/dev/kmsg";

const MAX: usize = 16;
const LONGEST: usize = 160;

#[derive(Debug)]
pub(crate) struct Log {
    pub lines: Vec<String>,
    pub missing: Option<Gap>,
    pub last: Option<u64>,
}

impl Log {
    /// Records are `priority,number,µs,flags;text`, each followed by property lines that begin with a blank. The first
    /// number is 0 unless the log has overflowed.
    fn parse(text: &str) -> Log {
        let mut lines = Vec::new();
        let (mut first, mut last) = (None, None);
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            let Some((head, message)) = line.split_once(';') else { continue };
            let number = head.split(',').nth(1).and_then(|number| number.parse::<u64>().ok());
            if let Some(number) = number {
                first.get_or_insert(number);
                last = Some(number);
                lines.push(message.to_owned());
            }
        }
        let missing = match first {
            _ if text.starts_with(LOG_PART) => Some(Gap::new("the complete kernel log", Cause::NotGiven)),
            Some(0) => None,
            Some(_) => Some(Gap::new(LOG, Cause::Garbled("beginning: older lines were overwritten"))),
            None => Some(Gap::new(LOG, Cause::Garbled("line"))),
        };
        Log { lines, missing, last }
    }
}

impl Sight<'_> {
    pub fn log(&self) -> &Log {
        self.log.get_or_init(|| {
            let read = self.machine.read(LOG);
            match Cause::of(&read) {
                Some(cause) => Log { lines: Vec::new(), missing: Some(Gap::new(LOG, cause).expected()), last: None },
                None => Log::parse(&String::from_utf8_lossy(read.bytes().unwrap_or_default())),
            }
        })
    }

    pub(super) fn log_lines(&self, texts: &[String], notes: &mut Notes) -> Many {
        let log = self.log();
        let mut many = Many { items: Vec::new(), missing: log.missing.clone() };
        let fits = |line: &&String| texts.iter().any(|text| line.contains(text.as_str()));
        for line in log.lines.iter().filter(fits).take(MAX) {
            let shown: String = line.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
            many.push("", Ok(Value::Text(shown)));
        }
        let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
        let found = Reading::Many(many.clone()).show();
        notes.add(format!("{LOG}: lines with {}", texts.join(", ")), format!("{found}{gap}"));
        many
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_and_an_overrun_is_reported() {
        let whole = Log::parse("6,0,0,-;Linux version\n6,1,5,-;a; b\n SUBSYSTEM=pci\n");
        assert_eq!(whole.lines, ["Linux version", "a; b"]);
        assert!(whole.missing.is_none());
        assert!(Log::parse("6,12,0,-;later\n").missing.is_some());
        assert!(Log::parse("rubbish").missing.is_some());
    }
}
