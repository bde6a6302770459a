//! The network load with a server in another network namespace. Needs root and ip(8); otherwise it is skipped with a
//! message.

use crate::common;

use common::{Host, alone, is_root, run, why};
use std::process::Command;
use std::time::Duration;

const HERE: &str = "198.18.77.1/30";
const THERE: &str = "198.18.77.2";

/// A network namespace connected by a pair of interfaces. It is removed on drop.
struct Other {
    name: String,
}

impl Other {
    fn new() -> Option<Other> {
        let name = format!("punctual-{}", std::process::id());
        if !is_root() || !ip(&["netns", "add", &name]) {
            eprintln!("not tested: needs root, ip(8) and network namespaces");
            return None;
        }
        let other = Other { name };
        let ns = other.name.as_str();
        let made = ip(&["link", "add", "pt-here", "type", "veth", "peer", "name", "pt-there", "netns", ns])
            && ip(&["addr", "add", HERE, "dev", "pt-here"])
            && ip(&["link", "set", "pt-here", "up"])
            && ip(&["-n", ns, "addr", "add", &format!("{THERE}/30"), "dev", "pt-there"])
            && ip(&["-n", ns, "link", "set", "pt-there", "up"]);
        if !made {
            eprintln!("not tested: no veth interfaces here");
            return None;
        }
        Some(other)
    }

    fn serve(&self) -> Host {
        let mut host = Host::start_in(&["ip", "netns", "exec", &self.name], &["serve", &format!("{THERE}:7375")]);
        assert!(host.line().starts_with("Listening"));
        host
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        ip(&["link", "del", "pt-here"]);
        ip(&["netns", "del", &self.name]);
    }
}

fn ip(args: &[&str]) -> bool {
    Command::new("ip").args(args).status().is_ok_and(|s| s.success())
}

#[test]
#[ignore = "live: root, ip"]
fn over_a_pair_of_interfaces() {
    let _one = alone();
    let Some(other) = Other::new() else { return };
    let peer = format!("peer={THERE}");

    let report = run(&["run", "network", "1", &peer]);
    assert!(why(&report).contains("does not answer") && why(&report).contains("punctual serve"), "{report:?}");

    let mut server = other.serve();
    let report = run(&["run", "network", "1", &peer, "network_cap=20000000"]);
    assert!(report.ran, "{report:?}");
    assert!(report.proofs.iter().any(|p| p.what.contains("rx_packets") && p.after - p.before > 100), "{report:?}");
    assert!(report.notes.iter().any(|n| n.contains("not a network card itself")), "{report:?}");
    let rate = |what: &str| report.rates.iter().find(|r| r.what == what).unwrap().value;
    assert!(rate("TCP round trips") > 100.0 && rate("UDP round trips") > 10.0, "{report:?}");
    // The limit of 20 MB/s is 19.1 MiB/s.
    assert!((1.0..20.0).contains(&rate("sent and received")), "{report:?}");

    // The server ends while the load runs.
    let mut host = Host::start(&["run", "network", "2", &peer]);
    host.ready();
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    let report = host.report();
    assert!(why(&report).contains("stopped answering"), "{report:?}");

    // The link goes down.
    let _server = other.serve();
    let mut host = Host::start(&["run", "network", "6", &peer]);
    host.ready();
    ip(&["link", "set", "pt-here", "down"]);
    let report = host.report();
    assert!(!report.ran, "{report:?}");
}
