//! Notifications to systemd (sd_notify(3)): one datagram per message.

use std::ffi::{OsStr, OsString};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Socket, and address of systemd; `None` if systemd did not start this process.
pub(crate) struct Notify(Option<(UnixDatagram, SocketAddr)>);

impl Notify {
    /// Creates a notifier. `socket` is $NOTIFY_SOCKET: a path, or `@` followed by a name in the abstract namespace.
    pub fn new(socket: Option<&OsString>) -> Notify {
        let address = |name: &OsStr| match name.as_bytes() {
            [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest).ok(),
            _ => SocketAddr::from_pathname(name).ok(),
        };
        Notify(socket.and_then(|name| address(name)).and_then(|to| Some((UnixDatagram::unbound().ok()?, to))))
    }

    /// Sends a message. Errors are ignored, because the measurement should continue.
    pub fn send(&self, message: &str) {
        if let Some((socket, to)) = &self.0 {
            let _ = socket.send_to_addr(message.as_bytes(), to);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_heard_by_path_and_by_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("punctual-watch-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let heard = [UnixDatagram::bind(&path).unwrap(), UnixDatagram::bind_addr(&abstract_name).unwrap()];
        for (socket, reported) in heard.iter().zip([path.into_os_string(), format!("@{name}").into()]) {
            Notify::new(Some(&reported)).send("WATCHDOG=1");
            let mut message = [0; 32];
            let n = socket.recv(&mut message).unwrap();
            assert_eq!(&message[..n], b"WATCHDOG=1");
        }
        Notify::new(None).send("READY=1");
        Notify::new(Some(&"/nowhere/at/all".into())).send("READY=1");
    }
}
