//! The other end of network traffic: `punctual serve`, and the far side of the loopback load.

use crate::wire::{self, TOKEN, Token};
use crate::{LoadError, Store};
use rustix::event::{PollFd, PollFlags, poll};
use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// The default of `punctual serve` and `--peer HOST`.
pub const DEFAULT_PORT: u16 = 7375;

/// Clients at once; one thread each.
const MOST_CLIENTS: usize = 64;
/// Time from connecting to the hello.
const HANDSHAKE: Duration = Duration::from_secs(3);
/// A client that is silent for this long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// Datagrams answered before polling again.
const DATAGRAMS: usize = 64;

/// For the user who runs `punctual serve`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServeEvent {
    Listening(SocketAddr),
    Began(SocketAddr),
    /// A client has gone, after this many bytes of TCP payload.
    Ended(SocketAddr, u64),
    Refused(SocketAddr, String),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub clients: u64,
    pub tcp_bytes: u64,
    pub datagrams: u64,
}

/// A bound, limited echo server for TCP and UDP.
pub struct Server {
    tcp: TcpListener,
    udp: UdpSocket,
    address: SocketAddr,
    open: Mutex<Open>,
    clients: AtomicU64,
    tcp_bytes: AtomicU64,
    store: Option<Store>,
}

#[derive(Default)]
struct Open {
    next: u64,
    stopping: bool,
    streams: HashMap<u64, TcpStream>,
    sessions: HashMap<Token, IpAddr>,
}

/// Serves on `bind` until `stop` becomes readable or is hung up (a pipe, an eventfd, a signalfd); events are passed to
/// `told`, from any thread.
///
/// It answers whoever can reach it: bind it to the address of the test network. At most 64 clients at once, at most 1
/// MiB per frame, datagrams only for clients that hold a TCP connection.
///
/// # Errors
/// If the address is in use or not of this machine, or poll(2) fails.
pub fn serve(bind: SocketAddr, stop: impl AsFd, told: &(dyn Fn(ServeEvent) + Sync)) -> Result<Served, LoadError> {
    Server::bind(bind)?.run(stop, told)
}

impl Server {
    /// Listens on TCP and UDP; port 0 takes a free one.
    ///
    /// # Errors
    /// bind(2): `EADDRINUSE`, `EADDRNOTAVAIL`, `EACCES`.
    pub fn bind(bind: SocketAddr) -> Result<Server, LoadError> {
        let failed = |call| LoadError::on(call, bind.to_string());
        let tcp = TcpListener::bind(bind).map_err(failed("bind"))?;
        let address = tcp.local_addr().map_err(failed("getsockname"))?;
        let udp = UdpSocket::bind(address).map_err(failed("bind"))?;
        tcp.set_nonblocking(true).map_err(failed("fcntl"))?;
        udp.set_nonblocking(true).map_err(failed("fcntl"))?;
        let open = Mutex::default();
        Ok(Server { tcp, udp, address, open, clients: AtomicU64::new(0), tcp_bytes: AtomicU64::new(0), store: None })
    }

    /// Also accepts images by HTTP POST and keeps them in `store`; otherwise such requests are refused.
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
    /// If poll(2) fails.
    pub fn run(&self, stop: impl AsFd, told: &(dyn Fn(ServeEvent) + Sync)) -> Result<Served, LoadError> {
        told(ServeEvent::Listening(self.address));
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
                            self.accept(scope, told);
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

    fn accept<'s>(&'s self, scope: &'s thread::Scope<'s, '_>, told: &'s (dyn Fn(ServeEvent) + Sync)) {
        let Ok((stream, from)) = self.tcp.accept() else {
            // Out of descriptors, perhaps: not at full speed.
            thread::sleep(Duration::from_millis(1));
            return;
        };
        let refuse = |mut stream: &TcpStream, why: &str| {
            let _ = stream.write_all(wire::BUSY.as_bytes());
            told(ServeEvent::Refused(from, why.into()));
        };
        let Some(number) = self.remember(&stream) else { return refuse(&stream, "too many clients") };
        let spare = stream.try_clone();
        let spawned = thread::Builder::new()
            .name("punctual-serve".into())
            .stack_size(256 << 10)
            .spawn_scoped(scope, move || self.client(stream, from, number, told));
        if spawned.is_err() {
            self.open().streams.remove(&number);
            if let Ok(stream) = spare {
                refuse(&stream, "no more threads: see `ulimit -u`");
            }
        }
    }

    /// Keeps a handle for hanging up; `None` if there are too many.
    fn remember(&self, stream: &TcpStream) -> Option<u64> {
        let mut open = self.open();
        if open.stopping || open.streams.len() >= MOST_CLIENTS {
            return None;
        }
        open.next += 1;
        let number = open.next;
        open.streams.insert(number, stream.try_clone().ok()?);
        Some(number)
    }

