//! An excerpt of a trace, small enough for a bug report: kernel text with nanoseconds, readable by people and by trace
//! tools, with further facts in comments.
//!
//! Private data is removed: timers have numbers in place of addresses (which reveal the location of the kernel), and
//! texts written by programs (trace_marker, system call arguments, unknown events) are omitted. Thread names are kept,
//! because the report is about them.

use punctual_model::Victim;
use punctual_trace::{CpuMask, Event, Flags, Kind, Source, Symbol, Task, Vector};
use punctual_units::{Arrange, Policy};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io::{self, Write};

pub const MARK: &str = "# punctual bundle 1";
/// Margin before the time the wakeup was due and after its end, ns.
const MARGIN: u64 = 1_000_000;
/// Number of earlier events included per CPU.
const LEAD_IN: usize = 48;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleHead {
    pub kernel: Option<String>,
    /// Policies by thread ID, since a trace does not distinguish FIFO from RR.
    pub policies: BTreeMap<i32, Policy>,
}

/// Writes the window of a late wakeup, with a margin of 1 ms. Returns the number of events.
///
/// # Errors
/// Writing failed, or the wakeup is known only from a summary and has no times.
pub fn bundle(source: &mut dyn Source, victim: &Victim, head: &BundleHead, out: &mut dyn Write) -> io::Result<u64> {
    let none = || {
        io::Error::new(
            io::ErrorKind::InvalidInput,
            "this wakeup is known only from a summary, so there is nothing to extract",
        )
    };
    let moments = victim.moments.ok_or_else(none)?;
    let end = moments.t4_ns.unwrap_or(moments.t3_ns);
    let (from, to) = (moments.t0_ns.saturating_sub(MARGIN), end.saturating_add(MARGIN));
    writeln!(out, "{MARK}\n# tracer: nop\n#")?;
    writeln!(out, "# verdict: {}", plain(&victim.verdict))?;
    if let Some(kernel) = head.kernel.as_ref().or(source.info().kernel.as_ref()) {
        writeln!(out, "# kernel: {}", plain(kernel))?;
    }
    for (tid, policy) in &head.policies {
        writeln!(out, "# policy {tid}: {}", policy_name(*policy))?;
    }
    writeln!(out, "#")?;
    let mut writer = Writer::default();
    let mut written = 0;
    for event in source {
        if event.t_ns < from {
            writer.early(event);
        } else if event.t_ns <= to {
            written += writer.event(&event, out)?;
        }
    }
    Ok(written)
}

/// Parses the comments at the start of a bundle. Returns `None` if the text is not a bundle.
pub fn bundle_head(text: &str) -> Option<BundleHead> {
    let mut head = BundleHead::default();
    let mut lines = text.lines();
    lines.next().filter(|line| line.trim_end() == MARK)?;
    for line in lines.take_while(|line| line.starts_with('#')) {
        if let Some(kernel) = line.strip_prefix("# kernel: ") {
            head.kernel = Some(kernel.to_owned());
        } else if let Some((tid, policy)) = line.strip_prefix("# policy ").and_then(|rest| rest.split_once(": "))
            && let (Ok(tid), Ok(policy)) = (tid.parse(), policy.parse())
        {
            head.policies.insert(tid, policy);
        }
    }
    Some(head)
}

