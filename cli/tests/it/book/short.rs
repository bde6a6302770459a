//! Selects the lines of the book that run in a test, and shortens them. Lines that change the machine, take hours, or
//! need another machine, QEMU or a terminal are only parsed.

use std::path::Path;

pub enum Short {
    /// Run the line with these arguments.
    Run(Vec<String>),
    /// Do not run the line, for this reason.
    ParseOnly(String),
}

/// Measurement time that replaces the time in a line.
const DURATION: &str = "210ms";

/// Decides whether and how a line runs; `place` is the directory in which it would run.
pub fn short(words: &[String], place: &Path) -> Short {
    let has = |word: &str| words.iter().any(|w| w == word || w.starts_with(&format!("{word}=")));
    let command = words.first().map_or("", String::as_str);
    if let Some(word) = words.iter().find(|word| word.contains('…') || word.starts_with("<(") || word.contains('*')) {
        return only(&format!("`{word}` stands for something else"));
    }
    match command {
        "prove" | "measure" => measured(words),
        "audit" if has("--fix") => only("would change this machine"),
        "audit" if has("--pid") || has("--user") => only("needs a process or user of somebody's machine"),
        "audit" => with_inputs(words, &["--snapshot", "--root", "--config"], place),
        "undo" if !has("--list") => only("would change this machine"),
        "tune" if !has("--dry-run") => only("would change this machine"),
        "events" if has("--under") => only("beside every load: tests/it/events.rs"),
        "events" if !has("--list") => run(&lasting(words, DURATION)),
        "sched" if !has("--list") => only("takes the CPUs for longer: tests/it/sched.rs"),
        "bench" => only("takes the CPUs for longer: tests/it/bench.rs"),
        "cyclictest" => cyclictest(words),
        "report" | "import" | "compare" | "explain" | "history" => recorded(words, place),
        "kernel" => kernel(words, place),
        "lab" => only("boots kernels in QEMU: cargo trials lab"),
        "serve" => only("ends only on a signal"),
        "watch" => only("ends only on a signal: tests/it/watch.rs"),
        _ => run(words),
    }
}

/// Decides whether and how a command that reads recordings runs.
fn recorded(words: &[String], place: &Path) -> Short {
    let has = |word: &str| words.iter().any(|w| w == word);
    match (words[0].as_str(), words.get(1).map(String::as_str)) {
        ("compare", _) if has("--experiment") => only("measures over several boots"),
        ("report", _) if has("perfetto") => only("needs a run with a trace"),
        ("explain", _) if has("--live") => only("traces this machine: tests/it/tracing.rs"),
        ("explain", _) if has("--hardware") => only("takes the CPUs: tests/it/hardware.rs"),
        ("history", Some("baseline" | "remove")) => only("names runs of somebody's history"),
        ("history", _) if has("--machine") => only("names somebody's machine"),
        ("history", _) if named_baseline(words) => only("names a baseline of somebody's history"),
        _ => with_operands(words, place),
    }
}

fn kernel(words: &[String], place: &Path) -> Short {
    match words.get(1).map(String::as_str) {
        Some("plan" | "preflight") => {
            with_inputs(words, &["--root", "--tree", "--config", "--index", "--fragment"], place)
        }
        _ => only("needs a kernel's source or package"),
    }
}

fn run(words: &[String]) -> Short {
    Short::Run(words.to_vec())
}

fn only(why: &str) -> Short {
    Short::ParseOnly(why.to_owned())
}

fn measured(words: &[String]) -> Short {
    let value = |option: &str| words.iter().position(|w| w == option).and_then(|at| words.get(at + 1));
    let loads = value("--load").or(value("-l")).map_or("", String::as_str);
    match () {
        () if words.iter().any(|w| w == "--tui" || w == "--live") => only("needs a terminal: tests/it/live.rs"),
        () if words.iter().any(|w| w == "--peer" || w == "--target") => only("needs another machine"),
        () if loads.contains("cmd:") => only("runs a command of the user's machine"),
        () if value("--cpus").or(value("-a")).is_some() => only("names CPUs that this machine may lack"),
        () if value("--via").is_some_and(|via| via.contains(':') || via == "timerlat" || via == "hwlat") => {
            only("needs a device or a tracer of the kernel: tests/it/methods.rs")
        }
        () => {
            let mut words = lasting(words, DURATION);
            // With seven loads the warm-up would take most of the time.
            if !words.iter().any(|w| w == "--warmup") {
                words.extend(["--warmup".to_owned(), "10ms".to_owned()]);
            }
            // Only the line `prove --duration 30s` runs under all loads, since starting them takes seconds.
            let says_more =
                words.iter().any(|w| matches!(w.as_str(), "--claim" | "--deadline" | "--out" | "--history"));
            if words[0] == "prove" && loads.is_empty() && says_more {
                words.extend(["--load".to_owned(), "idle,cpu".to_owned()]);
            }
            run(&words)
        }
    }
}

/// Returns the line with another duration.
fn lasting(words: &[String], duration: &str) -> Vec<String> {
    let mut words = words.to_vec();
    let mut said = false;
    for at in 1..words.len() {
        if matches!(words[at - 1].as_str(), "--duration" | "-D") {
            (words[at], said) = (duration.to_owned(), true);
        }
        if words[at - 1] == "--time-limit" {
            words[at] = "400ms".to_owned();
        }
    }
    if !said {
        words.extend(["--duration".to_owned(), duration.to_owned()]);
    }
    words
}

/// Returns the line with cyclictest's option for the duration set to a second.
fn cyclictest(words: &[String]) -> Short {
    let mut words = words.to_vec();
    match words.iter().position(|word| word == "-D") {
        Some(at) if at + 1 < words.len() => words[at + 1] = "1".to_owned(),
        _ => match words.iter_mut().find(|word| word.starts_with("-l")) {
            Some(loops) => *loops = "-l1000".to_owned(),
            None => words.extend(["-D".to_owned(), "1".to_owned()]),
        },
    }
    run(&words)
}

/// Runs the line if the files that follow these options exist.
fn with_inputs(words: &[String], options: &[&str], place: &Path) -> Short {
    let of = |pair: &[String]| options.contains(&pair[0].as_str()).then(|| pair[1].clone());
    match words.windows(2).filter_map(of).find(|input| !place.join(input).exists()) {
        Some(input) => only(&format!("there is no `{input}` here")),
        None => run(words),
    }
}

/// Returns true if the baseline is not a number of runs.
fn named_baseline(words: &[String]) -> bool {
    words.windows(2).any(|pair| pair[0] == "--baseline" && pair[1].parse::<u32>().is_err())
}

/// Options without a value in commands that read recordings.
const FLAGS: [&str; 6] = ["--json", "--timeline", "--linuxcnc", "--fail-if-worse", "--cycle", "--all-rt"];

/// Runs the line if every operand that looks like a file exists.
fn with_operands(words: &[String], place: &Path) -> Short {
    let mut operand = true;
    for word in words.iter().skip(1).filter(|word| !matches!(word.as_str(), "add" | "gate")) {
        let is_option = word.starts_with('-');
        if operand && !is_option && !place.join(word).exists() {
            return only(&format!("there is no `{word}` here"));
        }
        operand = !is_option || FLAGS.contains(&word.as_str()) || word == "--vs" || word.contains('=');
    }
    run(words)
}
