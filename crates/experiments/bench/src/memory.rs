//! Measures memory bandwidth: read, write and copy. Each thread has its own CPU, and all threads run at the same time.

use crate::axis::{Axis, Ended, Measured, Turn};
use crate::clock::{cpu_time, now};
use crate::error::BenchError;
use punctual_model::{BenchPlan, BenchSettings};
use punctual_uapi as uapi;
use punctual_units::{CpuId, CpuList};
use std::fs;
use std::hint::black_box;
use std::io;
use std::sync::{Barrier, PoisonError, RwLock};
use std::thread;

const MIB: u64 = 1 << 20;
/// Number of passes over the memory per measurement. A single pass would be too short compared with the clock
/// resolution and scheduling delays.
const PASSES: u64 = 4;
/// Number of sums computed in parallel, so that no addition waits for the previous one.
const LANES: usize = 16;

/// Plans the benchmark. If `bytes` is `None`, uses four times the size of the largest cache, but at least 64 MiB and at
/// most 512 MiB, and at most a quarter of the free memory.
///
/// # Errors
/// [`BenchError::Refused`] if there are more threads than CPUs, or more memory is needed than is free.
pub fn plan(threads: Option<u32>, bytes: Option<u64>, repetitions: u64) -> Result<BenchPlan, BenchError> {
    let allowed = allowed()?;
    let threads = threads.unwrap_or(allowed.len() as u32);
    let cache = largest_cache();
    let fitting = free_memory().map_or(u64::MAX, |free| free / 4 / 2 / u64::from(threads.max(1)));
    let wanted = cache.map_or(64 * MIB, |cache| cache.saturating_mul(4)).clamp(64 * MIB, 512 * MIB);
    let bytes = bytes.unwrap_or(wanted.min(fitting).max(MIB) / MIB * MIB);
    Memory::new(threads, bytes)?;
    let mut notes = vec![
        "a copy counts both the bytes read and the bytes written, as STREAM does".to_owned(),
        format!("each thread has two areas of {} MiB and makes {PASSES} passes over each", bytes / MIB),
    ];
    match cache {
        Some(cache) if bytes < 2 * cache => notes.push(format!(
            "the areas are smaller than twice the largest cache ({} MiB), so the results include cache bandwidth",
            cache / MIB
        )),
        Some(_) => {}
        None => notes.push("the cache sizes are unknown, so the results may include cache bandwidth".into()),
    }
    let not_measured = vec!["memory latency, and bandwidth between NUMA nodes".into()];
    Ok(BenchPlan { settings: BenchSettings::Memory { threads, bytes }, repetitions, not_measured, notes })
}

pub(crate) struct Memory {
    cpus: Vec<CpuId>,
    words: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    Read,
    Write,
    Copy,
}

const KINDS: [(Kind, &str, u64); 3] = [(Kind::Read, "read", 1), (Kind::Write, "write", 1), (Kind::Copy, "copy", 2)];

/// Start and end of each kind of access by one thread, CLOCK_MONOTONIC, ns.
type Spans = Vec<(u64, u64)>;

impl Memory {
    pub fn new(threads: u32, bytes: u64) -> Result<Memory, BenchError> {
        let cpus: Vec<CpuId> = allowed()?.iter().take(threads as usize).collect();
        if threads == 0 || cpus.len() < threads as usize {
            let text = format!(
                "--threads {threads}: must be 1 to {}, the number of available CPUs (`taskset -cp $$`)",
                allowed()?.len()
            );
            return Err(BenchError::Refused(text));
        }
        let needed = bytes.saturating_mul(2).saturating_mul(u64::from(threads));
        if !(MIB..=64 << 30).contains(&bytes) {
            return Err(BenchError::Refused(format!("--size of {bytes} bytes: choose 1 MiB to 64 GiB")));
        }
        if let Some(free) = free_memory().filter(|free| needed > free / 2) {
            return Err(BenchError::Refused(format!(
                "{} MiB are needed but only {} MiB are free (/proc/meminfo): use at most half of the free memory, with a smaller --size or --threads",
                needed / MIB,
                free / MIB
            )));
        }
        Ok(Memory { cpus, words: (bytes / 8) as usize })
    }

    fn thread(&self, cpu: CpuId, barrier: &Barrier) -> Result<Spans, BenchError> {
        let pinned = uapi::set_affinity(0, &[cpu].into_iter().collect());
        // Written to on this CPU before the timing starts, so that the pages are on its NUMA node.
        let (mut from, mut to) = (vec![1u64; self.words], vec![2u64; self.words]);
        let mut spans = Spans::new();
        for (kind, ..) in KINDS {
            barrier.wait();
            let begin = now();
            for pass in 0..PASSES {
                step(kind, &mut from, &mut to, pass);
            }
            spans.push((begin, now()));
        }
        pinned.map_err(|e| BenchError::Refused(format!("{e}; see `taskset -cp $$`")))?;
        Ok(spans)
    }
}

fn step(kind: Kind, from: &mut [u64], to: &mut [u64], pass: u64) {
    match kind {
        Kind::Read => {
            black_box(sum(black_box(from)));
        }
        Kind::Write => black_box(to).fill(pass),
        Kind::Copy => black_box(&mut *to).copy_from_slice(black_box(from)),
    }
}