    fn client(&self, mut stream: TcpStream, from: SocketAddr, number: u64, told: &(dyn Fn(ServeEvent) + Sync)) {
        let mut bytes = 0;
        match self.greet(&mut stream, from.ip()) {
            Ok(Greeting::Post(store, begun)) => {
                self.clients.fetch_add(1, Relaxed);
                told(ServeEvent::Began(from));
                let served = store.serve(&mut stream, begun.as_bytes(), |n| bytes += n);
                self.tcp_bytes.fetch_add(bytes, Relaxed);
                if let Err(error) = served {
                    told(ServeEvent::Refused(from, error.to_string()));
                }
                told(ServeEvent::Ended(from, bytes));
            }
            Ok(Greeting::Load(token)) => {
                self.clients.fetch_add(1, Relaxed);
                told(ServeEvent::Began(from));
                let _ = wire::serve_frames(&mut stream, |n| bytes += n);
                self.open().sessions.remove(&token);
                self.tcp_bytes.fetch_add(bytes, Relaxed);
                told(ServeEvent::Ended(from, bytes));
            }
            Err(error) => told(ServeEvent::Refused(from, error.to_string())),
        }
        self.open().streams.remove(&number);
    }

    fn greet(&self, stream: &mut TcpStream, from: IpAddr) -> io::Result<Greeting<'_>> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HANDSHAKE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let line = wire::read_line(stream)?;
        if let Some(store) = self.store.as_ref().filter(|_| line.starts_with("POST ")) {
            stream.set_read_timeout(Some(SILENCE))?;
            return Ok(Greeting::Post(store, line));
        }
        if line != wire::HELLO {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it does not speak PUNCTUAL-LOAD/1"));
        }
        let token = wire::new_token()?;
        self.open().sessions.insert(token, from);
        let answered = stream.write_all(wire::ok_line(&token).as_bytes());
        if let Err(error) = answered.and_then(|()| stream.set_read_timeout(Some(SILENCE))) {
            self.open().sessions.remove(&token);
            return Err(error);
        }
        Ok(Greeting::Load(token))
    }

    /// Echoes the datagrams of open sessions; returns their number.
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
        for stream in open.streams.values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

enum Greeting<'a> {
    /// Traffic, with this token.
    Load(Token),
    /// To send images to be stored; with what has been read of its first request.
    Post(&'a Store, String),
}

#[derive(Default)]
struct Ready {
    tcp: bool,
    udp: bool,
    stop: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::Session;
    use std::io::Read;

    /// Runs `test` against a server, and then checks that the server stops.
    fn with_server(test: impl FnOnce(SocketAddr)) -> (Served, Vec<ServeEvent>) {
        let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let (stop, keep) = io::pipe().unwrap();
        let events = Mutex::new(Vec::new());
        let told = |event| events.lock().unwrap().push(event);
        let served = thread::scope(|scope| {
            let running = scope.spawn(|| server.run(&stop, &told).unwrap());
            test(server.local_addr());
            drop(keep);
            running.join().unwrap()
        });
        (served, events.into_inner().unwrap())
    }

    #[test]
    fn echo_sink_and_datagrams() {
        let (served, events) = with_server(|address| {
            let mut session = Session::open(address, "peer").unwrap();
            session.echo(&[7; 100]).unwrap();
            session.echo(&[7; wire::LONGEST]).unwrap_err();
            let mut session = Session::open(address, "peer").unwrap();
            session.sink(300_000).unwrap();
            // Each waits 100 ms for its answer, which a busy machine may exceed.
            for bytes in [200, 1400] {
                assert!((0..600).any(|_| session.datagram(bytes).unwrap()));
            }
        });
        assert!(served.clients == 2 && served.datagrams >= 2);
        assert!(matches!(events[1], ServeEvent::Began(_)));
    }

    #[test]
    fn it_stops_with_clients_connected() {
        let mut kept = None;
        with_server(|address| kept = Some(Session::open(address, "peer").unwrap()));
        assert!(kept.unwrap().echo(&[1]).is_err());
    }

    #[test]
    fn strangers_get_no_datagram_back() {
        with_server(|address| {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            for bytes in [&[0u8; 100][..], &[], &[1; 3]] {
                socket.send_to(bytes, address).unwrap();
            }
            assert!(socket.recv(&mut [0; 100]).is_err());
        });
    }

    #[test]
    fn what_does_not_say_hello_is_hung_up_on() {
        let (_, events) = with_server(|address| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let _ = stream.read(&mut [0; 10]);
        });
        assert!(events.iter().any(|e| matches!(e, ServeEvent::Refused(_, why) if why.contains("PUNCTUAL-LOAD"))));
    }

    #[test]
    fn more_than_it_can_serve_are_told_so() {
        with_server(|address| {
            let sessions: Vec<_> = (0..MOST_CLIENTS).map(|_| Session::open(address, "peer").unwrap()).collect();
            let error = Session::open(address, "peer").err().unwrap().to_string();
            assert!(error.contains("as many peers as it can"), "{error}");
            drop(sessions);
        });
    }

    #[test]
    fn an_address_in_use_is_named() {
        let first = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Server::bind(first.local_addr()).err().unwrap().to_string();
        assert!(error.contains(&first.local_addr().to_string()), "{error}");
    }
}
