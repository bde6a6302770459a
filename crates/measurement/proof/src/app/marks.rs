//! Marks of an application: lines that it writes to trace_marker, and USDT probes. The passes from one to another.

use super::chain::Passes;
use punctual_model::{AppChain, Claim};
use punctual_trace::{Event, Kind};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Prefix of the marks that punctual-rt and its C interface write. Lines without it are marks, too.
const PREFIX: &str = "punctual: ";
/// Maximum number of passes that wait at a point of a chain; `NAMES` is the maximum number of names that are
/// remembered.
const WAITING: usize = 4096;
const NAMES: usize = 256;

/// The marks for which events of uprobes stand, by name of the event; with the value, if it is a constant.
pub(super) type Probed = HashMap<String, (String, Option<u64>)>;

/// A mark, written as `NAME` or `NAME VALUE`, or a USDT probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark<'a> {
    pub name: &'a str,
    pub value: Option<u64>,
}

impl<'a> Mark<'a> {
    /// Returns the mark that an event is, and the thread that made it; `None` for other events.
    pub fn of(event: &'a Event, probed: &'a Probed) -> Option<(i32, Mark<'a>)> {
        let mark = match &event.kind {
            Kind::Print { text } => Mark::written(text)?,
            Kind::Other { name, body } => {
                let (name, constant) = probed.get(&**name)?;
                Mark { name, value: body.as_deref().and_then(fetched).or(*constant) }
            }
            _ => return None,
        };
        Some((event.tid?, mark))
    }

    fn written(text: &str) -> Option<Mark<'_>> {
        let line = text.lines().next()?.trim();
        let line = line.strip_prefix(PREFIX).unwrap_or(line);
        let valued = line.rsplit_once(' ').and_then(|(name, value)| Some((name.trim_end(), value.parse().ok()?)));
        let (name, value) = valued.map_or((line, None), |(name, value)| (name, Some(value)));
        (!name.is_empty()).then_some(Mark { name, value })
    }
}

/// Returns the value in the record of a uprobe: `__probe_ip=94110 value=17`.
fn fetched(body: &str) -> Option<u64> {
    let value = body.split(' ').find_map(|field| field.strip_prefix("value="))?;
    value.parse().ok().map(i64::cast_unsigned)
}

/// A mark that was seen before the measurement.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub tids: BTreeSet<i32>,
    pub has_values: bool,
}

/// All marks that were seen before the measurement, by name.
#[derive(Debug, Default)]
pub(super) struct SeenMarks(pub BTreeMap<String, Seen>);

impl SeenMarks {
    pub fn event(&mut self, event: &Event) {
        let Kind::Print { text } = &event.kind else { return };
        let Some((tid, mark)) = event.tid.zip(Mark::written(text)) else { return };
        if self.0.len() >= NAMES && !self.0.contains_key(mark.name) {
            return;
        }
        let seen = self.0.entry(mark.name.to_owned()).or_default();
        seen.tids.insert(tid);
        seen.has_values |= mark.value.is_some();
    }
}

/// A pass that has reached a point of the chain.
#[derive(Clone, Copy)]
struct Open {
    first: u64,
    value: Option<u64>,
}

/// A chain whose points are marks. A mark continues the passes that wait for it, except those whose value differs from
/// its own; a pass or mark without a value matches all.
pub(super) struct MarkChain {
    names: Vec<String>,
    pub passes: Passes,
    /// The passes that wait for each point except the first.
    waiting: Vec<VecDeque<Open>>,
    /// Number of passes that were abandoned because too many were waiting or events were lost.
    lost: u64,
}

impl MarkChain {
    pub fn new(names: &[String], phase: (u64, u64), claims: &[Claim], keep: usize, load: &str) -> MarkChain {
        let waiting = vec![VecDeque::new(); names.len().saturating_sub(1)];
        MarkChain { names: names.to_vec(), passes: Passes::new(names, phase, claims, keep, load), waiting, lost: 0 }
    }

    pub fn mark(&mut self, mark: &Mark, t: u64) {
        let Some(at) = self.names.iter().position(|name| name == mark.name) else { return };
        let reached = match at.checked_sub(1) {
            None => vec![Open { first: t, value: mark.value }],
            Some(before) => self.taken(before, mark.value),
        };
        match self.waiting.get_mut(at) {
            Some(next) => {
                for open in reached {
                    next.push_back(Open { value: mark.value.or(open.value), ..open });
                    let left_out = (next.len() > WAITING).then(|| next.pop_front()).flatten();
                    self.lost += left_out.map_or(0, |open| u64::from(self.passes.counts(open.first)));
                }
            }
            None if reached.is_empty() => self.passes.totals.others += u64::from(self.passes.counts(t)),
            None => reached.iter().for_each(|open| self.passes.passed(open.first, t)),
        }
    }

    fn taken(&mut self, before: usize, value: Option<u64>) -> Vec<Open> {
        let Some(waiting) = self.waiting.get_mut(before) else { return Vec::new() };
        let is_same = |open: &Open| open.value.zip(value).is_none_or(|(one, other)| one == other);
        let (taken, rest): (Vec<Open>, Vec<Open>) = waiting.drain(..).partition(is_same);
        waiting.extend(rest);
        taken
    }

    /// Abandons all waiting passes after events were lost, because these may have included marks.
    pub fn forget(&mut self) {
        self.lost += self.open();
        self.waiting.iter_mut().for_each(VecDeque::clear);
    }

