//! Explained wakeups, taken from recorded traces of Linux 6.12-rt and 6.1-rt in a guest.

use super::cases::{failing, hostile};
use punctual_model::{Explained, Explanation, Recording, Verdict};

pub fn lines() -> Vec<Explained> {
    let text = include_str!("../../fixtures/causes.jsonl");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub fn explained() -> (Recording, Verdict) {
    let (mut recording, verdict) = failing();
    recording.explained = lines();
    (recording, verdict)
}

pub fn explanation() -> Explanation {
    let victims = lines().into_iter().map(|line| line.victim).collect();
    let notes = vec!["the trace holds no irq events".into()];
    Explanation { victims, wakeups: 1_234, chosen: "measuring tools' threads".into(), notes, ..Explanation::default() }
}

/// Returns a recording with explained wakeups, and its verdict, in which every untrusted string is `text`.
pub fn hostile_explained(text: &str) -> (Recording, Verdict) {
    let (mut recording, verdict) = hostile(text);
    recording.explained = lines();
    for line in &mut recording.explained {
        let s = || text.to_owned();
        line.phase = s();
        line.trace = s();
        let victim = &mut line.victim;
        (victim.comm, victim.verdict, victim.doubts) = (Some(s()), s(), vec![s()]);
        victim.scheduled.policy = Some(s());
        for cause in &mut victim.causes {
            (cause.comm, cause.what, cause.evidence) = (Some(s()), Some(s()), s());
            cause.scheduled.policy = Some(s());
        }
        let timeline = line.timeline.as_mut().unwrap();
        timeline.notes = vec![s()];
        for span in timeline.lanes.iter_mut().flat_map(|lane| &mut lane.spans) {
            (span.label, span.scheduled.policy) = (s(), Some(s()));
        }
    }
    (recording, verdict)
}
