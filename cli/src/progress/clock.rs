//! Computes the current step and the remaining time of a run. It does not read a clock: the caller passes the time.

use punctual_live::{Left, Status};
use punctual_proof::Step;
use punctual_units::Nanos;

const SECOND: Nanos = Nanos::from_secs(1);

/// Progress of a run. All times are CLOCK_MONOTONIC.
pub struct Clock {
    /// `--time-limit`, for a run that continues until its claims are decided.
    max: Option<Nanos>,
    /// Remaining time as estimated at the last check of the claims, and the time of that check.
    left: Option<(Nanos, Nanos)>,
    /// Time recorded in the phases that have finished.
    recorded: Nanos,
    phase: Option<Running>,
    step: Option<Step>,
    step_begun: Nanos,
    /// Time by which finished phases exceeded their planned time, in total, and the number of these phases.
    beyond: (Nanos, u64),
}

struct Running {
    place: (usize, usize, String),
    lasts: Nanos,
    begun: Nanos,
    /// First and last recorded release, once they are known.
    recording: Option<(Nanos, Nanos)>,
}

impl Clock {
    pub fn new(max: Option<Nanos>, now: Nanos) -> Clock {
        let beyond = (Nanos::ZERO, 0);
        Clock { max, left: None, recorded: Nanos::ZERO, phase: None, step: None, step_begun: now, beyond }
    }

    /// Reports the start of a phase: its number, the number of phases, its load, and its planned length.
    pub fn phase_starts(&mut self, place: (usize, usize, String), lasts: Nanos, now: Nanos) {
        self.phase = Some(Running { place, lasts, begun: now, recording: None });
        self.step(Step::Starting, now);
    }

    pub fn step(&mut self, step: Step, now: Nanos) {
        if let (Step::Measuring { start, end, .. }, Some(phase)) = (step, &mut self.phase) {
            phase.recording = Some((start, end));
        }
        (self.step, self.step_begun) = (Some(step), now);
    }

    /// Reports the end of the phase. Called again for each further result of the same phase.
    pub fn phase_ended(&mut self, now: Nanos) {
        let Some(phase) = self.phase.take_if(|phase| phase.recording.is_some()) else { return };
        self.recorded = self.recorded + recorded(&phase, now);
        let took = now.saturating_sub(phase.begun).saturating_sub(phase.lasts);
        self.beyond = (self.beyond.0 + took, self.beyond.1 + 1);
    }

    /// Reports a check of the claims; `left` is the estimated remaining measurement time.
    pub fn looked(&mut self, left: Option<Nanos>, now: Nanos) {
        self.left = left.map(|left| (left, now));
    }

    pub fn measured(&mut self) {
        self.phase = None;
    }

    /// Returns the status to display.
    pub fn status(&self, now: Nanos) -> Status {
        let doing = match self.step {
            None => "preparing",
            Some(Step::Starting) => "starting",
            Some(Step::Auditing) => "auditing the machine",
            Some(Step::Tracing) => "enabling the trace",
            Some(Step::Measuring { ticks: false, .. }) => "measuring (not updated)",
            // The display lags by up to a second.
            Some(Step::Measuring { start, .. }) if now + SECOND < start => "warming up",
            Some(Step::Measuring { .. }) => "measuring",
            Some(Step::Collecting) => "collecting the results",
            Some(Step::Writing) => "writing the results",
            Some(Step::Explaining) => "analysing what made wakeups late",
            Some(Step::Judging) => "analysing the claims",
            Some(Step::Reporting) => "writing the report",
        };
        let phase_left = self.phase.as_ref().map(|phase| phase_left(phase, now));
        Status {
            phase: self.phase.as_ref().map(|phase| phase.place.clone()),
            doing: doing.into(),
            phase_left,
            run_left: self.run_left(now),
            since: now.saturating_sub(self.step_begun),
        }
    }