    /// Returns the number of passes that began in the phase and have not reached the last mark.
    pub fn open(&self) -> u64 {
        self.waiting.iter().flatten().filter(|open| self.passes.counts(open.first)).count() as u64
    }

    pub fn finish(mut self) -> (super::lane::Value, AppChain) {
        self.passes.totals.unanswered = self.lost + self.open();
        self.passes.finish()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    pub(in crate::app) fn event(text: &str) -> Event {
        let kind = Kind::Print { text: text.into() };
        Event { t_ns: 1, cpu: 0, tid: Some(7), comm: None, flags: None, kind }
    }

    #[test]
    fn a_mark_is_a_name_and_perhaps_a_number() {
        let none = Probed::new();
        let of = |text: &str| Mark::of(&event(text), &none).map(|(_, mark)| (mark.name.to_owned(), mark.value));
        assert_eq!(of("punctual: setpoint"), Some(("setpoint".into(), None)));
        assert_eq!(of("punctual: frame 17\n"), Some(("frame".into(), Some(17))));
        assert_eq!(of("hit latency threshold (72 > 30)"), Some(("hit latency threshold (72 > 30)".into(), None)));
        assert_eq!(of("punctual: "), Some(("punctual:".into(), None)));
        assert_eq!((of(""), of(" \n")), (None, None));
    }

    #[test]
    fn the_event_of_a_uprobe_is_the_mark_of_its_probe() {
        let probed = Probed::from([
            ("usdt_7_0".to_owned(), ("usdt:vision:frame:arg1".to_owned(), None)),
            ("usdt_7_1".to_owned(), ("usdt:vision:shown:arg1".to_owned(), Some(3))),
        ]);
        let of = |name: &str, body: Option<&str>| {
            let kind = Kind::Other { name: name.into(), body: body.map(Into::into) };
            let event = Event { kind, ..event("") };
            Mark::of(&event, &probed).map(|(tid, mark)| (tid, mark.name.to_owned(), mark.value))
        };
        let frame = |value| Some((7, "usdt:vision:frame:arg1".to_owned(), value));
        assert_eq!(of("usdt_7_0", Some("__probe_ip=4198400 value=17")), frame(Some(17)));
        assert_eq!(of("usdt_7_0", Some("__probe_ip=4198400 value=-1")), frame(Some(u64::MAX)));
        assert_eq!(of("usdt_7_0", Some("__probe_ip=4198400")), frame(None));
        assert_eq!(of("usdt_7_1", None), Some((7, "usdt:vision:shown:arg1".to_owned(), Some(3))));
        assert_eq!(of("usdt_8_0", Some("value=1")), None);
    }

    /// Follows a chain of marks `a > b > c` in a phase from 10 to 20 ms. Returns the longest pass, and the numbers of
    /// passes, others and unanswered marks.
    fn passes(marks: &[(&str, Option<u64>, u64)]) -> (u64, u64, u64, u64) {
        let names = ["a", "b", "c"].map(String::from);
        let mut chain = MarkChain::new(&names, (10 * MS, 20 * MS), &[], 16, "idle");
        marks.iter().for_each(|(name, value, t)| chain.mark(&Mark { name, value: *value }, 10 * MS + t));
        let longest = chain.passes.longest;
        let totals = chain.finish().1;
        (longest, totals.passes, totals.others, totals.unanswered)
    }

    #[test]
    fn a_mark_without_a_value_takes_all_that_wait() {
        assert_eq!(passes(&[("a", None, 0), ("b", None, 5), ("c", None, 9)]), (9, 1, 0, 0));
        // The second mark `a` is overtaken and still has to be answered. Another name is not part of the chain.
        let overtaken = [("a", None, 0), ("a", None, 3), ("x", None, 4), ("b", None, 5), ("c", None, 9)];
        assert_eq!(passes(&overtaken), (9, 2, 0, 0));
        assert_eq!(passes(&[("c", None, 0), ("a", None, 3), ("b", None, 5)]), (0, 0, 1, 1));
        assert_eq!(passes(&[("a", None, 0), ("c", None, 3)]), (0, 0, 1, 1));
    }

    #[test]
    fn values_tell_passes_apart() {
        let crossed = [("a", Some(1), 0), ("a", Some(2), 1), ("b", Some(2), 2), ("c", Some(2), 3), ("b", Some(1), 7)];
        assert_eq!(passes(&crossed), (2, 1, 0, 1));
        // A mark in the middle without a value keeps the value of the first mark.
        assert_eq!(passes(&[("a", Some(1), 0), ("b", None, 2), ("c", Some(2), 3), ("c", Some(1), 8)]), (8, 1, 1, 0));
    }

    #[test]
    fn only_passes_that_began_in_the_phase_count() {
        let names = ["a", "b"].map(String::from);
        let mut chain = MarkChain::new(&names, (10 * MS, 20 * MS), &[], 16, "idle");
        for (name, t) in [("a", 9), ("b", 11), ("a", 19), ("b", 21), ("a", 22), ("b", 23)] {
            chain.mark(&Mark { name, value: None }, t * MS);
        }
        chain.mark(&Mark { name: "a", value: None }, 15 * MS);
        chain.forget();
        let totals = chain.finish().1;
        assert_eq!((totals.passes, totals.unanswered), (1, 1));
    }
}
