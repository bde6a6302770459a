use crate::error::ProofError;
use crate::meter::{Meter, Threads};
use crate::methods::Method;
use crate::options::Options;
use punctual_measure::{self as measure, Plan};
use punctual_model::Phase;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Wakeups, with audit and report (`prove`).
    Proven,
    /// Wakeups only (`measure`).
    Measured,
    Method(Method),
}

impl Subject {
    pub fn start(self, plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
        match self {
            Subject::Method(method) => method.start(plan),
            Subject::Proven | Subject::Measured => {
                let running = measure::start(plan.clone())?;
                Ok(Box::new(Threads { running, scheduling: plan.scheduling, label: None }))
            }
        }
    }

    pub fn label(self) -> Option<&'static str> {
        match self {
            Subject::Method(method) => Some(method.label()),
            Subject::Proven | Subject::Measured => None,
        }
    }

    /// Sets the label of a phase to that of its values, followed by the load if there are several loads.
    pub fn name(self, phase: &mut Phase, label: Option<&str>, options: &Options) {
        let (Subject::Method(method), Some(label)) = (self, label) else { return };
        phase.id = method.phase_id(&phase.id, label);
        phase.label = Some(match options.loads.len() {
            0 | 1 if phase.load == "idle" => label.to_owned(),
            _ => format!("{label}, {}", phase.load),
        });
    }
}
