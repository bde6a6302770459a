//! Sets of rows or columns of one size, ranked, so that of the images of a board under the symmetries of the square one is
//! counted.

/// A set of rows (or columns) as a mask, and its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) mask: u32,
    /// Place in the order of its family; two complements of half the rows share one.
    pub(crate) rank: u32,
}

/// How far symmetry goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symmetry {
    /// No image of the position is another position of the same search: all ranks are 0.
    None,
    /// All eight images are.
    Square,
}

/// The subsets of `free` with `size` elements, ordered by rank.
pub(crate) fn family(free: u32, size: u32, symmetry: Symmetry) -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    let mut rank = 0;
    for mask in (0..=free).filter(|mask| mask & !free == 0 && mask.count_ones() == size) {
        match symmetry {
            Symmetry::None => sets.push(Set { mask, rank: 0 }),
            Symmetry::Square if size * 2 != free.count_ones() || free == 0 => {
                sets.push(Set { mask, rank });
                rank += 1;
            }
            Symmetry::Square if mask > free ^ mask => {
                sets.push(Set { mask, rank });
                sets.push(Set { mask: free ^ mask, rank });
                rank += 1;
            }
            Symmetry::Square => {}
        }
    }
    sets
}

/// What one count with the sets u (of rank `top`), v, s and t stands for, where no rank is above `top`.
///
/// The eight images of a position have as first set each of u, v, s, t and, complemented, of the same again. Those whose
/// first set has the highest rank are counted: one where the highest rank occurs once, else as many as occurrences, which
/// share the weight of eight; of three, which eight is not divisible by, the one with v below is counted for all.
pub(crate) fn weight(symmetry: Symmetry, v_is_top: bool, s_is_top: bool, t_is_top: bool) -> u64 {
    if symmetry == Symmetry::None {
        return 8;
    }
    match (u8::from(v_is_top) + u8::from(s_is_top) + u8::from(t_is_top), v_is_top) {
        (0, _) | (2, false) => 8,
        (1, _) => 4,
        (2, true) => 0,
        _ => 2,
    }
}
