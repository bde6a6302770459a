//! The client side of network traffic: round trips, bulk transfers and datagrams to a [`Server`](crate::Server).

use crate::beat::Beat;
use crate::board::now;
use crate::message::Unit;
use crate::wire::{self, CHUNK, ECHO, HEADER, Purpose, SINK, TOKEN, Token};
use crate::{LoadError, Secret};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

const ANSWER: Duration = Duration::from_secs(3);
/// Time after which a datagram counts as lost.
const DATAGRAM: Duration = Duration::from_millis(100);

/// Index of TCP round trips among the units that [`drive`] counts; the constants below are the indices of the other
/// units.
pub(crate) const ROUND_TRIPS: usize = 0;
pub(crate) const DATAGRAMS: usize = 1;

pub(crate) fn units() -> Vec<Unit> {
    vec![
        Unit::each("TCP round trips"),
        Unit::each("UDP round trips"),
        Unit::bytes("sent and received"),
        Unit::each("UDP lost"),
    ]
}

pub(crate) struct Session {
    tcp: TcpStream,
    udp: UdpSocket,
    token: Token,
    peer: String,
    sequence: u64,
    buffer: Vec<u8>,
}

impl Session {
    /// Connects and performs the handshake. `peer` is used in messages.
    pub fn open(address: SocketAddr, peer: &str, secret: Option<&Secret>) -> Result<Session, LoadError> {
        let unreachable = |e: std::io::Error| {
            let remedy = match e.kind() {
                std::io::ErrorKind::NetworkUnreachable if address.ip().is_loopback() => {
                    "the loopback interface is down: `ip link set lo up`".to_owned()
                }
                std::io::ErrorKind::NetworkUnreachable => "there is no route to it: see `ip route`".to_owned(),
                _ => format!(
                    "run `punctual serve` there, and let TCP and UDP port {} through its firewall",
                    address.port()
                ),
            };
            LoadError::Refused(format!("{peer} does not answer ({address}: {e}): {remedy}"))
        };
        let failed = |call| LoadError::on(call, peer);
        let mut tcp = TcpStream::connect_timeout(&address, ANSWER).map_err(unreachable)?;
        tcp.set_nodelay(true).map_err(failed("setsockopt"))?;
        tcp.set_read_timeout(Some(ANSWER)).map_err(failed("setsockopt"))?;
        tcp.set_write_timeout(Some(ANSWER)).map_err(failed("setsockopt"))?;
        let token = wire::greet(&mut tcp, Purpose::Load, secret, peer)?;
        let local = tcp.local_addr().map_err(failed("getsockname"))?;
        let udp = UdpSocket::bind(SocketAddr::new(local.ip(), 0)).map_err(failed("bind"))?;
        udp.connect(address).map_err(failed("connect"))?;
        udp.set_read_timeout(Some(DATAGRAM)).map_err(failed("setsockopt"))?;
        Ok(Session { tcp, udp, token, peer: peer.into(), sequence: 0, buffer: vec![0; CHUNK] })
    }

    /// Sends bytes and waits for their echo. Use it only for short data, since both ends write before they read.
    pub fn echo(&mut self, bytes: &[u8]) -> Result<(), LoadError> {
        if bytes.len() > CHUNK / 4 {
            return Err(LoadError::Refused("too long for an echo".into()));
        }
        let mut frame = wire::header(ECHO, bytes.len()).to_vec();
        frame.extend(bytes);
        let back = &mut self.buffer[..frame.len()];
        let done = self.tcp.write_all(&frame).and_then(|()| self.tcp.read_exact(back));
        match done {
            Ok(()) if *back == *frame => Ok(()),
            Ok(()) => Err(LoadError::Refused(format!("{} did not return the bytes that were sent", self.peer))),
            Err(e) => Err(self.lost(e)),
        }
    }

    /// Sends `length` bytes and waits for the acknowledgement.
    pub fn sink(&mut self, length: usize) -> Result<(), LoadError> {
        let head = wire::header(SINK, length);
        let mut back = [0; HEADER];
        let mut send = || {
            self.tcp.write_all(&head)?;
            let mut left = length;
            while left > 0 {
                let part = left.min(CHUNK);
                self.tcp.write_all(&self.buffer[..part])?;
                left -= part;
            }
            self.tcp.read_exact(&mut back)
        };
        send().map_err(|e| self.lost(e))
    }

    /// Sends a datagram of `length` bytes. Returns true if its echo arrives in time.
    pub fn datagram(&mut self, length: usize) -> Result<bool, LoadError> {
        let length = length.clamp(TOKEN + 8, CHUNK);
        self.sequence += 1;
        let sequence = self.sequence.to_be_bytes();
        self.buffer[..TOKEN].copy_from_slice(&self.token);
        self.buffer[TOKEN..TOKEN + 8].copy_from_slice(&sequence);
        if let Err(error) = self.udp.send(&self.buffer[..length]) {
            return lost_datagram(error).map_err(|e| LoadError::system("send", &self.peer, e));
        }
        let mut back = [0u8; 2048];
        loop {
            match self.udp.recv(&mut back) {
                Ok(n) if n > TOKEN + 8 - 1 && back[TOKEN..TOKEN + 8] == sequence => return Ok(true),
                // The echo of an earlier datagram, which arrived late, is ignored.
                Ok(_) => {}
                Err(error) => return lost_datagram(error).map_err(|e| LoadError::system("recv", &self.peer, e)),
            }
        }
    }

