//! Reads /proc/interrupts and /proc/softirqs: counts by source and CPU.

use punctual_units::CpuId;
use std::collections::HashMap;

/// Counts by source for the requested CPUs. The file's header identifies the columns, since offline CPUs are omitted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    /// For each source name, the count for each of `cpus`.
    rows: HashMap<String, Vec<u64>>,
    cpus: Vec<CpuId>,
}

impl Table {
    /// Parses the content of either file. An offline CPU has no counts.
    pub fn parse(text: &str, cpus: &[CpuId]) -> Table {
        let mut lines = text.lines();
        let header: Vec<CpuId> = lines.next().unwrap_or("").split_whitespace().filter_map(cpu_of).collect();
        let present: Vec<(CpuId, usize)> =
            cpus.iter().filter_map(|c| Some((*c, header.iter().position(|h| h == c)?))).collect();
        let mut rows = HashMap::new();
        for line in lines {
            let Some((key, rest)) = line.split_once(':') else { continue };
            let fields: Vec<&str> = rest.split_whitespace().collect();
            let counts: Vec<u64> = fields.iter().map_while(|f| f.parse().ok()).take(header.len()).collect();
            // ERR and MIS have a single count for the whole machine.
            if counts.len() < header.len() {
                continue;
            }
            let name = source_name(key.trim(), &fields[counts.len()..]);
            rows.insert(name, present.iter().map(|&(_, column)| counts[column]).collect());
        }
        Table { rows, cpus: present.into_iter().map(|(cpu, _)| cpu).collect() }
    }

    /// Returns the increase of each source on `cpu` since `before`, largest first, without zeros; `None` if the CPU is
    /// missing from either table.
    pub fn risen(&self, before: &Table, cpu: CpuId) -> Option<Vec<(String, u64)>> {
        let (now, then) = (self.column(cpu)?, before.column(cpu)?);
        let mut risen: Vec<(String, u64)> = self
            .rows
            .iter()
            .map(|(name, counts)| {
                let old = before.rows.get(name).map_or(0, |c| c[then]);
                (name.clone(), counts[now].saturating_sub(old))
            })
            .filter(|(_, n)| *n > 0)
            .collect();
        risen.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Some(risen)
    }

    fn column(&self, cpu: CpuId) -> Option<usize> {
        self.cpus.iter().position(|c| *c == cpu)
    }
}

fn cpu_of(word: &str) -> Option<CpuId> {
    word.strip_prefix("CPU")?.parse().ok().map(CpuId)
}

/// Returns the name of a source: `36 virtio1-req.0` for a numbered interrupt, `LOC Local timer interrupts` for an
/// interrupt of the architecture.
fn source_name(key: &str, words: &[&str]) -> String {
    let numbered = key.bytes().all(|b| b.is_ascii_digit());
    let trigger = |w: &&str| {
        ["edge", "level", "Edge", "Level", "fasteoi"].iter().any(|t| *w == *t || w.ends_with(&format!("-{t}")))
    };
    let action = match words.iter().position(trigger) {
        Some(at) if numbered => words[at + 1..].join(" "),
        _ if numbered => words.last().map(|w| w.to_string()).unwrap_or_default(),
        _ => words.join(" "),
    };
    format!("{key} {action}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "           CPU0       CPU1       \n 36:          0      30776 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0\nLOC:      10708      10531   Local timer interrupts\nERR:          0\n";
    const ARM: &str = "           CPU0       CPU2\n 11:        100         40     GICv2  30 Level     arch_timer\nIPI0:         1          2       Rescheduling interrupts\n";

    #[test]
    fn sources_and_columns_are_found() {
        let before = Table::parse(X86, &[CpuId(1), CpuId(0)]);
        let after = Table::parse(&X86.replace("30776", "30876").replace("10531", "10532"), &[CpuId(1), CpuId(0)]);
        let risen = after.risen(&before, CpuId(1)).unwrap();
        assert_eq!(risen, [("36 virtio1-req.0".into(), 100), ("LOC Local timer interrupts".into(), 1)]);
        assert_eq!(after.risen(&before, CpuId(0)).unwrap(), []);
    }

    #[test]
    fn a_gap_in_the_cpus_is_kept() {
        let zero = Table::parse("           CPU0       CPU2\n", &[CpuId(1), CpuId(2)]);
        let table = Table::parse(ARM, &[CpuId(1), CpuId(2)]);
        assert_eq!(table.risen(&zero, CpuId(1)), None);
        let risen = table.risen(&zero, CpuId(2)).unwrap();
        assert_eq!(risen[0], ("11 arch_timer".into(), 40));
    }

    #[test]
    fn rubbish_is_no_table() {
        for text in ["", "CPU0", "x\n:::\n9999999999999999999999: 1 2\n", "CPU0 CPU1\n5: 3\n"] {
            let _ = Table::parse(text, &[CpuId(0)]);
        }
    }
}
