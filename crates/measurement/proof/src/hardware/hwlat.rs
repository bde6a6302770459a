//! Runs the kernel's hwlat detector (kernel/trace/trace_hwlat.c). It reads the clock with interrupts disabled, so Linux
//! causes the gaps it reports only through NMIs, which it counts.

use super::Remarks;
use punctual_journal::Journal;
use punctual_model::Hwlat;
use punctual_rt::monotonic;
use punctual_trace::{Kind, Options};
use punctual_tracefs::{Config, Instance, Tracefs, TracefsError};
use punctual_uapi::{Sig, Waited, wait};
use punctual_units::{CpuId, CpuList, Nanos};
use std::fs::read_to_string;

/// Runs the detector on these CPUs in turn. If that is not possible, notes the reason and returns no result.
pub(super) fn run(
    cpus: &CpuList,
    time: Nanos,
    threshold: Nanos,
    remarks: &mut Remarks,
) -> (Option<Hwlat>, Option<Sig>) {
    match run_instance(cpus, time, threshold, remarks) {
        Ok((hwlat, signal)) => (hwlat, signal),
        Err(e) => {
            remarks.narrowed.push(format!("the kernel's detector (hwlat) could not run: {e}"));
            (None, None)
        }
    }
}

fn run_instance(
    cpus: &CpuList,
    time: Nanos,
    threshold: Nanos,
    remarks: &mut Remarks,
) -> Result<(Option<Hwlat>, Option<Sig>), TracefsError> {
    let tracefs = Tracefs::find()?;
    if !tracefs.tracers()?.iter().any(|tracer| tracer == "hwlat") {
        let text = "this kernel has no hwlat tracer: it needs CONFIG_HWLAT_TRACER (Debian's RT kernels have it)";
        remarks.narrowed.push(text.into());
        return Ok((None, None));
    }
    let config = Config { events: &[], buffer_kb: Some(64), tracer: None, stacks: None };
    let instance = Instance::create(&tracefs, &Journal::of_user(), &config)?;
    instance.limit(cpus.iter().map(|cpu| cpu.0))?;
    instance.tracer("hwlat")?;
    let begun = monotonic();
    let signals = crate::signals();
    let mut signal = None;
    while signal.is_none() && monotonic() < begun + time {
        let left = (begun + time).saturating_sub(monotonic());
        if let Waited::Signal(other) = wait(&signals, Some(left)) {
            signal = Some(other).filter(|s| *s != Sig::Chld);
        }
    }
    // The threshold is shared by the whole machine, so it is not changed.
    let own =
        read_to_string(tracefs.root().join("tracing_thresh")).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // Starting another tracer would clear the buffer; this one stops when its instance is removed.
    instance.record(false)?;
    let text = instance.text()?;
    if let Some(us) = own.filter(|us| us.saturating_mul(1_000) > threshold.0) {
        remarks.notes.push(format!("hwlat reported only gaps of at least {us} µs (tracing_thresh)"));
    }
    let hwlat = read(text, monotonic() - begun, threshold);
    if let Err(left) = instance.remove() {
        remarks.notes.extend(left);
    }
    Ok((Some(hwlat), signal))
}

fn read(text: impl std::io::Read, ran: Nanos, threshold: Nanos) -> Hwlat {
    let mut hwlat =
        Hwlat { ran_ns: ran.0, windows: 0, worst_ns: 0, worst_cpu: None, nmis: None, verdict: String::new() };
    // An empty trace has only a header, from which the format cannot be detected.
    let events = punctual_trace::open_text(text, Options::default()).into_iter().flatten();
    for event in events {
        let Kind::Hwlat { inner_us, outer_us, nmi_count, .. } = event.kind else { continue };
        let longest = inner_us.max(outer_us).saturating_mul(1_000);
        if longest < threshold.0 {
            continue;
        }
        hwlat.windows += 1;
        if longest > hwlat.worst_ns {
            (hwlat.worst_ns, hwlat.worst_cpu) = (longest, Some(CpuId(event.cpu)));
        }
        if let Some(nmis) = nmi_count {
            hwlat.nmis = Some(hwlat.nmis.unwrap_or(0).saturating_add(nmis.into()));
        }
    }
    hwlat.verdict = verdict(&hwlat);
    hwlat
}

fn verdict(hwlat: &Hwlat) -> String {
    let ran = Nanos(hwlat.ran_ns);
    let Some(cpu) = hwlat.worst_cpu else {
        return format!("hwlat, with interrupts off: no gap in {ran}");
    };
    let nmis = match hwlat.nmis {
        Some(n) if n > 0 => format!("; {n} NMIs occurred meanwhile: gaps that contain them are caused by Linux"),
        _ => "; no NMI occurred meanwhile, so Linux did not cause the gaps".to_owned(),
    };
    let worst = Nanos(hwlat.worst_ns);
    format!("hwlat, with interrupts off: gaps in {} windows in {ran}, worst {worst} on CPU {cpu}{nmis}", hwlat.windows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "# tracer: hwlat\n#\n  <...>-1001  [000] d....   100.100000: #1     inner/outer(us):   37/120   ts:1752000000.123456789 count:3\n  <...>-1001  [001] d....   101.100000: #2     inner/outer(us):  250/12    ts:1752000001.123456789 count:1 nmi-total:4 nmi-count:2\n  <...>-1001  [001] d....   102.100000: #3     inner/outer(us):    9/8     ts:1752000002.123456789 count:1\n";

    #[test]
    fn lines_are_summed_up_from_the_threshold_on() {
        let hwlat = read(LINES.as_bytes(), Nanos::from_secs(5), Nanos::from_micros(10));
        assert_eq!((hwlat.windows, hwlat.worst_ns, hwlat.worst_cpu, hwlat.nmis), (2, 250_000, Some(CpuId(1)), Some(2)));
        assert!(
            hwlat.verdict.contains("gaps in 2 windows in 5.00 s, worst 250 µs on CPU 1; 2 NMIs"),
            "{}",
            hwlat.verdict
        );
    }

    #[test]
    fn an_empty_trace_has_no_gap() {
        let hwlat = read("# tracer: hwlat\n#\n".as_bytes(), Nanos::from_secs(5), Nanos::from_micros(10));
        assert_eq!((hwlat.windows, hwlat.worst_cpu, hwlat.nmis), (0, None, None));
        assert!(hwlat.verdict.contains("no gap"));
    }
}
