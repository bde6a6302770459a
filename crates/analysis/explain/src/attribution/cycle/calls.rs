//! Follows the cycles of threads for which the system call in which they wait for their release is known.

use super::followed::{Followed, Waiting};
use super::pending::{Called, Released};
use super::{Cycles, Open, close, keep};
use crate::attribution::Facts;
use crate::attribution::cpu::Doing;
use crate::attribution::label::{Part, Tally, What};
use crate::attribution::machine::{End, Machine, Window};
use crate::attribution::tasks::Waking;
use crate::attribution::view::View;
use crate::attribution::walk::Walk;
use punctual_cycles::Awaited;
use punctual_model::{Class, Cycle};
use punctual_trace::{Comm, Context, Event, Kind, TaskState};

/// -ERESTARTSYS to -ERESTART_RESTARTBLOCK (include/linux/errno.h): the kernel restarts the system call.
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

/// A cycle that has ended. Times are on the trace's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub tid: i32,
    /// Release time: when the timer was due or the thread was woken; if it did not sleep and no timer is known, when
    /// another thread's call released it; if that is unknown too, when the thread entered its wait.
    pub release_ns: u64,
    /// When the call in which the thread waited returned.
    pub start_ns: u64,
    /// When the thread made the call again.
    pub end_ns: u64,
    /// CPU on which the thread started to run.
    pub cpu: u32,
    /// True if no cycle was lost between the previous one and this one.
    pub is_next: bool,
    /// True if a timer released the thread.
    pub is_timed: bool,
    /// True if the release time is known. It is unknown if what the thread waits for was available before the thread
    /// called and no event shows since when.
    pub is_known: bool,
    /// The interrupt or softirq that woke the thread, if one did.
    pub released_in: Option<Culprit>,
    /// All releases that the cycle consumed, at least one; the first is at `release_ns`.
    pub releases: Vec<Released>,
    /// Threads that this thread released, in chronological order.
    pub given: Vec<Given>,
    /// Time from the release to the end of the previous cycle; 0 if that cycle had already ended.
    pub behind_ns: u64,
    pub ran_ns: u64,
    pub blocked_ns: u64,
    /// Delays that kept the thread from running.
    pub delays: Vec<Delay>,
}

/// Time for which one thread, interrupt or state of the CPU kept a thread from running in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    pub by: Culprit,
    /// The thread's name while it ran, if the trace has it.
    pub comm: Option<Comm>,
    pub ns: u64,
    /// The part of `ns` whose cause is known with more than low confidence.
    pub sure_ns: u64,
}

/// What delayed a thread: a class, and the thread or interrupt if one is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Culprit {
    pub class: Class,
    pub tid: Option<i32>,
    pub(in crate::attribution) what: Option<What>,
}

impl Culprit {
    pub const fn thread(class: Class, tid: i32) -> Culprit {
        Culprit { class, tid: Some(tid), what: None }
    }

    fn interrupt(doing: Doing) -> Option<Culprit> {
        let (class, what) = match doing {
            Doing::Hard(name) => (Class::Irq, What::Interrupt(name)),
            Doing::Soft(vec, _) => (Class::Softirq, What::Softirq(vec)),
            Doing::Nmi => (Class::Irq, What::Nmi),
            Doing::Unknown | Doing::Idle | Doing::Task(_) => return None,
        };
        Some(Culprit { class, tid: None, what: Some(what) })
    }
}

/// A thread that was released, and the time of the call or wakeup that released it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    pub at_ns: u64,
    pub to: i32,
}

impl Cycles {
    pub fn follow(&mut self, tid: i32, awaited: Awaited) {
        self.followed.insert(tid, Followed::new(awaited));
    }

    pub fn is_following(&self) -> bool {
        !self.followed.is_empty()
    }

    pub fn follows(&self, tid: i32) -> bool {
        self.followed.contains_key(&tid)
    }

    /// Returns the cycles that have ended since this function was last called, in chronological order for each thread.
    pub fn closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// Returns the longest cycles of a thread, and the number of its cycles that were only partly observed.
    pub fn longest(&self, tid: i32) -> (&[Cycle], u64) {
        self.followed.get(&tid).map_or((&[], 0), |followed| (&followed.longest, followed.broken))
    }

