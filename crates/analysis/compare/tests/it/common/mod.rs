use punctual_model::{Event, Recording, WindowMax};
use punctual_units::{CpuId, Histogram};

pub fn recording(loads: &[(String, Vec<u64>)]) -> Recording {
    let phase = |(n, (load, values)): (usize, &(String, Vec<u64>))| {
        let max = values.iter().max();
        serde_json::json!({
            "id": format!("{}-{load}", n + 1), "load": load, "start_mono_ns": 0, "end_mono_ns": 1, "load_report": null,
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
        recording.events.extend(values.iter().map(|v| {
            let max_ns = vec![(CpuId(0), *v)];
            Event::Window(WindowMax { mono_ns: 0, interval_ns: 1_000_000_000, phase: phase.id.clone(), max_ns })
        }));
    }
    recording
}
