//! The longest responses of a thread's cycles, and what they would be without one of the threads and interrupts that
//! delayed them.

use punctual_explain::{Closed, Culprit, Delay, Released};
use punctual_model::{AppCycles, AppWithout, Class};
use punctual_trace::Comm;
use std::collections::HashMap;

/// Number of longest responses that are kept.
const LONGEST: usize = 8;
/// Maximum number of threads and interrupts that are left out; no estimate is made for further ones.
const CULPRITS: usize = 64;

/// The largest values, largest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Longest(Vec<u64>);

impl Longest {
    fn add(&mut self, ns: u64) {
        if self.0.len() == LONGEST && self.0.last().is_some_and(|last| *last >= ns) {
            return;
        }
        let at = self.0.partition_point(|known| *known > ns);
        self.0.insert(at, ns);
        self.0.truncate(LONGEST);
    }
}

/// What is left out: threads of other programs by name, since a program may start a new thread or process each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Who {
    Named(Comm),
    One(Culprit),
}

#[derive(Debug)]
struct LeftOut {
    /// The thread or interrupt; the first one of that name.
    culprit: Culprit,
    name: Option<Comm>,
    cycles: u64,
    /// Number of cycles that it released.
    released: u64,
    ns: u64,
    sure_ns: u64,
    longest: Longest,
    least: Longest,
    /// Time by which the previous cycle would have ended earlier, ns; `earliest` if other delays are shortened as well.
    earlier: u64,
    earliest: u64,
}

#[derive(Debug, Default)]
pub(super) struct Without {
    all: Longest,
    /// Largest time of one cycle that no thread of the same or a higher priority took, ns.
    others: u64,
    by: HashMap<Who, LeftOut>,
    /// The measured threads: each is left out alone.
    measured: Vec<i32>,
}

impl Without {
    pub fn new(measured: Vec<i32>) -> Without {
        Without { measured, ..Without::default() }
    }

    fn who(&self, delay: &Delay) -> Who {
        let is_measured = delay.by.tid.is_some_and(|tid| self.measured.contains(&tid));
        match delay.comm {
            Some(comm) if is_thread(&delay.by) && !is_measured => Who::Named(comm),
            _ => Who::One(delay.by),
        }
    }

    /// Counts a cycle.
    pub fn cycle(&mut self, closed: &Closed) {
        let response = closed.end_ns.saturating_sub(closed.release_ns);
        let removable = closed.delays.iter().filter(|delay| is_removable(&delay.by));
        let removable: Vec<(Who, &Delay)> = removable.map(|delay| (self.who(delay), delay)).collect();
        for (who, Delay { by, comm, ns, sure_ns }) in &removable {
            // All earlier cycles were without this culprit.
            let known = self.by.len() < CULPRITS || self.by.contains_key(who);
            let new = || LeftOut {
                culprit: *by,
                name: None,
                cycles: 0,
                released: 0,
                ns: 0,
                sure_ns: 0,
                longest: self.all.clone(),
                least: self.all.clone(),
                earlier: 0,
                earliest: 0,
            };
            if known {
                let of = self.by.entry(*who).or_insert_with(new);
                of.name = of.name.or(*comm);
                of.ns += ns;
                of.sure_ns += sure_ns;
            }
        }
        let delays: u64 = closed.delays.iter().map(|delay| delay.ns).sum();
        let others: u64 = closed.delays.iter().filter(|delay| !is_thread(&delay.by)).map(|delay| delay.ns).sum();
        self.others = self.others.max(others);
        for (who, of) in &mut self.by {
            let own: u64 = removable.iter().filter(|(by, _)| by == who).map(|(_, delay)| delay.ns).sum();
            of.cycles += u64::from(own > 0);
            of.released +=
                u64::from(own > 0 && removable.iter().any(|(by, delay)| by == who && releases(closed, delay)));
            // A cycle that began late because the previous one ended late would have begun earlier.
            let behind = |earlier: u64| if closed.is_next { closed.behind_ns.min(earlier) } else { 0 };
            let earliest = own + behind(of.earliest);
            of.earlier = (own + behind(of.earlier)).min(response);
            let rest = delays.saturating_sub(own);
            let met = (u128::from(rest) * u128::from(of.earlier) / u128::from(response.max(1))) as u64;
            // Without a thread, the interrupt that releases it and the switches to it and back are absent, too.
            let with_it = if own > 0 && is_thread(&of.culprit) { others } else { 0 };
            of.earliest = earliest.saturating_add(met.max(with_it)).min(response);
            of.longest.add(response - of.earlier);
            of.least.add(response - of.earliest);
        }
        self.all.add(response);
    }

