use crate::plan::{IrqPlan, irqs_on};
use crate::probes::{comes_first_there, planned_threads};
use crate::reading::Reading;
use crate::rule::Set;
use crate::sight::Notes;
use crate::tasks::Task;
use crate::{Context, Offers, Rules};
use punctual_machine::Machine;
use punctual_units::{CpuList, Policy};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RtThread {
    pub pid: u32,
    pub tid: u32,
    pub name: String,
    pub policy: Policy,
    /// Real-time priority, 1 to 99; 0 for SCHED_DEADLINE.
    pub priority: i64,
}

impl From<&Task> for RtThread {
    fn from(task: &Task) -> RtThread {
        let Task { pid, tid, name, policy, priority, .. } = task.clone();
        RtThread { pid, tid, name, policy, priority }
    }
}

impl Rules {
    /// Returns the values that one `read` entry of a rule yields; unreadable ones are omitted.
    pub fn elements(
        &self,
        id: &str,
        read: &str,
        machine: &dyn Machine,
        context: &Context,
        offers: Offers,
    ) -> Vec<String> {
        let sight = self.sight(machine, context, offers);
        let Some(read) = self.get(id).and_then(|rule| rule.reads.get(read)) else { return Vec::new() };
        match sight.reading(read, &mut Notes::default()) {
            Reading::One(known) => known.iter().map(crate::reading::Value::text).collect(),
            Reading::Many(many) => {
                many.items.iter().filter_map(|item| item.value.as_ref().ok()).map(|v| v.text()).collect()
            }
        }
    }

    /// Returns the user threads that run on the CPUs of the measured task and that the scheduler prefers to it or
    /// treats as equal: rule `rogue-rt-task`.
    pub fn rogue_threads(&self, machine: &dyn Machine, context: &Context) -> Vec<RtThread> {
        let sight = self.sight(machine, context, Offers::default());
        let tasks = sight.tasks().real_time.iter().filter(|task| !task.is_kernel && comes_first_there(&sight, task));
        tasks.map(RtThread::from).collect()
    }

    /// Returns the interrupt threads with an unsuitable priority, each with the suitable priority and with true if the
    /// loop waits for the device: rules `irq-thread-priority` and `net-irq-thread-prio`.
    pub fn interrupt_threads(&self, machine: &dyn Machine, context: &Context) -> Vec<(RtThread, i64, bool)> {
        let sight = self.sight(machine, context, Offers::default());
        planned_threads(&sight).into_iter().map(|p| (RtThread::from(p.task), p.wanted, p.is_awaited)).collect()
    }

    /// Returns the kernel threads whose names begin with `begins`; with `bound`, only those that are bound to their
    /// CPUs.
    pub fn kernel_threads(&self, machine: &dyn Machine, context: &Context, begins: &str, bound: bool) -> Vec<RtThread> {
        let sight = self.sight(machine, context, Offers::default());
        let fits = |task: &&Task| task.is_kernel && task.name.starts_with(begins) && (bound || !task.is_bound);
        sight.tasks().all.iter().filter(fits).map(RtThread::from).collect()
    }

    pub fn cpu_sets(&self, machine: &dyn Machine, context: &Context) -> Option<(CpuList, CpuList)> {
        let sight = self.sight(machine, context, Offers::default());
        let mut unnoted = Notes::default();
        Some((sight.set(Set::Isolated, &mut unnoted).ok()?, sight.set(Set::Online, &mut unnoted).ok()?))
    }

    pub fn interrupts_on(
        &self,
        machine: &dyn Machine,
        context: &Context,
        taken: &CpuList,
        housekeeping: &CpuList,
    ) -> (Vec<IrqPlan>, Vec<String>) {
        let mut doubts = Vec::new();
        let found = irqs_on(&self.sight(machine, context, Offers::default()), taken, housekeeping, &mut doubts);
        (found, doubts)
    }
}
