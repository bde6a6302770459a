//! Finds the network interface for packets to an address (rtnetlink(7), RTM_GETROUTE).

use crate::LoadError;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use std::net::IpAddr;

// Constants from include/uapi/linux/rtnetlink.h and netlink.h.
const RTM_NEWROUTE: u16 = 24;
const RTM_GETROUTE: u16 = 26;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
/// Size of struct nlmsghdr, bytes.
const NLMSGHDR: usize = 16;
const RTMSG: usize = 12;

/// Returns the name of the interface that reaches an address; `lo` for addresses of this machine.
pub(crate) fn interface_to(address: IpAddr) -> Result<String, LoadError> {
    let on = address.to_string();
    let failed = |call| LoadError::on(call, format!("route to {on}"));
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None);
    let socket = socket.map_err(failed("socket"))?;
    sendto(&socket, &request(address), SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map_err(failed("sendto"))?;
    let mut answer = [0u8; 4096];
    let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty()).map_err(failed("recv"))?;
    let index = parse(&answer[..length.min(answer.len())]).map_err(|why| {
        LoadError::Refused(format!("there is no route to {address} ({why}): see `ip route get {address}`"))
    })?;
    rustix::net::netdevice::index_to_name(&socket, index).map_err(failed("SIOCGIFNAME"))
}

fn request(address: IpAddr) -> Vec<u8> {
    let (family, bytes) = match address {
        IpAddr::V4(v4) => (AF_INET, v4.octets().to_vec()),
        IpAddr::V6(v6) => (AF_INET6, v6.octets().to_vec()),
    };
    let attribute = 4 + bytes.len();
    let mut message = Vec::new();
    message.extend(((NLMSGHDR + RTMSG + attribute) as u32).to_ne_bytes());
    message.extend(RTM_GETROUTE.to_ne_bytes());
    message.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and port.
    message.extend([1u32.to_ne_bytes(), 0u32.to_ne_bytes()].concat());
    // Family and destination length. The kernel chooses the remaining fields.
    message.extend([family, (bytes.len() * 8) as u8]);
    message.extend([0; RTMSG - 2]);
    message.extend((attribute as u16).to_ne_bytes());
    message.extend(RTA_DST.to_ne_bytes());
    message.extend(bytes);
    message
}

/// Returns the interface index in the kernel's answer, or why there is none.
fn parse(answer: &[u8]) -> Result<u32, String> {
    let short = || "the kernel's answer is too short".to_string();
    let kind = u16_at(answer, 4).ok_or_else(short)?;
    if kind == NLMSG_ERROR {
        let errno = u32_at(answer, NLMSGHDR).ok_or_else(short)? as i32;
        return Err(std::io::Error::from_raw_os_error(-errno).to_string());
    }
    if kind != RTM_NEWROUTE {
        return Err(format!("the kernel's answer has type {kind}"));
    }
    let mut at = NLMSGHDR + RTMSG;
    while let (Some(length), Some(kind)) = (u16_at(answer, at), u16_at(answer, at + 2)) {
        if kind == RTA_OIF {
            return u32_at(answer, at + 4).ok_or_else(short);
        }
        // A length below four would loop forever.
        at += (usize::from(length).max(4) + 3) & !3;
    }
    Err("the route has no interface".into())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_machine_is_reached_through_lo() {
        assert_eq!(interface_to("127.0.0.1".parse().unwrap()).unwrap(), "lo");
        if let Ok(name) = interface_to("::1".parse().unwrap()) {
            assert_eq!(name, "lo");
        }
    }

    #[test]
    fn an_address_no_packet_goes_to() {
        let error = interface_to("255.0.0.1".parse().unwrap());
        let text = error.unwrap_or_else(|e| e.to_string());
        assert!(!text.is_empty() && text != "lo");
    }

    proptest! {
        #[test]
        fn any_answer_is_answered(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), known: bool) {
            if let (true, Some(kind)) = (known, bytes.get_mut(4..6)) {
                kind.copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
            }
            let _ = parse(&bytes);
        }
    }
}
