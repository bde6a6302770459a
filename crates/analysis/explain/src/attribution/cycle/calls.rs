//! Follows the cycles of threads for which the system call in which they wait for their release is known.

use super::{Cycles, Open, close, keep};
use crate::attribution::Facts;
use crate::attribution::label::Tally;
use crate::attribution::machine::{End, Machine, Window};
use crate::attribution::tasks::Waking;
use crate::attribution::view::View;
use crate::attribution::walk::Walk;
use punctual_cycles::WaitCall;
use punctual_model::{Class, Cycle};
use punctual_trace::{Context, Event, Kind, TaskState};

/// -ERESTARTSYS to -ERESTART_RESTARTBLOCK (include/linux/errno.h): the kernel calls again.
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

/// A cycle that has ended. Times are on the trace's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closed {
    pub tid: i32,
    /// When the thread's timer was due, or the thread was woken; if it did not sleep and no timer is known, when it
    /// made the call.
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
    /// True if the time of its release is known; it is not if what the thread waits for was already available when it
    /// made the call.
    pub is_known: bool,
    /// The thread that released this one, if one did.
    pub woken_by: Option<i32>,
    /// Time after the release during which the previous cycle had not yet ended.
    pub behind_ns: u64,
    pub ran_ns: u64,
    pub blocked_ns: u64,
    /// Delays that kept the thread from running, ns, by class.
    pub delays: Vec<(Class, u64)>,
}

#[derive(Debug)]
pub(super) struct Followed {
    wait: WaitCall,
    waiting: Option<Waiting>,
    /// The timer that woke the thread last.
    timer: Option<u64>,
    /// When the thread was woken while it still ran, on its way to sleep, and by whom.
    early: Option<(u64, Option<i32>)>,
    /// When the timer that last woke the thread was first due since the last wait, while the thread did not wait.
    missed: Option<u64>,
    longest: Vec<Cycle>,
    /// Number of cycles that were only partly observed.
    broken: u64,
    /// True if a cycle was only partly observed since the last complete one, or none has ended yet.
    has_gap: bool,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    entered: u64,
    /// True if the thread has started a timer in the call; `due` is when that timer is due.
    has_timer: bool,
    due: Option<u64>,
}

impl Followed {
    pub fn forget(&mut self) {
        self.broken += u64::from(self.waiting.take().is_some());
        (self.missed, self.has_gap) = (None, true);
    }
}

impl Cycles {
    pub fn follow(&mut self, tid: i32, wait: WaitCall) {
        let new = Followed {
            wait,
            waiting: None,
            timer: None,
            early: None,
            missed: None,
            longest: Vec::new(),
            broken: 0,
            has_gap: true,
        };
        self.followed.insert(tid, new);
    }

    pub fn is_following(&self) -> bool {
        !self.followed.is_empty()
    }

    pub fn follows(&self, tid: i32) -> bool {
        self.followed.contains_key(&tid)
    }

    /// Cycles that ended since the last call, in the order of their ends.
    pub fn closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    /// The longest cycles of a thread, and how many were only partly observed.
    pub fn longest(&self, tid: i32) -> (&[Cycle], u64) {
        self.followed.get(&tid).map_or((&[], 0), |followed| (&followed.longest, followed.broken))
    }

