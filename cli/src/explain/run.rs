//! The causes that the traces of a run show.

use super::found::Found;
use punctual_directory::Dir;
use punctual_explain::Explanation;
use punctual_model::Recording;
use punctual_rundir as rundir;
use std::path::Path;

/// A run directory, also one of a run that was killed before it could explain anything.
pub fn found(root: &Path) -> Result<Found, String> {
    let mut recording = rundir::read(root).map_err(|e| e.to_string())?;
    let dir = Dir::open(root).map_err(|e| e.to_string())?;
    punctual_analyse::causes(Some(&dir), &mut recording);
    let name = root.file_name().unwrap_or(root.as_os_str()).to_string_lossy().into_owned();
    Ok(of_recording(recording, root, name))
}

/// What a run's traces show, as an explanation of one trace.
pub fn of_recording(recording: Recording, root: &Path, name: String) -> Found {
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
    let trace = recording.explained.first().map(|explained| root.join(&explained.trace));
    let (mut victims, mut timelines, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for explained in recording.explained {
        places.push(explained.phase);
        victims.push(explained.victim);
        timelines.push(explained.timeline);
    }
    let explanation = Explanation {
        groups: punctual_explain::groups(&victims),
        wakeups: victims.len() as u64,
        chosen: "the latest of each phase, as measured by their own threads".into(),
        victims,
        notes,
        ..Explanation::default()
    };
    Found { explanation, timelines, places, format: "run directory".into(), name, trace, code: None }
}
