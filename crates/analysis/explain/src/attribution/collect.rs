//! Collects the worst wakeups and their groups, in bounded memory.

use super::label::{Tally, What};
use super::sentences;
use punctual_model::{Cause, Class, CulpritGroup as Group, Victim};
use punctual_trace::Comm;
use punctual_units::Arrange;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

const REMEMBERED: usize = 4096;
/// A wakeup counts as late for its group if its latency is at least the worst latency divided by this.
const LATE_PART: u64 = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    class: Class,
    tid: Option<i32>,
    what: Option<What>,
    comm: Option<Comm>,
}

pub(super) fn key(tally: &Tally) -> Option<Key> {
    let known = |class| class != Class::Unaccounted;
    let main = tally.parts.iter().max_by_key(|part| (part.ns, known(part.label.class)))?;
    let task = main.label.task;
    Some(Key {
        class: main.label.class,
        tid: task.map(|t| t.tid),
        comm: task.and_then(|t| t.comm),
        what: main.label.what.filter(|_| task.is_none()),
    })
}

impl Key {
    /// Returns the key of a wakeup of whose delay the lines show too little to name anybody.
    pub fn unseen() -> Key {
        Key { class: Class::Unaccounted, tid: None, what: None, comm: None }
    }
}

#[derive(Debug, Default)]
pub(super) struct WorstVictims {
    pub wakeups: u64,
    top: Vec<Victim>,
    late: BinaryHeap<Reverse<(u64, u64, Key)>>,
}

impl WorstVictims {
    /// True if a wakeup with this latency belongs to the `most` worst so far.
    pub fn wants(&self, latency_ns: u64, most: usize) -> bool {
        most > 0 && (self.top.len() < most || self.top.last().is_some_and(|v| latency_ns > v.latency_ns))
    }

    pub fn keep(&mut self, victim: Victim, most: usize) {
        let at = self.top.partition_point(|v| v.latency_ns >= victim.latency_ns);
        self.top.insert(at, victim);
        self.top.truncate(most);
    }

    pub fn worst_ns(&self) -> Option<u64> {
        self.top.first().map(|victim| victim.latency_ns)
    }

    pub fn count(&mut self, latency_ns: u64, t0: u64, key: Key) {
        if self.late.len() < REMEMBERED {
            self.late.push(Reverse((latency_ns, t0, key)));
        } else if let Some(mut least) = self.late.peek_mut()
            && least.0.0 < latency_ns
        {
            *least = Reverse((latency_ns, t0, key));
        }
    }

    /// Returns victims and groups; `name` returns names of interrupts and softirqs.
    pub fn finish(self, threshold: Option<u64>, name: impl Fn(What) -> String) -> (Vec<Victim>, Vec<Group>) {
        let worst = self.late.iter().map(|l| l.0.0).max().unwrap_or(0);
        let least = threshold.unwrap_or(worst / LATE_PART).max(1);
        let mut groups: BTreeMap<Key, Vec<(u64, u64)>> = BTreeMap::new();
        for Reverse((latency, t0, key)) in self.late.into_iter().filter(|l| l.0.0 >= least) {
            groups.entry(key).or_default().push((t0, latency));
        }
        let mut groups: Vec<(u64, Group)> = groups.into_iter().map(|(key, late)| group(key, late, &name)).collect();
        groups.arrange_by_key(|(total, _)| Reverse(*total));
        let victims = self.top.into_iter().filter(|v| threshold.is_none_or(|least| v.latency_ns >= least));
        (victims.collect(), groups.into_iter().map(|(_, group)| group).collect())
    }
}

/// Groups the wakeups by main cause; the group with the largest total latency comes first.
pub fn groups(victims: &[Victim]) -> Vec<Group> {
    type Same<'a> = (Class, Option<i32>, Option<&'a str>, Option<&'a str>);
    let mut groups: BTreeMap<Same, Vec<(u64, u64)>> = BTreeMap::new();
    for victim in victims {
        let known = |c: &&Cause| c.class != Class::Unaccounted;
        let main = victim.causes.iter().max_by_key(|cause| (cause.ns, known(cause)));
        let t0 = victim.moments.map_or(0, |moments| moments.t0_ns);
        if let Some(main) = main {
            let what = main.what.as_deref().filter(|_| main.tid.is_none());
            groups.entry((main.class, main.tid, main.comm.as_deref(), what)).or_default().push((t0, victim.latency_ns));
        }
    }
    let mut all: Vec<(u64, Group)> = groups
        .into_iter()
        .map(|((class, tid, comm, what), late)| {
            summed(late, Group { class, tid, comm: comm.map(String::from), what: what.map(String::from), ..empty() })
        })
        .collect();
    all.arrange_by_key(|(total, _)| Reverse(*total));
    all.into_iter().map(|(_, group)| group).collect()
}

fn empty() -> Group {
    Group {
        class: Class::Unaccounted,
        tid: None,
        comm: None,
        what: None,
        wakeups: 0,
        worst_ns: 0,
        every_ns: None,
        sentence: String::new(),
    }
}

fn group(key: Key, late: Vec<(u64, u64)>, name: impl Fn(What) -> String) -> (u64, Group) {
    let (comm, what) = (key.comm.map(|c| c.to_string()), key.what.map(name));
    summed(late, Group { class: key.class, tid: key.tid, comm, what, ..empty() })
}

fn summed(mut late: Vec<(u64, u64)>, mut group: Group) -> (u64, Group) {
    late.sort_unstable();
    let times: Vec<u64> = late.iter().map(|(t0, _)| *t0).collect();
    group.wakeups = late.len() as u64;
    group.worst_ns = late.iter().map(|(_, latency)| *latency).max().unwrap_or(0);
    group.every_ns = recurrence(&times);
    group.sentence = sentences::group(&group);
    (late.iter().fold(0u64, |sum, (_, latency)| sum.saturating_add(*latency)), group)
}

/// Returns the usual interval, if three quarters of the intervals are close to it or to a multiple of it.
fn recurrence(times: &[u64]) -> Option<u64> {
    let mut steps: Vec<u64> =
        times.windows(2).map(|w| w.get(1).copied().unwrap_or(0) - w.first().copied().unwrap_or(0)).collect();
    if steps.len() < 3 {
        return None;
    }
    steps.sort_unstable();
    let usual = *steps.get(steps.len() / 2)?;
    let near = |step: &&u64| {
        let times = (**step as f64 / usual as f64).round().max(1.0);
        (**step as f64 / times - usual as f64).abs() <= usual as f64 / 5.0
    };
    (usual > 0 && steps.iter().filter(near).count() * 4 >= steps.len() * 3).then_some(usual)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rhythm_is_found_with_beats_missing_and_not_where_there_is_none() {
        assert_eq!(recurrence(&[0, 700, 1400, 2810, 3500]), Some(700));
        assert_eq!(recurrence(&[0, 3, 1400, 1500, 9000]), None);
        assert_eq!(recurrence(&[0, 700]), None);
        assert_eq!(recurrence(&[5, 5, 5, 5]), None);
    }
}
