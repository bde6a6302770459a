//! Combines the violations of one rule at one place into one finding.

use crate::judge::{Begin, Looked};
use crate::place::{at, location};
use crate::recording::{Occurrence, Recording, Thread};
use crate::rules::rule;
use punctual_cycles::Cycle;
use punctual_model::{CheckFinding, CheckFrame, Evidence, Finding, Severity, State};
use punctual_units::{Arrange, Nanos};
use std::collections::BTreeMap;

/// Name of the threads, ID of the rule, place in the program, and true for violations within a cycle.
type Key = (String, &'static str, Option<CheckFrame>, bool);

/// A place, and what it has to do with the finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub place: u32,
    /// Words before the name of the function, for example `, in `.
    pub how: &'static str,
}

impl At {
    pub fn function(place: u32) -> Option<At> {
        Some(At { place, how: IN })
    }

    /// The place at which the thread was created, from which it has its policy.
    pub fn created(place: Option<u32>) -> Option<At> {
        place.map(|place| At { place, how: ", created in " })
    }
}

const IN: &str = ", in ";

#[derive(Default)]
struct Group {
    tids: Vec<i32>,
    count: u64,
    cycles: u64,
    worst: Option<u64>,
    calls: Vec<String>,
    files: Vec<String>,
    stack: Vec<CheckFrame>,
    is_cut: bool,
    /// [`At::how`].
    how: Option<&'static str>,
    /// Texts that the finding's summary contains; those of several threads may differ.
    said: Vec<String>,
}

impl Group {
    fn say(&mut self, said: &str) {
        if !self.said.iter().any(|known| known == said) {
            self.said.push(said.to_owned());
        }
    }
}

/// Lists the first two texts, and how many more there are.
fn listed(texts: &[String], between: &str) -> Option<String> {
    let shown = texts.iter().take(2).cloned().collect::<Vec<_>>().join(between);
    match texts.len() {
        0 => None,
        1 | 2 => Some(shown),
        n => Some(format!("{shown}{between}and {} more", n - 2)),
    }
}

pub(crate) struct Findings<'a> {
    pub recording: &'a Recording,
    all: BTreeMap<(String, &'static str, String, bool), (Key, Group)>,
}

