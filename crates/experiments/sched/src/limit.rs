//! A limit enforced by the kernel on real-time work, in case the experiment's own limit fails: RLIMIT_RTTIME of
//! getrlimit(2).

use punctual_units::Nanos;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The previous limit, which is restored on drop.
#[derive(Debug)]
pub(crate) struct RtTime(Rlimit);

impl RtTime {
    /// Sets the limit. If a real-time thread runs this long without sleeping, because its check of the clock after each
    /// step has failed, the kernel ends this process (SIGXCPU). Returns `None` if the limit was already stricter or
    /// cannot be set.
    pub fn at_most(limit: Nanos) -> Option<RtTime> {
        let before = getrlimit(Resource::Rttime);
        let micros = limit.0 / 1000;
        if before.current.is_some_and(|current| current <= micros) {
            return None;
        }
        let wanted = Rlimit { current: Some(micros), maximum: before.maximum };
        setrlimit(Resource::Rttime, wanted).ok().map(|()| RtTime(before))
    }
}

impl Drop for RtTime {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::Rttime, self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_while_it_lives_and_a_stricter_one_stays() {
        let before = getrlimit(Resource::Rttime).current;
        let hour = RtTime::at_most(Nanos::from_secs(3600));
        if hour.is_some() {
            assert_eq!(getrlimit(Resource::Rttime).current, Some(3_600_000_000));
            assert!(RtTime::at_most(Nanos::from_secs(3601)).is_none());
        }
        drop(hour);
        assert_eq!(getrlimit(Resource::Rttime).current, before);
    }
}
