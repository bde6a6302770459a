//! Hash maps by thread ID or timer, with a fast hash, since every event requires lookups in them.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

pub(super) type IdMap<K, V> = HashMap<K, V, Ids>;

/// A multiplier with about as many ones as zeros (the multiplier of PCG).
const MULTIPLIER: u64 = 0x5851_f42d_4c95_7f2d;

/// Makes hashers with a random key, so that no crafted trace can make its keys collide.
#[derive(Clone, Debug)]
pub(super) struct Ids(u64);

impl Default for Ids {
    fn default() -> Ids {
        Ids(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Ids {
    type Hasher = IdHasher;

    fn build_hasher(&self) -> IdHasher {
        IdHasher(self.0)
    }
}

pub(super) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(to, from)| *to = *from);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value) * u128::from(MULTIPLIER);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_i32(&mut self, value: i32) {
        self.write_u64(u64::from(value as u32));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn identities_in_a_row_or_aligned_are_spread() {
        let ids = Ids::default();
        for step in [1u64, 64, 4096, 1 << 32] {
            let low: BTreeSet<u64> = (0..4096).map(|n| ids.hash_one(n * step) & 0xfff).collect();
            let high: BTreeSet<u64> = (0..4096).map(|n| ids.hash_one(n * step) >> 57).collect();
            assert!(low.len() > 1500 && high.len() > 100, "{step}: {} {}", low.len(), high.len());
        }
    }
}
