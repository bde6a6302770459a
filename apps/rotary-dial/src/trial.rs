//! Measures how reliably the decoder works by playing dials to it in simulated time.

use crate::decoder::{Decoder, Heard};
use crate::digits::DigitMap;
use crate::play::{Dial, Play};
use crate::random::Random;
use crate::script::Script;
use crate::train::{Reason, Timing};
use punctual_units::Nanos;

/// How the line is sampled: every 10 ms, with random lateness and losses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampling {
    /// Maximum lateness of a sample; the lateness is uniformly distributed.
    pub lateness: Nanos,
    pub lost_per_million: u64,
}

pub const PERIOD: Nanos = Nanos::from_millis(10);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub numbers: u64,
    pub digits: u64,
    pub right: u64,
    pub rejected: [u64; Reason::ALL.len()],
    /// Number of times that samples were missing while the dial was at rest, or a hang-up was detected within a digit.
    pub blind: u64,
    /// Numbers in which a digit was decoded wrongly or twice, or for which the decoder reported nothing: what was
    /// dialled and what was decoded.
    pub wrong: Vec<String>,
}

impl Tried {
    pub fn rejected(&self) -> u64 {
        self.rejected.iter().sum()
    }

    pub fn dial(&mut self, digits: &[u8], dial: &Dial, sampling: &Sampling, random: &mut Random) {
        let play = Play::call(&Script::of_digits(digits), DigitMap::Usual, dial, random);
        let heard = listen(&play, sampling, random);
        self.numbers += 1;
        self.digits += digits.len() as u64;
        let mut answers = vec![None; digits.len()];
        let (mut wrong, mut blind) = (false, 0);
        for (at, heard) in &heard {
            // An event belongs to the last digit that ended before it.
            let index = play.digits.iter().rposition(|(_, end)| end <= at);
            match heard {
                Heard::Pulses(pulses) => {
                    let dialled = index.and_then(|index| digits.get(index)).copied();
                    wrong |= dialled.is_none() || DigitMap::Usual.digit(*pulses) != dialled;
                    wrong |= index.and_then(|i| answers.get_mut(i)).and_then(|place| place.replace(true)).is_some();
                }
                Heard::Rejected(reason) => {
                    self.rejected[*reason as usize] += 1;
                    index.and_then(|i| answers.get_mut(i)).and_then(|place| place.get_or_insert(false).then_some(()));
                }
                Heard::Blind | Heard::HungUp { cut: true } => blind += 1,
                Heard::Lifted | Heard::HungUp { cut: false } => {}
            }
        }
        self.blind += blind;
        self.right += answers.iter().filter(|answer| **answer == Some(true)).count() as u64;
        // A digit without any event changes the number.
        wrong |= blind == 0 && answers.contains(&None);
        if wrong {
            self.wrong.push(format!("{digits:?} with {dial:?}: {heard:?}"));
        }
    }
}

/// Returns the events that the decoder reports for a play, with their times.
pub fn listen(play: &Play, sampling: &Sampling, random: &mut Random) -> Vec<(Nanos, Heard)> {
    let mut decoder = Decoder::new(Timing::default());
    let mut changes = play.changes.iter().peekable();
    let (mut closed, mut heard) = (false, Vec::new());
    let mut grid = Nanos(random.up_to(PERIOD.0 - 1));
    while grid < play.end {
        let at = grid + Nanos(random.up_to(sampling.lateness.0));
        grid = grid + PERIOD;
        if sampling.lost_per_million > 0 && random.up_to(999_999) < sampling.lost_per_million {
            continue;
        }
        while let Some(change) = changes.next_if(|change| change.at <= at) {
            closed = change.closed;
        }
        heard.extend(decoder.sample(at, closed).map(|what| (at, what)));
    }
    heard
}
