//! Tests that injected delays are found with the right length, CPU and time. Needs real-time privileges.

use crate::common;
use common::{may_be_real_time, punctual, shown};
use punctual_rt::{Attributes, monotonic};
use punctual_units::{CpuId, Nanos, Priority, Scheduling};
use serde_json::Value;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// Keeps `cpu` busy at FIFO 99 for `length`. Returns the start time.
fn hog(cpu: CpuId, length: Nanos) -> Nanos {
    let priority = Priority::try_from(99).unwrap();
    std::thread::spawn(move || {
        Attributes { scheduling: Scheduling::Fifo { priority }, cpu: Some(cpu), lock_stack: false }.apply().unwrap();
        let begun = monotonic();
        while monotonic() - begun < length {
            std::hint::spin_loop();
        }
        begun
    })
    .join()
    .unwrap()
}

fn measure_with_hog(out: &Path, period: &str, claim: &str, cpu: CpuId, length: Nanos) -> (i32, Nanos) {
    let child = punctual()
        .args(["measure", "-D", "3s", "-i", period, "-c", claim, "-a", &cpu.to_string(), "--quiet", "--out"])
        .arg(out)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1_500));
    let begun = hog(cpu, length);
    (child.wait_with_output().unwrap().status.code().unwrap(), begun)
}

fn last_cpu() -> CpuId {
    let allowed = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = allowed.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:")).unwrap();
    list.parse::<punctual_units::CpuList>().unwrap().iter().last().unwrap()
}

/// Makes up to three attempts, since a shared machine may stall for 20 ms.
fn attempt(check: impl Fn() -> Result<(), String>) {
    if !may_be_real_time() {
        eprintln!("not tested: planting delays needs CAP_SYS_NICE");
        return;
    }
    let mut last = String::new();
    for _ in 0..3 {
        match check() {
            Ok(()) => return,
            Err(why) => last = why,
        }
    }
    panic!("{last}");
}

fn ensure(holds: bool, what: &str, seen: &Value) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what}: {seen}")) }
}

#[test]
#[ignore = "live: timing"]
fn a_spinner_of_20_ms_fails_the_claim_and_stands_first() {
    attempt(|| {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("run");
        let cpu = last_cpu();
        let (code, begun) = measure_with_hog(&out, "1ms", "max < 10ms", cpu, Nanos::from_millis(20));
        let document = shown(&out);
        let worst = &document["result"]["worst"][0];
        ensure(code == 1, "exit code", worst)?;
        ensure(worst["cpu"] == cpu.0, "CPU", worst)?;
        let latency = worst["latency_ns"].as_u64().unwrap();
        ensure((18_000_000..25_000_000).contains(&latency), "size", worst)?;
        let release = worst["release_mono_ns"].as_u64().unwrap();
        ensure(release.abs_diff(begun.0) < 3_000_000, "time", worst)
    });
}

#[test]
#[ignore = "live: timing"]
fn a_stall_of_15_ms_skips_as_many_periods_of_200_us_as_it_took() {
    attempt(|| {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("run");
        measure_with_hog(&out, "200us", "missed = 0", last_cpu(), Nanos::from_millis(15));
        let document = shown(&out);
        let worst = &document["result"]["worst"][0];
        let skipped = worst["skipped"].as_u64().unwrap();
        // 75, or more if the machine stalled as well.
        let latency = worst["latency_ns"].as_u64().unwrap();
        ensure(latency > 14_500_000, "size", worst)?;
        ensure(skipped.abs_diff(latency / 200_000) <= 1, "skipped periods", worst)?;
        let cell = &document["result"]["phases"][0]["cpus"][0];
        let p999 = |kind: &str| {
            let quantiles = cell[kind]["quantiles"].as_array().unwrap();
            quantiles.iter().find(|q| q["name"] == "p99.9").unwrap()["value_ns"].as_u64().unwrap()
        };
        ensure(p999("corrected") > 3 * p999("raw"), "p99.9 raw and corrected", cell)
    });
}
