//! A backend in virtual time with an exact number of faults, to test the suite.

use crate::backend::{Answer, Backend, Channel, NotRun, Observed, Order, Plan, Source};
use punctual_units::Nanos;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::str::FromStr;

/// Number of events per test that have each kind of fault. An event has at most one fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub drop: u64,
    pub double: u64,
    /// Events that arrive [`Mock::BEHIND`] after their deadline, and thus after later events.
    pub delay: u64,
    /// Events that arrive together with the previous one.
    pub coalesce: u64,
    /// Events that the source refuses, which the sender notices.
    pub refuse: u64,
}

/// Parses names and values of the fields of [`Faults`], for example `drop=3,double=1`. An empty text means no faults.
impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Faults, String> {
        let mut faults = Faults::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong =
                || format!("'{}': write for example drop=3,double=1,delay=2,coalesce=4,refuse=5", part.escape_debug());
            let (name, count) = part.split_once('=').ok_or_else(wrong)?;
            let count = count.parse().map_err(|_| wrong())?;
            match name {
                "drop" => faults.drop = count,
                "double" => faults.double = count,
                "delay" => faults.delay = count,
                "coalesce" => faults.coalesce = count,
                "refuse" => faults.refuse = count,
                _ => return Err(wrong()),
            }
        }
        Ok(faults)
    }
}

/// A deterministic backend: the same seed and faults cause the same arrivals.
#[derive(Clone, Debug)]
pub struct Mock {
    seed: u64,
    faults: Faults,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Well,
    /// The next event arrives together with this event.
    Leads,
    Drop,
    Double,
    Delay,
    Coalesce,
    Refuse,
}

impl Mock {
    /// Time after its deadline at which a delayed event arrives.
    pub const BEHIND: Nanos = Nanos::from_micros(1);

    /// Creates a mock. `seed` determines which events of each test the `faults` affect.
    pub fn new(seed: u64, faults: Faults) -> Mock {
        Mock { seed, faults }
    }

    fn fates(&self, events: u64, random: &mut Random) -> Result<Vec<Fate>, NotRun> {
        let Faults { drop, double, delay, coalesce, refuse } = self.faults;
        let wanted: u128 = [coalesce, coalesce, drop, double, delay, refuse].map(u128::from).iter().sum();
        if wanted > u128::from(events / 2) {
            let why = format!(
                "{wanted} faults requested for {events} events, but at most half of them can be faulty: measure longer"
            );
            return Err(NotRun::Failed(why));
        }
        let mut fates = vec![Fate::Well; events as usize];
        for _ in 0..coalesce {
            loop {
                let at = random.below(events) as usize;
                if at > 0 && fates[at] == Fate::Well && fates[at - 1] == Fate::Well {
                    (fates[at - 1], fates[at]) = (Fate::Leads, Fate::Coalesce);
                    break;
                }
            }
        }
        let others = [(drop, Fate::Drop), (double, Fate::Double), (delay, Fate::Delay), (refuse, Fate::Refuse)];
        for (count, fate) in others {
            for _ in 0..count {
                loop {
                    let at = random.below(events) as usize;
                    if fates[at] == Fate::Well {
                        fates[at] = fate;
                        break;
                    }
                }
            }
        }
        Ok(fates)
    }

    /// Sends `plan.events` events in virtual time, and receives them in the order in which they arrive.
    fn deliver(&self, plan: &Plan<'_>) -> Answer {
        let mut random = Random(self.seed ^ plan.events);
        let fates = self.fates(plan.events, &mut random)?;
        let mut ledger = plan.ledger();
        let interval = plan.interval.0.max(1);
        let mut delayed: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
        // An event without a fault is received within half its deadline, and before the next event is sent.
        let usual = (plan.deadline.0 / 2).min(interval - 1);
        for (number, fate) in fates.into_iter().enumerate().map(|(n, fate)| (n as u64, fate)) {
            let sent = number * interval;
            while let Some(Reverse((at, earlier))) = delayed.peek().copied().filter(|Reverse((at, _))| *at <= sent) {
                delayed.pop();
                ledger.arrived(earlier, Nanos(at - earlier * interval));
            }
            let lateness = Nanos(random.below(usual + 1));
            match fate {
                Fate::Well => ledger.arrived(number, lateness),
                Fate::Leads => ledger.arrived_together(number, 2, |_| lateness),
                Fate::Coalesce | Fate::Drop => {}
                Fate::Double => (0..2).for_each(|_| ledger.arrived(number, lateness)),
                Fate::Refuse => ledger.overflowed(1),
                Fate::Delay => delayed.push(Reverse((sent + plan.deadline.0 + Mock::BEHIND.0, number))),
            }
        }
        while let Some(Reverse((at, number))) = delayed.pop() {
            ledger.arrived(number, Nanos(at - number * interval));
        }
        Ok(Observed { page_faults: Some(0), ..Observed::new(ledger, plan.events) })
    }
}

impl Backend for Mock {
    fn name(&self) -> &str {
        "mock"
    }

    fn facts(&self) -> BTreeMap<String, String> {
        let facts = [
            ("clock", "virtual".to_owned()),
            ("seed", self.seed.to_string()),
            ("faults", format!("{:?}", self.faults)),
        ];
        facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn periodic(&mut self, plan: &Plan<'_>) -> Answer {
        self.deliver(plan)
    }

    fn alarms(&mut self, plan: &Plan<'_>) -> Answer {
        self.deliver(plan)
    }

    fn inversion(&mut self, plan: &Plan<'_>) -> Answer {
        well(plan)
    }

    fn order(&mut self, _order: Order, plan: &Plan<'_>) -> Answer {
        well(plan)
    }

    fn channel(&mut self, _channel: Channel, plan: &Plan<'_>) -> Answer {
        self.deliver(plan)
    }

    fn source(&mut self, _source: Source, plan: &Plan<'_>) -> Answer {
        self.deliver(plan)
    }
}

/// Returns a few correct rounds, for the tests in which no events can be dropped.
fn well(plan: &Plan<'_>) -> Answer {
    let mut ledger = plan.ledger();
    (0..plan.events).for_each(|number| ledger.arrived(number, Nanos(plan.deadline.0 / 2)));
    Ok(Observed { page_faults: Some(0), ..Observed::new(ledger, plan.events) })
}

/// Random numbers of splitmix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`, approximately uniformly distributed.
    fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }
}