fn sum(words: &[u64]) -> u64 {
    let mut sums = [0u64; LANES];
    for chunk in words.chunks_exact(LANES) {
        for (sum, word) in sums.iter_mut().zip(chunk) {
            *sum = sum.wrapping_add(*word);
        }
    }
    sums.into_iter().fold(0, u64::wrapping_add)
}

impl Axis for Memory {
    fn repetition(&mut self, _: &mut Turn<'_>) -> Result<Ended, BenchError> {
        let (began, cpu) = (now(), cpu_time());
        let barrier = Barrier::new(self.cpus.len());
        let this = &*self;
        // No thread reaches the barrier before all threads exist.
        let all_there = RwLock::new(false);
        let spans: Vec<Spans> = thread::scope(|scope| {
            let mut hold = all_there.write().unwrap_or_else(PoisonError::into_inner);
            let begin = |cpu: &CpuId| {
                let cpu = *cpu;
                let (barrier, all_there) = (&barrier, &all_there);
                let work = move || match *all_there.read().unwrap_or_else(PoisonError::into_inner) {
                    true => this.thread(cpu, barrier),
                    false => Err(BenchError::Ended),
                };
                thread::Builder::new().name("memory".into()).spawn_scoped(scope, work)
            };
            let started: io::Result<Vec<_>> = this.cpus.iter().map(begin).collect();
            *hold = started.is_ok();
            drop(hold);
            let all =
                started.map_err(BenchError::io("start", "a thread for each CPU", "raise RLIMIT_NPROC (ulimit -u)"))?;
            all.into_iter().map(|t| t.join().unwrap_or(Err(BenchError::Ended))).collect::<Result<_, _>>()
        })?;
        let mut measured =
            Measured { elapsed_ns: now() - began, cpu_ns: Some(cpu_time() - cpu), ..Measured::default() };
        let of = match self.cpus.len() {
            1 => "memory, 1 thread".to_owned(),
            n => format!("memory, {n} threads"),
        };
        let mib = (self.words as u64 * 8 * PASSES) as f64 / MIB as f64;
        for (n, (_, name, ways)) in KINDS.iter().enumerate() {
            let of_kind = || spans.iter().filter_map(|s| s.get(n));
            let begin = of_kind().map(|s| s.0).min().unwrap_or(0);
            let end = of_kind().map(|s| s.1).max().unwrap_or(0);
            let rate = |mib: f64, ns: u64| mib * *ways as f64 / (ns as f64 / 1e9);
            measured.figure(&of, name, "MiB/s", rate(mib * spans.len() as f64, end - begin));
            if spans.len() > 1 {
                let slowest = of_kind().map(|s| s.1 - s.0).max().unwrap_or(0);
                measured.figure(&of, &format!("{name}, slowest thread"), "MiB/s", rate(mib, slowest));
            }
        }
        Ok(Ended::Done(measured))
    }
}

fn allowed() -> Result<CpuList, BenchError> {
    uapi::affinity(0).map_err(|e| BenchError::Refused(e.to_string()))
}

/// Returns MemAvailable of /proc/meminfo, bytes.
fn free_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the size of the largest cache of CPU 0, bytes.
fn largest_cache() -> Option<u64> {
    let folders = fs::read_dir("/sys/devices/system/cpu/cpu0/cache").ok()?;
    let size = |entry: fs::DirEntry| cache_size(fs::read_to_string(entry.path().join("size")).ok()?.trim());
    folders.flatten().filter_map(size).max()
}

/// Parses a size such as `32768K`, as in sysfs. Returns bytes.
fn cache_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(digits.len()..)? {
        "" => 1,
        "K" => 1 << 10,
        "M" => MIB,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_that_of_all_words() {
        let words: Vec<u64> = (0..1024).collect();
        assert_eq!(sum(&words), 1023 * 512);
    }

    #[test]
    fn sizes_of_caches_are_read_as_sysfs_writes_them() {
        assert_eq!(["32768K", "2M", "512"].map(cache_size), [Some(32 << 20), Some(2 << 20), Some(512)]);
        assert_eq!(["", "K", "3G", "-1K", "99999999999999999999K"].map(cache_size), [None; 5]);
    }

    #[test]
    #[ignore = "live: timing"]
    fn what_cannot_be_had_is_refused_with_what_can() {
        let text = |r: Result<Memory, BenchError>| r.err().unwrap().to_string();
        assert!(text(Memory::new(0, MIB)).contains("the number of available CPUs"));
        assert!(text(Memory::new(9_999, MIB)).contains("the number of available CPUs"));
        assert!(text(Memory::new(1, 3)).contains("1 MiB to 64 GiB"));
        assert!(text(Memory::new(1, 64 << 30)).contains("--size"));
    }

    #[test]
    fn a_copy_copies_and_a_write_writes() {
        let (mut from, mut to) = (vec![7u64; 64], vec![0u64; 64]);
        step(Kind::Copy, &mut from, &mut to, 0);
        assert_eq!(to, from);
        step(Kind::Write, &mut from, &mut to, 3);
        assert_eq!((to, from), (vec![3; 64], vec![7; 64]));
    }
}
