//! Derives the plan of a run from its options. All checks and decisions before the measurement are made here.

use crate::error::ProofError;
use crate::options::Options;
use crate::phase::clock_and_sleep;
use punctual_judge as judge;
use punctual_loads::{self as loads, Load, LoadError, LoadSettings, LoadSpec};
use punctual_machine::{self as machine, Live};
use punctual_measure::{self as measure, Plan, Topology};
use punctual_model::{Kind, MachineFacts, Run, Settings, Tool, UntilDecided};
use punctual_rt::clock_read_cost;
use punctual_units::{CpuList, Nanos, Policy, Scheduling};
use std::fs::File;
use std::io::Write;

pub(crate) fn parse_loads(options: &Options) -> Result<Vec<(String, LoadSpec)>, ProofError> {
    let mut specs = Vec::new();
    for name in &options.loads {
        let spec = loads::parse(name)?;
        if name == "network" && options.peer.is_none() {
            return Err(punctual_loads::LoadError::NoPeer.into());
        }
        specs.push((name.clone(), spec));
    }
    match specs.is_empty() {
        true => Err(ProofError::Usage("--load is empty: use for example --load idle,cpu".into())),
        false => Ok(specs),
    }
}

pub(crate) fn plan(options: &Options, cpus: &CpuList, phases: usize) -> Result<Plan, ProofError> {
    let usage = |text: String| Err(ProofError::Usage(text));
    let duration = Nanos(options.duration.0 / phases.max(1) as u64);
    if options.period < Nanos::from_micros(10) || options.period > Nanos::from_secs(3600) {
        return usage(format!("a period of {} cannot be measured: choose 10us to 1h with --period", options.period));
    }
    if duration < options.period {
        return usage(format!(
            "--duration {} leaves {duration} for each of {phases} phases, less than one period of {}: measure longer",
            options.duration, options.period
        ));
    }
    if options.until.is_some_and(|max| max < options.duration) {
        return usage(format!(
            "--time-limit is shorter than the {} after which the claims are first checked (--duration)",
            options.duration
        ));
    }
    if options.maxima_block < Nanos::from_secs(1) {
        return usage("the blocks whose maxima are kept must be at least 1s long".into());
    }
    if options.until.is_some() && options.claims.is_empty() {
        return usage("--until-decided needs a claim to decide, for example --claim 'P(>100us) < 1e-6'".into());
    }
    if options.duration.max(options.until.unwrap_or(Nanos::ZERO)) > Nanos(366 * 86_400_000_000_000)
        || options.warmup > Nanos::from_secs(86_400)
    {
        return usage(
            "a measurement of more than a year, or a warm-up of more than a day, is refused as a typing error".into(),
        );
    }
    Ok(Plan {
        phase: String::new(),
        cpus: cpus.clone(),
        scheduling: Scheduling::Other { nice: 0 },
        via: options.via.clone(),
        senders: CpuList::new(),
        groups: Default::default(),
        period: options.period,
        alignment: options.alignment,
        warmup: options.warmup,
        duration,
        keep: options.worst_kept,
        // Limits of claims come before those of the fixed grid, because the last limits are dropped first.
        limits: judge::episode_limits(&options.claims, options.period, options.deadline)
            .into_iter()
            .chain(measure::GRID)
            .take(measure::LIMITS)
            .collect(),
        bell: None,
    })
}

/// Returns the first `run.json` of a latency run.
pub fn new_run(options: &Options, plan: &Plan, explicit: bool) -> Run {
    Run {
        started: Some(measure::clocks()),
        host: Some(measure::host_name().unwrap_or_else(|| "unknown".into())),
        command: options.command.clone(),
        settings: Settings {
            clock: Some(clock_and_sleep(&plan.via, plan.scheduling)),
            via: Some(plan.via.clone()),
            scheduling: Some(plan.scheduling),
            scheduling_explicit: explicit,
            period_ns: Some(plan.period),
            cpus: plan.cpus.clone(),
            alignment: Some(plan.alignment),
            duration_ns: Some(options.duration),
            warmup_ns: Some(options.warmup),
            loads: options.loads.clone(),
            cpu_dma_latency_us: options.cpu_dma_latency_us,
            context: options.context,
            worst_kept: plan.keep,
            deadline_ns: options.deadline,
            claims: options.claims.clone(),
            until_decided: options.until.map(|max_ns| UntilDecided { max_ns }),
            maxima_block_ns: options.context.then_some(options.maxima_block),
        },
        virtual_time: options.virtual_time.clone(),
        ..Run::new(Tool::punctual(), Kind::Latency)
    }
}

