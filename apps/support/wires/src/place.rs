use crate::pull::Pull;
use crate::{Bias, In, Out};
use punctual_gpio::{Chip, GpioError, Input, Output, find_line};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// How a line is named: `gpiochip0:17`, `/dev/gpiochip0:17` (a chip may also be given by its label), the name of a line
/// such as `GPIO17`, `sim`, or, for outputs only, the pull of a simulated line:
/// `/sys/devices/platform/gpio-sim.0/gpiochip0/sim_gpio3/pull`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    Offset {
        /// The chip's device, name or label.
        chip: String,
        line: u32,
    },
    /// The name of a line on any chip.
    Named(String),
    /// The file that pulls a line of gpio-sim up or down, as a wire connected to it would. This or another program uses
    /// that line as an input (Documentation/admin-guide/gpio/gpio-sim.rst).
    Pull(PathBuf),
    Simulated,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a line: write chip and offset (gpiochip0:17), a line's name (GPIO17; gpioinfo lists them) or sim"
)]
pub struct BadPlace(pub String);

impl FromStr for Place {
    type Err = BadPlace;

    fn from_str(text: &str) -> Result<Place, BadPlace> {
        let bad = || BadPlace(text.to_owned());
        match text.rsplit_once(':') {
            None if text == "sim" => Ok(Place::Simulated),
            None if text.starts_with("/sys/") && text.ends_with("/pull") => Ok(Place::Pull(text.into())),
            None if text.is_empty() || text.starts_with('/') => Err(bad()),
            None => Ok(Place::Named(text.to_owned())),
            Some(("", _)) => Err(bad()),
            Some((chip, line)) => Ok(Place::Offset { chip: chip.to_owned(), line: line.parse().map_err(|_| bad())? }),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Offset { chip, line } => write!(f, "{chip}:{line}"),
            Place::Named(name) => f.write_str(name),
            Place::Pull(path) => write!(f, "{}", path.display()),
            Place::Simulated => f.write_str("sim"),
        }
    }
}

impl Place {
    /// Requests the line as an output with initial `level`. Returns `None` for [`Place::Simulated`], for which the
    /// caller creates the wire.
    ///
    /// # Errors
    /// The chip or the line does not exist, cannot be accessed, or is in use.
    pub fn output(&self, level: bool) -> Result<Option<Out>, GpioError> {
        if let Place::Pull(path) = self {
            return Ok(Some(Out::Pull(Pull::open(path, level)?)));
        }
        let Some((chip, line)) = self.open()? else { return Ok(None) };
        Ok(Some(Out::Gpio(Output::new(&chip, line, level)?)))
    }

    /// Requests the line as an input. Returns `None` for [`Place::Simulated`], for which the caller creates the wire.
    ///
    /// # Errors
    /// The chip or the line does not exist, cannot be accessed or is in use, or the chip does not support the bias.
    pub fn input(&self, bias: Bias, active_low: bool) -> Result<Option<In>, GpioError> {
        let Some((chip, line)) = self.open()? else { return Ok(None) };
        Ok(Some(In::Gpio(Input::new(&chip, line, bias, active_low)?)))
    }

    /// Returns the chip and the offset of the line, for edges; `None` for [`Place::Simulated`].
    ///
    /// # Errors
    /// The chip or the line does not exist or cannot be accessed, or the place is a pull, which can only be driven.
    pub fn open(&self) -> Result<Option<(Chip, u32)>, GpioError> {
        match self {
            Place::Offset { chip, line } => Ok(Some((Chip::find(chip)?, *line))),
            Place::Named(name) => find_line(name).map(|found| Some((found.chip, found.offset))),
            Place::Pull(path) => {
                let path = path.display();
                Err(GpioError::Usage(format!("{path} can only be driven: to read that line, give its chip and offset")))
            }
            Place::Simulated => Ok(None),
        }
    }
}
