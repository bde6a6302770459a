use crate::app::{self, Shared};
use crate::error::ProofError;
use crate::meter::{Meter, Threads};
use crate::methods::Method;
use crate::options::Options;
use punctual_measure::{self as measure, Plan};
use punctual_model::{AppValue, Phase};
use punctual_units::Nanos;

#[derive(Clone)]
pub(crate) enum Subject {
    /// Wakeups, with audit and report (`prove`).
    Proven,
    /// Wakeups only (`measure`).
    Measured,
    Method(Method),
    /// Cycles of an application, with audit and report.
    Application(Shared),
}

impl Subject {
    pub fn start(&self, plan: &Plan, options: &Options, load: &str) -> Result<Box<dyn Meter>, ProofError> {
        match self {
            Subject::Method(method) => method.start(plan),
            Subject::Application(shared) => app::start_meter(shared, plan, &options.claims, load),
            Subject::Proven | Subject::Measured => {
                let running = measure::start(plan.clone())?;
                Ok(Box::new(Threads { running, scheduling: plan.scheduling, label: None }))
            }
        }
    }

    /// Returns true for a run with audit and report.
    pub fn is_proving(&self) -> bool {
        matches!(self, Subject::Proven | Subject::Application(_))
    }

    pub fn method(&self) -> Option<Method> {
        match self {
            Subject::Method(method) => Some(*method),
            Subject::Proven | Subject::Measured | Subject::Application(_) => None,
        }
    }

    pub fn label(&self) -> Option<&'static str> {
        self.method().map(Method::label)
    }

    /// Sets the name of a phase from the label of its values and, if there are several loads, its load.
    pub fn name(&self, phase: &mut Phase, label: Option<&str>, options: &Options) {
        let (Subject::Method(method), Some(label)) = (self, label) else { return };
        phase.id = method.phase_id(&phase.id, label);
        phase.label = Some(match options.loads.len() {
            0 | 1 if phase.load == "idle" => label.to_owned(),
            _ => format!("{label}, {}", phase.load),
        });
    }
}

/// Sets the name of a phase from an application's value, for example `1-idle-response-control`.
pub(crate) fn name_value(phase: &mut Phase, value: &AppValue, period: Option<Nanos>, options: &Options) {
    let name: String = value.threads().join("-");
    let plain = |c: char| if c.is_ascii_alphanumeric() || "_.".contains(c) { c } else { '-' };
    phase.id = format!("{}-{}-{}", phase.id, value.kind(), name.chars().map(plain).collect::<String>());
    phase.label = Some(match options.loads.len() {
        0 | 1 if phase.load == "idle" => value.label(),
        _ => format!("{}, {}", value.label(), phase.load),
    });
    (phase.value, phase.period_ns) = (Some(value.clone()), period);
}
