//! Which CPUs to give to a real-time application: from the topology, and from where interrupts go.

mod choose;
mod interrupts;
mod steps;
mod topology;

pub(crate) use interrupts::on as irqs_on;
pub use interrupts::{IrqPlan, Movable};
pub use steps::BootParameter;

use crate::{Context, Offers, Rules};
use choose::Choice;
use punctual_machine::Machine;
use punctual_units::CpuList;
use serde::Serialize;
use topology::Topology;

/// What the plan is to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanWish {
    /// CPUs the application's threads need, one a core.
    pub count: usize,
    /// A network interface whose memory node they should be on: `eth0`.
    pub near: Option<String>,
}

/// CPUs for the application, CPUs for everything else, and how to get there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuPlan {
    /// For the application: isolated from the scheduler's balancing and from interrupts.
    pub isolated: CpuList,
    /// Siblings on the same cores, to be switched off: what runs there takes the core's units and caches.
    pub siblings_off: CpuList,
    /// For everything else.
    pub housekeeping: CpuList,
    /// CPUs that are isolated today.
    pub isolated_now: CpuList,
    /// Why these.
    pub why: Vec<String>,
    /// What this choice cannot avoid, and what could not be read.
    pub doubts: Vec<String>,
    /// Device interrupts that go to the chosen CPUs today.
    pub interrupts: Vec<IrqPlan>,
    /// Kernel parameters that make it so at boot.
    pub parameters: Vec<BootParameter>,
    /// Commands that make it so until the next boot; to be run as root.
    pub commands: Vec<String>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The CPUs are not known.
    #[error("which CPUs are online is not known: {0}")]
    Unknown(String),
    /// One core: nothing to choose from.
    #[error(
        "CPU {0} are all on one core: nothing can be isolated here; see the rules cpu-smt and rogue-rt-task instead"
    )]
    OneCore(CpuList),
    /// More than there are.
    #[error(
        "{wanted} CPUs cannot be isolated: there are {cores} cores, and the one of CPU {boot} has to serve everything else; \
         ask for {most} at most"
    )]
    TooMany {
        /// Asked for.
        wanted: usize,
        /// Cores with an online CPU.
        cores: usize,
        /// The first CPU's.
        boot: CpuList,
        /// What can be had.
        most: usize,
    },
    /// The named interface is not there, or does not say where it is.
    #[error("cannot tell which CPUs are near `{device}`: {why}; `ls /sys/class/net` lists the interfaces")]
    NoDevice {
        /// The interface.
        device: String,
        /// What was found.
        why: String,
    },
}

impl Rules {
    /// Proposes which CPUs to isolate. Reads topology, caches, memory nodes, interrupts and the kernel's configuration;
    /// changes nothing.
    ///
    /// # Errors
    /// There is nothing to choose from, more is wanted than there is, or the CPUs cannot be read.
    pub fn plan_cpus(&self, machine: &dyn Machine, context: &Context, wish: &PlanWish) -> Result<CpuPlan, PlanError> {
        let sight = self.sight(machine, context, Offers::default());
        let topology = Topology::read(&sight, wish.near.as_deref())?;
        let Choice { isolated, siblings_off, why, mut doubts } = choose::choose(&topology, wish)?;
        let taken: CpuList = isolated.iter().chain(siblings_off.iter()).collect();
        let housekeeping = topology.online.minus(&taken);
        let interrupts = interrupts::on(&sight, &taken, &housekeeping, &mut doubts);
        let isolated_now = sight.set(crate::rule::Set::Isolated, &mut crate::sight::Notes::default());
        let isolated_now = isolated_now.unwrap_or_else(|gap| {
            doubts.push(format!("what is isolated today is not known: {}", gap.describe()));
            CpuList::new()
        });
        let mut plan = CpuPlan {
            isolated,
            siblings_off,
            housekeeping,
            isolated_now,
            why,
            doubts,
            interrupts,
            parameters: Vec::new(),
            commands: Vec::new(),
        };
        if !steps::has_partitions(&sight) && plan.isolated.minus(&plan.isolated_now) == plan.isolated {
            let why = "other tasks stay there until the next boot: no isolated cpuset partition can be made (Linux 6.1, cgroup v2)";
            plan.doubts.push(why.to_owned());
        }
        plan.parameters = steps::parameters(&sight, &plan);
        plan.commands = steps::commands(&sight, &plan);
        Ok(plan)
    }
}

#[cfg(test)]
mod tests;
