//! One pulse train: breaks and makes of a dial that runs back, and why it may have to be rejected.

use punctual_units::Nanos;
use serde::Serialize;

/// How long the parts of a train may be, as they are measured by samples that come every 10 ms and up to 9 ms late: an edge is seen up
/// to 19 ms after it happened, and 3 ms more where the contact bounces. Chosen for dials of 7 to 12 pulses/s and 30 to 50 % make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Closed for so long after a pulse: the dial rests, the digit is over. Also how long a line that was lifted settles.
    pub digit_timeout: Nanos,
    /// Open for so long: the handset is on the hook.
    pub hang_up: Nanos,
    /// A break is no longer: 7 pulses/s and 30 % make give 100 ms, an edge seen late 22 ms more.
    pub longest_break: Nanos,
    /// Nor is it shorter: 12 pulses/s and 50 % make give 41.7 ms, less 22 ms.
    pub shortest_break: Nanos,
    /// A make between two pulses is no longer (71 ms and 22 ms). Longer and below the digit timeout is neither one digit nor two.
    pub longest_make: Nanos,
    /// A break that holds a contrary sample is cut there into two, where both parts have this length at least: a make can be so short
    /// (25 ms) that one sample only falls into it.
    pub shortest_part: Nanos,
    /// A break of this length or longer may be two whose make fell between samples.
    pub doubtful_break: Nanos,
    /// Samples further apart than this can miss a make.
    pub make_unseen: Nanos,
    /// Three samples that span more than this can miss a break: only one of them falls into it.
    pub break_unseen: Nanos,
}

impl Default for Timing {
    fn default() -> Timing {
        let ms = Nanos::from_millis;
        Timing {
            digit_timeout: ms(200),
            hang_up: ms(200),
            longest_break: ms(124),
            shortest_break: ms(15),
            longest_make: ms(110),
            shortest_part: ms(30),
            doubtful_break: ms(100),
            make_unseen: ms(22),
            break_unseen: ms(36),
        }
    }
}

/// Why a train gave no digit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The handset was hung up before the dial rested.
    HungUp,
    /// A break was longer than any dial makes, and shorter than a hang-up.
    LongBreak,
    /// A break was shorter than any dial makes.
    ShortBreak,
    /// A make was longer than any within a digit and shorter than the pause between two.
    LongMake,
    /// A break may have been two.
    Doubtful,
    /// Samples were missing or came so late that a pulse may have been overlooked.
    Samples,
    /// More than ten pulses.
    TooMany,
}

impl Reason {
    /// All of them, in the order of their counters.
    pub const ALL: [Reason; 7] = [
        Reason::HungUp,
        Reason::LongBreak,
        Reason::ShortBreak,
        Reason::LongMake,
        Reason::Doubtful,
        Reason::Samples,
        Reason::TooMany,
    ];

    /// As reports name it.
    pub fn name(self) -> &'static str {
        match self {
            Reason::HungUp => "hung_up",
            Reason::LongBreak => "long_break",
            Reason::ShortBreak => "short_break",
            Reason::LongMake => "long_make",
            Reason::Doubtful => "doubtful",
            Reason::Samples => "samples",
            Reason::TooMany => "too_many",
        }
    }
}

/// A break that lasts.
#[derive(Clone, Copy, Debug)]
struct Break {
    start: Nanos,
    /// Of its last part: where it was cut.
    part: Nanos,
    /// A contrary sample that may cut it.
    cut: Option<Nanos>,
    cuts: u8,
    /// A make may have been overlooked.
    unseen: bool,
}

/// The pulses since the dial left its rest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Train {
    pulses: u8,
    /// The first thing that was wrong.
    wrong: Option<Reason>,
    now: Break,
}

impl Train {
    /// A train whose first break begins.
    pub(crate) fn new(at: Nanos) -> Train {
        Train { pulses: 0, wrong: None, now: Break { start: at, part: at, cut: None, cuts: 0, unseen: false } }
    }

    /// It can give no digit any more; the first reason stays.
    pub(crate) fn reject(&mut self, reason: Reason) {
        self.wrong = self.wrong.or(Some(reason));
    }

    /// The next break begins, after a make of this length.
    pub(crate) fn open(&mut self, at: Nanos, make: Nanos, timing: &Timing) {
        if make > timing.longest_make {
            self.reject(Reason::LongMake);
        }
        self.now = Train::new(at).now;
    }

    /// Samples lay so far apart that a make of this break may be overlooked.
    pub(crate) fn unseen(&mut self) {
        self.now.unseen = true;
    }

    /// One closed sample between two open ones: bounce, or a short make.
    pub(crate) fn contrary(&mut self, at: Nanos, timing: &Timing) {
        if at.saturating_sub(self.now.part) < timing.shortest_part {
            return;
        }
        match self.now.cut {
            Some(cut) if at.saturating_sub(cut) < timing.shortest_part => {}
            Some(cut) => {
                self.cut(cut, timing);
                self.now.cut = Some(at);
            }
            None => self.now.cut = Some(at),
        }
    }

    fn cut(&mut self, at: Nanos, timing: &Timing) {
        if at.saturating_sub(self.now.part) > timing.longest_break {
            self.reject(Reason::LongBreak);
        }
        self.now.part = at;
        self.now.cuts = self.now.cuts.saturating_add(1);
    }

    /// For how long the line has been open without a sign of the contrary.
    pub(crate) fn open_for(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.now.cut.unwrap_or(self.now.part))
    }

    /// The break ends: one pulse, or several where it was cut.
    pub(crate) fn close(&mut self, at: Nanos, timing: &Timing) {
        if let Some(cut) = self.now.cut.filter(|cut| at.saturating_sub(*cut) >= timing.shortest_part) {
            self.cut(cut, timing);
        }
        let (whole, last) = (at.saturating_sub(self.now.start), at.saturating_sub(self.now.part));
        if last > timing.longest_break {
            self.reject(Reason::LongBreak);
        } else if whole < timing.shortest_break {
            self.reject(Reason::ShortBreak);
        }
        // As long as one break of a slow dial or two of a fast one: not to be told apart.
        let doubtful = self.now.cuts > 0 && whole <= timing.longest_break;
        if doubtful || (self.now.unseen && whole >= timing.doubtful_break) {
            self.reject(Reason::Doubtful);
        }
        self.pulses = self.pulses.saturating_add(1).saturating_add(self.now.cuts);
    }

    /// The dial rests: how many pulses there were.
    pub(crate) fn end(&self) -> Result<u8, Reason> {
        match self.wrong {
            Some(reason) => Err(reason),
            None if self.pulses > 10 => Err(Reason::TooMany),
            None => Ok(self.pulses),
        }
    }

    /// How many pulses there are so far.
    pub(crate) fn pulses(&self) -> u8 {
        self.pulses
    }
}
