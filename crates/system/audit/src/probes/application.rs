use super::{Probe, With};
use crate::Calls;
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::rule::Set;
use crate::sight::{Notes, Sight};
use crate::tasks::{READS as TASKS, Task};
use punctual_machine::field_values;
use punctual_units::CpuList;

const STATUS: &[&str] = &["/proc/*/task/*/status"];

pub(super) const PROBES: &[Probe] = &[
    // `granted`, or the reason for the refusal.
    Probe { name: "trial-scheduling", with: &[], reads: &[], run: scheduling },
    Probe { name: "trial-locking", with: &[], reads: &[], run: locking },
    Probe { name: "trial-dma-latency", with: &[], reads: &[], run: dma_latency },
    // Time to leave idle, µs, and duration of a clock read, ns.
    Probe { name: "trial-idle-exit", with: &[], reads: &[], run: idle_exit },
    Probe { name: "trial-clock-read", with: &[], reads: &[], run: clock_read },
    // Hard limit of the application's real-time priority; 99 if unlimited.
    Probe { name: "application-rtprio", with: &[], reads: &[&["/proc/*/limits"]], run: rtprio },
    Probe { name: "application-rt-threads", with: &[], reads: &[TASKS], run: threads },
    // The application's real-time threads that may run on CPUs that are neither measured nor isolated.
    Probe { name: "application-strays", with: &[], reads: &[TASKS, STATUS, super::CPU_SET_READS], run: strays },
    // Page faults of all threads since they started.
    Probe { name: "application-major-faults", with: &[], reads: &[&["/proc/*/stat"]], run: major },
    Probe { name: "application-minor-faults", with: &[], reads: &[&["/proc/*/stat"]], run: minor },
    Probe { name: "application-preemptions", with: &[], reads: &[TASKS, STATUS], run: preemptions },
    // System calls of the real-time threads during the window: `app 700: clock_nanosleep 1000.0/s`.
    Probe { name: "application-calls", with: &[], reads: &[TASKS], run: calls },
    // Contended locks, each `without` or `with priority inheritance`, and their other holders.
    Probe { name: "application-locks", with: &[], reads: &[TASKS], run: locks },
    // How the real-time threads sleep: `CLOCK_MONOTONIC absolute (app 700)`.
    Probe {
        name: "application-sleeps",
        with: &[],
        reads: &[TASKS, &["/proc/*/task/*/syscall", "/proc/sys/kernel/arch"]],
        run: sleeps,
    },
];

fn granted(result: Option<Result<(), i32>>) -> Reading {
    match result {
        Some(Ok(())) => Reading::word("granted"),
        Some(Err(errno)) => Reading::word(std::io::Error::from_raw_os_error(errno).to_string()),
        None => untried(),
    }
}

fn untried() -> Reading {
    Reading::gap(Gap::new("a trial", Cause::Garbled("result: --probe")))
}

fn scheduling(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let reading = granted(sight.offers.trial.map(|trial| trial.scheduling));
    notes.add("sched_setattr(2)", reading.show());
    reading
}

fn locking(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let reading = granted(sight.offers.trial.map(|trial| trial.locking));
    notes.add("mlockall(2)", reading.show());
    reading
}

fn dma_latency(sight: &Sight, _: &With, _: &mut Notes) -> Reading {
    granted(sight.offers.trial.map(|trial| trial.dma_latency))
}

fn tried(value: Option<i64>) -> Reading {
    value.map_or_else(untried, |value| Reading::One(Ok(Value::Number(value))))
}

fn idle_exit(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let Some(trial) = sight.offers.trial else { return untried() };
    let (said, reading) = match &trial.idle_exit_ns {
        Ok(ns) => (format!("{ns} ns more than with idle states disabled"), tried(Some(ns / 1000))),
        Err(why) => {
            let gap = Gap::new("the wakeup from idle", Cause::Hidden(format!("it could not be tested: {why}")));
            (format!("could not be tested: {why}"), Reading::gap(gap))
        }
    };
    notes.add("wakeup from idle, tested", said);
    reading
}

fn clock_read(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let ns = sight.offers.trial.and_then(|trial| trial.clock_read_ns);
    if let Some(ns) = ns {
        notes.add("clock_gettime(2), tested", format!("{ns} ns"));
    }
    tried(ns)
}

fn pid(sight: &Sight) -> Result<u32, Gap> {
    sight.offers.pid.ok_or_else(|| Gap::new("the application", Cause::Garbled("process: --pid")))
}

