//! Injects delays and writes a record of them to a folder; for guests and for manual experiments:
//!
//! ```text
//! punctual-inject FOLDER [cpu=1] [other=0] [bursts=8] [length_ms=16] [late_us=2000] [seed=1] [KIND…]
//! punctual-inject kinds
//! punctual-inject chains FOLDER [bursts=8] [CHAIN…]
//! punctual-inject rtla RTLA FOLDER [times=5] [cpu=1] [KIND…]
//! punctual-inject beside FILE [cpu=1] [times=3] [after_ms=1500] -- PROGRAM WORDS…
//! ```
//!
//! `chains` makes threads wait for each other, and records into FOLDER/CHAIN. `rtla` injects one delay at a time while
//! the program RTLA measures with `timerlat -a`, and records into FOLDER/KIND-N. `beside` runs a measuring program
//! while a FIFO 95 thread makes releases 1, 5 and 20 ms late, and writes the program's output and the injected delays
//! to FILE (JSON).

use punctual_inject::{
    Beside, CHAINS, HIDDEN_ARG, InjectError, KINDS, Recorder, Wanted, beside, beside_rtla, campaign, chains, child_main,
};
use std::path::Path;
use std::process::exit;

fn main() {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|first| first == HIDDEN_ARG).is_some() {
        exit(child_main(args));
    }
    let words: Vec<String> = args.map(|a| a.to_string_lossy().into_owned()).collect();
    let result = match words.split_first() {
        Some((word, _)) if word == "kinds" => {
            KINDS.iter().for_each(|kind| println!("{:22} {}", kind.name, kind.about));
            Ok(())
        }
        Some((word, rest)) if word == "beside" => run_beside(rest),
        Some((word, [folder, rest @ ..])) if word == "chains" => run_chains(Path::new(folder), rest),
        Some((word, [rtla, folder, rest @ ..])) if word == "rtla" => run_rtla(Path::new(rtla), Path::new(folder), rest),
        Some((folder, rest)) if !["chains", "rtla"].contains(&folder.as_str()) => run(Path::new(folder), rest),
        _ => {
            Err("usage: punctual-inject FOLDER [KEY=VALUE…] [KIND…] | kinds | chains FOLDER [KEY=VALUE…] [CHAIN…] | rtla RTLA FOLDER [KEY=VALUE…] [KIND…] | \
                 beside FILE [KEY=VALUE…] -- PROGRAM"
                .into())
        }
    };
    if let Err(error) = result {
        eprintln!("punctual-inject: {error}");
        exit(1);
    }
}

type Anything = Result<(), Box<dyn std::error::Error>>;

/// Returns what to inject, and the kinds in `all` that the words name; all kinds if the words name none.
fn parse<K>(
    words: &[String],
    late_ns: u64,
    length_ms: u64,
    all: &'static [K],
    name: fn(&K) -> &'static str,
) -> Result<(Wanted, Vec<&'static K>), Box<dyn std::error::Error>> {
    let mut wanted = Wanted { cpus: (1, 0), bursts: 8, length_ns: length_ms * 1_000_000, late_ns, seed: 1 };
    let mut names = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some(("cpu", n)) => wanted.cpus.0 = n.parse()?,
            Some(("other", n)) => wanted.cpus.1 = n.parse()?,
            Some(("bursts" | "times", n)) => wanted.bursts = n.parse()?,
            Some(("length_ms", n)) => wanted.length_ns = n.parse::<u64>()? * 1_000_000,
            Some(("late_us", n)) => wanted.late_ns = n.parse::<u64>()? * 1_000,
            Some(("seed", n)) => wanted.seed = n.parse()?,
            Some((key, _)) => return Err(format!("unknown setting {key}").into()),
            None => names.push(word.as_str()),
        }
    }
    if let Some(unknown) = names.iter().find(|wanted| !all.iter().any(|kind| name(kind) == **wanted)) {
        let known: Vec<&str> = all.iter().map(name).collect();
        return Err(format!("unknown kind `{unknown}`: choose one of {}", known.join(", ")).into());
    }
    let kinds = all.iter().filter(|kind| names.is_empty() || names.contains(&name(kind))).collect();
    Ok((wanted, kinds))
}

