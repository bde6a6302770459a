//! Errors of this crate; each message says what to do.

use punctual_uapi::Error as CallError;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// Why a GPIO line cannot be used.
#[derive(thiserror::Error)]
pub enum GpioError {
    /// A chip cannot be opened.
    #[error("cannot open the GPIO chip {}: {source}; {}", path.display(), remedy(source))]
    Open {
        /// Path of the chip's device.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
    },
    /// No chip has the given device, name or label.
    #[error(
        "no GPIO chip is named `{wanted}`; available: {there}; use a device, a name or a label: /dev/gpiochip0, gpiochip0"
    )]
    NoChip {
        /// The requested device, name or label.
        wanted: String,
        /// The existing chips.
        there: String,
    },
    /// No line has the given name or offset.
    #[error("there is no GPIO line `{wanted}` on {on}; gpioinfo (package gpiod) lists them")]
    NoLine {
        /// The requested name or offset.
        wanted: String,
        /// The chip or chips that were searched.
        on: String,
    },
    /// The line is in use.
    #[error("line {offset} of {chip} is in use by {consumer}; end that program, or unbind the driver that holds it")]
    Busy {
        /// Name of the chip.
        chip: String,
        /// Offset of the line.
        offset: u32,
        /// Current user of the line.
        consumer: String,
    },
    /// The line cannot generate interrupts.
    #[error(
        "line {offset} of {chip} raises no interrupt ({source}): choose a line whose controller supports interrupts, see /proc/interrupts"
    )]
    NoInterrupt {
        /// Name of the chip.
        chip: String,
        /// Offset of the line.
        offset: u32,
        /// Error of the system call.
        source: CallError,
    },
    /// The chip was removed while in use.
    #[error("the chip of line {offset} was removed: open it again once it is back")]
    Removed {
        /// Offset of the line.
        offset: u32,
    },
    /// The arguments of a request are not valid; the message says why.
    #[error("{0}")]
    Usage(String),
    /// A system call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The kernel sent an event with an unknown id.
    #[error(
        "the kernel sent an event with the id {0}, which is unknown in uAPI v2: this kernel is newer than this program"
    )]
    Unknown(u32),
    /// A file of the simulator failed.
    #[error("cannot {what} {}: {source}; {hint}", path.display())]
    Sim {
        /// The operation that failed: `make`, `write`, …
        what: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        source: io::Error,
        /// What the user can do about it.
        hint: &'static str,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "run as root, or join the group that owns it: ls -l /dev/gpiochip*",
        io::ErrorKind::NotFound => "list the chips: ls /dev/gpiochip*",
        _ => "check that it is a GPIO chip: ls -l /dev/gpiochip*",
    }
}

impl GpioError {
    /// Converts an error of reading, waiting for or writing a requested line.
    pub(crate) fn of_line(call: &'static str, offset: u32, errno: Errno) -> GpioError {
        match errno {
            Errno::NODEV => GpioError::Removed { offset },
            _ => CallError { call, on: format!("GPIO line {offset}"), source: errno.into() }.into(),
        }
    }

    /// Converts an error of a typed call on a requested line.
    pub(crate) fn of_call(offset: u32, error: CallError) -> GpioError {
        match error.errno() {
            Some(number) if number == Errno::NODEV.raw_os_error() => GpioError::Removed { offset },
            _ => error.into(),
        }
    }
}

punctual_units::debug_as_display!(GpioError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_chip_is_told_from_a_failing_call() {
        assert!(matches!(GpioError::of_line("read", 3, Errno::NODEV), GpioError::Removed { offset: 3 }));
        let other = GpioError::of_line("read", 3, Errno::IO).to_string();
        assert!(other.starts_with("read(GPIO line 3): "), "{other}");
    }

    #[test]
    fn a_refusal_names_the_next_step() {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        let text = GpioError::Open { path: "/dev/gpiochip0".into(), source }.to_string();
        assert!(text.contains("/dev/gpiochip0") && text.ends_with("ls -l /dev/gpiochip*"), "{text}");
    }
}
