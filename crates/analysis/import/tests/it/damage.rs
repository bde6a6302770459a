//! Truncated files, duplicated and dropped lines, and joined files are reported if the format reveals it, and never
//! yield a better result.

use crate::common;

use common::{max_ns, path, problems, total};
use proptest::prelude::*;
use punctual_import::{Options, read, recording};
use punctual_model::Recording;

/// Output with a total and a footer. (Output of 2.10 has no total, so that a missing row is visible only in its
/// extremes and its mean.)
const WITH_A_TOTAL: [&str; 4] = ["ct-hist-stdout.txt", "ct-histfile-overflow.txt", "ct-2.4.json", "ct-2.10.json"];
/// Output without a total.
const OTHERS: [&str; 8] = [
    "ct-hist-2.10.txt",
    "ct-break.txt",
    "ct-nohist.txt",
    "ct-verbose.txt",
    "reported/equals-live.txt",
    "reported/two-runs-live.txt",
    "reported/summary-only.txt",
    "jd-stdout.txt",
];

fn text(name: &str) -> String {
    String::from_utf8_lossy(&std::fs::read(path(name)).unwrap()).into_owned()
}

fn of(text: &str) -> Option<Recording> {
    read("damaged.txt", text.as_bytes(), &Options::default()).ok().map(|read| recording(vec![read]))
}

fn figures(run: &Recording) -> (u64, u64) {
    (total(run), max_ns(run))
}

/// Checks that no data is lost, or that the loss is reported.
fn honest(text: &str, whole: &Recording) -> Result<(), String> {
    let Some(run) = of(text) else { return Ok(()) };
    let same =
        run.run.phases.iter().flat_map(|p| &p.cpus).any(|c| c.max_ns.is_some()) && figures(&run) == figures(whole);
    if same || !problems(&run).is_empty() {
        return Ok(());
    }
    Err(format!(
        "{:?} samples, {:?} instead of {:?}",
        run.run.phases.len(),
        run.run.phases.first().map(|_| total(&run)),
        total(whole)
    ))
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[test]
fn a_line_dropped_or_doubled_is_reported() {
    for name in WITH_A_TOTAL {
        let text = text(name);
        let whole = of(&text).unwrap();
        let lines = lines(&text);
        for at in 0..lines.len() {
            let dropped = [&lines[..at], &lines[at + 1..]].concat().concat();
            honest(&dropped, &whole).unwrap_or_else(|e| panic!("{name} without line {}: {e}: {}", at + 1, lines[at]));
            let doubled = [&lines[..=at], &lines[at..]].concat().concat();
            honest(&doubled, &whole)
                .unwrap_or_else(|e| panic!("{name} with line {} twice: {e}: {}", at + 1, lines[at]));
        }
    }
}

#[test]
fn a_text_cut_anywhere_is_reported() {
    for name in WITH_A_TOTAL {
        let text = text(name);
        let whole = of(&text).unwrap();
        let cuts = (1..text.len()).step_by(1 + text.len() / 700);
        for at in cuts.filter(|at| text.is_char_boundary(*at)) {
            honest(&text[..at], &whole)
                .unwrap_or_else(|e| panic!("{name} cut at byte {at}: {e}: {:?}", &text[at.saturating_sub(60)..at]));
        }
    }
}

/// Two files one after the other yield two runs, or a problem.
#[test]
fn files_joined_are_several_runs() {
    let all: Vec<(&str, String)> = WITH_A_TOTAL.into_iter().chain(OTHERS).map(|name| (name, text(name))).collect();
    for (first, one) in &all {
        for (second, other) in &all {
            let (a, b) = (of(one).unwrap(), of(other).unwrap());
            let joined = of(&format!("{one}\n{other}")).unwrap();
            // A screen that is drawn twice is one run.
            let redrawn = first == second && figures(&joined) == figures(&a);
            let honest =
                redrawn || total(&joined) == total(&a) + total(&b) && max_ns(&joined) == max_ns(&a).max(max_ns(&b));
            assert!(
                honest || !problems(&joined).is_empty(),
                "{first} and {second}: {} of {} + {}",
                total(&joined),
                total(&a),
                total(&b)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Lines of a sample in any order, partial and joined, are read or refused, and stated values are kept.
    #[test]
    fn any_mixture_is_read_or_refused(picks in proptest::collection::vec((0usize..12, any::<prop::sample::Index>(), 1usize..40), 1..6)) {
        let names: Vec<&str> = WITH_A_TOTAL.into_iter().chain(OTHERS).collect();
        let mut mixed = String::new();
        for (name, at, n) in picks {
            let text = text(names[name]);
            let lines = lines(&text);
            let at = at.index(lines.len());
            lines[at..(at + n).min(lines.len())].iter().for_each(|line| mixed.push_str(line));
        }
        if let Some(run) = of(&mixed) {
            for cpu in run.run.phases.iter().flat_map(|p| &p.cpus) {
                prop_assert!(cpu.min_ns <= cpu.max_ns);
            }
        }
    }
}
