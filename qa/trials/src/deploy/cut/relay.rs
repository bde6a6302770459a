//! A TCP relay to a machine that can simulate a dead link: it then forwards nothing in either direction, and closes no
//! connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

const LOOK: Duration = Duration::from_millis(20);

#[derive(Debug)]
struct Gate {
    sent: AtomicU64,
    /// Number of the byte before which the relay stops forwarding.
    limit: u64,
    dead: AtomicBool,
    over: AtomicBool,
}

/// A running relay. Dropping it closes its connections.
#[derive(Debug)]
pub struct Relay {
    /// The port on which the relay listens on 127.0.0.1.
    pub port: u16,
    gate: Arc<Gate>,
}

impl Relay {
    /// Starts a relay to a port of this host. It stops forwarding before byte `limit`, counted over all connections in
    /// the direction of the machine.
    pub fn start(to: u16, limit: Option<u64>) -> Result<Relay, String> {
        let said = |e: std::io::Error| format!("the relay: {e}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(said)?;
        listener.set_nonblocking(true).map_err(said)?;
        let port = listener.local_addr().map_err(said)?.port();
        let (sent, dead, over) = (AtomicU64::new(0), AtomicBool::new(false), AtomicBool::new(false));
        let gate = Arc::new(Gate { sent, limit: limit.unwrap_or(u64::MAX), dead, over });
        let own = Arc::clone(&gate);
        std::thread::spawn(move || accept(&listener, to, &own));
        Ok(Relay { port, gate })
    }

    pub fn die(&self) {
        self.gate.dead.store(true, Ordering::SeqCst);
    }

    pub fn is_dead(&self) -> bool {
        self.gate.dead.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.gate.over.store(true, Ordering::SeqCst);
    }
}

fn accept(listener: &TcpListener, to: u16, gate: &Arc<Gate>) {
    while !gate.over.load(Ordering::SeqCst) {
        match listener.accept() {
            Ok((client, _)) => {
                // Without the machine the client sees the connection close.
                let _ = join(client, to, gate);
            }
            Err(_) => sleep(LOOK),
        }
    }
}

fn join(client: TcpStream, to: u16, gate: &Arc<Gate>) -> std::io::Result<()> {
    client.set_nonblocking(false)?;
    let server = TcpStream::connect((Ipv4Addr::LOCALHOST, to))?;
    for (from, to, counts) in [(client.try_clone()?, server.try_clone()?, true), (server, client, false)] {
        from.set_read_timeout(Some(LOOK))?;
        let gate = Arc::clone(gate);
        std::thread::spawn(move || pump(from, to, counts, &gate));
    }
    Ok(())
}

fn pump(mut from: TcpStream, mut to: TcpStream, counts: bool, gate: &Gate) {
    let mut bytes = [0; 16 << 10];
    while !gate.over.load(Ordering::SeqCst) {
        if gate.dead.load(Ordering::SeqCst) {
            sleep(LOOK);
            continue;
        }
        let read = match from.read(&mut bytes) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {
                continue;
            }
            Err(_) => break,
        };
        let read = if counts { gate.lets(read) } else { read };
        if gate.dead.load(Ordering::SeqCst) && !counts {
            continue;
        }
        if bytes.get(..read).is_none_or(|part| to.write_all(part).is_err()) {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

impl Gate {
    /// Returns how many of the `read` bytes just received may still be forwarded.
    fn lets(&self, read: usize) -> usize {
        let before = self.sent.fetch_add(read as u64, Ordering::SeqCst);
        let left = self.limit.saturating_sub(before);
        if left <= read as u64 {
            self.dead.store(true, Ordering::SeqCst);
        }
        read.min(usize::try_from(left).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_passes_a_relay_behind_its_last_byte() {
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Relay::start(server.local_addr().unwrap().port(), Some(5)).unwrap();
        let mut client = TcpStream::connect((Ipv4Addr::LOCALHOST, relay.port)).unwrap();
        let (mut at, _) = server.accept().unwrap();
        client.write_all(b"seven b").unwrap();
        let mut got = [0; 5];
        at.read_exact(&mut got).unwrap();
        assert_eq!(&got, b"seven");
        assert!(relay.is_dead());
        at.write_all(b"answer").unwrap();
        client.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let silence = (0..).find_map(|_| client.read(&mut got).err().filter(|e| e.kind() != ErrorKind::Interrupted));
        let silence = silence.unwrap();
        assert!(matches!(silence.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "no close either: {silence}");
        drop(relay);
        client.set_read_timeout(None).unwrap();
        assert!(matches!(client.read(&mut got), Ok(0) | Err(_)), "closed in the end");
    }
}
