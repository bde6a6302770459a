//! The lines of an application. It drives an [`Out`] and samples an [`In`], and does not see whether behind them is a GPIO line or,
//! where there is no hardware, a [`wire`] in memory.
//!
//! ```
//! use punctual_wires::{Place, wire};
//!
//! assert_eq!("gpiochip0:17".parse(), Ok(Place::Offset { chip: "gpiochip0".into(), line: 17 }));
//! assert_eq!("GPIO17".parse(), Ok(Place::Named("GPIO17".into())));
//! assert_eq!("sim".parse(), Ok(Place::Simulated));
//!
//! let (mut out, input, mut edges) = wire(16)?;
//! out.set(true)?;
//! assert!(input.value()?);
//! assert!(edges.receive().unwrap().level);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Architecture invariant: [`Out::set`] and [`In::value`] allocate nothing, lock nothing, and make one system call at most.

#![forbid(unsafe_code)]

mod place;
mod pull;
mod simulated;

pub use place::{BadPlace, Place};
pub use pull::Pull;
pub use punctual_gpio::{Bias, GpioError};
pub use simulated::{EdgeAt, SimIn, SimOut, wire};

use punctual_gpio::{Input, Output};

/// A line that is driven.
#[derive(Debug)]
pub enum Out {
    /// A GPIO line.
    Gpio(Output),
    /// The pull of a line of gpio-sim.
    Pull(Pull),
    /// One end of a [`wire`].
    Simulated(SimOut),
}

impl Out {
    /// Drives it. A GPIO line: one ioctl(2); a pull: one pwrite(2); a wire: two atomic stores and a clock read.
    ///
    /// # Errors
    /// A GPIO line's chip was removed, or its driver refuses.
    pub fn set(&mut self, level: bool) -> Result<(), GpioError> {
        match self {
            Out::Gpio(line) => line.set(level),
            Out::Pull(pull) => pull.set(level),
            Out::Simulated(wire) => {
                wire.set(level);
                Ok(())
            }
        }
    }
}

/// A line that is sampled.
#[derive(Debug)]
pub enum In {
    /// A GPIO line.
    Gpio(Input),
    /// One end of a [`wire`].
    Simulated(SimIn),
}

impl In {
    /// Its logical value now. A GPIO line: one ioctl(2); a wire: one atomic load.
    ///
    /// # Errors
    /// A GPIO line's chip was removed, or its driver refuses.
    pub fn value(&self) -> Result<bool, GpioError> {
        match self {
            In::Gpio(line) => line.value(),
            In::Simulated(wire) => Ok(wire.value()),
        }
    }
}
