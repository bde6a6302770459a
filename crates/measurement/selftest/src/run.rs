//! A self-test: one run of the engine for each group of injected delays.

use crate::inject::{Delay, Injected, Kind, spin};
use crate::judge::{Check, judge};
use punctual_audit::{Context, Offers, Profile, Rules};
use punctual_machine::Live;
use punctual_measure::{Outcome, Plan, Topology, start};
use punctual_model::{Alignment, State};
use punctual_rt::monotonic;
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Priority, Scheduling, WakeupSource};
use serde::Serialize;

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tested {
    /// The measured CPU, on which delays are injected.
    pub cpu: CpuId,
    /// The undisturbed CPUs.
    pub housekeeping: CpuList,
    pub scheduling: Scheduling,
    #[serde(rename = "planted")]
    pub injected: Vec<Injected>,
    pub checks: Vec<Check>,
}

impl Tested {
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|check| check.passed)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    /// No CPU can be used, because other programs need all of them or there is only one.
    #[error("{0}")]
    NoCpu(String),
    /// Other real-time threads run on the CPU, and their effects would look like injected delays.
    #[error("{0}; stop them, or name another CPU with --cpu")]
    Foreign(String),
    #[error("{0}")]
    Refused(String),
}

const MEASURING: u8 = 80;
const SPINNING: u8 = 90;
const PERIOD: Nanos = Nanos::from_millis(1);
const WARMUP: Nanos = Nanos::from_millis(100);
const GAP: Nanos = Nanos::from_millis(100);
/// Lengths of the delays. The longest is about a fiftieth of the time for which RT throttling lets a thread run.
const SIZES: [Nanos; 3] = [Nanos::from_millis(1), Nanos::from_millis(5), Nanos::from_millis(20)];
const TIMES: usize = 3;

/// Injects delays and measures on `cpu`, by default on the last available CPU. Takes about two seconds.
///
/// # Errors
/// No delay was injected.
pub fn selftest(cpu: Option<CpuId>) -> Result<Tested, SelfTestError> {
    let (cpu, housekeeping) = choose(cpu)?;
    let fifo = |level: u8| Priority::try_from(level).map_err(|e| SelfTestError::Refused(e.to_string()));
    let (measuring, spinning) = (fifo(MEASURING)?, fifo(SPINNING)?);
    let scheduling = Scheduling::Fifo { priority: measuring };
    alone(cpu, scheduling)?;
    let mut tested = Tested { cpu, housekeeping, scheduling, injected: Vec::new(), checks: Vec::new() };
    tested.holding(spinning)?;
    tested.late_start(spinning)?;
    tested.faulting()?;
    Ok(tested)
}

fn choose(wanted: Option<CpuId>) -> Result<(CpuId, CpuList), SelfTestError> {
    let topology = Topology::read().map_err(|e| SelfTestError::Refused(e.to_string()))?;
    let usable = topology.online.and(&topology.allowed);
    let cpu = match wanted {
        Some(cpu) if !usable.contains(cpu) => {
            return Err(SelfTestError::NoCpu(format!("CPU {cpu} cannot be used; these can: {usable}")));
        }
        Some(cpu) => Some(cpu),
        None => usable.iter().last(),
    };
    let cpu = cpu.ok_or_else(|| SelfTestError::NoCpu("no CPU can be used".into()))?;
    let housekeeping = topology.online.minus(&[cpu].into_iter().collect());
    if housekeeping.is_empty() {
        let why =
            "one CPU is occupied for up to 20 ms at a time and another must stay free, but this machine has only one";
        return Err(SelfTestError::NoCpu(why.into()));
    }
    Ok((cpu, housekeeping))
}

