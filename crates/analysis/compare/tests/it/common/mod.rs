use punctual_model::{Recording, Stamp};
use punctual_units::{CpuId, Histogram};

const MINUTE: u64 = 60_000_000_000;

/// Returns a run measured in its own boot in the `nth` hour of a day.
pub fn booted(loads: &[(String, Vec<u64>)], nth: u64) -> Recording {
    let mut recording = recording(loads);
    let real_ns = 1_767_225_600_000_000_000 + nth * 60 * MINUTE;
    recording.run.started = Some(Stamp { mono_ns: 5 * MINUTE, boot_ns: 5 * MINUTE, real_ns });
    recording
}

pub fn recording(loads: &[(String, Vec<u64>)]) -> Recording {
    let phase = |(n, (load, values)): (usize, &(String, Vec<u64>))| {
        let max = values.iter().max();
        let report = serde_json::json!({
            "load": load, "ran": true, "why_not": null, "workers": 1, "beats": 1, "longest_silence_ns": 0, "rates": [],
            "proofs": [], "written_bytes": 0, "notes": [],
        });
        serde_json::json!({
            "id": format!("{}-{load}", n + 1), "load": load, "start_mono_ns": 0, "end_mono_ns": 1, "load_report": report,
            "problems": [], "cpus": [{"cpu": 0, "released": values.len(), "ran": values.len(), "skipped": 0, "max_ns": max,
            "min_ns": 1, "mean_ns": 1.0}],
        })
    };
    let run = serde_json::json!({
        "schema": "punctual.run/1", "schema_version": "1.4", "tool": {"name": "punctual"}, "kind": "latency",
        "complete": true, "ended_by": {"how": "duration"}, "ended": null, "command": [], "machine": {},
        "settings": {"scheduling_explicit": false, "cpus": "0", "loads": [], "context": true, "worst_kept": 0, "claims": [],
            "cpu_dma_latency_us": null, "deadline_ns": null},
        "phases": loads.iter().enumerate().map(phase).collect::<Vec<_>>(), "problems": [], "notes": [], "cost": null,
    });
    let mut recording = Recording::new(serde_json::from_value(run).unwrap());
    for (phase, (_, values)) in recording.run.phases.iter().zip(loads) {
        let mut histogram = Histogram::new();
        values.iter().for_each(|v| histogram.record(*v));
        let distribution = punctual_model::Distribution { raw: histogram, ..Default::default() };
        recording.distributions.insert((phase.id.clone(), CpuId(0)), distribution);
    }
    recording
}