    /// Release of the thread's cycle that has not ended.
    pub fn open_since(&self, tid: i32) -> Option<u64> {
        self.open.get(&tid).map(|open| open.release)
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
            Kind::SchedWaking { task, .. } => {
                let timer = self.expiring.get(&event.cpu).copied();
                let Some(followed) = self.followed.get_mut(&task.tid) else { return };
                followed.timer = timer.or(followed.timer);
                if machine.runs(task.tid) {
                    let is_thread =
                        event.flags.and_then(|flags| flags.context).is_none_or(|context| context == Context::Task);
                    followed.early = Some((event.t_ns, event.tid.filter(|tid| is_thread && *tid != 0)));
                }
            }
            Kind::HrtimerStart { timer, .. } => {
                let waiting = event.tid.and_then(|tid| self.followed.get_mut(&tid)).and_then(|f| f.waiting.as_mut());
                // The first that it starts is its own: the scheduler's (budgets) follow, and the tick's are started in
                // its interrupt.
                if let Some(waiting) = waiting.filter(|waiting| !waiting.has_timer && is_task(event)) {
                    (waiting.due, waiting.has_timer) = (machine.due(event.cpu, *timer), true);
                }
            }
            Kind::SysEnter { nr: Some(number), args, .. } => self.entered(machine, facts, most, event, *number, args),
            Kind::SysExit { ret, .. } => self.returned(machine, event, *ret),
            _ => {}
        }
    }

    fn entered(&mut self, machine: &Machine, facts: &Facts, most: usize, event: &Event, number: i64, args: &[u64]) {
        let Some(tid) = event.tid else { return };
        let Some(followed) = self.followed.get_mut(&tid).filter(|followed| followed.wait.is(number, args)) else {
            return;
        };
        followed.waiting = Some(Waiting { entered: event.t_ns, has_timer: false, due: None });
        followed.early = None;
        let Some(mut open) = self.open.remove(&tid) else { return };
        let start_ns = open.start.unwrap_or(open.release);
        if !open.ran_until(machine, tid, event.t_ns, event.cpu) {
            followed.broken += 1;
            followed.has_gap = true;
            return;
        }
        let is_next = !std::mem::take(&mut followed.has_gap);
        self.closed.push(Closed {
            tid,
            release_ns: open.release,
            start_ns,
            end_ns: event.t_ns,
            cpu: open.cpu,
            is_next,
            is_timed: open.is_timed,
            is_known: !open.is_unknown,
            woken_by: open.by,
            behind_ns: open.behind,
            ran_ns: open.ran,
            blocked_ns: open.blocked.iter().map(|blocked| blocked.ns).sum(),
            delays: open.tally.parts.iter().map(|part| (part.label.class, part.ns)).collect(),
        });
        let length = event.t_ns.saturating_sub(open.release);
        let is_long = followed.longest.len() < most || followed.longest.last().is_some_and(|l| length > l.length_ns);
        if is_long {
            keep(&mut followed.longest, close(machine, facts, tid, open, event.t_ns), most);
        }
    }

    fn returned(&mut self, machine: &Machine, event: &Event, result: i64) {
        let Some(tid) = event.tid else { return };
        let Some(followed) = self.followed.get_mut(&tid) else { return };
        let Some(waiting) = followed.waiting else { return };
        if RESTARTS.contains(&result) {
            self.open.remove(&tid);
            return;
        }
        followed.waiting = None;
        let missed = followed.missed.take();
        if let Some(open) = self.open.get_mut(&tid) {
            open.start = Some(event.t_ns);
            return;
        }
        // It did not have to sleep, or was woken on its way to.
        let early = followed.early.take();
        // A timer that it starts after its release is due later: read(2) of a timerfd sets it again.
        let past = |due: &u64| *due <= event.t_ns;
        let due = waiting.due.filter(past).or(missed.filter(past));
        let release = due.or(early.map(|(at, _)| at)).unwrap_or(waiting.entered);
        let known = machine.tasks.find(tid);
        let open = Open {
            release,
            start: Some(event.t_ns),
            behind: waiting.entered.saturating_sub(release),
            is_timed: due.is_some(),
            is_unknown: due.is_none() && early.is_none(),
            by: early.and_then(|(_, by)| by).filter(|_| due.is_none()),
            cpu: event.cpu,
            prio: known.and_then(|known| known.prio),
            comm: known.and_then(|known| known.comm).or(event.comm),
            since: Some((release.max(waiting.entered), event.cpu)),
            ..Open::default()
        };
        self.open.insert(tid, open);
    }

    /// Handles a thread that waited for its release, was woken and runs: a cycle begins.
    pub(super) fn is_released(&mut self, window: &Window, tally: &Tally) -> bool {
        let Some(followed) = self.followed.get_mut(&window.tid) else { return false };
        // In the call, but after its release: for a lock of the kernel, say.
        let is_open = self.open.contains_key(&window.tid);
        let Some(waiting) = followed.waiting.filter(|_| !is_open) else { return false };
        let waking = &window.waking;
        followed.missed = None;
        let is_timed = waking.t1.is_some();
        let release = waiting.due.filter(|_| is_timed).map_or(waking.t0, |due| due.min(waking.t0));
        let open = Open {
            release,
            behind: waiting.entered.saturating_sub(release),
            // From the call, or the release in it, to the sleep.
            ran: waking.t0.saturating_sub(release.max(waiting.entered)),
            is_timed,
            by: waking.by,
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

    /// Handles a thread that was woken while it was going to sleep, so that it was runnable all the time.
    pub(super) fn was_woken_early(&mut self, tid: i32) -> bool {
        self.followed.get_mut(&tid).is_some_and(|followed| followed.early.take().is_some())
    }

    /// Handles a thread that sleeps again in the same call: its wakeup was spurious.
    pub(super) fn waits_again(&mut self, tid: i32, state: TaskState) -> bool {
        let is_waiting = self.followed.get(&tid).is_some_and(|followed| followed.waiting.is_some());
        is_waiting && state.letter == b'S' && self.open.remove(&tid).is_some()
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
