//! Reads /proc/interrupts (proc_interrupts(5)).

use crate::reading::{Cause, Gap};
use crate::sight::{Notes, Sight};
use punctual_machine::Machine;
use punctual_units::{CpuId, CpuList};

pub(crate) const INTERRUPTS: &str = "/proc/interrupts";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// Name of the interrupt, such as `24` or `LOC`.
    pub id: String,
    /// Number of interrupts since boot, one count for each CPU in the header line.
    pub counts: Vec<i64>,
    /// Chip and device: `PCI-MSI 1-edge eth0-rx`.
    pub what: String,
}

#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    cpus: Vec<CpuId>,
    pub rows: Vec<Row>,
}

impl Interrupts {
    pub fn read(machine: &dyn Machine) -> Result<Interrupts, Gap> {
        let read = machine.read(INTERRUPTS);
        if let Some(cause) = Cause::of(&read) {
            return Err(Gap::new(INTERRUPTS, cause).expected());
        }
        let text = read.bytes().map(String::from_utf8_lossy).unwrap_or_default();
        Interrupts::parse(&text).ok_or_else(|| Gap::new(INTERRUPTS, Cause::Garbled("interrupt table")))
    }

    fn parse(text: &str) -> Option<Interrupts> {
        let mut lines = text.lines();
        let head = lines.next()?.split_whitespace().map(|word| word.strip_prefix("CPU")?.parse().ok().map(CpuId));
        let cpus: Vec<CpuId> = head.collect::<Option<_>>().filter(|cpus: &Vec<CpuId>| !cpus.is_empty())?;
        let row = |line: &str| {
            let (id, rest) = line.split_once(':')?;
            let mut words = rest.split_whitespace().peekable();
            let mut counts = Vec::new();
            while counts.len() < cpus.len() {
                let Some(count) = words.peek().and_then(|word| word.parse().ok()) else { break };
                counts.push(count);
                words.next();
            }
            Some(Row { id: id.trim().to_owned(), counts, what: words.collect::<Vec<_>>().join(" ") })
        };
        let rows: Vec<Row> = lines.filter_map(row).collect();
        (!rows.is_empty()).then_some(Interrupts { cpus, rows })
    }

    pub fn on(&self, row: &Row, cpus: &CpuList) -> i64 {
        let counts = self.cpus.iter().zip(&row.counts);
        counts.filter(|(cpu, _)| cpus.contains(**cpu)).map(|(_, count)| *count).fold(0, i64::saturating_add)
    }
}

impl Row {
    /// Returns the effective affinity; kernels without GENERIC_IRQ_EFFECTIVE_AFF_MASK have only the requested one.
    pub fn goes_to(&self, sight: &Sight) -> Result<CpuList, Gap> {
        let mut unnoted = Notes::default();
        let file = |name: &str| format!("/proc/irq/{}/{name}_affinity_list", self.id);
        match sight.cpu_list(&file("effective"), &mut unnoted) {
            Ok(cpus) if !cpus.is_empty() => Ok(cpus),
            Err(gap) if gap.cause != Cause::Absent => Err(gap),
            _ => sight.cpu_list(&file("smp"), &mut unnoted),
        }
    }

    /// Returns true if the interrupt belongs to a device, not to a CPU (its timer, its counters).
    pub fn is_device(&self) -> bool {
        let own = ["timer", "arm-pmu", "rtc0", "IPI"];
        self.id.parse::<u32>().is_ok() && !own.iter().any(|word| self.what.contains(word))
    }

    /// Returns the device's name: the text after chip, number and trigger type.
    pub fn device(&self) -> &str {
        let words: Vec<&str> = self.what.split(' ').collect();
        let behind = words.iter().position(|word| {
            matches!(*word, "Level" | "Edge")
                || word.ends_with("-edge")
                || word.ends_with("-fasteoi")
                || word.ends_with("-level")
        });
        let at = behind.map_or(words.len().saturating_sub(1), |at| at + 1);
        let start: usize = words.iter().take(at).map(|word| word.len() + 1).sum();
        self.what.get(start..).filter(|name| !name.is_empty()).unwrap_or(&self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_are_read() {
        let text = "           CPU0       CPU2\n  9:  1  20   IO-APIC   9-fasteoi   acpi, xhci\nLOC: 5 6 Local timer\nERR: 0\n \
                    27: 3 4 GICv3 27 Level arch_timer\n 40: 1 0 GICv2 158 Level mmc1, mmc0\n";
        let table = Interrupts::parse(text).unwrap();
        assert_eq!(table.rows.len(), 5);
        assert_eq!(table.on(&table.rows[0], &"2".parse().unwrap()), 20);
        assert_eq!((table.rows[0].device(), table.rows[4].device()), ("acpi, xhci", "mmc1, mmc0"));
        assert!(table.rows[0].is_device() && !table.rows[1].is_device() && !table.rows[3].is_device());
        assert!(Interrupts::parse("rubbish\nx").is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "(CPU0 CPU1\n)?[ -~\n]{0,200}") {
            if let Some(table) = Interrupts::parse(&text) {
                table.rows.iter().for_each(|row| { let _ = (row.device().len(), table.on(row, &"0-1".parse().unwrap())); });
            }
        }
    }
}
