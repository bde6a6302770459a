//! Sorting for lists that are sorted seldom: small code instead of the last per cent of speed.

use core::cmp::Ordering;

/// Stable sorting whose code exists once.
///
/// `slice::sort_by_key` and its kin are compiled anew for every closure, 4 to 5 KB each on x86-64, and a report sorts in a
/// hundred places. Here one function sorts numbers of places, and only the comparison is compiled anew. It allocates,
/// and compares through a pointer: nothing for a loop over events.
pub trait Arrange<T> {
    /// As `slice::sort_by`: equal items keep their order. Allocates two machine words an item at most.
    fn arrange_by(&mut self, order: impl FnMut(&T, &T) -> Ordering);

    /// As `slice::sort_by_key`: equal items keep their order. Allocates two machine words an item at most.
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

/// The places in order: the item that comes n-th is at the n-th of them.
fn sorted(length: usize, order: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|a, b| order(*a, *b));
    places
}

/// Swaps until each item is where it belongs, one cycle of the permutation after the other; `from` is used up.
fn follow(from: &mut [usize], swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..from.len() {
        let mut to = start;
        // A place that is done names itself.
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
