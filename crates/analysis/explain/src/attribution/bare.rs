//! What a trace without switches shows: threads that were woken for a CPU that stays idle, timers that expire
//! periodically, counts that went below zero in texts that a program wrote to the trace.

use super::section;
use super::spans::On;
use punctual_model::Scheduled;
use punctual_trace::{Comm, Context, Event, Kind, Symbol, Task};
use punctual_units::Nanos;
use std::collections::{BTreeMap, HashMap};

const MOST: usize = 256;
/// Minimum number of intervals of a periodic timer.
const FEWEST: u64 = 2;

/// An hrtimer that expires again and again.
#[derive(Debug)]
struct Timer {
    function: Option<Symbol>,
    first: u64,
    last: u64,
    count: u64,
    shortest: u64,
    longest: u64,
    due: Option<i64>,
    /// Maximum time from the due time to the expiry, ns.
    late: Option<u64>,
    idle: bool,
}

/// An interrupt that occurs again and again.
#[derive(Debug)]
struct Repeated {
    name: Option<String>,
    first: u64,
    last: u64,
    count: u64,
    /// Start of the handler that has not ended.
    entered: Option<u64>,
    /// Number and sum of the handlers that ended, ns, and the longest.
    handlers: (u64, u64, u64),
    /// The current thread, if it was the same one each time.
    current: Option<(Option<Comm>, Option<i32>)>,
}

/// A thread that was woken, and what followed on the CPU for which it was woken.
#[derive(Debug)]
struct Woken {
    t: u64,
    task: Task,
    by: (Option<Comm>, Option<i32>),
    from: u32,
    target: u32,
    /// An event that names an interrupt sent to that CPU.
    sent: Option<String>,
    /// True if a line since then shows an interrupt on that CPU.
    interrupted: bool,
    /// The last line of that CPU's idle task.
    idle: Option<(u64, String)>,
}

#[derive(Debug, Default)]
pub(super) struct Bare {
    timers: BTreeMap<(u32, u64), Timer>,
    /// By CPU and number.
    interrupts: BTreeMap<(u32, u32), Repeated>,
    /// The most frequent interrupt before a gap in the trace: how often it came, and its description.
    before: Option<(u64, String)>,
    woken: HashMap<i32, Woken>,
    /// The last value of each kind in the texts, by the words that precede it.
    values: HashMap<String, u64>,
    wrapped: Option<String>,
    /// Time and content of the last text.
    text: Option<(u64, String)>,
    gap: Option<(u64, String, String)>,
    /// By CPU: when its idle task stopped the tick.
    stopped: BTreeMap<u32, u64>,
    /// The longest time for which a CPU was idle with its tick stopped: its length, CPU, start, and the line that ended it.
    idle: Option<(u64, u32, u64, String)>,
    has_switches: bool,
}

impl Bare {
    pub fn event(&mut self, event: &Event, on: On) {
        if self.has_switches {
            return;
        }
        self.ticks(event);
        match &event.kind {
            Kind::SchedSwitch { .. } => *self = Bare { has_switches: true, ..Bare::default() },
            Kind::Restart | Kind::LostEvents { .. } => {
                let before = self.repeated(on.0.is_some());
                *self = Bare { before, ..Bare::default() };
            }
            Kind::HrtimerStart { timer, expires_ns, softexpires_ns, .. } => {
                if let Some(timer) = self.timers.get_mut(&(event.cpu, *timer)) {
                    timer.due = Some(softexpires_ns.unwrap_or(*expires_ns));
                }
            }
            Kind::HrtimerExpireEntry { timer, function, now_ns } => self.expires(event, *timer, function, *now_ns),
            Kind::Print { text } => self.text(event, text, on),
            Kind::IrqEntry { irq, name } => self.interrupt(event, *irq, name.as_deref()),
            Kind::IrqExit { irq, .. } => {
                if let Some(repeated) = self.interrupts.get_mut(&(event.cpu, *irq))
                    && let Some(entered) = repeated.entered.take()
                {
                    let ns = event.t_ns.saturating_sub(entered);
                    let (count, sum, longest) = repeated.handlers;
                    repeated.handlers = (count + 1, sum.saturating_add(ns), longest.max(ns));
                }
            }
            _ => {}
        }
        self.wakes(event, on);
    }

