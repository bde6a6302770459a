use super::{Notes, Sight};
use crate::reading::{Cause, Gap, Known, Many, Reading, Value};
use crate::rule::IrqFilter;

const IRQS: &str = "/proc/irq";

impl Sight<'_> {
    /// Returns, for each matching interrupt, its CPUs that are not in the filter's list, or `none`. An interrupt whose
    /// description cannot be read may or may not match.
    pub(super) fn irqs(&self, filter: &IrqFilter, notes: &mut Notes) -> Many {
        let unknown = |expected| Many::unknown(Gap::new("the interrupt filter", Cause::Garbled(expected)));
        let Ok(expressions) = filter.expressions() else { return unknown("regular expression") };
        let Ok(inside) = filter.cpus() else { return unknown("CPU list") };
        let numbers = match self.numbered(IRQS, "") {
            Ok(numbers) => numbers,
            Err(gap) => {
                notes.add(IRQS, gap.cause.describe());
                return Many::unknown(gap.expected());
            }
        };
        let mut many = Many::default();
        for number in numbers {
            let reported = expressions.iter().map(|(file, expression)| {
                let path = format!("/sys/kernel/irq/{number}/{file}");
                self.text(&path, &mut Notes::default()).map(|text| expression.is_match(&text))
            });
            match reported.collect::<Result<Vec<bool>, Gap>>() {
                Ok(fits) if fits.iter().all(|fit| *fit) => {
                    many.push(format!("IRQ {number}"), self.outside(number, &inside));
                }
                Ok(_) => {}
                // Interrupts appear and disappear with their devices.
                Err(gap) if gap.cause == Cause::Absent => {}
                Err(gap) => drop(many.missing.get_or_insert(gap)),
            }
        }
        let gap = many.missing.as_ref().map(|gap| format!("; {}", gap.describe())).unwrap_or_default();
        notes.add(
            "/proc/irq/*/smp_affinity_list",
            format!("outside {inside}: {}{gap}", Reading::Many(many.clone()).show()),
        );
        many
    }

    fn outside(&self, number: u32, inside: &punctual_units::CpuList) -> Known {
        let cpus = self.cpu_list(&format!("{IRQS}/{number}/smp_affinity_list"), &mut Notes::default())?.minus(inside);
        Ok(Value::Text(if cpus.is_empty() { "none".to_owned() } else { cpus.to_string() }))
    }
}
