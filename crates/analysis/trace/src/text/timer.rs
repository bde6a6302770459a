use super::names::Names;
use super::scan::{field, hex, signed, whole};
use crate::event::Kind;

/// Parses an event; see [`super::sched::read`] for the result.
pub(crate) fn read(name: &[u8], s: &[u8], names: &mut Names) -> Option<Option<Kind>> {
    Some(match name {
        b"hrtimer_start" => start(s, names),
        b"hrtimer_expire_entry" => entry(s, names),
        b"hrtimer_expire_exit" => timer(s).map(|timer| Kind::HrtimerExpireExit { timer }),
        b"hrtimer_cancel" => timer(s).map(|timer| Kind::HrtimerCancel { timer }),
        b"cpu_idle" => idle(s),
        b"cpu_frequency" => frequency(s),
        _ => return None,
    })
}

fn timer(s: &[u8]) -> Option<u64> {
    Some(hex(field(s, b"hrtimer")?)?.0)
}

fn nanos(s: &[u8], key: &[u8]) -> Option<i64> {
    match signed(field(s, key)?)? {
        (value, []) => Some(value),
        _ => None,
    }
}

fn start(s: &[u8], names: &mut Names) -> Option<Kind> {
    let function = field(s, b"function").map(|f| names.symbol(f));
    let (expires_ns, softexpires_ns) = (nanos(s, b"expires")?, Some(nanos(s, b"softexpires")?));
    Some(Kind::HrtimerStart { timer: timer(s)?, function, expires_ns, softexpires_ns })
}

fn entry(s: &[u8], names: &mut Names) -> Option<Kind> {
    let function = field(s, b"function").map(|f| names.symbol(f));
    Some(Kind::HrtimerExpireEntry { timer: timer(s)?, function, now_ns: Some(nanos(s, b"now")?) })
}

/// State 4294967295 (−1) is the exit from idle.
fn idle(s: &[u8]) -> Option<Kind> {
    let state: u64 = whole(field(s, b"state")?)?;
    let state = (state != u64::from(u32::MAX)).then_some(u32::try_from(state).ok()?);
    Some(Kind::CpuIdle { state, cpu: whole(field(s, b"cpu_id")?)? })
}

fn frequency(s: &[u8]) -> Option<Kind> {
    Some(Kind::CpuFrequency { khz: whole(field(s, b"state")?)?, cpu: whole(field(s, b"cpu_id")?)? })
}