fn rtprio(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = pid(sight).and_then(|pid| {
        let path = format!("/proc/{pid}/limits");
        let text = sight.text(&path, &mut Notes::default()).map_err(Gap::expected)?;
        let line = text.lines().find_map(|line| line.strip_prefix("Max realtime priority"));
        let hard = line.and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned);
        notes.add(format!("{path} Max realtime priority"), hard.as_deref().unwrap_or("absent"));
        match hard.as_deref() {
            Some("unlimited") => Ok(99),
            Some(number) => number.parse().map_err(|_| Gap::new(path, Cause::Garbled("limit"))),
            None => Err(Gap::new(path, Cause::Garbled("limit"))),
        }
    });
    Reading::One(found.map(Value::Number))
}

fn rt_threads<'s>(sight: &'s Sight) -> Result<Vec<&'s Task>, Gap> {
    let (pid, tasks) = (pid(sight)?, sight.tasks());
    if !tasks.all.iter().any(|task| task.pid == pid) {
        return Err(tasks.missing.clone().unwrap_or_else(|| Gap::new(format!("/proc/{pid}"), Cause::Missing)));
    }
    Ok(tasks.real_time.iter().filter(|task| task.pid == pid).collect())
}

fn listed(found: Result<Vec<String>, Gap>, what: &str, notes: &mut Notes) -> Reading {
    let mut many = Many::default();
    match found {
        Ok(texts) => texts.into_iter().for_each(|text| many.push("", Ok(Value::Text(text)))),
        Err(gap) => many.missing = Some(gap),
    }
    let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
    notes.add(what, format!("{}{gap}", Reading::Many(many.clone()).show()));
    Reading::Many(many)
}

fn threads(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = rt_threads(sight).map(|tasks| tasks.into_iter().map(Task::show).collect());
    listed(found, "real-time threads of the application", notes)
}

fn status(sight: &Sight, task: &Task, key: &str) -> Result<String, Gap> {
    let path = format!("/proc/{}/task/{}/status", task.pid, task.tid);
    let text = sight.text(&path, &mut Notes::default()).map_err(Gap::expected)?;
    let value = field_values(&text, key).next().map(str::to_owned);
    value.ok_or_else(|| Gap::new(path, Cause::Garbled("such field")))
}

fn strays(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = rt_threads(sight).and_then(|tasks| {
        let isolated = sight.set(Set::Isolated, notes)?;
        let home: CpuList = sight.context.cpus.iter().chain(isolated.iter()).collect();
        let mut texts = Vec::new();
        for task in tasks {
            let list = status(sight, task, "Cpus_allowed_list")?;
            let cpus: CpuList = list.parse().map_err(|_| Gap::new("Cpus_allowed_list", Cause::Garbled("CPU list")))?;
            if !cpus.minus(&home).is_empty() {
                texts.push(format!("{} on {cpus}", task.show()));
            }
        }
        Ok(texts)
    });
    listed(found, "threads that may leave their CPUs", notes)
}

/// Reads a field of proc_pid_stat(5), counting from 1.
fn stat_field(sight: &Sight, number: usize, what: &str, notes: &mut Notes) -> Reading {
    let found = pid(sight).and_then(|pid| {
        let path = format!("/proc/{pid}/stat");
        let text = sight.text(&path, &mut Notes::default()).map_err(Gap::expected)?;
        let field = text.rsplit_once(") ").and_then(|(_, rest)| rest.split_whitespace().nth(number - 3));
        field.and_then(|field| field.parse().ok()).ok_or_else(|| Gap::new(path, Cause::Garbled("task status")))
    });
    let reading = Reading::One(found.map(Value::Number));
    notes.add(what, reading.show());
    reading
}

fn minor(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    stat_field(sight, 10, "minor page faults", notes)
}

fn major(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    stat_field(sight, 12, "major page faults", notes)
}

fn preemptions(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = rt_threads(sight).and_then(|tasks| {
        let mut sum = 0_i64;
        for task in tasks {
            let count = status(sight, task, "nonvoluntary_ctxt_switches")?;
            let gap = || Gap::new("nonvoluntary_ctxt_switches", Cause::Garbled("number"));
            sum = sum.saturating_add(count.parse::<i64>().map_err(|_| gap())?);
        }
        Ok(sum)
    });
    let reading = Reading::One(found.map(Value::Number));
    notes.add("nonvoluntary_ctxt_switches of real-time threads", reading.show());
    reading
}

