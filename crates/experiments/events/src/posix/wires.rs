//! Sends events through external loopbacks: GPIO lines and a serial port.

use super::Posix;
use super::deliver::Times;
use super::takers::{Bytes, Edges};
use crate::backend::{Answer, NotRun, Plan};
use punctual_gpio::sim::SimChip;
use punctual_gpio::{Chip, Event, EventClock, GpioError, Line, MAX_BUFFERED, Output, settle};
use punctual_measure::Serial;
use punctual_units::Nanos;
use rustix::io::{Errno, write};
use std::str::FromStr;
use std::sync::Arc;

/// Time limit for the interrupt's thread to become ready.
const SETTLED: Nanos = Nanos::from_millis(500);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wires {
    /// Two GPIO lines connected by a wire, or a simulated wire.
    pub gpio: Option<GpioWire>,
    /// An unused serial port, which is switched to loopback mode.
    pub serial: Option<String>,
}

/// The connection between a GPIO output line and a GPIO input line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpioWire {
    /// A simulated wire (gpio-sim).
    Simulated,
    /// Two lines of one chip: `CHIP:OUT,IN` on the command line.
    Lines {
        /// Name, label or path of the chip.
        chip: String,
        out: u32,
        input: u32,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not a GPIO wire: use CHIP:OUT,IN, for example gpiochip0:17,27 (lines joined by a wire), or sim (gpio-sim)"
)]
pub struct WiresError(String);

impl FromStr for GpioWire {
    type Err = WiresError;

    fn from_str(text: &str) -> Result<GpioWire, WiresError> {
        if text == "sim" {
            return Ok(GpioWire::Simulated);
        }
        let wire = || {
            let (chip, lines) = text.rsplit_once(':')?;
            let (out, input) = lines.split_once(',')?;
            let (out, input) = (out.trim().parse().ok()?, input.trim().parse().ok()?);
            (!chip.is_empty() && out != input).then(|| GpioWire::Lines { chip: chip.into(), out, input })
        };
        wire().ok_or_else(|| WiresError(text.escape_debug().to_string()))
    }
}

fn failed(e: GpioError) -> NotRun {
    NotRun::Failed(e.to_string())
}

/// Converts an error to an errno, for the sending thread.
fn errno(_: GpioError) -> Errno {
    Errno::IO
}

impl Posix {
    /// Sends alternating rising and falling edges.
    pub(super) fn gpio(&self, plan: &Plan<'_>) -> Answer {
        let none =
            || "no wire was given: use --gpio CHIP:OUT,IN (two joined lines) or --gpio sim (gpio-sim)".to_owned();
        let times = Times::new();
        match self.wires.gpio.as_ref().ok_or_else(|| NotRun::Unsupported(none()))? {
            GpioWire::Simulated => {
                let name = format!("punctual-events-{}", std::process::id());
                // If this fails, the kernel has no gpio-sim.
                let chip = SimChip::new(&name, &["in"]).map_err(|e| NotRun::Unsupported(e.to_string()))?;
                chip.pull(0, false).map_err(failed)?;
                let line = edges(&chip.open().map_err(failed)?, 0, &times)?;
                let chip = Arc::new(chip);
                let theirs = chip.clone();
                self.deliver_at(plan, times, line, move |n| {
                    theirs.pull(0, n.is_multiple_of(2)).map(|()| true).map_err(errno)
                })
            }
            GpioWire::Lines { chip, out, input } => {
                let chip = Chip::find(chip).map_err(failed)?;
                let output = Output::new(&chip, *out, false).map_err(failed)?;
                let line = edges(&chip, *input, &times)?;
                self.deliver_at(plan, times, line, move |n| {
                    output.set(n.is_multiple_of(2)).map(|()| true).map_err(errno)
                })
            }
        }
    }

    /// Sends bytes through a port in loopback mode, which receives them itself.
    pub(super) fn serial(&self, plan: &Plan<'_>) -> Answer {
        let none = || {
            "no port was given: use for example --serial /dev/ttyS1 (grep -v unknown /proc/tty/driver/serial lists the ports)".to_owned()
        };
        let path = self.wires.serial.as_ref().ok_or_else(|| NotRun::Unsupported(none()))?;
        let port = Arc::new(Serial::open(path, plan.interval).map_err(|e| NotRun::Failed(e.to_string()))?);
        let theirs = port.clone();
        let notes = port.notes.clone();
        let taker = Bytes { fd: port, next: 0 };
        let observed = self.deliver(plan, taker, move |n| match write(&*theirs, &[n as u8]) {
            Ok(1) => Ok(true),
            Ok(_) | Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(errno),
        });
        observed.map(|mut observed| {
            observed.notes.extend(notes);
            observed
        })
    }
}

fn edges(chip: &Chip, offset: u32, times: &Times) -> Result<Edges, NotRun> {
    let both = punctual_gpio::Edges::Both;
    let line = Line::edges(chip, offset, both, MAX_BUFFERED, EventClock::Monotonic).map_err(failed)?;
    // If the thread does not become ready, edges may be merged at first, which is counted.
    settle(SETTLED);
    Ok(Edges { line, events: vec![Event::default(); 64], times: times.clone(), last: 0, next: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wire_is_read() {
        let lines = |chip: &str| Ok(GpioWire::Lines { chip: chip.into(), out: 17, input: 27 });
        assert_eq!("gpiochip0:17,27".parse(), lines("gpiochip0"));
        assert_eq!("/dev/gpiochip4:17,27".parse(), lines("/dev/gpiochip4"));
        assert_eq!("sim".parse(), Ok(GpioWire::Simulated));
        for bad in ["", "gpiochip0", "gpiochip0:17", ":1,2", "gpiochip0:3,3", "c:1,-2", "c:1,2,3"] {
            assert!(bad.parse::<GpioWire>().is_err_and(|e| e.to_string().contains("CHIP:OUT,IN")), "{bad}");
        }
    }
}
