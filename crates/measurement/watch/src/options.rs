use punctual_model::{Alignment, Claim};
use punctual_proof::{AppOptions, Trace};
use punctual_units::{CpuList, Nanos, Policy, Priority};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

#[derive(Clone, Debug)]
pub struct Options {
    /// Directory of the series. If it already contains a series, that series is continued.
    pub out: PathBuf,
    pub command: Vec<String>,
    /// Policy of the measuring threads; `None` to use the default. If it is set and refused, the watch does not start.
    pub policy: Option<Policy>,
    /// Priority of the measuring threads; `None` to use the default. If it is set and refused, the watch does not
    /// start.
    pub priority: Option<Priority>,
    pub period: Nanos,
    /// CPUs to measure; `None` means all CPUs that this process may use.
    pub cpus: Option<CpuList>,
    /// Relation between the releases of different CPUs.
    pub alignment: Alignment,
    pub segment: Nanos,
    /// Length of the blocks of time for which the largest latency is kept.
    pub block: Nanos,
    /// Number or total size of run directories to keep.
    pub keep: Keep,
    pub trace: Trace,
    /// Only new maxima above this latency are traced.
    pub trace_above: Nanos,
    /// File to write for the textfile collector of Prometheus' node exporter.
    pub textfile: Option<PathBuf>,
    pub textfile_every: Nanos,
    /// Duration of the watch; `None` means until a signal arrives.
    pub duration: Option<Nanos>,
    /// Maximum growth of all files per CPU and day, bytes.
    pub bytes_a_cpu_and_day: u64,
    /// Syncs checkpoints to disk (fsync), so that they survive a power failure.
    pub sync: bool,
    /// An application whose cycles are watched as well.
    pub app: Option<AppWatch>,
    /// Value of $NOTIFY_SOCKET, which systemd sets.
    pub notify_socket: Option<OsString>,
    /// CLOCK_MONOTONIC when the program started.
    pub started_mono: Nanos,
}

#[derive(Clone, Debug)]
pub struct AppWatch {
    pub app: AppOptions,
    /// Claims whose violation makes the application late; if there are none, claims are proposed from the periods that
    /// were found.
    pub claims: Vec<Claim>,
    /// Length of the window of events that is kept before each moment at which the application is late.
    pub window: Nanos,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    Count(u64),
    Bytes(u64),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a number of run directories (500) nor a size (64M, 2G); the minimum is 1")]
pub struct KeepError(String);

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Keep, KeepError> {
        let wrong = || KeepError(text.to_owned());
        let known = match text.trim().strip_suffix(['k', 'K', 'M', 'G', 'T']) {
            None => Keep::Count(text.trim().parse().map_err(|_| wrong())?),
            Some(_) => Keep::Bytes(size(text).ok_or_else(wrong)?),
        };
        match known {
            Keep::Count(0) | Keep::Bytes(0) => Err(wrong()),
            known => Ok(known),
        }
    }
}

/// Parses a number of bytes, such as `64M`, `1500k` or `1000000`. Letters mean powers of 1024.
pub fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_counts_and_letters_are_sizes() {
        assert_eq!("500".parse(), Ok(Keep::Count(500)));
        assert_eq!("64M".parse(), Ok(Keep::Bytes(64 << 20)));
        assert_eq!("2k".parse(), Ok(Keep::Bytes(2048)));
        for wrong in ["", "0", "0M", "M", "-1", "1.5G", "99999999999999T", "1MM"] {
            assert!(wrong.parse::<Keep>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in ".{0,12}") {
            let _ = text.parse::<Keep>();
        }
    }
}
