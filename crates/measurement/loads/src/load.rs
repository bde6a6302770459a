use crate::board::now;
use crate::builtin::{LOADS, check_command};
use crate::part::Part;
use crate::settings::ChildConfig;
use crate::spec::Kind;
use crate::{LoadError, LoadSettings, LoadSpec, report};
use punctual_model::LoadReport;
use std::marker::PhantomData;

/// A running load. Dropping it stops it.
///
/// It must stay in the thread that started it (it is not `Send`), and that thread must outlive it: the kernel kills a
/// load when the *thread* that started it ends (prctl(2), PR_SET_PDEATHSIG). Other threads use [`LoadWatch`].
pub struct Load {
    name: String,
    parts: Vec<Part>,
    recording: Recording,
    /// Not `Send`, because PR_SET_PDEATHSIG applies to the starting thread.
    not_send: PhantomData<*const ()>,
}

#[derive(Clone, Copy)]
enum Recording {
    Since(u64),
    Ended { since: u64, until: u64 },
}

/// Progress of a load. Times are CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Units of work completed by all workers since the start.
    pub beats: u64,
    /// Time of the last beat of the worker that has been silent longest; 0 without workers (idle).
    pub stalest_mono_ns: u64,
}

/// Reads a load's progress from any thread, without a system call and without waking the load.
#[derive(Clone)]
pub struct LoadWatch {
    boards: Vec<(crate::board::Board, usize)>,
}

impl LoadWatch {
    pub fn progress(&self) -> Progress {
        let slots = self.boards.iter().flat_map(|(board, workers)| (0..*workers).map(|slot| board.read(slot)));
        let mut progress = Progress { beats: 0, stalest_mono_ns: u64::MAX };
        for slot in slots {
            progress.beats += slot.beats;
            progress.stalest_mono_ns = progress.stalest_mono_ns.min(slot.last);
        }
        if progress.stalest_mono_ns == u64::MAX { Progress::default() } else { progress }
    }
}

impl Load {
    /// Starts a load. Returns when each worker has completed its first unit of work. The recording starts at that time,
    /// or when [`Load::start_recording`] is called.
    ///
    /// # Errors
    /// The load cannot run on this machine, or was not ready within `settings.ready_within`. No part of it remains.
    /// [`not_run`](crate::not_run) converts the error to a report.
    pub fn start(spec: &LoadSpec, settings: &LoadSettings) -> Result<Load, LoadError> {
        if settings.cpus.is_empty() {
            return Err(LoadError::NoCpu);
        }
        let mut parts = Vec::new();
        let configs = configs(spec, settings)?;
        for config in &configs {
            let part = Part::spawn(config, &settings.self_exe);
            parts.push(part.map_err(|e| not_started(config, spec, e))?);
        }
        let give_up = now() + settings.ready_within.0;
        for (part, config) in parts.iter_mut().zip(&configs) {
            part.wait_until_ready(give_up).map_err(|e| not_started(config, spec, e))?;
        }
        let mut load =
            Load { name: spec.to_string(), parts, recording: Recording::Since(now()), not_send: PhantomData };
        load.start_recording();
        Ok(load)
    }

    /// Checks that the load can start, by starting it and ending it again. A command is not run; the shell only checks
    /// its syntax and its first word.
    ///
    /// # Errors
    /// Same as for [`Load::start`].
    pub fn check(spec: &LoadSpec, settings: &LoadSettings) -> Result<(), LoadError> {
        match spec.kind() {
            Kind::Command(command) => check_command(command)
                .map_err(|why| LoadError::NotStarted { load: spec.to_string(), why: why.to_string() }),
            Kind::Idle | Kind::Builtin(_) | Kind::All => Load::start(spec, settings).map(drop),
        }
    }

    /// Starts the interval that the report covers.
    pub fn start_recording(&mut self) {
        let since = now();
        self.recording = Recording::Since(since);
        for part in &mut self.parts {
            part.start_recording(since);
        }
    }

    /// Ends the interval that the report covers.
    pub fn stop_recording(&mut self) {
        if let Recording::Since(since) = self.recording {
            let until = now();
            self.recording = Recording::Ended { since, until };
            for part in &mut self.parts {
                part.stop_recording();
            }
        }
    }

    pub fn progress(&self) -> Progress {
        self.watch().progress()
    }

    pub fn watch(&self) -> LoadWatch {
        LoadWatch { boards: self.parts.iter().map(|p| (p.board.clone(), p.hello.workers)).collect() }
    }

    /// Ends the load and everything it started, and reports its work during the recording.
    pub fn stop(mut self) -> LoadReport {
        self.stop_recording();
        let Recording::Ended { since, until } = self.recording else { unreachable!("recording has just been stopped") };
        // First all parts are asked to end, then each is waited for.
        self.parts.iter_mut().for_each(Part::ask_to_end);
        let parts = self.parts.drain(..).map(|part| report::of_part(part.end(), since, until)).collect();
        report::of_load(&self.name, parts)
    }