    /// Returns the release time of the thread's cycle that has not ended, or that has ended but whose releases are not
    /// all known yet.
    pub fn open_since(&self, tid: i32) -> Option<u64> {
        let closing = self.followed.get(&tid).and_then(|followed| followed.closing.as_ref());
        closing.map(|closed| closed.release_ns).or(self.running_since(tid))
    }

    /// Returns the release time of the thread's current cycle, in which the thread has not called its wait again.
    pub fn running_since(&self, tid: i32) -> Option<u64> {
        self.open.get(&tid).map(|open| open.release)
    }

    /// Returns the releases and ends of a thread's remembered cycles, oldest first.
    pub fn recent(&self, tid: i32) -> impl Iterator<Item = (u64, u64)> {
        self.followed
            .get(&tid)
            .into_iter()
            .flat_map(|followed| &followed.recent)
            .map(|(open, end)| (open.release, *end))
    }

    /// Returns the remembered cycle of the thread that was released at `release`.
    pub fn remembered(&self, machine: &Machine, facts: &Facts, tid: i32, release: u64) -> Option<Cycle> {
        let (open, end) = self.followed.get(&tid)?.recent.iter().rev().find(|(open, _)| open.release == release)?;
        Some(close(machine, facts, tid, open.clone(), *end))
    }

    pub(super) fn broken(&mut self, tid: i32) {
        if let Some(followed) = self.followed.get_mut(&tid) {
            followed.broken += 1;
            followed.has_gap = true;
        }
    }

    /// Handles an event before the machine has seen it, since the due time of an expiring timer is known only until
    /// then.
    pub fn before(&mut self, machine: &Machine, event: &Event) {
        let Kind::HrtimerExpireEntry { timer, .. } = &event.kind else { return };
        self.expiring.insert(event.cpu, *timer);
        for followed in self.followed.values_mut() {
            if followed.timer == Some(*timer) && followed.waiting.is_none() && followed.missed.is_none() {
                followed.missed = machine.due(event.cpu, *timer);
            }
        }
    }

    /// Handles an event that the machine has already seen.
    pub fn event(&mut self, machine: &Machine, facts: &Facts, most: usize, event: &Event) {
        match &event.kind {
            Kind::HrtimerExpireExit { .. } => {
                self.expiring.remove(&event.cpu);
            }
            Kind::SchedWaking { task, .. } => self.waking(machine, event, task.tid),
            Kind::HrtimerStart { timer, .. } => {
                let waiting = event.tid.and_then(|tid| self.followed.get_mut(&tid)).and_then(|f| f.waiting.as_mut());
                // The first timer that the thread starts is its own. Timers of the scheduler (budgets) follow; those of
                // the tick are started in its interrupt.
                if let Some(waiting) = waiting.filter(|waiting| !waiting.has_timer && is_task(event)) {
                    (waiting.due, waiting.has_timer) = (machine.due(event.cpu, *timer), true);
                }
            }
            Kind::SysEnter { nr: Some(number), args, .. } => {
                self.called(event, *number, args);
                self.entered(machine, facts, most, event, *number, args);
            }
            Kind::SysExit { ret, .. } => self.returned(machine, event, *ret),
            _ => {}
        }
    }

    fn waking(&mut self, machine: &Machine, event: &Event, tid: i32) {
        let timer = self.expiring.get(&event.cpu).copied();
        let by = machine.tasks.find(tid).and_then(|task| task.woken_by);
        if let Some(by) = by {
            self.followed.iter_mut().filter(|(other, _)| **other != tid).for_each(|(_, f)| f.pending.woke_another(by));
        }
        let is_open = self.open.contains_key(&tid);
        let Some(followed) = self.followed.get_mut(&tid) else { return };
        followed.timer = timer.or(followed.timer);
        let Some(waiting) = followed.waiting.as_mut().filter(|_| !is_open) else { return };
        waiting.is_asleep = false;
        // A timer that expires in a softirq may have been due before the call: a real-time thread keeps softirqs waiting.
        let expired = machine.cpu(event.cpu).and_then(|cpu| cpu.expiring).and_then(|expiring| expiring.due);
        waiting.due = waiting.due.or(expired);
        waiting.woken_in = machine.cpu(event.cpu).and_then(|cpu| Culprit::interrupt(cpu.doing()));
        let is_unknown_call = timer.is_none() && followed.pending.woken(event.t_ns, by.unwrap_or(0));
        if let Some(by) = by.filter(|_| is_unknown_call).and_then(|by| self.followed.get_mut(&by)) {
            by.gives(event.t_ns, tid);
        }
    }

