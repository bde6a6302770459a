//! Decodes the dials of rotary telephones.
//!
//! - [`Decoder`]: decodes the samples of a line, each with a time and a level, into digits, hang-ups and rejections;
//! - [`DigitMap`], [`Book`], [`Collector`]: map pulses to digits, digits to numbers, and numbers to commands;
//! - [`Dial`], [`Script`]: play a dial on a line, for tests and for use without hardware;
//! - [`Exchange`]: samples all lines in one real-time loop; [`run`]: the program that uses it.
//!
//! Architecture invariant: [`Exchange::cycle`] neither allocates, locks nor prints while the lines can be read.

#![forbid(unsafe_code)]

mod book;
mod collector;
mod config;
mod counts;
mod decoder;
mod digits;
mod error;
mod event;
mod exchange;
mod lines;
mod options;
mod play;
mod program;
mod random;
mod report;
mod running;
mod script;
mod start;
mod survey;
mod train;
mod trial;

pub use book::{Book, BookError, Entry, Found, MAX_DIGITS};
pub use collector::{Collector, Number, Outcome};
pub use config::{Config, LineConfig, PIPE, Pull};
pub use counts::{Counts, LineCounts};
pub use decoder::{Decoder, Heard, State};
pub use digits::{DigitMap, NoMap};
pub use error::{Error, UsageError};
pub use event::{LineEvent, What};
pub use exchange::{Exchange, ExchangeLine};
pub use lines::Contact;
pub use options::{Asked, HELP, Options, Simulation, parse};
pub use play::{Change, Dial, Play};
pub use program::run;
pub use random::Random;
pub use report::{LineReport, Report};
pub use script::{NoScript, Script, Step};
pub use train::{Reason, Timing};
pub use trial::{PERIOD, Sampling, Tried, listen};
