//! `cargo trials rtla`: applies `explain` and the auto-analysis of `rtla timerlat` to the same injected delays, and
//! compares which of them names the logged cause.

use crate::guests::{self, folders, name_of};
use crate::injected::{self, score};
use crate::sections;
use punctual_explain::{ExplainOptions, Victim, Victims, explain};
use punctual_inject::{Burst, Surroundings};
use punctual_trace::{RtlaAnalysis, Source};
use punctual_vm::{Arch, Clock, Guest, Machine};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every kind of `punctual-inject` that can delay timerlat's thread.
const KINDS: [&str; 13] = [
    "higher-priority-rr",
    "higher-priority-fifo",
    "same-priority",
    "priority-inversion",
    "deadline-hog",
    "softirq-timers",
    "irqs-off",
    "preempt-off",
    "ipi",
    "irq-work",
    "stopper",
    "idle-state",
    "idle-loop",
];
/// Maximum difference between the two latencies of one wakeup, ns: both end when the thread runs, but timerlat's ends
/// within timerlat's own code.
const SAME_NS: u64 = 1_000_000;

/// Inject delays while `rtla timerlat -a` measures in a guest with PREEMPT_RT, and compare rtla's auto-analysis with
/// what `explain` names (docs/injected.md)
///
/// Build first: cargo build --release -p punctual-inject. Needs rtla 6.3 or newer, and the kernel's linux-headers-… for
/// the kinds that use a module
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Kernel of the guest, which must have the timerlat tracer
    #[arg(long, value_name = "K", default_value = "rt@6.12")]
    kernel: String,
    /// Path of rtla; its libraries are copied into the guest as well
    #[arg(long, value_name = "FILE", default_value = "/usr/bin/rtla")]
    rtla: PathBuf,
    /// Number of delays of each kind
    #[arg(long, value_name = "N", default_value_t = 4)]
    count: u32,
    /// Directory for the recordings
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-rtla"))]
    out: PathBuf,
    /// Record nothing; score the recordings in this directory
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    score: Option<PathBuf>,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    if let Some(folder) = &wanted.score {
        return table(folder);
    }
    record(wanted)?;
    table(&wanted.out.join("rtla"))
}

fn record(wanted: &Wanted) -> Result<(), String> {
    let (kernel, cache) = guests::kernel(&wanted.kernel, Arch::Amd64)?;
    let release = kernel.release.clone().ok_or_else(|| format!("{}: its release is unknown", wanted.kernel))?;
    let module = sections::module(&release, &wanted.out.join("module"))?;
    let injection = injected::program(Arch::Amd64)?;
    let mut files = vec![guests::program(&module, "/hold.ko")?, guests::program(&injection, "/bin/inject")?];
    files.push(guests::program(&wanted.rtla, "/bin/rtla")?);
    let libraries = guests::libraries(&wanted.rtla.display().to_string());
    for path in libraries.ok_or_else(|| format!("{}: no such program", wanted.rtla.display()))? {
        files.push(guests::program(Path::new(&path), &path)?);
    }
    let mut guest = Guest::new(Machine::usual(Arch::Amd64), kernel, "");
    (guest.clock, guest.cpus, guest.memory_mib) = (Clock::Real, 2, 1024);
    guest.limit = Duration::from_secs(120 + 60 * u64::from(wanted.count));
    guest.fetch = vec!["/rtla".into()];
    guest.files = files;
    guest.append = vec!["noirqdebug".into(), "no_hash_pointers".into()];
    let into = wanted.out.join("rtla");
    let failed = |e: std::io::Error| format!("{}: {e}", into.display());
    let _ = fs::remove_dir_all(&into);
    fs::create_dir_all(&into).map_err(failed)?;
    // Each kind gets a separate boot, because the emulator does not survive every change of the kernel's code.
    for kind in KINDS {
        guest.script =
            format!("insmod /hold.ko; mkdir /rtla; inject rtla /bin/rtla /rtla times={} {kind}", wanted.count);
        let boot = wanted.out.join("boot");
        guests::try_boot(&guest, &cache, &boot)?;
        for run in folders(&boot.join("rtla"))? {
            fs::rename(&run, into.join(name_of(&run))).map_err(failed)?;
        }
    }
    Ok(())
}

