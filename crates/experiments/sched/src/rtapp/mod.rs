//! Workloads of rt-app (<https://github.com/scheduler-tools/rt-app>, doc/tutorial.txt). The supported part of its JSON
//! determines how long each thread runs, with which policy, on which CPU and when. Other keys cause an error that names
//! the key.

mod json;
mod task;

use crate::error::SpecError;
use crate::spec::Spec;
use json::Json;
use punctual_units::{Nanos, Policy};

pub(crate) struct Unknown {
    what: String,
    why: String,
}

impl Unknown {
    fn new(what: impl Into<String>) -> Unknown {
        Unknown { what: what.into(), why: String::new() }
    }

    fn because(what: impl Into<String>, why: impl std::fmt::Display) -> Unknown {
        Unknown { what: what.into(), why: format!(": {why}") }
    }
}

struct Global {
    /// Time at which all threads end. `None` means that they end when their work is done.
    duration: Option<Nanos>,
    default_policy: Policy,
    notes: Vec<String>,
}

/// Parses the JSON of rt-app. `source` names the text in error messages.
///
/// # Errors
/// [`SpecError::Form`] if the JSON is invalid or the experiment is impossible; [`SpecError::RtApp`] if it is not
/// supported.
pub fn import(source: &str, text: &str) -> Result<Spec, SpecError> {
    let wrong = |why: String| SpecError::Form { name: source.into(), why };
    let json = Json::parse(text).map_err(wrong)?;
    let spec = read(source, &json).map_err(|unknown| SpecError::RtApp {
        name: source.into(),
        what: unknown.what,
        why: unknown.why,
    })?;
    spec.checked().map_err(wrong)
}

fn read(source: &str, json: &Json) -> Result<Spec, Unknown> {
    let mut tasks: &[(String, Json)] = &[];
    let mut global = Global { duration: None, default_policy: Policy::Other, notes: Vec::new() };
    for (key, value) in json.object("the file")? {
        match key.as_str() {
            "tasks" => tasks = value.object("tasks")?,
            "global" => global.read(value.object("global")?)?,
            "resources" if value.object("resources").is_ok_and(<[_]>::is_empty) => {}
            "resources" => return Err(Unknown::because(key, "threads of an experiment do not share resources")),
            _ => return Err(Unknown::new(key)),
        }
    }
    let mut threads = Vec::new();
    for (name, task) in tasks {
        threads.extend(task::threads(name, task, &global)?);
    }
    Ok(Spec {
        name: source.trim_end_matches(".json").into(),
        about: "an rt-app workload".into(),
        repetitions: 1,
        at_most: global.duration,
        notes: global.notes,
        threads,
    })
}

impl Global {
    fn read(&mut self, keys: &[(String, Json)]) -> Result<(), Unknown> {
        for (key, value) in keys {
            let path = format!("global.{key}");
            match key.as_str() {
                "duration" => self.duration = duration(value.integer(&path)?, &path)?,
                "default_policy" => {
                    self.default_policy = value.text(&path)?.parse().map_err(|e| Unknown::because(&path, e))?;
                }
                "pi_enabled" | "io_device" | "mem_buffer_size" if *value != Json::Bool(true) => {}
                "calibration" => self.note("work is calibrated here", &path),
                "logdir" | "logstats" | "log_basename" | "log_size" | "gnuplot" | "ftrace" | "cumulative_slack" => {
                    self.note("the results are in the run directory", &path);
                }
                "lock_pages" | "frag" => self.note("the stacks of real-time threads are locked", &path),
                _ => return Err(Unknown::new(path)),
            }
        }
        Ok(())
    }

    fn note(&mut self, what: &str, path: &str) {
        self.notes.push(format!("rt-app's {path} has no effect: {what}"));
    }
}

/// Converts a duration in seconds; -1 means unlimited.
fn duration(seconds: i64, path: &str) -> Result<Option<Nanos>, Unknown> {
    match seconds {
        -1 => Ok(None),
        1..=3600 => Ok(Some(Nanos::from_secs(seconds.unsigned_abs()))),
        _ => Err(Unknown::because(path, format!("{seconds}; must be -1, or 1 to 3600 seconds"))),
    }
}

#[cfg(test)]
mod tests;
