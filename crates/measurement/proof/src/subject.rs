use crate::error::ProofError;
use crate::meter::{Meter, Threads};
use crate::options::Options;
use crate::ways::KernelWay;
use punctual_measure::{self as measure, Plan};
use punctual_model::Phase;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Wakeups, with audit and report.
    Proven,
    /// Wakeups only.
    Measured,
    Kernel(KernelWay),
}

impl Subject {
    pub fn start(self, plan: &Plan) -> Result<Box<dyn Meter>, ProofError> {
        match self {
            Subject::Kernel(way) => way.start(plan),
            Subject::Proven | Subject::Measured => {
                let running = measure::start(plan.clone())?;
                Ok(Box::new(Threads { running, scheduling: plan.scheduling, label: None }))
            }
        }
    }

    pub fn label(self) -> Option<&'static str> {
        match self {
            Subject::Kernel(way) => Some(way.label()),
            Subject::Proven | Subject::Measured => None,
        }
    }

    /// Names the phase of figures with this label; with the load, if there are several.
    pub fn name(self, phase: &mut Phase, label: Option<&str>, options: &Options) {
        let (Subject::Kernel(way), Some(label)) = (self, label) else { return };
        phase.id = way.phase_id(&phase.id, label);
        phase.label = Some(match options.loads.len() {
            0 | 1 if phase.load == "idle" => label.to_owned(),
            _ => format!("{label}, {}", phase.load),
        });
    }
}
