//! Explains wakeups from the saved windows of a trace.

use punctual_directory::Dir;
use punctual_explain::{ExplainOptions, Facts, Measured};
use punctual_model::{Capture, Event, Explained, LateWakeup, Recording};
use punctual_trace::{Kept, Source};
use punctual_units::{Arrange, WakeupSource};
use std::path::Path;

/// Explains the saved traces of a run. Returns `false` if there are none.
pub(crate) fn explain(dir: &Dir, recording: &mut Recording) -> bool {
    let (explained, damage) = explain_captures(dir, &recording.captures, recording);
    recording.explained = explained;
    recording.damage.extend(damage);
    !recording.captures.is_empty()
}

/// Explains the late wakeups in the windows saved below `dir`, worst first. Also returns a message for each window that
/// cannot be read.
pub fn explain_captures(dir: &Dir, captures: &[Capture], recording: &Recording) -> (Vec<Explained>, Vec<String>) {
    let (mut explained, mut damage) = (Vec::new(), Vec::new());
    for capture in captures {
        match explain_capture(dir, capture, &|late| known(late, recording)) {
            Ok(found) => explained.extend(found),
            Err(why) => damage.push(format!("{}: {why}", capture.file)),
        }
    }
    explained.arrange_by_key(|e: &Explained| (std::cmp::Reverse(e.latency_ns), e.release_mono_ns));
    (explained, damage)
}

/// Facts about a late wakeup that are neither in its trace nor in the JSON file beside the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Kernel release, and whether a hypervisor runs the machine; used if the JSON file beside the trace lacks them.
    pub kernel: Option<String>,
    pub guest: Option<bool>,
    /// True if the CPU of the late wakeup lost time to a hypervisor around the time of the wakeup; `None` if steal time
    /// was not recorded.
    pub steal_rose: Option<bool>,
    /// True if another thread, not a timer, woke the late thread.
    pub sent: bool,
}

/// Maximum number of events held in memory; a typical window has fewer. A larger trace is read once per pass.
const HELD: usize = 500_000;

/// Maximum size, in bytes, of a trace that is read from a run directory.
const LARGEST: u64 = 256 << 20;

/// Explains the late wakeups of a window saved below `dir`. The trace, of some megabytes, is read into memory. The
/// error is the reason why it cannot be read.
pub fn explain_capture(
    dir: &Dir,
    capture: &Capture,
    known: &dyn Fn(&LateWakeup) -> Known,
) -> Result<Vec<Explained>, String> {
    let open = || {
        let file = punctual_rundir::open_regular(dir, &capture.file, LARGEST).map_err(|e| e.to_string())?;
        punctual_trace::open(file, Default::default()).map_err(|e| e.to_string())
    };
    let mut first = open()?;
    let held = Kept::read(first.as_mut(), HELD);
    let again = || -> Result<Box<dyn Source + '_>, String> {
        match &held {
            Some(held) => Ok(Box::new(held.again())),
            None => open(),
        }
    };
    let mut explained = Vec::new();
    for late in &capture.late {
        let (due_ns, woke_ns) = (late.release_mono_ns, late.release_mono_ns + late.latency_ns);
        let measured = vec![Measured { tid: late.tid, due_ns, woke_ns }];
        let mut facts = facts(capture, known(late));
        // The run may lack the release if it was killed, but the trace has it.
        facts.kernel = facts.kernel.or_else(|| first.info().kernel.clone());
        let options = ExplainOptions { measured, facts: facts.clone(), ..ExplainOptions::default() };
        let found = punctual_explain::explain(again()?.as_mut(), options);
        let timelines = punctual_explain::timelines(again()?.as_mut(), &found.victims, facts);
        explained.extend(found.victims.into_iter().zip(timelines).map(|(victim, timeline)| Explained {
            phase: capture.phase.clone(),
            cpu: late.cpu,
            release_mono_ns: late.release_mono_ns,
            latency_ns: late.latency_ns,
            trace: capture.file.clone(),
            victim,
            timeline,
        }));
    }
    Ok(explained)
}

fn facts(capture: &Capture, known: Known) -> Facts {
    Facts {
        policies: capture.policies.iter().map(|(tid, policy)| (*tid, *policy)).collect(),
        kernel: capture.kernel.clone().or(known.kernel),
        fair_server: capture.fair_server,
        rt_group_sched: capture.rt_group_sched,
        throttled: capture.throttled,
        guest: capture.guest.or(known.guest),
        steal_rose: known.steal_rose,
        sent: known.sent,
        released: capture.released.clone(),
        tracer: capture.tracer.clone(),
    }
}

