//! Selects published figures for comparison with a measurement.

use crate::{Board, Flavour, Published, Quantity, board, boards};

/// What the compared figures have in common with the measured machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scope {
    /// The figures are from the same board.
    Board(&'static Board),
    /// The board has no figures; the compared figures are from boards with the same processor core.
    Core(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparable {
    pub scope: Scope,
    pub entries: Vec<(&'static Board, &'static Published)>,
}

/// Selects wakeup latencies of the same kind of kernel on the same board, or, if it has none, on boards with the same
/// processor core. Excludes figures of tasks in the kernel and, unless `flavour` names them, figures of co-kernels and
/// hypervisors. Returns `None` if there are no matching figures.
///
/// `model` is the board's name, `cpu` the processor's name. An unknown `flavour` matches stock and PREEMPT_RT kernels.
pub fn comparable(model: Option<&str>, cpu: Option<&str>, flavour: Option<Flavour>) -> Option<Comparable> {
    let wanted = |p: &Published| {
        let kernel = flavour.map_or(matches!(p.flavour, Flavour::Stock | Flavour::PreemptRt), |f| f == p.flavour);
        kernel && p.quantity == Quantity::Wakeup
    };
    let of = |scope, boards: &[&'static Board]| {
        let all = boards.iter().flat_map(|board| board.published.iter().map(|p| (*board, p)));
        let entries: Vec<_> = all.filter(|(_, p)| wanted(p)).collect();
        (!entries.is_empty()).then_some(Comparable { scope, entries })
    };
    let known = model.and_then(board);
    if let Some(found) = known.and_then(|board| of(Scope::Board(board), &[board])) {
        return Some(found);
    }
    let core = known.and_then(|board| board.core.as_deref()).or_else(|| cpu.and_then(core_of))?;
    let same: Vec<&'static Board> = boards().iter().filter(|board| board.core.as_deref() == Some(core)).collect();
    of(Scope::Core(core), &same)
}

/// Returns the core of a processor with this name (for example `ARM Cortex-A72`), if a board with published figures has
/// it. `None` for a processor with several kinds of cores.
pub fn core_of(cpu: &str) -> Option<&'static str> {
    let name = cpu.strip_prefix("ARM ")?;
    boards().iter().filter_map(|board| board.core.as_deref()).find(|core| *core == name)
}
