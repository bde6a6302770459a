//! What can go wrong, and what to type next.

use punctual_uapi::Error as CallError;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// Why a GPIO line cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GpioError {
    /// A chip cannot be opened.
    #[error("cannot open the GPIO chip {}: {source}; {}", path.display(), remedy(source))]
    Open {
        /// Its device.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is no such chip.
    #[error(
        "no GPIO chip is called `{wanted}`; there are: {there}; write a device, a name or a label: /dev/gpiochip0, gpiochip0"
    )]
    NoChip {
        /// Device, name or label.
        wanted: String,
        /// Those there are.
        there: String,
    },
    /// There is no such line.
    #[error("no GPIO line is called `{wanted}` on {on}; list them: gpioinfo (package gpiod)")]
    NoLine {
        /// Its name or offset.
        wanted: String,
        /// The chips looked at.
        on: String,
    },
    /// Somebody has the line.
    #[error("line {offset} of {chip} is in use by {consumer}; end that program, or unbind the driver that holds it")]
    Busy {
        /// The chip's name.
        chip: String,
        /// The line.
        offset: u32,
        /// Who has it.
        consumer: String,
    },
    /// The line raises no interrupts.
    #[error(
        "line {offset} of {chip} raises no interrupt ({source}): choose a line whose controller has them, see /proc/interrupts"
    )]
    NoInterrupt {
        /// The chip's name.
        chip: String,
        /// The line.
        offset: u32,
        /// The system's reason.
        source: CallError,
    },
    /// The chip was removed while it was used.
    #[error("the chip of line {offset} was removed: open it again once it is back")]
    Removed {
        /// The line.
        offset: u32,
    },
    /// What was asked for is not possible.
    #[error("{0}")]
    Usage(String),
    /// A system call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The kernel sent an event of a kind that is not known.
    #[error(
        "the kernel sent an event with the id {0}, which uAPI v2 does not have: this kernel is newer than this program"
    )]
    Unknown(u32),
    /// A file of the simulator failed.
    #[error("cannot {what} {}: {source}; {hint}", path.display())]
    Sim {
        /// `make`, `write`, …
        what: &'static str,
        /// Which.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
        /// What to type next.
        hint: &'static str,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => "run as root, or join the group that owns it: ls -l /dev/gpiochip*",
        io::ErrorKind::NotFound => "list the chips: ls /dev/gpiochip*",
        _ => "is it a GPIO chip? ls -l /dev/gpiochip*",
    }
}

impl GpioError {
    /// Of reading, waiting or writing a requested line.
    pub(crate) fn of_line(call: &'static str, offset: u32, errno: Errno) -> GpioError {
        match errno {
            Errno::NODEV => GpioError::Removed { offset },
            _ => CallError { call, on: format!("GPIO line {offset}"), source: errno.into() }.into(),
        }
    }

    /// Of a typed call on a requested line.
    pub(crate) fn of_call(offset: u32, error: CallError) -> GpioError {
        match error.errno() {
            Some(number) if number == Errno::NODEV.raw_os_error() => GpioError::Removed { offset },
            _ => error.into(),
        }
    }
}

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
