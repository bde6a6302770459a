//! `cargo trials without`: compares what `prove --app` says that a thread's longest response would be without one of
//! the threads or interrupts that delayed it with a run in which that one does not exist.

mod cases;

use crate::guests;
use cases::Case;
use punctual_model::{AppCounterfactual, Application};
use punctual_vm::{Arch, Clock, Guest, Machine, shift_of_mips};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LOAD: &str = include_str!("load.c");
/// Number of cases in one guest.
const IN_GUEST: usize = 5;
/// Minimum share of the intervals that must contain the longest response of the true run, and maximum share of the cases
/// without an interval.
const COVERED: f64 = 0.8;
const REFUSED: f64 = 1.0 / 3.0;

/// Measure programs with and without a thread or interrupt that delays them, in guests in virtual time, and compare what
/// `prove --app` says about the one without (docs/app.md)
///
/// Build first: cargo build --release -p punctual. Needs cc and a static C library
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Number of cases
    #[arg(long, value_name = "N", default_value_t = 30)]
    cases: usize,
    /// Seed of the cases
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Only the cases with these numbers
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    only: Vec<usize>,
    /// Time to measure each program
    #[arg(long, value_name = "TIME", default_value = "4s")]
    duration: String,
    #[arg(long, value_name = "FILE", default_value_os_t = xtask::punctual())]
    punctual: PathBuf,
    /// Folder for the program and the results
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir().join("punctual-without"))]
    out: PathBuf,
    /// Run nothing; score the results in the folder again
    #[arg(long)]
    score: bool,
}

pub fn run(wanted: &Wanted) -> Result<(), String> {
    let numbers = if wanted.only.is_empty() { (0..wanted.cases).collect() } else { wanted.only.clone() };
    let cases: Vec<Case> = numbers.into_iter().map(|number| Case::new(wanted.seed, number)).collect();
    let mut groups: Vec<Vec<&Case>> = Vec::new();
    for case in &cases {
        match groups.last_mut().filter(|group| group.len() < IN_GUEST && group[0].kernel == case.kernel) {
            Some(group) => group.push(case),
            None => groups.push(vec![case]),
        }
    }
    if !wanted.score {
        let program = built(&wanted.out)?;
        for group in &groups {
            measured(wanted, &program, group)?;
        }
    }
    println!("{:<4} {:<9} {:>10} {:>24} {:>10}", "case", "kind", "with µs", "without: predicted µs", "true µs");
    let scored: Vec<Score> = cases.iter().map(|case| score(case, &wanted.out)).collect();
    let count = |of: Score| scored.iter().filter(|score| **score == of).count();
    let (covered, refused) = (count(Score::Covered), count(Score::Refused));
    println!("{covered} of {} true runs are within the interval, {refused} without an interval", cases.len());
    let (wrong, all) = (count(Score::Wrong), cases.len());
    let is_met = covered as f64 >= COVERED * (all - refused) as f64 && refused as f64 <= REFUSED * all as f64;
    is_met.then_some(()).ok_or_else(|| format!("{wrong} intervals are wrong, and {refused} of {all} cases have none"))
}

fn built(out: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
    let (source, program) = (out.join("load.c"), out.join("load"));
    fs::write(&source, LOAD).map_err(|e| format!("{}: {e}", source.display()))?;
    let mut cc = Command::new("cc");
    let built = cc.args(["-O2", "-static", "-pthread", "-o"]).arg(&program).arg(&source).arg("-lm").status();
    built.ok().filter(|status| status.success()).map(|_| program).ok_or_else(|| "cc failed".into())
}

/// Runs the cases in a guest. Their results are in files with their names.
fn measured(wanted: &Wanted, program: &Path, group: &[&Case]) -> Result<(), String> {
    let (kernel, cache) = guests::kernel(group[0].kernel, Arch::Amd64)?;
    let script: String = group.iter().flat_map(|case| [true, false].map(|has| lines(case, has, wanted))).collect();
    let mut guest = Guest::new(Machine::Pc, kernel, format!("mkdir /results /var/tmp; {script}"));
    guest.clock = Clock::Virtual { shift: shift_of_mips(500.0).map_err(|e| e.to_string())? };
    guest.memory_mib = 1024;
    guest.limit = Duration::from_secs(1800);
    guest.files = vec![guests::program(program, "/bin/load")?, guests::program(&wanted.punctual, "/bin/punctual")?];
    guest.fetch.push("/results".into());
    let place = wanted.out.join(format!("guest-{}", group[0].name()));
    guest.log = Some(place.with_extension("console"));
    guests::try_boot(&guest, &cache, &place)?;
    for result in fs::read_dir(place.join("results")).map_err(|e| e.to_string())?.flatten() {
        fs::rename(result.path(), wanted.out.join(result.file_name())).map_err(|e| e.to_string())?;
    }
    fs::remove_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))
}

