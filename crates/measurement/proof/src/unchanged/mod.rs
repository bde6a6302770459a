//! Detects changes to the machine during a measurement, and other measurements on the same CPUs. It checks only before
//! the first phase, between phases and after the last one, so that it does not disturb the measured CPUs. See
//! docs/adr/0034-nobody-changes-the-machine-under-a-proof.md.

mod fixes;
mod programs;
mod settings;

use crate::error::ProofError;
use fixes::Fixes;
use programs::Programs;
use punctual_journal::register::{Does, Other, Register};
use punctual_machine::Live;
use punctual_model::{Problem, ProblemKind};
use punctual_units::CpuList;
use settings::Settings;
use std::path::Path;

/// State of the machine before the measurement.
pub(crate) struct Unchanged {
    cpus: CpuList,
    register: Option<Register>,
    fixes: Fixes,
    settings: Settings,
    programs: Programs,
    problems: Vec<String>,
    notes: Vec<String>,
}

impl Unchanged {
    /// Registers this process as measuring. `journal` is the directory of the journal of changes.
    ///
    /// # Errors
    /// Another process is changing the machine.
    pub fn begin(cpus: &CpuList, journal: &Path) -> Result<Unchanged, ProofError> {
        let (mut problems, mut notes) = (Vec::new(), Vec::new());
        let register = Register::enter(&Does::Measures(cpus.clone()));
        match &register {
            Ok(register) => notes.extend(register.limited().map(str::to_owned)),
            Err(e) => notes.push(format!("cannot detect other measurements: {e}")),
        }
        let register = register.ok();
        for other in register.iter().flat_map(Register::others) {
            if !matches!(other.does, Does::Measures(_)) {
                return Err(ProofError::Environment(format!(
                    "{other} is changing this machine: measure after it has ended"
                )));
            }
            said(&other, cpus, &mut problems, &mut notes);
        }
        let fixes = Fixes::look(journal);
        problems.extend(fixes.waiting());
        notes.extend(fixes.unknown());
        let settings = Settings::read(&Live::new());
        let programs = Programs::default();
        let mut unchanged = Unchanged { cpus: cpus.clone(), register, fixes, settings, programs, problems, notes };
        unchanged.look();
        Ok(unchanged)
    }

    /// Returns the problems found so far, which make the run inconclusive.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Looks for unregistered programs that measure or load the machine. Call it between phases.
    pub fn look(&mut self) {
        let known: Vec<u32> = self.register.iter().flat_map(Register::others).map(|other| other.pid).collect();
        let (measuring, loading) = self.programs.look(&known);
        self.problems.extend(measuring.into_iter().map(|who| format!("{who} also measures on this machine")));
        self.notes.extend(loading.into_iter().map(|who| format!("{who} also loads this machine")));
    }

    /// Compares the machine with its state before the measurement. Returns problems, which make the run inconclusive,
    /// and notes.
    pub fn end(mut self, journal: &Path) -> (Vec<Problem>, Vec<String>) {
        self.look();
        let (problems, notes) = (&mut self.problems, &mut self.notes);
        match self.register.as_mut().map(Register::came) {
            Some(Ok(came)) => came.iter().for_each(|other| said(other, &self.cpus, problems, notes)),
            Some(Err(e)) => problems.push(e.to_string()),
            None => {}
        }
        problems.extend(self.fixes.since(&Fixes::look(journal)));
        let (changed, moved) = self.settings.since(&Settings::read(&Live::new()));
        problems.extend(listed("changed while it was measured", &changed));
        notes.extend(listed("changed by irqbalance or thermal throttling while it was measured", &moved));
        let problem = |text| Problem { kind: ProblemKind::MachineChanged, text };
        (once(self.problems).into_iter().map(problem).collect(), once(self.notes))
    }
}

/// Reports another process of this program as a problem, or in a note if it does not affect the result, for example
/// because it measures other CPUs.
fn said(other: &Other, cpus: &CpuList, problems: &mut Vec<String>, notes: &mut Vec<String>) {
    match &other.does {
        Does::Changes => problems.push(format!("{other} changed this machine meanwhile")),
        Does::WouldChange => notes.push(format!("{other} tried to change this machine and was refused")),
        Does::Measures(its) if its.and(cpus).is_empty() => notes.push(format!("{other} measured on CPU {its}")),
        Does::Measures(its) => problems.push(format!("{other} also measured on CPU {its}")),
    }
}

/// Removes duplicates: a process that registers during the check is seen twice.
fn once(texts: Vec<String>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    texts.into_iter().for_each(|text| {
        if !kept.contains(&text) {
            kept.push(text);
        }
    });
    kept
}

/// Lists the changes in a sentence; `None` if there are none.
fn listed(what: &str, changes: &[String]) -> Option<String> {
    let (shown, more) = changes.split_at(changes.len().min(MOST_SHOWN));
    let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
    (!changes.is_empty()).then(|| format!("{what}: {}{more}", shown.join(", ")))
}

const MOST_SHOWN: usize = 20;
