//! Computes the state of a dial's contact over time, including bounce.

use crate::digits::DigitMap;
use crate::random::Random;
use crate::script::{Script, Step};
use punctual_units::Nanos;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dial {
    /// Pulses per second: 10 nominally, 7 to 12 in practice.
    pub pulses_per_second: f64,
    /// The share of a pulse during which the contact is closed, 0 to 1; nominally 0.4 or 0.33.
    pub make: f64,
    /// Time for which the contact bounces after each change.
    pub bounce: Nanos,
    /// Time for which the contact is closed between digits. Winding up a dial takes 200 to 800 ms.
    pub pause: Nanos,
}

impl Default for Dial {
    fn default() -> Dial {
        Dial { pulses_per_second: 10.0, make: 0.4, bounce: Nanos::from_millis(3), pause: Nanos::from_millis(600) }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub at: Nanos,
    pub closed: bool,
}

/// All changes of the contact, ordered by time. It is initially open.
#[derive(Clone, Debug, Default)]
pub struct Play {
    /// Consecutive changes always differ in level, and times never decrease.
    pub changes: Vec<Change>,
    /// For each digit, the start of its first pulse and the end of its last make.
    pub digits: Vec<(Nanos, Nanos)>,
    pub end: Nanos,
}

impl Play {
    /// Creates a whole call: on hook for 300 ms, then lifted; the script is dialled 600 ms later; then the line is
    /// closed for 500 ms and hung up for 400 ms.
    pub fn call(script: &Script, map: DigitMap, dial: &Dial, random: &mut Random) -> Play {
        let mut play = Play { end: Nanos::from_millis(300), ..Play::default() };
        play.lift(dial, random);
        for step in script.steps() {
            match step {
                Step::Digit(digit) => {
                    play.digit(map.pulses(*digit).unwrap_or_default(), dial, random);
                    play.wait(dial.pause);
                }
                Step::HangUp => {
                    play.set(false, dial, random);
                    play.wait(Nanos::from_millis(600));
                    play.lift(dial, random);
                }
                Step::Pause => play.wait(Nanos::from_secs(1)),
            }
        }
        play.wait(Nanos::from_millis(500));
        play.set(false, dial, random);
        play.wait(Nanos::from_millis(400));
        play
    }

    fn lift(&mut self, dial: &Dial, random: &mut Random) {
        self.set(true, dial, random);
        self.wait(Nanos::from_millis(600));
    }

    /// Adds the pulses of one digit: open, closed, open, …, closed.
    pub fn digit(&mut self, pulses: u8, dial: &Dial, random: &mut Random) {
        let period = 1e9 / dial.pulses_per_second.clamp(0.1, 1000.0);
        let make = period * dial.make.clamp(0.0, 1.0);
        let start = self.end;
        for _ in 0..pulses {
            self.set(false, dial, random);
            self.wait(Nanos((period - make) as u64));
            self.set(true, dial, random);
            self.wait(Nanos(make as u64));
        }
        self.digits.push((start, self.end));
    }

    pub fn wait(&mut self, time: Nanos) {
        self.end = self.end + time;
    }

    pub fn set(&mut self, closed: bool, dial: &Dial, random: &mut Random) {
        // A bounce longer than its part of the pulse delays the next change.
        let mut at = self.changes.last().map_or(self.end, |last| last.at.max(self.end));
        let until = at + dial.bounce;
        self.changes.push(Change { at, closed });
        // Up to three bounces, each for a random part of the remaining time.
        for _ in 0..random.up_to(3) {
            let back = at + Nanos(random.up_to((until - at).0));
            let forth = back + Nanos(random.up_to((until - back).0));
            self.changes.extend([Change { at: back, closed: !closed }, Change { at: forth, closed }]);
            at = forth;
        }
    }
}
