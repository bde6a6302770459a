//! Implements `check`, which reports what a program's threads do that is unsuitable for real time.

pub mod args;

use crate::args::common::OutputArgs;
use crate::finish::{Answer, finish};
use crate::refusal::Refusal;
use crate::{exit, new_file, signals, terminal};
use args::{CheckArgs, CheckFormat};
use clap::ValueEnum;
use punctual_check::{Baseline, CheckOptions, Subject};
use punctual_formats::{About, Cases};
use punctual_loads::{Load, LoadSettings, LoadSpec};
use punctual_model::{Check, Listed, Listing};
use punctual_report::{CheckListing, Document, TextStyle, check_html, check_text};
use punctual_units::Nanos;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

/// Runs `punctual check`. Exits 0 if everything was observed and nothing was found, 1 with findings, 3 if something
/// could not be observed.
pub fn check(args: &CheckArgs) -> ExitCode {
    let format = if args.output.json { CheckFormat::Json } else { args.format.unwrap_or(CheckFormat::Text) };
    let json = format == CheckFormat::Json && args.out.is_none();
    let output = OutputArgs { json, ..args.output }.quiet_first();
    finish("check", output, answer(args, format, output))
}

fn answer(args: &CheckArgs, format: CheckFormat, output: OutputArgs) -> Result<Answer, Refusal> {
    if let Some(id) = &args.explain {
        let unknown = || {
            let similar = crate::suggest::similar(id, punctual_check::rules().iter().map(|rule| rule.id.as_str()));
            Refusal::usage(format!("no rule is named {id}{similar}; `punctual check --list` lists them"))
        };
        return Ok(Answer::text(0, punctual_check::explain(id).ok_or_else(unknown)?).needed());
    }
    if args.list {
        return Ok(list(output));
    }
    if let Some(why) = contradiction(args) {
        return Err(Refusal::usage(why));
    }
    let baseline = args.baseline.as_ref().map(baseline).transpose()?;
    if let Some(path) = &args.out {
        new_file::is_free(path).map_err(Refusal::environment)?;
    }
    let (mut found, signal) = observe(args)?;
    if let Some(baseline) = baseline {
        baseline.mark(&mut found);
    }
    let code = signal.map_or_else(|| exit::of_outcome(found.outcome), exit::of_signal);
    if let Some(path) = &args.out {
        let text = written(format, code, &found);
        new_file::write(path, |out| out.write_all(text.as_bytes())).map_err(Refusal::environment)?;
        return Ok(Answer::new(output, code, || &found, || text_of(args, &found)).needed());
    }
    match format {
        CheckFormat::Text | CheckFormat::Json => {
            Ok(Answer::new(output, code, || &found, || text_of(args, &found)).needed())
        }
        _ if output.quiet => Ok(Answer::text(code, "")),
        format => Ok(Answer::text(code, written(format, code, &found)).needed()),
    }
}

/// Returns what is wrong with options that exclude each other, and what to type instead.
fn contradiction(args: &CheckArgs) -> Option<String> {
    let name = |format: CheckFormat| format.to_possible_value().map(|value| value.get_name().to_owned());
    let other = args.format.filter(|format| *format != CheckFormat::Json).and_then(name);
    if let Some(other) = other.as_ref().filter(|_| args.output.json) {
        return Some(format!(
            "--json and --format {other} are two formats: leave one out, or write one to a file: --format {other} --out FILE"
        ));
    }
    let is_text = args.out.is_some() || matches!(args.format, None | Some(CheckFormat::Text));
    if (args.full || args.show_cycles) && !is_text {
        let (option, format) = (if args.full { "--full" } else { "--show-cycles" }, args.format.and_then(name)?);
        return Some(format!(
            "{option} is for text: leave it out, or write the {format} document to a file with --out FILE"
        ));
    }
    let after = args.after.filter(|after| *after >= args.duration)?;
    let longer = Nanos(after.0.saturating_add(args.duration.0));
    Some(format!(
        "--after {after}: the observation ends after {}, before the real-time work begins; give --duration {}ms",
        args.duration,
        longer.0.div_ceil(1_000_000)
    ))
}

fn list(output: OutputArgs) -> Answer {
    let listed =
        |rule: &punctual_check::Rule| Listed { name: rule.id.clone(), about: rule.title.clone(), promise: None };
    let line = |rule: &punctual_check::Rule| format!("{:<22} {}\n", rule.id, rule.title);
    let text = || punctual_check::rules().iter().map(line).collect();
    Answer::new(output, 0, || Listing { list: punctual_check::rules().iter().map(listed).collect() }, text).needed()
}