    fn run_left(&self, now: Nanos) -> Left {
        let Some(phase) = &self.phase else { return Left::Unknown };
        match (self.max, self.left) {
            (None, _) => {
                let more = phase.place.1.saturating_sub(phase.place.0) as u64;
                let beyond = self.beyond.0.0 / self.beyond.1.max(1);
                let each = phase.lasts.0.saturating_add(beyond);
                Left::About(Nanos(phase_left(phase, now).0.saturating_add(each.saturating_mul(more))))
            }
            (Some(_), Some((left, at))) => {
                Left::About(left.saturating_sub(now.saturating_sub(at)).max(phase_left(phase, now)))
            }
            (Some(max), None) => Left::AtMost(max.saturating_sub(self.recorded + recorded(phase, now))),
        }
    }
}

/// Returns the time recorded so far in the running phase.
fn recorded(phase: &Running, now: Nanos) -> Nanos {
    phase.recording.map_or(Nanos::ZERO, |(start, end)| now.min(end).saturating_sub(start))
}

/// Returns the time until the last release, or the length of the whole phase if the last release is not known yet.
fn phase_left(phase: &Running, now: Nanos) -> Nanos {
    phase.recording.map_or(phase.lasts, |(_, end)| end.saturating_sub(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_live::text;

    const fn s(seconds: u64) -> Nanos {
        Nanos::from_secs(seconds)
    }

    fn line(clock: &Clock, now: u64) -> String {
        text(&clock.status(s(now)), 80)
    }

    #[test]
    fn a_run_is_shown_from_its_beginning_to_its_end() {
        let mut clock = Clock::new(None, s(100));
        assert_eq!(line(&clock, 100), "preparing");
        clock.phase_starts((1, 2, "idle".into()), s(10), s(100));
        assert_eq!(line(&clock, 100), "[1/2] idle: starting, 10 s of this phase and 20 s of the run left");
        clock.step(Step::Auditing, s(100));
        assert!(line(&clock, 101).starts_with("[1/2] idle: auditing the machine, 10 s"));
        clock.step(Step::Measuring { start: s(104), end: s(112), ticks: true }, s(102));
        assert_eq!(line(&clock, 102), "[1/2] idle: warming up, 10 s of this phase and 20 s of the run left");
        assert_eq!(line(&clock, 108), "[1/2] idle: measuring, 4 s of this phase and 14 s of the run left");
        clock.step(Step::Measuring { start: s(104), end: s(112), ticks: false }, s(102));
        assert!(line(&clock, 102).starts_with("[1/2] idle: measuring (not updated), 10 s"));
        clock.phase_ended(s(113));
        clock.phase_ended(s(114));
        clock.phase_starts((2, 2, "cpu".into()), s(10), s(114));
        assert_eq!(line(&clock, 114), "[2/2] cpu: starting, 10 s of this phase and 10 s of the run left");
        clock.measured();
        clock.step(Step::Judging, s(124));
        assert_eq!(line(&clock, 124), "analysing the claims");
        assert_eq!(line(&clock, 126), "analysing the claims, for 2 s");
    }

    #[test]
    fn what_the_phases_took_beyond_their_time_is_expected_of_the_next() {
        let mut clock = Clock::new(None, s(0));
        clock.phase_starts((1, 3, "idle".into()), s(10), s(0));
        clock.step(Step::Measuring { start: s(2), end: s(12), ticks: true }, s(1));
        clock.phase_ended(s(13));
        clock.phase_starts((2, 3, "cpu".into()), s(10), s(13));
        assert_eq!(clock.status(s(13)).run_left, Left::About(s(23)));
    }

    #[test]
    fn until_decided_there_is_a_bound_and_then_an_estimate() {
        let mut clock = Clock::new(Some(s(2 * 86_400)), s(0));
        clock.phase_starts((1, 1, "idle".into()), s(10), s(0));
        clock.step(Step::Measuring { start: s(1), end: s(11), ticks: true }, s(0));
        assert_eq!(line(&clock, 1), "[1/1] idle: measuring, 10 s of this phase and at most 2 days of the run left");
        clock.phase_ended(s(11));
        clock.looked(Some(s(70)), s(11));
        clock.phase_starts((1, 1, "idle".into()), s(10), s(11));
        assert_eq!(clock.status(s(12)).run_left, Left::About(s(69)));
        assert_eq!(clock.status(s(500)).run_left, Left::About(s(10)));
        clock.looked(None, s(21));
        assert_eq!(clock.status(s(21)).run_left, Left::AtMost(s(2 * 86_400 - 10)));
    }
}
