//! Determines the size of the ring buffers.

use std::fs;

/// The buffers (two per CPU) together use at most 1/`SHARE` of the memory.
const SHARE: usize = 16;
const SMALLEST_RING: usize = 512 << 10;
/// Maximum size of the buffer of a CPU, bytes.
const RING: usize = 16 << 20;

pub(super) fn ring_bytes(cpus: usize) -> usize {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB")?.parse::<usize>().ok());
    ring_of(total.unwrap_or(0).saturating_mul(1024), cpus)
}

/// Returns the size of a buffer, a power of two.
fn ring_of(memory: usize, cpus: usize) -> usize {
    let each = memory / SHARE / (2 * cpus.max(1));
    let floor = each.checked_ilog2().map_or(0, |log| 1usize << log);
    floor.clamp(SMALLEST_RING, RING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_take_a_share_of_the_memory() {
        assert_eq!(ring_of(512 << 20, 4), 4 << 20);
        assert_eq!(ring_of(16 << 30, 2), RING);
        assert_eq!(ring_of(16 << 30, 256), 2 << 20);
        assert_eq!(ring_of(0, 0), SMALLEST_RING);
    }
}
