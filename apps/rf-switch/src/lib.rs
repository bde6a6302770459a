//! `rf-switch`: switches 433.92 MHz sockets (Nexa, Arctech code switch) through a transmitter on a GPIO line. Commands
//! are written to a FIFO: `echo d21 > /run/punctual/rtp1`.
//!
//! ```text
//! FIFO ─▶ tap ─▶ command ─▶ intake ─ring─▶ transmit ─▶ line        the transmitter is real-time, everything else ordinary
//!                 pending file ◀─┘ ◀─rings─┘ edges, what is done ─▶ figures, report, ook
//! ```
//!
//! Architecture invariant: the transmitter's thread ([`transmit`]) touches no FIFO and no file and does not allocate.
//! It uses alarms that are absolute from the start of the bit ([`waveform`]).

#![forbid(unsafe_code)]

pub mod capture;
pub mod code;
pub mod command;
pub mod daemon;
pub mod error;
pub mod fifo;
pub mod figures;
pub mod intake;
pub mod lateness;
pub mod ook;
pub mod options;
pub mod pending;
pub mod print;
pub mod report;
pub mod rtl433;
pub mod start;
pub mod station;
pub mod tap;
pub mod transmit;
pub mod trial;
pub mod warnings;
pub mod waveform;

use error::Error;
use options::What;
use punctual_rt::monotonic;
use std::ffi::OsString;

pub const HELP: &str = include_str!("help.txt");

/// Runs the program with the arguments after its name; prints to stdout and stderr.
///
/// # Errors
/// [`Error`], whose [`Error::code`] is the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> Result<(), Error> {
    let options = options::parse(words)?;
    match &options.what {
        What::Help => print::print(HELP),
        What::Version => print::print(concat!("rf-switch ", env!("CARGO_PKG_VERSION"), "\n")),
        What::Stamp(codes) => {
            for code in codes {
                print::print(&format!("{}\n", command::Command { code: *code, stamp: Some(monotonic()) }));
            }
        }
        What::LatenessTable => {
            let rows = lateness::table(&lateness::ROWS, &options.timing)?;
            print::print(&lateness::text(&rows, options.json));
        }
        What::Decode(path) => print::print(&rtl433::table(&rtl433::decode(path)?, options.json)),
        What::Daemon => daemon::daemon(&options, &daemon::Signals::block()?)?,
        What::OneShot(codes) => daemon::one_shot(&options, codes, &daemon::Signals::block()?)?,
        What::Trial(loads) => trial::trial(&options, loads, &daemon::Signals::block()?)?,
    }
    Ok(())
}
