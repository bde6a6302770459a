//! `bench tracing`: measures the effect of recording events on the median wakeup latency.
//!
//! A round is one run without a trace, one with the minimal set of events and one with the full set, in alternating
//! order. The load is idle, so that it does not hide the cost.

use punctual_stats::paired_ratio;
use std::fs;
use std::process::{Command, Stdio};

const WAYS: [(&str, &[&str]); 3] = [
    ("without", &["--trace", "never"]),
    ("minimal", &["--trace", "always", "--trace-events", "minimal"]),
    ("full", &["--trace", "always", "--trace-events", "full"]),
];
/// Upper bounds of the ratio of each median to the median without a trace.
const BARS: [(usize, f64); 2] = [(1, 1.10), (2, 1.20)];
const CONFIDENCE: f64 = 0.95;

/// Compare the median wakeup latency with and without a trace
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of rounds of 8 s each
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub rounds: u32,
}

pub fn run(rounds: u32) -> Result<(), String> {
    let mut medians: Vec<[f64; 3]> = Vec::new();
    for round in 0..rounds as usize {
        let mut of = [0.0; 3];
        for n in 0..3 {
            let way = (n + round) % 3;
            of[way] = median(WAYS[way].1)?;
        }
        medians.push(of);
    }
    println!(
        "median wakeup latency, idle, 1 ms, ratio to no trace and {:.0} % interval, {rounds} rounds:",
        CONFIDENCE * 100.0
    );
    for (way, bar) in BARS {
        let pairs: Vec<(f64, f64)> = medians.iter().map(|of| (of[0], of[way])).collect();
        let ratio = paired_ratio(&pairs, CONFIDENCE).ok_or("no rounds")?;
        let interval = ratio.interval.ok_or("too few rounds for an interval: at least 6 are needed")?;
        let (low, high) = (interval.low, interval.high);
        let judged = match bar {
            bar if high <= bar => "holds",
            bar if low > bar => "FAILS",
            _ => "not resolved here",
        };
        println!("{:8} {:.3} [{low:.3}, {high:.3}]  bar {bar:.2}: {judged}", WAYS[way].0, ratio.value);
    }
    let mut without: Vec<f64> = medians.iter().map(|of| of[0]).collect();
    without.sort_by(f64::total_cmp);
    println!("without: {:.1} µs (middle of the rounds)", without[without.len() / 2] / 1e3);
    Ok(())
}

/// Returns the median of one run, ns: the geometric mean of the medians of the CPUs.
fn median(options: &[&str]) -> Result<f64, String> {
    let out = format!("/dev/shm/punctual-bench-{}", std::process::id());
    let failed = |what: &str| format!("{what}: build it first (cargo build --release), and run as root");
    let status = Command::new(xtask::punctual())
        .args([
            "measure",
            "--duration",
            "2s",
            "--warmup",
            "600ms",
            "--load",
            "idle",
            "--no-context",
            "--quiet",
            "--out",
            &out,
        ])
        .args(options)
        .stderr(Stdio::null())
        .status()
        .map_err(|e| failed(&e.to_string()))?;
    let shown = Command::new(xtask::punctual()).args(["report", "--json", &out]).output();
    let shown = shown.map_err(|e| failed(&e.to_string()))?;
    let _ = fs::remove_dir_all(&out);
    if !status.success() {
        return Err(failed("a run failed"));
    }
    let document: serde_json::Value = serde_json::from_slice(&shown.stdout).map_err(|e| e.to_string())?;
    let cpus = document["result"]["phases"][0]["cpus"].as_array().ok_or("no CPUs in the report")?;
    let medians = cpus.iter().filter_map(|cpu| cpu["raw"]["quantiles"][0]["value_ns"].as_f64());
    let (sum, n) = medians.fold((0.0, 0.0), |(sum, n), median| (sum + median.ln(), n + 1.0));
    if n > 0.0 { Ok((sum / n).exp()) } else { Err("no median in the report".into()) }
}
