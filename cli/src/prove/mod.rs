//! `prove` and `measure`.

pub mod args;
mod live;

use crate::args::common::EventsArg;
use crate::document;
use crate::exit;
use crate::progress;
use crate::terminal;
use args::{MeasureArgs, RunArgs};
use live::Live;
use punctual_live::Unfit;
use punctual_model::Claim;
use punctual_proof::{self as proof, Done, Observer, Options, ProofError, Trace, Via, When};
use punctual_report as report;
use punctual_units::{Nanos, Way};
use std::path::PathBuf;
use std::process::ExitCode;

/// The loads of `prove` where none are named.
pub const PROVE_LOADS: [&str; 8] = ["idle", "cpu", "memory", "io", "loopback", "scheduler", "timers", "all"];

/// How long is measured at most until the claims are decided.
const UNTIL_AT_MOST: Nanos = Nanos::from_secs(12 * 3_600);

/// `punctual prove`.
pub fn prove(args: &MeasureArgs, started: Nanos) -> ExitCode {
    if args.on.target.is_some() {
        return elsewhere("prove", args);
    }
    if let Via::Kernel(way) = args.run.via {
        let text = format!("prove measures wakeups: write `punctual measure --via {way}`");
        return failed("prove", args, &ProofError::Usage(text));
    }
    let mut options = options(&args.run, started);
    if args.run.warmup.is_none() {
        options.warmup = Nanos::from_millis(200);
    }
    if options.loads.is_empty() {
        options.loads = PROVE_LOADS.map(String::from).to_vec();
        if options.peer.is_some() {
            options.loads.insert(5, "network".into());
        }
    }
    if options.claims.is_empty() {
        options.claims.push(Claim::none_missed());
    }
    if args.run.trace.is_none() {
        options.trace.when = When::Auto;
    }
    run("prove", args, &options, &proof::prove)
}

/// On another machine; the run comes here.
fn elsewhere(command: &str, args: &MeasureArgs) -> ExitCode {
    let host = args.on.target.as_ref().map(|target| target.host.clone()).unwrap_or_default();
    crate::kernel::remote::measure(
        command,
        &args.on,
        &args.run.out.clone().unwrap_or_else(|| numbered(&host)),
        args.output,
    )
}

/// `punctual measure`.
pub fn measure(args: &MeasureArgs, started: Nanos) -> ExitCode {
    if args.on.target.is_some() {
        return elsewhere("measure", args);
    }
    let mut options = options(&args.run, started);
    if options.loads.is_empty() {
        options.loads = vec!["idle".into()];
    }
    match args.run.via {
        Via::Kernel(way) if args.live => {
            let text = format!("--live shows wakeups: leave it out with --via {way}");
            failed("measure", args, &ProofError::Usage(text))
        }
        Via::Kernel(way) => {
            run("measure", args, &options, &|options, observer| proof::measure_by(way, options, observer))
        }
        Via::Wakeup(_) => run("measure", args, &options, &proof::measure),
    }
}

type Job<'a> = &'a dyn Fn(&Options, &mut dyn Observer) -> Result<Done, ProofError>;

fn run(command: &str, args: &MeasureArgs, options: &Options, job: Job) -> ExitCode {
    if let Err(e) = punctual_uapi::block(&proof::signals()) {
        return failed(command, args, &ProofError::from(e));
    }
    let done = match args.live {
        // Returns with the terminal given back.
        true => match Live::new(command, options) {
            Ok(mut live) => job(options, &mut live),
            Err(e) => return unfit(command, args, &e),
        },
        false => progress::shown(options, args.output.quiet, |observer| job(options, observer)),
    };
    let done = match done {
        Ok(done) => done,
        Err(e) => return failed(command, args, &e),
    };
    let code = exit::of_done(&done);
    if let Some(what) = &done.error {
        eprintln!("punctual: {what}");
    }
    #[cfg(feature = "history")]
    if let Some(file) = &args.history {
        crate::history::after(file.clone(), &done);
    }
    if args.output.json {
        terminal::print(&(document::document(command, code, &json(&done)) + "\n"));
    } else if !args.output.quiet {
        terminal::print(&summary(&done));
    }
    ExitCode::from(code)
}

/// A finished run as the result of a document.
pub fn json(done: &Done) -> serde_json::Value {
    let mut result = report::json(&done.recording, &done.verdict);
    if let Some(map) = result.as_object_mut() {
        map.insert("run_directory".into(), done.root.display().to_string().into());
        map.insert("report".into(), done.report.as_ref().map(|p| p.display().to_string()).into());
    }
    result
}

