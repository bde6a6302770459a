//! `network`: TCP and UDP traffic to `punctual serve` on another machine, through a network card whose interrupt count
//! must increase.

use super::{Builtin, Plan, RunsAs};
use crate::counter::{Counter, Source};
use crate::nic;
use crate::route;
use crate::serve::DEFAULT_PORT;
use crate::settings::ChildConfig;
use crate::traffic::{DATAGRAMS, Pace, ROUND_TRIPS, Session, drive, units};
use crate::{LoadError, Secret};
use std::net::{SocketAddr, ToSocketAddrs};

pub(super) const LOAD: Builtin = Builtin {
    name: "network",
    about: "TCP and UDP to another machine that runs `punctual serve` (--peer HOST)",
    comm: "load-network",
    // Only the caller may be permitted to read the secret.
    runs_as: RunsAs::NobodyOncePrepared,
    in_all: true,
    prepare,
};

/// Maximum number of connections: enough to keep a network card busy, few enough for any server.
const MOST_WORKERS: usize = 4;
/// Size in bytes of each bulk transfer between round trips.
const BULK: usize = 64 << 10;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let peer = config.peer.as_deref().ok_or(LoadError::NoPeer)?;
    let address = resolve(peer)?;
    let secret = config.secret_file.as_deref().map(Secret::read).transpose()?;
    let interface = route::interface_to(address.ip())?;
    if interface == "lo" {
        return Err(LoadError::Refused(format!(
            "traffic to {peer} does not pass a network card because it is this machine: use the load `loopback`, or name another \
             machine with --peer"
        )));
    }
    let workers = config.workers().min(MOST_WORKERS);
    let mut plan = Plan::new(units(), Vec::new());
    add_counters(&mut plan, &interface);
    let sessions: Result<Vec<Session>, LoadError> =
        (0..workers).map(|_| Session::open(address, peer, secret.as_ref())).collect();
    for (worker, session) in sessions?.into_iter().enumerate() {
        let pace = Pace::new(config.network_cap_bytes_per_s / workers as u64);
        plan.worker(config.cpu_of(worker), move |beat| drive(session, beat, BULK, pace));
    }
    Ok(plan)
}

/// Adds counters of packets in both directions and of the card's interrupts, or of the network softirqs of all cards if
/// the interrupts cannot be identified.
fn add_counters(plan: &mut Plan, interface: &str) {
    for file in ["tx_packets", "rx_packets"] {
        let packets = Counter::new(format!("{interface} {file}"), Source::Interface(interface.into(), file.into()));
        plan.counters.push(packets.clone().per_unit(ROUND_TRIPS, 0.5));
        plan.counters.push(packets.per_unit(DATAGRAMS, 0.5));
    }
    let card = nic::of(interface);
    let interrupts = Counter::new(
        format!("/proc/interrupts {}", card.names.join(" ")),
        Source::Interrupts(card.numbers.clone(), card.names.clone()),
    );
    // A busy card is polled and raises few interrupts, but a count of zero means that it is idle.
    match !card.is_virtual && interrupts.read().is_ok() {
        true => plan.counters.push(interrupts.per_second(1.0)),
        false => {
            let why = if card.is_virtual { "is not a network card itself" } else { "has no interrupt named after it" };
            plan.notes.push(format!("{interface} {why}: the network softirqs of all cards are counted instead"));
            let softirqs = Counter::new("/proc/softirqs NET_RX", Source::Softirq("NET_RX".into()));
            plan.counters.push(softirqs.per_unit(ROUND_TRIPS, 0.1));
        }
    }
}

/// Resolves `HOST`, `HOST:PORT`, `[IPv6]:PORT` or `IPv6`.
fn resolve(peer: &str) -> Result<SocketAddr, LoadError> {
    let bare = peer.trim_start_matches('[').trim_end_matches(']');
    let found = match bare.parse() {
        Ok(ip) => return Ok(SocketAddr::new(ip, DEFAULT_PORT)),
        Err(_) if has_port(peer) => peer.to_socket_addrs(),
        Err(_) => (peer, DEFAULT_PORT).to_socket_addrs(),
    };
    found.ok().and_then(|mut all| all.next()).ok_or_else(|| {
        LoadError::Refused(format!("the peer name {} cannot be resolved: see `getent hosts`", peer.escape_debug()))
    })
}

fn has_port(peer: &str) -> bool {
    peer.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_as_people_write_them() {
        let port = DEFAULT_PORT;
        for (text, wanted) in [
            ("192.0.2.7", format!("192.0.2.7:{port}")),
            ("192.0.2.7:99", "192.0.2.7:99".into()),
            ("fd00::7", format!("[fd00::7]:{port}")),
            ("[fd00::7]", format!("[fd00::7]:{port}")),
            ("[fd00::7]:99", "[fd00::7]:99".into()),
        ] {
            assert_eq!(resolve(text).unwrap().to_string(), wanted, "{text}");
        }
        for bad in ["", "192.0.2.7:99999", &"x".repeat(64), ":"] {
            let error = resolve(bad).unwrap_err().to_string();
            assert!(error.contains("cannot be resolved"), "{error}");
        }
    }

    fn prepared(peer: Option<&str>) -> Result<Plan, LoadError> {
        let settings = crate::LoadSettings {
            peer: peer.map(Into::into),
            ..crate::LoadSettings::new("0".parse().unwrap(), "/tmp".into())
        };
        prepare(&ChildConfig::new("network", None, &settings, 1))
    }

    #[test]
    fn this_machine_is_no_peer() {
        for peer in ["127.0.0.1", "127.0.0.1:7375"] {
            let error = prepared(Some(peer)).err().unwrap().to_string();
            assert!(error.contains("does not pass a network card") && error.contains("loopback"), "{error}");
        }
        assert!(matches!(prepared(None), Err(LoadError::NoPeer)));
    }
}
