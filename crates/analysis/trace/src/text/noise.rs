//! Reads lines of the timerlat, osnoise and hwlat tracers, and osnoise events, in text traces.

use super::names::Names;
use super::scan::{number, seconds, skip_spaces, split, trim, whole, whole_i32};
use crate::event::{Kind, NoiseSource, OsnoiseSample, TimerlatContext};
use crate::words::Comm;

/// Parses an event; see [`super::sched::read`] for the result.
pub(crate) fn read(name: &[u8], s: &[u8], names: &mut Names) -> Option<Option<Kind>> {
    Some(match name {
        b"irq_noise" => noise(s, |who| {
            let (name, vector) = numbered(who)?;
            Some(NoiseSource::Irq { vector: vector.try_into().ok()?, name: Some(names.get(name)) })
        }),
        b"softirq_noise" => noise(s, |who| Some(NoiseSource::Softirq { vec: numbered(who)?.1.try_into().ok()? })),
        b"thread_noise" => noise(s, |who| {
            let (comm, tid) = numbered(who)?;
            Some(NoiseSource::Thread { tid, comm: Some(Comm::new(comm)) })
        }),
        b"nmi_noise" => noise(s, |_| Some(NoiseSource::Nmi)),
        b"sample_threshold" => threshold(s),
        _ => return None,
    })
}

/// Parses `local_timer:236`; the last colon is the separator.
fn numbered(s: &[u8]) -> Option<(&[u8], i32)> {
    let s = trim(s);
    let at = memchr::memrchr(b':', s)?;
    Some((s.get(..at)?, whole_i32(s.get(at + 1..)?)?))
}

/// Parses `WHO start 18.858132247 duration 32683 ns`; WHO is missing for an NMI.
fn noise(s: &[u8], who: impl FnOnce(&[u8]) -> Option<NoiseSource>) -> Option<Kind> {
    let at = memchr::memmem::rfind(s, b"start ")?;
    let (start_ns, duration_ns, _) = span(s.get(at..)?)?;
    Some(Kind::Noise { source: who(s.get(..at)?)?, start_ns, duration_ns })
}

/// Parses `start SECONDS duration NS ns`; returns the rest too.
fn span(s: &[u8]) -> Option<(u64, u64, &[u8])> {
    let (start, _, rest) = seconds(s.strip_prefix(b"start ")?)?;
    let (duration, rest) = number(rest.strip_prefix(b" duration ")?)?;
    Some((start, duration, rest.strip_prefix(b" ns")?))
}

fn threshold(s: &[u8]) -> Option<Kind> {
    let (start_ns, duration_ns, rest) = span(s)?;
    // "interference" up to Linux 5.14.
    let rest = skip_spaces(rest).strip_prefix(b"interference")?;
    let (interference, _) = number(rest.strip_prefix(b"s").unwrap_or(rest).trim_ascii_start())?;
    Some(Kind::SampleThreshold { start_ns, duration_ns, interference })
}

/// Parses `#580   context    irq timer_latency     55787 ns`.
pub(crate) fn timerlat(s: &[u8]) -> Option<Kind> {
    let (count, rest) = number(s.strip_prefix(b"#")?)?;
    let rest = skip_spaces(skip_spaces(rest).strip_prefix(b"context")?);
    let (context, rest) = split(rest, b" timer_latency")?;
    let context = match trim(context) {
        b"irq" => TimerlatContext::Irq,
        b"thread" => TimerlatContext::Thread,
        b"user ret" => TimerlatContext::User,
        _ => return None,
    };
    let (latency_ns, rest) = number(skip_spaces(rest))?;
    rest.starts_with(b" ns").then_some(Kind::Timerlat { count, context, latency_ns })
}

/// Parses `#1     inner/outer(us): 10133/16593 ts:1795210914.819098734 count:255 nmi-total:5 nmi-count:2`.
pub(crate) fn hwlat(s: &[u8]) -> Option<Kind> {
    let (count, rest) = number(s.strip_prefix(b"#")?)?;
    let rest = skip_spaces(skip_spaces(rest).strip_prefix(b"inner/outer(us):")?);
    let (inner_us, rest) = number(rest)?;
    let (outer_us, rest) = number(skip_spaces(skip_spaces(rest).strip_prefix(b"/")?))?;
    let at_ns = split(rest, b"ts:").and_then(|(_, ts)| seconds(ts)).map(|(ns, ..)| ns);
    let value = |key: &[u8]| split(rest, key).and_then(|(_, v)| whole(super::scan::word(v).0));
    Some(Kind::Hwlat { count, inner_us, outer_us, at_ns, nmi_count: value(b" nmi-count:"), gaps: value(b" count:") })
}

/// Parses `1000227     760039  24.01334  136747    578      0    153      0     30`: runtime, noise, CPU available,
/// longest noise, and counts of hardware, NMI, IRQ, softirq and thread noise.
pub(crate) fn osnoise(s: &[u8]) -> Option<Kind> {
    let mut columns = s.split(|b| *b == b' ').filter(|c| !c.is_empty());
    let mut next = || columns.next();
    let (runtime_us, noise_us) = (whole(next()?)?, whole(next()?)?);
    let (_available, max_sample_us) = (seconds_or_number(next()?)?, whole(next()?)?);
    let (hw_count, nmi_count) = (whole(next()?)?, whole(next()?)?);
    let (irq_count, softirq_count, thread_count) = (whole(next()?)?, whole(next()?)?, whole(next()?)?);
    let sample = OsnoiseSample {
        runtime_us,
        noise_us,
        max_sample_us,
        hw_count,
        nmi_count,
        irq_count,
        softirq_count,
        thread_count,
    };
    next().is_none().then(|| Kind::Osnoise(Box::new(sample)))
}

fn seconds_or_number(s: &[u8]) -> Option<u64> {
    match seconds(s)? {
        (value, _, []) => Some(value),
        _ => None,
    }
}
