//! The server for network traffic: `punctual serve`, and the server side of the load `loopback`.

use crate::wire::{self, Connection, TOKEN, Token};
use crate::{LoadError, Secret, Store};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Default port of `punctual serve` and `--peer HOST`.
pub const DEFAULT_PORT: u16 = 7375;

/// Maximum number of clients at a time, with one thread each.
const MOST_CLIENTS: usize = 64;
/// Maximum number of clients with the same remote address (for IPv6 the same 64-bit network), so that one machine
/// cannot occupy all connections.
const MOST_OF_ONE: usize = 8;
/// Time limit for the handshake.
const HANDSHAKE: Duration = Duration::from_secs(3);
/// Time limit for receiving a frame, and for the time between two requests. A slower client is disconnected.
const SILENCE: Duration = Duration::from_secs(30);
/// Number of datagrams answered before poll(2) is called again.
const DATAGRAMS: usize = 64;

/// Events to show to the user of `punctual serve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServeEvent {
    Listening(SocketAddr),
    Began(SocketAddr),
    /// A client has disconnected after transferring this many bytes of TCP payload.
    Ended(SocketAddr, u64),
    Refused(SocketAddr, String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub clients: u64,
    pub tcp_bytes: u64,
    pub datagrams: u64,
}

/// A server that echoes TCP and UDP traffic, bound to an address.
pub struct Server {
    tcp: TcpListener,
    udp: UdpSocket,
    address: SocketAddr,
    open: Mutex<Open>,
    clients: AtomicU64,
    tcp_bytes: AtomicU64,
    store: Option<Store>,
    secret: Option<Secret>,
}

#[derive(Default)]
struct Open {
    next: u64,
    stopping: bool,
    streams: HashMap<u64, (IpAddr, TcpStream)>,
    sessions: HashMap<Token, IpAddr>,
}

/// Serves on `bind` until `stop` becomes readable or is hung up (a pipe, an eventfd, a signalfd). Calls `report` with
/// each event, from any thread.
///
/// Without [`Server::asking`] it serves every client that can reach it: at most 64 at a time and 8 per address, frames
/// of at most 1 MiB, and datagrams only from clients with a TCP connection.
///
/// # Errors
/// The address is in use or does not belong to this machine, or poll(2) failed.
pub fn serve(bind: SocketAddr, stop: impl AsFd, report: &(dyn Fn(ServeEvent) + Sync)) -> Result<Served, LoadError> {
    Server::bind(bind)?.run(stop, report)
}

