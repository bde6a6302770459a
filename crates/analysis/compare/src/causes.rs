use crate::Side;
use punctual_model::{CauseShare, Class, Explained};
use punctual_units::Arrange;
use std::collections::BTreeMap;

const NAMED: usize = 5;

/// Counts, for each group, the explained wakeups by their largest cause. Empty if no group has explained wakeups.
pub(crate) fn causes(sides: &[Side]) -> Vec<Vec<CauseShare>> {
    let all: Vec<Vec<CauseShare>> = sides.iter().map(of_side).collect();
    if all.iter().all(Vec::is_empty) { Vec::new() } else { all }
}

fn of_side(side: &Side) -> Vec<CauseShare> {
    let explained: Vec<&Explained> = side.runs.iter().flat_map(|(_, r)| &r.explained).collect();
    let of = explained.len() as u64;
    let mut found: BTreeMap<(Class, Option<String>), CauseShare> = BTreeMap::new();
    for cause in explained.iter().filter_map(|e| e.victim.causes.first()) {
        let who = cause.comm.clone().or_else(|| cause.what.clone());
        let share = found.entry((cause.class, who.clone())).or_insert_with(|| CauseShare {
            class: cause.class,
            who,
            wakeups: 0,
            of,
            longest_ns: 0,
        });
        share.wakeups += 1;
        share.longest_ns = share.longest_ns.max(cause.ns);
    }
    let mut all: Vec<CauseShare> = found.into_values().collect();
    all.arrange_by_key(|c| std::cmp::Reverse((c.wakeups, c.longest_ns)));
    all.truncate(NAMED);
    all
}
