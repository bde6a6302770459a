//! Starts a load as `punctual` does, for tests and for manual experiments:
//!
//! ```text
//! loads-test-host run LOAD SECONDS [scratch=DIR] [peer=HOST] [cpus=LIST] [cap=BYTES] [memory=BYTES] [workers=N] …
//! loads-test-host serve ADDRESS:PORT
//! ```
//!
//! `run` prints `ready PID…` when the load runs, and its report as JSON after it has stopped.

use punctual_loads::{HIDDEN_ARG, Load, LoadSettings, child_main, not_run, parse, serve};
use punctual_units::Nanos;
use std::process::exit;
use std::time::{Duration, Instant};

fn main() {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|first| first == HIDDEN_ARG).is_some() {
        exit(child_main(args));
    }
    let args: Vec<String> = args.map(|a| a.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match &words[..] {
        ["run", load, seconds, rest @ ..] => run(load, seconds, rest),
        ["serve", address] => serve_on(address),
        ["names"] => {
            punctual_loads::NAMES.iter().for_each(|(name, about)| println!("{name:12} {about}"));
            Ok(())
        }
        _ => Err("usage: run LOAD SECONDS [KEY=VALUE…] | serve ADDRESS:PORT | names".into()),
    };
    if let Err(error) = result {
        eprintln!("{error}");
        exit(1);
    }
}

type Anything = Result<(), Box<dyn std::error::Error>>;

fn run(load: &str, seconds: &str, rest: &[&str]) -> Anything {
    let spec = parse(load)?;
    let phase = Duration::from_secs_f64(seconds.parse()?);
    let settings = settings(phase, rest)?;
    let began = Instant::now();
    let mut load = match Load::start(&spec, &settings) {
        Ok(load) => load,
        Err(error) => {
            println!("{}", serde_json::to_string_pretty(&not_run(&spec, &error))?);
            return Err(error.into());
        }
    };
    let pids: Vec<String> = load.pids().iter().map(i32::to_string).collect();
    println!("ready {}", pids.join(" "));
    eprintln!("ready after {:?}", began.elapsed());
    load.start_recording();
    std::thread::sleep(phase);
    load.stop_recording();
    let began = Instant::now();
    let report = load.stop();
    eprintln!("stopped in {:?}", began.elapsed());
    println!("{}", serde_json::to_string_pretty(&report)?);
    Ok(())
}

fn settings(phase: Duration, rest: &[&str]) -> Result<LoadSettings, Box<dyn std::error::Error>> {
    let mut settings = LoadSettings::new(punctual_uapi::affinity(0)?, "/var/tmp".into());
    settings.phase = Nanos(phase.as_nanos() as u64);
    for pair in rest {
        let (key, value) = pair.split_once('=').ok_or("KEY=VALUE")?;
        match key {
            "scratch" => settings.scratch_folder = value.into(),
            "peer" => settings.peer = Some(value.into()),
            "cpus" => settings.cpus = value.parse()?,
            "cap" => settings.write_cap_bytes = value.parse()?,
            "network_cap" => settings.network_cap_bytes_per_s = value.parse()?,
            "memory" => settings.memory_limit_bytes = Some(value.parse()?),
            "workers" => settings.workers = Some(value.parse()?),
            "ready" => settings.ready_within = Nanos::from_millis(value.parse()?),
            // These are properties of the calling process, not load settings.
            "fifo" => become_real_time(value.parse()?)?,
            "nproc" => limit_processes(value.parse()?)?,
            _ => return Err(format!("no setting {key}").into()),
        }
    }
    Ok(settings)
}

fn become_real_time(priority: u8) -> Anything {
    let priority = punctual_units::Priority::try_from(priority)?;
    Ok(punctual_uapi::set_scheduling(0, punctual_units::Scheduling::Fifo { priority }, false)?)
}

fn limit_processes(most: u64) -> Anything {
    use rustix::process::{Resource, Rlimit, setrlimit};
    Ok(setrlimit(Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) })?)
}

fn serve_on(address: &str) -> Anything {
    let served = serve(address.parse()?, std::io::stdin(), &|event| println!("{event:?}"))?;
    println!("{served:?}");
    Ok(())
}
