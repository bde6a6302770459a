use std::hint::black_box;

/// Number of multiplications per step; a step takes about 20 to 60 µs.
const ROUNDS: u32 = 20_000;

/// A chain of dependent multiplications, independent of caches and memory.
#[derive(Clone, Debug)]
pub struct Busy {
    state: u64,
}

impl Busy {
    pub fn new() -> Busy {
        Busy { state: 0x9e37_79b9_7f4a_7c15 }
    }

    pub fn step(&mut self) {
        let mut x = self.state;
        for _ in 0..ROUNDS {
            // Knuth's MMIX generator, followed by mixing, so that no closed form can replace the loop.
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            x ^= x >> 33;
        }
        self.state = black_box(x);
    }

    /// Returns the current value of the chain. Equal numbers of steps always yield the same value.
    pub fn state(&self) -> u64 {
        self.state
    }
}

impl Default for Busy {
    fn default() -> Busy {
        Busy::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_steps_give_the_same_value_and_one_more_another() {
        let (mut a, mut b) = (Busy::new(), Busy::default());
        (0..3).for_each(|_| a.step());
        (0..3).for_each(|_| b.step());
        assert_eq!(a.state(), b.state());
        b.step();
        assert_ne!(a.state(), b.state());
    }
}
