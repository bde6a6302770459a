//! Decodes keys from the bytes that a terminal in raw mode sends.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// q, Ctrl-C, Ctrl-\: end the run.
    End,
    /// p, space: pause or resume the display.
    Pause,
    /// m: mark this instant.
    Mark,
    /// n: start the next load.
    Next,
    /// ?, h: show or hide the help.
    Help,
    /// Ctrl-L: redraw everything.
    Redraw,
}

/// Decoder that skips escape sequences (arrows, function keys, pasted text, reports), even if they arrive in pieces, so
/// that none of their letters counts as a key.
#[derive(Default)]
pub(crate) struct Keys {
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Plain,
    /// An ESC was read.
    Escape,
    /// Within ESC [ …, before the final byte.
    Csi,
    /// After ESC O, before the single byte that completes the sequence.
    Ss3,
}

impl Keys {
    /// Returns the key that `byte` completes; `None` if it completes none.
    pub fn take(&mut self, byte: u8) -> Option<Key> {
        let was = std::mem::take(&mut self.state);
        match (was, byte) {
            (_, 0x03 | 0x1c) => return Some(Key::End),
            (_, 0x1b) => self.state = State::Escape,
            (State::Escape, b'[') => self.state = State::Csi,
            (State::Escape, b'O') => self.state = State::Ss3,
            (State::Csi, 0x20..=0x3f) => self.state = State::Csi,
            (State::Csi | State::Ss3, _) => {}
            (State::Plain | State::Escape, _) => return key(byte),
        }
        None
    }
}

fn key(byte: u8) -> Option<Key> {
    Some(match byte {
        b'q' | b'Q' => Key::End,
        b'p' | b'P' | b' ' => Key::Pause,
        b'm' | b'M' => Key::Mark,
        b'n' | b'N' => Key::Next,
        b'?' | b'h' | b'H' => Key::Help,
        0x0c => Key::Redraw,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Vec<Key> {
        let mut keys = Keys::default();
        bytes.iter().filter_map(|&b| keys.take(b)).collect()
    }

    #[test]
    fn letters_are_keys_and_sequences_are_not() {
        assert_eq!(of(b"p m?\x0c"), [Key::Pause, Key::Pause, Key::Mark, Key::Help, Key::Redraw]);
        assert_eq!(of(b"\x1b[A\x1b[1;5n\x1bOqn"), [Key::Next]);
        // Alt-q, and Ctrl-C within an incomplete escape sequence.
        assert_eq!(of(b"\x1bq\x1b[1\x03"), [Key::End, Key::End]);
        assert!(of(b"xyz\xc3\xbc\x00").is_empty());
    }
}
