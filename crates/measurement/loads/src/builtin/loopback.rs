//! `loopback`: TCP and UDP over the loopback interface, which loads the network stack and its softirqs without a
//! network card.

use super::{Builtin, Plan, RunsAs};
use crate::LoadError;
use crate::counter::{Counter, Source};
use crate::serve::Server;
use crate::settings::ChildConfig;
use crate::traffic::{DATAGRAMS, Pace, ROUND_TRIPS, Session, drive, units};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(super) const LOAD: Builtin = Builtin {
    name: "loopback",
    about: "TCP and UDP round trips and bulk transfers over 127.0.0.1",
    comm: "load-loopback",
    runs_as: RunsAs::Nobody,
    in_all: true,
    prepare,
};

/// Size in bytes of each bulk transfer between round trips.
const BULK: usize = 256 << 10;
/// Size in bytes of each bulk transfer in the load `all`, which also limits the rate of each worker.
const SMALL_BULK: usize = 32 << 10;
const TOGETHER_BYTES_PER_S: u64 = 16_000_000;

fn prepare(config: &ChildConfig) -> Result<Plan, LoadError> {
    let sent = Counter::new("lo packets sent", Source::Interface("lo".into(), "tx_packets".into()));
    let segments = Counter::new("/proc/net/snmp Tcp OutSegs", Source::Snmp("Tcp".into(), "OutSegs".into()));
    let counters = vec![sent.per_unit(DATAGRAMS, 0.9), segments.per_unit(ROUND_TRIPS, 0.9)];
    let mut plan = Plan::new(units(), counters);
    let (bulk, bytes_per_s) = if config.together() { (SMALL_BULK, TOGETHER_BYTES_PER_S) } else { (BULK, u64::MAX) };
    for worker in 0..config.workers() {
        let server = bind(&mut plan.notes)?;
        let address = server.local_addr();
        let cpu = config.cpu_of(worker);
        // The server is not bound to CPUs, so that packets also cross CPUs.
        plan.helper(None, move || serve(server));
        plan.worker(cpu, move |beat| {
            let session = Session::open(address, &address.to_string(), None)?;
            drive(session, beat, bulk, Pace::new(bytes_per_s))
        });
    }
    plan.notes.dedup();
    Ok(plan)
}

fn bind(notes: &mut Vec<String>) -> Result<Server, LoadError> {
    let at = |ip: IpAddr| Server::bind(SocketAddr::new(ip, 0));
    at(Ipv4Addr::LOCALHOST.into()).or_else(|first| {
        let second = at(Ipv6Addr::LOCALHOST.into());
        if second.is_ok() {
            notes.push(format!("over ::1: {first}"));
        }
        second.map_err(|_| LoadError::Refused(format!("{first}; is the interface up? `ip link set lo up`")))
    })
}

/// Answers clients until the process ends.
fn serve(server: Server) -> Result<(), LoadError> {
    let (stop, _keep) = std::io::pipe().map_err(LoadError::on("pipe", "loopback"))?;
    server.run(stop, &|_| {}).map(drop)
}
