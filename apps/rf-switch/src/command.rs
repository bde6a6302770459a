//! Parses commands from the FIFO, byte by byte.
//!
//! `d21` switches house D, unit 2 on; `d20` switches it off. Letters may have either case; commands may follow each
//! other without a separator (`d21d20`) or stand on separate lines. Units of two digits need colons, `d:10:1` (any unit
//! may have them): without colons, `d101` would be unit 1 off, followed by a stray 1. Both forms end with their last
//! character, so that a command is executed without a newline. `@NS` and a space before a command give the time at
//! which its sender wrote it, in ns on CLOCK_MONOTONIC, from which the latency is measured.
//!
//! An invalid word is skipped up to the next space or newline: what follows invalid text without a space is likely to
//! be invalid, too, and must not switch lamps.

use crate::code::{Addresses, Code, House, Unit};
use punctual_units::Nanos;
use std::fmt;

/// Maximum number of bytes of a word that are kept: `@` and the longest time stamp.
const LONGEST: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    pub code: Code,
    /// Time at which the sender wrote the command, CLOCK_MONOTONIC; `None` if the command has no time stamp.
    pub stamp: Option<Nanos>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCommand {
    #[error(
        "`{0}` is not a command and is ignored up to the next space; write house, unit, 1 or 0: d21 (D, 2, on), d:10:0 (D, 10, off)"
    )]
    NotWritten(String),
    #[error(
        "`{0}`: the sockets have houses A to D and units 1 to 3; to use all 16 houses and units, start rf-switch with --all-addresses"
    )]
    NotAllowed(Code),
}

enum Word {
    More,
    Bad,
    Code(Code),
}

#[derive(Clone, Debug, Default)]
pub struct Decoder {
    addresses: Addresses,
    word: Vec<u8>,
    bad: bool,
    stamp: Option<Nanos>,
}

impl Decoder {
    pub fn new(addresses: Addresses) -> Decoder {
        Decoder { addresses, ..Decoder::default() }
    }

    /// Adds a byte. Returns `None` if the byte does not end a command. An invalid word is reported once.
    pub fn push(&mut self, byte: u8) -> Option<Result<Command, BadCommand>> {
        if byte.is_ascii_whitespace() {
            return self.blank();
        }
        if self.bad {
            return None;
        }
        self.word.push(byte);
        match parse(&self.word) {
            Word::More if self.word.len() < LONGEST => None,
            Word::More | Word::Bad => {
                self.bad = true;
                Some(Err(self.not_written()))
            }
            Word::Code(code) => {
                self.word.clear();
                let stamp = self.stamp.take();
                let allowed = self.addresses.allow(code);
                Some(if allowed { Ok(Command { code, stamp }) } else { Err(BadCommand::NotAllowed(code)) })
            }
        }
    }

    fn blank(&mut self) -> Option<Result<Command, BadCommand>> {
        let reported = std::mem::take(&mut self.bad) || self.word.is_empty();
        let stamp = stamp(&self.word);
        let error = (!reported && stamp.is_none()).then(|| Err(self.not_written()));
        if !reported {
            self.stamp = stamp;
        }
        self.word.clear();
        error
    }

    fn not_written(&self) -> BadCommand {
        BadCommand::NotWritten(String::from_utf8_lossy(&self.word).escape_debug().collect())
    }

    /// Discards the incomplete word and returns its length; these bytes must be pushed again. Returns 0 for an invalid
    /// word.
    pub fn hold_back(&mut self) -> usize {
        if self.bad {
            return 0;
        }
        let held = self.word.len();
        self.word.clear();
        held
    }

    /// Returns the kept part of an invalid word. Pushed into a new decoder, it makes that decoder skip to the next
    /// space, too.
    pub fn rest(&self) -> &[u8] {
        if self.bad { &self.word } else { &[] }
    }
}

fn parse(word: &[u8]) -> Word {
    let code = |house: u8, unit: u8, on: u8| match (House::of_letter(house), Unit::of_number(unit)) {
        (Some(house), Some(unit)) => Word::Code(Code { house, unit, on: on == b'1' }),
        _ => Word::Bad,
    };
    match word {
        [b'@'] => Word::More,
        [b'@', rest @ ..] => {
            if rest.iter().all(u8::is_ascii_digit) {
                Word::More
            } else {
                Word::Bad
            }
        }
        [house, ..] if House::of_letter(*house).is_none() => Word::Bad,
        [_] | [_, b':'] | [_, b'1'..=b'9'] => Word::More,
        [house, unit @ b'1'..=b'9', on @ b'0'..=b'1'] => code(*house, unit - b'0', *on),
        [_, b':', b'1'..=b'9'] | [_, b':', b'1'..=b'9', b':'] => Word::More,
        [house, b':', unit @ b'1'..=b'9', b':', on @ b'0'..=b'1'] => code(*house, unit - b'0', *on),
        [_, b':', b'1', b'0'..=b'6'] | [_, b':', b'1', b'0'..=b'6', b':'] => Word::More,
        [house, b':', b'1', unit @ b'0'..=b'6', b':', on @ b'0'..=b'1'] => code(*house, 10 + unit - b'0', *on),
        _ => Word::Bad,
    }
}