/// Fails if another program runs at or above the measuring thread's priority on this CPU.
fn alone(cpu: CpuId, scheduling: Scheduling) -> Result<(), SelfTestError> {
    let context = Context { scheduling, cpus: [cpu].into_iter().collect(), profile: Profile::ControlLoop };
    let finding = Rules::embedded().audit_one("rogue-rt-task", &Live::new(), &context, Offers::default());
    match finding {
        Some(finding) if finding.state == State::Fail => Err(SelfTestError::Foreign(finding.summary)),
        _ => Ok(()),
    }
}

impl Tested {
    fn plan(&self, phase: &str, duration: Nanos) -> Plan {
        Plan {
            phase: phase.to_owned(),
            cpus: [self.cpu].into_iter().collect(),
            scheduling: self.scheduling,
            via: WakeupSource::default(),
            senders: CpuList::new(),
            groups: Default::default(),
            period: PERIOD,
            alignment: Alignment::Aligned,
            warmup: WARMUP,
            duration,
            keep: punctual_measure::WORST,
            limits: Vec::new(),
            bell: None,
        }
    }

    fn holding(&mut self, priority: Priority) -> Result<(), SelfTestError> {
        let mut offset = GAP;
        let mut plan = Vec::new();
        for (n, size) in SIZES.iter().cycle().take(SIZES.len() * TIMES).enumerate() {
            // Each delay starts at a different distance from a release.
            let at = offset + Nanos(PERIOD.0 * (n as u64 % 5) / 5);
            plan.push(Delay { kind: Kind::Spinner, offset_ns: at.0 as i64, size: *size });
            offset = offset + GAP + *size;
        }
        self.run("spinner", offset + GAP, priority, plan)
    }

    /// Injects one delay that begins 2 ms before recording starts and ends 4 ms after.
    fn late_start(&mut self, priority: Priority) -> Result<(), SelfTestError> {
        let delay = Delay { kind: Kind::LateStart, offset_ns: -2_000_000, size: Nanos::from_millis(6) };
        self.run("late-start", GAP, priority, vec![delay])
    }

    fn run(&mut self, phase: &str, duration: Nanos, priority: Priority, plan: Vec<Delay>) -> Result<(), SelfTestError> {
        limit(phase, duration);
        let running = start(self.plan(phase, duration)).map_err(|e| SelfTestError::Refused(e.to_string()))?;
        let (cpu, begun) = (self.cpu, running.start);
        let spun = punctual_watchdog::in_thread("injecting", || spin(cpu, priority, begun, &plan));
        let outcome = finish(running);
        let injected = spun.map_err(|e| SelfTestError::Refused(format!("the injecting thread: {e}")))?;
        let injected = injected.map_err(|e| SelfTestError::Refused(e.to_string()))?;
        self.take(&injected, &outcome);
        Ok(())
    }

    /// Forks while the engine runs, so that the measuring thread's next write to each private page causes a page fault.
    fn faulting(&mut self) -> Result<(), SelfTestError> {
        limit("page-fault", GAP);
        let running = start(self.plan("page-fault", GAP)).map_err(|e| SelfTestError::Refused(e.to_string()))?;
        while monotonic() < running.start + Nanos::from_millis(20) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let from = monotonic();
        let forked = uapi::copy_process(Nanos::from_millis(20));
        let to = monotonic();
        let outcome = finish(running);
        forked.map_err(|e| SelfTestError::Refused(e.to_string()))?;
        let injected = Injected { kind: Kind::PageFault, cpu: self.cpu, wanted: Nanos::ZERO, from, to };
        self.take(&[injected], &outcome);
        Ok(())
    }

    fn take(&mut self, injected: &[Injected], outcome: &Outcome) {
        self.checks.extend(judge(injected, outcome, PERIOD));
        self.injected.extend(injected);
    }
}

fn limit(phase: &str, lasts: Nanos) {
    let lasts = std::time::Duration::from_nanos((WARMUP + lasts).0);
    punctual_watchdog::measuring(format!("the self-test's phase {phase}"), lasts);
}

fn finish(running: punctual_measure::Running) -> Outcome {
    while !running.finished() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.collect()
}
