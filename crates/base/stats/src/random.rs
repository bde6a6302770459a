//! A small deterministic random number generator, so that bootstrap results are reproducible on every machine.

/// SplitMix64: 64 bits of state, period 2⁶⁴. Not cryptographically secure.
///
/// Source: G. L. Steele, D. Lea and C. H. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, with
/// the constants of Sebastiano Vigna's public-domain code.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a random number below `n`, by Lemire's multiplication method with a bias of at most n/2⁶⁴; 0 if `n` is
    /// 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// Returns a random number strictly between 0 and 1: the middle of one of 2⁵² equal parts.
    pub fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Shuffles the items so that all orders are equally likely (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i + 1);
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_in_range_and_repeats() {
        let (mut a, mut b) = (SplitMix64::new(1), SplitMix64::new(1));
        for n in 1..1_000 {
            let (i, u) = (a.below(n), a.uniform());
            assert!(i < n && 0.0 < u && u < 1.0);
            assert_eq!((i, u), (b.below(n), b.uniform()));
        }
        assert_eq!(a.below(0), 0);
    }

    #[test]
    fn shuffling_keeps_everything() {
        let mut items: Vec<u32> = (0..100).collect();
        SplitMix64::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<u32>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<u32>>());
        SplitMix64::new(3).shuffle::<u32>(&mut []);
    }
}
