//! Requests lines as inputs that are read by polling, without events.

use crate::chip::Chip;
use crate::error::GpioError;
use punctual_uapi::gpio::{self, ACTIVE_LOW, BIAS_DISABLED, BIAS_PULL_DOWN, BIAS_PULL_UP, INPUT, LineRequest};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bias resistor of an input. A chip without bias resistors refuses all but [`Bias::Unchanged`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bias {
    /// The bias is not changed.
    #[default]
    Unchanged,
    /// The bias resistors are disabled.
    Disabled,
    /// Pull-up resistor, for contacts to ground such as those of a rotary dial.
    PullUp,
    /// Pull-down resistor.
    PullDown,
}

impl Bias {
    pub(crate) fn flags(self) -> u64 {
        match self {
            Bias::Unchanged => 0,
            Bias::Disabled => BIAS_DISABLED,
            Bias::PullUp => BIAS_PULL_UP,
            Bias::PullDown => BIAS_PULL_DOWN,
        }
    }
}

/// A line requested as an input without events. Dropping it releases the line.
#[derive(Debug)]
pub struct Input {
    fd: OwnedFd,
    offset: u32,
}

impl AsFd for Input {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Input {
    /// Requests a line of `chip`. With `active_low` the logical value is the inverse of the level.
    ///
    /// # Errors
    /// The line does not exist, is in use, or its chip does not support the bias.
    pub fn new(chip: &Chip, offset: u32, bias: Bias, active_low: bool) -> Result<Input, GpioError> {
        let flags = INPUT | bias.flags() | if active_low { ACTIVE_LOW } else { 0 };
        let wanted = LineRequest { offset, consumer: "punctual", flags, event_buffer_size: 0, value: false };
        Ok(Input { fd: chip.request(&wanted)?, offset })
    }

    /// Reads the line's logical value, with one ioctl(2).
    ///
    /// # Errors
    /// The chip was removed, or its driver returned an error.
    pub fn value(&self) -> Result<bool, GpioError> {
        gpio::value(&self.fd).map_err(|e| GpioError::of_call(self.offset, e))
    }
}
