//! The work of a thread between its release and its end.

use punctual_units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Uses this much CPU time, as calibrated without other threads.
    Run(Nanos),
    Sleep(Nanos),
    /// Sleeps until the next multiple of the period after its release. If that time has passed, the grid restarts at
    /// the current time (a relative timer in rt-app).
    Timer(Nanos),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    pub actions: Vec<Action>,
    /// Number of loops. `None` means that it loops until the experiment ends.
    pub loops: Option<u64>,
}

impl Body {
    pub fn run(cpu_time: Nanos) -> Body {
        Body { actions: vec![Action::Run(cpu_time)], loops: Some(1) }
    }

    pub fn work(&self) -> Nanos {
        let runs = self.actions.iter().map(|action| if let Action::Run(ns) = action { ns.0 } else { 0 });
        Nanos(runs.fold(0, u64::saturating_add))
    }

    pub fn sleep(&self) -> Nanos {
        let sleeps = self.actions.iter().map(|action| match action {
            Action::Sleep(ns) | Action::Timer(ns) => ns.0,
            Action::Run(_) => 0,
        });
        Nanos(sleeps.fold(0, u64::saturating_add))
    }

    /// Returns the period if each loop waits for exactly one timer, otherwise `None`.
    pub fn period(&self) -> Option<Nanos> {
        let mut timers = self.actions.iter().filter_map(|action| match action {
            Action::Timer(period) => Some(*period),
            _ => None,
        });
        let period = timers.next()?;
        let sleeps = self.actions.iter().any(|action| matches!(action, Action::Sleep(_)));
        (timers.next().is_none() && !sleeps).then_some(period)
    }

    /// Multiplies all work by `factor`; sleeps and timers stay the same.
    pub fn scaled(&self, factor: f64) -> Body {
        let scale = |action: &Action| match action {
            Action::Run(ns) => Action::Run(Nanos((ns.0 as f64 * factor) as u64)),
            other => *other,
        };
        Body { actions: self.actions.iter().map(scale).collect(), loops: self.loops }
    }
}
