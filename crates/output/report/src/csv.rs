use crate::clean;
use punctual_model::{Blur, Known, Recording};
use punctual_units::Histogram;
use std::borrow::Cow;
use std::fmt::Write;

/// Formats all histograms, one row per non-empty bin: `clock,phase,load,cpu,kind,low_ns,width_ns,count`.
///
/// `clock` is `real`, or `virtual` if an emulator's instructions were counted. `kind` is `raw` (one sample per wakeup)
/// or `skipped` (one sample per skipped period: how late the thread was for it); their sum is the corrected
/// distribution. `unplaced` are samples of an imported file that are counted without their values: each was at least
/// `low_ns`, and less than `width_ns` above it if that is known, else the field is empty. Lines end in a newline, as
/// RFC 4180 allows; fields with commas or quotes are quoted.
pub fn csv(recording: &Recording) -> String {
    let mut out = String::from("clock,phase,load,cpu,kind,low_ns,width_ns,count\n");
    let clock = if recording.run.virtual_time.is_some() { "virtual" } else { "real" };
    for phase in &recording.run.phases {
        for result in &phase.cpus {
            let Some(distribution) = recording.distribution(&phase.id, result.cpu) else { continue };
            let place = format!("{clock},{},{},{}", field(&phase.id), field(&phase.load), result.cpu);
            let known = Known::new(Cow::Borrowed(&distribution.raw), Blur::of(result));
            rows(&mut out, &format!("{place},raw"), known.values());
            unplaced(&mut out, &format!("{place},unplaced"), &known);
            rows(&mut out, &format!("{place},skipped"), &distribution.skipped);
        }
    }
    out
}

fn rows(out: &mut String, start: &str, histogram: &Histogram) {
    for bin in histogram.bins() {
        let width = (bin.high - bin.low).saturating_add(1);
        let _ = writeln!(out, "{start},{},{width},{}", bin.low, bin.count);
    }
}

fn unplaced(out: &mut String, start: &str, known: &Known) {
    let Some(unplaced) = known.blur().unplaced.filter(|_| known.beyond() > 0) else { return };
    let width = unplaced.to_ns.map(|to| to.saturating_sub(unplaced.from_ns).saturating_add(1).to_string());
    let _ = writeln!(out, "{start},{},{},{}", unplaced.from_ns, width.unwrap_or_default(), known.beyond());
}

/// Formats untrusted text as a field: made harmless, and quoted if necessary. Spreadsheets interpret text that begins
/// with `=`, `+`, `-` or `@` as a formula, some of them also after spaces or in full width; a leading apostrophe makes
/// it text (OWASP, CSV Injection).
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