fn policy_name(policy: Policy) -> String {
    policy.to_string().to_lowercase()
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[derive(Default)]
struct Writer {
    timers: HashMap<u64, usize>,
    /// Events before the window: the last start of each timer, which shows its expiry, and the last switch of each CPU,
    /// which shows the running task.
    early: BTreeMap<(bool, u64), Event>,
    /// The last events of each CPU before the window, for detecting the start of gaps and comparing clocks.
    last: BTreeMap<u32, VecDeque<Event>>,
}

impl Writer {
    fn early(&mut self, event: Event) {
        let last = self.last.entry(event.cpu).or_default();
        last.push_back(event);
        if last.len() <= LEAD_IN {
            return;
        }
        let Some(event) = last.pop_front() else { return };
        let key = match &event.kind {
            Kind::HrtimerStart { timer, .. } => (true, *timer),
            Kind::SchedSwitch { .. } => (false, event.cpu.into()),
            _ => return,
        };
        if self.early.len() < 4096 || self.early.contains_key(&key) {
            self.early.insert(key, event);
        }
    }

    fn event(&mut self, event: &Event, out: &mut dyn Write) -> io::Result<u64> {
        let mut written = 0;
        if !self.early.is_empty() || !self.last.is_empty() {
            let mut early: Vec<Event> = std::mem::take(&mut self.early).into_values().collect();
            early.extend(std::mem::take(&mut self.last).into_values().flatten());
            early.arrange_by_key(|event| event.t_ns);
            for event in &early {
                written += self.line(event, out)?;
            }
        }
        Ok(written + self.line(event, out)?)
    }

    fn line(&mut self, event: &Event, out: &mut dyn Write) -> io::Result<u64> {
        if let Kind::LostEvents { count } = &event.kind {
            let count = count.map_or(1, |count| count.max(1));
            writeln!(out, "CPU:{} [LOST {count} EVENTS]", event.cpu)?;
            return Ok(1);
        }
        let Some((name, body)) = self.body(&event.kind) else { return Ok(0) };
        let (seconds, nanos) = (event.t_ns / 1_000_000_000, event.t_ns % 1_000_000_000);
        let comm = event.comm.map_or_else(|| "<...>".to_owned(), |comm| plain(&comm.to_string()));
        let comm = if event.tid == Some(0) { "<idle>".to_owned() } else { comm };
        let task = event.tid.map_or_else(|| format!("{comm}-?"), |tid| format!("{comm}-{tid}"));
        let flags = event.flags.map(letters).unwrap_or_default();
        writeln!(out, "{task:>24} [{:03}] {flags} {seconds:5}.{nanos:09}: {name}: {body}", event.cpu)?;
        Ok(1)
    }

    fn timer(&mut self, timer: u64) -> String {
        let next = self.timers.len() + 1;
        format!("{:016x}", self.timers.entry(timer).or_insert(next))
    }

    fn body(&mut self, kind: &Kind) -> Option<(String, String)> {
        let own = |name: &str, body: String| Some((name.to_owned(), body));
        match kind {
            Kind::HrtimerStart { timer, function, expires_ns, softexpires_ns } => {
                let soft = softexpires_ns.unwrap_or(*expires_ns);
                let timer = self.timer(*timer);
                let function = symbol(function.as_ref());
                own(
                    "hrtimer_start",
                    format!("hrtimer={timer}{function} expires={expires_ns} softexpires={soft} mode=ABS"),
                )
            }
            Kind::HrtimerExpireEntry { timer, function, now_ns } => {
                let (timer, function) = (self.timer(*timer), symbol(function.as_ref()));
                own("hrtimer_expire_entry", format!("hrtimer={timer}{function} now={}", (*now_ns)?))
            }
            Kind::HrtimerExpireExit { timer } => own("hrtimer_expire_exit", format!("hrtimer={}", self.timer(*timer))),
            Kind::HrtimerCancel { timer } => own("hrtimer_cancel", format!("hrtimer={}", self.timer(*timer))),
            other => sched(other).or_else(|| interrupt(other)),
        }
    }
}

fn symbol(function: Option<&Symbol>) -> String {
    match function {
        Some(Symbol::Name(name)) => format!(" function={}", plain(name)),
        _ => String::new(),
    }
}

fn task(prefix: &str, task: &Task) -> Option<String> {
    let comm = task.comm.map_or_else(|| "<...>".to_owned(), |comm| plain(&comm.to_string()));
    Some(format!("{prefix}comm={comm} {prefix}pid={} {prefix}prio={}", task.tid, task.prio?))
}

fn sched(kind: &Kind) -> Option<(String, String)> {
    let target = |cpu: &Option<u32>| cpu.map(|cpu| format!(" target_cpu={cpu:03}")).unwrap_or_default();
    let (name, body) = match kind {
        Kind::SchedSwitch { prev, prev_state, next } => {
            let preempted = if prev_state.preempted { "+" } else { "" };
            let state = char::from(prev_state.letter);
            let (prev, next) = (task("prev_", prev)?, task("next_", next)?);
            ("sched_switch", format!("{prev} prev_state={state}{preempted} ==> {next}"))
        }
        Kind::SchedWaking { task: woken, target_cpu } => {
            ("sched_waking", format!("{}{}", task("", woken)?, target(target_cpu)))
        }
        Kind::SchedWakeup { task: woken, target_cpu, .. } => {
            ("sched_wakeup", format!("{}{}", task("", woken)?, target(target_cpu)))
        }
        Kind::SchedWakeupNew { task: woken, target_cpu } => {
            ("sched_wakeup_new", format!("{}{}", task("", woken)?, target(target_cpu)))
        }
        Kind::SchedMigrate { task: moved, from_cpu, to_cpu } => {
            ("sched_migrate_task", format!("{} orig_cpu={from_cpu} dest_cpu={to_cpu}", task("", moved)?))
        }
        Kind::PiSetprio { task, new_prio } => {
            let comm = plain(&task.comm?.to_string());
            let old = task.prio?;
            ("sched_pi_setprio", format!("comm={comm} pid={} oldprio={old} newprio={new_prio}", task.tid))
        }
        Kind::StatRuntime { tid, comm, runtime_ns } => {
            let comm = plain(&comm.as_ref()?.to_string());
            ("sched_stat_runtime", format!("comm={comm} pid={tid} runtime={runtime_ns} [ns]"))
        }
        _ => return None,
    };
    Some((name.to_owned(), body))
}

fn interrupt(kind: &Kind) -> Option<(String, String)> {
    let vector = |vector: &Vector, number: &Option<u32>, end: &str| {
        let name = match vector {
            Vector::LocalTimer => "local_timer",
            Vector::Reschedule => "reschedule",
            Vector::CallFunction => "call_function",
            Vector::CallFunctionSingle => "call_function_single",
            Vector::IrqWork => "irq_work",
            Vector::Other(name) => name.as_ref(),
        };
        (format!("{name}_{end}"), format!("vector={}", number.unwrap_or(0)))
    };
    let (name, body) = match kind {
        Kind::IrqEntry { irq, name } => {
            ("irq_handler_entry", format!("irq={irq} name={}", plain(name.as_deref().unwrap_or_default())))
        }
        Kind::IrqExit { irq, handled } => {
            let ret = if *handled == Some(false) { "unhandled" } else { "handled" };
            ("irq_handler_exit", format!("irq={irq} ret={ret}"))
        }
        Kind::SoftirqRaise { vec } => ("softirq_raise", format!("vec={vec}")),
        Kind::SoftirqEntry { vec } => ("softirq_entry", format!("vec={vec}")),
        Kind::SoftirqExit { vec } => ("softirq_exit", format!("vec={vec}")),
        Kind::VectorEntry { vector: which, number } => return Some(vector(which, number, "entry")),
        Kind::VectorExit { vector: which, number } => return Some(vector(which, number, "exit")),
        Kind::IpiSend { target: Some(CpuMask::One(cpu)), .. } => ("ipi_send_cpu", format!("cpu={cpu}")),
        Kind::CpuIdle { state, cpu } => {
            ("cpu_idle", format!("state={} cpu_id={cpu}", state.map_or(u32::MAX, |state| state)))
        }
        Kind::CpuFrequency { khz, cpu } => ("cpu_frequency", format!("state={khz} cpu_id={cpu}")),
        Kind::NmiHandler { delta_ns, handled, .. } => {
            ("nmi_handler", format!("nmi() delta_ns: {delta_ns} handled: {}", handled.unwrap_or(0)))
        }
        _ => return None,
    };
    Some((name.to_owned(), body))
}

/// Returns the five flag columns of kernels from 5.15 on (kernel/trace/trace_output.c, `trace_print_lat_fmt`).
fn letters(flags: Flags) -> String {
    use punctual_trace::Context;
    let off = match (flags.irqs_off, flags.bh_off) {
        (Some(true), Some(true)) => 'D',
        (Some(true), _) => 'd',
        (_, Some(true)) => 'b',
        _ => '.',
    };
    let wanted = match (flags.need_resched, flags.preempt_resched, flags.need_resched_lazy) {
        (Some(true), Some(true), _) => 'N',
        (Some(true), ..) => 'n',
        (_, Some(true), _) => 'p',
        (_, _, Some(true)) => 'l',
        _ => '.',
    };
    let context = match flags.context {
        Some(Context::Softirq) => 's',
        Some(Context::Hardirq) => 'h',
        Some(Context::HardirqInSoftirq) => 'H',
        Some(Context::Nmi) => 'z',
        Some(Context::NmiInHardirq) => 'Z',
        Some(Context::Task) | None => '.',
    };
    let depth = |depth: Option<u8>| match depth {
        Some(n @ 1..) => char::from_digit(u32::from(n.min(15)), 16).unwrap_or('f'),
        _ => '.',
    };
    [off, wanted, context, depth(flags.preempt_depth), depth(flags.migrate_disable)].iter().collect()
}
