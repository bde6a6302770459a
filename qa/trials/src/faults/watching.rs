//! Checks that `punctual watch` survives changes of the wall clock and CPUs going offline, in guests of the lab.

use super::document;
use super::guests::{boot, figure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The tested command, with blocks of one second, so that the context thread also samples once a second.
const WATCH: &str = "punctual watch -q --block 1s -i 10ms --out /tmp/r";
const YEAR: i64 = 31_536_000;
const STEPS: [&str; 2] = ["the wall clock was set forward by 365 days", "the wall clock was set back by 730 days"];
/// Maximum accepted latency on an emulated CPU, ns; a clock step must not cause a longer one.
const LATEST_NS: u64 = 100_000_000;

/// The series copied from a guest.
pub(super) struct Series {
    pub watch: Value,
    pub lines: Vec<Value>,
    /// The run directories in chronological order.
    pub runs: Vec<PathBuf>,
}

impl Series {
    /// Reads the series. Every line and every run directory must be readable.
    pub fn read(folder: &Path) -> Result<Series, String> {
        let text = |name: &str| {
            let path = folder.join(name);
            fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
        };
        let watch = serde_json::from_str(&text("watch.json")?).map_err(|e| format!("watch.json: {e}"))?;
        let lines = text("series.jsonl")?;
        let lines: Result<Vec<Value>, _> = lines.lines().map(serde_json::from_str).collect();
        let lines = lines.map_err(|e| format!("series.jsonl: {e}"))?;
        let entries = fs::read_dir(folder.join("runs")).map_err(|e| e.to_string())?.flatten();
        let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        runs.sort_by_key(|run| started(run).unwrap_or(f64::MAX).to_bits());
        Ok(Series { watch, lines, runs })
    }

    pub fn notes(&self) -> Vec<&str> {
        let notes = self.lines.iter().filter(|line| line["line"] == "note");
        notes.filter_map(|line| line["text"].as_str()).collect()
    }

    /// Returns the number of releases on the CPU with the fewest, after checking that measured and skipped releases add
    /// up, and the worst latency of all CPUs.
    pub fn periods(&self) -> Result<(u64, u64), String> {
        let cpus = self.watch["cpus"].as_array().filter(|cpus| !cpus.is_empty()).ok_or("no CPUs in watch.json")?;
        let (mut least, mut latest) = (u64::MAX, 0);
        for cpu in cpus {
            let count = |name: &str| cpu[name].as_u64().ok_or(format!("no {name} in {cpu}"));
            if count("released")? != count("ran")? + count("skipped")? {
                return Err(format!("periods do not add up: {cpu}"));
            }
            least = least.min(count("released")?);
            latest = latest.max(cpu["ever"]["latency_ns"].as_u64().ok_or(format!("no latency in {cpu}"))?);
        }
        Ok((least, latest))
    }

    /// Returns the CPUs that each run directory measured, after checking that each is complete.
    pub fn measured(&self) -> Result<Vec<Vec<u64>>, String> {
        self.runs.iter().map(|run| whole(run)).collect()
    }
}

fn started(run: &Path) -> Option<f64> {
    let text = fs::read_to_string(run.join("run.json")).ok()?;
    serde_json::from_str::<Value>(&text).ok()?["started"]["mono_ns"].as_f64()
}

/// Returns the CPUs with results in a run directory, which must be complete.
fn whole(run: &Path) -> Result<Vec<u64>, String> {
    let document = document(run)?;
    let result = &document["result"];
    let damage = result["damage"].as_array().is_some_and(|damage| !damage.is_empty());
    if damage || result["run"]["complete"] != true {
        return Err(format!("{}: complete {}, damage {}", run.display(), result["run"]["complete"], result["damage"]));
    }
    let cpus = result["phases"].as_array().into_iter().flatten().flat_map(|phase| phase["cpus"].as_array()).flatten();
    Ok(cpus.filter_map(|cpu| cpu["cpu"].as_u64()).collect())
}

/// Sets the clock a year forward and two years back: each step must appear in the series, and cause no latency.
pub fn clock(place: &Path) -> Result<String, String> {
    let script = format!(
        "{WATCH} -D 24s --segment 5s & P=$!; sleep 6; now=$(date +%s); date -s @$((now + {YEAR})); sleep 6; \
         date -s @$((now - {YEAR})); wait $P; echo code $?"
    );
    let said = boot(&["--virtual"], &script, place)?;
    let series = Series::read(&place.join("tmp/r"))?;
    let steps: Vec<&str> = series.notes().into_iter().filter(|note| note.contains("clock was set")).collect();
    let has_both = steps == STEPS;
    let (released, latest) = series.periods()?;
    let segments = series.measured()?.len();
    let counted = series.watch["upsets"]["clock_steps"] == 2;
    match figure(&said, "code")? == 0.0
        && has_both
        && counted
        && released >= 2_350
        && latest < LATEST_NS
        && segments > 3
    {
        true => Ok(format!(
            "both steps are in the series, {released} periods, worst wakeup {} us, {segments} run directories complete",
            latest / 1000
        )),
        false => Err(format!(
            "steps {steps:?}, {}, {released} periods, worst {latest} ns, {segments} run directories:\n{said}",
            series.watch["upsets"]
        )),
    }
}

/// Takes the second of two CPUs offline and online again: the first run directory must have both CPUs, the second only
/// the first CPU, the third both.
pub fn hotplug(place: &Path) -> Result<String, String> {
    let script = format!(
        "{WATCH} -D 24s --segment 60s & P=$!; sleep 7; echo 0 > /sys/devices/system/cpu/cpu1/online; sleep 7; \
         echo 1 > /sys/devices/system/cpu/cpu1/online; wait $P; echo code $?"
    );
    let said = boot(&["--cpus", "2"], &script, place)?;
    let series = Series::read(&place.join("tmp/r"))?;
    let measured = series.measured()?;
    let (released, _) = series.periods()?;
    let named = series.notes().into_iter().any(|note| note.contains("CPU 1"));
    let as_wanted = measured == [vec![0, 1], vec![0], vec![0, 1]];
    match figure(&said, "code")? == 0.0 && as_wanted && named {
        true => {
            Ok(format!("run directories of CPU 0-1, 0, 0-1, all complete; CPU 1 is reported, with {released} periods"))
        }
        false => Err(format!("run directories of CPUs {measured:?}, notes {:?}:\n{said}", series.notes())),
    }
}
