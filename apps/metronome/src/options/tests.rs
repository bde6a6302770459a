use super::*;
use proptest::prelude::*;

fn parsed(words: &[&str]) -> Result<Asked, UsageError> {
    parse(std::iter::once(&"metronome").chain(words).map(OsString::from))
}

fn options(words: &[&str]) -> Options {
    match parsed(words) {
        Ok(Asked::Run(options)) => *options,
        other => panic!("{other:?}"),
    }
}

fn names(options: &Options) -> Vec<String> {
    options.loads.iter().map(LoadSpec::to_string).collect()
}

#[test]
fn the_defaults_are_the_papers() {
    let read = options(&["--line", "sim"]);
    assert_eq!(read.periods, [Nanos::from_micros(360), Nanos::from_millis(35)]);
    assert_eq!(read.scheduling, [Scheduling::Fifo { priority: 99.try_into().unwrap() }]);
    assert_eq!(names(&read), ["idle", "cpu", "loopback"]);
    assert_eq!(names(&options(&["--line", "sim", "--peer", "other"])), ["idle", "cpu", "network"]);
}

#[test]
fn options_are_read() {
    let read = options(&["--line=GPIO20", "--listen", "gpiochip0:21", "--period", "1ms", "--period=2ms", "--compare"]);
    assert_eq!((read.line, read.listen.is_some()), (Place::Named("GPIO20".into()), true));
    assert_eq!((read.periods.len(), read.scheduling.len()), (2, 2));
    let read =
        options(&["--line", "sim", "--policy", "ordinary", "--compare", "-D", "5s", "--loads", "cpu,io", "--cpu=1"]);
    assert_eq!(read.scheduling, [Scheduling::Other { nice: 0 }]);
    assert_eq!((read.duration, read.cpu, names(&read).len()), (Nanos::from_secs(5), Some(CpuId(1)), 2));
    assert_eq!(parsed(&["--help", "--no-such"]), Ok(Asked::Help));
}

#[test]
fn what_cannot_be_meant_is_refused_with_help() {
    for bad in [
        &[][..],
        &["--line"],
        &["--line", ":"],
        &["--line", "sim", "--listen", "gpiochip0:1"],
        &["--line", "gpiochip0:1", "--listen", "gpiochip0:1"],
        &["--line", "sim", "--period", "1us"],
        &["--line", "sim", "--period", "360us", "--period", "360us"],
        &["--line", "sim", "--policy", "deadline"],
        &["--line", "sim", "--policy", "other", "--priority", "5"],
        &["--line", "sim", "--priority", "100"],
        &["--line", "sim", "--loads", "cpu,cpu"],
        &["--line", "sim", "--loads", "dohell"],
        &["--line", "sim", "--duration", "1ms"],
        &["--line", "sim", "--duration", "30"],
        &["sim"],
    ] {
        let error = parsed(bad).unwrap_err().to_string();
        assert!(error.contains("metronome --help"), "{error}");
    }
}

proptest! {
    #[test]
    fn any_words_are_answered(words in proptest::collection::vec("--[a-z]{2,9}|[ -~]{0,12}", 0..6)) {
        let _ = parse(words.into_iter().map(OsString::from));
    }
}
