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
        ("-D 1x -p 1", "-D needs"),
        ("-c 2 -p 1", "-c needs"),
        ("-p 100", "-p needs"),
        ("-p 5 extra", "extra"),
        ("-z", "unknown option -z"),
        ("--nonsense", "unknown option --nonsense"),
        ("--p 5", "is ambiguous"),
        ("-o 3 -p 1", "-v"),
        ("--policy batch -p 5", "omit -p"),
        ("--policy fifo", "need a priority"),
        ("--policy nice -p 5", "--policy needs"),
        ("-i 0 -p 5", "-i 0"),
        ("-h 0 -p 5", "-h needs"),
        ("-p", "-p"),
        ("-a x -p1", "x"),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(part), "{line}: {error}");
    }
    assert!(read("-q").unwrap().warnings[0].contains("no priority"));
    assert!(read("-n -p 1").unwrap().warnings[0].contains("-n has had no effect"));
    assert!(read("-h 10 -d 0 -p 1").unwrap().warnings[0].contains("-d is ignored"));
}

#[test]
fn aligned_needs_no_value() {
    for (line, offset) in
        [("-A -p 1", 0), ("-A 50 -p 1", 50), ("-A50 -p 1", 50), ("--aligned -p 1", 0), ("--aligned=50 -p1", 50)]
    {
        assert_eq!(read(line).unwrap().aligned, Some(Nanos::from_micros(offset)), "{line}");
    }
    assert_eq!(read("-p 1").unwrap().aligned, None);
    assert!(read("-A x -p 1").is_err() && read("-A !0 -p 1").is_err());
}

#[test]
fn lists_of_cpus_may_be_inverted_relative_or_all() {
    let list = |text: &str| Some(text.parse().unwrap());
    let named = |is_inverted, is_relative, list| Affinity::Named(CpuExpression { is_inverted, is_relative, list });
    for (line, wanted) in [
        ("-a !0 -p 1", named(true, false, list("0"))),
        ("-a!0,2 -p 1", named(true, false, list("0,2"))),
        ("-a +0-1 -p 1", named(false, true, list("0-1"))),
        ("-a !+0 -p 1", named(true, true, list("0"))),
        ("-a all -p 1", named(false, false, None)),
        ("-a 0 -p 1", Affinity::These("0".parse().unwrap())),
    ] {
        assert_eq!(read(line).unwrap().affinity, wanted, "{line}");
    }
    assert_eq!(read("-p 1 --mainaffinity=!0").unwrap().main_affinity, Some(named(true, false, list("0"))));
    for line in ["-a ! -p 1", "-a + -p 1", "-a !! -p 1", "-a !x -p 1"] {
        assert!(read(line).unwrap_err().contains("-a needs a list"), "{line}");
    }
}

#[test]
fn options_that_are_gone_say_what_to_write() {
    for letter in super::gone::LETTERS.chars() {
        let error = read(&format!("-{letter} -p 1")).unwrap_err();
        assert!(error.contains("removed in cyclictest 2.0: "), "-{letter}: {error}");
    }
    for (line, part) in [
        ("-f -p 1", "punctual explain --live"),
        ("-T wakeup -p 1", "trace-cmd"),
        ("--tracer=nop -p 1", "trace-cmd"),
        ("--irqsoff -p 1", "--tracemark"),
        ("--preempti -p 1", "--tracemark"),
        ("--notrace -p 1", "omit it"),
        ("-y rr -p 1", "--policy=NAME"),
        ("-e 5 -p 1", "--latency=USEC"),
        ("--numa -p 1", "-S"),
        ("-Q -p 1", "--priospread"),
    ] {
        let error = read(line).unwrap_err();
        assert!(error.contains(part), "{line}: {error}");
    }
    for line in ["-n -p 1", "--nanosleep -p 1"] {
        assert!(read(line).unwrap().warnings[0].contains("clock_nanosleep is the default"), "{line}");
    }
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
