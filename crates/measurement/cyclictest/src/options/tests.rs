use super::*;
use proptest::prelude::*;
use std::ffi::OsString;

fn read(line: &str) -> Result<Options, String> {
    let words: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
    match parse(&words) {
        Ok(Asked::Run(options)) => Ok(*options),
        Ok(Asked::Help) => Err("help".into()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn the_seeds_command_lines_are_read() {
    let options = read("-l50000000 -m -S -p90 -i200 -h400 -q").unwrap();
    assert_eq!((options.loops, options.priority, options.histogram), (Some(50_000_000), Some(90), Some(400)));
    assert!(options.mlockall && options.smp && options.quiet && options.warnings.is_empty());
    assert_eq!(options.interval, Nanos::from_micros(200));
    let options = read("-a 3-5,0 -t 5 -p 80 --mainaffinity=1 -D 10m --json=x.json").unwrap();
    assert_eq!((options.threads, options.duration), (Some(5), Some(Nanos::from_secs(600))));
    assert_eq!(options.affinity, Affinity::These("0,3-5".parse().unwrap()));
}

#[test]
fn values_may_be_glued_spaced_or_left_out() {
    for (line, affinity, threads) in [
        ("-a2 -t3 -p1", Affinity::These("2".parse().unwrap()), Some(3)),
        ("-a 2 -t 3 -p1", Affinity::These("2".parse().unwrap()), Some(3)),
        ("-a -t -p1", Affinity::All, Some(0)),
        ("--affinity=2 --threads=3 -p1", Affinity::These("2".parse().unwrap()), Some(3)),
        ("--affinity --threads -p1", Affinity::All, Some(0)),
        ("-p1", Affinity::None, None),
    ] {
        let options = read(line).unwrap();
        assert_eq!((options.affinity, options.threads), (affinity, threads), "{line}");
    }
    assert_eq!(read("--int 300 -p 1").unwrap().interval, Nanos::from_micros(300));
    assert_eq!(read("--secaligned -p 1").unwrap().secaligned, Some(Nanos::ZERO));
    assert_eq!(read("--secaligned 50 -p 1").unwrap().secaligned, Some(Nanos::from_micros(50)));
}

#[test]
fn every_trap_is_an_error_or_a_warning() {
    for (line, part) in [
        ("-smp -p 80", "-S"),
        ("-D 1x -p 1", "-D wants"),
        ("-c 2 -p 1", "-c wants"),
        ("-p 100", "-p wants"),
        ("-p 5 extra", "extra"),
        ("-z", "no option -z"),
        ("--nonsense", "no option --nonsense"),
        ("--p 5", "may be"),
        ("-o 3 -p 1", "-v"),
        ("--policy batch -p 5", "leave -p out"),
        ("--policy fifo", "need a priority"),
        ("--policy nice -p 5", "--policy wants"),
        ("-i 0 -p 5", "-i 0"),
        ("-h 0 -p 5", "-h wants"),
        ("-p", "-p"),
        ("-a x -p1", "x"),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(part), "{line}: {error}");
    }
    assert!(read("-q").unwrap().warnings[0].contains("no priority"));
    assert!(read("-n -p 1").unwrap().warnings[0].contains("-n does nothing"));
    assert!(read("-h 10 -d 0 -p 1").unwrap().warnings[0].contains("-d is ignored"));
}

#[test]
fn every_option_of_the_help_is_known() {
    let help = crate::HELP;
    let words = help.split(|c: char| c.is_whitespace() || c == '=' || c == '[');
    let long: Vec<&str> = words.filter_map(|word| word.strip_prefix("--")).filter(|word| !word.is_empty()).collect();
    assert!(long.len() > 40);
    for name in long {
        assert!(super::reading::is_known(name), "--{name}");
    }
}

proptest! {
    #[test]
    fn any_words_are_answered(words in proptest::collection::vec("(-[a-zA-Z]{1,3}|--[a-z_]{1,12}|[0-9a-z,-]{1,5})", 0..8)) {
        let words: Vec<OsString> = words.into_iter().map(Into::into).collect();
        let _ = parse(&words);
    }
}
