use crate::interrupts::{Interrupts, Row};
use crate::reading::Cause;
use crate::sight::{Notes, Sight};
use punctual_units::CpuList;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Movable {
    /// The interrupt can be moved, through its smp_affinity_list.
    Yes,
    /// The kernel manages the interrupt's affinity (IRQD_AFFINITY_MANAGED): only `isolcpus=managed_irq` moves it.
    Managed,
    /// Probably managed, judging by the kind of device; only debugfs shows it reliably.
    LikelyManaged,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IrqPlan {
    pub irq: String,
    pub device: String,
    pub cpus: CpuList,
    /// Number of times the chosen CPUs have served the interrupt since boot.
    pub count: i64,
    pub movable: Movable,
}

pub(crate) fn on(sight: &Sight, taken: &CpuList, housekeeping: &CpuList, doubts: &mut Vec<String>) -> Vec<IrqPlan> {
    let table = match Interrupts::read(sight.machine) {
        Ok(table) => table,
        Err(gap) => {
            doubts.push(format!("the interrupts of these CPUs are unknown: {}", gap.describe()));
            return Vec::new();
        }
    };
    let mut plans = Vec::new();
    let mut hidden = 0;
    for row in table.rows.iter().filter(|row| row.is_device()) {
        match row.goes_to(sight) {
            Ok(cpus) if cpus.and(taken).is_empty() => {}
            Ok(cpus) => plans.push(IrqPlan {
                irq: row.id.clone(),
                device: row.device().to_owned(),
                count: table.on(row, taken),
                movable: movable(sight, row, housekeeping),
                cpus,
            }),
            Err(gap) if gap.cause == Cause::Absent => {}
            Err(_) => hidden += 1,
        }
    }
    if hidden > 0 {
        doubts.push(format!("the CPUs of {hidden} interrupts could not be read: run this as root"));
    }
    plans
}

/// Kinds of devices whose drivers let the kernel spread the interrupts of their queues over the CPUs
/// (irq_create_affinity_masks).
const SPREAD: &[&str] = &["nvme", "megasas", "mpt3sas", "smartpqi", "hisi_sas", "aacraid", "virtio"];

fn movable(sight: &Sight, row: &Row, housekeeping: &CpuList) -> Movable {
    let mut unnoted = Notes::default();
    match sight.text(&format!("/sys/kernel/debug/irq/irqs/{}", row.id), &mut unnoted) {
        Ok(state) if state.contains("IRQD_AFFINITY_MANAGED") => return Movable::Managed,
        Ok(_) => return Movable::Yes,
        Err(_) => {}
    }
    // If a housekeeping CPU is already allowed, the affinity was set from user space and is not managed.
    let asked = sight.cpu_list(&format!("/proc/irq/{}/smp_affinity_list", row.id), &mut unnoted);
    let is_tied = asked.is_ok_and(|asked| asked.and(housekeeping).is_empty());
    let is_spread = SPREAD.iter().any(|kind| row.device().contains(kind));
    if is_spread && is_tied { Movable::LikelyManaged } else { Movable::Yes }
}
