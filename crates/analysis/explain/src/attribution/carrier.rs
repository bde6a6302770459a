//! Handles wakeups delivered by a thread instead of an interrupt: by a sender, or by a thread of PREEMPT_RT
//! (`ktimers/1`, `irq/24-eth0`).
//!
//! The delay before sched_waking belongs to that thread: its own work, and the threads that ran before it. Neither is a
//! late timer interrupt.

use super::cpu::{Doing, Running};
use super::gap;
use super::label::{Label, Ruling, Why};
use super::piece::{Piece, Place};
use super::view::{View, thread_class};
use Confidence::{High, Medium, Suspected};
use punctual_model::{Class, Confidence};

/// Applies the rules for a piece before sched_waking; `None` if the rules for interrupts apply.
pub(super) fn rule(view: &View, piece: &Piece, place: Place) -> Option<Ruling> {
    if !place.early || !place.released {
        return None;
    }
    let (Doing::Task(task) | Doing::Soft(_, Some(task))) = piece.doing else {
        // The CPU waits for data or for an interrupt that has not arrived yet, so this is not the time to leave an idle
        // state.
        let waits = view.facts.sent && piece.doing == Doing::Idle;
        return waits.then(|| Label::new(Class::Waker, Suspected, Why::OnItsWay).without_stalls());
    };
    if delivers(view, task) {
        let class = thread_class(task.comm).unwrap_or(Class::Waker);
        let label = gap::stolen(view, piece, place)
            .unwrap_or_else(|| gap::whole(view, piece, place, Label::new(class, High, Why::Waking).of(task), true));
        return Some(label.without_stalls());
    }
    // A softirq that interrupts a task does not belong to its thread.
    let own = matches!(piece.doing, Doing::Task(_)) || thread_class(task.comm).is_some();
    let label = before(view, task).filter(|_| own && view.task(task, place.wanted).is_none())?;
    Some(match label.class {
        Class::BeforeWaker => label.with_stalls(),
        _ => label.without_stalls(),
    })
}

/// True if this thread does the waking, or is the sender that causes it.
fn delivers(view: &View, task: Running) -> bool {
    carrier(view).is_some_and(|carrier| carrier.tid == task.tid) || view.sends(task)
}

/// Returns the thread that did the waking. A softirq on top of another thread is not work of that thread.
fn carrier<'a>(view: &'a View) -> Option<&'a Running> {
    let waking = &view.window.waking;
    let own = |task: &&Running| waking.by.is_some() || view.facts.sent || thread_class(task.comm).is_some();
    waking.waker.as_ref().filter(own)
}

/// Returns the label of a thread that the victim need not wait for; `None` if the rules for interrupts apply.
fn before(view: &View, task: Running) -> Option<Label> {
    let on_its_way = || view.facts.sent.then(|| Label::new(Class::Waker, Suspected, Why::OnItsWay));
    let Some(carrier) = carrier(view) else { return on_its_way() };
    let Some((prio, waker)) = view.prio(task).zip(view.prio(*carrier)) else { return on_its_way() };
    if prio <= waker || prio >= 100 && waker >= 100 {
        return Some(Label::new(Class::BeforeWaker, Medium, Why::BeforeWaker).of(task));
    }
    let runnable = || Label::new(Class::PreemptionDisabled, Suspected, Why::NoFlags).of(task);
    on_its_way().or_else(|| Some(runnable()))
}

/// True if the victim would have preempted this task and its softirq. Before sched_waking the timer interrupt would
/// have arrived, since softirqs run with interrupts on. After sched_waking, only PREEMPT_RT preempts softirqs; ktimers
/// is a thread of PREEMPT_RT kernels.
pub(super) fn passes_softirq(view: &View, task: Running, early: bool) -> bool {
    let name = |prefix: &[u8]| task.comm.is_some_and(|comm| comm.as_bytes().starts_with(prefix));
    let rt_kernel = || view.facts.kernel.as_ref().is_some_and(|release| release.contains("-rt"));
    let preempts = || name(b"ktimers") || name(b"sirq-") || rt_kernel();
    thread_class(task.comm).is_some() && view.task(task, true).is_none() && (early || preempts())
}
