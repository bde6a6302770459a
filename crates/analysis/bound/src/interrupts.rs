//! Executions of interrupts, and the most time they take in a window.

use punctual_trace::{Name, Vector};

/// Limit on the number of executions of one CPU; each takes 16 bytes.
const MOST: usize = 1 << 24;
/// Highest number of interrupts with different sources; a machine has some hundreds.
const KINDS: usize = 1024;

/// Limit on the steps to a fixed point. Each adds at least one execution to the window.
const STEPS: usize = 1000;

/// Which interrupt an execution belongs to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Vector(Vector),
    Irq(u32, Option<Name>),
    Nmi,
    /// An interrupt without an event that names it.
    Unnamed,
    /// The entry of an interrupt or of an exception within a section, without an event that tells them apart.
    Untold,
}

impl Source {
    pub(crate) fn name(&self) -> String {
        match self {
            Source::Vector(Vector::LocalTimer) => "local_timer".to_owned(),
            Source::Vector(Vector::Reschedule) => "reschedule".to_owned(),
            Source::Vector(Vector::CallFunction) => "call_function".to_owned(),
            Source::Vector(Vector::CallFunctionSingle) => "call_function_single".to_owned(),
            Source::Vector(Vector::IrqWork) => "irq_work".to_owned(),
            Source::Vector(Vector::Other(name)) => name.to_string(),
            Source::Irq(irq, Some(name)) => format!("irq {irq} {name}"),
            Source::Irq(irq, None) => format!("irq {irq}"),
            Source::Nmi => "NMI".to_owned(),
            Source::Unnamed => "interrupts without a name".to_owned(),
            Source::Untold => "interrupts or exceptions within sections".to_owned(),
        }
    }

    fn is_same(&self, other: &Source) -> bool {
        match (self, other) {
            (Source::Irq(a, _), Source::Irq(b, _)) => a == b,
            _ => self == other,
        }
    }
}

/// Executions of one interrupt, in the order of their starts.
#[derive(Clone, Debug)]
pub(crate) struct Executions {
    pub(crate) source: Source,
    /// Start and duration, ns.
    times: Vec<(u64, u64)>,
}

impl Executions {
    pub(crate) fn count(&self) -> u64 {
        self.times.len() as u64
    }

    pub(crate) fn longest(&self) -> u64 {
        self.times.iter().map(|(_, ns)| *ns).max().unwrap_or(0)
    }

    /// Returns the largest sum of the durations of executions that overlap a window of `window` ns. The first one may
    /// have begun before the window, which then begins no later than that execution ends.
    pub(crate) fn in_window(&self, window: u64) -> u64 {
        let (mut most, mut sum, mut end) = (0, 0u64, 0);
        for (start, ns) in &self.times {
            let limit = start.saturating_add(*ns).saturating_add(window);
            while let Some((_, next)) = self.times.get(end).filter(|(next, _)| *next < limit) {
                sum += next;
                end += 1;
            }
            most = most.max(sum);
            sum -= ns;
        }
        most
    }