    /// Adds the longest responses, and those without each thread or interrupt, to the summary of the cycles.
    pub fn finish(self, totals: &mut AppCycles, interrupt: &dyn Fn(Culprit) -> Option<String>) {
        let named = self.by.into_values().map(|of| {
            let culprit = of.culprit;
            let is_same = of.longest == self.all;
            let list = |longest: Longest| if is_same { Vec::new() } else { longest.0 };
            AppWithout {
                class: culprit.class,
                tid: culprit.tid,
                name: match (of.name, culprit.tid) {
                    (Some(name), _) => name.to_string(),
                    (None, Some(tid)) => format!("thread {tid}"),
                    (None, None) => interrupt(culprit).unwrap_or_else(|| "an unknown interrupt".into()),
                },
                cycles: of.cycles,
                released: of.released,
                ns: of.ns,
                sure_ns: of.sure_ns,
                longest_ns: list(of.longest),
                least_ns: list(of.least),
            }
        });
        totals.without = named.collect();
        totals.without.sort_by(|a, b| (b.ns, &a.name, a.tid).cmp(&(a.ns, &b.name, b.tid)));
        (totals.longest_ns, totals.other_delays_ns) = (self.all.0, self.others);
    }
}

fn is_thread(culprit: &Culprit) -> bool {
    matches!(culprit.class, Class::HigherPriority | Class::SamePriority) && culprit.tid.is_some()
}

/// Returns true if what delayed the cycle also released it.
fn releases(closed: &Closed, delay: &Delay) -> bool {
    let by = |released: &Released| released.by.is_some() && released.by == delay.by.tid;
    closed.released_in == Some(delay.by) || closed.releases.iter().any(by)
}

/// Returns true for a thread that had the CPU because of its priority, and for an interrupt: without it the CPU would
/// have been free for the delayed thread.
fn is_removable(culprit: &Culprit) -> bool {
    is_thread(culprit) || matches!(culprit.class, Class::Irq | Class::Softirq)
}

#[cfg(test)]
mod tests {
    use super::super::lane::tests::{closed, totals};
    use super::*;

    const HOG: Culprit = Culprit::thread(Class::HigherPriority, 90);
    const OTHER: Culprit = Culprit::thread(Class::HigherPriority, 91);

    fn delayed(release: u64, length: u64, delays: &[(Culprit, u64)]) -> Closed {
        let delays = delays.iter().map(|(by, ns)| Delay { by: *by, comm: None, ns: *ns, sure_ns: *ns }).collect();
        Closed { delays, end_ns: release + length, ..closed(release, 20_000) }
    }

    fn named(without: Without) -> AppCycles {
        let mut totals = totals();
        without.finish(&mut totals, &|_| None);
        totals
    }

    #[test]
    fn the_longest_response_without_a_thread_is_that_of_another_cycle() {
        let mut without = Without::default();
        without.cycle(&delayed(0, 300, &[]));
        without.cycle(&delayed(1_000, 900, &[(HOG, 700)]));
        without.cycle(&delayed(2_000, 400, &[(OTHER, 200)]));
        let AppCycles { longest_ns, without, other_delays_ns, .. } = named(without);
        assert_eq!((longest_ns.as_slice(), other_delays_ns), ([900, 400, 300].as_slice(), 0));
        assert_eq!((without[0].name.as_str(), without[0].cycles, without[0].ns), ("thread 90", 1, 700));
        assert_eq!(without[0].longest_ns, [400, 300, 200]);
        assert_eq!(
            (without[1].name.as_str(), without[1].longest_ns.as_slice()),
            ("thread 91", [900, 300, 200].as_slice())
        );
    }

