use crate::book::Book;
use crate::collector::{Collector, Outcome};
use crate::counts::{LineCounts, count};
use crate::decoder::{Decoder, Heard, State};
use crate::digits::DigitMap;
use crate::event::{LineEvent, What};
use crate::train::{Reason, Timing};
use punctual_rt::{Line, Next, RtSender, Sender, monotonic};
use punctual_units::Nanos;
use punctual_wires::{GpioError, In};
use std::sync::{Arc, Mutex, PoisonError};

/// Number of consecutive failures to read a line (one second) after which the loop ends.
const MAX_UNREAD: u32 = 100;

/// Longest time for one read. If it takes longer, the thread was preempted, so it is not known when the level was read,
/// and the sample is discarded.
const UNSURE: Nanos = Nanos::from_millis(2);

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
    /// Creates a line. `input` must be true while the contact is closed. A number ends if no digit follows within
    /// `pause`.
    pub fn new(input: In, map: DigitMap, book: Book, timing: Timing, pause: Nanos) -> ExchangeLine {
        let (decoder, collector) = (Decoder::new(timing), Collector::new(pause));
        ExchangeLine { input, decoder, collector, map, book, counts: Arc::default(), unread: 0 }
    }

    pub fn counts(&self) -> Arc<LineCounts> {
        self.counts.clone()
    }

    fn sample(&mut self, now: Nanos, closed: bool, mut report: impl FnMut(What)) {
        count(&self.counts.samples);
        let heard = self.decoder.sample(now, closed);
        let outcome = match heard {
            Some(heard) => self.heard(now, heard, &mut report),
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
        report(what);
    }

    fn heard(&mut self, now: Nanos, heard: Heard, report: &mut impl FnMut(What)) -> Option<Outcome> {
        let counts = &self.counts;
        match heard {
            Heard::Lifted => {
                count(&counts.lifted);
                report(What::Lifted);
                None
            }
            Heard::HungUp { cut } => {
                if cut {
                    counts.reject(Reason::HungUp);
                    report(What::Rejected(Reason::HungUp));
                }
                count(&counts.hung_up);
                report(What::HungUp);
                self.collector.hang_up()
            }
            Heard::Blind => {
                count(&counts.blind);
                report(What::Blind);
                self.collector.spoil(now)
            }
            Heard::Rejected(reason) => {
                counts.reject(reason);
                report(What::Rejected(reason));
                self.collector.spoil(now)
            }
            Heard::Pulses(pulses) => {
                let digit = self.map.digit(pulses)?;
                count(&counts.digits);
                report(What::Digit(digit));
                self.collector.digit(now, digit, &self.book)
            }
        }
    }
}

#[derive(Debug)]
pub struct Exchange {
    lines: Vec<ExchangeLine>,
    commands: RtSender<Line>,
    events: Sender<LineEvent>,
    failure: Arc<Mutex<Option<(usize, GpioError)>>>,
}

impl Exchange {
    /// Creates an exchange. Commands are written to the pipe; events are sent to `events` if there is room.
    pub fn new(lines: Vec<ExchangeLine>, commands: RtSender<Line>, events: Sender<LineEvent>) -> Exchange {
        Exchange { lines, commands, events, failure: Arc::default() }
    }

    /// Returns a shared reference to the index and the error of a line that could not be read for a second, if there is
    /// one.
    pub fn failure(&self) -> Arc<Mutex<Option<(usize, GpioError)>>> {
        self.failure.clone()
    }

    /// Samples every line once. The body of a periodic task calls it at 100 Hz.
    pub fn cycle(&mut self) -> Next {
        self.cycle_by(monotonic)
    }

    /// Like [`Exchange::cycle`], but with another clock, which must be monotonic.
    pub fn cycle_by(&mut self, clock: impl Fn() -> Nanos) -> Next {
        let Exchange { lines, commands, events, failure } = self;
        for (index, line) in lines.iter_mut().enumerate() {
            let before = clock();
            let closed = match line.input.value() {
                Ok(closed) => closed,
                Err(error) => {
                    count(&line.counts.unread);
                    line.unread += 1;
                    if line.unread < MAX_UNREAD {
                        continue;
                    }
                    // This is the last thing the loop does, so it may lock and free memory.
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
                // Both queues drop and count values for which there is no room.
                if let What::Command(_, command) = what {
                    let _ = commands.send(command);
                }
                let _ = events.send(LineEvent { line: index, at, what });
            });
        }
        Next::Continue
    }
}
