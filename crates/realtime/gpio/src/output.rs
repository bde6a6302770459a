//! Requests lines as outputs, whose level the program sets.

use crate::chip::Chip;
use crate::error::GpioError;
use punctual_uapi::gpio::{self, LineRequest, OUTPUT};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// A line requested as an output. After it is dropped, the kernel may stop driving the level.
#[derive(Debug)]
pub struct Output {
    fd: OwnedFd,
    offset: u32,
}

impl AsFd for Output {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Output {
    /// Requests a line of `chip` and drives it to `value`.
    ///
    /// # Errors
    /// The line does not exist, is in use, or cannot be driven.
    pub fn new(chip: &Chip, offset: u32, value: bool) -> Result<Output, GpioError> {
        let wanted = LineRequest { offset, consumer: "punctual", flags: OUTPUT, event_buffer_size: 0, value };
        Ok(Output { fd: chip.request(&wanted)?, offset })
    }

    /// Drives the line to `value`, with one ioctl(2).
    ///
    /// # Errors
    /// The chip was removed, or its driver returned an error.
    pub fn set(&self, value: bool) -> Result<(), GpioError> {
        gpio::set_value(&self.fd, value).map_err(|e| GpioError::of_call(self.offset, e))
    }

    /// Reads the line's logical value, as reported by the driver.
    ///
    /// # Errors
    /// The chip was removed, or its driver returned an error.
    pub fn value(&self) -> Result<bool, GpioError> {
        gpio::value(&self.fd).map_err(|e| GpioError::of_call(self.offset, e))
    }
}
