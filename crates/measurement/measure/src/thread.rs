use crate::cell::Cell;
use crate::plan::Plan;
use crate::poll::Poll;
use crate::rendezvous::Rendezvous;
use crate::woken::{AnyLink, Link, Partner, Sender, Sent, SourceRefused, Woken, place};
use punctual_model::Alignment;
use punctual_rt::{Applied, Attributes, Periodic, Refused, Relative, Remarks, Signalled, Timerfd, Wait, monotonic};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList, Nanos, Policy, Scheduling, WakeupSource};
use rustix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct Shared {
    pub plan: Plan,
    pub cells: Vec<Arc<Cell>>,
    pub tids: Vec<AtomicI32>,
    pub sender_tids: Vec<AtomicI32>,
    pub stop: AtomicBool,
    /// True if the user ended the phase to start the next one.
    pub early: AtomicBool,
    /// True if the phase ended because the results suffice, so that none count as missing.
    pub enough: AtomicBool,
    pub meeting: Rendezvous,
    /// True if the threads read the clock continuously ([`crate::start_polling`]).
    pub polling: bool,
    pub done: AtomicUsize,
    /// For each thread, the partner that wakes it; empty if timers wake the threads.
    pub partners: Vec<Box<Partner>>,
    refused: Mutex<Option<Refusal>>,
    start: AtomicU64,
}

pub(crate) enum Refusal {
    Attributes(Refused),
    Source(SourceRefused),
}

impl Shared {
    pub fn new(plan: Plan, partners: Vec<Box<Partner>>, polling: bool) -> Shared {
        let n = plan.cpus.len();
        Shared {
            cells: (0..n)
                .map(|_| Arc::new(Cell::new(plan.keep).with_limits(&plan.limits).with_bell(plan.bell.clone())))
                .collect(),
            tids: (0..n).map(|_| AtomicI32::new(0)).collect(),
            sender_tids: partners.iter().map(|_| AtomicI32::new(0)).collect(),
            stop: AtomicBool::new(false),
            early: AtomicBool::new(false),
            enough: AtomicBool::new(false),
            meeting: Rendezvous::new(n + partners.len() + 1),
            done: AtomicUsize::new(0),
            refused: Mutex::new(None),
            start: AtomicU64::new(0),
            partners,
            polling,
            plan,
        }
    }

    /// Waits until the threads have applied their attributes and agreed on the first release, and returns it. If a
    /// thread fails, returns its error.
    pub fn begin(&self) -> Result<Nanos, Refusal> {
        let ready = self.meeting.meet();
        if let Some(refused) = self.refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.meeting.cancel();
            return Err(refused);
        }
        debug_assert!(ready, "only a refused thread cancels the start, and this was checked before");
        self.meeting.meet();
        self.meeting.meet();
        Ok(Nanos(self.start.load(Relaxed)))
    }

    /// Called by each thread. Reports its error, or waits until all agree on the first release. `None` if the start was
    /// cancelled.
    fn agree<T>(&self, ready: Result<T, Refusal>) -> Option<(Nanos, T)> {
        let ready = match ready {
            Ok(ready) => Some(ready),
            Err(refusal) => {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(refusal);
                None
            }
        };
        if !self.meeting.meet() || !self.meeting.meet() {
            return None;
        }
        let ready = ready?;
        // The threads already have real-time priority, so none is far behind. The first release is after the last
        // proposal.
        let margin = Nanos(250_000 + 20_000 * self.plan.cpus.len() as u64);
        self.start.fetch_max((monotonic() + margin).0, Relaxed);
        self.meeting.meet().then(|| (Nanos(self.start.load(Relaxed)), ready))
    }
}

pub(crate) struct ThreadEnd {
    pub scheduling: Scheduling,
    pub affinity_at_start: CpuList,
    pub affinity: CpuList,
    pub not_locked: Option<String>,
    pub released: u64,
    pub page_faults: Option<u64>,
    pub involuntary_switches: Option<u64>,
    pub run_delay_ns: Option<u64>,
    pub cpu_ns: u64,
    pub remarks: Remarks,
}

/// Returns the offset of the releases of the `index`-th CPU from those of the first CPU.
pub(crate) fn offset(plan: &Plan, index: usize) -> Nanos {
    match plan.alignment {
        Alignment::Aligned => Nanos::ZERO,
        Alignment::Staggered => Nanos(plan.period.0 * index as u64 / plan.cpus.len().max(1) as u64),
    }
}