/// Returns the system call numbers of nanosleep(2) and clock_nanosleep(2) on this architecture.
fn sleep_calls(arch: &str) -> Option<(i64, i64)> {
    match arch {
        "x86_64" => Some((35, 230)),
        "aarch64" | "riscv64" | "loongarch64" => Some((101, 115)),
        _ => None,
    }
}

/// Parses a line of proc_pid_syscall(5): the call's number, then its arguments in hexadecimal.
fn sleep(line: &str, (relative, by_clock): (i64, i64)) -> Option<String> {
    let mut words = line.split_whitespace();
    let call: i64 = words.next()?.parse().ok()?;
    if call == relative {
        return Some("CLOCK_MONOTONIC relative".to_owned());
    }
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    if call != by_clock {
        return None;
    }
    Some(crate::calls::sleep(argument()?, argument()?))
}

/// Maximum number of times that a thread's state is read in the attempt to find the thread waiting.
const LOOKS: usize = 64;

/// Reads the line of proc_pid_syscall(5), which is `running` for a thread that does not wait.
fn waiting_line(sight: &Sight, path: &str) -> Result<String, Gap> {
    let mut line = sight.text(path, &mut Notes::default()).map_err(Gap::expected)?;
    for _ in 1..LOOKS {
        if line != "running" {
            break;
        }
        line = sight.text(path, &mut Notes::default()).map_err(Gap::expected)?;
    }
    Ok(line)
}

fn sleeps(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = rt_threads(sight).and_then(|tasks| {
        if let Some(calls) = sight.offers.calls.filter(|calls| calls.is_known()) {
            let of =
                |task: &Task| calls.sleeps(task.tid).map(|s| format!("{s} ({} {})", task.name, task.tid)).collect();
            return Ok(tasks.into_iter().flat_map(|task| -> Vec<String> { of(task) }).collect());
        }
        let arch = sight.text("/proc/sys/kernel/arch", &mut Notes::default()).map_err(Gap::expected)?;
        let gap = || Gap::new("/proc/sys/kernel/arch", Cause::Garbled("architecture whose system calls are known"));
        let calls = sleep_calls(&arch).ok_or_else(gap)?;
        let mut texts = Vec::new();
        for task in tasks {
            let path = format!("/proc/{}/task/{}/syscall", task.pid, task.tid);
            let line = waiting_line(sight, &path)?;
            texts.extend(sleep(&line, calls).map(|sleep| format!("{sleep} ({} {})", task.name, task.tid)));
        }
        Ok(texts)
    });
    listed(found, "how the application's threads sleep", notes)
}

const CALLS: usize = 6;

fn recorded<'s>(sight: &'s Sight) -> Result<(&'s Calls, Vec<&'s Task>), Gap> {
    let untraced =
        || Gap::new("its system calls", Cause::Hidden("not traced: use --pid with --window, as root".to_owned()));
    let calls = sight.offers.calls.ok_or_else(untraced)?;
    if !calls.is_known() {
        return Err(Gap::new("/proc/sys/kernel/arch", Cause::Garbled("architecture whose system calls are known")));
    }
    Ok((calls, rt_threads(sight)?))
}

fn calls(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = recorded(sight).map(|(calls, tasks)| {
        let shown = |task: &Task| {
            let rates = calls.rates(task.tid);
            let more = if rates.len() > CALLS { ", …" } else { "" };
            let first: Vec<String> = rates.into_iter().take(CALLS).collect();
            (!first.is_empty()).then(|| format!("{} {}: {}{more}", task.name, task.tid, first.join(", ")))
        };
        let mut texts: Vec<String> = tasks.into_iter().filter_map(shown).collect();
        texts.extend(
            Some(calls.lost()).filter(|lost| *lost > 0).map(|lost| format!("{lost} system calls were not recorded")),
        );
        texts
    });
    listed(found, "system calls of the application's real-time threads", notes)
}

fn locks(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let found = recorded(sight).map(|(calls, tasks)| {
        let mut texts = Vec::new();
        for task in tasks {
            for (inherits, count, wakes) in calls.waited(task.tid) {
                let kind = if inherits { "with" } else { "without" };
                let others =
                    sight.tasks().all.iter().filter(|other| other.tid != task.tid && wakes.contains(&other.tid));
                let others: Vec<String> = others.map(Task::show).collect();
                let holders =
                    if others.is_empty() { String::new() } else { format!(", held by {}", others.join(", ")) };
                texts.push(format!(
                    "{} waited {count} times for a lock {kind} priority inheritance{holders}",
                    task.show()
                ));
            }
        }
        texts
    });
    listed(found, "locks that the application's real-time threads waited for", notes)
}
