//! Wakeup sources of a measuring thread.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What wakes a measuring thread. The first four set their own timer. In the others a partner thread sends at the
/// release, and latency counts from the partner's clock reading before the sending call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum Way {
    /// Absolute clock_nanosleep(2).
    #[default]
    Nanosleep,
    /// Relative clock_nanosleep(2): each release is one period after the call.
    Relative,
    /// A periodic timerfd_create(2) timer with TFD_TIMER_ABSTIME, and read(2).
    Timerfd,
    /// A periodic timer_create(2) timer with SIGEV_THREAD_ID, and sigwaitinfo(2).
    PosixTimer,
    /// FUTEX_WAKE of futex(2).
    Futex,
    /// A queued real-time signal: rt_tgsigqueueinfo(2), and sigwaitinfo(2).
    Signal,
    /// write(2) to an eventfd(2), and read(2).
    Eventfd,
    /// A datagram over loopback: send(2), and recv(2).
    Udp,
    /// A byte that a UART sends to itself (TIOCM_LOOP): write(2), the receive interrupt, and read(2). Holds the
    /// device's path.
    Serial(String),
}

/// The wakeup sources that need no device, in the order they are listed to users.
const NAMED: [(&str, Way); 8] = [
    ("nanosleep", Way::Nanosleep),
    ("relative", Way::Relative),
    ("timerfd", Way::Timerfd),
    ("posix-timer", Way::PosixTimer),
    ("futex", Way::Futex),
    ("signal", Way::Signal),
    ("eventfd", Way::Eventfd),
    ("udp", Way::Udp),
];

impl Way {
    /// Every wakeup source that needs no device.
    pub fn without_device() -> impl Iterator<Item = Way> {
        NAMED.into_iter().map(|(_, way)| way)
    }

    /// Whether a partner thread wakes the measuring thread.
    pub fn is_woken(&self) -> bool {
        matches!(self, Way::Futex | Way::Signal | Way::Eventfd | Way::Udp | Way::Serial(_))
    }

    /// Clock and system call, as recorded in a run: `CLOCK_MONOTONIC, timerfd absolute`.
    pub fn clock_and_call(&self) -> String {
        let call = match self {
            Way::Nanosleep => "clock_nanosleep TIMER_ABSTIME",
            Way::Relative => "clock_nanosleep relative",
            Way::Timerfd => "timerfd absolute",
            Way::PosixTimer => "timer_settime absolute, SIGEV_THREAD_ID",
            Way::Futex => "woken by FUTEX_WAKE",
            Way::Signal => "woken by rt_tgsigqueueinfo",
            Way::Eventfd => "woken through an eventfd",
            Way::Udp => "woken by a datagram over loopback",
            Way::Serial(port) => return format!("CLOCK_MONOTONIC, woken by the receive interrupt of {port}"),
        };
        format!("CLOCK_MONOTONIC, {call}")
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMED.iter().find(|(_, way)| way == self)) {
            (Way::Serial(port), _) => write!(f, "serial:{port}"),
            (_, Some((name, _))) => f.pad(name),
            (_, None) => f.pad("nanosleep"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no way to be woken: use nanosleep, relative, timerfd, posix-timer, futex, signal, eventfd, udp or \
     serial:/dev/ttyS1"
)]
pub struct WayError(String);

impl FromStr for Way {
    type Err = WayError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("serial:") {
            Some(port) if port.starts_with('/') => Ok(Way::Serial(port.into())),
            Some(_) => Err(WayError(text.into())),
            None => NAMED
                .into_iter()
                .find(|(name, _)| *name == text)
                .map(|(_, way)| way)
                .ok_or_else(|| WayError(text.into())),
        }
    }
}

impl TryFrom<String> for Way {
    type Error = WayError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Way> for String {
    fn from(way: Way) -> String {
        way.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_way_is_written_as_it_is_read() {
        for way in Way::without_device().chain([Way::Serial("/dev/ttyS1".into())]) {
            assert_eq!(way.to_string().parse(), Ok(way.clone()));
            assert_eq!(serde_json::from_str::<Way>(&serde_json::to_string(&way).unwrap()).unwrap(), way);
            assert_eq!(way.clock_and_call().contains("nanosleep"), matches!(way, Way::Nanosleep | Way::Relative));
        }
    }

    #[test]
    fn what_is_none_is_refused_with_those_that_are() {
        for text in ["", "sleep", "serial:", "serial:ttyS1", "serial", "Nanosleep"] {
            let error = text.parse::<Way>().unwrap_err().to_string();
            assert!(error.contains("timerfd") && error.contains("serial:/dev/ttyS1"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            if let Ok(way) = text.parse::<Way>() {
                prop_assert_eq!(way.to_string(), text);
            }
        }
    }
}