    /// Returns the time in a window of `window` ns if the interrupt comes at its smallest distance and always lasts as
    /// long as its longest execution. An interrupt that came once comes once in `recorded` ns.
    fn sporadic(&self, window: u64, recorded: u64) -> Option<u64> {
        let longest = self.longest();
        let distances = self.times.windows(2).filter_map(|pair| match pair {
            [(a, _), (b, _)] => Some(b - a),
            _ => None,
        });
        let distance = distances.min().unwrap_or(recorded).max(1);
        let times = window.checked_add(longest)? / distance + 1;
        times.checked_mul(longest)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts {
    kinds: Vec<Executions>,
    count: usize,
    pub(crate) is_full: bool,
}

impl Interrupts {
    pub(crate) fn add(&mut self, source: Source, start: u64, ns: u64) {
        if self.count >= MOST {
            self.is_full = true;
            return;
        }
        self.count += 1;
        let has_room = self.kinds.len() < KINDS;
        match self.kinds.iter_mut().find(|kind| kind.source.is_same(&source)) {
            Some(kind) => {
                // An execution that is lengthened to its neighbours may begin before the one before it.
                let start = kind.times.last().map_or(start, |(last, _)| start.max(*last));
                kind.times.push((start, ns));
            }
            None if !has_room => self.is_full = true,
            None => self.kinds.push(Executions { source, times: vec![(start, ns)] }),
        }
    }

    pub(crate) fn kinds(&self) -> &[Executions] {
        &self.kinds
    }

    pub(crate) fn count_of(&self, source: &Source) -> u64 {
        self.kinds.iter().find(|kind| kind.source.is_same(source)).map_or(0, Executions::count)
    }

    /// Returns the least window that holds `work` ns beside the interrupts in it: the fixed point of equation 7 of the
    /// paper, with its sliding window of observed execution times. `None` if there is none up to `limit`. `except`
    /// leaves one interrupt out.
    pub(crate) fn window(&self, work: u64, limit: u64, except: Option<usize>) -> Option<u64> {
        let kinds = || self.kinds.iter().enumerate().filter(|(n, _)| Some(*n) != except);
        fixed_point(work, limit, |window| kinds().try_fold(0u64, |sum, (_, k)| sum.checked_add(k.in_window(window))))
    }

    /// As [`Interrupts::window`], with the sporadic model.
    pub(crate) fn sporadic(&self, work: u64, limit: u64, recorded: u64) -> Option<u64> {
        fixed_point(work, limit, |window| {
            self.kinds.iter().try_fold(0u64, |sum, kind| sum.checked_add(kind.sporadic(window, recorded)?))
        })
    }
}

/// Returns the least L = work + interference(L), by iteration from below, if it is at most `limit` and found in
/// [`STEPS`].
fn fixed_point(work: u64, limit: u64, interference: impl Fn(u64) -> Option<u64>) -> Option<u64> {
    let mut window = work;
    for _ in 0..STEPS {
        let next = work.checked_add(interference(window)?)?;
        if next == window {
            return Some(window);
        }
        if next > limit {
            return None;
        }
        window = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(times: &[(u64, u64)]) -> Interrupts {
        let mut all = Interrupts::default();
        times.iter().for_each(|(start, ns)| all.add(Source::Nmi, *start, *ns));
        all
    }

    #[test]
    fn a_window_holds_the_interrupts_that_begin_in_it_and_one_before() {
        let all = of(&[(100, 10), (200, 20), (1000, 5)]);
        let kind = &all.kinds()[0];
        assert_eq!([0, 90, 91, 1000].map(|window| kind.in_window(window)), [20, 20, 30, 35]);
    }

    #[test]
    fn more_sources_than_a_machine_has_are_refused() {
        let mut all = Interrupts::default();
        (0..2000).for_each(|irq| all.add(Source::Irq(irq, None), 0, 1));
        assert_eq!((all.kinds().len(), all.is_full), (KINDS, true));
    }

    #[test]
    fn the_fixed_point_is_the_least_one_and_may_not_exist() {
        // 50 of work, and 10 every 100: one interrupt in the window.
        let all = of(&[(0, 10), (100, 10), (200, 10)]);
        assert_eq!(all.window(50, 1000, None), Some(60));
        assert_eq!((all.window(50, 1000, Some(0)), all.sporadic(50, 1000, 300)), (Some(50), Some(60)));
        // Interrupts that leave no time.
        let busy = of(&[(0, 10), (10, 10), (20, 10), (30, 10)]);
        assert_eq!(busy.sporadic(1, 1_000_000, 40), None);
        assert_eq!(busy.window(1, 1_000_000, None), Some(41));
        assert_eq!(busy.window(1, 40, None), None);
    }

    proptest! {
        /// Any window of the recording has at most the time that is computed for its length.
        #[test]
        fn no_window_has_more(gaps in prop::collection::vec((0u64..50, 1u64..20), 1..30), from in 0u64..600, length in 0u64..300) {
            let mut at = 0;
            let times: Vec<(u64, u64)> = gaps.iter().map(|(gap, ns)| { let start = at + gap; at = start + ns; (start, *ns) }).collect();
            let inside = |(start, ns): &(u64, u64)| (start + ns).min(from + length).saturating_sub((*start).max(from));
            let real: u64 = times.iter().map(inside).sum();
            let all = of(&times);
            prop_assert!(real <= all.kinds()[0].in_window(length));
            prop_assert!(real <= all.kinds()[0].sporadic(length, at).unwrap());
        }
    }
}
