use super::*;
use crate::options::{Asked, parse as options_of};
use std::ffi::OsString;

const EXAMPLE: &str = include_str!("../../examples/rotary-dial.toml");

fn options(words: &[&str]) -> Options {
    match options_of(std::iter::once(&"rotary-dial").chain(words).map(OsString::from)) {
        Ok(Asked::Run(options)) => *options,
        other => panic!("{other:?}"),
    }
}

fn read(text: &str, words: &[&str]) -> Result<Config, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dial.toml");
    std::fs::write(&path, text).unwrap();
    Config::of(&Options { config: Some(path), ..options(words) })
}

#[test]
fn the_example_is_read_and_options_win() {
    let config = read(EXAMPLE, &["--priority", "70", "--line", "attic=sim"]).unwrap();
    let names: Vec<&str> = config.lines.iter().map(|line| line.name.as_str()).collect();
    assert_eq!(names, ["hall", "cellar", "attic"]);
    assert_eq!((config.priority.get(), config.cpu, config.pipe.as_str()), (70, Some(CpuId(3)), PIPE));
    let [hall, cellar, attic] = &config.lines[..] else { panic!() };
    assert_eq!((hall.map, hall.pull, hall.active_low), (DigitMap::Usual, Pull::Up, true));
    assert_eq!((cellar.map, cellar.active_low), (DigitMap::Sweden, false));
    assert_eq!(cellar.book.entries()[0].to_string(), "110=a10");
    assert_eq!(attic.book, hall.book);
}

#[test]
fn without_a_file_the_defaults_are_the_papers() {
    let config = Config::of(&options(&["--simulate", "421"])).unwrap();
    assert_eq!((config.priority.get(), config.pause, config.pipe.as_str()), (60, PAUSE, PIPE));
    assert_eq!((config.lines.len(), &config.lines[0].place), (1, &Place::Simulated));
    assert_eq!(config.lines[0].book, Book::default());
}

#[test]
fn what_cannot_be_meant_is_said_with_the_file() {
    for (text, word) in [
        ("[[line]]\nat = \":\"\n", "gpiochip0:17"),
        ("[[line]]\nat = \"sim\"\nmap = \"danish\"\n", "danish"),
        ("[[line]]\nat = \"sim\"\ncolour = 3\n", "colour"),
        ("priority = 100\n[[line]]\nat = \"sim\"\n", "out of range"),
        ("number_timeout = \"4\"\n[[line]]\nat = \"sim\"\n", "no unit"),
        ("number_timeout = \"10m\"\n[[line]]\nat = \"sim\"\n", "1s to 60s"),
        ("[numbers]\nx = \"d21\"\n[[line]]\nat = \"sim\"\n", "not a number"),
        ("[[line]]\nname = \"a\"\nat = \"sim\"\n[[line]]\nname = \"a\"\nat = \"sim\"\n", "two lines"),
        ("[[line]]\nat = \"/sys/devices/x/pull\"\n", "--play-on"),
        ("", "--line"),
        ("line = [", "line"),
    ] {
        let error = read(text, &[]).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("dial.toml") && said.contains(word) && error.exit_code() == 2, "{text}: {said}");
    }
    let absent = Config::of(&options(&["--config", "/nonexistent/dial.toml"])).unwrap_err().to_string();
    assert!(absent.contains("/nonexistent/dial.toml") && absent.contains("ls -l"), "{absent}");
}
