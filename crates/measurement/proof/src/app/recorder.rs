//! The events of an application's threads, streamed from a private trace instance.

use super::marks::Probed;
use super::usdt::{Probes, Site};
use crate::capture::Saver;
use crate::error::ProofError;
use crate::stream::Stream;
use punctual_directory::Dir;
use punctual_journal::Journal;
use punctual_model::{AppWindow, Capture};
use punctual_trace::{Event, Options};
use punctual_tracefs::{CYCLES, Config, Flight, Instance, Tracefs, TracefsError};
use punctual_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum length of a filter: the kernel accepts at most a page of text (kernel/trace/trace_events_filter.c).
const LONGEST_FILTER: usize = 4_000;

/// For each thread, the numbers of the system calls to record; if empty, all are recorded.
pub(super) type Calls = BTreeMap<i32, BTreeSet<i64>>;

pub(super) struct Recorder {
    pub stream: Stream,
    flight: Option<Flight>,
    // Declared after `flight`, because a uprobe is busy until the instance is removed.
    probes: Probes,
    /// Events that this kernel does not have.
    pub missing: Vec<String>,
    /// True if marks are recorded.
    pub has_marks: bool,
}

/// Returns tracefs if the thread IDs in its events are those that this process sees.
///
/// # Errors
/// There is no tracefs, or the IDs differ (PID namespaces).
pub(super) fn tracefs() -> Result<Tracefs, ProofError> {
    Tracefs::of_threads().map_err(failed)
}

fn failed(error: TracefsError) -> ProofError {
    ProofError::Environment(format!(
        "the cycles of an application are determined from kernel events, which cannot be recorded: {error}"
    ))
}

impl Recorder {
    /// Records wakeups, switches and interrupts of all CPUs, and those system calls that `calls` lists, because a
    /// thread may make a million others per second. With `only_real_time`, wakeups of ordinary threads are omitted.
    /// With `marks`, text that programs write to trace_marker is recorded too, if the kernel supports this; so are the
    /// USDT probes at `sites`.
    ///
    /// # Errors
    /// There is no tracefs, or it cannot be used, or a USDT probe cannot be observed. Everything is restored.
    pub fn start(calls: &Calls, only_real_time: bool, marks: bool, sites: &[Site]) -> Result<Recorder, ProofError> {
        let tracefs = tracefs()?;
        let probes = Probes::define(&tracefs, sites)?;
        let config = Config { events: CYCLES, buffer_kb: None, tracer: None, stacks: None };
        let mut instance = Instance::create(&tracefs, &Journal::of_user(), &config).map_err(failed)?;
        let missing: Vec<String> = instance.missing().to_vec();
        if let Some(name) = missing.iter().find(|name| name.starts_with("raw_syscalls")) {
            return Err(ProofError::Environment(format!(
                "this kernel has no event {name} (CONFIG_FTRACE_SYSCALLS), which delimits cycles"
            )));
        }
        let filter = calls.iter().map(|(tid, numbers)| of_thread(*tid, numbers)).collect::<Vec<_>>().join(" || ");
        if filter.len() <= LONGEST_FILTER {
            for name in ["sys_enter", "sys_exit"] {
                instance.filter("raw_syscalls", name, &filter).map_err(failed)?;
            }
        }
        // For ordinary threads only the switches matter.
        if only_real_time {
            instance.filter("sched", "sched_waking", "prio < 100").map_err(failed)?;
        }
        let has_marks = marks && instance.copy_marks().map_err(failed)?;
        probes.enable(&mut instance)?;
        let flight = Flight::new(instance).map_err(failed)?;
        // Some of these exist on one architecture only, or not in every kernel.
        let missing =
            missing.into_iter().filter(|name| !name.starts_with("ipi:") && !name.starts_with("irq_vectors:")).collect();
        // The values of USDT probes are in the bodies of their events.
        let stream = Stream::with(&flight, Options { bodies: !sites.is_empty() });
        Ok(Recorder { stream, flight: Some(flight), probes, missing, has_marks })
    }

    /// Returns the events up to now, in chronological order.
    ///
    /// # Errors
    /// The trace cannot be read.
    pub fn take(&mut self) -> Result<Vec<Event>, String> {
        let Some(flight) = &mut self.flight else { return Ok(Vec::new()) };
        self.stream.take(flight).map_err(|e| format!("the trace could not be read: {e}"))
    }

    /// Keeps the events for this time after they were returned, so that windows of them can be saved.
    pub fn hold(&mut self, window: Nanos) {
        if let Some(flight) = &mut self.flight {
            flight.hold(window.0);
        }
    }

    /// Saves a window of the last events as `file`, and facts about the window in a file beside it.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn save(
        &mut self,
        saver: &mut Saver,
        dir: &Dir,
        (phase, file): (&str, String),
        (from, to): (u64, u64),
        application: AppWindow,
    ) -> std::io::Result<Capture> {
        let Some(flight) = &mut self.flight else { return Err(std::io::ErrorKind::NotConnected.into()) };
        let mut capture = saver.capture(flight, phase, file, (from, to));
        capture.application = Some(application);
        saver.save(flight, dir, std::slice::from_mut(&mut capture))?;
        Ok(capture)
    }

    /// Returns the reason why programs cannot write marks now; `None` if they can.
    pub fn marks_off(&self) -> Option<&'static str> {
        let are_off = self.flight.as_ref().is_some_and(|flight| flight.instance().marks_are_off());
        are_off.then_some("trace_marker is switched off: options/markers of tracefs is 0, so writing a mark fails")
    }

    /// Returns the number of events that the kernel could not record.
    pub fn lost(&self) -> u64 {
        let Some(flight) = &self.flight else { return 0 };
        let all = flight.statistics();
        all.overrun + all.commit_overrun + all.dropped
    }

    /// Returns the marks for which events of uprobes stand.
    pub fn marks(&self) -> &Probed {
        &self.probes.marks
    }

    /// Removes the instance and the uprobes; returns what could not be removed.
    pub fn end(&mut self) -> Vec<String> {
        let mut left = self.flight.take().map(Flight::end).and_then(Result::err).unwrap_or_default();
        left.extend(self.probes.remove());
        left
    }
}

fn of_thread(tid: i32, numbers: &BTreeSet<i64>) -> String {
    if numbers.is_empty() {
        return format!("common_pid == {tid}");
    }
    // A call that is interrupted, for example by SIGSTOP, continues as restart_syscall(2).
    let numbers = numbers.iter().copied().chain([libc::SYS_restart_syscall]);
    let numbers: Vec<String> = numbers.map(|number| format!("id == {number}")).collect();
    format!("common_pid == {tid} && ({})", numbers.join(" || "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_filtered_by_thread_and_number() {
        assert_eq!(of_thread(7, &BTreeSet::new()), "common_pid == 7");
        let restart = libc::SYS_restart_syscall;
        assert_eq!(of_thread(7, &[1, 0].into()), format!("common_pid == 7 && (id == 0 || id == 1 || id == {restart})"));
    }
}
