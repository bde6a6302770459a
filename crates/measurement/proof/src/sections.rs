//! Records when preemption and interrupts are disabled on this machine, and composes a bound on the scheduling latency.
//!
//! There are up to millions of such events a second, so they are not streamed: the kernel records a window into memory,
//! recording stops, the window is read, and so on.

use crate::error::ProofError;
use punctual_bound::{Bounds, damage};
use punctual_journal::Journal;
use punctual_model::LatencyBound;
use punctual_rt::monotonic;
use punctual_trace::{self as trace, DatFile, TraceInfo};
use punctual_tracefs::{Config, Flight, Instance, SECTIONS, Tracefs, TracefsError};
use punctual_uapi::{Sig, Waited, wait};
use punctual_units::{CpuList, Nanos};
use std::io::Cursor;

/// Length of a window; if the buffer is too small for it, its end remains.
const WINDOW: Nanos = Nanos::from_millis(100);

#[derive(Clone, Debug)]
pub struct SectionOptions {
    /// Time to record in all windows.
    pub duration: Nanos,
    pub cpus: Option<CpuList>,
    /// Also runs the timerlat tracer.
    pub timerlat: bool,
    /// Buffer size per CPU, KiB.
    pub buffer_kb: u64,
    /// The bound must be below it.
    pub deadline: Option<Nanos>,
}

/// Records this machine and composes its bound; also returns what could not be removed afterwards. Signals must be blocked as for a run; one of them ends the recording.
///
/// # Errors
/// The kernel lacks the events, or the trace instance cannot be made.
pub fn sections(options: &SectionOptions) -> Result<(LatencyBound, Option<Sig>, Vec<String>), ProofError> {
    let failed = |error: TracefsError| ProofError::Environment(error.to_string());
    let tracefs = Tracefs::find().map_err(failed)?;
    let tracer = options.timerlat.then(|| "timerlat".to_owned());
    let config = Config { events: SECTIONS, buffer_kb: Some(options.buffer_kb), tracer, stacks: None };
    let instance = Instance::create(&tracefs, &Journal::of_user(), &config).map_err(failed)?;
    if let Some(missing) = lacking(instance.missing()) {
        return Err(ProofError::Environment(missing));
    }
    instance.record(false).map_err(failed)?;
    if let Some(cpus) = &options.cpus {
        instance.limit(cpus.iter().map(|cpu| cpu.0)).map_err(failed)?;
    }
    let mut bounds = Bounds::new(1);
    let online = || std::fs::read_to_string("/sys/devices/system/cpu/online").ok()?.trim().parse::<CpuList>().ok();
    let wanted = options.cpus.clone().or_else(online).unwrap_or_default();
    bounds.want(wanted.iter().map(|cpu| cpu.0));
    let mut recorder = Recorder {
        flight: Flight::new(instance).map_err(failed)?,
        symbols: std::fs::read("/proc/kallsyms").unwrap_or_default(),
        bounds,
        info: TraceInfo::default(),
    };
    // What was recorded until recording stopped is no whole window.
    recorder.skip().map_err(|error| ProofError::Environment(format!("cannot read the trace: {error}")))?;
    let mut done = Nanos::ZERO;
    let mut signal = None;
    while signal.is_none() && done < options.duration {
        recorder.flight.instance().record(true).map_err(failed)?;
        let from = monotonic();
        if let Waited::Signal(other) = wait(&crate::signals(), Some(WINDOW.min(options.duration.saturating_sub(done))))
        {
            signal = Some(other).filter(|other| *other != Sig::Chld);
        }
        recorder.flight.instance().record(false).map_err(failed)?;
        done = done + (monotonic() - from);
        recorder.window().map_err(|error| ProofError::Environment(format!("cannot read the trace: {error}")))?;
    }
    let Recorder { flight, bounds, info, .. } = recorder;
    let found = bounds.finish(&info, options.deadline);
    let left = flight.end().err().unwrap_or_default();
    Ok((found, signal, left))
}

/// Returns why the sections cannot be recorded.
fn lacking(missing: &[String]) -> Option<String> {
    let missing: Vec<&str> = missing.iter().map(String::as_str).filter(|name| name.starts_with("preemptirq")).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "this kernel does not record when preemption and interrupts are disabled ({}): build one with `punctual kernel build --diagnostic` \
             and boot it, or in `punctual lab boot`",
            missing.join(", ")
        )
    })
}

struct Recorder {
    flight: Flight,
    /// The kernel's symbols.
    symbols: Vec<u8>,
    bounds: Bounds,
    /// What is known about all windows.
    info: TraceInfo,
}

impl Recorder {
    fn skip(&mut self) -> std::io::Result<()> {
        self.flight.drain(0, u64::MAX, |_, _| {})
    }

    /// Reads the recorded window.
    fn window(&mut self) -> std::io::Result<()> {
        let cpus = self.flight.instance().cpus().last().map_or(0, |cpu| cpu + 1);
        let head = self.flight.head().clone();
        let mut file = DatFile::with_symbols(Cursor::new(Vec::new()), &head, cpus, &self.symbols)?;
        let mut written = Ok(());
        self.flight.drain(0, u64::MAX, |cpu, page| {
            if written.is_ok() {
                written = file.page(cpu, page);
            }
        })?;
        written?;
        let bytes = file.finish()?.into_inner();
        let mut source = trace::open(Cursor::new(bytes), trace::Options::default()).map_err(std::io::Error::other)?;
        for event in source.by_ref() {
            self.bounds.event(&event);
        }
        self.bounds.interrupted();
        // Overwritten events at the beginning of a window are no damage.
        self.info.notes.extend(source.info().notes.iter().filter(|note| damage(note).is_some()).cloned());
        self.info.notes.truncate(trace::MAX_NOTES);
        self.info.notes_dropped += source.info().notes_dropped;
        Ok(())
    }
}
