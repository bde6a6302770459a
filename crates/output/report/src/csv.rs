//! Histograms for spreadsheets and data frames.

use crate::clean;
use punctual_model::Recording;
use punctual_units::Histogram;
use std::fmt::Write;

/// All histograms, one row a bin that is not empty: `clock,phase,load,cpu,kind,low_ns,width_ns,count`.
///
/// `clock` is `real`, or `virtual` where it counted an emulator's instructions. `kind` is `raw` (one sample a wakeup) or `skipped` (one a skipped period: how late the thread was for it); added
/// up they are the corrected distribution. Lines end in a newline, as RFC 4180 allows; fields with commas or quotes
/// are quoted.
pub fn csv(recording: &Recording) -> String {
    let mut out = String::from("clock,phase,load,cpu,kind,low_ns,width_ns,count\n");
    let clock = if recording.run.virtual_time.is_some() { "virtual" } else { "real" };
    for phase in &recording.run.phases {
        for result in &phase.cpus {
            let Some(distribution) = recording.distribution(&phase.id, result.cpu) else { continue };
            let place = format!("{clock},{},{},{}", field(&phase.id), field(&phase.load), result.cpu);
            rows(&mut out, &format!("{place},raw"), &distribution.raw);
            rows(&mut out, &format!("{place},skipped"), &distribution.skipped);
        }
    }
    out
}

fn rows(out: &mut String, start: &str, histogram: &Histogram) {
    for bin in histogram.bins() {
        let width = (bin.high - bin.low).saturating_add(1);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{start},{},{width},{}", bin.low, bin.count);
    }
}

/// A text from outside as a field: harmless, quoted where needed. A spreadsheet takes what begins with `=`, `+`, `-` or `@` for a
/// formula, some of them after blanks or in full width; an apostrophe before it makes it text (OWASP, CSV Injection).
pub(crate) fn field(text: &str) -> String {
    let clean = clean::line(text);
    let is_formula = clean.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    let clean = if is_formula { format!("'{clean}") } else { clean };
    if clean.contains([',', '"', '\'', ';']) { format!("\"{}\"", clean.replace('"', "\"\"")) } else { clean }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_a_formula() {
        for (text, want) in [
            ("=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\""),
            (" +1", "\"' +1\""),
            ("＝1", "\"'＝1\""),
            ("\t=1", "\"' =1\""),
            ("a,\"b\"", "\"a,\"\"b\"\"\""),
            ("µs", "µs"),
        ] {
            assert_eq!(field(text), want);
        }
    }
}