fn stamp(word: &[u8]) -> Option<Nanos> {
    let digits = std::str::from_utf8(word.strip_prefix(b"@")?).ok()?;
    digits.parse().ok().map(Nanos)
}

/// Formats the command as a user types it, with its time stamp if it has one.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stamp) = self.stamp {
            write!(f, "@{} ", stamp.0)?;
        }
        write!(f, "{}", self.code)
    }
}

/// Parses a complete text. A word that is incomplete at its end is invalid, too.
pub fn read_all(text: &str, addresses: Addresses) -> Vec<Result<Command, BadCommand>> {
    let mut decoder = Decoder::new(addresses);
    text.bytes().chain([b'\n']).filter_map(|byte| decoder.push(byte)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(text: &str, addresses: Addresses) -> Vec<String> {
        let line = |one: Result<Command, BadCommand>| match one {
            Ok(command) => command.to_string(),
            Err(BadCommand::NotWritten(word)) => format!("bad {word}"),
            Err(BadCommand::NotAllowed(code)) => format!("not {code}"),
        };
        read_all(text, addresses).into_iter().map(line).collect()
    }

    #[test]
    fn commands_run_together_or_stand_on_lines_in_either_case() {
        assert_eq!(said("d21d20\nA11  B:3:0\r\n\n", Addresses::Usual), ["d21", "d20", "a11", "b30"]);
        assert_eq!(said("p:16:1e:10:0d91", Addresses::All), ["p:16:1", "e:10:0", "d91"]);
        assert_eq!(said("@120 d21 d20 @7\nc30", Addresses::Usual), ["@120 d21", "d20", "@7 c30"]);
    }

    #[test]
    fn rubbish_switches_nothing_up_to_the_next_blank() {
        assert_eq!(said("xyzd21 d20", Addresses::Usual), ["bad x", "d20"]);
        assert_eq!(
            said("d2\nd22d21 d01 d:0:1 d:17:1 q11", Addresses::Usual),
            ["bad d2", "bad d22", "bad d0", "bad d:0", "bad d:17", "bad q"]
        );
        assert_eq!(said("@x1 d21 @99999999999999999999999 d20", Addresses::Usual)[..2], ["bad @x", "d21"]);
        assert_eq!(said("\u{e5} \0", Addresses::Usual), ["bad \u{fffd}", "bad \\0"]);
    }

    #[test]
    fn an_address_the_sockets_do_not_have_is_reported_with_what_to_type() {
        assert_eq!(said("e11d41d21", Addresses::Usual), ["not e11", "not d41", "d21"]);
        let error = BadCommand::NotAllowed(Addresses::All.codes().last().unwrap()).to_string();
        assert!(error.contains("`p:16:0`") && error.contains("--all-addresses"), "{error}");
    }

    proptest! {
        #[test]
        fn every_code_is_read_as_it_is_written(picks in proptest::collection::vec((0usize..512, any::<bool>()), 0..20)) {
            let codes: Vec<Code> = Addresses::All.codes().collect();
            let text: String = picks.iter().map(|(n, blank)| format!("{}{}", codes[*n], if *blank { " " } else { "" })).collect();
            let read: Vec<Code> = read_all(&text, Addresses::All).into_iter().map(|one| one.unwrap().code).collect();
            prop_assert_eq!(read, picks.iter().map(|(n, _)| codes[*n]).collect::<Vec<_>>());
        }

        /// Wherever a restart splits the bytes, the commands are the same.
        #[test]
        fn a_restart_in_a_word_changes_nothing(bytes in proptest::collection::vec(prop_oneof![Just(b'd'), Just(b'2'), Just(b'1'), Just(b' '), any::<u8>()], 0..60), cut in 0usize..60) {
            let cut = cut.min(bytes.len());
            let mut whole = Decoder::new(Addresses::All);
            let expected: Vec<_> = bytes.iter().filter_map(|b| whole.push(*b)?.ok()).collect();
            let mut first = Decoder::new(Addresses::All);
            let mut got: Vec<_> = bytes[..cut].iter().filter_map(|b| first.push(*b)?.ok()).collect();
            let held = first.hold_back();
            prop_assert!(held < LONGEST);
            let mut second = Decoder::new(Addresses::All);
            prop_assert!(first.rest().iter().all(|b| second.push(*b).is_none_or(|one| one.is_err())));
            got.extend(bytes[cut - held..].iter().filter_map(|b| second.push(*b)?.ok()));
            // Only a time stamp before the split is lost.
            let codes = |all: &[Command]| all.iter().map(|one| one.code).collect::<Vec<_>>();
            prop_assert_eq!(codes(&got), codes(&expected));
        }
    }
}
