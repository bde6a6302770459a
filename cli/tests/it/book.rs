//! Runs those lines of the book that can run in a test, and checks the links.
//!
//! src/book tests that every line can be parsed. Here each page gets a directory with the files that its lines mention,
//! and its lines run there in order, with shorter durations. `cargo test -p punctual --test it book -- --nocapture`
//! lists the lines that do not run, with the reason.

use crate::common;
mod containers;
mod exit_codes;
mod links;
mod short;
mod tutorial;

use common::{answer, punctual};
use punctual_testing::book::{self, Line};
use short::Short;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// Result of running a line.
enum Became {
    /// The exit code, which is a valid answer, and the duration in milliseconds.
    Ran(i32, u128),
    /// The line was only parsed, for this reason.
    Parsed(String),
    /// The line ended with an exit code that is not a valid answer.
    Failed(String),
}

/// Minimum number of lines that must run, in case the rules skip too many.
const MIN: usize = 60;

#[test]
#[ignore = "live: timing"]
fn lines_of_the_book_run_where_they_can_run_here() {
    let mut pages: BTreeMap<String, Vec<Line>> = BTreeMap::new();
    book::all().into_iter().filter(|line| !line.inline).for_each(|line| {
        pages.entry(line.page.clone()).or_default().push(line);
    });
    let sample = tempfile::tempdir().unwrap();
    let run = sample.path().join("run");
    let made = punctual().args(["measure", "--duration", "300ms", "--quiet", "--out"]).arg(&run).status().unwrap();
    assert!(run.join("run.json").exists(), "no run to show: {made}");
    let became = of_pages(&pages, &run);
    let ran = became.iter().filter(|(_, became)| matches!(became, Became::Ran(..))).count();
    println!("{} lines: {ran} run, the others parsed only (src/book)", became.len());
    let failed: Vec<&String> = became
        .iter()
        .filter_map(|(_, became)| if let Became::Failed(why) = became { Some(why) } else { None })
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(ran >= MIN, "only {ran} lines were run");
}

/// Number of pages that run in parallel: they mostly wait.
const AT_ONCE: usize = 3;

fn of_pages(pages: &BTreeMap<String, Vec<Line>>, run: &Path) -> Vec<(String, Became)> {
    let mut open: Vec<&Vec<Line>> = pages.values().collect();
    // Threads take pages from the end, so the page with the most lines runs first.
    open.sort_by_key(|lines| lines.len());
    let open = Mutex::new(open);
    let became = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(lines) = { open.lock().unwrap().pop() } {
                    let of_page = of_page(lines, run);
                    became.lock().unwrap().extend(of_page);
                }
            });
        }
    });
    let mut became = became.into_inner().unwrap();
    became.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (line, became) in &became {
        match became {
            Became::Ran(code, ms) => println!("run, {code}:      {line} ({ms} ms)"),
            Became::Parsed(why) => println!("parsed only: {line}\n             {why}"),
            Became::Failed(_) => {}
        }
    }
    became
}

fn of_page(lines: &[Line], run: &Path) -> Vec<(String, Became)> {
    let place = tempfile::tempdir().unwrap();
    furnish(place.path(), run);
    lines.iter().map(|line| (line.shown(), of_line(line, place.path()))).collect()
}

fn of_line(line: &Line, place: &Path) -> Became {
    let words = match short::short(&line.words, place) {
        Short::Run(words) => words,
        Short::ParseOnly(why) => return Became::Parsed(why),
    };
    let mut command = punctual();
    command.args(&words).current_dir(place).env("PUNCTUAL_HISTORY", place.join("history.db"));
    let begun = std::time::Instant::now();
    let (code, _, err) = answer(command.stdin(std::process::Stdio::null()).output().unwrap());
    match code {
        4 => Became::Parsed(format!("refused here: {}", err.lines().next().unwrap_or_default())),
        0 | 1 | 3 if code == 0 || judges(&words[0]) => Became::Ran(code, begun.elapsed().as_millis()),
        _ => Became::Failed(format!("{}\n  as {words:?}: {code}\n{err}", line.shown())),
    }
}

/// Returns true if exit codes 1 and 3 of this command are valid answers, too.
fn judges(command: &str) -> bool {
    !matches!(command, "report" | "import" | "snapshot" | "undo" | "sched" | "completions" | "man")
}

/// Creates the files that the lines of the pages mention.
fn furnish(place: &Path, run: &Path) {
    let fixtures = |name: &str| punctual_testing::root().join("crates").join(name);
    for (from, to) in [
        ("analysis/import/tests/fixtures/histogram_rtkernel_4.19.59-rt23-v7l+.csv", "histogram.csv"),
        ("analysis/import/tests/fixtures/histogram_rtkernel_4.19.59-rt23-v7l+.csv", "rt.csv"),
        ("analysis/import/tests/fixtures/histogram_stdkernel_4.19.57-v7l+.csv", "std.csv"),
        ("analysis/import/tests/fixtures/ct-hist-stdout.txt", "output.txt"),
        ("analysis/trace/tests/fixtures/g612.small.dat", "trace.dat"),
    ] {
        fs::copy(fixtures(from), place.join(to)).unwrap();
    }
    for name in ["RUN", "A", "B", "RUN-A", "RUN-B", "punctual-runs/first", "punctual-runs/second"] {
        copy(run, &place.join(name));
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}