/// A finished run for a terminal.
pub fn summary(done: &Done) -> String {
    let style = report::TextStyle { color: terminal::colour(), width: terminal::width() };
    let mut text = report::text(&done.recording, &done.verdict, style);
    text.push_str(&format!("\nRun directory: {}\n", done.root.display()));
    if let Some(path) = &done.report {
        text.push_str(&format!("Report:        {}\n", path.display()));
    }
    text
}

/// `--live` where there is no terminal.
fn unfit(command: &str, args: &MeasureArgs, error: &Unfit) -> ExitCode {
    eprintln!("punctual: {error}");
    if args.output.json {
        let result = document::error(&error.to_string());
        terminal::print(&(document::document(command, exit::USAGE, &result) + "\n"));
    }
    ExitCode::from(exit::USAGE)
}

fn failed(command: &str, args: &MeasureArgs, error: &ProofError) -> ExitCode {
    eprintln!("punctual: {error}");
    let code = exit::of_error(error);
    if args.output.json {
        let result = document::error(&error.to_string());
        terminal::print(&(document::document(command, code, &result) + "\n"));
    }
    ExitCode::from(code)
}

/// A run as these arguments ask for it.
pub fn options(args: &RunArgs, started: Nanos) -> Options {
    let mut claims = args.claims.clone();
    if let Some(deadline) = args.deadline {
        claims.extend([Claim::max(deadline), Claim::none_missed()]);
    }
    Options {
        out: args.out.clone().unwrap_or_else(default_out),
        command: std::env::args_os().map(|a| a.to_string_lossy().into_owned()).collect(),
        policy: args.policy,
        priority: args.priority,
        via: match &args.via {
            Via::Wakeup(way) => way.clone(),
            Via::Kernel(_) => Way::default(),
        },
        period: args.period,
        cpus: args.cpus.clone(),
        alignment: args.phase.into(),
        duration: args.duration.unwrap_or(Nanos::from_secs(60)),
        until: args.until_decided.then(|| args.max.unwrap_or(UNTIL_AT_MOST)),
        maxima_block: args.maxima_block.unwrap_or(proof::MAXIMA_BLOCK),
        warmup: args.warmup.unwrap_or(Nanos::ZERO),
        loads: args.loads.iter().flat_map(|l| split_loads(l)).collect(),
        context: !args.no_context,
        cpu_dma_latency_us: args.cpu_dma_latency,
        worst_kept: args.worst.into(),
        deadline: args.deadline,
        claims,
        peer: args.peer.clone(),
        scratch: args.scratch.clone(),
        write_cap: args.write_cap.saturating_mul(1 << 20),
        trace: Trace {
            when: args.trace.map_or(When::Never, When::from),
            full: args.trace_events == EventsArg::Full,
            buffer_kb: args.trace_buffer,
        },
        sync: !args.no_sync,
        virtual_time: args.virtual_time.clone(),
        started_mono: started,
    }
}

/// `idle,cpu` are two loads; a command may hold commas.
pub fn split_loads(text: &str) -> Vec<String> {
    let text = text.trim();
    if text.starts_with("cmd:") {
        return vec![text.to_owned()];
    }
    match text.find(",cmd:") {
        Some(at) => split_loads(&text[..at]).into_iter().chain([text[at + 1..].to_owned()]).collect(),
        None => text.split(',').map(|l| l.trim().to_owned()).filter(|l| !l.is_empty()).collect(),
    }
}

/// `./punctual-runs/20261121T110905Z-hostname`, with a number behind it where that is taken.
pub fn default_out() -> PathBuf {
    numbered(&rustix::system::uname().nodename().to_string_lossy())
}

/// `./punctual-runs/<time>-<name>`, not taken yet.
pub fn numbered(name: &str) -> PathBuf {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let time: String = report::utc(now.as_nanos() as u64).chars().filter(|c| !matches!(c, '-' | ':')).collect();
    let host: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let base = PathBuf::from("punctual-runs").join(format!("{time}-{host}"));
    let taken = |path: &PathBuf| path.symlink_metadata().is_ok();
    let numbered = (2..).map(|n| PathBuf::from(format!("{}-{n}", base.display())));
    std::iter::once(base.clone()).chain(numbered).find(|path| !taken(path)).unwrap_or(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_part_loads_but_not_commands() {
        assert_eq!(split_loads("idle, cpu"), ["idle", "cpu"]);
        assert_eq!(split_loads("cmd:a,b"), ["cmd:a,b"]);
        assert_eq!(split_loads("idle,cmd:make -j4, x"), ["idle", "cmd:make -j4, x"]);
        assert!(split_loads(" , ").is_empty());
    }
}
