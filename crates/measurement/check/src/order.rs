//! Checks the order of urgency: `--order 'irq/27 > jackd > client'`.

use crate::judge::Looked;
use crate::system::urgency;
use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

/// Names of threads or programs, the most urgent first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order(Vec<String>);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an order is two or more names of threads, the most urgent first: 'irq/27 > jackd > client'")]
pub struct OrderError;

impl FromStr for Order {
    type Err = OrderError;

    fn from_str(text: &str) -> Result<Order, OrderError> {
        let names: Vec<String> = text.split('>').map(|name| name.trim().to_owned()).collect();
        let all: BTreeSet<&String> = names.iter().collect();
        let is_order = names.len() > 1 && all.len() == names.len() && names.iter().all(|name| !name.is_empty());
        is_order.then_some(Order(names)).ok_or(OrderError)
    }
}

/// Returns true if a thread has this name; `irq/…` and `*` at the end match any further text.
pub fn is_named(thread: &str, name: &str) -> bool {
    match name.strip_suffix('…').or_else(|| name.strip_suffix('*')) {
        Some(start) => thread.starts_with(start),
        None => thread == name,
    }
}

impl Order {
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Returns the violations of the order, each as the less urgent thread and a sentence about the violation.
    pub(crate) fn broken(
        &self,
        looked: &[Looked],
        others: &[(String, i32, u8)],
        preemptions: &BTreeMap<(String, String), u64>,
    ) -> Vec<(String, String)> {
        let own = looked.iter().map(|one| {
            let thread = one.thread;
            (thread.name.clone(), thread.tid, thread.scheduling.map_or(0, urgency))
        });
        let mut all: Vec<(String, i32, u8)> = own.collect();
        all.extend(others.iter().filter(|(_, tid, _)| !looked.iter().any(|one| one.thread.tid == *tid)).cloned());
        // Only the real-time threads of a program count; if it has none, it has no real-time priority.
        let of = |name: &str| {
            let named: Vec<&(String, i32, u8)> = all.iter().filter(|(thread, ..)| is_named(thread, name)).collect();
            let urgent: Vec<&(String, i32, u8)> = named.iter().copied().filter(|(.., urgency)| *urgency > 0).collect();
            if urgent.is_empty() { named } else { urgent }
        };
        let mut out = Vec::new();
        for pair in self.0.windows(2) {
            let (more, less) = (of(&pair[0]), of(&pair[1]));
            for (name, there) in [(&pair[0], &more), (&pair[1], &less)] {
                if there.is_empty() {
                    out.push((name.clone(), format!("no thread is called {name}, so the order could not be checked")));
                }
            }
            let (Some(weakest), Some(strongest)) =
                (more.iter().min_by_key(|one| one.2), less.iter().max_by_key(|one| one.2))
            else {
                continue;
            };
            if weakest.2 <= strongest.2 {
                let said = format!(
                    "{} ({}) has priority {}, {} ({}) has {}",
                    weakest.0, weakest.1, weakest.2, strongest.0, strongest.1, strongest.2
                );
                out.push((strongest.0.clone(), said));
            }
        }
        for (n, more) in self.0.iter().enumerate() {
            for less in &self.0[n + 1..] {
                let count: u64 = preemptions
                    .iter()
                    .filter(|((by, from), _)| is_named(by, less) && is_named(from, more))
                    .map(|(_, count)| count)
                    .sum();
                if count > 0 {
                    let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
                    out.push((less.clone(), format!("{less} preempted {more} {times}")));
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_two_names_or_more() {
        assert_eq!("irq/27… > jackd>client".parse::<Order>().unwrap().names(), ["irq/27…", "jackd", "client"]);
        for bad in ["", "a", "a >", "a > > b", "a > a"] {
            assert_eq!(bad.parse::<Order>(), Err(OrderError), "{bad}");
        }
        assert!(is_named("irq/27-eth0", "irq/27…") && is_named("jackd", "jackd") && !is_named("jackdbus", "jackd"));
    }

    #[test]
    fn what_does_not_hold_is_said() {
        let order: Order = "audio > client > disk".parse().unwrap();
        let others = [("audio".to_owned(), 1, 70), ("client".to_owned(), 2, 70), ("client".to_owned(), 3, 0)];
        let preemptions = BTreeMap::from([(("client".to_owned(), "audio".to_owned()), 3)]);
        let broken = order.broken(&[], &others, &preemptions);
        let said: Vec<&str> = broken.iter().map(|(_, said)| said.as_str()).collect();
        assert_eq!(
            said,
            [
                "audio (1) has priority 70, client (2) has 70",
                "no thread is called disk, so the order could not be checked",
                "client preempted audio 3 times",
            ]
        );
    }
}