/// Main function of a measuring thread. Returns `None` if it was cancelled before it measured.
pub(crate) fn measure(shared: &Shared, index: usize, cpu: CpuId) -> Option<ThreadEnd> {
    let plan = &shared.plan;
    let period = plan.period;
    let me = Me { shared, index, cpu };
    if shared.polling {
        return me.run(Ok(Poll::default()));
    }
    if let Some(partner) = shared.partners.get(index) {
        return match &partner.link {
            AnyLink::Futex(link) => me.woken(link, partner),
            AnyLink::Signal(link) => me.woken(link, partner),
            AnyLink::Eventfd(link) => me.woken(link, partner),
            AnyLink::Udp(link) => me.woken(link, partner),
            AnyLink::Serial(link) => me.woken(link, partner),
        };
    }
    let refused = |why: String| SourceRefused::call(&plan.via, why);
    match &plan.via {
        WakeupSource::Relative => me.run(Ok(Relative::new(period))),
        WakeupSource::Timerfd => me.run(
            Timerfd::new(period).map_err(|e| refused(format!("timerfd_create: {e}; raise RLIMIT_NOFILE (ulimit -n)"))),
        ),
        WakeupSource::PosixTimer => {
            me.run(Signalled::new(period).map_err(|e| refused(format!("{e}; raise RLIMIT_SIGPENDING (ulimit -i)"))))
        }
        _ => me.run(Ok(Periodic::new(Nanos::ZERO, period, Nanos::ZERO))),
    }
}

/// The data that a measuring thread needs before it has selected a wakeup source.
struct Me<'a> {
    shared: &'a Shared,
    index: usize,
    cpu: CpuId,
}

impl Me<'_> {
    fn woken<L: Link>(self, link: &L, partner: &Partner) -> Option<ThreadEnd> {
        partner.mail.lock();
        let period = self.shared.plan.period;
        let ready = link.prepare().map_err(|e| SourceRefused::call(&self.shared.plan.via, e));
        let end = self.run(ready.map(|()| Woken::new(link, &partner.mail, period)));
        partner.mail.leave();
        end
    }

    /// Measures with one wakeup source. The loop is compiled separately for each source.
    fn run<W: Wait>(&self, source: Result<W, SourceRefused>) -> Option<ThreadEnd> {
        let Me { shared, index, cpu } = *self;
        let plan = &shared.plan;
        let cell = &*shared.cells[index];
        shared.tids[index].store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
        let not_locked = lock_memory(cell, sample::<W> as *const () as usize).err().map(|e| e.to_string());
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        let applied = apply(plan, cpu, not_locked.is_none());
        let ready = applied.and_then(|applied| Ok((applied, source.map_err(Refusal::Source)?)));
        let (start, (applied, mut source)) = shared.agree(ready)?;
        let start = start + offset(plan, index);
        source.begin(start, start + plan.warmup);
        while source.wait(&shared.stop).is_some() {}

        let before = Before { usage: uapi::thread_usage().ok(), delay: run_delay(schedstat.as_ref()) };
        source.go_on(plan.duration);
        // When polling, no sample is skipped, and a gap of any length is recorded.
        let period = if shared.polling { u64::MAX } else { plan.period.0 };
        sample(&mut source, cell, &shared.stop, period);
        let end = before.end(&source, applied, not_locked, schedstat.as_ref());

        if let Some(partner) = shared.partners.get(index) {
            partner.mail.leave();
        }
        shared.done.fetch_add(1, Relaxed);
        // Waits until the results are collected, because the thread's counters in /proc are read until then.
        shared.meeting.meet();
        Some(end)
    }
}

fn apply(plan: &Plan, cpu: CpuId, lock_stack: bool) -> Result<Applied, Refusal> {
    let group = plan.groups.get(&cpu);
    group.map_or(Ok(()), |file| enter(file, cpu)).map_err(Refusal::Attributes)?;
    // The kernel refuses SCHED_DEADLINE for a thread whose affinity mask does not include its whole root domain. A
    // cgroup partition has its own root domain.
    let pinned = (plan.scheduling.policy() != Policy::Deadline || group.is_some()).then_some(cpu);
    Attributes { scheduling: plan.scheduling, cpu: pinned, lock_stack }.apply().map_err(Refusal::Attributes)
}

