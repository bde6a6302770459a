use crate::bounds::Quantile;
use crate::figures::{Cell, Figures, QUANTILES};
use crate::{clean, date, words};
use punctual_model::{Phase, Recording, Stamp, Verdict};
use punctual_units::Histogram;
use serde_json::{Value, json};

/// A run and its verdict for programs: the `result` of a `{schema, tool, exit_code, result}` document.
///
/// Keys carry units; unknown values are `null`; times are CLOCK_MONOTONIC (`…_mono_ns`) or UTC in ISO 8601 (`…_utc`).
/// Strings from the machine are unescaped: the serializer must escape them ([`json_text`] does).
pub fn json(recording: &Recording, verdict: &Verdict) -> Value {
    let figures = Figures::new(recording, verdict);
    let run = &recording.run;
    json!({
        "verdict": verdict_of(&figures),
        "run": {
            "schema": run.schema,
            "schema_version": run.schema_version,
            "tool": run.tool,
            "kind": run.kind,
            "complete": run.complete,
            "ended_by": run.ended_by,
            "started": run.started.as_ref().map(stamp),
            "import": run.import,
            "ended": run.ended.as_ref().map(stamp),
            "host": run.host,
            "command": run.command,
            "settings": run.settings,
            "clock": if run.virtual_time.is_some() { "virtual" } else { "real" },
            "virtual_time": run.virtual_time,
            "looks": run.looks,
        },
        "phases": run.phases.iter().map(|p| phase(&figures, p)).collect::<Vec<_>>(),
        "problems": run.problems,
        "notes": run.notes,
        "damage": recording.damage,
        "worst": worst(recording),
        "maxima": {"block_ns": run.settings.maxima_block_ns, "blocks": recording.maxima},
        "explained": recording.explained,
        "tuned": recording.tuned,
        "findings": recording.findings,
        "machine": run.machine,
        "published": crate::references::json(&figures),
        "cost": run.cost,
    })
}

/// Indented JSON. `<`, control characters and characters that hide text are written as `\uXXXX`, which is equivalent,
/// so that no browser, terminal or LAVA dispatcher interprets anything in it.
pub fn json_text(value: &Value) -> String {
    escaped(&format!("{value:#}\n"))
}

/// As [`json_text`] on one line, for JSON lines.
pub fn json_line(value: &Value) -> String {
    escaped(&format!("{value}\n"))
}

fn escaped(plain: &str) -> String {
    let mut out = String::with_capacity(plain.len());
    for c in plain.chars() {
        // Outside strings JSON has none of these except the newline; inside strings newlines are escaped already.
        if c == '<' || (c != '\n' && clean::is_obeyed(c)) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(c);
        }
    }
    out
}

fn verdict_of(figures: &Figures) -> Value {
    let Figures { recording, verdict, .. } = *figures;
    let headline = words::headline(recording, verdict);
    let mut value = json!(verdict);
    if let Some(claims) = value["claims"].as_array_mut() {
        for (claim, judged) in claims.iter_mut().zip(&verdict.claims) {
            claim["sentence"] = words::claim(recording, judged).into();
        }
    }
    if let Some(tails) = value.get_mut("tails").and_then(Value::as_array_mut) {
        for (value, tail) in tails.iter_mut().zip(&verdict.tails) {
            value["sentence"] = words::tails::tail(recording, tail).into();
            value["arrivals"]["sentence"] = words::tails::arrivals(recording, tail).into();
        }
    }
    value["problems"] =
        verdict.problems.iter().map(|(phase, p)| json!({"phase": phase, "kind": p.kind, "text": p.text})).collect();
    value["headline"] = format!("{} — {}", headline.word, headline.sentence).into();
    value["warnings"] = words::warnings(recording, verdict).into();
    value["evidence"] = words::evidence::from_figures(figures).into();
    value["cannot_say"] = words::limits::from_figures(figures).into();
    value
}

fn stamp(stamp: &Stamp) -> Value {
    json!({"mono_ns": stamp.mono_ns, "boot_ns": stamp.boot_ns, "real_ns": stamp.real_ns, "utc": date::utc(stamp.real_ns)})
}

fn phase(figures: &Figures, phase: &Phase) -> Value {
    json!({
        "id": phase.id,
        "load": phase.load,
        "label": phase.label,
        "start_mono_ns": phase.start_mono_ns,
        "start_utc": phase.start_mono_ns.map(|ns| date::utc_millis(date::real_of(figures.recording, ns))),
        "end_mono_ns": phase.end_mono_ns,
        "planned_ns": phase.planned_ns,
        "rounds": phase.rounds,
        "problems": phase.problems,
        "load_report": phase.load_report,
        "cpus": figures.of_phase(phase).into_iter().map(cell).collect::<Vec<_>>(),
    })
}

fn cell(cell: &Cell) -> Value {
    let mut value = json!(cell.result);
    value["effective_samples"] = cell.effective().into();
    let raw_quantiles = cell.raw_quantiles.as_ref().unwrap_or(&cell.quantiles);
    value["raw"] = cell.raw.map_or(Value::Null, |h| distribution(h, raw_quantiles));
    value["corrected"] = cell.corrected.as_ref().map_or(Value::Null, |h| distribution(h, &cell.quantiles));
    value
}

/// Bounds are two-sided at 95 %, for the effective number of samples; `null` if this run gives no bound.
fn distribution(histogram: &Histogram, quantiles: &[Quantile]) -> Value {
    let quantile = |((q, name), at): (&(f64, &str), &Quantile)| json!({"name": name, "q": q, "value_ns": at.ns, "lower_95_ns": at.lower, "upper_95_ns": at.upper});
    json!({
        "count": histogram.count(),
        "min_ns": histogram.min(),
        "mean_ns": histogram.mean(),
        "max_ns": histogram.max(),
        "quantiles": QUANTILES.iter().zip(quantiles).map(quantile).collect::<Vec<_>>(),
    })
}

fn worst(recording: &Recording) -> Vec<Value> {
    let with_time = |worst: &punctual_model::Worst| {
        let mut value = json!(worst);
        value["release_utc"] = date::utc_millis(date::real_of(recording, worst.release_mono_ns)).into();
        value
    };
    recording.worst.iter().map(with_time).collect()
}
