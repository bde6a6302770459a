//! Predicts and measures random task sets: how often is the end of a thread within 3 % of its prediction?
//!
//! `cargo run --release -p punctual-sched --example random_sets [SETS [SEED [SCALE_MS [DIR]]]]`, as root. Each set has two
//! to four threads of the policies FIFO, RR, deadline and other, pinned or free. Prints a line for each thread: its
//! policy; its end as predicted from the work alone, as predicted from the charged time, and as measured; and for both
//! predictions the error as a share, the distance from the bound and the width of the bound. The runs stay in DIR, if it
//! is given.

use punctual_model::{EXPLAINED, NARROW};
use punctual_sched::{Options, Spec, run};
use punctual_units::Nanos;
use std::fmt::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// The splitmix64 pseudo-random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

fn set(random: &mut Random, number: usize) -> String {
    let mut text = format!("name = \"set-{number}\"\nabout = \"random\"\n");
    for n in 0..2 + random.below(3) {
        let _ = write!(text, "[[threads]]\nname = \"t{n}\"\nworkload = \"busy\"\n");
        let _ = writeln!(text, "amount = 0.{}\noffset_ms = {}", 1 + random.below(6), random.below(200));
        let place = if random.below(2) == 0 { "pinned" } else { "free" };
        let _ = match random.below(4) {
            0 => writeln!(text, "policy = \"fifo\"\npriority = {}\ncpu = \"{place}\"", 10 + random.below(80)),
            1 => writeln!(text, "policy = \"rr\"\npriority = {}\ncpu = \"{place}\"", 40 + 10 * random.below(2)),
            // The kernel admits deadline threads only if they may run on all CPUs.
            2 => {
                let (period, runtime) = (40 + 20 * random.below(4), 8 + random.below(4));
                let deadline = period - 20 * random.below(2);
                writeln!(
                    text,
                    "policy = \"deadline\"\nruntime_ms = {runtime}\ndeadline_ms = {deadline}\nperiod_ms = {period}\ncpu = \"free\""
                )
            }
            _ => writeln!(text, "policy = \"other\"\nnice = {}\ncpu = \"{place}\"", random.below(6)),
        };
    }
    text
}

/// Numbers of thread ends, by the accuracy of their predictions.
#[derive(Default)]
struct Score {
    threads: usize,
    near: usize,
    bounded: usize,
    wide: usize,
}

impl Score {
    /// Counts a thread end that misses its prediction by the share `miss`, and its bound by the share `beyond`. Returns
    /// both as text.
    fn add(&mut self, miss: Option<f64>, beyond: Option<f64>, width: Option<f64>) -> String {
        let (Some(miss), Some(beyond), Some(width)) = (miss, beyond, width) else { return "unknown".into() };
        self.threads += 1;
        if miss.abs() <= EXPLAINED {
            self.near += 1;
        } else if beyond == 0.0 {
            *(if width <= NARROW { &mut self.bounded } else { &mut self.wide }) += 1;
        }
        format!("{:>7.1} % ({:>5.1} % of {:>4.1} %)", miss * 100.0, beyond * 100.0, width * 100.0)
    }
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Score { threads, near, bounded, wide } = self;
        let outside = threads - near - bounded - wide;
        write!(
            f,
            "{near} of {threads} threads within 3 %, {bounded} more within a bound of at most 10 %, {wide} within a wider bound, {outside} outside"
        )
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |n: usize, default: u64| std::env::args().nth(n).map_or(Ok(default), |word| word.parse());
    let (sets, mut random, scale) =
        (number(1, 50)? as usize, Random(number(2, 1)?), Nanos::from_millis(number(3, 1_000)?));
    let (stop, signal, temporary) = (AtomicBool::new(false), OnceLock::new(), tempfile::tempdir()?);
    let folder = std::env::args().nth(4).map_or_else(|| temporary.path().to_owned(), Into::into);
    let (mut alone, mut charged) = (Score::default(), Score::default());
    for n in 0..sets {
        let text = set(&mut random, n);
        let spec = Spec::parse("a random set", &text)?;
        let options = Options {
            spec: &spec,
            scale,
            cpu: None,
            repeat: Some(1),
            out: &folder.join(n.to_string()),
            command: Vec::new(),
            rt_group_sched: std::env::var("RT_GROUP_SCHED").ok().map(|value| value == "y"),
            stop: &stop,
            signal: &signal,
        };
        let (experiment, _) = run(&options, &mut |_| {})?;
        for (planned, ran) in experiment.threads.iter().zip(&experiment.repetitions[0].threads) {
            let predicted = planned.predicted;
            let off = |end: Option<Nanos>| end.map(|end| ran.elapsed_ns.0 as f64 / end.0.max(1) as f64 - 1.0);
            let first = alone.add(off(predicted.ends_ns), off(predicted.nearest(ran.elapsed_ns)), predicted.width());
            let second = charged.add(ran.miss(), ran.rest(), ran.as_charged.width());
            let ends = |ends: Option<Nanos>| ends.map_or("?".into(), |ends| ends.to_string());
            println!(
                "{n:>3} {:<24} CPU {:<4} {:>9} {:>9} {:>9} {first} {second}",
                planned.scheduling.to_string(),
                planned.cpus.to_string(),
                ends(predicted.ends_ns),
                ends(ran.as_charged.ends_ns),
                ran.elapsed_ns.to_string(),
            );
        }
    }
    println!("{sets} sets. From the work alone: {alone}. As charged: {charged}.");
    Ok(())
}
