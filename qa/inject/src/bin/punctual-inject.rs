//! Injects delays and records what happened in a folder, for guests and for manual experiments:
//!
//! ```text
//! punctual-inject FOLDER [cpu=1] [other=0] [bursts=8] [length_ms=16] [late_us=2000] [seed=1] [KIND…]
//! punctual-inject kinds
//! punctual-inject rtla RTLA FOLDER [times=5] [cpu=1] [KIND…]
//! punctual-inject beside FILE [cpu=1] [times=3] [after_ms=1500] -- PROGRAM WORDS…
//! ```
//!
//! `rtla` injects each delay separately while `rtla timerlat -a` (RTLA is its program) measures, into FOLDER/KIND-N.
//! `beside` runs a measuring program while a thread of FIFO 95 makes releases 1, 5 and 20 ms late, and writes the
//! program's output and the injected delays to FILE (JSON).

use punctual_inject::{
    Beside, HIDDEN_ARG, InjectError, KINDS, Kind, Recorder, Wanted, beside, beside_rtla, campaign, child_main,
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
        Some((word, [rtla, folder, rest @ ..])) if word == "rtla" => run_rtla(Path::new(rtla), Path::new(folder), rest),
        Some((folder, rest)) => run(Path::new(folder), rest),
        None => {
            Err("usage: punctual-inject FOLDER [KEY=VALUE…] [KIND…] | kinds | rtla RTLA FOLDER [KEY=VALUE…] [KIND…] | \
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

/// Parses what to inject, and the kinds.
fn parse(
    words: &[String],
    late_ns: u64,
    length_ms: u64,
) -> Result<(Wanted, Vec<&'static Kind>), Box<dyn std::error::Error>> {
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
    if let Some(unknown) = names.iter().find(|name| !KINDS.iter().any(|kind| kind.name == **name)) {
        return Err(format!("unknown injection `{unknown}`: see punctual-inject kinds").into());
    }
    let kinds = KINDS.iter().filter(|kind| names.is_empty() || names.contains(&kind.name)).collect();
    Ok((wanted, kinds))
}

fn run_rtla(rtla: &Path, folder: &Path, words: &[String]) -> Anything {
    let (wanted, kinds) = parse(words, 13_000_000, 20)?;
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
    let (wanted, kinds) = parse(words, 2_000_000, 16)?;
    let recorder = Recorder::new()?;
    for kind in kinds {
        let place = folder.join(kind.name);
        std::fs::create_dir_all(&place)?;
        match campaign(kind, &wanted, &recorder, &place) {
            Ok(injected) => println!("{:22} {} bursts, {} late wakeups", kind.name, injected.bursts, injected.late),
            Err(error @ InjectError::Impossible(_)) => {
                println!("{:22} {error}", kind.name);
                std::fs::write(place.join("impossible.txt"), error.to_string())?;
            }
            Err(error) => {
                println!("{:22} failed: {error}", kind.name);
                std::fs::write(place.join("failed.txt"), error.to_string())?;
            }
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
