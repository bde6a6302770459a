//! Prints the N worst wakeups as lines of `causes.jsonl`: `cargo run -p punctual-explain --example causes -- PHASE N
//! FILE`.

use punctual_explain::{ExplainOptions, Facts, explain, timelines};
use punctual_model::Explained;
use punctual_units::CpuId;
use std::fs::File;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [phase, most, path] = &words[..] else { return Err("usage: causes PHASE N FILE".into()) };
    let options = punctual_trace::Options::default();
    let mut source = punctual_trace::open(File::open(path)?, options)?;
    let explanation = explain(source.as_mut(), ExplainOptions { most: most.parse()?, ..ExplainOptions::default() });
    let mut again = punctual_trace::open(File::open(path)?, options)?;
    let found = timelines(again.as_mut(), &explanation.victims, Facts::default());
    for (victim, timeline) in explanation.victims.into_iter().zip(found) {
        let line = Explained {
            phase: phase.clone(),
            cpu: CpuId(victim.cpu.unwrap_or(0)),
            release_mono_ns: victim.moments.map_or(0, |moments| moments.t0_ns),
            // cyclictest reads the clock about this much later.
            latency_ns: victim.latency_ns + 12_000,
            trace: "traces/1.dat".into(),
            victim,
            timeline,
        };
        println!("{}", serde_json::to_string(&line)?);
    }
    Ok(())
}
