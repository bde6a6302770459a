//! Kills one run and checks what must hold afterwards.

use super::aim::Aim;
use super::stage::{self, Stage};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum duration of lost samples, s.
const MAX_LOST: f64 = 10.0;
/// Time after which a process that survives its run counts as left behind. Several runs share the CPUs, so killed
/// processes take a moment to end.
const GONE: Duration = Duration::from_secs(3);
/// Environment variable that marks the processes of a run, which have nothing else in common when their parent has
/// ended.
const MARK: &str = "PUNCTUAL_KILL_POINT";

/// The result of one killed run: a line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    pub number: u32,
    pub build: String,
    pub stage: Stage,
    pub long: bool,
    /// Time from the start of the run to the kill, s.
    pub lived: f64,
    pub lost: f64,
    /// Time that the check after the kill waited until none of the run's processes was running, s.
    pub gone_after: f64,
    pub traced: bool,
    pub half_window: bool,
    pub failed: Option<String>,
}

/// Starts a run, kills it, and checks what is left.
///
/// # Errors
/// The point could not be tried.
pub fn try_one(punctual: &Path, build: &str, number: u32) -> Result<Point, String> {
    let name = format!("{}-{number}", std::process::id());
    let out = std::env::temp_dir().join(format!("punctual-kill-{name}"));
    let (aim, begun) = (Aim::of(number), Instant::now());
    let [duration, loads] = aim.run();
    // This file is deleted with the run.
    let said = out.with_extension("said");
    let errors = fs::File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
    let mut child = Command::new(punctual)
        .args(["prove", "--quiet", "--duration", duration, "--load", loads, "--out"])
        .arg(&out)
        .env(MARK, &name)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("{}: {e}", punctual.display()))?;
    let pid = child.id();
    aim.wait(&mut child, &out);
    let ended = child.try_wait().map_err(|e| e.to_string())?.is_some();
    let traced = !instances(pid).is_empty();
    let _ = child.kill();
    let (killed_mono, lived) = (monotonic(), begun.elapsed().as_secs_f64());
    child.wait().map_err(|e| e.to_string())?;
    // Nothing was measured before its first file existed.
    let begun = fs::metadata(out.join("run.json")).and_then(|meta| meta.modified());
    let lived_with_file = begun.ok().and_then(|time| time.elapsed().ok()).map_or(lived, |time| time.as_secs_f64());
    let most_lost = lived_with_file.min(lived);
    let killed = Killed { punctual, out: &out, name: &name, pid, mono: killed_mono, most_lost, ended };
    let mut point = Point {
        number,
        build: build.to_owned(),
        stage: Stage::Folder,
        long: aim == Aim::Long,
        lived,
        lost: 0.0,
        gone_after: 0.0,
        traced,
        half_window: stage::has_half_window(&out),
        failed: None,
    };
    match killed.judge(&mut point) {
        Ok(()) => drop((fs::remove_dir_all(&out), fs::remove_file(&said))),
        Err(why) => {
            let (stage, text) = (point.stage, fs::read_to_string(&said).unwrap_or_default());
            let last = text.lines().next_back().unwrap_or_default();
            point.failed = Some(format!(
                "{stage}, killed after {lived:.3} s: {why} (kept in {}; its last line: {last})",
                out.display()
            ));
        }
    }
    Ok(point)
}

struct Killed<'a> {
    punctual: &'a Path,
    out: &'a Path,
    name: &'a str,
    pid: u32,
    mono: f64,
    /// Maximum duration of lost samples if the run has no record, s.
    most_lost: f64,
    ended: bool,
}