/// Moves the calling thread into a cgroup, by writing 0, which means the writing thread.
fn enter(file: &Path, cpu: CpuId) -> Result<(), Refused> {
    let refused = |source| uapi::Error { call: "write", on: file.display().to_string(), source };
    File::options()
        .write(true)
        .open(file)
        .and_then(|mut file| file.write_all(b"0"))
        .map_err(|e| Refused::Cpu { cpu, source: refused(e) })
}

/// Main function of the `index`-th sender. Returns `None` if it was cancelled.
pub(crate) fn send(shared: &Shared, index: usize, cpu: CpuId) -> Option<Sent> {
    let plan = &shared.plan;
    let partner = shared.partners.get(index)?;
    let sender = Sender {
        place: place(plan.scheduling, index, cpu, &plan.senders),
        mail: &partner.mail,
        stop: &shared.stop,
        period: plan.period,
        warmup: plan.warmup,
        duration: plan.duration,
    };
    if let Some(tid) = shared.sender_tids.get(index) {
        tid.store(rustix::thread::gettid().as_raw_nonzero().get(), Relaxed);
    }
    let (start, _) = shared.agree(sender.apply().map_err(Refusal::Attributes))?;
    let (start, receiver) = (start + offset(plan, index), shared.tids[index].load(Relaxed));
    Some(match &partner.link {
        AnyLink::Futex(link) => sender.run(link, start, receiver),
        AnyLink::Signal(link) => sender.run(link, start, receiver),
        AnyLink::Eventfd(link) => sender.run(link, start, receiver),
        AnyLink::Udp(link) => sender.run(link, start, receiver),
        AnyLink::Serial(link) => sender.run(link, start, receiver),
    })
}

/// A thread's counters when recording began.
struct Before {
    usage: Option<uapi::Usage>,
    delay: Option<u64>,
}

impl Before {
    fn end<W: Wait>(
        self,
        source: &W,
        applied: Applied,
        not_locked: Option<String>,
        schedstat: Option<&File>,
    ) -> ThreadEnd {
        let cpu_time = clock_gettime(ClockId::ThreadCPUTime);
        let after = uapi::thread_usage().ok();
        // On 32-bit machines a counter may wrap in a long run; its value is then unknown.
        let used = |count: fn(&uapi::Usage) -> u64| count(&after?).checked_sub(count(&self.usage?));
        ThreadEnd {
            // Read at the end of the measurement, so that the policy actually in effect is reported.
            scheduling: uapi::scheduling(0).map_or(applied.scheduling, |(s, _)| s),
            affinity: uapi::affinity(0).unwrap_or_default(),
            affinity_at_start: applied.affinity,
            not_locked: not_locked.or(applied.not_locked),
            released: source.released(),
            page_faults: used(|u| u.page_faults),
            involuntary_switches: used(|u| u.involuntary_switches),
            run_delay_ns: run_delay(schedstat).zip(self.delay).map(|(after, before)| after.saturating_sub(before)),
            cpu_ns: cpu_time.tv_sec as u64 * 1_000_000_000 + cpu_time.tv_nsec as u64,
            remarks: source.remarks(),
        }
    }
}

/// The sampling path: one system call per period, no allocation, no lock, no page fault. It is compiled separately for
/// each wakeup source.
#[inline(never)]
fn sample<W: Wait>(source: &mut W, cell: &Cell, stop: &AtomicBool, period: u64) {
    while let Some(wakeup) = source.wait(stop) {
        if cfg!(feature = "sabotage") && wakeup.latency() > 300_000 {
            continue;
        }
        cell.record(&wakeup, period);
    }
}

/// Locks the memory that the sampling path uses: results, code, and the program's data. The stack is locked when the
/// thread's attributes are applied.
fn lock_memory(cell: &Cell, code: usize) -> Result<(), uapi::Error> {
    cell.touch();
    uapi::lock(cell)?;
    for code in [code, Cell::cold_path()] {
        uapi::lock_addresses(code, 2 * uapi::page_size())?;
    }
    uapi::lock_program_data().map(drop)
}

/// Returns the time for which the thread was runnable but did not run, ns: second field of schedstat
/// (CONFIG_SCHED_INFO).
pub(crate) fn run_delay(schedstat: Option<&File>) -> Option<u64> {
    let mut text = [0u8; 96];
    let n = schedstat?.read_at(&mut text, 0).ok()?;
    std::str::from_utf8(&text[..n]).ok()?.split_whitespace().nth(1)?.parse().ok()
}
