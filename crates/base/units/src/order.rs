//! Sorting with small code size, for lists that are rarely sorted.

use core::cmp::Ordering;

/// A stable sort of which only one copy is compiled.
///
/// The compiler instantiates `slice::sort_by_key` and similar functions for every closure, which takes 4 to 5 KB each
/// on x86-64, and the code for reports sorts in a hundred places. Here one function sorts indices, and only the
/// comparison is instantiated. It allocates memory and calls the comparison through a pointer, so do not use it in a
/// loop over events.
pub trait Arrange<T> {
    /// Sorts like `slice::sort_by`. Allocates at most two machine words per item.
    fn arrange_by(&mut self, order: impl FnMut(&T, &T) -> Ordering);

    /// Sorts like `slice::sort_by_key`. Allocates at most two machine words per item.
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Arrange<T> for [T] {
    fn arrange_by(&mut self, mut order: impl FnMut(&T, &T) -> Ordering) {
        let mut from = sorted(self.len(), &mut |a, b| match (self.get(a), self.get(b)) {
            (Some(a), Some(b)) => order(a, b),
            _ => Ordering::Equal,
        });
        follow(&mut from, &mut |a, b| self.swap(a, b));
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// Returns the indices in sorted order: element n is the index of the n-th smallest item.
fn sorted(length: usize, order: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|a, b| order(*a, *b));
    places
}

/// Moves all items to their sorted positions by swaps, one cycle of the permutation after the other. `from` holds the
/// index of the item that belongs at each position; it is overwritten.
fn follow(from: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..from.len() {
        let mut to = start;
        // An index that is done refers to itself.
        while let Some(source) = from.get_mut(to).map(|place| core::mem::replace(place, to)) {
            if source == start || source == to {
                break;
            }
            swap(to, source);
            to = source;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_order_is_that_of_the_standard_library(items in prop::collection::vec((0u8..9, 0u32..1000), 0..200)) {
            let (mut ours, mut theirs) = (items.clone(), items);
            ours.arrange_by_key(|item| item.0);
            theirs.sort_by_key(|item| item.0);
            prop_assert_eq!(&ours, &theirs);
            ours.arrange_by(|a, b| b.1.cmp(&a.1));
            theirs.sort_by_key(|item| core::cmp::Reverse(item.1));
            prop_assert_eq!(ours, theirs);
        }
    }
}
