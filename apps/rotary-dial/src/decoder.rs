//! The decoder: a state machine with four states, whose input is the majority of three consecutive samples.
//!
//! A wrong digit is worse than none: if anything may have been missed (samples are missing, or the contact may have
//! closed only between two samples), the digit is rejected, with a reason.

use crate::train::{Reason, Timing, Train};
use punctual_units::Nanos;

/// State of a line. A line is closed while the handset is lifted and the dial rests; each pulse of the dial opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The line has been open for a long time, or its state is not yet known, or it is closed but has not settled.
    OnHook,
    /// The handset is lifted and the dial is at rest.
    Ready,
    /// The contact is open within a digit.
    Break,
    /// The contact is closed within a digit, between two pulses or after the last one.
    Make,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Lifted,
    /// The dial is at rest again after this many pulses, 1 to 10.
    Pulses(u8),
    /// The dial is at rest, but its pulses are not a digit.
    Rejected(Reason),
    /// The handset was hung up. If `cut` is true, this ended a digit, which is rejected as [`Reason::HungUp`].
    HungUp {
        /// True if pulses had been counted, or the previous digit had not ended.
        cut: bool,
    },
    /// The handset is lifted and the dial seemed to be at rest, but so many samples were missing that a pulse may have
    /// been missed.
    Blind,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Nanos,
    closed: bool,
}

/// Decodes one line from its samples. The result depends only on their times and levels: the decoder reads no clock and
/// counts no samples.
///
/// ```
/// use punctual_units::Nanos;
/// use rotary_dial::{Decoder, Heard, Timing};
///
/// let mut decoder = Decoder::new(Timing::default());
/// let ms = |ms| Nanos::from_millis(ms);
/// // Closed from 0 on; two pulses, 60 ms open and 40 ms closed each, from 500 ms on.
/// let closed = |t: u64| !(500..560).contains(&t) && !(600..660).contains(&t);
/// let heard: Vec<Heard> = (0..1000).step_by(10).filter_map(|t| decoder.sample(ms(t), closed(t))).collect();
/// assert_eq!(heard, [Heard::Lifted, Heard::Pulses(2)]);
/// ```
#[derive(Clone, Debug)]
pub struct Decoder {
    timing: Timing,
    /// The last two samples, the older one first.
    before: (Option<Sample>, Option<Sample>),
    closed: Option<bool>,
    /// Time at which the contact changed to its current level.
    since: Nanos,
    state: State,
    train: Train,
    /// End of the last gap between samples in which a break may have been missed; `None` if there was none.
    blind: Option<Nanos>,
}

impl Decoder {
    /// Creates a decoder. The state of the line is unknown at first: it must be closed for the digit timeout before a
    /// digit can be decoded.
    pub fn new(timing: Timing) -> Decoder {
        Decoder {
            timing,
            before: (None, None),
            closed: None,
            since: Nanos::ZERO,
            state: State::OnHook,
            train: Train::new(Nanos::ZERO),
            blind: None,
        }
    }

    pub fn state(&self) -> State {
        self.state
    }

    /// Adds the next sample: its time, and whether the line was closed. A sample that is not later than the previous
    /// one is ignored. Returns what the sample has completed, if anything. Does not allocate.
    pub fn sample(&mut self, at: Nanos, closed: bool) -> Option<Heard> {
        let now = Sample { at, closed };
        let (older, last) = self.before;
        if last.is_some_and(|last| at <= last.at) {
            return None;
        }
        self.before = (last, Some(now));
        let (Some(older), Some(last)) = (older, last) else { return None };
        let blind = self.look(older, last, now);
        let majority = [older, last, now].iter().filter(|sample| sample.closed).count() >= 2;
        let heard = if self.closed == Some(majority) {
            self.stays(at)
        } else {
            let since = if older.closed == majority { older.at } else { last.at };
            let lasted = since.saturating_sub(self.since);
            (self.closed, self.since) = (Some(majority), since);
            self.changes(majority, lasted);
            None
        };
        heard.or(blind)
    }

    /// Checks three samples for what their majority does not show: missed breaks or makes, and short makes.
    fn look(&mut self, older: Sample, last: Sample, now: Sample) -> Option<Heard> {
        let wide = now.at.saturating_sub(older.at) > self.timing.break_unseen;
        match self.state {
            State::Make if wide => self.train.reject(Reason::Samples),
            State::Ready if wide => {
                // One gap appears in two windows of three samples.
                let reported = self.blind.replace(now.at) == Some(last.at);
                return (!reported).then_some(Heard::Blind);
            }
            // The earlier samples are unknown, so the line must settle again.
            State::OnHook if wide => self.since = now.at,
            State::Break => {
                if now.at.saturating_sub(last.at) > self.timing.make_unseen {
                    self.train.unseen();
                }
                if !older.closed && last.closed && !now.closed {
                    self.train.contrary(last.at, &self.timing);
                }
            }
            _ => {}
        }
        None
    }

    /// Handles an unchanged contact: checks whether it has been unchanged for long enough.
    fn stays(&mut self, now: Nanos) -> Option<Heard> {
        let lasts = now.saturating_sub(self.since);
        match (self.state, self.closed) {
            (State::OnHook, Some(true)) if lasts >= self.timing.digit_timeout => {
                self.state = State::Ready;
                Some(Heard::Lifted)
            }
            (State::Break, _) if self.train.open_for(now) >= self.timing.hang_up => {
                self.state = State::OnHook;
                Some(Heard::HungUp { cut: self.train.pulses() > 0 })
            }
            (State::Make, _) if lasts >= self.timing.digit_timeout => {
                self.state = State::Ready;
                Some(self.train.end().map_or_else(Heard::Rejected, Heard::Pulses))
            }
            _ => None,
        }
    }

    /// Handles a change of the contact, which had been unchanged for `lasted`.
    fn changes(&mut self, closed: bool, lasted: Nanos) {
        let at = self.since;
        match self.state {
            State::Ready if !closed => {
                self.train = Train::new(at);
                if self.blind.is_some_and(|blind| at.saturating_sub(blind) <= self.timing.longest_make) {
                    self.train.reject(Reason::Samples);
                }
                self.state = State::Break;
            }
            State::Break if closed => {
                self.train.close(at, &self.timing);
                self.state = State::Make;
            }
            State::Make if !closed => {
                self.train.open(at, lasted, &self.timing);
                self.state = State::Break;
            }
            _ => {}
        }
    }
}
