//! The network between guests.

use crate::error::VmError;
use std::net::UdpSocket;

/// An Ethernet segment between guests: multicast on the host's loopback interface, so that nothing leaves the host.
#[derive(Debug)]
pub struct Network {
    port: u16,
}

impl Network {
    /// The multicast group, from the block for private use (RFC 2365).
    pub(crate) const GROUP: &'static str = "239.255.77.1";

    /// Creates a segment on a UDP port that is currently free on the host.
    ///
    /// # Errors
    /// No port is free.
    pub fn new() -> Result<Network, VmError> {
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        free.map(|address| Network { port: address.port() }).map_err(VmError::file("bind", "127.0.0.1"))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address of guest `number`, counting from 1; a guest finds its number in `$VM_NUMBER`.
    pub fn address(number: u32) -> String {
        format!("10.77.0.{number}")
    }
}