    #[test]
    fn a_cycle_that_began_late_would_have_begun_earlier() {
        let mut without = Without::default();
        without.cycle(&delayed(0, 1_500, &[(HOG, 1_300)]));
        without.cycle(&Closed { behind_ns: 500, ..delayed(1_000, 700, &[]) });
        assert_eq!(named(without).without[0].longest_ns, [200, 200]);
        let mut without = Without::default();
        without.cycle(&delayed(0, 1_500, &[(HOG, 1_000), (OTHER, 300)]));
        without.cycle(&Closed { behind_ns: 500, ..delayed(1_000, 700, &[]) });
        // 1,500 - 1,000 - 200, and 700 - 500.
        assert_eq!(named(without).without[0].least_ns, [300, 200]);
        // After lost events the cycle may have begun late for another reason.
        let mut without = Without::default();
        without.cycle(&delayed(0, 1_500, &[(HOG, 1_300)]));
        without.cycle(&Closed { behind_ns: 500, is_next: false, ..delayed(1_000, 700, &[]) });
        assert_eq!(named(without).without[0].longest_ns, [700, 200]);
    }

    #[test]
    fn threads_of_one_name_are_left_out_together_but_not_measured_ones() {
        let by = |tid, ns| {
            let by = Culprit::thread(Class::HigherPriority, tid);
            Delay { by, comm: Some(Comm::new(b"backup")), ns, sure_ns: ns }
        };
        let of = |release, delays: Vec<Delay>| Closed { delays, end_ns: release + 900, ..closed(release, 20_000) };
        let mut without = Without::new(vec![93]);
        without.cycle(&of(0, vec![by(90, 300), by(91, 100), by(93, 50)]));
        without.cycle(&of(1_000, vec![by(92, 200)]));
        let left_out = named(without).without;
        let known = |at: usize| (left_out[at].tid, left_out[at].cycles, left_out[at].ns, &left_out[at].longest_ns[..]);
        assert_eq!(known(0), (Some(90), 2, 600, [700, 500].as_slice()));
        assert_eq!(known(1), (Some(93), 1, 50, [900, 850].as_slice()));
        assert_eq!(left_out.len(), 2);
    }

    #[test]
    fn what_released_cycles_is_counted() {
        let mut without = Without::default();
        let released = |by| vec![Released { at_ns: 0, by: Some(by) }];
        without.cycle(&delayed(0, 500, &[(HOG, 100), (OTHER, 200)]));
        without.cycle(&Closed { releases: released(90), ..delayed(1_000, 500, &[(HOG, 100), (OTHER, 200)]) });
        without.cycle(&Closed { releases: released(91), ..delayed(2_000, 500, &[(HOG, 100)]) });
        let counts: Vec<_> = named(without).without.iter().map(|one| (one.tid, one.released)).collect();
        assert_eq!(counts, [(Some(91), 0), (Some(90), 1)]);
    }

    #[test]
    fn shorter_cycles_meet_fewer_other_delays() {
        let mut without = Without::default();
        without.cycle(&delayed(0, 1_000, &[(HOG, 500), (OTHER, 100)]));
        let left_out = &named(without).without;
        assert_eq!((left_out[0].longest_ns[0], left_out[0].least_ns[0]), (500, 450));
    }

    #[test]
    fn a_thread_goes_with_the_interrupts_of_its_cycles() {
        let mut without = Without::default();
        let irq = Culprit::thread(Class::Irq, 9);
        without.cycle(&delayed(0, 1_000, &[(HOG, 500), (irq, 100)]));
        without.cycle(&delayed(1_000, 450, &[(irq, 40)]));
        let left_out = named(without).without;
        assert_eq!((left_out[0].tid, &left_out[0].longest_ns[..]), (Some(90), [500, 450].as_slice()));
        // 1,000 - 500 - 100; the other cycle was without it.
        assert_eq!(left_out[0].least_ns, [450, 400]);
        assert_eq!(left_out[1].least_ns, [850, 410]);
    }

    #[test]
    fn what_is_no_thread_and_no_interrupt_is_not_left_out() {
        let mut without = Without::default();
        let stall = Culprit::thread(Class::IrqsDisabled, 90);
        without.cycle(&delayed(0, 1_000, &[(stall, 500)]));
        let totals = named(without);
        assert_eq!((totals.without, totals.other_delays_ns), (Vec::new(), 500));
    }
}
