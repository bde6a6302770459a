//! Comparison of two kernels over several boots. Selects the kernel to boot next, and decides whether the current boot
//! may be measured.
//!
//! The order is A B B A, A B B A, …, so that a steady drift (rising ambient temperature, a filling disk, a wearing fan)
//! affects both kernels equally. A boot is measured only once; another sample requires another boot.

use serde::{Deserialize, Serialize};

pub const SCHEMA: &str = "punctual.experiment/1";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experiment {
    pub schema: String,
    /// Releases of both kernels (`uname -r`).
    pub kernels: [String; 2],
    pub measure: Vec<String>,
    pub steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Index into [`Experiment::kernels`].
    pub kernel: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Boot ID: /proc/sys/kernel/random/boot_id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot_id: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    Measure(usize),
    Boot(String),
    /// This kernel is running, but its current boot has already been measured.
    BootAgain(String),
    Done,
}

impl Experiment {
    pub fn plan(kernels: [String; 2], pairs: u32, measure: Vec<String>) -> Experiment {
        let order = |pair: u32| if pair.is_multiple_of(2) { [0, 1] } else { [1, 0] };
        let steps = (0..pairs).flat_map(order).map(|kernel| Step { kernel, run: None, boot_id: None }).collect();
        Experiment { schema: SCHEMA.into(), kernels, measure, steps }
    }

    /// Returns the next step on a machine that currently runs kernel `release` in boot `boot_id`.
    pub fn next(&self, release: &str, boot_id: &str) -> Next {
        let Some((at, step)) = self.steps.iter().enumerate().find(|(_, s)| s.run.is_none()) else { return Next::Done };
        let wanted = self.kernels.get(step.kernel).cloned().unwrap_or_default();
        let is_used = self.steps.iter().any(|s| s.boot_id.as_deref() == Some(boot_id));
        match (release == wanted, is_used) {
            (true, false) => Next::Measure(at),
            (true, true) => Next::BootAgain(wanted),
            (false, _) => Next::Boot(wanted),
        }
    }

    pub fn folder(&self, step: usize) -> String {
        let letter = if self.steps.get(step).is_some_and(|s| s.kernel == 1) { 'b' } else { 'a' };
        format!("{:02}-{letter}", step + 1)
    }

    pub fn measured(&mut self, step: usize, boot_id: &str) {
        let folder = self.folder(step);
        if let Some(step) = self.steps.get_mut(step) {
            (step.run, step.boot_id) = (Some(folder), Some(boot_id.to_owned()));
        }
    }

    pub fn runs(&self, kernel: usize) -> impl Iterator<Item = &str> {
        self.steps.iter().filter(move |s| s.kernel == kernel).filter_map(|s| s.run.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(pairs: u32) -> Experiment {
        Experiment::plan(["rt".into(), "stock".into()], pairs, vec!["-D".into(), "60s".into()])
    }

    #[test]
    fn each_pair_turns_round_and_drift_cancels() {
        let order: Vec<usize> = plan(6).steps.iter().map(|s| s.kernel).collect();
        assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
        let sum = |kernel| order.iter().enumerate().filter(|(_, k)| **k == kernel).map(|(n, _)| n).sum::<usize>();
        assert_eq!(sum(0), sum(1));
    }

    #[test]
    fn a_boot_is_measured_once_and_in_order() {
        let mut experiment = plan(2);
        assert_eq!(experiment.next("stock", "1"), Next::Boot("rt".into()));
        assert_eq!(experiment.next("rt", "1"), Next::Measure(0));
        experiment.measured(0, "1");
        assert_eq!(experiment.next("rt", "1"), Next::Boot("stock".into()));
        experiment.measured(1, "2");
        assert_eq!(experiment.next("stock", "2"), Next::BootAgain("stock".into()));
        assert_eq!(experiment.next("stock", "3"), Next::Measure(2));
        experiment.measured(2, "3");
        experiment.measured(3, "4");
        assert_eq!(experiment.next("rt", "5"), Next::Done);
        assert_eq!(experiment.runs(1).collect::<Vec<_>>(), ["02-b", "03-b"]);
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Experiment>(&text).unwrap(), experiment);
    }
}
