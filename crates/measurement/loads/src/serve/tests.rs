use super::*;
use crate::traffic::Session;
use std::io::Read;

/// Runs `test` against a server, and then checks that the server stops.
fn with_server(test: impl FnOnce(SocketAddr)) -> (Served, Vec<ServeEvent>) {
    with(Server::bind("127.0.0.1:0".parse().unwrap()).unwrap(), test)
}

fn with(server: Server, test: impl FnOnce(SocketAddr)) -> (Served, Vec<ServeEvent>) {
    let (stop, keep) = io::pipe().unwrap();
    let events = Mutex::new(Vec::new());
    let report = |event| events.lock().unwrap().push(event);
    let served = thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&stop, &report).unwrap());
        test(server.local_addr());
        drop(keep);
        running.join().unwrap()
    });
    (served, events.into_inner().unwrap())
}

#[test]
fn echo_sink_and_datagrams() {
    let (served, events) = with_server(|address| {
        let mut session = Session::open(address, "peer", None).unwrap();
        session.echo(&[7; 100]).unwrap();
        session.echo(&[7; wire::LONGEST]).unwrap_err();
        let mut session = Session::open(address, "peer", None).unwrap();
        session.sink(300_000).unwrap();
        // Each datagram waits up to 100 ms for its answer, which may be too short on a busy machine.
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
    with_server(|address| kept = Some(Session::open(address, "peer", None).unwrap()));
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
        let sessions: Vec<_> = (0..MOST_CLIENTS).map(|_| Session::open(address, "peer", None).unwrap()).collect();
        let error = Session::open(address, "peer", None).err().unwrap().to_string();
        assert!(error.contains("the maximum number of clients"), "{error}");
        drop(sessions);
    });
}

#[test]
fn who_does_not_know_the_secret_is_not_served() {
    let place = tempfile::tempdir().unwrap();
    let secret = |name: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, format!("{name} 0123456789abcdef")).unwrap();
        Secret::read(&path).unwrap()
    };
    let store = Store::open(place.path(), crate::StoreLimits::default()).unwrap();
    let server = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap().storing(store).asking(secret("ours"));
    let (served, _) = with(server, |address| {
        for (given, word) in [(None, "requires a secret"), (Some(secret("theirs")), "a different secret")] {
            let why = Session::open(address, "peer", given.as_ref()).err().unwrap().to_string();
            assert!(why.contains(word) && why.contains("--secret-file"), "{why}");
        }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n").unwrap();
        assert!(wire::read_line(&mut stream).unwrap().starts_with("HTTP/1.1 401"));

        Session::open(address, "peer", Some(&secret("ours"))).unwrap().echo(&[7; 100]).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        wire::introduce(&mut stream, wire::Purpose::Store, Some(&secret("ours")), "peer").unwrap();
        stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx").unwrap();
        assert!(wire::read_line(&mut stream).unwrap().starts_with("HTTP/1.1 201"));
    });
    assert_eq!(served.clients, 2);
}

#[test]
fn one_address_does_not_take_every_place() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    for (one, same, other) in [
        ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.2"),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", "2001:db8:0:1::1"),
    ] {
        let many = vec![ip(one); MOST_OF_ONE];
        assert_eq!(admitted(&many[1..], ip(one)), Ok(()));
        assert!(admitted(&many, ip(same)).unwrap_err().contains("this address"));
        assert_eq!(admitted(&many, ip(other)), Ok(()));
    }
    assert_eq!(admitted(&[ip("127.0.0.1"); MOST_CLIENTS - 1], ip("127.0.0.1")), Ok(()));
    assert!(admitted(&[ip("127.0.0.1"); MOST_CLIENTS], ip("192.0.2.1")).is_err());
}

#[test]
fn a_byte_now_and_then_gains_no_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut far = Timed { stream: listener.accept().unwrap().0, end: Instant::now() };
    far.limit(Duration::from_millis(50));
    let (mut read, mut byte) = (0, [0]);
    let error = loop {
        // Each read returns one byte.
        near.write_all(b"x").unwrap();
        match far.read(&mut byte) {
            Ok(n) => read += n,
            Err(e) => break e,
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    far.limit(Duration::from_secs(60));
    assert!(far.read(&mut byte).unwrap() == 1 && read > 0);
}

#[test]
fn an_address_in_use_is_named() {
    let first = Server::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error = Server::bind(first.local_addr()).err().unwrap().to_string();
    assert!(error.contains(&first.local_addr().to_string()), "{error}");
}
