//! Implements `explain --hardware`: distinguishes hardware, hypervisor and Linux as sources of latency.

use super::args::ExplainArgs;
use crate::args::common::WhenArg;
use crate::exit;
use crate::finish::Answer;
use crate::refusal::Refusal;
use punctual_proof::{self as proof, HardwareOptions, Looked};
use punctual_report as report;
use punctual_units::Nanos;

/// Default of `--duration`.
const DURATION: Nanos = Nanos::from_secs(10);
const THRESHOLD: Nanos = Nanos::from_micros(10);

/// Measures and explains. Exits 0 if the measurement took place, whatever it found; 3 if too little could be observed;
/// 4 if the environment prevents it.
pub fn explain(args: &ExplainArgs) -> Result<Answer, Refusal> {
    let Looked { hardware, signal } = looked(args)?;
    let enough = if hardware.narrowed.is_empty() { 0 } else { exit::INCONCLUSIVE };
    let code = signal.map_or(enough, exit::of_signal);
    Ok(Answer::new(args.output, code, || &hardware, || report::hardware_text(&hardware, args.most().into())))
}

fn looked(args: &ExplainArgs) -> Result<Looked, Refusal> {
    let threshold = args.threshold.unwrap_or(THRESHOLD);
    if threshold < Nanos::from_micros(1) {
        return Err(Refusal::usage("a threshold below 1us would report the reading of the clock itself as a gap"));
    }
    punctual_uapi::block(&proof::signals())?;
    let options = HardwareOptions {
        cpus: args.run.cpus.clone(),
        duration: args.run.duration.unwrap_or(DURATION),
        threshold,
        priority: args.run.priority,
        trace: args.run.trace != Some(WhenArg::Never),
        buffer_kb: args.run.trace_buffer,
        hwlat: args.hwlat,
    };
    Ok(proof::hardware(&options)?)
}
