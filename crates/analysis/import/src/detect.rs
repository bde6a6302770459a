//! Detects formats by content; the file name is only a hint where the content is inconclusive.

use crate::format::Format;
use crate::raw;
use crate::repair;

pub(crate) const HEAD: usize = 64 << 10;

/// The format of a file that begins with `head`; `None` if unknown.
pub(crate) fn detect(name: &str, head: &[u8]) -> Option<Format> {
    if head.iter().take(4_096).filter(|&&b| b == 0).count() > 8 {
        return raw::plausible(head).then_some(Format::JitterdebuggerRaw);
    }
    let text = repair::whole(&String::from_utf8_lossy(head));
    let mut votes: Option<Format> = None;
    for line in text.lines().map(str::trim) {
        if let Some(format) = by_line(line) {
            votes = Some(format);
            break;
        }
    }
    votes.or_else(|| by_name(name).filter(|_| !text.trim().is_empty()))
}

fn by_line(line: &str) -> Option<Format> {
    let lower = line.to_ascii_lowercase();
    let rtla = ["# rtla ", "timer latency", "operating system noise", "hardware-related noise", "irq-000", "thr-000"];
    if rtla.iter().any(|key| lower.contains(key)) {
        return Some(Format::Rtla);
    }
    let json = ["\"file_version\"", "\"cmdline:\"", "\"histogram\"", "\"sysinfo\""];
    if json.iter().any(|key| line.contains(key)) {
        return Some(Format::Json);
    }
    if lower.contains("queen") && lower.contains("solutions") && lower.contains([',', ';']) {
        return Some(Format::NQueens);
    }
    let keys = ["# histogram", "# min latencies", "# max latencies", "# total:", "# break thread"];
    if keys.iter().any(|key| lower.starts_with(key)) || is_live(line) || is_raw_row(line) || is_bin_row(line) {
        return Some(Format::Cyclictest);
    }
    is_csv_row(line).then_some(Format::Csv)
}

/// `T: 0 (22445) P:95 …`
fn is_live(line: &str) -> bool {
    line.starts_with("T:") && line.contains('(') && line.contains("C:") || line.contains("Spike:")
}

/// `0:       0:      49`
pub(crate) fn is_raw_row(line: &str) -> bool {
    let mut fields = line.split(':');
    let number =
        |f: Option<&str>| f.is_some_and(|f| !f.trim().is_empty() && f.trim().bytes().all(|b| b.is_ascii_digit()));
    number(fields.next()) && number(fields.next()) && fields.next().is_some_and(|f| !f.trim().is_empty()) && {
        fields.next().is_none()
    }
}

/// `000011 000000<TAB>000001`
fn is_bin_row(line: &str) -> bool {
    let mut fields = line.split_ascii_whitespace();
    let padded = |f: &str| f.len() >= 6 && f.bytes().all(|b| b.is_ascii_digit());
    fields.next().is_some_and(padded) && fields.clone().next().is_some() && fields.all(padded)
}

/// Numbers separated by commas or semicolons.
fn is_csv_row(line: &str) -> bool {
    let mut fields = line.split([',', ';']).map(str::trim);
    let number = |f: &str| !f.is_empty() && f.bytes().all(|b| b.is_ascii_digit());
    line.contains([',', ';']) && fields.clone().count() >= 2 && fields.all(number)
}

fn by_name(name: &str) -> Option<Format> {
    let name = name.to_ascii_lowercase();
    match name.rsplit('.').next().unwrap_or_default() {
        "json" => Some(Format::Json),
        "csv" => Some(Format::Csv),
        _ if name.contains("rtla") => Some(Format::Rtla),
        _ if name.contains("cyclictest") => Some(Format::Cyclictest),
        _ => None,
    }
}
