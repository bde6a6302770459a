//! The lines of an application. The application drives an [`Out`] and samples an [`In`]; each is a GPIO line or,
//! without hardware, one end of a [`wire`] in memory.
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
//! Architecture invariant: [`Out::set`] and [`In::value`] neither allocate nor lock, and make at most one system call.

#![forbid(unsafe_code)]

mod place;
mod pull;
mod simulated;

pub use place::{BadPlace, Place};
pub use pull::Pull;
pub use punctual_gpio::{Bias, GpioError};
pub use simulated::{EdgeAt, SimIn, SimOut, wire};

use punctual_gpio::{Input, Output};

#[derive(Debug)]
pub enum Out {
    Gpio(Output),
    /// The pull attribute of a gpio-sim line.
    Pull(Pull),
    /// The driven end of a [`wire`].
    Simulated(SimOut),
}

impl Out {
    /// Drives the line. This takes one ioctl(2) for a GPIO line, one pwrite(2) for a pull, and two atomic stores and a
    /// clock read for a wire.
    ///
    /// # Errors
    /// The chip of a GPIO line was removed, or its driver returned an error.
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

#[derive(Debug)]
pub enum In {
    Gpio(Input),
    /// The sampled end of a [`wire`].
    Simulated(SimIn),
}

impl In {
    /// Reads the logical value. This takes one ioctl(2) for a GPIO line, and one atomic load for a wire.
    ///
    /// # Errors
    /// The chip of a GPIO line was removed, or its driver returned an error.
    pub fn value(&self) -> Result<bool, GpioError> {
        match self {
            In::Gpio(line) => line.value(),
            In::Simulated(wire) => Ok(wire.value()),
        }
    }
}
