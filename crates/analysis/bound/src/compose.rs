//! From the sections of a CPU to its bound.

use crate::automaton::Found;
use crate::longest::{Longest, Place, Places};
use punctual_model::{BoundInterrupt, BoundPart, BoundPlace, BoundSeen, BoundWithout, CpuBound, PartKind};
use punctual_trace::Symbol;
use punctual_units::Nanos;

/// A bound above this is none, ns.
pub(crate) const LIMIT: u64 = 1_000_000_000;

/// Lengths of the parts, ns.
#[derive(Clone, Copy, Debug)]
struct Parts {
    poid: u64,
    dst: u64,
    paie: u64,
    psd: u64,
}

impl Parts {
    /// Equation 6 of the paper: the bound without interrupts.
    fn sum(self) -> u64 {
        self.poid.max(self.dst).saturating_add(self.paie).saturating_add(self.psd)
    }
}

/// Composes the bound of a CPU. `recorded`: time from its first to its last event.
pub(crate) fn compose(cpu: u32, found: &Found, seen: Option<BoundSeen>, recorded: u64) -> CpuBound {
    // A switch to the idle task could as well lead to a thread, with what follows such a switch.
    let before_idle = if found.before_idle.longest().is_some() { found.after_switch } else { 0 };
    let psd = |places: u64, idle: u64| places.max(idle + before_idle);
    let (poid, dst, paie) = (found.poid.ns(), found.dst.ns(), found.paie.ns());
    let parts = Parts { poid, dst, paie, psd: psd(found.psd.ns(), found.before_idle.ns()) };
    let is_known = found.psd.longest().is_some();
    let work = parts.sum();
    let bound = found.interrupts.window(work, LIMIT, None).filter(|_| is_known);
    let window = bound.unwrap_or(work);
    let mut interrupts: Vec<BoundInterrupt> = found
        .interrupts
        .kinds()
        .iter()
        .map(|kind| BoundInterrupt {
            name: kind.source.name(),
            count: kind.count(),
            longest_ns: Nanos(kind.longest()),
            in_window_ns: Nanos(kind.in_window(window)),
        })
        .collect();
    interrupts.sort_by_key(|interrupt| std::cmp::Reverse(interrupt.in_window_ns));
    let is_idle_longer = found.before_idle.ns() + before_idle > found.psd.ns();
    let longest_psd = if is_idle_longer { &found.before_idle } else { &found.psd };
    let part = |part, longest_ns: u64, places: &Places, is_in_sum| BoundPart {
        part,
        longest_ns: Nanos(longest_ns),
        is_in_sum,
        place: places.longest().map(place),
    };
    CpuBound {
        cpu,
        bound_ns: bound.map(Nanos),
        without_interrupts_ns: is_known.then_some(Nanos(work)),
        interrupts_ns: bound.map(|bound| Nanos(bound - work)),
        sporadic_ns: found.interrupts.sporadic(work, LIMIT, recorded).filter(|_| is_known).map(Nanos),
        parts: vec![
            part(PartKind::Poid, poid, &found.poid, poid >= dst),
            part(PartKind::Dst, dst, &found.dst, dst > poid),
            part(PartKind::Paie, paie, &found.paie, true),
            part(PartKind::Psd, parts.psd, longest_psd, true),
        ],
        interrupts,
        without: bound.and_then(|bound| without(found, parts, before_idle, bound)),
        seen,
        timerlat_ns: None,
        sections: found.sections,
        uncertain: found.uncertain,
    }
}

/// Returns the place or interrupt without which the bound is lowest.
fn without(found: &Found, parts: Parts, before_idle: u64, bound: u64) -> Option<BoundWithout> {
    let idle_psd = |idle: u64| if idle > 0 { idle + before_idle } else { 0 };
    let (psd, idle) = (found.psd.ns(), idle_psd(found.before_idle.ns()));
    let less = [
        (&found.poid, Parts { poid: found.poid.next_ns(), ..parts }),
        (&found.dst, Parts { dst: found.dst.next_ns(), ..parts }),
        (&found.paie, Parts { paie: found.paie.next_ns(), ..parts }),
        (&found.psd, Parts { psd: found.psd.next_ns().max(idle), ..parts }),
        (&found.before_idle, Parts { psd: psd.max(idle_psd(found.before_idle.next_ns())), ..parts }),
    ];
    let places = less.into_iter().filter_map(|(places, parts)| {
        let bound = found.interrupts.window(parts.sum(), LIMIT, None)?;
        Some((section_name(&place(places.longest()?)), bound))
    });
    let interrupts = found
        .interrupts
        .kinds()
        .iter()
        .enumerate()
        .filter_map(|(n, kind)| Some((kind.source.name(), found.interrupts.window(parts.sum(), LIMIT, Some(n))?)));
    let (what, lowest) = places.chain(interrupts).min_by_key(|(_, bound)| *bound)?;
    (lowest < bound).then_some(BoundWithout { what, bound_ns: Nanos(lowest) })
}

/// Names a section by the functions where it begins and ends.
fn section_name(place: &BoundPlace) -> String {
    match (&place.begins, &place.ends) {
        (Some(begins), Some(ends)) if begins != ends => format!("the section from {begins} to {ends}"),
        (Some(only), _) | (None, Some(only)) => format!("the section in {only}"),
        (None, None) => format!("the section that ends at {:.6} s", place.at_ns.as_secs_f64()),
    }
}

fn place(longest: &Longest) -> BoundPlace {
    BoundPlace {
        at_ns: Nanos(longest.at),
        thread: longest.comm.map(|comm| comm.to_string()),
        tid: longest.tid,
        begins: function(&longest.begins),
        ends: function(&longest.ends),
    }
}

/// Names a place: the function, and its caller if the function only changes preemption or interrupts for others.
fn function(place: &Place) -> Option<String> {
    let name = |symbol: &Option<Symbol>| match symbol {
        Some(Symbol::Name(name)) => Some(name.to_string()),
        _ => None,
    };
    let function = name(&place.function)?;
    let is_lock = ["_raw_", "__raw_", "rt_spin_", "local_", "migrate_"].iter().any(|lock| function.starts_with(lock));
    match name(&place.parent).filter(|parent| is_lock && *parent != function && !parent.starts_with("_stext")) {
        Some(parent) => Some(format!("{parent} ({function})")),
        None => Some(function),
    }
}