    /// Handles the start of a system call, which may release other threads.
    fn called(&mut self, event: &Event, number: i64, args: &[u64]) {
        let Some(by) = event.tid else { return };
        let mut given = Vec::new();
        for (tid, followed) in &mut self.followed {
            let called = followed.pending.called(by, number, args, event.t_ns);
            if called != Called::Nothing {
                given.push(*tid);
            }
            let open = self.open.get_mut(tid).filter(|_| called == Called::Began);
            if let Some(release) = open.and_then(|open| open.releases.first_mut()) {
                release.by = Some(by);
            }
        }
        if let Some(followed) = self.followed.get_mut(&by) {
            given.into_iter().for_each(|to| followed.gives(event.t_ns, to));
        }
    }

    fn entered(&mut self, machine: &Machine, facts: &Facts, most: usize, event: &Event, number: i64, args: &[u64]) {
        let Some(tid) = event.tid else { return };
        let Some(followed) = self.followed.get_mut(&tid).filter(|followed| followed.pending.is_wait(number, args))
        else {
            return;
        };
        let entered = event.t_ns;
        let waiting = Waiting { entered, has_timer: false, due: None, is_asleep: false, woken_in: None, ran: entered };
        followed.waiting = Some(waiting);
        let given = followed.given();
        let Some(mut open) = self.open.remove(&tid) else { return };
        let start_ns = open.start.unwrap_or(open.release);
        if !open.ran_until(machine, tid, event.t_ns, event.cpu) {
            followed.broken += 1;
            followed.has_gap = true;
            return;
        }
        let is_next = !std::mem::take(&mut followed.has_gap);
        let releases = match open.releases.is_empty() {
            true => vec![Released { at_ns: open.release, by: Some(0) }],
            false => std::mem::take(&mut open.releases),
        };
        followed.closing = Some(Closed {
            tid,
            release_ns: open.release,
            start_ns,
            end_ns: event.t_ns,
            cpu: open.cpu,
            is_next,
            is_timed: open.is_timed,
            is_known: !open.is_unknown,
            released_in: open.released_in,
            releases,
            given,
            behind_ns: open.behind,
            ran_ns: open.ran,
            blocked_ns: open.blocked.iter().map(|blocked| blocked.ns).sum(),
            delays: open.tally.parts.iter().map(Part::delay).collect(),
        });
        let length = event.t_ns.saturating_sub(open.release);
        let is_long = followed.longest.len() < most || followed.longest.last().is_some_and(|l| length > l.length_ns);
        if is_long {
            keep(&mut followed.longest, close(machine, facts, tid, open.clone(), event.t_ns), most);
        }
        followed.remember(open, event.t_ns, self.remembered);
    }

    fn returned(&mut self, machine: &Machine, event: &Event, result: i64) {
        let Some(tid) = event.tid else { return };
        let is_asleep = |followed: &Followed| followed.is_asleep();
        self.followed.values_mut().for_each(|f| f.pending.call_returned(tid, event.t_ns, result, is_asleep(f)));
        let Some(followed) = self.followed.get_mut(&tid) else { return };
        let Some(waiting) = followed.waiting else { return };
        if RESTARTS.contains(&result) {
            self.open.remove(&tid);
            followed.pending.interrupted();
            return;
        }
        followed.waiting = None;
        let missed = followed.missed.take();
        let known = machine.tasks.find(tid);
        let open = self.open.get_mut(&tid);
        // A due time in the future belongs to the next release: read(2) of a timerfd starts the timer again.
        let past = |due: &u64| *due <= event.t_ns;
        let due = waiting.due.filter(past).or(missed.filter(past)).filter(|_| open.is_none());
        let is_timed = open.as_ref().map_or(due.is_some(), |open| open.is_timed);
        let mut taken =
            if is_timed { Default::default() } else { followed.pending.take(waiting.entered, waiting.ran, result) };
        self.closed.extend(followed.closed(std::mem::take(&mut taken.before)));
        let open = match open {
            Some(open) => open,
            None => {
                // The thread did not have to sleep, or was woken on its way to sleep.
                let release = due.or(taken.own.first().map(|first| first.at_ns)).unwrap_or(waiting.entered);
                let new = Open {
                    release,
                    behind: waiting.entered.saturating_sub(release),
                    is_timed,
                    is_unknown: !is_timed && !taken.is_sure,
                    cpu: event.cpu,
                    prio: known.and_then(|known| known.prio),
                    comm: known.and_then(|known| known.comm).or(event.comm),
                    since: Some((release.max(waiting.entered), event.cpu)),
                    ..Open::default()
                };
                self.open.entry(tid).or_insert(new)
            }
        };
        open.start = Some(event.t_ns);
        if taken.own.is_empty() {
            taken.own.push(Released { at_ns: open.release, by: is_timed.then_some(0) });
        }
        taken.own[0].at_ns = open.release;
        open.releases = taken.own;
    }

