use crate::boot::{Booted, boot_joined};
use crate::cache::Cache;
use crate::error::VmError;
use crate::guest::Guest;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::thread;

/// An Ethernet segment between guests: multicast on the host's loopback, so that nothing leaves the host.
#[derive(Debug)]
pub struct Network {
    port: u16,
}

impl Network {
    /// The multicast group, from the block for private use (RFC 2365).
    pub(crate) const GROUP: &'static str = "239.255.77.1";

    /// A segment with a UDP port that is free on the host now.
    ///
    /// # Errors
    /// If no port is free.
    pub fn new() -> Result<Network, VmError> {
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        free.map(|address| Network { port: address.port() }).map_err(VmError::file("bind", "127.0.0.1"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address of guest `number`, counting from 1; a guest has its own number in `$VM_NUMBER`.
    pub fn address(number: u32) -> String {
        format!("10.77.0.{number}")
    }
}

/// Boots several guests at once on `network`. Each may have a folder for its files. Results are in the order of the
/// guests.
///
/// # Errors
/// Each guest has its own; more than 200 are refused.
pub fn boot_all(
    guests: &[(Guest, Option<PathBuf>)],
    network: Option<&Network>,
    cache: &Cache,
) -> Vec<Result<Booted, VmError>> {
    if guests.len() > 200 {
        return vec![Err(VmError::Usage(format!("{} guests at once: choose at most 200", guests.len())))];
    }
    thread::scope(|scope| {
        let running: Vec<_> = guests
            .iter()
            .zip(1u32..)
            .map(|((guest, into), number)| {
                scope.spawn(move || boot_joined(guest, network.map(|n| (n, number)), cache, into.as_deref()))
            })
            .collect();
        let lost = || Err(VmError::Usage("the thread that ran a guest died".into()));
        running.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
    })
}
