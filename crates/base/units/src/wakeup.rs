//! Wakeup sources of a measuring thread.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Source of the wakeups of a measuring thread. With the first four sources the thread sets its own timer. With the
/// others, a partner thread wakes it at each release, and latency is measured from the time that the partner reads
/// before it makes the system call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub enum WakeupSource {
    /// Absolute clock_nanosleep(2).
    #[default]
    Nanosleep,
    /// Relative clock_nanosleep(2): each release is one period after the thread calls it.
    Relative,
    /// A periodic timer of timerfd_create(2), set with TFD_TIMER_ABSTIME; the thread waits in read(2).
    Timerfd,
    /// A periodic timer of timer_create(2) with SIGEV_THREAD_ID; the thread waits in sigwaitinfo(2).
    PosixTimer,
    /// FUTEX_WAKE of futex(2) by the partner thread.
    Futex,
    /// A queued real-time signal from rt_tgsigqueueinfo(2); the thread waits in sigwaitinfo(2).
    Signal,
    /// write(2) to an eventfd(2) by the partner thread; the measuring thread waits in read(2).
    Eventfd,
    /// A datagram that the partner thread sends over loopback; the measuring thread waits in recv(2).
    Udp,
    /// A byte that the partner thread writes to a UART in loopback mode (TIOCM_LOOP); the measuring thread waits in
    /// read(2) and is woken by the receive interrupt. Holds the path of the device.
    Serial(String),
}

/// Names of the wakeup sources that need no device, in the order in which users see them.
const NAMED: [(&str, WakeupSource); 8] = [
    ("nanosleep", WakeupSource::Nanosleep),
    ("relative", WakeupSource::Relative),
    ("timerfd", WakeupSource::Timerfd),
    ("posix-timer", WakeupSource::PosixTimer),
    ("futex", WakeupSource::Futex),
    ("signal", WakeupSource::Signal),
    ("eventfd", WakeupSource::Eventfd),
    ("udp", WakeupSource::Udp),
];

impl WakeupSource {
    /// Returns all wakeup sources that need no device.
    pub fn without_device() -> impl Iterator<Item = WakeupSource> {
        NAMED.into_iter().map(|(_, source)| source)
    }

    /// Returns true if a partner thread wakes the measuring thread.
    pub fn is_woken(&self) -> bool {
        matches!(
            self,
            WakeupSource::Futex
                | WakeupSource::Signal
                | WakeupSource::Eventfd
                | WakeupSource::Udp
                | WakeupSource::Serial(_)
        )
    }

    /// Returns the clock and system call as recorded in a run, for example `CLOCK_MONOTONIC, timerfd absolute`.
    pub fn clock_and_call(&self) -> String {
        let call = match self {
            WakeupSource::Nanosleep => "clock_nanosleep TIMER_ABSTIME",
            WakeupSource::Relative => "clock_nanosleep relative",
            WakeupSource::Timerfd => "timerfd absolute",
            WakeupSource::PosixTimer => "timer_settime absolute, SIGEV_THREAD_ID",
            WakeupSource::Futex => "woken by FUTEX_WAKE",
            WakeupSource::Signal => "woken by rt_tgsigqueueinfo",
            WakeupSource::Eventfd => "woken through an eventfd",
            WakeupSource::Udp => "woken by a datagram over loopback",
            WakeupSource::Serial(port) => return format!("CLOCK_MONOTONIC, woken by the receive interrupt of {port}"),
        };
        format!("CLOCK_MONOTONIC, {call}")
    }
}

impl fmt::Display for WakeupSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, NAMED.iter().find(|(_, source)| source == self)) {
            (WakeupSource::Serial(port), _) => write!(f, "serial:{port}"),
            (_, Some((name, _))) => f.pad(name),
            (_, None) => f.pad("nanosleep"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a wakeup source: use nanosleep, relative, timerfd, posix-timer, futex, signal, eventfd, udp or \
     serial:/dev/ttyS1"
)]
pub struct WakeupSourceError(String);

impl FromStr for WakeupSource {
    type Err = WakeupSourceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("serial:") {
            Some(port) if port.starts_with('/') => Ok(WakeupSource::Serial(port.into())),
            Some(_) => Err(WakeupSourceError(text.into())),
            None => NAMED
                .into_iter()
                .find(|(name, _)| *name == text)
                .map(|(_, source)| source)
                .ok_or_else(|| WakeupSourceError(text.into())),
        }
    }
}

impl TryFrom<String> for WakeupSource {
    type Error = WakeupSourceError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<WakeupSource> for String {
    fn from(source: WakeupSource) -> String {
        source.to_string()
    }
}

crate::debug_as_display!(WakeupSourceError);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_way_is_written_as_it_is_read() {
        for source in WakeupSource::without_device().chain([WakeupSource::Serial("/dev/ttyS1".into())]) {
            assert_eq!(source.to_string().parse(), Ok(source.clone()));
            assert_eq!(serde_json::from_str::<WakeupSource>(&serde_json::to_string(&source).unwrap()).unwrap(), source);
            assert_eq!(
                source.clock_and_call().contains("nanosleep"),
                matches!(source, WakeupSource::Nanosleep | WakeupSource::Relative)
            );
        }
    }

    #[test]
    fn what_is_none_is_refused_with_those_that_are() {
        for text in ["", "sleep", "serial:", "serial:ttyS1", "serial", "Nanosleep"] {
            let error = text.parse::<WakeupSource>().unwrap_err().to_string();
            assert!(error.contains("timerfd") && error.contains("serial:/dev/ttyS1"), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            if let Ok(source) = text.parse::<WakeupSource>() {
                prop_assert_eq!(source.to_string(), text);
            }
        }
    }
}
