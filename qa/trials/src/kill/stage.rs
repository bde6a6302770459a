//! Determines from the files of a run what it was doing when it was killed.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::fs;
use std::path::Path;

/// The stages in chronological order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// No run directory exists yet: nothing has been measured.
    Folder,
    /// The directory exists, the audit does not.
    Audit,
    /// The audit is done; loads or traces are being started.
    SettingUp,
    Warmup,
    FirstLoad,
    Between,
    LastLoad,
    /// The measurement is over; the trace is being removed and the run is being closed.
    Ending,
    /// The run is closed; causes, verdict and report are being written.
    Explaining,
    /// The report exists, but the process has not ended yet.
    Reported,
    Ended,
}

impl Stage {
    pub const ALL: [Stage; 11] = [
        Stage::Folder,
        Stage::Audit,
        Stage::SettingUp,
        Stage::Warmup,
        Stage::FirstLoad,
        Stage::Between,
        Stage::LastLoad,
        Stage::Ending,
        Stage::Explaining,
        Stage::Reported,
        Stage::Ended,
    ];

    /// Returns the stage, as far as the existing files show it.
    pub fn of_files(out: &Path) -> Stage {
        let is = |name: &str| out.join(name).exists();
        match () {
            () if !is("run.json") => Stage::Folder,
            () if is("report.html") => Stage::Reported,
            () if is("manifest.json") && !is("segments") => Stage::Explaining,
            () if is("manifest.json") => Stage::Ending,
            () if !is("findings.json") => Stage::Audit,
            () => Stage::SettingUp,
        }
    }

    /// Refines the stage by the contents of the run directory. `killed` is the time of the kill on CLOCK_MONOTONIC, s.
    pub fn refined(self, result: &Value, killed: f64) -> Stage {
        let phases = result["phases"].as_array().map(Vec::as_slice).unwrap_or_default();
        let (Some(last), Stage::SettingUp) = (phases.last(), self) else { return self };
        let loads = result["run"]["settings"]["loads"].as_array().map_or(2, Vec::len);
        let begun = last["start_mono_ns"].as_f64().is_some_and(|ns| ns / 1e9 <= killed);
        match (last["end_mono_ns"].is_null(), begun, phases.len()) {
            (true, false, _) => Stage::Warmup,
            (true, true, 1) => Stage::FirstLoad,
            (true, true, _) => Stage::LastLoad,
            (false, _, n) if n < loads => Stage::Between,
            (false, ..) => Stage::Ending,
        }
    }

    pub fn is_complete(self) -> bool {
        self >= Stage::Explaining
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Folder => "before the run was created",
            Stage::Audit => "auditing",
            Stage::SettingUp => "setting up",
            Stage::Warmup => "warming up",
            Stage::FirstLoad => "the first load",
            Stage::Between => "between the loads",
            Stage::LastLoad => "the last load",
            Stage::Ending => "ending",
            Stage::Explaining => "explaining and judging",
            Stage::Reported => "reported, still running",
            Stage::Ended => "after its end",
        })
    }
}

/// Returns true if there is a trace window, but not the note that is written after it.
pub fn has_half_window(out: &Path) -> bool {
    let traces = fs::read_dir(out.join("traces")).into_iter().flatten().flatten().map(|entry| entry.path());
    traces.filter(|path| path.extension().is_some_and(|e| e == "dat")).any(|path| !path.with_extension("json").exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_stage_is_recognised_by_phases() {
        let of = |phases: Value| Stage::SettingUp.refined(&json!({ "phases": phases }), 5.0);
        let running = |start: u64| json!({"start_mono_ns": start * 1_000_000_000, "end_mono_ns": null});
        let done = json!({"start_mono_ns": 1, "end_mono_ns": 2});
        assert_eq!(of(json!([])), Stage::SettingUp);
        assert_eq!((of(json!([running(6)])), of(json!([running(4)]))), (Stage::Warmup, Stage::FirstLoad));
        assert_eq!((of(json!([done])), of(json!([done, running(4)]))), (Stage::Between, Stage::LastLoad));
        assert_eq!(of(json!([done, done])), Stage::Ending);
        let of_one = json!({"phases": [done], "run": {"settings": {"loads": ["idle"]}}});
        assert_eq!(Stage::SettingUp.refined(&of_one, 5.0), Stage::Ending);
        assert_eq!(Stage::Reported.refined(&json!({ "phases": [done] }), 5.0), Stage::Reported);
    }

    #[test]
    fn stages_are_listed_in_order() {
        assert!(Stage::ALL.is_sorted() && !Stage::Ending.is_complete() && Stage::Explaining.is_complete());
    }
}