    fn lost(&self, error: std::io::Error) -> LoadError {
        LoadError::Refused(format!(
            "{} has stopped answering ({error}): check that `punctual serve` is still running on the other machine, and check the cable",
            self.peer
        ))
    }
}

/// Returns true if the error means that the datagram was lost on the network; other errors are returned.
fn lost_datagram(error: std::io::Error) -> Result<bool, std::io::Error> {
    use std::io::ErrorKind::{
        ConnectionRefused, HostUnreachable, Interrupted, NetworkUnreachable, TimedOut, WouldBlock,
    };
    match error.kind() {
        WouldBlock | TimedOut | ConnectionRefused | HostUnreachable | NetworkUnreachable | Interrupted => Ok(false),
        _ if error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => Ok(false),
        _ => Err(error),
    }
}

/// Limits the rate in bytes per second. After a pause it does not exceed the rate in order to catch up.
pub(crate) struct Pace {
    bytes_per_s: f64,
    /// Earliest time at which the bytes sent so far do not exceed the rate, ns.
    until: u64,
}

impl Pace {
    pub fn new(bytes_per_s: u64) -> Pace {
        Pace { bytes_per_s: bytes_per_s.max(1) as f64, until: now() }
    }

    /// Returns the pause required after sending `bytes` at `now`.
    fn pause(&mut self, bytes: u64, now: u64) -> Duration {
        self.until = self.until.max(now) + (bytes as f64 / self.bytes_per_s * 1e9) as u64;
        Duration::from_nanos(self.until - now)
    }
}

const BYTES: usize = 2;
const LOST: usize = 3;

/// Number of bytes sent in a round trip. Datagrams have this size, or a size that almost fills an Ethernet frame and
/// still fits into it inside any tunnel.
const SMALL: usize = 64;
const DATAGRAM_SIZES: [usize; 2] = [64, 1200];

/// Repeats round trips, bulk transfers and datagrams until an error occurs, with a beat for each.
pub(crate) fn drive(mut session: Session, beat: &mut Beat, bulk: usize, mut pace: Pace) -> Result<(), LoadError> {
    let mut done = |unit: usize, bytes: usize, beats: bool| {
        beat.count(unit, u64::from(unit != BYTES));
        beat.count(BYTES, bytes as u64);
        if beats {
            beat.beat_and_rest();
        }
        let pause = pace.pause(bytes as u64, now());
        // Shorter pauses are skipped, because a sleep takes at least 50 µs.
        if pause > Duration::from_micros(200) {
            std::thread::sleep(pause);
        }
    };
    // Datagrams are sent less often if a firewall drops them.
    let (mut round, mut wait) = (0u64, 1u64);
    loop {
        for _ in 0..16 {
            session.echo(&[0x55; SMALL])?;
            done(ROUND_TRIPS, 2 * SMALL, true);
        }
        session.sink(bulk)?;
        done(BYTES, bulk, true);
        if round.is_multiple_of(wait) {
            let mut arrived = true;
            for size in (0..8).map(|i| DATAGRAM_SIZES[i % 2]) {
                arrived = arrived && session.datagram(size)?;
                done(if arrived { DATAGRAMS } else { LOST }, if arrived { 2 * size } else { size }, arrived);
                if !arrived {
                    break;
                }
            }
            wait = if arrived { 1 } else { (wait * 2).min(64) };
        }
        round += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn the_pace_holds_and_does_not_catch_up() {
        let mut pace = Pace::new(1_000_000);
        let t = pace.until;
        assert_eq!(pace.pause(1000, t), Duration::from_millis(1));
        assert_eq!(pace.pause(1000, t), Duration::from_millis(2));
        assert_eq!(pace.pause(1000, t + 1_000_000_000), Duration::from_millis(1));
    }

    #[test]
    fn a_port_nobody_listens_on() {
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let error = Session::open(address, "thing:1", None).err().unwrap().to_string();
        assert!(error.contains("thing:1 does not answer") && error.contains("punctual serve"), "{error}");
    }

    #[test]
    fn a_server_of_something_else() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(b"220 mail ready\r\n").unwrap();
            let _ = stream.read(&mut [0; 100]);
        });
        let error = Session::open(address, "mail:25", None).err().unwrap().to_string();
        assert!(error.contains("not `punctual serve`"), "{error}");
        server.join().unwrap();
    }

    #[test]
    fn one_that_accepts_and_says_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = Session::open(listener.local_addr().unwrap(), "mute:1", None).err().unwrap().to_string();
        assert!(error.contains("mute:1 does not answer"), "{error}");
    }
}
