//! The CSV file of the published benchmark, with one line per repetition.

use core::fmt;
use core::str::FromStr;

use crate::error::Error;

pub const HEADER: &str = "time,queen,threads,solutions,seconds,microseconds,cpu_temp,gpu_temp";

/// A temperature in hundredths of a degree Celsius, which is the precision of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CentiCelsius(pub i32);

impl fmt::Display for CentiCelsius {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let value = self.0.unsigned_abs();
        write!(f, "{sign}{}.{:02}", value / 100, value % 100)
    }
}

impl FromStr for CentiCelsius {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "not degrees with two decimals, like 62.81";
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (whole, hundredths) = rest.split_once('.').ok_or(FORM)?;
        if whole.is_empty() || hundredths.len() != 2 || !rest.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return Err(FORM);
        }
        let whole: i32 = whole.parse().map_err(|_| FORM)?;
        let hundredths: i32 = hundredths.parse().map_err(|_| FORM)?;
        let value = whole.checked_mul(100).and_then(|value| value.checked_add(hundredths)).ok_or(FORM)?;
        Ok(Self(if negative { -value } else { value }))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// End time in whole seconds since 1970, UTC.
    pub time_s: u64,
    pub queens: u32,
    pub threads: u32,
    pub solutions: u64,
    /// Duration, µs. The file contains seconds and the remaining microseconds.
    pub elapsed_us: u64,
    /// CPU temperature after the repetition; `None` if it was not read.
    pub cpu: Option<CentiCelsius>,
    /// GPU temperature after the repetition; `None` if it was not read or there is no GPU.
    pub gpu: Option<CentiCelsius>,
}

/// Writes a line of the file. A column is empty if its temperature is unknown. (The published program then omits both
/// columns, although its header names them. [`read`] accepts that as well.)
impl fmt::Display for Repetition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { time_s, queens, threads, solutions, elapsed_us, cpu, gpu } = self;
        let (seconds, microseconds) = (elapsed_us / 1_000_000, elapsed_us % 1_000_000);
        let [cpu, gpu] = [cpu, gpu].map(|value| value.map(|value| value.to_string()).unwrap_or_default());
        write!(f, "{time_s}, {queens}, {threads}, {solutions}, {seconds}, {microseconds}, {cpu}, {gpu}")
    }
}

#[must_use]
pub fn write(repetitions: &[Repetition]) -> String {
    let lines = repetitions.iter().map(|repetition| format!("{repetition}\n"));
    core::iter::once(format!("{HEADER}\n")).chain(lines).collect()
}

/// Parses the file.
///
/// # Errors
/// [`Error::Csv`] with the line and the reason. A last line without a line end is an error, because it may be
/// truncated.
pub fn read(text: &str) -> Result<Vec<Repetition>, Error> {
    let at = |line: usize, reason: String| Error::Csv { line: line + 1, reason };
    let mut lines = text.split_inclusive('\n').enumerate();
    let header = lines.next().map_or("", |(_, line)| line.trim_end_matches(['\r', '\n']));
    if header != HEADER {
        return Err(at(0, format!("the header is {header:?}, not {HEADER:?}")));
    }
    lines
        .map(|(index, line)| {
            let line = line
                .strip_suffix('\n')
                .ok_or_else(|| at(index, "it has no line end and may be truncated".to_owned()))?;
            read_line(line.trim_end_matches('\r')).map_err(|reason| at(index, reason))
        })
        .collect()
}

fn read_line(line: &str) -> Result<Repetition, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != 6 && fields.len() != 8 {
        return Err(format!("{} columns, not 6 or 8", fields.len()));
    }
    let number = |column: usize, name: &str, largest: u64| match fields[column].parse::<u64>() {
        Ok(value) if value <= largest && fields[column].bytes().all(|b| b.is_ascii_digit()) => Ok(value),
        _ => Err(format!("{name} is {:?}, not a number from 0 to {largest}", fields[column])),
    };
    let degrees = |column: usize, name: &str| match fields.get(column) {
        None | Some(&"") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|error| format!("{name} is {text:?}: {error}")),
    };
    let seconds = number(4, "seconds", u64::MAX / 1_000_000 - 1)?;
    let microseconds = number(5, "microseconds", 999_999)?;
    Ok(Repetition {
        time_s: number(0, "time", u64::MAX)?,
        queens: number(1, "queen", u64::from(u32::MAX))? as u32,
        threads: number(2, "threads", u64::from(u32::MAX))? as u32,
        solutions: number(3, "solutions", u64::MAX)?,
        elapsed_us: seconds * 1_000_000 + microseconds,
        cpu: degrees(6, "cpu_temp")?,
        gpu: degrees(7, "gpu_temp")?,
    })
}
