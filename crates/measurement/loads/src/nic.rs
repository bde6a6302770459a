use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The network cards that an interface uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Card {
    pub numbers: Vec<u32>,
    /// Names that identify the card's lines in /proc/interrupts.
    pub names: Vec<String>,
    /// True if the interface has no device: a tunnel, or one end of a pair whose other end is in another network
    /// namespace.
    pub is_virtual: bool,
}

/// Maximum depth of nested interfaces, for example bonds of bridges of VLANs.
const DEPTH: u32 = 4;

pub(crate) fn of(interface: &str) -> Card {
    under(Path::new("/sys/class/net"), interface)
}

fn under(net: &Path, interface: &str) -> Card {
    let mut numbers = BTreeSet::new();
    let mut names = BTreeSet::new();
    let mut devices = 0;
    for name in lowest(net, interface, DEPTH) {
        let Ok(device) = fs::canonicalize(net.join(&name).join("device")) else { continue };
        devices += 1;
        names.insert(name);
        // A virtio card is named virtio3. Names such as 0000:01:00.0 or fd580000.ethernet match no other device.
        names.extend(device.file_name().and_then(|n| n.to_str()).map(String::from));
        // A virtio card's interrupts belong to its parent PCI device.
        for folder in [Some(device.as_path()), device.parent()].into_iter().flatten() {
            numbers.extend(listed(&folder.join("msi_irqs")));
        }
    }
    Card { numbers: numbers.into_iter().collect(), names: names.into_iter().collect(), is_virtual: devices == 0 }
}

/// Returns the physical interfaces that carry the traffic of this interface.
fn lowest(net: &Path, interface: &str, depth: u32) -> BTreeSet<String> {
    let entries = fs::read_dir(net.join(interface)).into_iter().flatten().flatten();
    let lower: Vec<String> =
        entries.filter_map(|e| e.file_name().to_str()?.strip_prefix("lower_").map(String::from)).collect();
    if lower.is_empty() || depth == 0 {
        return [interface.to_string()].into();
    }
    lower.iter().flat_map(|name| lowest(net, name, depth - 1)).collect()
}

fn listed(folder: &Path) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn cards_under_a_vlan_on_a_bond() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let net = at("class/net");
        for folder in ["devices/0000:00:04.0/virtio3", "devices/0000:00:04.0/msi_irqs", "devices/fd58.ethernet"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for name in ["eth0", "eth1", "bond0", "bond0.5", "veth9"] {
            fs::create_dir_all(net.join(name)).unwrap();
        }
        for number in ["41", "42"] {
            fs::write(at("devices/0000:00:04.0/msi_irqs").join(number), "").unwrap();
        }
        symlink(at("devices/0000:00:04.0/virtio3"), net.join("eth0/device")).unwrap();
        symlink(at("devices/fd58.ethernet"), net.join("eth1/device")).unwrap();
        symlink("../eth0", net.join("bond0/lower_eth0")).unwrap();
        symlink("../eth1", net.join("bond0/lower_eth1")).unwrap();
        symlink("../bond0", net.join("bond0.5/lower_bond0")).unwrap();
        let card = under(&net, "bond0.5");
        assert_eq!(card.numbers, [41, 42]);
        assert_eq!(card.names, ["eth0", "eth1", "fd58.ethernet", "virtio3"]);
        assert!(!card.is_virtual);
        assert!(under(&net, "veth9").is_virtual);
        assert!(under(&net, "gone").is_virtual);
    }
}
