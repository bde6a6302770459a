//! Converts bytes to frames and frames to bytes.

use std::fmt;

/// Result of parsing the start of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed<T> {
    /// A frame, and the number of bytes it occupies in the input.
    Frame(T, usize),
    /// This many bytes are not a frame and cannot become one.
    Malformed(usize),
    /// More input is needed.
    More,
}

/// A value sent through a pipe. Both functions run in the bridge, an ordinary thread, and may allocate.
///
/// ```
/// use punctual_rt::{Frame, Parsed};
/// /// `d21` = house D, unit 2, on; also run together: `d21d20`.
/// struct Switch { house: u8, unit: u8, on: bool }
/// impl Frame for Switch {
///     fn parse(input: &[u8]) -> Parsed<Switch> {
///         let blanks = input.iter().take_while(|b| b.is_ascii_whitespace()).count();
///         match &input[blanks..] {
///             [house @ b'a'..=b'p', unit @ b'0'..=b'9', on @ b'0'..=b'1', ..] => {
///                 Parsed::Frame(Switch { house: house - b'a', unit: unit - b'0', on: *on == b'1' }, blanks + 3)
///             }
///             [b'a'..=b'p'] | [b'a'..=b'p', b'0'..=b'9'] | [] => Parsed::More,
///             _ => Parsed::Malformed(blanks + 1),
///         }
///     }
///     fn write(&self, output: &mut Vec<u8>) {
///         output.extend([b'a' + self.house, b'0' + self.unit, b'0' + u8::from(self.on), b'\n']);
///     }
/// }
/// assert!(matches!(Switch::parse(b"d21d20"), Parsed::Frame(Switch { house: 3, unit: 2, on: true }, 3)));
/// ```
pub trait Frame: Sized + Send + 'static {
    /// Parses the start of `input`.
    fn parse(input: &[u8]) -> Parsed<Self>;
    /// Appends the frame's bytes to `output`.
    fn write(&self, output: &mut Vec<u8>);
}

const LONGEST: usize = 62;

/// A line of up to 62 bytes, without its newline and without heap memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Line {
    bytes: [u8; LONGEST],
    length: u8,
}

impl Line {
    /// Creates a line. Returns `None` if `text` is longer than 62 bytes or has more than one line. Does not allocate.
    pub fn new(text: impl AsRef<[u8]>) -> Option<Line> {
        let text = text.as_ref();
        let mut bytes = [0; LONGEST];
        bytes.get_mut(..text.len())?.copy_from_slice(text);
        (!text.contains(&b'\n')).then_some(Line { bytes, length: text.len() as u8 })
    }

    /// Returns the bytes of the line.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length.into()]
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(self.as_bytes()))
    }
}

impl Frame for Line {
    fn parse(input: &[u8]) -> Parsed<Line> {
        match input.iter().position(|b| *b == b'\n') {
            Some(end) => {
                Line::new(&input[..end]).map_or(Parsed::Malformed(end + 1), |line| Parsed::Frame(line, end + 1))
            }
            None => Parsed::More,
        }
    }

    fn write(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(self.as_bytes());
        output.push(b'\n');
    }
}

/// Maximum number of bytes of input that are kept while they do not form a frame.
pub(super) const MAX_INPUT: usize = 4096;

/// Splits input into frames.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    input: Vec<u8>,
    pub(super) malformed: u64,
}

impl Decoder {
    /// Returns the number of bytes that can still be added.
    pub(super) fn room(&self) -> usize {
        MAX_INPUT - self.input.len()
    }

