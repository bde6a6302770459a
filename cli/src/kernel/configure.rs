//! Implements `kernel configure`: configures a kernel source and compares the result with the requested options.

use super::args::ConfigureArgs;
use super::inputs::{config_file, source, text_file};
use crate::exit;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::subject;
use crate::terminal::harmless;
use punctual_audit::{Context, Profile, audit};
use punctual_kernel::ConfigureResult;
use punctual_kernel::config::make::{Base, ConfigureError, Configured, Job, configure};
use punctual_kernel::config::of_config;
use punctual_machine::{Given, Kind};
use punctual_model::{Finding, State};
use punctual_units::{Priority, Scheduling};
use std::fmt::Write as _;
use std::io::IsTerminal as _;

const LARGEST_FRAGMENT: usize = 4 << 20;

pub fn run(args: &ConfigureArgs) -> Result<Answer, Refusal> {
    let source = source(&args.tree)?;
    if !source.join("Kconfig").is_file() {
        let tree = args.tree.display();
        return Err(Refusal::usage(format!("{tree} has no Kconfig: name an unpacked kernel source (--tree)")));
    }
    if args.menuconfig && !std::io::stdin().is_terminal() {
        return Err(Refusal::usage("--menuconfig needs a terminal: leave it out and put the options in a fragment"));
    }
    let mut fragments = Vec::new();
    for path in &args.fragments {
        fragments.push((path.display().to_string(), text_file(path, LARGEST_FRAGMENT)?));
    }
    let job = Job {
        tree: source,
        out: args.out.clone(),
        arch: args.arch,
        cross: args.cross.clone(),
        base: base(args)?,
        fragments,
        menu: args.menuconfig,
    };
    let done = configure(&job)?;
    let findings = audited(&done)?;
    let lacks_rt = findings.iter().any(|f| f.id == "kernel-preempt-rt" && f.state != State::Pass);
    let code = if done.dropped.is_empty() && !lacks_rt { 0 } else { exit::FAILED };
    let result = || ConfigureResult {
        config: &done.path,
        requested: done.requested.len(),
        dropped: &done.dropped,
        findings: &findings,
    };
    Ok(Answer::new(args.output, code, result, || harmless(&text(&done, &findings))))
}

/// Maximum size of a configuration, bytes; configurations of distributions have about 300 kB.
const LARGEST_CONFIG: usize = 4 << 20;

fn base(args: &ConfigureArgs) -> Result<Base, Refusal> {
    let Some(path) = &args.config else { return Ok(Base::Target(args.defconfig.clone())) };
    let text = config_file(path, LARGEST_CONFIG)?;
    match of_config(&text).is_empty() {
        true => Err(Refusal::usage(format!("{} has no line such as CONFIG_HZ=250 (--config)", path.display()))),
        false => Ok(Base::Config(text)),
    }
}

impl From<ConfigureError> for Refusal {
    fn from(error: ConfigureError) -> Refusal {
        let is_environment = matches!(error, ConfigureError::Program(_) | ConfigureError::Make { .. });
        Refusal::either(!is_environment, error)
    }
}

/// Returns the findings of those audit rules that depend on the configuration alone.
fn audited(done: &Configured) -> Result<Vec<Finding>, Refusal> {
    let mut given = Given::new();
    let name = done.path.display().to_string();
    given.add(&name, done.text.as_bytes(), Some(Kind::Kconfig)).map_err(Refusal::environment)?;
    let priority = Priority::try_from(90).map_err(Refusal::environment)?;
    let cpus = "0".parse().map_err(|_| Refusal::environment("CPU 0 is not a CPU list"))?;
    let context = Context { scheduling: Scheduling::Fifo { priority }, cpus, profile: Profile::ControlLoop };
    let is_of_config = |f: &Finding| f.id.starts_with("kconfig-") || f.id == "kernel-preempt-rt";
    let mut findings: Vec<Finding> = audit(&given, &context).into_iter().filter(is_of_config).collect();
    subject::name_sources(&mut findings, &given);
    Ok(findings)
}

fn text(done: &Configured, findings: &[Finding]) -> String {
    let mut out = format!("{}\n", done.path.display());
    let (asked, lost) = (done.requested.len(), done.dropped.len());
    let _ = writeln!(out, "{} of {asked} requested options are set", asked.saturating_sub(lost));
    for dropped in &done.dropped {
        let _ = writeln!(out, "DROPPED {dropped}");
    }
    for finding in findings.iter().filter(|f| !matches!(f.state, State::Pass | State::Skip)) {
        let _ = writeln!(out, "{:?} {}: {}", finding.state, finding.id, finding.summary);
    }
    let passed = findings.iter().filter(|f| f.state == State::Pass).count();
    let _ = writeln!(out, "{passed} of the audit's rules on configurations pass");
    out
}