fn baseline(path: &PathBuf) -> Result<Baseline, Refusal> {
    let shown = path.display();
    let text = std::fs::read(path).map_err(|e| Refusal::usage(format!("cannot read {shown}: {e}")))?;
    Baseline::parse(&text).map_err(|e| Refusal::usage(format!("{shown}: {e}")))
}

fn observe(args: &CheckArgs) -> Result<(Check, Option<punctual_uapi::Sig>), Refusal> {
    if args.duration == Nanos::ZERO || args.duration > Nanos::from_secs(86_400) {
        return Err(Refusal::usage("--duration: must be greater than zero and at most a day"));
    }
    let subject = match (args.pid, &args.unit, &args.cgroup) {
        (Some(pid), ..) => Subject::Pid(pid),
        (_, Some(unit), _) => Subject::Cgroup(group_of(unit)?),
        (.., Some(path)) => Subject::Cgroup(path.clone()),
        _ => Subject::Command(args.program.clone()),
    };
    let options = CheckOptions {
        subject,
        duration: args.duration,
        after: args.after,
        from: args.from.clone(),
        order: args.order.clone(),
    };
    let loads: Vec<LoadSpec> = args
        .loads
        .iter()
        .flat_map(|names| if names.starts_with("cmd:") { vec![names.as_str()] } else { names.split(',').collect() })
        .map(|name| punctual_loads::parse(name).map_err(|e| Refusal::either(e.is_usage(), e)))
        .collect::<Result<_, _>>()?;
    let (stop, caught) = (AtomicBool::new(false), OnceLock::new());
    let result = signals::catching(&stop, &caught, || {
        let here = std::env::current_dir().unwrap_or_else(|_| "/".into());
        let settings = LoadSettings { phase: args.duration, ..LoadSettings::new(punctual_uapi::affinity(0)?, here) };
        let mut running = Vec::new();
        for spec in &loads {
            let load = Load::start(spec, &settings).map_err(|e| Refusal::either(e.is_usage(), e))?;
            running.push(load);
        }
        let mut found = punctual_check::check(&options, &stop).map_err(|e| Refusal::either(e.is_usage(), e))?;
        for load in running {
            let report = load.stop();
            let said = match &report.why_not {
                Some(why) => format!("the load {} did not run: {why}", report.load),
                None => format!("the load {} was running", report.load),
            };
            found.notes.push(said);
        }
        Ok::<Check, Refusal>(found)
    })??;
    Ok((result, caught.get().copied()))
}

/// Returns the control group of a systemd unit.
pub fn group_of(unit: &str) -> Result<PathBuf, Refusal> {
    // sd_booted(3)
    if !Path::new("/run/systemd/system").is_dir() {
        return Err(Refusal::environment(format!(
            "systemd does not run here, so there is no unit {unit}: give a process (--pid PID) or a control group (--cgroup DIR)"
        )));
    }
    let mut command = std::process::Command::new("systemctl");
    command.args(["show", "--property=ControlGroup", "--value", "--"]).arg(unit);
    let output = punctual_watchdog::output(&mut command, punctual_watchdog::SHORT)
        .map_err(|e| Refusal::environment(format!("cannot query systemd about {unit}: systemctl: {e}")))?;
    let group = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if group.is_empty() {
        return Err(Refusal::usage(format!("the unit {unit} is not running: systemctl status {unit}")));
    }
    let folders = ["/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"];
    let found = folders.iter().map(|root| PathBuf::from(format!("{root}{group}"))).find(|path| path.exists());
    found
        .ok_or_else(|| Refusal::environment(format!("the control group {group} of {unit} is not below /sys/fs/cgroup")))
}

fn text_of(args: &CheckArgs, found: &Check) -> String {
    let listing = match (args.full, args.show_cycles) {
        (true, _) => CheckListing::Full,
        (_, true) => CheckListing::Cycles,
        _ => CheckListing::Brief,
    };
    check_text(found, listing, TextStyle { color: terminal::colour(), width: terminal::width() })
}

fn written(format: CheckFormat, code: u8, found: &Check) -> String {
    let tool = concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned();
    let cases = || Cases::of_check(About { tool: tool.clone(), ..About::default() }, found);
    match format {
        CheckFormat::Text => check_text(found, CheckListing::Full, TextStyle::default()),
        CheckFormat::Html => check_html(found),
        CheckFormat::Json => Document::new("check", code, found).text(),
        CheckFormat::Sarif => {
            let here = std::env::current_dir().unwrap_or_default();
            punctual_formats::check_sarif(found, &here, env!("CARGO_PKG_VERSION"))
        }
        CheckFormat::Junit => punctual_formats::junit(&cases()),
        CheckFormat::Tap => punctual_formats::tap(&cases()),
    }
}
