//! Formats the output of `tune`: before, during and after the search.

use crate::{RunResult, clean};
use punctual_model::{Trial, TrialKind, Tuned};
use punctual_units::Nanos;
use serde::Serialize;

/// The result of `tune`: the plan, the search if it has no final run, or the final run as `prove` prints it.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum TuneResult<'a> {
    /// The result of `tune --dry-run`.
    Planned {
        /// Always `true`.
        dry_run: bool,
        /// Fixes to try, in this order.
        candidates: Vec<TunePlanned<'a>>,
        /// Rules that are not tried, and why.
        not_tried: &'a [(String, String)],
        /// The quantity to reduce.
        objective: &'a str,
        /// Measurement time of a block.
        block_ns: Nanos,
        /// Duration of the search if no fix helps.
        least_ns: Nanos,
    },
    /// The result of a search without a final run.
    Found {
        tuned: &'a Tuned,
    },
    Proved(Box<RunResult<'a>>),
}

/// A fix to try.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunePlanned<'a> {
    rule: &'a str,
    /// Description of what the fix changes.
    what: &'a str,
}

/// The plan of `tune`, and its duration.
pub struct TunePlan<'a> {
    /// Rules, and what each of them changes.
    pub candidates: Vec<(&'a str, &'a str)>,
    /// Rules that are not tried, and why.
    pub not_tried: &'a [(String, String)],
    /// Measurement time of a block.
    pub block: Nanos,
    /// Loads of a block.
    pub loads: &'a [String],
    /// The quantity to reduce.
    pub figure: String,
    /// Duration if no candidate helps, and if one does.
    pub least: [Nanos; 2],
    /// Maximum duration.
    pub max: Nanos,
    /// Duration of the final run.
    pub last: Nanos,
}

/// Builds the result of `tune --dry-run`.
pub fn plan_json<'a>(plan: &'a TunePlan<'a>) -> TuneResult<'a> {
    let [least_ns, _] = plan.least;
    TuneResult::Planned {
        dry_run: true,
        candidates: plan.candidates.iter().map(|&(rule, what)| TunePlanned { rule, what }).collect(),
        not_tried: plan.not_tried,
        objective: &plan.figure,
        block_ns: plan.block,
        least_ns,
    }
}

/// Formats the plan that `tune --dry-run` prints.
pub fn plan(plan: &TunePlan) -> String {
    let mut out = String::from("what tune would try; nothing is changed or measured\n\n");
    for (rule, what) in &plan.candidates {
        out.push_str(&format!("  {rule}: {what}\n"));
    }
    if !plan.not_tried.is_empty() {
        out.push_str("\nnot tried:\n");
        plan.not_tried.iter().for_each(|(rule, why)| out.push_str(&format!("  {rule}: {why}\n")));
    }
    out.push_str(&format!(
        "\n{} to try, in blocks of {} under {}; quantity to reduce: {}\n",
        plan.candidates.len(),
        plan.block,
        plan.loads.join(", "),
        plan.figure
    ));
    out.push_str(&format!(
        "time: about {} if none helps, {} if one does, {} at most (--time-limit), plus {} for the final run\n",
        rounded(plan.least[0]),
        rounded(plan.least[1]),
        rounded(plan.max),
        rounded(plan.last)
    ));
    clean::lines(&out)
}

/// Formats the changes that remain applied, and how to undo them.
pub fn stays(tuned: &Tuned) -> String {
    match tuned.kept.as_slice() {
        [] => "\nThe machine is as before.\n".to_owned(),
        kept => format!("\nKept:      {0}\nRevert by: punctual undo {0}\n", kept.join(" ")),
    }
}

/// Rounds to whole seconds.
fn rounded(time: Nanos) -> String {
    let seconds = (time.0 + 500_000_000) / 1_000_000_000;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Formats the line that announces the pairs of blocks for a candidate, the `number`-th of `of` in its round. `elapsed`
/// is the time used so far, `max` the time limit, and `left` the duration of these pairs, if known. The text does not
/// end in a newline, because [`so_far`] or [`ended`] follows.
pub fn begins(
    rule: &str,
    confirming: bool,
    (number, of): (usize, usize),
    left: Option<Nanos>,
    (elapsed, max): (Nanos, Nanos),
) -> String {
    let verb = if confirming { "confirming" } else { "trying" };
    let left = left.map_or_else(String::new, |left| format!(", about {} for these", rounded(left)));
    format!("[{} of at most {}] {verb} {rule} ({number} of {of}{left}) … ", rounded(elapsed), rounded(max))
}

/// Formats the result of a screening: the value with the change minus the value without it, ns.
pub fn so_far(shift_ns: f64) -> String {
    let size = Nanos(shift_ns.abs().round() as u64);
    if shift_ns < 0.0 { format!("{size} less") } else { format!("{size} more") }
}

/// Formats the result of a trial. For a confirmation, it states whether the change is kept.
pub fn ended(trial: &Trial) -> String {
    let so_far = so_far(trial.shift_ns);
    match trial.kind {
        TrialKind::Screening => so_far,
        TrialKind::Confirmation { kept: true, .. } => format!("{so_far}: kept"),
        TrialKind::Confirmation { kept: false, .. } => format!("{so_far}: not proven, undone"),
    }
}
