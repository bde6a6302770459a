//! Reads /tmp/perf-PID.map, which has one line `START SIZE NAME` per function; numbers are hexadecimal.

use std::fs::File;
use std::io::Read;

/// Maximum number of bytes read from a map; the rest is ignored.
const LARGEST: u64 = 64 << 20;

#[derive(Debug, Default)]
pub(crate) struct PerfMap {
    /// Start, end and name of each function, sorted by start.
    functions: Vec<(u64, u64, String)>,
}

impl PerfMap {
    pub(crate) fn of(pid: i32) -> PerfMap {
        let own = format!("/proc/{pid}/root/tmp/perf-{pid}.map");
        let mut bytes = Vec::new();
        let is_file = std::fs::metadata(&own).is_ok_and(|meta| meta.is_file());
        if is_file && let Ok(file) = File::open(&own) {
            // The bytes read before an error are used.
            let _ = file.take(LARGEST).read_to_end(&mut bytes);
        }
        PerfMap::parse(&String::from_utf8_lossy(&bytes))
    }

    pub(crate) fn parse(text: &str) -> PerfMap {
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let mut number = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
            let (start, size) = (number()?, number()?);
            Some((start, start.checked_add(size)?, words.next()?.trim().to_owned()))
        };
        let mut functions: Vec<_> = text.lines().filter_map(line).collect();
        functions.sort_by_key(|(start, ..)| *start);
        PerfMap { functions }
    }

    /// Returns the function at `address`, and its source file if known: Python writes `py::FUNCTION:FILE`.
    pub(crate) fn find(&self, address: u64) -> Option<(String, Option<String>)> {
        let at = self.functions.partition_point(|(start, ..)| *start <= address).checked_sub(1)?;
        let (_, end, name) = &self.functions[at];
        if address >= *end {
            return None;
        }
        Some(match name.strip_prefix("py::").and_then(|rest| rest.rsplit_once(':')) {
            Some((function, file)) => (function.to_owned(), Some(file.to_owned())),
            None => (name.clone(), None),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn functions_of_python_have_their_file() {
        let map = PerfMap::parse("7f0010 20 py::step:/app/loop.py\n7f0000 10 stub\nnonsense\n");
        assert_eq!(map.find(0x7f0018), Some(("step".into(), Some("/app/loop.py".into()))));
        assert_eq!(map.find(0x7f0000), Some(("stub".into(), None)));
        assert_eq!(map.find(0x7f0030), None);
        assert_eq!(map.find(0), None);
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "([0-9a-f]{0,16} [0-9a-f]{0,16} \\PC{0,20}\n){0,5}", address: u64) {
            let _ = PerfMap::parse(&text).find(address);
        }
    }
}
