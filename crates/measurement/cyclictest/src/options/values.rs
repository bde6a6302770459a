use super::{Affinity, CpuExpression, FormatVersion, HIST_MAX, UsageError};
use punctual_units::{CpuList, Nanos, Policy};

pub(super) fn number<T>(option: &str, text: &str, low: T, high: T) -> Result<T, UsageError>
where
    i128: From<T>,
    T: TryFrom<i128> + std::fmt::Display + Copy,
{
    let value = text.trim().parse::<i128>().ok().filter(|n| (i128::from(low)..=i128::from(high)).contains(n));
    value
        .and_then(|n| T::try_from(n).ok())
        .ok_or_else(|| UsageError(format!("{option} needs a number from {low} to {high}, not `{text}`")))
}

pub(super) fn priority(text: &str, bundle: &str) -> Result<u8, UsageError> {
    number("-p", text, 0, 99).map_err(|UsageError(what)| UsageError(format!("{what}{bundle}")))
}

pub(super) fn micros(option: &str, text: &str) -> Result<Nanos, UsageError> {
    number(option, text, 0_u64, u64::MAX / 1_000_000).map(Nanos::from_micros)
}

pub(super) fn bins(option: &str, text: &str) -> Result<usize, UsageError> {
    let wanted: u64 = number(option, text, 1, u64::MAX)?;
    Ok(usize::try_from(wanted).unwrap_or(HIST_MAX).min(HIST_MAX))
}

/// Parses CPUs in the syntax of numa_parse_cpustring(3): `3-5,0`, `!0` (all except one), `+0-1` (the first usable
/// ones), or `all`.
pub(super) fn cpus(option: &str, text: &str) -> Result<Affinity, UsageError> {
    let wrong = || UsageError(format!("{option} needs a list of CPUs such as 3-5,0, !0, +0-1 or all, not `{text}`"));
    let (is_inverted, rest) = text.strip_prefix('!').map_or((false, text), |rest| (true, rest));
    let (is_relative, rest) = rest.strip_prefix('+').map_or((false, rest), |rest| (true, rest));
    let list = match rest {
        "all" => None,
        rest => Some(rest.parse::<CpuList>().ok().filter(|list| !list.is_empty()).ok_or_else(wrong)?),
    };
    Ok(match list {
        Some(list) if !is_inverted && !is_relative => Affinity::These(list),
        list => Affinity::Named(CpuExpression { is_inverted, is_relative, list }),
    })
}

/// Parses a duration: `90`, `10m`, `2h`, `1d`. cyclictest takes any other letter to mean seconds; here it is an error.
pub(super) fn duration(text: &str) -> Result<Nanos, UsageError> {
    let wrong = || UsageError(format!("-D needs seconds, or a number followed by s, m, h or d, not `{text}`"));
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let seconds = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| *n < 1 << 32);
    seconds.map(Nanos::from_secs).ok_or_else(wrong)
}

pub(super) fn policy(text: &str) -> Result<Policy, UsageError> {
    match text.to_ascii_lowercase().as_str() {
        "other" | "normal" => Ok(Policy::Other),
        "batch" => Ok(Policy::Batch),
        "idle" => Ok(Policy::Idle),
        "fifo" => Ok(Policy::Fifo),
        "rr" => Ok(Policy::Rr),
        _ => Err(UsageError(format!("--policy needs other, normal, batch, idle, fifo or rr, not `{text}`"))),
    }
}

pub(super) fn format_version(text: &str) -> Result<FormatVersion, UsageError> {
    match text {
        "2.4" | "2.40" => Ok(FormatVersion::V2_4),
        "2.10" => Ok(FormatVersion::V2_10),
        _ => Err(UsageError(format!("--format-version needs 2.4 or 2.10, not `{text}`"))),
    }
}
