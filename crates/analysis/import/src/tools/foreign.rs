//! Tests that readers do not accept lines of another tool's results.

use super::{Line, Reader, Taken, pairs, perf_sched, performance_test, rteval, signaltest, sysjitter};
use crate::Options;
use std::path::{Path, PathBuf};

fn readers() -> Vec<(&'static str, Box<dyn Reader>)> {
    let options = Options::default();
    vec![
        ("pmqtest", Box::new(pairs::Reader::new(&options))),
        ("signaltest.txt", Box::new(signaltest::Reader::new(&options))),
        ("perf-sched", Box::new(perf_sched::Reader::new(&options))),
        ("sysjitter", Box::new(sysjitter::Reader::new(&options))),
        ("performance_test.csv", Box::new(performance_test::Reader::new(&options))),
        ("rteval-3.txt", Box::new(rteval::report::Reader::new(&options))),
    ]
}

fn files() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let of = |dir: PathBuf| std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    of(fixtures.clone()).chain(of(fixtures.join("tools"))).filter(|path| path.is_file()).collect()
}

#[test]
fn no_line_of_another_tool_is_taken() {
    let mut own = 0;
    for path in files() {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        for (of, mut reader) in readers() {
            let mut before = None;
            let mut taken = 0;
            for (number, line) in (1..).zip(text.lines()) {
                let text = line.trim_end();
                match reader.line(&Line { text, number, before }) {
                    Taken::No => before = Some(text.trim()).filter(|t| !t.is_empty()).or(before),
                    _ => taken += 1,
                }
            }
            assert!(taken == 0 || name.starts_with(of), "{of} takes {taken} lines of {name}");
            assert_eq!(reader.finish(&Options::default()).is_some(), taken > 0, "{of} of {name}");
            own += usize::from(taken > 0);
        }
    }
    assert!(own >= readers().len());
}
