//! The protocol of `punctual serve`.
//!
//! Over TCP, the client sends the line `PUNCTUAL-LOAD/1 hello` (or `store`, to post images), and the server answers
//! `PUNCTUAL-LOAD/1 ok TOKEN` or `PUNCTUAL-LOAD/1 busy`. A server with a secret first sends `PUNCTUAL-LOAD/1 challenge
//! NONCE` and expects `PUNCTUAL-LOAD/1 response HMAC`; to any other response it sends `PUNCTUAL-LOAD/1 refused`. The
//! client then sends HTTP requests, or frames: a header of eight bytes (operation, three zeros, length as 32 bits
//! big-endian) and that many bytes. The server returns [`ECHO`] frames unchanged, and only the header of [`SINK`]
//! frames.
//!
//! Over UDP (same port number), the server returns datagrams that begin with the token of an open session unchanged to
//! their sender. It drops all others, so that it neither answers strangers nor amplifies traffic.

use crate::{LoadError, Secret};
use std::io::{self, Read, Write};
use std::time::Duration;

pub(crate) const HELLO: &str = "PUNCTUAL-LOAD/1 hello\n";
/// First line that a client sends in order to post images.
pub(crate) const STORE: &str = "PUNCTUAL-LOAD/1 store\n";
pub(crate) const REFUSED: &str = "PUNCTUAL-LOAD/1 refused\n";
pub(crate) const BUSY: &str = "PUNCTUAL-LOAD/1 busy\n";
const OK: &str = "PUNCTUAL-LOAD/1 ok ";
const CHALLENGE: &str = "PUNCTUAL-LOAD/1 challenge ";
const RESPONSE: &str = "PUNCTUAL-LOAD/1 response ";
const PROTOCOL: &str = "PUNCTUAL-LOAD/";

const LINE: usize = 128;

/// Length of a token, bytes.
pub(crate) const TOKEN: usize = 16;
pub(crate) type Token = [u8; TOKEN];

/// Operation code of a frame that is returned unchanged.
pub(crate) const ECHO: u8 = b'E';
/// Operation code of a frame of which only the header is returned.
pub(crate) const SINK: u8 = b'S';
pub(crate) const LONGEST: usize = 1 << 20;
/// Maximum number of bytes per read and write.
pub(crate) const CHUNK: usize = 64 << 10;

pub(crate) const HEADER: usize = 8;

pub(crate) fn header(operation: u8, length: usize) -> [u8; HEADER] {
    let [a, b, c, d] = (length as u32).to_be_bytes();
    [operation, 0, 0, 0, a, b, c, d]
}

/// Returns operation and length of a frame; `None` if the header is invalid.
pub(crate) fn parse_header(header: [u8; HEADER]) -> Option<(u8, usize)> {
    let [operation, 0, 0, 0, a, b, c, d] = header else { return None };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    ((operation == ECHO || operation == SINK) && length <= LONGEST).then_some((operation, length))
}

/// Returns a random token that cannot be guessed.
pub(crate) fn new_token() -> io::Result<Token> {
    let mut token = Token::default();
    rustix::rand::getrandom(&mut token[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(token)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The client sends traffic frames.
    Load,
    /// The client posts images to be stored.
    Store,
}

/// A stream whose reads and writes can have a time limit.
pub trait Connection: Read + Write {
    /// Limits the total time of all later reads and writes. After that time they fail with `TimedOut`.
    fn limit(&mut self, most: Duration);
}

/// Performs the client's part of the handshake, including the proof that it knows the secret if the server asks for it.
/// `peer` is used in messages.
///
/// # Errors
/// The connection failed, or the server refused the client. The message says what to do.
pub fn introduce(
    stream: &mut (impl Read + Write),
    purpose: Purpose,
    secret: Option<&Secret>,
    peer: &str,
) -> Result<(), LoadError> {
    greet(stream, purpose, secret, peer).map(drop)
}

pub(crate) fn greet(
    stream: &mut (impl Read + Write),
    purpose: Purpose,
    secret: Option<&Secret>,
    peer: &str,
) -> Result<Token, LoadError> {
    let silent = |e: io::Error| {
        LoadError::Refused(format!(
            "{peer} does not answer ({e}): run `punctual serve` there, and let its TCP and UDP port through its firewall"
        ))
    };
    let hello = if purpose == Purpose::Load { HELLO } else { STORE };
    // A peer that hangs up during the handshake may have answered before. Its answer is more informative than the
    // error.
    let greeted = stream.write_all(hello.as_bytes());
    let mut answer = greeted.and_then(|()| read_line(stream)).map_err(silent)?;
    if let Some(challenge) = token_after(CHALLENGE, &answer) {
        let Some(secret) = secret else {
            return Err(LoadError::Refused(format!("{peer} requires a secret: name its file with --secret-file FILE")));
        };
        let response = format!("{RESPONSE}{}\n", secret.answer(&challenge));
        answer = stream.write_all(response.as_bytes()).and_then(|()| read_line(stream)).map_err(silent)?;
    }
    parse_answer(&answer, peer)
}

/// Sends a challenge, and fails unless the client proves that it knows the secret.
pub(crate) fn ask(stream: &mut (impl Read + Write), secret: &Secret) -> io::Result<()> {
    let challenge = new_token()?;
    stream.write_all(line(CHALLENGE, &challenge).as_bytes())?;
    let answer = read_line(stream)?;
    let given = answer.strip_prefix(RESPONSE).and_then(|rest| bytes_of(rest.strip_suffix('\n')?));
    if given.is_some_and(|given| secret.is_answer(&challenge, &given)) {
        return Ok(());
    }
    let _ = stream.write_all(REFUSED.as_bytes());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "it did not prove that it knows the secret"))
}

