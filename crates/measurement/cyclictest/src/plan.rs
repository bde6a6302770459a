use crate::options::{Affinity, CpuExpression, Options, UsageError};
use punctual_units::{CpuId, CpuList, Nanos, Policy, Priority, Scheduling};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ThreadPlan {
    /// CPU to which the thread is bound; `None` if it is not bound.
    pub cpu: Option<CpuId>,
    pub scheduling: Scheduling,
    /// Priority displayed after `P:`.
    pub priority: u8,
    pub interval: Nanos,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub threads: Vec<ThreadPlan>,
    /// CPUs for the main thread: the requested CPUs or, if none were requested, those that are not measured; may be
    /// empty.
    pub main: CpuList,
    pub warnings: Vec<String>,
}

pub(crate) fn plan(
    options: &Options,
    online: &CpuList,
    allowed: &CpuList,
    isolated: &CpuList,
) -> Result<Plan, UsageError> {
    let mut warnings = Vec::new();
    let usable = usable(online, allowed, isolated);
    let cpus = cpus(options, online, &usable, &mut warnings)?;
    // With -a LIST, "all" means that list, as in rt-tests.
    let all = if cpus.is_empty() { usable.len() } else { cpus.len() }.max(1);
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
    let left = online.minus(&usable);
    let is_of_all = options.smp || options.affinity == Affinity::All || options.threads == Some(0);
    if is_of_all && !left.is_empty() {
        warnings.push(format!("CPU {left} is not measured: this process may not use it (taskset, cpuset)"));
    }
    let taken = measured.and(isolated);
    if !taken.is_empty() && matches!(options.affinity, Affinity::All | Affinity::None) {
        warnings.push(format!("CPU {taken} is isolated but measured as well; use -a to leave CPUs out"));
    }
    let main = match &options.main_affinity {
        Some(of) => main_cpus(of, online, &usable)?,
        None => online.minus(&measured),
    };
    Ok(Plan { threads, main, warnings })
}

/// Returns the CPUs that "all" means. Processes start with all CPUs except the isolated ones. If this process may use
/// exactly these, the isolated CPUs are added. Otherwise the affinity was set on purpose (taskset(1), a cpuset), and is
/// respected.
fn usable(online: &CpuList, allowed: &CpuList, isolated: &CpuList) -> CpuList {
    let allowed = online.and(allowed);
    if allowed.is_empty() || online.minus(isolated) == allowed { online.clone() } else { allowed }
}

/// Returns the CPUs to which threads are bound in turn; if empty, threads are not bound.
fn cpus(
    options: &Options,
    online: &CpuList,
    usable: &CpuList,
    warnings: &mut Vec<String>,
) -> Result<Vec<CpuId>, UsageError> {
    match &options.affinity {
        Affinity::These(_) | Affinity::Named(_) if options.smp => {
            warnings.push("-a is ignored because of -S".into());
            Ok(usable.iter().collect())
        }
        Affinity::These(list) => these("-a", list, online).map(|list| list.iter().collect()),
        Affinity::Named(expression) => named("-a", expression, online, usable).map(|list| list.iter().collect()),
        Affinity::All => Ok(usable.iter().collect()),
        Affinity::None if options.smp => Ok(usable.iter().collect()),
        Affinity::None => Ok(Vec::new()),
    }
}

fn these(option: &str, list: &CpuList, online: &CpuList) -> Result<CpuList, UsageError> {
    let missing = list.minus(online);
    match missing.is_empty() {
        true => Ok(list.clone()),
        false => Err(UsageError(format!("{option}: CPU {missing} is not online; online CPUs: {online}"))),
    }
}

/// Returns the usable CPUs that an expression selects, as parse_cpumask in src/lib/rt-numa.c of rt-tests does.
fn named(option: &str, of: &CpuExpression, online: &CpuList, usable: &CpuList) -> Result<CpuList, UsageError> {
    let listed = match &of.list {
        None => usable.clone(),
        Some(list) if of.is_relative => {
            let nth = |n: CpuId| {
                let cpu = usable.iter().nth(n.0 as usize);
                cpu.ok_or_else(|| {
                    UsageError(format!("{option}: +{n} does not exist; {} CPUs are usable", usable.len()))
                })
            };
            list.iter().map(nth).collect::<Result<CpuList, _>>()?
        }
        Some(list) => these(option, list, online)?,
    };
    let found = if of.is_inverted { usable.minus(&listed) } else { usable.and(&listed) };
    match found.is_empty() {
        true => Err(UsageError(format!("{option}: excludes all usable CPUs ({usable})"))),
        false => Ok(found),
    }
}

