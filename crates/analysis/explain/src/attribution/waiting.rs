//! A thread that was woken and had not run when the trace ended.

use super::machine::{Machine, Window};
use super::options::Facts;
use super::view::View;
use super::walk::Walk;
use super::{choose, cpu, sentences, tracers, victim};
use punctual_model::Class;
use punctual_trace::Format;
use punctual_units::Nanos;

/// A thread that was woken and did not run before a trace ended: its minimum waiting time, ns, and what is reported
/// about it.
#[derive(Debug)]
pub(super) struct Waiting {
    pub ns: u64,
    pub text: String,
}

impl Waiting {
    /// Returns the longest wait of any thread, for a trace without a wakeup of a real-time thread.
    pub fn ordinary(machine: &Machine, facts: &Facts, format: Format) -> Option<Waiting> {
        let window = machine.waits(format, |_, known| !known.comm.is_some_and(choose::is_stopper))?;
        Waiting::of(machine, facts, window)
    }

    /// Returns `None` if a less urgent thread was chosen meanwhile or the lines contradict each other, which means that
    /// lines that show the thread running are missing.
    pub fn of(machine: &Machine, facts: &Facts, window: Window) -> Option<Waiting> {
        let ns = window.t3.saturating_sub(window.waking.t2);
        let mut walk = Walk::new(View { machine, window: &window, facts });
        let odd = |cpu: &cpu::Cpu| cpu.doubtful.iter().any(|odd| odd.at >= window.waking.t2);
        (!walk.passed_over() && !machine.cpu(window.cpu).is_some_and(odd)).then_some(())?;
        walk.run();
        let causes = victim::causes(machine, facts, &walk.tally, ns);
        let cause = causes.first().filter(|cause| cause.class != Class::Unaccounted && cause.ns * 2 > ns);
        let cause = cause.map(|cause| sentences::happened(cause, &format!("{} of it", Nanos(cause.ns))));
        Some(Waiting { ns, text: tracers::waits(facts, &window, ns, cause) })
    }
}
