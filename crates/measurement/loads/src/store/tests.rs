use super::*;
use proptest::prelude::*;
use std::io::Cursor;

/// A client that has already sent all its requests. It collects the answers.
struct Client {
    sent: Cursor<Vec<u8>>,
    answers: Vec<u8>,
}

impl Read for Client {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        // Returns small pieces, so that heads and bodies are split at all positions.
        let most = into.len().min(7);
        self.sent.read(&mut into[..most])
    }
}

impl Connection for Client {
    fn limit(&mut self, most: Duration) {
        assert!(most >= WITHIN);
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answers.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const LIMITS: StoreLimits = StoreLimits { largest: 100, kept: 250 };

/// Returns the answers, and the stored files by name.
fn post(sent: &[u8]) -> (String, Vec<(String, Vec<u8>)>) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("store");
    std::fs::create_dir(&folder).unwrap();
    let store = Store::open(&folder, LIMITS).unwrap();
    let mut client = Client { sent: Cursor::new(sent.to_vec()), answers: Vec::new() };
    let _ = store.serve(&mut client, b"", |_| {});
    let entry = |e: io::Result<std::fs::DirEntry>| {
        let e = e.unwrap();
        (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap())
    };
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(entry).collect();
    files.sort();
    assert!(!place.path().join("x.img").exists());
    store.clear();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "nothing stays behind");
    (String::from_utf8(client.answers).unwrap(), files)
}

fn request(path: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

#[test]
fn images_are_stored_under_names_of_ours_only() {
    let sent = [request("/../../x.img", b"one"), request("/etc/passwd", b""), request("//%2e%2e/x.img", b"three")];
    let (answers, files) = post(&sent.concat());
    assert_eq!(answers.matches("201 Created").count(), 3, "{answers}");
    let contents: Vec<&[u8]> = files.iter().map(|(_, c)| &c[..]).collect();
    assert_eq!(contents, [&b"one"[..], b"", b"three"]);
    assert!(files.iter().all(|(n, _)| n.starts_with("punctual-") && n.ends_with(".img")));
}

#[test]
fn what_is_too_much_or_unclear_is_refused_and_nothing_is_stored() {
    let head = |fields: &str| format!("POST / HTTP/1.1\r\n{fields}\r\n").into_bytes();
    let long = format!("X: {}\r\nContent-Length: 1\r\n", "y".repeat(2 * LONGEST_HEAD));
    for (sent, status) in [
        (request("/", &[0; 101]), "413"),
        (head("Content-Length: 18446744073709551616\r\n"), "400"),
        (head("Content-Length: -1\r\n"), "400"),
        (head("Content-Length: +1\r\n"), "400"),
        (head("Content-Length: 1\r\nContent-Length: 1\r\n"), "400"),
        (head("Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), "411"),
        (head(""), "411"),
        (head(&long), "431"),
        (head(&"A: b\r\n".repeat(40)), "431"),
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "405"),
        (b"\0\0\0\r\n\r\n".to_vec(), "400"),
    ] {
        let (answers, files) = post(&sent);
        assert!(answers.starts_with(&format!("HTTP/1.1 {status} ")) && files.is_empty(), "{status}: {answers}");
    }
}

#[test]
fn of_an_image_that_breaks_off_nothing_stays() {
    let sent = request("/", &[1; 90]);
    let (answers, files) = post(&sent[..sent.len() - 1]);
    assert_eq!((answers.as_str(), files.len()), ("", 0));
}

#[test]
fn the_oldest_go_when_there_are_too_many() {
    let sent: Vec<u8> = (0..9u8).flat_map(|n| request("/", &[n; 100])).collect();
    let (answers, files) = post(&sent);
    assert_eq!(answers.matches("201 Created").count(), 9);
    assert_eq!(files.iter().map(|(_, c)| c[0]).collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn a_head_alone_takes_no_room_and_removes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), LIMITS).unwrap();
    let client = |sent: Vec<u8>| {
        let mut client = Client { sent: Cursor::new(sent), answers: Vec::new() };
        let _ = store.serve(&mut client, b"", |_| {});
        store.files().bytes
    };
    assert_eq!(client([request("/", &[1; 100]), request("/", &[2; 100])].concat()), 200);
    let head = b"POST / HTTP/1.1\r\nContent-Length: 100\r\n\r\n".to_vec();
    assert_eq!(client([head, vec![3; 50]].concat()), 200);
    assert_eq!(store.files().kept.len(), 2);
}

#[test]
fn what_is_being_received_takes_room_until_it_breaks_off() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), LIMITS).unwrap();
    store.make_room(100).unwrap();
    store.make_room(100).unwrap();
    assert!(matches!(store.make_room(100), Err(Refused::Status(507, _))));
    let mut torn = Client { sent: Cursor::new(request("/", &[1; 50])[..90].to_vec()), answers: Vec::new() };
    assert!(store.serve(&mut torn, b"", |_| {}).is_err());
    assert_eq!(store.files().bytes, 200);
}

#[test]
fn a_client_that_waits_is_told_to_go_on() {
    let sent = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab";
    let (answers, files) = post(sent);
    assert!(answers.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201") && files[0].1 == b"ab", "{answers}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in "\\PC*") {
        let (_, files) = post(&bytes);
        prop_assert_eq!(files.len(), 0);
        post(&[b"POST / HTTP/1.1\r\n".to_vec(), text.into_bytes()].concat());
    }
}