impl Killed<'_> {
    fn judge(&self, point: &mut Point) -> Result<(), String> {
        let before = Stage::of_files(self.out);
        point.stage = before;
        point.gone_after = nothing_left(self.name)?;
        let shown = Command::new(self.punctual).args(["report", "--json"]).arg(self.out).stdin(Stdio::null()).output();
        let shown = shown.map_err(|e| e.to_string())?;
        let said = String::from_utf8_lossy(&shown.stderr);
        self.is_restored().map_err(|why| format!("{why}: {said}"))?;
        if before == Stage::Folder {
            // Nothing was measured, so the command must report wrong usage, with a message.
            return match shown.status.code() == Some(2) && !said.trim().is_empty() {
                true => Ok(()),
                false => Err(format!("no run, but {}: {said}", shown.status)),
            };
        }
        let document: Value =
            serde_json::from_slice(&shown.stdout).map_err(|_| format!("unreadable ({}): {said}", shown.status))?;
        let result = &document["result"];
        point.stage = if self.ended { Stage::Ended } else { before.refined(result, self.mono) };
        // A write(2) of several pages ends at any of them (mm/filemap.c, generic_perform_write).
        let is_cut = |damage: &Value| damage.as_str().is_some_and(|text| text.contains("a partial line of"));
        if let Some(damage) = result["damage"].as_array().filter(|damage| !damage.iter().all(is_cut)) {
            return Err(format!("damage: {}", serde_json::json!(damage)));
        }
        adds_up(result)?;
        point.lost = lost(result, self.mono, self.most_lost)?;
        let complete = result["run"]["complete"].as_bool().ok_or("the document does not say whether it is complete")?;
        match (complete, complete == point.stage.is_complete(), point.lost > MAX_LOST) {
            (.., true) => Err(format!("{:.1} s of samples lost", point.lost)),
            (complete, false, _) => Err(format!("complete: {complete}")),
            _ => Ok(()),
        }
    }

    /// Checks that after the next start of the program nothing of the killed run is left in the system.
    fn is_restored(&self) -> Result<(), String> {
        if let Some(instance) = instances(self.pid).first() {
            return Err(format!("trace instance {instance} was not removed by the next start"));
        }
        let own = format!("{}-", self.pid);
        match names("/run/punctual").into_iter().find(|name| name.starts_with(&own)) {
            Some(entry) => Err(format!("/run/punctual/{entry} was not removed by the next start")),
            None => Ok(()),
        }
    }
}

/// Checks that measured and skipped releases add up to all releases, also after a kill.
fn adds_up(result: &Value) -> Result<(), String> {
    for phase in result["phases"].as_array().ok_or("no phases in the document")? {
        for cpu in phase["cpus"].as_array().ok_or("a phase without CPUs")? {
            let count = |name: &str| cpu[name].as_u64().ok_or(format!("no {name} in {cpu}"));
            if count("released")? != count("ran")? + count("skipped")? {
                return Err(format!("periods do not add up: {cpu}"));
            }
        }
    }
    Ok(())
}

/// Returns the duration of the lost samples, s: from the last recorded sample to the kill, or to the planned end of the
/// phase. A run that was measured to its end loses nothing. If a phase began but was not recorded, the last recorded
/// sample is in the phase before it.
fn lost(result: &Value, killed: f64, most: f64) -> Result<f64, String> {
    if result["run"]["complete"].as_bool() == Some(true) {
        return Ok(0.0);
    }
    let seconds = |value: &Value| value.as_f64().map(|ns| ns / 1e9);
    let settings = &result["run"]["settings"];
    let period = seconds(&settings["period_ns"]).ok_or("no period in the document")?;
    let duration = seconds(&settings["duration_ns"]).ok_or("no duration in the document")?;
    let phases = result["phases"].as_array().ok_or("no phases in the document")?;
    let Some(last) = phases.last() else { return Ok(most.min(duration)) };
    let start = seconds(&last["start_mono_ns"]).ok_or("a phase without its start")?;
    let released = last["cpus"].as_array().into_iter().flatten().filter_map(|c| c["released"].as_u64()).max();
    let on_record = released.unwrap_or(0) as f64 * period;
    let missing = (duration - on_record).max(0.0);
    Ok(match seconds(&last["end_mono_ns"]) {
        Some(_) if settings["loads"].as_array().is_some_and(|loads| loads.len() == phases.len()) => missing,
        Some(end) => missing + (killed - end).clamp(0.0, duration),
        None => (killed - start - on_record).clamp(0.0, missing),
    })
}