pub(crate) fn ok_line(token: &Token) -> String {
    line(OK, token)
}

fn line(prefix: &str, token: &Token) -> String {
    let hex: String = token.iter().map(|b| format!("{b:02x}")).collect();
    format!("{prefix}{hex}\n")
}

/// Decodes pairs of hexadecimal digits; `None` for anything else.
pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits = hex.bytes().all(|b| b.is_ascii_hexdigit()) && hex.len().is_multiple_of(2);
    let two = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok();
    digits.then(|| hex.as_bytes().chunks(2).map(two).collect()).flatten()
}

fn token_after(prefix: &str, line: &str) -> Option<Token> {
    bytes_of(line.strip_prefix(prefix)?.strip_suffix('\n')?)?.try_into().ok()
}

pub(crate) fn parse_answer(line: &str, peer: &str) -> Result<Token, LoadError> {
    let refuse = |why: String| Err(LoadError::Refused(why));
    if line == BUSY {
        return refuse(format!("{peer} already serves the maximum number of clients: wait, or use another server"));
    }
    if line == REFUSED {
        return refuse(format!(
            "{peer} has a different secret: copy its file to this machine, and name it with --secret-file"
        ));
    }
    if !(line.starts_with(OK) && line.ends_with('\n')) {
        return match line.starts_with(PROTOCOL) {
            true => refuse(format!("{peer} runs another version of punctual: use the same on both machines")),
            false => refuse(format!("{peer} answers, but is not `punctual serve`: start that there, or name its port")),
        };
    }
    match token_after(OK, line) {
        Some(token) => Ok(token),
        None => refuse(format!("{peer} sent an invalid token: use the same version of punctual on both machines")),
    }
}

/// Reads a line of the handshake with its newline. A line that is too long is truncated.
pub(crate) fn read_line(stream: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LINE && line.last() != Some(&b'\n') {
        if stream.read(&mut byte)? == 0 {
            break;
        }
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Answers one client's frames until it hangs up or takes longer than `most` for a frame.
pub(crate) fn serve_frames(stream: &mut impl Connection, most: Duration, mut count: impl FnMut(u64)) -> io::Result<()> {
    let mut buffer = vec![0u8; CHUNK];
    loop {
        stream.limit(most);
        let mut head = [0; HEADER];
        stream.read_exact(&mut head)?;
        let (operation, length) = parse_header(head).ok_or(io::ErrorKind::InvalidData)?;
        if operation == ECHO {
            stream.write_all(&head)?;
        }
        let mut left = length;
        while left > 0 {
            let part = &mut buffer[..left.min(CHUNK)];
            stream.read_exact(part)?;
            if operation == ECHO {
                stream.write_all(part)?;
            }
            left -= part.len();
        }
        if operation == SINK {
            stream.write_all(&head)?;
        }
        count((HEADER + length) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn answers_are_distinguished() {
        let token = new_token().unwrap();
        assert_eq!(parse_answer(&ok_line(&token), "h:1").unwrap(), token);
        for (line, word) in [
            (BUSY, "maximum number of clients"),
            ("PUNCTUAL-LOAD/2 ok 00\n", "another version"),
            ("SSH-2.0-OpenSSH\n", "not `punctual serve`"),
            ("", "not `punctual serve`"),
            ("PUNCTUAL-LOAD/1 ok 0011\n", "invalid token"),
            (REFUSED, "a different secret"),
        ] {
            let text = parse_answer(line, "h:1").unwrap_err().to_string();
            assert!(text.contains(word) && text.contains("h:1"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_answer_is_answered(text in "\\PC*", header: [u8; HEADER]) {
            let _ = parse_answer(&text, "h:1");
            let _ = parse_answer(&format!("{OK}{text}\n"), "h:1");
            let _ = parse_header(header);
        }

        #[test]
        fn headers_survive(length in 0usize..=LONGEST) {
            prop_assert_eq!(parse_header(header(SINK, length)), Some((SINK, length)));
            prop_assert_eq!(parse_header(header(ECHO, LONGEST + 1 + length)), None);
        }
    }
}