fn main_cpus(of: &Affinity, online: &CpuList, usable: &CpuList) -> Result<CpuList, UsageError> {
    match of {
        Affinity::Named(expression) => named("--mainaffinity", expression, online, usable),
        Affinity::These(list) => Ok(list.clone()),
        _ => Ok(usable.clone()),
    }
}

fn thread(options: &Options, index: usize, cpu: Option<CpuId>) -> Result<ThreadPlan, UsageError> {
    let wanted = options.priority.unwrap_or(0);
    let step = if options.priospread { u8::try_from(index).unwrap_or(u8::MAX) } else { 0 };
    let level = if wanted > 0 { wanted.saturating_sub(step).max(1) } else { 0 };
    let default = if level > 0 { Policy::Fifo } else { Policy::Other };
    let refused = |_| UsageError(format!("-p needs a priority from 1 to 99, not {level}"));
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
            Asked::Run(options) => on(&options, "0-2"),
            Asked::Help => Err(UsageError("help".into())),
        }
    }

    /// Plans for four CPUs, the last of which is isolated. The process may use the CPUs `allowed`.
    fn on(options: &Options, allowed: &str) -> Result<Plan, UsageError> {
        plan(options, &"0-3".parse().unwrap(), &allowed.parse().unwrap(), &"3".parse().unwrap())
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
        assert_eq!(cpus(&planned("-t -a 0-1 -p 1").unwrap()), [Some(0), Some(1)]);
        assert!(planned("-a 7 -p 1").unwrap_err().to_string().contains("CPU 7 is not online"));
    }

    #[test]
    fn expressions_are_those_of_libnuma() {
        // CPU 3 is isolated and included, since the process may use all the others.
        for (words, wanted) in [
            ("-a !0 -t -p 1", vec![1, 2, 3]),
            ("-a!0-1 -t -p 1", vec![2, 3]),
            ("--affinity=!3 -t -p 1", vec![0, 1, 2]),
            ("-a +1 -p 1", vec![1]),
            ("-a +0,2 -t -p 1", vec![0, 2]),
            ("-a !+0 -t -p 1", vec![1, 2, 3]),
            ("-a all -t -p 1", vec![0, 1, 2, 3]),
        ] {
            let plan = planned(words).unwrap();
            assert_eq!(cpus(&plan), wanted.into_iter().map(Some).collect::<Vec<_>>(), "{words}");
        }
        assert_eq!(planned("-a 1 -p 1 --mainaffinity=!1").unwrap().main.to_string(), "0,2-3");
        for (words, part) in [
            ("-a !0-3 -p 1", "excludes all usable CPUs"),
            ("-a +9 -p 1", "+9 does not exist"),
            ("-a !9 -p 1", "CPU 9 is not"),
        ] {
            let error = planned(words).unwrap_err().to_string();
            assert!(error.contains(part), "{words}: {error}");
        }
        let words: Vec<_> = ["-a", "+0", "-p", "1"].map(Into::into).into();
        let Asked::Run(options) = parse(&words).unwrap() else { panic!("help") };
        assert_eq!(cpus(&on(&options, "2").unwrap()), [Some(2)], "the first that may be used");
    }

    #[test]
    fn what_somebody_chose_holds_and_isolated_cpus_are_measured() {
        let words: Vec<_> = ["-S", "-p", "80"].map(Into::into).into();
        let Asked::Run(options) = parse(&words).unwrap() else { panic!("help") };
        for (allowed, measured, warned) in [
            ("0-2", vec![0, 1, 2, 3], "CPU 3 is isolated but measured as well"),
            ("0-3", vec![0, 1, 2, 3], "CPU 3 is isolated but measured as well"),
            ("0-1", vec![0, 1], "CPU 2-3 is not measured: this process may not use it"),
            ("2-3", vec![2, 3], "CPU 0-1 is not measured"),
            ("7", vec![0, 1, 2, 3], "CPU 3 is isolated but measured as well"),
        ] {
            let plan = on(&options, allowed).unwrap();
            assert_eq!(cpus(&plan), measured.into_iter().map(Some).collect::<Vec<_>>(), "{allowed}");
            assert!(plan.warnings[0].contains(warned), "{allowed}: {:?}", plan.warnings);
        }
    }

    #[test]
    fn policies_are_those_asked_for() {
        assert_eq!(planned("--policy batch").unwrap().threads[0].scheduling, Scheduling::Batch { nice: 0 });
        assert_eq!(planned("--policy rr -p 3").unwrap().threads[0].scheduling.to_string(), "RR 3");
        assert_eq!(planned("").unwrap().threads[0].scheduling, Scheduling::Other { nice: 0 });
    }
}