fn run_rtla(rtla: &Path, folder: &Path, words: &[String]) -> Anything {
    let (wanted, kinds) = parse(words, 13_000_000, 20, KINDS, |kind| kind.name)?;
    let recorder = Recorder::new()?;
    for kind in kinds {
        for n in 1..=wanted.bursts {
            let place = folder.join(format!("{}-{n}", kind.name));
            std::fs::create_dir_all(&place)?;
            // A different length and phase each time.
            let wanted = Wanted { seed: wanted.seed + u64::from(n), ..wanted.clone() };
            match beside_rtla(kind, &wanted, &recorder, &place, rtla) {
                Ok(()) => println!("{}", place.display()),
                Err(error) => {
                    println!("{}: {error}", place.display());
                    std::fs::write(place.join("failed.txt"), error.to_string())?;
                }
            }
        }
    }
    Ok(())
}

fn run(folder: &Path, words: &[String]) -> Anything {
    let (wanted, kinds) = parse(words, 2_000_000, 16, KINDS, |kind| kind.name)?;
    let recorder = Recorder::new()?;
    for kind in kinds {
        each(folder, kind.name, |place| {
            let injected = campaign(kind, &wanted, &recorder, place)?;
            Ok(format!("{} bursts, {} late wakeups", injected.bursts, injected.late))
        })?;
    }
    Ok(())
}

fn run_chains(folder: &Path, words: &[String]) -> Anything {
    let (wanted, kinds) = parse(words, 2_000_000, 16, CHAINS, |kind| kind.name)?;
    let recorder = Recorder::new()?;
    for kind in kinds {
        each(folder, kind.name, |place| Ok(format!("{} chains", chains(kind, &wanted, &recorder, place)?)))?;
    }
    Ok(())
}

/// Injects one kind of delay or chain and stores the results in a folder of its own. If the injection is impossible or
/// fails, a file in that folder contains the reason.
fn each(folder: &Path, name: &str, inject: impl FnOnce(&Path) -> Result<String, InjectError>) -> Anything {
    let place = folder.join(name);
    std::fs::create_dir_all(&place)?;
    match inject(&place) {
        Ok(said) => println!("{name:22} {said}"),
        Err(error @ InjectError::Impossible(_)) => {
            println!("{name:22} {error}");
            std::fs::write(place.join("impossible.txt"), error.to_string())?;
        }
        Err(error) => {
            println!("{name:22} failed: {error}");
            std::fs::write(place.join("failed.txt"), error.to_string())?;
        }
    }
    Ok(())
}

fn run_beside(words: &[String]) -> Anything {
    let mut wanted = Beside {
        cpu: 1,
        priority: 95,
        sizes_ns: vec![1_000_000, 5_000_000, 20_000_000],
        times: 3,
        after_ns: 1_500_000_000,
    };
    let at = words.iter().position(|word| word == "--").ok_or("beside needs `--` followed by a program")?;
    let (settings, program) = words.split_at(at);
    let (file, settings) = settings.split_first().ok_or("beside needs a file for its result")?;
    for word in settings {
        match word.split_once('=') {
            Some(("cpu", n)) => wanted.cpu = n.parse()?,
            Some(("times", n)) => wanted.times = n.parse()?,
            Some(("after_ms", n)) => wanted.after_ns = n.parse::<u64>()? * 1_000_000,
            _ => return Err(format!("unknown setting {word}").into()),
        }
    }
    let seen = beside(program.get(1..).unwrap_or_default(), &wanted)?;
    std::fs::write(file, serde_json::to_vec(&seen)?)?;
    Ok(())
}
