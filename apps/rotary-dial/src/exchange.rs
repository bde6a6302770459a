//! All lines in one real-time loop.

use crate::book::Book;
use crate::collector::{Collector, Outcome};
use crate::counts::{LineCounts, count};
use crate::decoder::{Decoder, Heard, State};
use crate::digits::DigitMap;
use crate::told::{Told, What};
use crate::train::{Reason, Timing};
use punctual_rt::{Line, Next, RtSender, Sender, monotonic};
use punctual_units::Nanos;
use punctual_wires::{GpioError, In};
use std::sync::{Arc, Mutex, PoisonError};

/// A line that cannot be read for so many samples in a row ends the loop: a second.
const MOST_UNREAD: u32 = 100;

/// A reading that took longer was preempted: nobody knows when the level was so, and it counts as lost.
const UNSURE: Nanos = Nanos::from_millis(2);

/// One line of an [`Exchange`].
#[derive(Debug)]
pub struct ExchangeLine {
    input: In,
    decoder: Decoder,
    collector: Collector,
    map: DigitMap,
    book: Book,
    counts: Arc<LineCounts>,
    unread: u32,
}

impl ExchangeLine {
    /// A line whose `input` is true while its contact is closed. A number ends where no digit follows for `pause`.
    pub fn new(input: In, map: DigitMap, book: Book, timing: Timing, pause: Nanos) -> ExchangeLine {
        let (decoder, collector) = (Decoder::new(timing), Collector::new(pause));
        ExchangeLine { input, decoder, collector, map, book, counts: Arc::default(), unread: 0 }
    }

    /// Its counters.
    pub fn counts(&self) -> Arc<LineCounts> {
        self.counts.clone()
    }

    /// Takes a sample of it.
    fn sample(&mut self, now: Nanos, closed: bool, mut tell: impl FnMut(What)) {
        count(&self.counts.samples);
        let heard = self.decoder.sample(now, closed);
        let outcome = match heard {
            Some(heard) => self.heard(now, heard, &mut tell),
            None => {
                let dialling = matches!(self.decoder.state(), State::Break | State::Make);
                self.collector.pass(now, dialling, &self.book)
            }
        };
        let (counter, what) = match outcome {
            Some(Outcome::Command(number, line)) => (&self.counts.commands, What::Command(number, line)),
            Some(Outcome::Unknown(number)) => (&self.counts.unknown, What::Unknown(number)),
            Some(Outcome::Dropped(number)) => (&self.counts.dropped, What::Dropped(number)),
            None => return,
        };
        count(counter);
        tell(what);
    }

    fn heard(&mut self, now: Nanos, heard: Heard, tell: &mut impl FnMut(What)) -> Option<Outcome> {
        let counts = &self.counts;
        match heard {
            Heard::Lifted => {
                count(&counts.lifted);
                tell(What::Lifted);
                None
            }
            Heard::HungUp { cut } => {
                if cut {
                    counts.reject(Reason::HungUp);
                    tell(What::Rejected(Reason::HungUp));
                }
                count(&counts.hung_up);
                tell(What::HungUp);
                self.collector.hang_up()
            }
            Heard::Blind => {
                count(&counts.blind);
                tell(What::Blind);
                self.collector.spoil(now)
            }
            Heard::Rejected(reason) => {
                counts.reject(reason);
                tell(What::Rejected(reason));
                self.collector.spoil(now)
            }
            Heard::Pulses(pulses) => {
                let digit = self.map.digit(pulses)?;
                count(&counts.digits);
                tell(What::Digit(digit));
                self.collector.digit(now, digit, &self.book)
            }
        }
    }
}

/// All lines, and where their commands go.
#[derive(Debug)]
pub struct Exchange {
    lines: Vec<ExchangeLine>,
    commands: RtSender<Line>,
    told: Sender<Told>,
    failure: Arc<Mutex<Option<(usize, GpioError)>>>,
}

impl Exchange {
    /// These lines; commands go into the pipe, and what happens is told where there is room for it.
    pub fn new(lines: Vec<ExchangeLine>, commands: RtSender<Line>, told: Sender<Told>) -> Exchange {
        Exchange { lines, commands, told, failure: Arc::default() }
    }

    /// Where the loop leaves the number of a line that could not be read for a second, and why.
    pub fn failure(&self) -> Arc<Mutex<Option<(usize, GpioError)>>> {
        self.failure.clone()
    }

    /// Samples every line once. For the body of a periodic task of 100 Hz.
    pub fn cycle(&mut self) -> Next {
        self.cycle_by(monotonic)
    }

    /// The same with a clock that is given; it must not go back.
    pub fn cycle_by(&mut self, clock: impl Fn() -> Nanos) -> Next {
        let Exchange { lines, commands, told, failure } = self;
        for (index, line) in lines.iter_mut().enumerate() {
            let before = clock();
            let closed = match line.input.value() {
                Ok(closed) => closed,
                Err(error) => {
                    count(&line.counts.unread);
                    line.unread += 1;
                    if line.unread < MOST_UNREAD {
                        continue;
                    }
                    // The last thing the loop does: it may lock and free.
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some((index, error));
                    return Next::Stop;
                }
            };
            line.unread = 0;
            let at = clock();
            if at.saturating_sub(before) > UNSURE {
                count(&line.counts.unread);
                continue;
            }
            line.sample(at, closed, |what| {
                // Both drop and count what finds no room.
                if let What::Command(_, command) = what {
                    let _ = commands.send(command);
                }
                let _ = told.send(Told { line: index, at, what });
            });
        }
        Next::Continue
    }
}