    /// Adds input, which must not be longer than [`Decoder::room`].
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
    }

    /// Returns the next frame, or `None` if more input is needed. Malformed input is skipped and counted, and so is
    /// input that reaches the limit without forming a frame.
    pub(super) fn next<T: Frame>(&mut self) -> Option<T> {
        let mut at = 0;
        let frame = loop {
            match T::parse(&self.input[at..]) {
                Parsed::Frame(frame, used) if used > 0 => {
                    at = at.saturating_add(used).min(self.input.len());
                    break Some(frame);
                }
                // If the parser consumes nothing, skips one byte, or this would loop forever.
                Parsed::Frame(_, used) | Parsed::Malformed(used) if at < self.input.len() => {
                    at = at.saturating_add(used.max(1)).min(self.input.len());
                    self.malformed += 1;
                }
                _ => break None,
            }
        };
        self.input.drain(..at);
        if frame.is_none() && self.input.len() >= MAX_INPUT {
            self.input.clear();
            self.malformed += 1;
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two digits without a separator.
    #[derive(Debug, PartialEq)]
    struct Pair(u8, u8);

    impl Frame for Pair {
        fn parse(input: &[u8]) -> Parsed<Pair> {
            match input {
                [a @ b'0'..=b'9', b @ b'0'..=b'9', ..] => Parsed::Frame(Pair(*a, *b), 2),
                [] | [b'0'..=b'9'] => Parsed::More,
                [b'0'..=b'9', ..] => Parsed::Malformed(2),
                _ => Parsed::Malformed(1),
            }
        }
        fn write(&self, output: &mut Vec<u8>) {
            output.extend([self.0, self.1]);
        }
    }

    fn decode<T: Frame>(pieces: &[&[u8]]) -> (Vec<T>, u64) {
        let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
        for piece in pieces.iter().flat_map(|p| p.chunks(MAX_INPUT / 2)) {
            assert!(decoder.room() >= piece.len());
            decoder.feed(piece);
            frames.extend(std::iter::from_fn(|| decoder.next::<T>()));
        }
        (frames, decoder.malformed)
    }

    #[test]
    fn a_line_too_long_is_malformed_and_the_next_one_is_read() {
        let long = [vec![b'x'; 63], b"\nd21\n".to_vec()].concat();
        assert_eq!(decode::<Line>(&[&long]), (vec![Line::new("d21").unwrap()], 1));
        let endless = vec![b'x'; MAX_INPUT];
        assert_eq!(
            decode::<Line>(&[&endless, b"\nd21\n"]),
            (vec![Line::new("").unwrap(), Line::new("d21").unwrap()], 1)
        );
    }

    #[test]
    fn a_codec_that_takes_nothing_ends() {
        struct Nothing;
        impl Frame for Nothing {
            fn parse(_: &[u8]) -> Parsed<Nothing> {
                Parsed::Frame(Nothing, 0)
            }
            fn write(&self, _: &mut Vec<u8>) {}
        }
        assert_eq!(decode::<Nothing>(&[b"abc"]).1, 3);
    }

    proptest! {
        /// However the input is split, the frames are the same, and every byte is part of a frame, malformed, or still
        /// waiting.
        #[test]
        fn the_cuts_do_not_matter(bytes in proptest::collection::vec(prop_oneof![Just(b'4'), Just(b'2'), any::<u8>()], 0..200),
                                  cuts in proptest::collection::vec(1usize..9, 0..80)) {
            let whole = decode::<Pair>(&[&bytes]);
            let (mut pieces, mut rest) = (Vec::new(), &bytes[..]);
            for cut in cuts {
                let (piece, more) = rest.split_at(cut.min(rest.len()));
                pieces.push(piece);
                rest = more;
            }
            pieces.push(rest);
            prop_assert_eq!(decode::<Pair>(&pieces), whole);
        }

        /// Lines that were written are parsed back unchanged.
        #[test]
        fn lines_read_back(texts in proptest::collection::vec("[ -~]{0,62}", 0..20)) {
            let lines: Vec<Line> = texts.iter().filter_map(Line::new).collect();
            prop_assert_eq!(lines.len(), texts.len());
            let mut bytes = Vec::new();
            lines.iter().for_each(|line| line.write(&mut bytes));
            prop_assert_eq!(decode::<Line>(&[&bytes]), (lines, 0));
        }
    }
}
