//! What each thread is to do.

use crate::options::{Affinity, Options, UsageError};
use punctual_units::{CpuId, CpuList, Nanos, Policy, Priority, Scheduling};

/// One measuring thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadPlan {
    /// The one CPU it stays on; `None`: wherever the kernel puts it.
    pub cpu: Option<CpuId>,
    pub scheduling: Scheduling,
    /// As `P:` shows it.
    pub priority: u8,
    pub interval: Nanos,
}

/// The threads, in their order, and the CPU for the main thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub threads: Vec<ThreadPlan>,
    /// CPUs for the main thread: those asked for, else those that nothing is measured on; empty where there are none.
    pub main: CpuList,
    pub warnings: Vec<String>,
}

/// Makes it of the options and the CPUs that are online.
pub(crate) fn plan(options: &Options, online: &CpuList, isolated: &CpuList) -> Result<Plan, UsageError> {
    let mut warnings = Vec::new();
    let cpus = cpus(options, online, &mut warnings)?;
    let all = online.len().max(1);
    let count = match options.threads {
        None if options.smp => all,
        None => 1,
        Some(0) => all,
        Some(n) => n as usize,
    };
    let threads: Vec<ThreadPlan> = (0..count)
        .map(|index| thread(options, index, cpus.get(index % cpus.len().max(1)).copied()))
        .collect::<Result<_, _>>()?;
    let measured: CpuList = threads.iter().filter_map(|thread| thread.cpu).collect();
    let taken = measured.and(isolated);
    if !taken.is_empty() && matches!(options.affinity, Affinity::All | Affinity::None) {
        warnings.push(format!("CPU {taken} is isolated and measured, too; name CPUs with -a to leave some out"));
    }
    let main = options.main_affinity.clone().unwrap_or_else(|| online.minus(&measured));
    Ok(Plan { threads, main, warnings })
}

/// The CPUs to take in turn; none: unpinned.
fn cpus(options: &Options, online: &CpuList, warnings: &mut Vec<String>) -> Result<Vec<CpuId>, UsageError> {
    match &options.affinity {
        Affinity::These(_) if options.smp => {
            warnings.push("-a is ignored because of -S".into());
            Ok(online.iter().collect())
        }
        Affinity::These(list) => {
            let missing = list.minus(online);
            if missing.is_empty() {
                return Ok(list.iter().collect());
            }
            Err(UsageError(format!("-a: CPU {missing} is not online; these are: {online}")))
        }
        Affinity::All => Ok(online.iter().collect()),
        Affinity::None if options.smp => Ok(online.iter().collect()),
        Affinity::None => Ok(Vec::new()),
    }
}

fn thread(options: &Options, index: usize, cpu: Option<CpuId>) -> Result<ThreadPlan, UsageError> {
    let wanted = options.priority.unwrap_or(0);
    let step = if options.priospread { u8::try_from(index).unwrap_or(u8::MAX) } else { 0 };
    let level = if wanted > 0 { wanted.saturating_sub(step).max(1) } else { 0 };
    let default = if level > 0 { Policy::Fifo } else { Policy::Other };
    let refused = |_| UsageError(format!("-p wants a priority from 1 to 99, not {level}"));
    let scheduling = match options.policy.unwrap_or(default) {
        Policy::Rr => Scheduling::Rr { priority: Priority::try_from(level).map_err(refused)? },
        Policy::Fifo => Scheduling::Fifo { priority: Priority::try_from(level).map_err(refused)? },
        Policy::Batch => Scheduling::Batch { nice: 0 },
        Policy::Idle => Scheduling::Idle,
        _ => Scheduling::Other { nice: 0 },
    };
    let distance = if options.histogram.is_some() { Nanos::ZERO } else { options.distance };
    let interval = Nanos(options.interval.0.saturating_add(distance.0.saturating_mul(index as u64)));
    Ok(ThreadPlan { cpu, scheduling, priority: level, interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Asked, parse};

    fn planned(words: &str) -> Result<Plan, UsageError> {
        let words: Vec<_> = words.split_whitespace().map(Into::into).collect();
        match parse(&words)? {
            Asked::Run(options) => plan(&options, &"0-3".parse().unwrap(), &"3".parse().unwrap()),
            Asked::Help => Err(UsageError("help".into())),
        }
    }

    fn cpus(plan: &Plan) -> Vec<Option<u32>> {
        plan.threads.iter().map(|thread| thread.cpu.map(|cpu| cpu.0)).collect()
    }

    #[test]
    fn smp_is_a_thread_a_cpu() {
        let plan = planned("-S -p 80").unwrap();
        assert_eq!(cpus(&plan), [Some(0), Some(1), Some(2), Some(3)]);
        let intervals: Vec<u64> = plan.threads.iter().map(|thread| thread.interval.0 / 1000).collect();
        assert_eq!(intervals, [1000, 1500, 2000, 2500]);
        assert!(plan.threads.iter().all(|thread| thread.priority == 80));
        assert!(plan.main.is_empty() && plan.warnings[0].contains("CPU 3 is isolated"));
        let histogram = planned("-S -p 80 -h 100").unwrap();
        assert!(histogram.threads.iter().all(|thread| thread.interval == Nanos::from_millis(1)));
    }

    #[test]
    fn cpus_are_taken_in_turn() {
        let plan = planned("-a 1-2 -t 3 -p 10 --priospread").unwrap();
        assert_eq!(cpus(&plan), [Some(1), Some(2), Some(1)]);
        assert_eq!(plan.threads.iter().map(|thread| thread.priority).collect::<Vec<_>>(), [10, 9, 8]);
        assert_eq!(plan.main.to_string(), "0,3");
        assert_eq!(cpus(&planned("-a -t 2 -p 1").unwrap()), [Some(0), Some(1)]);
        assert_eq!(cpus(&planned("-t 2 -p 1").unwrap()), [None, None]);
        assert!(planned("-a 7 -p 1").unwrap_err().to_string().contains("CPU 7 is not online"));
    }

    #[test]
    fn policies_are_those_asked_for() {
        assert_eq!(planned("--policy batch").unwrap().threads[0].scheduling, Scheduling::Batch { nice: 0 });
        assert_eq!(planned("--policy rr -p 3").unwrap().threads[0].scheduling.to_string(), "RR 3");
        assert_eq!(planned("").unwrap().threads[0].scheduling, Scheduling::Other { nice: 0 });
    }
}