    /// Handles the tick, which the idle task stops until the next timer or interrupt (kernel/time/tick-sched.c).
    fn ticks(&mut self, event: &Event) {
        let Event { t_ns: t, cpu, .. } = *event;
        // The idle task's own lines do not end the idle time.
        let goes_on = event.tid == Some(0)
            && !event.flags.and_then(|flags| flags.context).is_some_and(Context::is_hard)
            && matches!(
                event.kind,
                Kind::CpuIdle { state: Some(_), .. }
                    | Kind::HrtimerStart { .. }
                    | Kind::Function { .. }
                    | Kind::Other { .. }
            );
        if let Some(since) = self.stopped.get(&cpu).copied().filter(|_| !goes_on) {
            self.stopped.remove(&cpu);
            let name = match &event.kind {
                Kind::Other { name, .. } => format!(" ({name})"),
                Kind::HrtimerExpireEntry { .. } => " (hrtimer_expire_entry)".to_owned(),
                _ => String::new(),
            };
            let ns = t.saturating_sub(since);
            if self.idle.as_ref().is_none_or(|(longest, ..)| ns > *longest) {
                self.idle = Some((ns, cpu, since, name));
            }
        }
        if let Kind::Other { name, body: Some(body) } = &event.kind
            && &**name == "tick_stop"
            && body.contains("success=1")
            && event.tid == Some(0)
            && self.stopped.len() < MOST
        {
            self.stopped.insert(cpu, t);
        }
    }

    fn interrupt(&mut self, event: &Event, irq: u32, name: Option<&str>) {
        let (t, key, current) = (event.t_ns, (event.cpu, irq), (event.comm, event.tid));
        if self.interrupts.len() >= MOST && !self.interrupts.contains_key(&key) {
            return;
        }
        let repeated = self.interrupts.entry(key).or_insert_with(|| Repeated {
            name: name.map(str::to_owned),
            first: t,
            last: t,
            count: 0,
            entered: None,
            handlers: (0, 0, 0),
            current: Some(current),
        });
        repeated.count += 1;
        (repeated.last, repeated.entered) = (t, Some(t));
        repeated.current = repeated.current.take().filter(|of| *of == current);
    }

    fn expires(&mut self, event: &Event, timer: u64, function: &Option<Symbol>, now: Option<i64>) {
        let (t, key) = (event.t_ns, (event.cpu, timer));
        if self.timers.len() >= MOST && !self.timers.contains_key(&key) {
            return;
        }
        let timer = self.timers.entry(key).or_insert_with(|| Timer {
            function: function.clone(),
            first: t,
            last: t,
            count: 0,
            shortest: u64::MAX,
            longest: 0,
            due: None,
            late: None,
            idle: true,
        });
        timer.idle &= event.tid == Some(0);
        let interval = t.saturating_sub(timer.last);
        if interval > 0 {
            timer.count += 1;
            (timer.shortest, timer.longest) = (timer.shortest.min(interval), timer.longest.max(interval));
        }
        timer.last = t;
        let late = now.zip(timer.due.take()).and_then(|(now, due)| u64::try_from(now.checked_sub(due)?).ok());
        timer.late = timer.late.max(late);
    }