fn known(late: &LateWakeup, recording: &Recording) -> Known {
    Known {
        kernel: recording.run.machine.kernel_release.clone(),
        guest: recording.run.machine.virtualisation.as_deref().map(|kind| kind != "none"),
        steal_rose: steal_rose(late, recording),
        sent: recording.run.settings.via.as_ref().is_some_and(WakeupSource::is_woken),
    }
}

/// Returns what is known of a trace of a run from the JSON file beside it; `None` if there is no such file, or it belongs
/// to another trace.
pub fn capture_beside(path: &Path) -> Option<Capture> {
    let text = std::fs::read(path.with_extension("json")).ok()?;
    let capture: Capture = serde_json::from_slice(&text).ok()?;
    (Path::new(&capture.file).file_name() == path.file_name()).then_some(capture)
}

/// Returns facts about a trace of a run, from the JSON file beside it; `None` if there is no such file, or it belongs
/// to another trace.
pub fn facts_beside(path: &Path) -> Option<Facts> {
    let capture = capture_beside(path)?;
    let recording = path.parent().and_then(Path::parent).and_then(|root| punctual_rundir::read(root).ok());
    let worst = capture.late.iter().max_by_key(|late| late.latency_ns);
    let known = recording.zip(worst).map(|(recording, late)| known(late, &recording)).unwrap_or_default();
    Some(facts(&capture, known))
}

/// Returns true if the CPU lost time to a hypervisor in the second of the wakeup; `None` if steal time was not
/// recorded.
fn steal_rose(late: &LateWakeup, recording: &Recording) -> Option<bool> {
    let end = late.release_mono_ns + late.latency_ns;
    recording.events.iter().find_map(|event| match event {
        Event::Context(sample) if sample.mono_ns >= end => {
            let cpu = sample.cpus.iter().find(|c| c.cpu == late.cpu)?;
            cpu.steal_ns.map(|ns| ns > 0)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Returns a run directory with a single capture described by `note`, in which every fact that can be wrong is set.
    fn run_with(note: &str) -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let (mut recording, _) = punctual_testing::runs::hostile("x");
        recording.run.machine.kernel_release = Some("6.1.0-rt".into());
        recording.run.machine.virtualisation = Some("kvm".into());
        fs::create_dir_all(place.path().join("segments")).unwrap();
        fs::create_dir_all(place.path().join("traces")).unwrap();
        fs::write(place.path().join("run.json"), serde_json::to_vec(&recording.run).unwrap()).unwrap();
        fs::write(place.path().join("traces/1-cpu-1.dat"), b"").unwrap();
        fs::write(place.path().join("traces/1-cpu-1.json"), note).unwrap();
        place
    }

    #[test]
    fn the_facts_of_a_run_and_of_its_file_are_the_same() {
        let late = r#""late":[{"cpu":1,"tid":7,"release_mono_ns":8000000000,"latency_ns":2000000}],"overwritten":[],"policies":{}"#;
        let old = format!(
            r#"{{"phase":"1-cpu","file":"traces/1-cpu-1.dat","from_mono_ns":1,"to_mono_ns":2,{late},"fair_server":true,"throttled":null}}"#
        );
        let new = old.replace(
            r#""throttled":null"#,
            r#""throttled":true,"tracer":"nop","kernel":"6.12.1","guest":false,"rt_group_sched":true,"released":[5]"#,
        );
        for note in [&old, &new] {
            let place = run_with(note);
            let recording = punctual_rundir::read(place.path()).unwrap();
            let capture = recording.captures.first().unwrap_or_else(|| panic!("{:?}", recording.damage));
            let of_run = facts(capture, known(&capture.late[0], &recording));
            assert_eq!(facts_beside(&place.path().join("traces/1-cpu-1.dat")), Some(of_run.clone()));
            let is_new = note == &new;
            assert_eq!(of_run.kernel.as_deref(), Some(if is_new { "6.12.1" } else { "6.1.0-rt" }));
            assert_eq!(of_run.guest, Some(!is_new));
            assert_eq!((of_run.rt_group_sched, of_run.released.len()), (is_new.then_some(true), usize::from(is_new)));
        }
    }

    #[test]
    fn a_note_of_another_file_says_nothing() {
        let place = run_with("{}");
        assert_eq!(facts_beside(&place.path().join("traces/1-cpu-1.dat")), None);
        assert_eq!(facts_beside(&place.path().join("traces/absent.dat")), None);
    }
}
