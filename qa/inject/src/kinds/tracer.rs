//! Delays caused by the function tracer, left on in the top instance: every kernel function takes longer, and no thread
//! is responsible.

use crate::InjectError;
use crate::capture::TRACEFS;
use crate::child::begin;
use crate::config::Config;
use crate::thread::{now, sleep_until, tid};
use crate::truth::Burst;
use crate::undo::Changed;
use std::fs;

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let tracers = fs::read_to_string(format!("{TRACEFS}/available_tracers"))
        .map_err(InjectError::at("read available_tracers"))?;
    if !tracers.split_whitespace().any(|tracer| tracer == "function") {
        return Err(InjectError::Impossible("this kernel has no function tracer".into()));
    }
    let left_on = Changed::file(format!("{TRACEFS}/current_tracer"), "function")?;
    let start_ns = begin();
    sleep_until(start_ns + u64::from(config.bursts) * config.every_ns);
    let burst = Burst {
        class: "tracer_left_on".into(),
        tid: None,
        comm: None,
        what: None,
        scheduled: format!("seen by {}", tid()),
        cpu: config.cpu,
        start_ns,
        end_ns: now(),
        earliest_ns: start_ns,
        worst_ns: None,
        gaps: Vec::new(),
        exact: false,
    };
    drop(left_on);
    Ok(vec![burst])
}
