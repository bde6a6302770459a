use super::{Probe, With};
use crate::reading::{Cause, Gap, Many, Reading, Value};
use crate::sight::{Notes, Sight};
use punctual_units::{CpuId, CpuList};

const SIBLINGS: &str = "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list";
const ISOLATED: &str = "/sys/devices/system/cpu/isolated";

pub(super) const PROBES: &[Probe] = &[
    // Measured CPUs with another online CPU on their core: `0,4`.
    Probe { name: "shared-cores", with: &[], reads: &[&[SIBLINGS]], run: shared },
    // Those of them whose sibling is not isolated, so that any task may run on it.
    Probe { name: "shared-cores-open", with: &[], reads: &[&[SIBLINGS, ISOLATED]], run: shared_open },
];

fn shared(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    Reading::Many(cores(sight, notes, |_, siblings| siblings.len() > 1))
}

fn shared_open(sight: &Sight, _: &With, notes: &mut Notes) -> Reading {
    let isolated = match sight.text(ISOLATED, notes).map(|list| list.parse::<CpuList>()) {
        Ok(Ok(list)) => list,
        Ok(Err(_)) => return Reading::Many(Many::unknown(Gap::new(ISOLATED, Cause::Garbled("CPU list")))),
        Err(gap) => return Reading::Many(Many::unknown(gap.expected())),
    };
    Reading::Many(cores(sight, notes, |cpu, siblings| {
        let others: CpuList = siblings.iter().filter(|other| *other != cpu).collect();
        !others.minus(&isolated).is_empty()
    }))
}

fn cores(sight: &Sight, notes: &mut Notes, counts: impl Fn(CpuId, &CpuList) -> bool) -> Many {
    let mut many = Many::default();
    let mut seen = Vec::new();
    let mut unnoted = Notes::default();
    if sight.context.cpus.is_empty() {
        return Many::unknown(Gap::new("the list of measured CPUs", Cause::Garbled("CPU")));
    }
    for cpu in sight.context.cpus.iter() {
        let path = SIBLINGS.replace('*', &cpu.to_string());
        match siblings(sight, &path, cpu, &mut unnoted) {
            Ok(siblings) => {
                let text = siblings.to_string();
                if counts(cpu, &siblings) && !many.items.iter().any(|item| item.value == Ok(Value::Text(text.clone())))
                {
                    many.push("", Ok(Value::Text(text.clone())));
                }
                seen.push(text);
            }
            Err(gap) => {
                seen.push(gap.describe());
                many.missing.get_or_insert(gap);
            }
        }
    }
    notes.add(SIBLINGS, seen.join(" "));
    many
}

/// Returns a CPU's siblings. A CPU is its own sibling, so a list without it is invalid.
fn siblings(sight: &Sight, path: &str, cpu: CpuId, notes: &mut Notes) -> Result<CpuList, Gap> {
    let text = sight.text(path, notes).map_err(Gap::expected)?;
    let list: Option<CpuList> = text.parse().ok();
    list.filter(|list| list.contains(cpu)).ok_or_else(|| Gap::new(path, Cause::Garbled("list of siblings")))
}
