//! Checks whether the longest cycles in a result name what made them long.

use punctual_model::Cycle;

/// Ways to make a cycle long, each with the name of the thread that causes it; `None` if it is the measured thread
/// itself.
pub const CULPRITS: [(&str, Option<&str>); 3] = [("thief", Some("thief")), ("holder", Some("holder")), ("burst", None)];
/// CPU time of a cycle without an injected delay, ns.
const WORK_NS: u64 = 200_000;

/// Returns the longest part of a cycle's time apart from its usual work, ns, and the name of its cause; `None` if the
/// cause is the thread's own work.
fn named(cycle: &Cycle) -> (u64, Option<String>) {
    let delays = cycle.delays.iter().map(|cause| {
        let name = cause.comm.as_ref().or(cause.what.as_ref()).cloned();
        (cause.ns, Some(name.unwrap_or_else(|| cause.class.name().to_owned())))
    });
    let blocked = cycle.blocked.iter().map(|blocked| {
        let holder = blocked.lock.as_ref().and_then(|lock| lock.split_once("held by ")).map(|(_, by)| by);
        let holder = holder.and_then(|by| by.split(' ').next()).map(str::to_owned);
        (blocked.ns, Some(holder.or(blocked.comm.clone()).unwrap_or_else(|| "unknown".to_owned())))
    });
    let own = (cycle.ran_ns.saturating_sub(WORK_NS), None);
    delays.chain(blocked).chain([own, (cycle.behind_ns, Some("behind".to_owned()))]).max().unwrap_or_default()
}

/// Considers the cycles whose excess time is mostly injected. Returns their number, and those that do not name
/// `culprit`.
pub fn scored<'a>(cycles: &'a [Cycle], injected: &[(u64, u64)], culprit: Option<&str>) -> (u64, Vec<&'a Cycle>) {
    let within = |cycle: &Cycle| {
        let (from, to) = (cycle.release_ns, cycle.release_ns + cycle.length_ns);
        injected.iter().map(|(begin, end)| end.min(&to).saturating_sub(*begin.max(&from))).sum::<u64>()
    };
    let is_injected =
        |cycle: &&Cycle| within(cycle) > cycle.length_ns.saturating_sub(WORK_NS) / 2 && within(cycle) > WORK_NS;
    let of: Vec<&Cycle> = cycles.iter().filter(is_injected).collect();
    let wrong = of.iter().copied().filter(|cycle| named(cycle).1.as_deref() != culprit).collect();
    (of.len() as u64, wrong)
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Blocked;

    fn cycle(ran_ns: u64, blocked: Option<(u64, &str)>) -> Cycle {
        let blocked = blocked.map(|(ns, comm)| Blocked {
            ns,
            state: "S".into(),
            woken_by: Some(9),
            comm: Some(comm.into()),
            inverted: None,
            lock: None,
        });
        let length_ns = ran_ns + blocked.as_ref().map_or(0, |blocked| blocked.ns);
        Cycle {
            tid: 7,
            comm: None,
            scheduled: Default::default(),
            cpu: 0,
            release_ns: 1_000_000,
            length_ns,
            behind_ns: 0,
            ran_ns,
            delays: Vec::new(),
            blocked: blocked.into_iter().collect(),
            verdict: String::new(),
        }
    }

    #[test]
    fn a_cycle_is_scored_if_what_was_injected_made_it_long() {
        let injected = [(900_000, 1_700_000)];
        let cycles = [cycle(200_000, Some((700_000, "holder"))), cycle(900_000, None)];
        let (count, wrong) = scored(&cycles, &injected, Some("holder"));
        assert_eq!((count, wrong), (2, vec![&cycles[1]]));
        assert_eq!(scored(&cycles, &injected, None).1, [&cycles[0]]);
        // An injected time in no cycle, then one that is too short to be the reason.
        assert_eq!(scored(&cycles, &[(5_000_000, 6_000_000)], None).0, 0);
        assert_eq!(scored(&cycles, &[(1_000_000, 1_100_000)], None).0, 0);
    }
}