/// The answer of `explain` or of rtla for a delay, and whether it agrees with the log.
struct Answer {
    right: bool,
    text: String,
}

/// Number of delays of one kind for which both are right, only `explain` is, only rtla is, and neither is; and the
/// number of delays without an analysis by rtla.
#[derive(Default)]
struct Row {
    counts: [u32; 4],
    without: u32,
}

fn table(folder: &Path) -> Result<(), String> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    let mut notes = Vec::new();
    for run in folders(folder)? {
        let name = name_of(&run);
        let kind = name.rsplit_once('-').map_or(name.as_str(), |(kind, _)| kind);
        let row = rows.entry(kind.to_owned()).or_default();
        match compared(&run) {
            Ok((ours, theirs)) => {
                let at = usize::from(!ours.right) * 2 + usize::from(!theirs.right);
                // Index 0 is both right, 1 only ours, 2 only theirs, 3 neither.
                row.counts[at] += 1;
                if at > 0 {
                    let word = |right| if right { "right" } else { "WRONG" };
                    notes.push(format!(
                        "{name}: explain {}: {}; rtla {}: {}",
                        word(ours.right),
                        ours.text,
                        word(theirs.right),
                        theirs.text
                    ));
                }
            }
            Err(why) => {
                row.without += 1;
                notes.push(format!("{name}: {why}"));
            }
        }
    }
    println!("| kind | both right | only explain | only rtla | neither | not compared |\n|---|---|---|---|---|---|");
    let mut sum = Row::default();
    for (kind, Row { counts: [both, ours, theirs, neither], without }) in &rows {
        println!("| {kind} | {both} | {ours} | {theirs} | {neither} | {without} |");
        sum.counts.iter_mut().zip([both, ours, theirs, neither]).for_each(|(sum, n)| *sum += n);
        sum.without += without;
    }
    let Row { counts: [both, ours, theirs, neither], without } = sum;
    println!("| all | {both} | {ours} | {theirs} | {neither} | {without} |");
    notes.iter().for_each(|note| println!("  {note}"));
    Ok(())
}

/// Returns the answers of `explain` and rtla for the injected delay.
fn compared(run: &Path) -> Result<(Answer, Answer), String> {
    if let Ok(why) = fs::read_to_string(run.join("failed.txt")) {
        return Err(why);
    }
    let bursts: Vec<Burst> = score::read(run, "truth.json")?;
    let surroundings: Surroundings = score::read(run, "facts.json")?;
    let options = ExplainOptions {
        victims: Victims::Comm("timerlat/1".into()),
        most: 100_000,
        facts: score::facts(&surroundings),
        ..ExplainOptions::default()
    };
    let explanation = explain(open(&run.join("trace.txt"))?.as_mut(), options);
    let late = explanation.victims.iter().filter_map(|victim| Some((victim, injected_in(victim, &bursts)?)));
    let (victim, burst) =
        late.max_by_key(|(victim, _)| victim.latency_ns).ok_or("it did not delay timerlat's thread")?;
    let mut said = open(&run.join("rtla.txt")).map_err(|_| "rtla has no analysis".to_owned())?;
    while said.next().is_some() {}
    let same = |analysis: &&RtlaAnalysis| {
        let whole = analysis.total_us.or(analysis.irq_latency_us).unwrap_or_default();
        ((whole * 1000.0) as u64).abs_diff(victim.latency_ns) <= SAME_NS
    };
    let analysis = said.info().rtla.iter().find(same).ok_or("rtla stopped at a different delay")?;
    let first = victim.causes.first().ok_or("no causes")?;
    let ours = Answer { right: score::is_part(first, &score::part(burst)), text: score::shown(first, victim) };
    Ok((ours, theirs(analysis, burst)))
}

fn open(path: &Path) -> Result<Box<dyn Source>, String> {
    let failed = |e: String| format!("{}: {e}", path.display());
    let file = File::open(path).map_err(|e| failed(e.to_string()))?;
    punctual_trace::open(file, punctual_trace::Options::default()).map_err(|e| failed(e.to_string()))
}

