//! All measurements selectable with `--via`, by name.

use super::Method;
use punctual_units::WakeupSource;
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    Wakeup(WakeupSource),
    Method(Method),
}

impl Default for Via {
    fn default() -> Via {
        Via::Wakeup(WakeupSource::default())
    }
}

impl fmt::Display for Via {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Via::Wakeup(way) => way.fmt(f),
            Via::Method(method) => method.fmt(f),
        }
    }
}

impl FromStr for Via {
    type Err = String;

    fn from_str(text: &str) -> Result<Via, String> {
        match text.parse::<Method>() {
            Ok(method) => Ok(Via::Method(method)),
            Err(_) => text.parse().map(Via::Wakeup).map_err(|e| {
                let methods = Method::ALL.map(Method::name).join(", ");
                format!("{e}; or, instead of wakeups, {methods}")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in ["nanosleep", "futex", "serial:/dev/ttyS1", "busy-poll", "timerlat", "hwlat"] {
            assert_eq!(name.parse::<Via>().unwrap().to_string(), name);
        }
        let error = "oslat".parse::<Via>().unwrap_err();
        assert!(error.contains("timerfd") && error.contains("busy-poll, timerlat, hwlat"), "{error}");
    }
}