    /// Handles a thread that waited for its release, was woken and runs: a cycle begins.
    pub(super) fn is_released(&mut self, window: &Window, tally: &Tally) -> bool {
        let Some(followed) = self.followed.get_mut(&window.tid) else { return false };
        // A wakeup in the call but after the release, for example from a lock of the kernel, does not begin a cycle.
        let is_open = self.open.contains_key(&window.tid);
        let Some(waiting) = followed.waiting.as_mut().filter(|_| !is_open) else { return false };
        waiting.ran = window.t3;
        let waking = &window.waking;
        followed.missed = None;
        let is_timed = waking.t1.is_some();
        let release = match is_timed {
            true => waiting.due.map_or(waking.t0, |due| due.min(waking.t0)),
            false => followed.pending.woken_at().map_or(waking.t0, |woken| woken.min(waking.t0)),
        };
        let open = Open {
            release,
            behind: waiting.entered.saturating_sub(release),
            // From the call, or from a release within it, to the sleep.
            ran: waking.t0.saturating_sub(release.max(waiting.entered)),
            is_timed,
            released_in: waiting.woken_in,
            cpu: window.cpu,
            prio: window.prio,
            comm: window.comm,
            tally: tally.clone(),
            since: Some((window.t3, window.cpu)),
            ..Open::default()
        };
        self.open.insert(window.tid, open);
        true
    }

    /// Handles a waiting thread that goes to sleep, possibly again after a wakeup that was not a release. Returns true
    /// if a cycle had begun, which is then discarded.
    pub(super) fn waits_again(&mut self, machine: &Machine, tid: i32, state: TaskState) -> bool {
        let Some(followed) = self.followed.get_mut(&tid) else { return false };
        let Some(waiting) = followed.waiting.as_mut().filter(|_| state.letter == b'S') else { return false };
        if machine.tasks.find(tid).is_some_and(|known| known.early.is_some()) {
            return false;
        }
        waiting.is_asleep = true;
        let left = followed.pending.sleeps(waiting.entered);
        self.closed.extend(followed.closed(left));
        self.open.remove(&tid).is_some()
    }

    /// Handles a SCHED_DEADLINE thread that runs again after sched_yield(2): its cycle began when its budget was
    /// replenished. Returns the number of pieces examined.
    pub(super) fn is_replenished(
        &mut self,
        machine: &Machine,
        facts: &Facts,
        tid: i32,
        t: u64,
        cpu: u32,
    ) -> Option<u64> {
        let waiting = self.followed.get(&tid)?.waiting.filter(|_| !self.open.contains_key(&tid))?;
        let known = machine.tasks.find(tid)?;
        let release = known.replenished.filter(|release| *release >= waiting.entered && *release <= t)?;
        let (prio, comm) = (known.prio, known.comm);
        let waking = Waking::again(release, cpu, cpu);
        let window = Window { tid, comm, prio, cpu, waking, t3: t, end: End::Switch };
        let mut walk = Walk::new(View { machine, window: &window, facts });
        walk.run();
        let (steps, tally) = (walk.steps, walk.tally);
        let since = Some((t, cpu));
        self.open.insert(tid, Open { release, is_timed: true, cpu, prio, comm, tally, since, ..Open::default() });
        Some(steps)
    }
}

fn is_task(event: &Event) -> bool {
    event.flags.and_then(|flags| flags.context).is_none_or(|context| context == Context::Task)
}