/// Returns the burst that took more than half of a delay, if there is one.
fn injected_in<'b>(victim: &Victim, bursts: &'b [Burst]) -> Option<&'b Burst> {
    let moments = victim.moments?;
    let inside = |burst: &&Burst| burst.most(moments.t0_ns, moments.t3_ns);
    bursts.iter().max_by_key(inside).filter(|burst| inside(burst) * 2 > victim.latency_ns)
}

/// Returns the line of rtla's analysis with the largest share of the time. If rtla stopped in timerlat's interrupt
/// (`-a` sets a threshold for that, too), it reports how late the interrupt came and what ran before: the idle task, or
/// a thread that had disabled interrupts.
fn theirs(analysis: &RtlaAnalysis, burst: &Burst) -> Answer {
    if let (None, Some(us), Some((comm, tid, _))) =
        (analysis.blocking_thread_us, analysis.irq_latency_us, analysis.blocking.first())
    {
        let right = match tid {
            0 => burst.class == "idle_exit",
            tid => burst.class == "irqs_disabled" || burst.tid == Some(*tid),
        };
        return Answer { right, text: format!("IRQ latency {:.1} ms, after {comm}:{tid}", us / 1000.0) };
    }
    let mut lines: Vec<(f64, bool, String)> = Vec::new();
    if let Some(us) = analysis.irq_handler_delay_us {
        let idle = if analysis.exit_from_idle { ", from idle" } else { "" };
        let right = burst.class == if analysis.exit_from_idle { "idle_exit" } else { "irqs_disabled" };
        lines.push((us, right, format!("IRQ handler delay{idle}")));
    }
    for (comm, tid, us) in &analysis.blocking {
        let idle = *tid == 0 && burst.class == "unaccounted";
        lines.push((*us, burst.tid == Some(*tid) || idle, format!("Blocking thread {comm}:{tid}")));
    }
    let mut sources: BTreeMap<(&str, i32), f64> = BTreeMap::new();
    analysis.sources.iter().for_each(|(name, number, us)| *sources.entry((name, *number)).or_default() += us);
    for ((name, number), us) in sources {
        let interrupt = burst.what.as_ref().is_some_and(|what| name.contains(what));
        lines.push((us, interrupt || burst.tid == Some(number), format!("interference {name}:{number}")));
    }
    let most = lines.into_iter().max_by(|one, other| one.0.total_cmp(&other.0));
    let (us, right, text) = most.unwrap_or((0.0, false, "nothing".into()));
    Answer { right, text: format!("{text} {:.1} ms", us / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_line_is_rtlas_answer() {
        let burst = |class: &str, tid, what: Option<&str>| Burst {
            class: class.into(),
            tid,
            comm: None,
            what: what.map(str::to_owned),
            scheduled: String::new(),
            cpu: 1,
            start_ns: 0,
            end_ns: 0,
            earliest_ns: 0,
            worst_ns: None,
            gaps: Vec::new(),
            exact: true,
        };
        let analysis = RtlaAnalysis {
            irq_handler_delay_us: Some(900.0),
            blocking_thread_us: Some(500.0),
            blocking: vec![(punctual_trace::Comm::new(b"hog"), 7, 500.0)],
            sources: vec![("local_timer".into(), 236, 600.0), ("local_timer".into(), 236, 200.0)],
            ..RtlaAnalysis::default()
        };
        assert!(theirs(&analysis, &burst("irqs_disabled", None, None)).right);
        assert!(!theirs(&analysis, &burst("higher_priority", Some(7), None)).right);
        let blocked = RtlaAnalysis { irq_handler_delay_us: Some(10.0), ..analysis.clone() };
        assert!(theirs(&blocked, &burst("irq", None, Some("local_timer"))).right);
        let stopped = RtlaAnalysis { blocking_thread_us: None, irq_latency_us: Some(900.0), ..analysis.clone() };
        assert!(theirs(&stopped, &burst("irqs_disabled", None, None)).right);
        assert!(!theirs(&stopped, &burst("irq", None, Some("irq_work"))).right);
        let idle = RtlaAnalysis { exit_from_idle: true, ..analysis };
        assert!(!theirs(&idle, &burst("irqs_disabled", None, None)).right);
        assert!(theirs(&idle, &burst("idle_exit", None, Some("in an idle state"))).right);
    }
}