impl Server {
    /// Opens a TCP and a UDP socket on an address. Port 0 selects a free port.
    ///
    /// # Errors
    /// Those of bind(2): `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`.
    pub fn bind(bind: SocketAddr) -> Result<Server, LoadError> {
        let failed = |call| LoadError::on(call, bind.to_string());
        let tcp = TcpListener::bind(bind).map_err(failed("bind"))?;
        let address = tcp.local_addr().map_err(failed("getsockname"))?;
        let udp = UdpSocket::bind(address).map_err(failed("bind"))?;
        tcp.set_nonblocking(true).map_err(failed("fcntl"))?;
        udp.set_nonblocking(true).map_err(failed("fcntl"))?;
        let open = Mutex::default();
        let (clients, tcp_bytes) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Server { tcp, udp, address, open, clients, tcp_bytes, store: None, secret: None })
    }

    /// Serves only clients that prove that they know the secret.
    pub fn asking(self, secret: Secret) -> Server {
        Server { secret: Some(secret), ..self }
    }

    /// Also accepts images by HTTP POST and stores them in `store`. Without this, clients that send images are refused.
    pub fn storing(self, store: Store) -> Server {
        Server { store: Some(store), ..self }
    }

    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` becomes readable or is hung up. See [`serve`].
    ///
    /// # Errors
    /// poll(2) failed.
    pub fn run(&self, stop: impl AsFd, report: &(dyn Fn(ServeEvent) + Sync)) -> Result<Served, LoadError> {
        report(ServeEvent::Listening(self.address));
        let mut datagrams = 0;
        thread::scope(|scope| {
            let result = loop {
                match self.wait(&stop) {
                    Ok(Ready { stop: true, .. }) => break Ok(()),
                    Ok(ready) => {
                        if ready.udp {
                            datagrams += self.answer_datagrams();
                        }
                        if ready.tcp {
                            self.accept(scope, report);
                        }
                    }
                    Err(error) => break Err(error),
                }
            };
            self.hang_up();
            result
        })?;
        Ok(Served { clients: self.clients.load(Relaxed), tcp_bytes: self.tcp_bytes.load(Relaxed), datagrams })
    }

    fn wait(&self, stop: impl AsFd) -> Result<Ready, LoadError> {
        let mut fds = [
            PollFd::new(&self.tcp, PollFlags::IN),
            PollFd::new(&self.udp, PollFlags::IN),
            PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN),
        ];
        match poll(&mut fds, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Ready::default()),
            Err(e) => return Err(LoadError::system("poll", self.address.to_string(), e)),
        }
        let [tcp, udp, stop] = fds.map(|fd| !fd.revents().is_empty());
        Ok(Ready { tcp, udp, stop })
    }

    fn accept<'s>(&'s self, scope: &'s thread::Scope<'s, '_>, report: &'s (dyn Fn(ServeEvent) + Sync)) {
        let Ok((stream, from)) = self.tcp.accept() else {
            // File descriptors have probably run out, so the next attempt is delayed.
            thread::sleep(Duration::from_millis(1));
            return;
        };
        let refuse = |mut stream: &TcpStream, why: &str| {
            let _ = stream.write_all(wire::BUSY.as_bytes());
            report(ServeEvent::Refused(from, why.into()));
        };
        let number = match self.remember(&stream, from.ip()) {
            Ok(number) => number,
            Err(why) => return refuse(&stream, why),
        };
        let spare = stream.try_clone();
        let spawned = thread::Builder::new()
            .name("punctual-serve".into())
            .stack_size(256 << 10)
            .spawn_scoped(scope, move || self.client(stream, from, number, report));
        if spawned.is_err() {
            self.open().streams.remove(&number);
            if let Ok(stream) = spare {
                refuse(&stream, "cannot create a thread: see `ulimit -u`");
            }
        }
    }

    /// Keeps a handle with which the client can be disconnected, or returns why it is not served.
    fn remember(&self, stream: &TcpStream, from: IpAddr) -> Result<u64, &'static str> {
        let mut open = self.open();
        let others: Vec<IpAddr> = open.streams.values().map(|(ip, _)| *ip).collect();
        if open.stopping {
            return Err("the server is shutting down");
        }
        admitted(&others, from)?;
        let spare = stream.try_clone().map_err(|_| "cannot open another descriptor: see `ulimit -n`")?;
        open.next += 1;
        let number = open.next;
        open.streams.insert(number, (from, spare));
        Ok(number)
    }

    fn client(&self, stream: TcpStream, from: SocketAddr, number: u64, report: &(dyn Fn(ServeEvent) + Sync)) {
        let mut bytes = 0;
        let mut stream = Timed { stream, end: Instant::now() + HANDSHAKE };
        match self.greet(&mut stream, from.ip()) {
            Ok(Greeting::Post(store, begun)) => {
                self.clients.fetch_add(1, Relaxed);
                report(ServeEvent::Began(from));
                let served = store.serve(&mut stream, begun.as_bytes(), |n| bytes += n);
                self.tcp_bytes.fetch_add(bytes, Relaxed);
                if let Err(error) = served {
                    report(ServeEvent::Refused(from, error.to_string()));
                }
                report(ServeEvent::Ended(from, bytes));
            }
            Ok(Greeting::Load(token)) => {
                self.clients.fetch_add(1, Relaxed);
                report(ServeEvent::Began(from));
                let _ = wire::serve_frames(&mut stream, SILENCE, |n| bytes += n);
                self.open().sessions.remove(&token);
                self.tcp_bytes.fetch_add(bytes, Relaxed);
                report(ServeEvent::Ended(from, bytes));
            }
            Err(error) => report(ServeEvent::Refused(from, error.to_string())),
        }
        self.open().streams.remove(&number);
    }

    fn greet(&self, stream: &mut Timed, from: IpAddr) -> io::Result<Greeting<'_>> {
        stream.stream.set_nonblocking(false)?;
        stream.stream.set_nodelay(true)?;
        let line = wire::read_line(stream)?;
        let store = self.store.as_ref();
        if let Some(store) = store.filter(|_| line.starts_with("POST ")) {
            if self.secret.is_some() {
                stream.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "it did not prove that it knows the secret",
                ));
            }
            return Ok(Greeting::Post(store, line));
        }
        let store = store.filter(|_| line == wire::STORE);
        if store.is_none() && line != wire::HELLO {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak PUNCTUAL-LOAD/1"));
        }
        if let Some(secret) = &self.secret {
            wire::ask(stream, secret)?;
        }
        let token = wire::new_token()?;
        if let Some(store) = store {
            stream.write_all(wire::ok_line(&token).as_bytes())?;
            return Ok(Greeting::Post(store, String::new()));
        }
        self.open().sessions.insert(token, from);
        if let Err(error) = stream.write_all(wire::ok_line(&token).as_bytes()) {
            self.open().sessions.remove(&token);
            return Err(error);
        }
        Ok(Greeting::Load(token))
    }

    /// Echoes the datagrams of open sessions. Returns their number.
    fn answer_datagrams(&self) -> u64 {
        let mut buffer = [0u8; 2048];
        let mut answered = 0;
        for _ in 0..DATAGRAMS {
            let Ok((length, from)) = self.udp.recv_from(&mut buffer) else { break };
            let token: Option<Token> = buffer[..length].get(..TOKEN).and_then(|t| t.try_into().ok());
            let known = token.is_some_and(|t| self.open().sessions.get(&t) == Some(&from.ip()));
            if known && self.udp.send_to(&buffer[..length], from).is_ok() {
                answered += 1;
            }
        }
        answered
    }

    fn hang_up(&self) {
        let mut open = self.open();
        open.stopping = true;
        for (_, stream) in open.streams.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an error if one more client from this address would exceed a limit.
fn admitted(others: &[IpAddr], from: IpAddr) -> Result<(), &'static str> {
    let of_it = others.iter().filter(|other| network(**other) == network(from)).count();
    match others.len() {
        MOST_CLIENTS.. => Err("too many clients"),
        // There is no limit for local users, who can disturb the machine in other ways.
        _ if of_it >= MOST_OF_ONE && !from.to_canonical().is_loopback() => Err("too many clients from this address"),
        _ => Ok(()),
    }
}

/// Returns the IPv4 address, or the 64-bit IPv6 network, all of which may belong to one host (RFC 4291).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

/// A connection with one time limit for a whole sequence of reads and writes, instead of one limit for each of them.
struct Timed {
    stream: TcpStream,
    end: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::Error::new(io::ErrorKind::TimedOut, "it took too long")) } else { Ok(Some(left)) }
    }
}

impl Connection for Timed {
    fn limit(&mut self, most: Duration) {
        self.end = Instant::now() + most;
    }
}

impl Read for Timed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

enum Greeting<'a> {
    /// The client sends traffic frames, and has this token.
    Load(Token),
    /// The client sends images to be stored. The text is the part of the first request that was already read.
    Post(&'a Store, String),
}

#[derive(Default)]
struct Ready {
    tcp: bool,
    udp: bool,
    stop: bool,
}

#[cfg(test)]
mod tests;