/// Returns the lines of the script that measure a case.
fn lines(case: &Case, has_culprit: bool, wanted: &Wanted) -> String {
    let (app, beside) = case.programs(has_culprit);
    let result = format!("/results/{}", file(case, has_culprit));
    let (begin, end) = match beside {
        Some(beside) => (
            format!("load {beside} & beside=$!; sleep 1; "),
            format!("kill $beside || echo 'the culprit ended' >> {result}.err; wait $beside; "),
        ),
        None => (String::new(), String::new()),
    };
    format!(
        "{begin}punctual prove --json --quiet --load idle --duration {} --app '/bin/load {app}' --thread victim \
         --claim 'response(victim) < 10s' --out /tmp/run > {result}.json 2> {result}.err; {end}rm -rf /tmp/run; \
         echo {result}\n",
        wanted.duration
    )
}

fn file(case: &Case, has_culprit: bool) -> String {
    format!("{}-{}", case.name(), if has_culprit { "with" } else { "without" })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Score {
    Covered,
    Refused,
    Wrong,
}

/// Prints a line about the case.
fn score(case: &Case, out: &Path) -> Score {
    let line = |with: String, predicted: String, truth: String| {
        println!("{:<4} {:<9} {with:>10} {predicted:>24} {truth:>10}", case.name(), format!("{:?}", case.kind));
    };
    match (read(case, true, out), read(case, false, out)) {
        (Ok((seen, all)), Ok((truth, _))) => {
            let own = all.iter().filter(|one| one.thread == "victim" && one.without.starts_with(case.culprit()));
            let one = own.min_by_key(|one| one.why_not.is_some());
            let (score, predicted) = predicted(one, truth);
            let mark = if score == Score::Wrong { " WRONG" } else { "" };
            line(us(seen), predicted, format!("{}{mark}", us(truth)));
            score
        }
        (Err(why), _) | (_, Err(why)) => {
            line(String::new(), why, String::new());
            Score::Wrong
        }
    }
}

fn predicted(one: Option<&AppCounterfactual>, truth: u64) -> (Score, String) {
    let limits = one.and_then(|one| Some((one.response_ns?.0, one.low_ns?.0, one.high_ns?.0)));
    match (one, limits) {
        (_, Some((response, low, high))) => {
            let score = if (low..=high).contains(&truth) { Score::Covered } else { Score::Wrong };
            (score, format!("{} [{}, {}]", us(response), us(low), us(high)))
        }
        (Some(one), None) => (Score::Refused, one.why_not.clone().unwrap_or_default()),
        (None, None) => (Score::Refused, "not reported".into()),
    }
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

/// Returns the victim's longest response, ns, and what the run says about others.
fn read(case: &Case, has_culprit: bool, out: &Path) -> Result<(u64, Vec<AppCounterfactual>), String> {
    let path = out.join(file(case, has_culprit));
    let said = fs::read_to_string(path.with_extension("err")).unwrap_or_default();
    let error = |why: &str| format!("{}: {why}: {}", path.display(), said.trim());
    let text = fs::read(path.with_extension("json")).map_err(|e| error(&e.to_string()))?;
    let mut document: Value = serde_json::from_slice(&text).map_err(|e| error(&e.to_string()))?;
    let application: Application = part(document["result"]["application"].take()).map_err(|e| error(&e))?;
    let all: Option<_> = part(document["result"]["verdict"]["counterfactuals"].take()).map_err(|e| error(&e))?;
    let own = application.cycles.iter().filter(|cycles| cycles.thread == "victim");
    let longest = own.filter_map(|cycles| cycles.longest_ns.first()).max().ok_or_else(|| error("no cycle"))?;
    Ok((*longest, all.unwrap_or_default()))
}

fn part<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Class;
    use punctual_units::Nanos;

    #[test]
    fn a_true_run_is_within_the_interval_or_not() {
        let mut one = AppCounterfactual {
            thread: "victim".into(),
            without: "hog".into(),
            class: Class::HigherPriority,
            cycles: 9,
            seen_ns: Nanos(900_000),
            response_ns: Some(Nanos(300_000)),
            low_ns: Some(Nanos(250_000)),
            high_ns: Some(Nanos(350_000)),
            why_not: None,
        };
        assert_eq!(predicted(Some(&one), 250_000), (Score::Covered, "300.0 [250.0, 350.0]".into()));
        assert_eq!(predicted(Some(&one), 350_001).0, Score::Wrong);
        assert_eq!(predicted(Some(&one), 249_999).0, Score::Wrong);
        assert_eq!(predicted(None, 1), (Score::Refused, "not reported".into()));
        one = AppCounterfactual { high_ns: None, why_not: Some("there are too few cycles".into()), ..one };
        assert_eq!(predicted(Some(&one), 1), (Score::Refused, "there are too few cycles".into()));
    }
}