    /// Returns the process IDs of the load, for monitoring and tests.
    pub fn pids(&self) -> Vec<i32> {
        self.parts.iter().map(Part::pid).collect()
    }
}

fn not_started(config: &ChildConfig, spec: &LoadSpec, error: LoadError) -> LoadError {
    match error {
        usage if usage.is_usage() => usage,
        other if *spec.kind() == Kind::All => {
            LoadError::NotStarted { load: "all".into(), why: format!("{}: {other}", config.load) }
        }
        other => LoadError::NotStarted { load: spec.to_string(), why: other.to_string() },
    }
}

/// Returns the configuration of each process: one per load, several for `all`.
fn configs(spec: &LoadSpec, settings: &LoadSettings) -> Result<Vec<ChildConfig>, LoadError> {
    let config = |name: &str, sharing| ChildConfig::new(name, None, settings, sharing);
    match spec.kind() {
        Kind::Idle => Ok(Vec::new()),
        Kind::Builtin("network") if settings.peer.is_none() => Err(LoadError::NoPeer),
        Kind::Builtin(name) => Ok(vec![config(name, 1)]),
        Kind::Command(command) => Ok(vec![ChildConfig::new("cmd:COMMAND", Some(command), settings, 1)]),
        Kind::All => {
            let parts = LOADS.iter().filter(|load| load.is_in_all(settings.peer.is_some()));
            let names: Vec<&str> = parts.map(|load| load.name).collect();
            Ok(names.iter().map(|name| config(name, names.len() as u32)).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn settings() -> LoadSettings {
        LoadSettings::new("0".parse().unwrap(), "/tmp".into())
    }

    #[test]
    fn a_command_that_cannot_start_is_known_without_running_it() {
        let folder = tempfile::tempdir().unwrap();
        let check = |command: &str| Load::check(&parse(&format!("cmd:{command}")).unwrap(), &settings());
        let touched = folder.path().join("ran");
        for good in
            ["true", "A=1 sh -c :", "cd / && ls", "(true; false)", "while :; do :; done", "\"sh\" -c :", "/bin/sh"]
        {
            assert!(check(good).is_ok(), "{good}");
        }
        assert!(check(&format!("touch {}", touched.display())).is_ok() && !touched.exists());
        for (bad, why) in [
            ("no-such-program --now", "`no-such-program` was not found"),
            ("A=1 /no/such/file", "`/no/such/file` was not found"),
            ("if true", "yntax"),
            ("echo 'half", "nterminated"),
        ] {
            let error = check(bad).unwrap_err();
            assert!(error.to_string().contains(why) && !error.is_usage(), "{bad}: {error}");
        }
    }

    #[test]
    fn all_has_the_network_only_with_a_peer() {
        let names = |settings: &LoadSettings| -> Vec<String> {
            configs(&parse("all").unwrap(), settings).unwrap().into_iter().map(|c| c.load).collect()
        };
        assert_eq!(names(&settings()), ["cpu", "memory", "io", "loopback", "scheduler", "timers"]);
        assert!(names(&LoadSettings { peer: Some("x".into()), ..settings() }).contains(&"network".to_string()));
    }

    #[test]
    fn the_network_needs_a_peer() {
        let error = Load::start(&parse("network").unwrap(), &settings()).err().unwrap();
        assert!(error.is_usage() && error.to_string().contains("--peer HOST"));
    }

    #[test]
    fn idle_is_no_process_and_always_runs() {
        let load = Load::start(&parse("idle").unwrap(), &settings()).unwrap();
        assert_eq!((load.pids(), load.progress()), (vec![], Progress::default()));
        let report = load.stop();
        assert!(report.ran && report.workers == 0 && report.why_not.is_none());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let settings = LoadSettings { self_exe: "/nonexistent".into(), ..settings() };
        let error = Load::start(&parse("cpu").unwrap(), &settings).err().unwrap();
        assert!(error.to_string().contains("/nonexistent"), "{error}");
    }

    #[test]
    fn a_program_that_is_no_load_is_named() {
        let ready_within = punctual_units::Nanos::from_secs(60);
        let settings = LoadSettings { self_exe: "/bin/false".into(), ready_within, ..settings() };
        let error = Load::start(&parse("cpu").unwrap(), &settings).err().unwrap().to_string();
        assert!(error.contains("exit code 1"), "{error}");
    }

    #[test]
    fn a_program_that_talks_and_is_no_load() {
        let ready_within = punctual_units::Nanos::from_millis(200);
        let settings = LoadSettings { self_exe: "/usr/bin/yes".into(), ready_within, ..settings() };
        let error = Load::start(&parse("cpu").unwrap(), &settings).err().unwrap().to_string();
        assert!(error.contains("did not answer in time"), "{error}");
    }
}
