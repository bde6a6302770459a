//! Compares what a search kept with the injected faults.

use super::{HARMLESS, KNOWN, faults};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Prints what a search found. Returns `true` if it is as expected.
pub fn score(kernel: &str, injected: bool, folder: &Path) -> Result<bool, String> {
    let read = |name: &str| fs::read_to_string(folder.join(name)).map_err(|e| format!("{}: {e}", folder.display()));
    let document: Value =
        serde_json::from_str(&read("tune.json")?).map_err(|e| format!("{}: {e}", folder.display()))?;
    let tuned = &document["result"]["tuned"];
    let kept: Vec<&str> = tuned["kept"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    println!(
        "\n{kernel}, {}: kept {kept:?}, ended {}",
        if injected { "faults" } else { "none" },
        tuned["ended"]["how"]
    );
    let trials = tuned["trials"].as_array().map(Vec::as_slice).unwrap_or_default();
    trials.iter().for_each(|trial| println!("  {}", line(trial)));
    tuned["not_tried"].as_array().into_iter().flatten().for_each(|pair| println!("  not tried: {pair}"));
    let blocks: usize = trials.iter().filter_map(|trial| Some(2 * trial["pairs"].as_array()?.len())).sum();
    println!(
        "  {blocks} blocks; median of a block {} us before, {} us after",
        median(tuned, "before_ns"),
        median(tuned, "after_ns")
    );
    let (before, after, undone) = (read("before")?, read("after")?, read("undone")?);
    let is_back = undone == before;
    println!("  values after undo as before: {is_back}; harmless ones never changed: {}", harmless(&before, &after));
    let all: Vec<&str> = faults(kernel).iter().filter(|_| injected).map(|fault| fault.rule).collect();
    let known = KNOWN.min(all.len());
    let is_found = kept.len() == all.len() && all.iter().all(|rule| kept.contains(rule));
    let is_ordered = kept.get(..known) == all.get(..known);
    Ok(is_found && is_ordered && is_back && harmless(&before, &after))
}

/// Returns a median, formatted in µs.
fn median(tuned: &Value, name: &str) -> String {
    let mut all: Vec<f64> = tuned[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).map_or_else(|| "?".to_owned(), |ns| format!("{:.1}", ns / 1e3))
}

/// Returns `true` if the values of the harmless settings, which are the first four, are unchanged.
fn harmless(before: &str, after: &str) -> bool {
    let first = |text: &str| text.lines().take(HARMLESS.len()).map(str::to_owned).collect::<Vec<_>>();
    first(before) == first(after)
}

fn line(trial: &Value) -> String {
    let us = |value: &Value| value.as_f64().map_or_else(|| "?".to_owned(), |ns| format!("{:.1}", -ns / 1e3));
    let kind = match (&trial["kind"]["kind"], &trial["kind"]["kept"]) {
        (Value::String(kind), Value::Bool(kept)) => format!("{kind}, kept: {kept}"),
        (kind, _) => kind.as_str().unwrap_or_default().to_owned(),
    };
    format!(
        "round {} {}: buys {} us ({} to {}), {kind}",
        trial["round"],
        trial["rule"].as_str().unwrap_or_default(),
        us(&trial["shift_ns"]),
        us(&trial["interval_ns"][1]),
        us(&trial["interval_ns"][0])
    )
}
