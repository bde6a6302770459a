//! Options that select the audited machine and its purpose.

use super::config;
use clap::Args;
use punctual_model::Argv;
use punctual_units::{CpuList, Priority};
use std::path::PathBuf;

const DEFAULT_PROFILE: &str = "control-loop";
const DEFAULT_PRIORITY: &str = "90";

#[derive(Args, Debug)]
pub struct SubjectArgs {
    /// Purpose of the machine: control-loop, dedicated-core, busy-poll, audio-desktop, fieldbus-nic, kvm-host,
    /// kvm-guest, pi-appliance, measure-only, or a file: a profile of your own that extends one of these, TuneD's
    /// tuned.conf, or rt-conf's YAML
    #[arg(help_heading = "Purpose", long = "for", value_name = "PROFILE|FILE", default_value = DEFAULT_PROFILE)]
    pub profile: String,
    /// Audit the tree of files under this directory instead of this machine
    #[arg(help_heading = "Input", long, value_name = "DIR", conflicts_with_all = ["snapshot", "pid", "probe"])]
    pub root: Option<PathBuf>,
    /// Audit a snapshot of another machine
    #[arg(help_heading = "Input", long, value_name = "FILE", conflicts_with_all = ["pid", "probe", "window"])]
    pub snapshot: Option<PathBuf>,
    /// Audit single files of a machine; may be repeated: a kernel's .config, a saved /proc/cmdline or cmdline.txt, a
    /// Raspberry Pi's config.txt. Rules that need more get SKIP. If the type of a file is unclear, prefix it:
    /// kconfig:FILE, cmdline:FILE, config.txt:FILE, model:FILE
    #[arg(help_heading = "Input", long, value_name = "FILE", conflicts_with_all = ["root", "snapshot", "pid", "probe", "user", "window", "plan_cpus"])]
    pub config: Vec<String>,
    /// PID of the application
    #[arg(help_heading = "Purpose", long, value_name = "PID")]
    pub pid: Option<u32>,
    /// CPUs of the application [default: the isolated CPUs, or all online CPUs if none is isolated]
    #[arg(help_heading = "Purpose", short = 'a', long, value_name = "CPUS")]
    pub cpus: Option<CpuList>,
    /// SCHED_FIFO priority of the application, 1 to 99
    #[arg(help_heading = "Purpose", short = 'p', long, value_name = "N", default_value = DEFAULT_PRIORITY)]
    pub priority: Priority,
}

impl SubjectArgs {
    /// Returns the files of --config, without the prefixes for their types.
    pub fn config_files(&self) -> impl Iterator<Item = &str> {
        self.config.iter().map(|word| config::split(word).1)
    }

    /// Returns the options that select the subject and its purpose, as typed, each after a space.
    pub fn words(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut add =
            |name: &str, value: Option<String>| words.extend(value.map(|v| [name.to_owned(), v]).into_iter().flatten());
        add("--root", self.root.as_ref().map(|path| path.display().to_string()));
        add("--snapshot", self.snapshot.as_ref().map(|path| path.display().to_string()));
        self.config.iter().for_each(|file| add("--config", Some(file.clone())));
        add("--for", Some(self.profile.clone()).filter(|profile| profile != DEFAULT_PROFILE));
        add("--pid", self.pid.map(|pid| pid.to_string()));
        add("--cpus", self.cpus.as_ref().map(ToString::to_string));
        add("--priority", Some(self.priority.to_string()).filter(|priority| priority != DEFAULT_PRIORITY));
        if words.is_empty() { String::new() } else { format!(" {}", Argv::new(words).line()) }
    }

    pub fn is_this_machine(&self) -> bool {
        self.root.is_none() && self.snapshot.is_none() && self.config.is_empty()
    }
}
