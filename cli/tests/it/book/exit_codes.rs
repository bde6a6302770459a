//! Checks that every exit code that a page or a command's help states has the meaning that it has in the program.

use punctual_testing::{book, root};
use std::fs;

/// Returns the codes and meanings in a sentence such as `Exit codes: 0 pass, 1 a claim fails, …, 128+n ended by signal
/// n.`
fn codes(text: &str) -> Vec<(String, String)> {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for part in flat.split("Exit codes").skip(1) {
        let Some((_, list)) = part.split_once(": ").filter(|(of, _)| of.len() < 20) else { continue };
        let list = list.split(". ").next().unwrap_or_default();
        for one in list.split(", ") {
            let (code, what) = one.trim().split_once(' ').unwrap_or((one, ""));
            let is_code = code == "128+n" || code.len() == 1 && code.chars().all(|c| c.is_ascii_digit());
            if is_code {
                found.push((code.to_owned(), what.trim_end_matches('.').to_owned()));
            }
        }
    }
    found
}

/// For each code, words of which every description of the code must contain one (cli/src/exit.rs).
const MEANINGS: [(&str, &[&str]); 6] = [
    ("0", &["pass", "nothing fails", "right", "compared", "as before", "accounted for"]),
    ("1", &["fail", "wrong count", "worse", "something does", "changed by another program", "not"]),
    ("2", &["usage", "comparable", "command line"]),
    ("3", &["inconclusive", "not judged", "undecided", "did not run"]),
    ("4", &["refused", "(machine)", "could not be restored"]),
    ("128+n", &["signal"]),
];

#[test]
fn stated_exit_codes_are_those_of_the_program() {
    let (mut stated, mut wrong) = (0, Vec::new());
    for page in book::pages() {
        let text = fs::read_to_string(&page).unwrap();
        let name = page.strip_prefix(root()).unwrap().display().to_string();
        for (code, what) in codes(&text) {
            stated += 1;
            let words = MEANINGS.iter().find(|(known, _)| *known == code).map_or(&[][..], |(_, words)| words);
            if !what.is_empty() && !words.iter().any(|word| what.contains(word)) {
                wrong.push(format!("{name}: {code} {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(stated >= 30, "only {stated} codes were found");
}
