//! Posts images over one HTTP connection.

use crate::clock::now;
use crate::error::BenchError;
use punctual_loads::{Purpose, Secret, introduce};
use punctual_units::{Histogram, Nanos};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum size of a response head, bytes.
const LONGEST_HEAD: usize = 8 << 10;
const ADVICE: &str =
    "check that `punctual serve --store DIR` is still running on the other machine, and check the cable";

pub(super) struct Client {
    stream: TcpStream,
    name: String,
}

pub(super) struct Sent {
    /// Time from the first byte sent to the last response, ns.
    pub elapsed_ns: u64,
    /// Distribution of the time from an image's first byte to its response.
    pub times: Histogram,
}

impl Client {
    pub fn connect(to: SocketAddr, name: &str, secret: Option<&Secret>) -> Result<Client, BenchError> {
        let failed = |e| BenchError::io("connect to", name, super::SERVER)(e);
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE).map_err(failed)?;
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        set.and_then(|()| stream.set_write_timeout(Some(PATIENCE))).map_err(failed)?;
        if secret.is_some() {
            introduce(&mut stream, Purpose::Store, secret, name).map_err(|e| BenchError::Refused(e.to_string()))?;
        }
        Ok(Client { stream, name: name.to_owned() })
    }

    /// Sends the image at least once, and again until `duration` has passed or `stop` is set.
    pub fn send(&mut self, image: &[u8], duration: Nanos, stop: &AtomicBool) -> Result<Sent, BenchError> {
        let (began, mut times) = (now(), Histogram::new());
        while times.is_empty() || (now() - began < duration.0 && !stop.load(Relaxed)) {
            let begin = now();
            self.post(image)?;
            times.record(now() - begin);
        }
        Ok(Sent { elapsed_ns: now() - began, times })
    }

    pub fn post(&mut self, image: &[u8]) -> Result<(), BenchError> {
        let head = format!(
            "POST /image HTTP/1.1\r\nHost: punctual\r\nContent-Type: image/x-portable-graymap\r\nContent-Length: {}\r\n\r\n",
            image.len()
        );
        let sent = self.stream.write_all(head.as_bytes()).and_then(|()| self.stream.write_all(image));
        // A server may refuse before it has read everything. Its response is more informative than the error of the
        // write.
        match (self.answer(), sent) {
            (Ok(201), Ok(())) => Ok(()),
            (Ok(status), _) => Err(BenchError::Refused(format!("{} answered {status}: {}", self.name, advice(status)))),
            (Err(e), Ok(())) | (Err(_), Err(e)) => {
                Err(BenchError::io("post an image to", &self.name, ADVICE)(named(e)))
            }
        }
    }

    fn answer(&mut self) -> io::Result<u16> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() > LONGEST_HEAD || self.stream.read(&mut byte)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            head.push(byte[0]);
        }
        status(&head).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "its answer is not HTTP/1.1"))
    }
}

/// Replaces EAGAIN, which a read or write returns after its time limit (SO_RCVTIMEO, socket(7)), by an error that
/// states the limit.
fn named(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let within = PATIENCE.as_secs();
            io::Error::new(io::ErrorKind::TimedOut, format!("no data was exchanged for {within} s"))
        }
        _ => error,
    }
}

/// Returns the status code in a line such as `HTTP/1.1 201 Created`.
fn status(head: &[u8]) -> Option<u16> {
    let rest = head.strip_prefix(b"HTTP/1.1 ").and_then(|rest| rest.get(..3))?;
    std::str::from_utf8(rest).ok()?.parse().ok()
}

fn advice(status: u16) -> &'static str {
    match status {
        401 => "it requires a secret: pass a copy of its secret file with --secret-file",
        413 => "its limit is smaller; send smaller images with --size, or raise --largest of that server",
        507 => "its disk is full; free some space on it, or choose another directory with --store",
        405 | 404 | 501 => "it is not a server started with `punctual serve --store DIR`",
        _ => "see the messages of the server on its terminal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_by_its_status() {
        assert_eq!(status(b"HTTP/1.1 201 Created\r\n\r\n"), Some(201));
        for bad in [&b""[..], b"HTTP/1.1 ", b"HTTP/1.1 2", b"HTTP/2 200", b"HTTP/1.1 abc"] {
            assert_eq!(status(bad), None);
        }
    }
}
