//! Injects faults that need a separate machine, in guests of the lab.

use crate::lab::in_lab;
use crate::lab::isolated::with_libraries;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs a script in a guest and copies its /tmp/r to this machine. Returns the script's output.
pub(super) fn boot(words: &[&str], script: &str, place: &Path) -> Result<String, String> {
    let out = place.display().to_string();
    let ends = ["--timeout", "240s", "--get", "/tmp/r", "--out", &out, "--", script];
    let output = in_lab(&[&["boot", "-k", "rt@6.12"][..], words, &ends[..]].concat())?;
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(0) { Ok(said) } else { Err(format!("{}:\n{said}", output.status)) }
}

/// Returns the value of a `NAME VALUE` line in a script's output.
pub(super) fn figure(said: &str, name: &str) -> Result<f64, String> {
    let line = said.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.trim().parse().ok()).ok_or_else(|| format!("no `{name}` in:\n{said}"))
}

fn run(place: &Path) -> Result<Value, String> {
    let path = place.join("tmp/r/run.json");
    let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))
}

fn cpus(run: &Value) -> Vec<&Value> {
    run["phases"].as_array().into_iter().flatten().flat_map(|p| p["cpus"].as_array().into_iter().flatten()).collect()
}

/// Tests a measurement during which another process sets the clock.
pub fn clock(place: &Path) -> Result<String, String> {
    let script = "punctual measure -D 8s -i 1ms -q -o /tmp/r & P=$!; sleep 2; now=$(date +%s); date -s @$((now + 31536000)); sleep 2; \
                  date -s @$((now - 31536000)); sleep 1; wait $P; echo code $?";
    let said = boot(&["--virtual"], script, place)?;
    if figure(&said, "code")? != 0.0 {
        return Err(said);
    }
    let run = run(place)?;
    let at = |end: &str, clock: &str| run[end][clock].as_f64().unwrap_or(f64::NAN);
    let years = |clock: &str| (at("ended", clock) - at("started", clock)) / 1e9 / 31_536_000.0;
    let (real, mono) = (years("real_ns"), years("mono_ns"));
    for cpu in cpus(&run) {
        let count = |name: &str| cpu[name].as_u64().unwrap_or(u64::MAX);
        let all = count("released") == count("ran").saturating_add(count("skipped"));
        if !all || count("released") < 7_900 || count("max_ns") > 100_000_000 {
            return Err(format!("the periods of a CPU do not add up: {cpu}"));
        }
    }
    match (-1.01..-0.99).contains(&real) && (0.0..0.001).contains(&mono) {
        true => {
            let max = cpus(&run).iter().filter_map(|cpu| cpu["max_ns"].as_u64()).max().unwrap_or(0);
            Ok(format!("8000 periods of 8000, longest {} us, wall clock {real:+.2} years on record", max / 1000))
        }
        false => Err(format!("clocks on record: wall {real} years, monotonic {mono}")),
    }
}

/// Tests a measurement during which the second of two CPUs goes offline and online again.
pub fn hotplug(place: &Path) -> Result<String, String> {
    let script = "punctual measure -D 8s -i 5ms -q -c 'max < 10s' -o /tmp/r & P=$!; sleep 3; echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 2; \
                  echo 1 > /sys/devices/system/cpu/cpu1/online; wait $P; echo code $?";
    let said = boot(&["--cpus", "2"], script, place)?;
    let code = figure(&said, "code")?;
    let run = run(place)?;
    let all = format!("{} {}", run["problems"], run["phases"][0]["problems"]);
    match code == 3.0 && all.contains("CPU 1") {
        true => Ok("exit code 3, the run reports CPU 1".into()),
        false => Err(format!("exit code {code}, problems {all}")),
    }
}

/// Tests a measurement in a cgroup of 64 MB on a machine of 512 MB.
pub fn memory(place: &Path) -> Result<String, String> {
    let script = "mkdir -p /cg; mount -t cgroup2 none /cg; mkdir /cg/m; echo +memory > /cg/cgroup.subtree_control; echo 64M > /cg/m/memory.max; \
                  echo 0 > /cg/m/memory.swap.max 2>/dev/null; sh -c 'echo $$ > /cg/m/cgroup.procs; exec punctual measure -D 10s -i 1ms -q -o /tmp/r'; \
                  echo code $?; echo peak $(cat /cg/m/memory.peak)";
    let said = boot(&["--memory", "512", "--virtual"], script, place)?;
    let run = run(place)?;
    let resident = run["cost"]["rss_bytes"].as_f64().unwrap_or(f64::NAN) / 1e6;
    let faults: u64 = cpus(&run).iter().map(|cpu| cpu["page_faults"].as_u64().unwrap_or(u64::MAX)).sum();
    match figure(&said, "code")? == 0.0 && resident <= 16.0 && faults == 0 {
        true => {
            let peak = figure(&said, "peak")? / 1e6;
            Ok(format!(
                "{resident:.1} MB resident, peak of {peak:.1} MB in the cgroup, {faults} page faults in measuring threads"
            ))
        }
        false => Err(format!("{resident} MB resident, {faults} page faults: {said}")),
    }
}

/// Tests a measurement at FIFO 99 with a loop of the same priority on the only CPU, which the measurement cannot
/// preempt (sched(7)). RLIMIT_RTTIME limits the loop: without it, a PREEMPT_RT kernel since 6.12 hangs, because its
/// fair server runs only ordinary threads, and a thread of FIFO 1 expires the timers on which these sleep.
pub fn hog(place: &Path) -> Result<String, String> {
    let script = "now() { cut -d' ' -f1 /proc/uptime; }; a=$(now); \
                  punctual measure -p 99 -D 10s -c 'max < 1s' -q -o /tmp/r & P=$!; sleep 2; \
                  prlimit --rttime=2500000 chrt -f 99 sh -c 'while :; do :; done' & worst=0; \
                  for i in 1 2 3 4 5; do b=$(now); sh -c :; sleep 1; c=$(now); \
                  worst=$(echo \"$worst $b $c\" | awk '{d = $3 - $2 - 1; print (d > $1) ? d : $1}'); done; \
                  wait $P; echo code $?; echo took $(echo \"$a $(now)\" | awk '{print $2 - $1}'); echo answered $worst; \
                  echo runtime $(cat /proc/sys/kernel/sched_rt_runtime_us); mkdir -p /tmp/r";
    let puts = ["/usr/bin/chrt", "/usr/bin/prlimit"]
        .into_iter()
        .flat_map(with_libraries)
        .flat_map(|file| ["--put".to_owned(), file]);
    let puts: Vec<String> = puts.collect();
    let words: Vec<&str> = puts.iter().map(String::as_str).chain(["--virtual"]).collect();
    let said = boot(&words, script, place)?;
    let (took, answered) = (figure(&said, "took")?, figure(&said, "answered")?);
    let code = figure(&said, "code")?;
    match took <= 13.0 && (0.5..=5.0).contains(&answered) && figure(&said, "runtime")? > 0.0 && code == 1.0 {
        true => Ok(format!(
            "a shell responded within {answered:.1} s, 10 s of measuring ended after {took:.1} s and failed its claim; throttling stayed on"
        )),
        false => Err(said),
    }
}
