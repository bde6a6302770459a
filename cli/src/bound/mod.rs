//! Implements `bound`, which composes a bound on the scheduling latency from the longest sections.

pub mod args;

use crate::exit;
use crate::explain::trace;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use args::BoundArgs;
use punctual_model::LatencyBound;
use punctual_proof::{SectionOptions, sections, signals};
use punctual_report::latency_bound_text;
use punctual_uapi::Sig;
use std::process::ExitCode;

/// Runs `punctual bound`. Exits 0 with a bound, 1 if it is not below the deadline, 3 if there is none, 4 if this machine
/// cannot be recorded.
pub fn bound(args: &BoundArgs) -> ExitCode {
    finish("bound", args.output, answer(args))
}

fn answer(args: &BoundArgs) -> Result<Answer, Refusal> {
    let (found, signal) = found(args)?;
    let code = signal.map_or_else(|| exit::of_outcome(found.outcome), exit::of_signal);
    Ok(Answer::new(args.output, code, || &found, || latency_bound_text(&found)))
}

fn found(args: &BoundArgs) -> Result<(LatencyBound, Option<Sig>), Refusal> {
    if let Some(path) = &args.file {
        let mut source = trace::open(path).map_err(Refusal::usage)?;
        return Ok((punctual_bound::bound(source.as_mut(), args.deadline), None));
    }
    punctual_uapi::block(&signals())?;
    let options = SectionOptions {
        duration: args.duration,
        cpus: args.cpus.clone(),
        timerlat: args.timerlat,
        buffer_kb: args.trace_buffer,
        deadline: args.deadline,
    };
    let (found, signal, left) = sections(&options)?;
    left.iter().for_each(|text| message!("{text}"));
    Ok((found, signal))
}