    fn wakes(&mut self, event: &Event, on: On) {
        if let Some(tid) = event.tid.filter(|tid| *tid != 0) {
            self.woken.remove(&tid);
        }
        let name = match &event.kind {
            Kind::Other { name, .. } => Some(&**name),
            _ => None,
        };
        let is_hard = event.flags.and_then(|flags| flags.context).is_some_and(Context::is_hard);
        let is_entry = matches!(event.kind, Kind::IrqEntry { .. } | Kind::VectorEntry { .. })
            || name.is_some_and(|name| name.contains("_entry"));
        for woken in self.woken.values_mut() {
            if woken.target == event.cpu {
                woken.interrupted |= is_hard || is_entry;
                if event.tid == Some(0) {
                    woken.idle = Some((event.t_ns, name.unwrap_or_default().to_owned()));
                }
            } else if let (Some(name), Kind::Other { body: Some(body), .. }) = (name, &event.kind)
                && woken.from == event.cpu
                && ["ipi", "reschedule", "doorbell"].iter().any(|part| name.contains(part))
                && body.split([' ', ',']).any(|word| word == format!("cpu={}", woken.target))
            {
                woken.sent = Some(name.to_owned());
            }
        }
        let (Kind::SchedWaking { task, target_cpu } | Kind::SchedWakeup { task, target_cpu, .. }) = &event.kind else {
            return;
        };
        if let Some(target) = target_cpu.filter(|target| on.0.is_some() && *target != event.cpu)
            && self.woken.len() < MOST
        {
            let (t, task, by, from) = (event.t_ns, *task, (event.comm, event.tid), event.cpu);
            let fresh = Woken { t, task, by, from, target, sent: None, interrupted: false, idle: None };
            self.woken.entry(task.tid).or_insert(fresh);
        }
    }

    fn text(&mut self, event: &Event, text: &str, on: On) {
        let who = Scheduled::default().thread(event.comm.map(|comm| comm.to_string()).as_deref(), event.tid);
        let said = format!("\"{}\" ({who}{on})", text.trim());
        let (function, rest) = text.split_once(':').unwrap_or(("", text));
        for (key, value) in rest.split([' ', ',']).filter_map(|word| word.split_once('=')) {
            let Ok(value) = value.parse::<u64>() else { continue };
            if self.values.len() < MOST || self.values.contains_key(key) {
                let before = self.values.insert(key.to_owned(), value);
                if let Some(count) = negative(value).filter(|_| before.is_some_and(|before| before < SMALL)) {
                    let what = format!(
                        "{key} of {} became {value}, which is {count}: a count went below zero",
                        function.trim()
                    );
                    let before = self.text.as_ref().map(|(_, text)| format!(", after {text}")).unwrap_or_default();
                    self.wrapped.get_or_insert(format!("{what}, in {who}{on}{before}"));
                }
            }
        }
        if let Some((t, before)) = self.text.replace((event.t_ns, said.clone())) {
            let ns = event.t_ns.saturating_sub(t);
            if self.gap.as_ref().is_none_or(|(longest, ..)| ns > *longest) {
                self.gap = Some((ns, before, said));
            }
        }
    }

    /// Describes the interrupt that came most often, and returns how often.
    fn repeated(&self, has_cpu: bool) -> Option<(u64, String)> {
        let dense = self.interrupts.iter().filter(|(_, repeated)| repeated.is_dense());
        let said = dense.map(|((cpu, irq), of)| (of.count, of.said(*irq, On(Some(*cpu).filter(|_| has_cpu)))));
        said.chain(self.before.clone()).max()
    }

    /// Describes the thread that was woken longest ago.
    pub fn waiting(&self) -> Option<String> {
        self.woken.values().filter_map(Woken::said).max().map(|(_, text)| text)
    }

    /// Describes the other findings, the most informative one first.
    pub fn said(&self, has_cpu: bool) -> Option<String> {
        let periodic = self.timers.iter().filter(|(_, timer)| timer.is_periodic()).max_by_key(|(_, timer)| timer.count);
        let periodic = periodic.map(|((cpu, _), timer)| timer.said(On(Some(*cpu).filter(|_| has_cpu))));
        let gap = self.gap.as_ref().filter(|(ns, ..)| *ns > 0 && self.wrapped.is_some());
        let gap = gap.map(|(ns, from, to)| {
            format!("the longest time between two lines of text is {}, from {from} to {to}: no line shows a thread waiting for a CPU", Nanos(*ns))
        });
        let repeated = self.repeated(has_cpu).map(|(_, text)| text);
        let idle = self.idle.as_ref().map(|(ns, cpu, since, until)| {
            let seconds = |ns: u64| format!("{:.6} s", ns as f64 / 1e9);
            format!(
                "{} was idle with its tick stopped for {}, from {} to the line at {}{until}: an idle CPU needs no tick, and no line shows that a timer or thread was late",
                if has_cpu { format!("CPU {cpu}") } else { "a CPU".to_owned() },
                Nanos(*ns),
                seconds(*since),
                seconds(since + ns)
            )
        });
        let all: Vec<String> = [self.wrapped.clone(), repeated, idle, periodic, gap].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join("; "))
    }
}

