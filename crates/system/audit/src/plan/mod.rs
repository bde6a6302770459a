//! Chooses the CPUs for a real-time application, from topology and interrupts.

mod choose;
mod interrupts;
mod steps;
mod takes;
mod topology;

pub(crate) use interrupts::on as irqs_on;
pub use interrupts::{IrqPlan, Movable};
pub use steps::{BootParameter, proposes};
pub use takes::Misfit;
pub(crate) use takes::{conditions, ignored, kept, misfit};

use crate::{Context, Offers, Rules};
use choose::Choice;
use punctual_machine::Machine;
use punctual_units::CpuList;
use serde::Serialize;
use topology::Topology;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanWish {
    /// Number of CPUs that the application's threads need, one per core.
    pub count: usize,
    /// A network interface, such as `eth0`; CPUs are chosen on its memory node.
    pub near: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuPlan {
    /// CPUs for the application: isolated from load balancing and interrupts.
    pub isolated: CpuList,
    /// Siblings of the isolated CPUs, to be taken offline: tasks there would share the core's execution units and
    /// caches.
    pub siblings_off: CpuList,
    pub housekeeping: CpuList,
    pub isolated_now: CpuList,
    pub why: Vec<String>,
    /// Drawbacks that this choice cannot avoid, and files that could not be read.
    pub doubts: Vec<String>,
    pub interrupts: Vec<IrqPlan>,
    /// Kernel parameters that apply the plan at boot.
    pub parameters: Vec<BootParameter>,
    /// Commands that apply the plan until the next boot; for root.
    pub commands: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the online CPUs are unknown: {0}")]
    Unknown(String),
    #[error("CPUs {0} are all on one core, so none can be isolated; see the rules cpu-smt and rogue-rt-task instead")]
    OneCore(CpuList),
    #[error(
        "{wanted} CPUs cannot be isolated: the machine has {cores} cores, and that of CPU {boot} must serve everything else; \
         the maximum is {most}"
    )]
    TooMany {
        wanted: usize,
        /// Number of cores with an online CPU.
        cores: usize,
        boot: CpuList,
        most: usize,
    },
    #[error("cannot determine the CPUs near `{device}`: {why}; `ls /sys/class/net` lists the interfaces")]
    NoDevice { device: String, why: String },
}

impl Rules {
    /// Proposes CPUs to isolate. Reads topology, caches, memory nodes, interrupts and the kernel's configuration;
    /// changes nothing.
    ///
    /// # Errors
    /// If the machine has only one core, more CPUs are requested than exist, or the CPUs cannot be read.
    pub fn plan_cpus(
        &self,
        machine: &dyn Machine,
        context: &Context,
        request: &PlanWish,
    ) -> Result<CpuPlan, PlanError> {
        let sight = self.sight(machine, context, Offers::default());
        let topology = Topology::read(&sight, request.near.as_deref())?;
        let Choice { isolated, siblings_off, why, mut doubts } = choose::choose(&topology, request)?;
        let taken: CpuList = isolated.iter().chain(siblings_off.iter()).collect();
        let housekeeping = topology.online.minus(&taken);
        let interrupts = interrupts::on(&sight, &taken, &housekeeping, &mut doubts);
        let isolated_now = sight.set(crate::rule::Set::Isolated, &mut crate::sight::Notes::default());
        let isolated_now = isolated_now.unwrap_or_else(|gap| {
            doubts.push(format!("the currently isolated CPUs are unknown: {}", gap.describe()));
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
        let no_partition = steps::no_partition(&sight);
        if let Some(why) = no_partition.filter(|_| plan.isolated.minus(&plan.isolated_now) == plan.isolated) {
            plan.doubts.push(format!("other tasks stay on these CPUs until the next boot: {why}"));
        }
        let (parameters, inert) = steps::parameters(&sight, &plan);
        plan.parameters = parameters;
        plan.doubts.extend(inert);
        plan.commands = steps::commands(&sight, &plan);
        if let Some(mount) = punctual_machine::read_only_mount(machine, "/sys/devices/system/cpu") {
            plan.doubts.push(format!("{mount} is mounted read-only, as in a container: change it on the host"));
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests;
