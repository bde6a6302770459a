use crate::book::{Book, Found, MAX_DIGITS};
use punctual_rt::Line;
use punctual_units::Nanos;
use std::fmt;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Number {
    digits: [u8; MAX_DIGITS],
    length: u8,
}

impl Number {
    /// Returns the digits, each 0 to 9.
    pub fn digits(&self) -> &[u8] {
        self.digits.get(..self.length.into()).unwrap_or_default()
    }

    fn push(&mut self, digit: u8) {
        if let Some(place) = self.digits.get_mut(usize::from(self.length)) {
            *place = digit;
            self.length += 1;
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits().iter().try_for_each(|digit| write!(f, "{digit}"))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Command(Number, Line),
    /// No entry equals this number or starts with it. Further digits belong to it until the caller pauses or hangs up.
    Unknown(Number),
    /// A number that was started but not completed: the caller hung up or paused, or one of its digits was rejected.
    Dropped(Number),
}

/// Collects the digits of one line. Does not allocate.
#[derive(Clone, Debug)]
pub struct Collector {
    pause: Nanos,
    number: Number,
    /// True if the digits being dialled can no longer become a number.
    spoiled: bool,
    since: Nanos,
}

impl Collector {
    /// Creates a collector in which a number ends if no digit follows within `pause`.
    pub fn new(pause: Nanos) -> Collector {
        Collector { pause, number: Number::default(), spoiled: false, since: Nanos::ZERO }
    }

    /// Adds the next digit, 0 to 9, which ended at `at`. Returns the outcome if that ends a number.
    pub fn digit(&mut self, at: Nanos, digit: u8, book: &Book) -> Option<Outcome> {
        self.since = at;
        if self.spoiled {
            return None;
        }
        self.number.push(digit);
        match book.find(self.number.digits()) {
            Found::Number { entry, longer: false } => Some(Outcome::Command(self.take(), entry.command())),
            Found::Nothing => {
                self.spoiled = true;
                Some(Outcome::Unknown(std::mem::take(&mut self.number)))
            }
            Found::Number { longer: true, .. } | Found::Begun => None,
        }
    }

    /// Reports that a digit was rejected, or may have been missed, so that the number to which it belongs is invalid.
    pub fn spoil(&mut self, at: Nanos) -> Option<Outcome> {
        (self.since, self.spoiled) = (at, true);
        let number = std::mem::take(&mut self.number);
        (number.length > 0).then_some(Outcome::Dropped(number))
    }

    pub fn hang_up(&mut self) -> Option<Outcome> {
        let number = self.take();
        (number.length > 0).then_some(Outcome::Dropped(number))
    }

    /// Advances the time to `now`. While a digit is being dialled (`dialling`), no number ends. Returns the outcome if
    /// a number has ended.
    pub fn pass(&mut self, now: Nanos, dialling: bool, book: &Book) -> Option<Outcome> {
        if dialling {
            // The pause counts from the end of the current digit.
            self.since = now;
            return None;
        }
        if now.saturating_sub(self.since) < self.pause {
            return None;
        }
        let number = self.take();
        match book.find(number.digits()) {
            _ if number.length == 0 => None,
            Found::Number { entry, .. } => Some(Outcome::Command(number, entry.command())),
            Found::Begun | Found::Nothing => Some(Outcome::Dropped(number)),
        }
    }

    fn take(&mut self) -> Number {
        self.spoiled = false;
        std::mem::take(&mut self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Nanos {
        Nanos::from_millis(n)
    }

    fn dial(digits: &[u8], book: &Book) -> (Collector, Vec<String>) {
        let mut collector = Collector::new(ms(4000));
        let outcomes = digits.iter().enumerate().filter_map(|(n, digit)| {
            let outcome = collector.digit(ms(n as u64 * 1000), *digit, book);
            outcome.map(text)
        });
        let outcomes = outcomes.collect();
        (collector, outcomes)
    }

    fn text(outcome: Outcome) -> String {
        match outcome {
            Outcome::Command(number, line) => format!("{number} {}", String::from_utf8_lossy(line.as_bytes())),
            Outcome::Unknown(number) => format!("{number} unknown"),
            Outcome::Dropped(number) => format!("{number} dropped"),
        }
    }

    #[test]
    fn numbers_follow_each_other_without_a_pause() {
        let book = Book::default();
        assert_eq!(dial(&[4, 2, 1, 4, 2, 0, 4], &book).1, ["421 d21", "420 d20"]);
    }

    #[test]
    fn a_wrong_number_does_not_end_in_a_right_one() {
        let book = Book::default();
        let (mut collector, outcomes) = dial(&[9, 4, 2, 1], &book);
        assert_eq!(outcomes, ["9 unknown"]);
        assert_eq!(collector.pass(ms(8000), false, &book), None);
        let outcomes: Vec<_> =
            [4, 2, 0].iter().filter_map(|d| collector.digit(ms(8000), *d, &book).map(text)).collect();
        assert_eq!(outcomes, ["420 d20"]);
    }

    #[test]
    fn hanging_up_clears() {
        let book = Book::default();
        let (mut collector, _) = dial(&[4, 2], &book);
        assert_eq!(collector.hang_up().map(text), Some("42 dropped".into()));
        assert_eq!(collector.digit(ms(9000), 1, &book).map(text), Some("1 unknown".into()));
        assert_eq!(collector.hang_up(), None);
    }

    #[test]
    fn a_number_that_others_begin_with_waits_for_the_pause() {
        let book = Book::new(vec!["42=short".parse().unwrap(), "421=long".parse().unwrap()]).unwrap();
        let (mut collector, outcomes) = dial(&[4, 2], &book);
        assert_eq!(outcomes, Vec::<String>::new());
        assert_eq!(collector.pass(ms(4999), false, &book), None);
        assert_eq!(collector.pass(ms(4999), true, &book), None);
        assert_eq!(collector.pass(ms(8998), false, &book), None);
        assert_eq!(collector.pass(ms(8999), false, &book).map(text), Some("42 short".into()));
    }

    #[test]
    fn a_number_with_a_rejected_digit_is_none() {
        let book = Book::default();
        let (mut collector, _) = dial(&[4], &book);
        assert_eq!(collector.spoil(ms(1000)).map(text), Some("4 dropped".into()));
        for digit in [2, 1, 4, 2, 1] {
            assert_eq!(collector.digit(ms(2000), digit, &book), None);
        }
        assert_eq!(collector.pass(ms(6000), false, &book), None);
        assert_eq!(collector.digit(ms(6000), 4, &book), None);
        assert_eq!(collector.digit(ms(6000), 2, &book), None);
        assert_eq!(collector.digit(ms(6000), 1, &book).map(text), Some("421 d21".into()));
    }
}