/// Only a count that was below this limit can go below zero, by at most this limit.
const SMALL: u64 = 1 << 20;

/// Returns the negative number that a wrapped count of 32 or 64 bits represents.
fn negative(value: u64) -> Option<i64> {
    let of_32 = (1u64 << 32).checked_sub(value).filter(|below| (1..=SMALL).contains(below));
    let of_64 = Some(value.wrapping_neg()).filter(|below| (1..=SMALL).contains(below));
    of_32.or(of_64).and_then(|below| i64::try_from(below).ok()).map(|below| -below)
}

impl Repeated {
    /// True if the interrupt occurs so often that little time is left for anything else.
    fn is_dense(&self) -> bool {
        const FEWEST: u64 = 5;
        const INTERVAL: u64 = 50_000;
        self.count >= FEWEST && (self.last - self.first) / (self.count - 1) <= INTERVAL
    }

    fn said(&self, irq: u32, on: On) -> String {
        let name = self.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let span = self.last - self.first;
        let every = Nanos(span / (self.count - 1).max(1));
        let handlers = match self.handlers {
            (0, ..) => String::new(),
            (n, sum, longest) => {
                format!(", its handler {} each time on average and {} at most", Nanos(sum / n), Nanos(longest))
            }
        };
        let current = self.current.map(|(comm, tid)| {
            let who = Scheduled::default().thread(comm.map(|comm| comm.to_string()).as_deref(), tid);
            format!(", each time while {who} was current")
        });
        format!(
            "interrupt {irq}{name} came {} times in {}{on}, every {every}{handlers}{}; why it comes so often is not in the trace",
            self.count,
            Nanos(span),
            current.unwrap_or_default()
        )
    }
}

impl Timer {
    fn is_periodic(&self) -> bool {
        self.count >= FEWEST && self.longest - self.shortest <= self.longest / 5
    }

    fn said(&self, on: On) -> String {
        let what = match self.function.as_ref().and_then(section::name) {
            Some(function) => format!("the hrtimer of {function}"),
            None => "an hrtimer".to_owned(),
        };
        let every = Nanos((self.last - self.first) / self.count.max(1));
        let late = self.late.map(|ns| format!(", {} late at most", Nanos(ns))).unwrap_or_default();
        let idle = if self.idle { ", each time while the idle task was current" } else { "" };
        format!("{what} expired {} times{on}, every {every}{late}{idle}", self.count + 1)
    }
}

impl Woken {
    fn said(&self) -> Option<(u64, String)> {
        let (t, last) = self.idle.as_ref().filter(|(t, _)| *t > self.t)?;
        let thread =
            |comm: Option<Comm>, tid| Scheduled::default().thread(comm.map(|comm| comm.to_string()).as_deref(), tid);
        let sent = self.sent.as_ref().map(|sent| format!(", which sent it an interrupt ({sent})")).unwrap_or_default();
        let last = if last.is_empty() { String::new() } else { format!(" ({last})") };
        let none = if self.interrupted { "" } else { ", and no line of that CPU shows an interrupt since then" };
        let (ns, target) = (t - self.t, self.target);
        Some((
            ns,
            format!(
                "{} was woken for CPU {target} by {} on CPU {}{sent}, and no line shows it running: CPU {target} is in its idle task {} later{last}{none}",
                thread(self.task.comm, Some(self.task.tid)),
                thread(self.by.0, self.by.1),
                self.from,
                Nanos(ns)
            ),
        ))
    }
}