impl<'a> Findings<'a> {
    pub fn new(recording: &'a Recording) -> Findings<'a> {
        Findings { recording, all: BTreeMap::new() }
    }

    /// Returns true if a violation of the rule within a cycle was found at this place.
    pub fn has(&self, id: &'static str, name: &str, place: Option<CheckFrame>) -> bool {
        self.all.contains_key(&(name.to_owned(), id, format!("{place:?}"), true))
    }

    fn group(&mut self, id: &'static str, name: &str, frame: Option<CheckFrame>, is_in_cycle: bool) -> &mut Group {
        let text = format!("{frame:?}");
        let key = (name.to_owned(), id, frame, is_in_cycle);
        &mut self.all.entry((name.to_owned(), id, text, is_in_cycle)).or_insert_with(|| (key, Group::default())).1
    }

    pub fn occurred(
        &mut self,
        id: &'static str,
        one: &Looked,
        occurrence: &Occurrence,
        is_in_cycle: bool,
        begin: Begin,
        said: Option<&str>,
    ) {
        let recording = self.recording;
        let place = &recording.places[occurrence.place as usize];
        let group = self.group(id, &one.thread.name, location(place), is_in_cycle);
        group.count += 1;
        group.worst = group.worst.max(occurrence.duration);
        if !group.tids.contains(&one.thread.tid) {
            group.tids.push(one.thread.tid);
            let counts = |cycle: &&Cycle| {
                matches!(begin, Begin::Found) || matches!(begin, Begin::At(from) if from <= cycle.end.0)
            };
            group.cycles += one.cycles.as_ref().map_or(0, |cycles| cycles.cycles.iter().filter(counts).count() as u64);
        }
        if let Some(call) = place.call.as_ref().filter(|call| !group.calls.contains(call)) {
            group.calls.push(call.clone());
        }
        let file = occurrence.file.and_then(|at| recording.files.get(at as usize)?.clone());
        group.files.extend(file.filter(|file| !group.files.contains(file)));
        if group.stack.is_empty() {
            group.stack.clone_from(&place.stack);
            group.is_cut = place.is_cut;
        }
        said.into_iter().for_each(|said| group.say(said));
    }

    /// Adds a finding about a whole thread. Its place is where the thread became real-time or where it waits.
    pub fn state_at(&mut self, id: &'static str, name: &str, tid: i32, said: &str, at: Option<At>, count: u64) {
        let place = at.and_then(|at| self.recording.places.get(at.place as usize));
        let group = self.group(id, name, place.and_then(location), true);
        group.how = at.map(|at| at.how);
        group.count += count;
        if !group.tids.contains(&tid) {
            group.tids.push(tid);
        }
        if let Some(place) = place.filter(|_| group.stack.is_empty()) {
            group.stack.clone_from(&place.stack);
            group.is_cut = place.is_cut;
        }
        group.say(said);
    }

    pub fn state(&mut self, id: &'static str, name: &str, said: &str) {
        let group = self.group(id, name, None, true);
        group.count += 1;
        group.say(said);
    }

    pub fn finish(self) -> Vec<CheckFinding> {
        let mut out: Vec<CheckFinding> =
            self.all.into_values().filter_map(|(key, group)| finding(self.recording, key, group)).collect();
        // What happened in one of many cycles, such as the first page fault of a function, is below all else of its state.
        let is_rare = |one: &CheckFinding| one.count == 1 && one.per_cycle.is_some_and(|rate| rate < 0.5);
        let rank = |one: &CheckFinding| {
            (one.finding.state != State::Fail, is_rare(one), std::cmp::Reverse(one.finding.severity))
        };
        let rate = |one: &CheckFinding| one.per_cycle.map_or(0, |rate| (rate * 1e6) as u64);
        out.arrange_by_key(|one| {
            let often = std::cmp::Reverse((rate(one), one.count));
            (rank(one), often, one.finding.id.clone(), one.thread.clone())
        });
        out
    }
}

/// Returns a thread's name, with its thread ID if other real-time threads have the same name.
fn subject(recording: &Recording, name: &str, tids: &[i32]) -> String {
    let is_other =
        |thread: &Thread| thread.real_time_since.is_some() && thread.name == name && !tids.contains(&thread.tid);
    if tids.is_empty() || !recording.threads.iter().any(is_other) {
        return name.to_owned();
    }
    let tids: Vec<String> = tids.iter().map(i32::to_string).collect();
    format!("{name} ({})", tids.join(", "))
}

fn finding(recording: &Recording, (name, id, place, is_in_cycle): Key, group: Group) -> Option<CheckFinding> {
    let rule = rule(id)?;
    let severity = if is_in_cycle { rule.severity } else { rule.outside };
    let state = match (is_in_cycle, severity) {
        (_, Severity::Off | Severity::Info) => State::Info,
        (true, Severity::Low) => State::Warn,
        (true, _) => State::Fail,
        (false, _) => State::Warn,
    };
    let per_cycle = (is_in_cycle && group.cycles > 0).then(|| group.count as f64 / group.cycles as f64);
    let subject = subject(recording, &name, &group.tids);
    let calls = if group.calls.is_empty() { String::new() } else { format!(" ({})", group.calls.join(", ")) };
    let file = listed(&group.files, ", ").map(|files| format!(" on {files}")).unwrap_or_default();
    let said = listed(&group.said, "; ").map(|said| format!(": {said}")).unwrap_or_default();
    let at = place.as_ref().map(|frame| format!("{}{}", group.how.unwrap_or(IN), at(frame, group.is_cut)));
    let summary = format!("{subject}: {}{calls}{file}{said}{}", rule.title, at.unwrap_or_default());
    let evidence = place.iter().filter_map(|frame| {
        let source = format!("{}:{}", frame.file.as_ref()?, frame.line?);
        Some(Evidence { source, value: frame.function.clone().unwrap_or_default() })
    });
    let finding = Finding {
        id: rule.id.clone(),
        group: "Real-time threads".into(),
        severity,
        state,
        summary,
        evidence: evidence.collect(),
        why: rule.why.clone(),
        fix: Some(rule.instead.clone()),
    };
    Some(CheckFinding {
        finding,
        thread: name,
        tids: group.tids,
        count: group.count,
        is_at_least: false,
        per_cycle,
        worst_ns: group.worst.map(Nanos),
        is_in_cycle,
        place,
        stack: group.stack,
        is_stack_cut: group.is_cut,
        is_known: false,
    })
}