pub fn instances(pid: u32) -> Vec<String> {
    let (one, more) = (format!("punctual-{pid}"), format!("punctual-{pid}-"));
    let all = names("/sys/kernel/tracing/instances");
    all.into_iter().filter(|name| *name == one || name.starts_with(&more)).collect()
}

fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits until no process has the mark. Returns how long that took, s.
fn nothing_left(name: &str) -> Result<f64, String> {
    let (begun, mark) = (Instant::now(), format!("{MARK}={name}"));
    loop {
        let Some(pid) = running(mark.as_bytes()) else { return Ok(begun.elapsed().as_secs_f64()) };
        if begun.elapsed() > GONE {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default().replace('\0', " ");
            return Err(format!("process {pid} is still running: {words}"));
        }
        sleep(Duration::from_millis(20));
    }
}

fn running(mark: &[u8]) -> Option<u32> {
    fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|one| one == mark).then_some(pid)
    })
}

fn monotonic() -> f64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(complete: bool, released: u64) -> Value {
        let cpus = json!([{"released": released, "ran": released, "skipped": 0}]);
        let settings = json!({"period_ns": 1_000_000, "duration_ns": 14_000_000_000u64, "loads": ["idle", "cpu"]});
        json!({"run": {"complete": complete, "settings": settings},
               "phases": [{"start_mono_ns": 5_000_000_000u64, "end_mono_ns": null, "cpus": cpus}]})
    }

    #[test]
    fn what_is_lost_lies_between_the_last_sample_on_record_and_the_kill() {
        assert_eq!(lost(&result(false, 2_000), 9.0, 8.0), Ok(2.0));
        assert_eq!(lost(&result(true, 2_000), 9.0, 8.0), Ok(0.0));
        // No more can be lost than there was to measure.
        assert_eq!(lost(&result(false, 2_000), 90.0, 8.0), Ok(12.0));
        let mut nothing = result(false, 0);
        nothing["phases"] = json!([]);
        assert_eq!(lost(&nothing, 9.0, 3.0), Ok(3.0));
    }

    #[test]
    fn of_a_phase_that_has_ended_what_it_lacks_is_lost_and_what_came_after_it() {
        let mut ended = result(false, 14_000);
        ended["phases"][0]["end_mono_ns"] = json!(19_500_000_000u64);
        assert_eq!(lost(&ended, 20.0, 20.0), Ok(0.5));
        ended["run"]["settings"]["loads"] = json!(["idle"]);
        assert_eq!(lost(&ended, 90.0, 90.0), Ok(0.0));
        ended["phases"][0]["cpus"][0]["released"] = json!(13_000);
        assert_eq!(lost(&ended, 90.0, 90.0), Ok(1.0));
    }

    #[test]
    fn periods_that_do_not_add_up_are_found() {
        let mut run = result(false, 7);
        assert_eq!(adds_up(&run), Ok(()));
        run["phases"][0]["cpus"][0]["skipped"] = json!(1);
        assert!(adds_up(&run).is_err());
        run["phases"][0]["cpus"][0]["skipped"] = json!(null);
        assert!(adds_up(&run).is_err());
    }

    #[test]
    fn a_process_with_the_mark_is_found_until_it_is_dead() {
        let value = format!("a test of {}", std::process::id());
        let mut child = Command::new("sleep").arg("600").env(MARK, &value).spawn().unwrap();
        let mark = format!("{MARK}={value}");
        while running(mark.as_bytes()).is_none() {
            assert!(child.try_wait().unwrap().is_none(), "not found while it ran");
            sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(running(mark.as_bytes()), None);
    }
}
