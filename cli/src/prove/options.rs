//! Converts the options of `prove` and `measure` to the options of the measurement.

use super::args::RunArgs;
use crate::args::common::EventsArg;
use crate::run_directory::{command_line, default_out};
use punctual_model::Claim;
use punctual_proof::{self as proof, Options, Trace, Via, When};
use punctual_units::{Nanos, WakeupSource};

/// Default of `--time-limit`.
const DEFAULT_TIME_LIMIT: Nanos = Nanos::from_secs(12 * 3_600);

pub fn options(args: &RunArgs, started: Nanos) -> Options {
    let mut claims = args.claims.clone();
    if let Some(deadline) = args.deadline {
        claims.extend([Claim::max(deadline), Claim::none_missed()]);
    }
    Options {
        out: args.out.clone().unwrap_or_else(default_out),
        command: command_line(),
        policy: args.policy,
        priority: args.priority,
        via: match &args.via {
            Via::Wakeup(way) => way.clone(),
            Via::Method(_) => WakeupSource::default(),
        },
        period: args.period,
        cpus: args.cpus.clone(),
        alignment: args.phase.into(),
        duration: args.duration.unwrap_or(Nanos::from_secs(60)),
        until: args.until_decided.then(|| args.time_limit.unwrap_or(DEFAULT_TIME_LIMIT)),
        changes: Some(crate::fix::folder()),
        maxima_block: args.maxima_block.unwrap_or(proof::MAXIMA_BLOCK),
        warmup: args.warmup.unwrap_or(Nanos::ZERO),
        loads: loads(&args.loads, &["idle"]),
        context: !args.no_context,
        cpu_dma_latency_us: args.cpu_dma_latency,
        worst_kept: args.worst.into(),
        deadline: args.deadline,
        claims,
        peer: args.peer.clone(),
        secret_file: args.secret_file.clone(),
        scratch: args.scratch.clone(),
        write_cap: args.write_cap.saturating_mul(1 << 20),
        trace: Trace {
            when: args.trace.map_or(When::Never, When::from),
            full: args.trace_events != EventsArg::Minimal,
            stacks: args.trace_events == EventsArg::Stacks,
            buffer_kb: args.trace_buffer,
        },
        sync: !args.no_sync,
        virtual_time: args.virtual_time.clone(),
        started_mono: started,
    }
}

/// Splits the loads in `named` at commas; returns `otherwise` if `named` is empty.
pub fn loads(named: &[String], otherwise: &[&str]) -> Vec<String> {
    let named: Vec<String> = named.iter().flat_map(|names| split_loads(names)).collect();
    if named.is_empty() { otherwise.iter().map(|name| (*name).to_owned()).collect() } else { named }
}

/// Splits `idle,cpu` into two loads. A load that is a command may contain commas.
fn split_loads(text: &str) -> Vec<String> {
    let text = text.trim();
    if text.starts_with("cmd:") {
        return vec![text.to_owned()];
    }
    match text.find(",cmd:") {
        Some(at) => split_loads(&text[..at]).into_iter().chain([text[at + 1..].to_owned()]).collect(),
        None => text.split(',').map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_part_loads_but_not_commands() {
        assert_eq!(split_loads("idle, cpu"), ["idle", "cpu"]);
        assert_eq!(split_loads("cmd:a,b"), ["cmd:a,b"]);
        assert_eq!(split_loads("idle,cmd:make -j4, x"), ["idle", "cmd:make -j4, x"]);
        assert!(split_loads(" , ").is_empty());
    }
}
