//! Delays caused by a long softirq: one broadcast datagram on `lo`, steered to the victim's CPU (RPS), which NET_RX
//! copies to thousands of sockets. On PREEMPT_RT the softirq runs in a thread (ksoftirqd; since Linux 6.10,
//! backlog_napi), whose priority is raised above the victim's, as is often recommended for RT kernels.
//!
//! Another CPU observes start and end: it polls the sockets that get the first and the last copy.

use crate::InjectError;
use crate::child::begin;
use crate::config::Config;
use crate::kernel_threads::{KernelThread, is_rt, of_cpu, raise};
use crate::thread::{Gaps, Watch, become_thread, calibrate, descriptors, fifo, now, sleep_until};
use crate::truth::{Burst, Seen, seen};
use crate::undo::{Changed, Raised};
use rustix::net::{AddressFamily, RecvFlags, SocketType, bind, recv, socket, sockopt};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;

/// Number of sockets at the start; [`MAX`] is the maximum.
const FEW: usize = 300;
const MAX: usize = 40_000;
/// Time after which a datagram is considered lost, ns.
const PATIENCE: u64 = 500_000_000;
const STEERING: &str = "/sys/class/net/lo/queues/rx-0/rps_cpus";

pub(super) fn run(config: &Config) -> Result<Vec<Burst>, InjectError> {
    let threads = if is_rt() { of_cpu(&["ksoftirqd", "backlog_napi"], config.cpu) } else { Vec::new() };
    become_thread("flood", config.other_cpu, fifo(50)?)?;
    let most = descriptors(MAX);
    let _steered = Changed::file(STEERING, &format!("{:x}", 1u64 << config.cpu.min(63)))?;
    let _raised: Vec<Raised> = raise(&threads)?;
    let mut flood = Flood::new()?;
    let count = calibrate(config.length_ns, FEW, most, |count| {
        flood.grow(count)?;
        let (_, start, end, _) = flood.send()?;
        Ok((start.seen, end.seen))
    })?;
    flood.grow(count)?;
    let (burst, mut bursts) = (blank(config, &threads), Vec::new());
    for slot in config.slots(begin()) {
        sleep_until(slot.from);
        let (sent, start, end, gaps) = flood.send()?;
        bursts.push(seen(&burst, sent, start, end, gaps));
    }
    Ok(bursts)
}

fn blank(config: &Config, threads: &[KernelThread]) -> Burst {
    // The kernel decides which of the two does the work: backlog_napi if it exists.
    let thread = threads.iter().min_by_key(|thread| thread.comm.clone());
    Burst {
        class: "softirq".into(),
        tid: thread.map(|t| t.tid),
        comm: thread.map(|t| t.comm.clone()),
        what: None,
        scheduled: thread.map_or(String::new(), |_| format!("FIFO {}", crate::kernel_threads::ABOVE)),
        cpu: config.cpu,
        start_ns: 0,
        end_ns: 0,
        earliest_ns: 0,
        worst_ns: None,
        gaps: Vec::new(),
        exact: true,
    }
}

/// A sender and its receivers, which share one port.
struct Flood {
    sender: UdpSocket,
    to: SocketAddrV4,
    receivers: Vec<OwnedFd>,
}

impl Flood {
    fn new() -> Result<Flood, InjectError> {
        let sender = UdpSocket::bind("127.0.0.1:0").map_err(InjectError::at("bind a socket"))?;
        sender.set_broadcast(true).map_err(InjectError::at("allow broadcast"))?;
        let port = UdpSocket::bind("0.0.0.0:0").and_then(|s| s.local_addr()).map_err(InjectError::at("find a port"))?;
        let to = SocketAddrV4::new(Ipv4Addr::new(127, 255, 255, 255), port.port());
        Ok(Flood { sender, to, receivers: Vec::new() })
    }

    fn grow(&mut self, wanted: usize) -> Result<(), InjectError> {
        let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, self.to.port());
        while self.receivers.len() < wanted {
            let receiver =
                socket(AddressFamily::INET, SocketType::DGRAM, None).map_err(InjectError::at("make a socket"))?;
            sockopt::set_socket_reuseaddr(&receiver, true).map_err(InjectError::at("share a port"))?;
            bind(&receiver, &address).map_err(InjectError::at("bind a socket"))?;
            self.receivers.push(receiver);
        }
        Ok(())
    }

    /// Sends a datagram. Returns when it was sent, and when its first and its last copy arrived.
    ///
    /// The kernel delivers to the sockets from the newest to the oldest, but the newest gets its copy last
    /// (net/ipv4/udp.c, `__udp4_lib_mcast_deliver`).
    fn send(&mut self) -> Result<(u64, Seen, Seen, Gaps), InjectError> {
        let [oldest, .., second, newest] = self.receivers.as_slice() else {
            return Err(InjectError::Child("too few sockets".into()));
        };
        let (sent, mut watch) = (now(), Watch::new());
        self.sender.send_to(&[1], self.to).map_err(InjectError::at("send a datagram"))?;
        let mut came = [(oldest, sent, None), (second, sent, None), (newest, sent, None)];
        while came.iter().any(|(.., seen)| seen.is_none()) && now() < sent + PATIENCE {
            for (receiver, not_yet, seen) in came.iter_mut().filter(|(.., seen)| seen.is_none()) {
                let (mut byte, before) = ([0u8; 8], watch.look());
                match recv(*receiver, &mut byte, RecvFlags::DONTWAIT) {
                    Ok(_) => *seen = Some(now()),
                    Err(_) => *not_yet = before,
                }
            }
        }
        let all = came.iter().filter_map(|(_, not_yet, seen)| Some(Seen { not_yet: *not_yet, seen: (*seen)? }));
        let mut all: Vec<Seen> = all.collect();
        all.sort_by_key(|seen| seen.seen);
        match all.as_slice() {
            [first, _, last] => Ok((sent, *first, *last, watch.gaps)),
            reached => Err(InjectError::Impossible(format!(
                "not all of {} sockets get a broadcast datagram on lo ({} of 3 examined)",
                self.receivers.len(),
                reached.len()
            ))),
        }
    }
}
