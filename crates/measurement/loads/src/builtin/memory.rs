//! `memory`: copies data larger than the last-level cache, and maps, touches and unmaps pages.

use super::{Builtin, Plan, RunsAs, own_pid};
use crate::LoadError;
use crate::beat::Beat;
use crate::budget;
use crate::counter::{Counter, Source};
use crate::message::Unit;
use crate::settings::ChildConfig;
use punctual_uapi::{SharedWords, page_size};
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;

pub(super) const LOAD: Builtin = Builtin {
    name: "memory",
    about: "memory bandwidth and page faults on every CPU, using at most an eighth of the free memory",
    comm: "load-memory",
    runs_as: RunsAs::Nobody,
    in_all: true,
    prepare,
};

const MIB: usize = 1 << 20;
/// Cache size assumed if the kernel does not report it, as on many Arm boards; most of them have less.
const UNKNOWN_CACHE: u64 = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sizes {
    workers: usize,
    buffer: usize,
    fresh: usize,
}

/// Returns the number of workers and the bytes for each: four times the cache size, 1 to 64 MiB, within the budget. If
/// the budget is too small, there are fewer workers.
fn sizes(workers: usize, cache: u64, budget: u64) -> Sizes {
    let mib = MIB as u64;
    let workers = (workers as u64).min(budget / mib).max(1);
    let share = (budget / workers).clamp(mib, 64 * mib);
    let fresh = (share / 8).min(mib);
    let buffer = (4 * cache).clamp(mib, 64 * mib).min(share - fresh);
    Sizes { workers: workers as usize, buffer: buffer as usize, fresh: fresh as usize }
}

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let cache = budget::last_level_cache();
    let eighth = budget::available() / 8 / if config.together() { 2 } else { 1 };
    let budget = config.memory_limit_bytes.map_or(eighth, |limit| limit.min(eighth));
    let sizes = sizes(config.workers(), cache.unwrap_or(UNKNOWN_CACHE), budget);
    let units = vec![Unit::bytes("copied"), Unit::each("page faults")];
    let faults = Counter::new("minor faults of the load", Source::MinorFaults(own_pid())).per_unit(1, 0.5);
    let mut plan = Plan::new(units, vec![faults]);
    plan.notes = notes(&sizes, config.workers(), cache);
    for worker in 0..sizes.workers {
        plan.worker(config.cpu_of(worker), move |beat| work(beat, sizes));
    }
    Ok(plan)
}

fn notes(sizes: &Sizes, wanted: usize, cache: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if sizes.workers < wanted {
        notes.push(format!("{} of {wanted} workers: limited by memory", sizes.workers));
    }
    let cache = cache.unwrap_or(UNKNOWN_CACHE);
    if (sizes.buffer as u64) < 4 * cache {
        notes.push(format!(
            "copies {:.1} MiB per worker, less than four times the cache size ({:.1} MiB)",
            sizes.buffer as f64 / MIB as f64,
            cache as f64 / MIB as f64
        ));
    }
    notes
}

fn work(beat: &mut Beat, sizes: Sizes) -> Result<(), LoadError> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(sizes.buffer).map_err(|_| {
        LoadError::system(
            "mmap",
            format!("{} bytes", sizes.buffer),
            std::io::Error::from(std::io::ErrorKind::OutOfMemory),
        )
    })?;
    // The buffer grows while the load works: on a small or busy board, filling all of it first would take seconds in
    // which nothing is copied.
    loop {
        grow(&mut buffer, sizes.buffer, beat);
        let chunk = MIB.min(buffer.len() / 4);
        for _ in 0..4 {
            copy(&mut buffer, chunk, |bytes| {
                beat.count(0, bytes as u64);
                beat.beat_and_rest();
            });
            let pages = touch_fresh(sizes.fresh)?;
            beat.count(1, pages);
            beat.beat_and_rest();
        }
        // Changes the data, so that each copy has an effect.
        buffer[0] = buffer[0].wrapping_add(1);
    }
}

/// Grows the buffer by doubling from 1 MiB to `size` bytes, with a beat for every MiB.
fn grow(buffer: &mut Vec<u8>, size: usize, beat: &mut Beat) {
    let target = size.min(MIB.max(2 * buffer.len()));
    while buffer.len() < target {
        buffer.resize(target.min(buffer.len() + MIB), 1u8);
        beat.beat_and_rest();
    }
}

/// Copies the lower half to the upper half and back, chunk by chunk.
fn copy(buffer: &mut [u8], chunk: usize, mut copied: impl FnMut(usize)) {
    let (lower, upper) = buffer.split_at_mut(buffer.len() / 2);
    for (from, to) in lower.chunks(chunk).zip(upper.chunks_mut(chunk)) {
        let bytes = from.len().min(to.len());
        to[..bytes].copy_from_slice(&from[..bytes]);
        copied(bytes);
    }
    for (to, from) in lower.chunks_mut(chunk).zip(upper.chunks(chunk)) {
        let bytes = from.len().min(to.len());
        to[..bytes].copy_from_slice(&from[..bytes]);
        copied(bytes);
    }
    black_box(buffer);
}

/// Maps new pages, writes to each, and unmaps them. Returns the number of pages. This causes page faults, zeroing of
/// pages, and TLB shootdowns on the CPUs of the other workers.
fn touch_fresh(bytes: usize) -> Result<u64, LoadError> {
    let words_a_page = page_size() / size_of::<u64>();
    let (fresh, _fd) = SharedWords::create("punctual-fresh-pages", bytes / size_of::<u64>())?;
    let mut pages = 0;
    for word in fresh.words().iter().step_by(words_a_page) {
        word.store(1, Relaxed);
        pages += 1;
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const M: u64 = MIB as u64;

    #[test]
    fn small_machines_survive() {
        // A cgroup of 64 MiB with 40 MiB left on 4 CPUs, then one with no memory left.
        assert_eq!(sizes(4, 2 * M, 5 * M), Sizes { workers: 4, buffer: 1_146_880, fresh: 163_840 });
        assert_eq!(sizes(4, 2 * M, 0), Sizes { workers: 1, buffer: MIB - MIB / 8, fresh: MIB / 8 });
        assert_eq!(sizes(2, 8 * M, 3000 * M), Sizes { workers: 2, buffer: 32 * MIB, fresh: MIB });
        assert_eq!(sizes(2, 300 * M, 3000 * M).buffer, 63 * MIB);
    }

    proptest! {
        #[test]
        fn the_budget_holds(workers in 1usize..600, cache in 1u64..(1 << 30), budget in 0u64..(1 << 40)) {
            let s = sizes(workers, cache, budget);
            prop_assert!(s.workers >= 1 && s.workers <= workers);
            prop_assert!(s.workers as u64 * (s.buffer + s.fresh) as u64 <= budget.max(M));
            prop_assert!(s.buffer >= MIB / 2 && s.buffer + s.fresh <= 64 * MIB);
        }
    }

    #[test]
    fn touching_fresh_pages_faults() {
        let faults = || Counter::new("", Source::MinorFaults(own_pid())).read().unwrap();
        let before = faults();
        let pages = touch_fresh(MIB).unwrap();
        assert_eq!(pages as usize, MIB / page_size());
        assert!(faults() - before >= pages / 2);
    }

    #[test]
    fn the_whole_buffer_is_copied() {
        let mut buffer: Vec<u8> = (0..1000u32).map(|i| i as u8).collect();
        let mut copied = 0;
        copy(&mut buffer, 64, |n| copied += n);
        assert_eq!((copied, &buffer[500..]), (1000, &buffer.clone()[..500]));
    }
}
