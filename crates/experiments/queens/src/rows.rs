//! Sets of rows or columns of one size, ranked so that only one of the symmetric images of a board is counted.

/// A set of rows (or columns) as a mask, and its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set {
    pub(crate) mask: u32,
    /// Rank within the family. Two complementary sets of half the rows have the same rank.
    pub(crate) rank: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symmetry {
    /// No symmetric image of the position is another position of the search, so all ranks are 0.
    None,
    /// All eight symmetric images are positions of the search.
    Square,
}

/// Returns the subsets of `free` with `size` elements, ordered by rank.
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

/// Returns the weight of one count with the sets u (with rank `top`), v, s and t, none of which has a higher rank.
///
/// In the eight images of a position, the first set is u, v, s, t or the complement of one of them. Only images whose
/// first set has the highest rank are counted. If one set has the highest rank, there is one such image. Otherwise
/// there are as many as sets with that rank, and they share the weight of eight. Because eight is not divisible by
/// three, of three images only the one in which v has a lower rank is counted, for all three.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds the weights of all searched combinations of four sets. Each combination is one position, so the sum must be
    /// the number of combinations.
    fn weighed(free: u32, size: u32) -> u64 {
        let sets = family(free, size, Symmetry::Square);
        let halves = size * 2 == free.count_ones();
        let mut sum = 0;
        for u in sets.iter().filter(|u| !halves || u.mask > free ^ u.mask) {
            let below: Vec<&Set> = sets.iter().filter(|set| set.rank <= u.rank).collect();
            for (v, s) in below.iter().flat_map(|v| below.iter().map(move |s| (v, s))) {
                let top = |set: &Set| set.rank == u.rank;
                sum += below.iter().map(|t| weight(Symmetry::Square, top(v), top(s), top(t))).sum::<u64>();
            }
        }
        sum
    }

    #[test]
    fn the_weights_of_the_searched_positions_add_up_to_all_positions() {
        for (free, size) in [(0b1111, 2), (0b111_1110, 3), (0b1111_1111, 4)] {
            let all = family(free, size, Symmetry::Square).len() as u64;
            assert_eq!(weighed(free, size), all.pow(4), "{size} of {free:b}");
        }
        // If fewer than half of the queens are in the north-west, more than half are there in the mirror image, which
        // is not searched.
        for (free, size) in [(0b1, 0), (0b1111, 1), (0b1_1111, 2), (0b11_1111, 2)] {
            let all = family(free, size, Symmetry::Square).len() as u64;
            assert_eq!(weighed(free, size), 2 * all.pow(4), "{size} of {free:b}");
        }
    }

    #[test]
    fn a_family_has_every_subset_once_in_the_order_of_rank() {
        for (size, count) in [(0, 1), (1, 7), (2, 21), (3, 35), (7, 1)] {
            for symmetry in [Symmetry::None, Symmetry::Square] {
                let sets = family(0b1_0111_1110, size, symmetry);
                let mut masks: Vec<u32> = sets.iter().map(|set| set.mask).collect();
                masks.sort_unstable();
                masks.dedup();
                assert_eq!((masks.len(), sets.len()), (count, count));
                assert!(masks.iter().all(|mask| mask.count_ones() == size && mask & !0b1_0111_1110 == 0));
                assert!(sets.is_sorted_by_key(|set| set.rank));
            }
        }
    }
}
