//! Problems that `check` reports for contributed files, with their lines.

use punctual_references::{LARGEST, check, read};

const GOOD: &str = r#"key = "some-board"
name = "Some Board"
soc = "SoC"
core = "Cortex-A53"
cpus = 4
soc_source = "torvalds/linux, arch/x.dtsi"
models = ["Some Board"]
plans = ["arm64-board"]

[[note]]
about = "trap"
text = "It traps."
source = "Somebody, a page"
url = "https://example.org/page"

[[published]]
flavour = "preempt_rt"
quantity = "wakeup"
approximate = false
kernel = "6.12.1-rt1"
preempt = "PREEMPT_RT"
tuning = "isolcpus=3"
settings = ["cpu-governor: fail"]
load = "idle"
tool = "cyclictest"
options = "-m -p90"
duration_s = 60
samples = 60_000
interval_us = 1000
threads = 4
worst_us = 93
mean_us = 12.5
min_us = 3.0
quantiles = [{ p = 0.5, us = 12.0 }, { p = 0.99, us = 40.0 }]
episodes = [{ above_us = 50.0, count = 3 }]
temperature_c = 61.5
date = "2026-11-26"
source = "Somebody, a page"
url = "owner/repository, data/file.csv"
read = "file"
quote = "Max: 93"
note = "more"
"#;

/// Returns the lines of errors, and their texts.
fn errors(text: &str) -> Vec<(usize, String)> {
    check(text).into_iter().filter(|p| p.is_error).map(|p| (p.line, p.what)).collect()
}

fn line_of(words: &str) -> usize {
    1 + GOOD.lines().position(|line| line.starts_with(words)).unwrap()
}

#[test]
fn a_file_with_every_field_is_good() {
    assert_eq!(check(GOOD), []);
    assert_eq!(read(GOOD).unwrap().published.len(), 1);
}

/// Every required field is reported if it is missing, and every field if it has the wrong type, with its line.
#[test]
fn each_field_is_checked() {
    let required = ["key", "name", "about", "text", "source", "url", "flavour", "worst_us", "read"];
    for (n, line) in GOOD.lines().enumerate() {
        let Some((name, _)) = line.split_once(" = ") else { continue };
        let without: String =
            GOOD.lines().enumerate().filter(|(at, _)| *at != n).map(|(_, l)| format!("{l}\n")).collect();
        let missing = errors(&without).iter().any(|(_, what)| what.starts_with(&format!("`{name}` is missing: ")));
        assert_eq!(missing, required.contains(&name), "{name}: {:?}", errors(&without));
        let other: String = GOOD
            .lines()
            .enumerate()
            .map(|(at, l)| if at == n { format!("{name} = 1979-05-27\n") } else { format!("{l}\n") })
            .collect();
        let wrong = errors(&other);
        assert!(wrong.iter().any(|(at, what)| *at == n + 1 && what.contains(name)), "{name}: {wrong:?}");
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let text = GOOD
        .replace("flavour = \"preempt_rt\"", "flavor = \"preempt_rt\"")
        .replace("worst_us = 93", "worst_us = 0.093");
    let found = errors(&text);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].0 == line_of("[[published]]") && found[0].1.contains("`flavour` is missing"), "{found:?}");
    assert!(
        found[1].1.contains("`flavor` is not a known field") && found[2].1.contains("0.093 is not within"),
        "{found:?}"
    );
}

#[test]
fn values_that_contradict_each_other_are_reported() {
    for (from, to, words) in [
        ("mean_us = 12.5", "mean_us = 120.5", "`mean_us` is above"),
        ("min_us = 3.0", "min_us = 30.0", "`min_us` is above"),
        ("us = 40.0", "us = 400.0", "`quantiles`"),
        ("p = 0.99", "p = 0.4", "`quantiles`"),
        ("samples = 60_000", "samples = 90_000", "more `samples`"),
        ("url = \"owner/repository, data/file.csv\"", "", "`url` is missing"),
        ("url = \"owner", "url = \"own er", "an address is expected"),
        ("date = \"2026-11-26\"", "date = \"26.11.2026\"", "`date`"),
        ("worst_us = 93", "worst_us = nan", "a number is expected"),
        ("samples = 60_000", "samples = -1", "a whole number"),
        ("quote = \"Max: 93\"", "quote = \"\\u001b[2J\"", "control characters"),
        ("quote = \"Max: 93\"", "quote = \" \"", "it is empty"),
        ("key = \"some-board\"", "key = \"Some board\"", "lower case"),
        ("read = \"file\"", "read = \"memory\"", "is not one of text, table"),
    ] {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD, "{from}");
        let found = errors(&text);
        assert!(found.len() == 1 && found[0].1.contains(words), "{to}: {found:?}");
        assert!(read(&text).is_err());
    }
    let (head, entry) = GOOD.split_once("[[published]]").unwrap();
    let twice = errors(&format!("{head}[[published]]{entry}\n[[published]]{entry}"));
    assert!(matches!(twice.as_slice(), [(_, what)] if what.contains("duplicate")), "{twice:?}");
}

/// A contributor's own measurement has no address yet. Missing information is reported as a remark.
#[test]
fn what_is_not_stated_is_a_remark() {
    let least = "key = \"b\"\nname = \"B\"\n[[published]]\nflavour = \"stock\"\nworst_us = 10\nsource = \"me\"\nread = \"own\"\n";
    let found = check(least);
    assert!(found.len() == 5 && found.iter().all(|p| !p.is_error && p.line == 3), "{found:?}");
    assert!(read(least).is_ok());
}

#[test]
fn other_texts_are_refused_with_their_line() {
    assert_eq!(errors("key = \"a\"\nname = ")[0].0, 2);
    assert!(errors("").iter().any(|(_, what)| what.contains("`published` is missing")));
    assert!(errors("published = []\n").iter().any(|(_, what)| what.contains("it is empty")));
    assert!(errors("published = [1]\n").iter().any(|(_, what)| what.contains("not a table")));
    assert!(errors(&"#".repeat(LARGEST + 1))[0].1.contains("larger than"));
}