/// Returns a note on latencies measured with this policy; `None` if none is necessary.
pub(crate) fn policy_note(scheduling: Scheduling, partitioned: bool) -> Option<String> {
    match scheduling.policy() {
        Policy::Deadline if partitioned => Some(
            "each measured CPU was a separate cpuset partition, to which its SCHED_DEADLINE thread was pinned: no load and no \
             other thread but the kernel's own could run there"
                .into(),
        ),
        Policy::Deadline => Some(
            "SCHED_DEADLINE threads are not pinned: the CPU shown is the number of the thread, not where it woke"
                .into(),
        ),
        Policy::Other | Policy::Batch | Policy::Idle => {
            let slack = rustix::thread::current_timer_slack().ok()?;
            Some(format!(
                "the kernel may wake an ordinary thread up to {} late to save wakeups (its timer slack, PR_SET_TIMERSLACK)",
                Nanos(slack)
            ))
        }
        Policy::Fifo | Policy::Rr => None,
    }
}

/// Limits C-states if requested. The kernel removes the limit when the descriptor is closed, even after kill -9
/// (Documentation/power/pm_qos_interface.rst).
pub(crate) fn hold_dma_latency(options: &Options, run: &mut Run) -> Result<Option<File>, ProofError> {
    let Some(us) = options.cpu_dma_latency_us else {
        run.notes.push(
            "/dev/cpu_dma_latency was not held: idle CPUs entered the same idle states as for an application".into(),
        );
        return Ok(None);
    };
    let path = "/dev/cpu_dma_latency";
    let held = File::options().write(true).open(path).and_then(|mut file| {
        file.write_all(&us.to_ne_bytes())?;
        Ok(file)
    });
    match held {
        Ok(file) => {
            run.notes.push(format!(
                "/dev/cpu_dma_latency was held at {us} µs: an application that does not hold it sees later wakeups"
            ));
            Ok(Some(file))
        }
        Err(e) => Err(ProofError::Environment(format!(
            "cannot hold {path} at {us} µs: {e}; run as root, or leave out --cpu-dma-latency"
        ))),
    }
}

/// Returns facts about this machine, including the time of a clock read.
pub fn facts() -> MachineFacts {
    MachineFacts { clock_read_ns: Some(clock_read_cost()), ..machine::facts(&Live::new()) }
}

pub(crate) fn load_settings(options: &Options, topology: &Topology, specs: &[(String, LoadSpec)]) -> LoadSettings {
    let writing = specs.iter().filter(|(name, _)| matches!(name.as_str(), "io" | "all")).count().max(1);
    // The run directory does not exist yet, so the directory in which it will be created is used.
    let scratch = options.scratch.clone().unwrap_or_else(|| loads::folder_at(&options.out));
    LoadSettings {
        write_cap_bytes: options.write_cap / writing as u64,
        peer: options.peer.clone(),
        secret_file: options.secret_file.clone(),
        phase: Nanos(options.duration.0 / specs.len().max(1) as u64) + options.warmup,
        ..LoadSettings::new(topology.allowed.and(&topology.online), scratch)
    }
}

/// Starts and stops each load of these options once. Measures nothing.
///
/// # Errors
/// A load cannot start.
pub fn check_loads_of(options: &Options) -> Result<(), ProofError> {
    let specs = parse_loads(options)?;
    check_loads(&specs, &load_settings(options, &Topology::read()?, &specs))
}

/// Starts and stops each load once, so that a load that cannot start is found before the measurement.
///
/// # Errors
/// A load cannot start.
pub(crate) fn check_loads(specs: &[(String, LoadSpec)], settings: &LoadSettings) -> Result<(), ProofError> {
    let refused = |e: LoadError| match ProofError::from(e) {
        ProofError::Environment(why) => {
            ProofError::Environment(format!("{why}; nothing was measured: name other loads with --load"))
        }
        usage => usage,
    };
    specs.iter().try_for_each(|(_, spec)| Load::check(spec, settings)).map_err(refused)
}

pub(crate) fn where_context_runs(options: &Options, housekeeping: &CpuList) -> String {
    match (options.context, housekeeping.is_empty()) {
        (false, _) => "none".into(),
        (true, false) => format!("housekeeping CPU {housekeeping}"),
        (true, true) => "shared with the measured CPUs, at most one wakeup per second".into(),
    }
}

/// Returns the ID of a phase, for example `3-io`. A load's name may contain characters that an ID must not (`cmd:…`).
pub(crate) fn phase_id(number: usize, load: &str) -> String {
    let clean: String = load.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    format!("{}-{}", number + 1, if clean.is_empty() { "load" } else { &clean })
}
