//! `cpu`: floating-point and integer arithmetic on every CPU, on tables about as large as a level 2 cache.

use super::{Builtin, Plan, RunsAs, own_pid};
use crate::LoadError;
use crate::beat::Beat;
use crate::counter::{Counter, Source};
use crate::message::Unit;
use crate::settings::ChildConfig;
use std::hint::black_box;

pub(super) const LOAD: Builtin = Builtin {
    name: "cpu",
    about: "arithmetic (matrices, hashes) on every CPU",
    comm: "load-cpu",
    runs_as: RunsAs::Nobody,
    in_all: true,
    prepare,
};

/// CPU time per second, in clock ticks, that proves that the load runs: a twentieth of one CPU at the usual 100 Hz.
const TICKS: f64 = 5.0;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let time = Counter::new("CPU time of the load, ticks", Source::CpuTicks(own_pid())).per_second(TICKS);
    let mut plan = Plan::new(vec![Unit::each("loops")], vec![time]);
    for worker in 0..config.workers() {
        plan.worker(config.cpu_of(worker), work);
    }
    Ok(plan)
}

fn work(beat: &mut Beat) -> Result<(), LoadError> {
    let mut matrices = Matrices::new();
    let mut table = vec![0u64; TABLE];
    let mut seed = 1;
    loop {
        matrices.multiply();
        seed = black_box(blend(&mut table, seed));
        beat.count(0, 1);
        beat.beat_and_rest();
    }
}

/// Number of rows of the matrices. A multiplication takes about 0.1 ms on a PC and a few ms on a small board.
const N: usize = 64;

struct Matrices {
    a: Vec<[f32; N]>,
    b: Vec<[f32; N]>,
    c: Vec<[f32; N]>,
}

impl Matrices {
    fn new() -> Matrices {
        let row = |i: usize| std::array::from_fn(|j| ((i * 7 + j * 3) % 11) as f32 / 16.0);
        let matrix = || (0..N).map(row).collect();
        Matrices { a: matrix(), b: matrix(), c: vec![[0.0; N]; N] }
    }

    /// Computes c = a·b in an order that compilers vectorise, then sets a to the scaled c.
    fn multiply(&mut self) {
        for (row, out) in self.a.iter().zip(&mut self.c) {
            *out = [0.0; N];
            for (factor, b) in row.iter().zip(&self.b) {
                for (o, b) in out.iter_mut().zip(b) {
                    *o += factor * b;
                }
            }
        }
        let largest = self.c.iter().flatten().fold(1e-6f32, |m, v| m.max(v.abs()));
        for (a, c) in self.a.iter_mut().flatten().zip(self.c.iter().flatten()) {
            *a = c / largest + 0.01;
        }
        black_box(&mut self.a);
    }
}

/// Number of words in the table: 128 KiB.
const TABLE: usize = 16 << 10;

fn blend(table: &mut [u64], seed: u64) -> u64 {
    let mut x = seed;
    for _ in 0..table.len() {
        let at = (x >> 40) as usize % table.len();
        x = (x ^ table[at]).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x2545_f491_4f6c_dd1d;
        table[at] = x;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_ordinary() {
        let mut matrices = Matrices::new();
        (0..100).for_each(|_| matrices.multiply());
        // Subnormal or infinite numbers would make the arithmetic slower than in a real program.
        assert!(matrices.a.iter().flatten().all(|v| v.is_normal() && v.abs() < 10.0));
    }

    #[test]
    fn the_whole_table_is_used() {
        let mut table = vec![0; 256];
        let mut seed = 1;
        (0..100).for_each(|_| seed = blend(&mut table, seed));
        assert!(table.iter().all(|w| *w != 0));
    }
}
