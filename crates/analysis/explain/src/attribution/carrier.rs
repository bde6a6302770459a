//! Wakeups that a thread delivers and no interrupt: a sender, or what PREEMPT_RT made a thread of (`ktimers/1`, `irq/24-eth0`).
//!
//! Before sched_waking the delay is that thread's: its own work, and who ran before it. Neither is a timer interrupt that came
//! late.

use super::cpu::{Doing, Running};
use super::gap;
use super::walk::{Label, Piece, Place, Walk, Why};
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence};
use punctual_trace::Comm;

/// Labels a piece before sched_waking; false: the rules for interrupts hold.
pub(super) fn label(walk: &mut Walk, piece: &Piece, place: Place) -> bool {
    if !place.early || !place.released {
        return false;
    }
    let (Doing::Task(task) | Doing::Soft(_, Some(task))) = piece.doing else {
        // A byte on the line, an interrupt that is not there yet: leaving idle is no part of that.
        let waits = walk.facts.sent && piece.doing == Doing::Idle;
        if waits {
            gap::without_stalls(walk, piece, place, Label::new(Class::Waker, Suspected, Why::OnItsWay));
        }
        return waits;
    };
    if delivers(walk, task) {
        let class = thread_class(task.comm).unwrap_or(Class::Waker);
        match gap::stolen(walk, piece, place) {
            Some(label) => gap::without_stalls(walk, piece, place, label),
            None => gap::whole(walk, piece, place, Label::new(class, High, Why::Waking).of(task), true),
        }
        return true;
    }
    // A softirq on top of a task is nobody's but its own.
    let own = matches!(piece.doing, Doing::Task(_)) || thread_class(task.comm).is_some();
    let Some(label) = before(walk, task).filter(|_| own && walk.task(task, place.wanted).is_none()) else {
        return false;
    };
    match label.class {
        Class::BeforeWaker => gap::ran(walk, piece, place, label),
        _ => gap::without_stalls(walk, piece, place, label),
    }
    true
}

/// Is it the thread that does the waking, or the sender before that?
fn delivers(walk: &Walk, task: Running) -> bool {
    carrier(walk).is_some_and(|carrier| carrier.tid == task.tid) || sends(walk, task)
}

/// Is it the sender whose clock reading released the victim?
pub(super) fn sends(walk: &Walk, task: Running) -> bool {
    walk.facts.sent && task.comm.is_some_and(|comm| comm.as_bytes().starts_with(b"send/"))
}

/// The thread whose work the waking was. A softirq on top of any other thread is not that thread's.
fn carrier<'a>(walk: &'a Walk) -> Option<&'a Running> {
    let waking = &walk.window.waking;
    let own = |task: &&Running| waking.by.is_some() || walk.facts.sent || thread_class(task.comm).is_some();
    waking.waker.as_ref().filter(own)
}

/// The label of a thread that the victim itself need not wait for; `None`: the rules for interrupts hold.
fn before(walk: &Walk, task: Running) -> Option<Label> {
    let on_its_way = || walk.facts.sent.then(|| Label::new(Class::Waker, Suspected, Why::OnItsWay));
    let Some(carrier) = carrier(walk) else { return on_its_way() };
    let Some((prio, waker)) = walk.prio(task).zip(walk.prio(*carrier)) else { return on_its_way() };
    if prio <= waker || prio >= 100 && waker >= 100 {
        return Some(Label::new(Class::BeforeWaker, Medium, Why::BeforeWaker).of(task));
    }
    let runnable = || Label::new(Class::PreemptionDisabled, Suspected, Why::NoFlags).of(task);
    on_its_way().or_else(|| Some(runnable()))
}

impl Walk<'_> {
    /// The victim would have run instead of this task and its softirq. A softirq runs with interrupts on: before sched_waking
    /// the timer's would have come. After it only PREEMPT_RT preempts softirqs; ktimers is a thread of its kernels.
    pub fn passes_softirq(&self, task: Running, early: bool) -> bool {
        let name = |prefix: &[u8]| task.comm.is_some_and(|comm| comm.as_bytes().starts_with(prefix));
        let rt_kernel = || self.facts.kernel.as_ref().is_some_and(|release| release.contains("-rt"));
        let preempts = || name(b"ktimers") || name(b"sirq-") || rt_kernel();
        thread_class(task.comm).is_some() && self.task(task, true).is_none() && (early || preempts())
    }
}

/// Kernel threads that do the work of interrupts and softirqs: `irq/24-eth0`, `ksoftirqd/1`, `ktimers/1`,
/// `napi/eth0-8193`.
pub(super) fn thread_class(comm: Option<Comm>) -> Option<Class> {
    let comm = comm?;
    let name = comm.as_bytes();
    if name.starts_with(b"irq/") {
        return Some(Class::Irq);
    }
    // NAPI in threads (net/core/dev.c): of a device, and of the backlog (RPS, loopback; from 6.10 on RT).
    let softirq: [&[u8]; 6] = [b"ksoftirqd/", b"ktimers/", b"ktimersoftd/", b"sirq-", b"napi/", b"backlog_napi/"];
    softirq.iter().any(|prefix| name.starts_with(prefix)).then_some(Class::Softirq)
}
