//! Bit matrices turned over their diagonal.

/// Transposes eight 64 × 64 bit matrices at once: bit b of word `[a][m]` becomes bit a of word `[b][m]`. (Exchanging ever
/// smaller quarters: Warren, Hacker's Delight, 2nd edition, 7-3.)
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
