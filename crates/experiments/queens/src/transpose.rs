/// Transposes eight 64 × 64 bit matrices at once: bit b of word `[a][m]` becomes bit a of word `[b][m]`. It exchanges
/// quarters of decreasing size (Warren, Hacker's Delight, 2nd edition, section 7-3).
pub(crate) fn transpose(matrices: &mut [[u64; 8]; 64]) {
    let mut distance = 32;
    let mut mask = u64::MAX >> 32;
    while distance > 0 {
        for start in (0..64).step_by(2 * distance) {
            let (low, high) = matrices[start..start + 2 * distance].split_at_mut(distance);
            for (low, high) in low.iter_mut().zip(high) {
                exchange(low, high, distance, mask);
            }
        }
        distance /= 2;
        mask ^= mask << distance;
    }
}

#[inline(always)]
fn exchange(low: &mut [u64; 8], high: &mut [u64; 8], distance: usize, mask: u64) {
    for (low, high) in low.iter_mut().zip(high) {
        let change = (*low >> distance ^ *high) & mask;
        *high ^= change;
        *low ^= change << distance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn rows_become_columns_in_each_matrix(seed in any::<u64>()) {
            // A multiplicative generator (Knuth, MMIX) fills 32 KiB from one seed.
            let mut state = seed;
            let mut matrices = [[0u64; 8]; 64];
            for word in matrices.as_flattened_mut() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *word = state ^ state >> 29;
            }
            let before = matrices;
            transpose(&mut matrices);
            for (a, row) in before.iter().enumerate() {
                for (m, word) in row.iter().enumerate() {
                    prop_assert!((0..64).all(|b| word >> b & 1 == matrices[b][m] >> a & 1));
                }
            }
        }
    }
}
