//! Explains late wakeups from the traces of a run.

use super::found::Found;
use punctual_directory::Dir;
use punctual_explain::Explanation;
use punctual_model::{Cycle, Recording};
use punctual_report as report;
use punctual_rundir as rundir;
use std::path::Path;

/// Selects the wakeups to show.
#[derive(Clone, Copy)]
pub struct Shown {
    pub most: usize,
    pub least_ns: u64,
}

impl Shown {
    pub const ALL: Shown = Shown { most: usize::MAX, least_ns: 0 };
}

/// Explains a run directory. Also explains the traces of a run that was killed before it explained them itself.
pub fn found(root: &Path, shown: Shown) -> Result<Found, String> {
    let mut recording = rundir::read(root).map_err(|e| e.to_string())?;
    let dir = Dir::open(root).map_err(|e| e.to_string())?;
    punctual_analyse::causes(Some(&dir), &mut recording);
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
    Ok(of_recording(recording, root, name, shown))
}

/// Combines the explanations of a run's traces into one.
pub fn of_recording(mut recording: Recording, root: &Path, name: String, shown: Shown) -> Found {
    let mut notes: Vec<String> = recording.damage.clone();
    match &recording.run.tracing {
        Some(punctual_model::Tracing { why_not: Some(why), .. }) => notes.push(format!("nothing was traced: {why}")),
        None if recording.captures.is_empty() => {
            notes.push("nothing was traced: measure with --trace auto, or type `punctual prove`".into());
        }
        _ => {}
    }
    let phases = recording.run.phases.iter();
    notes.extend(phases.filter_map(|phase| phase.traced.as_ref()).flat_map(|traced| traced.problems.clone()));
    let all = recording.explained.len();
    recording.explained.retain(|explained| explained.latency_ns >= shown.least_ns);
    recording.explained.truncate(shown.most);
    if recording.explained.len() < all {
        notes.push(format!("{} of {all} explained wakeups are shown (-n, --threshold)", recording.explained.len()));
    }
    let trace = recording.explained.first().map(|explained| root.join(&explained.trace));
    let (mut victims, mut timelines, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for explained in std::mem::take(&mut recording.explained) {
        let when = report::utc_of(&recording, explained.release_mono_ns);
        places.push(when.map_or_else(|| explained.phase.clone(), |when| format!("{}, {when}", explained.phase)));
        victims.push(explained.victim);
        timelines.push(explained.timeline);
    }
    let of_application = recording.captures.iter().filter_map(|capture| capture.application.as_ref());
    let mut cycles: Vec<Cycle> = of_application.flat_map(|window| &window.cycles).flatten().cloned().collect();
    cycles.sort_by_key(|cycle| std::cmp::Reverse(cycle.length_ns));
    cycles.dedup_by_key(|cycle| (cycle.tid, cycle.release_ns));
    cycles.truncate(shown.most);
    let explanation = Explanation {
        cycles,
        groups: punctual_explain::groups(&victims),
        wakeups: victims.len() as u64,
        chosen: "the worst of each phase, as recorded by the measuring threads".into(),
        victims,
        notes,
        ..Explanation::default()
    };
    Found { explanation, timelines, places, format: "run directory".into(), name, trace, code: None }
}
