//! The guest's root file system: BusyBox, the caller's files and script, and the kernel modules they need.

use crate::cache::Cache;
use crate::cpio::Archive;
use crate::error::VmError;
use crate::guest::{Disk, Guest};
use crate::kernel::package_file;
use crate::modules::{Index, Module};
use crate::network::Network;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

const INIT: &str = include_str!("init.sh");
const FOLDERS: [&str; 16] = [
    "bin", "dev", "etc", "lib", "mnt", "modules", "proc", "root", "run", "scratch", "sbin", "sys", "tmp", "usr",
    "usr/bin", "var",
];
const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n";
const GROUP: &str = "root:x:0:\nnogroup:x:65534:\n";

/// Modules for the disk. Checksums and libraries come first, because the other modules request them by name.
const DISK_MODULES: [&str; 5] = ["crc32c_generic", "crc32c_intel", "libcrc32c", "ext4", "null_blk"];
const NETWORK_MODULES: [&str; 2] = ["virtio_pci", "virtio_net"];

/// Builds the initramfs; `network` is the guest's network, and the guest's number in it.
pub(crate) fn build(guest: &Guest, network: Option<(&Network, u32)>, cache: &Cache) -> Result<Vec<u8>, VmError> {
    let busybox = match &guest.busybox {
        Some(path) => path.clone(),
        None => package_file("busybox-static", guest.kernel.arch, "bin/busybox", cache)?,
    };
    let busybox = fs::read(&busybox).map_err(VmError::file("read", &busybox))?;
    let modules = modules(guest, network.is_some())?;
    let mut archive = Archive::default();
    let mut folders = BTreeSet::new();
    for folder in FOLDERS {
        archive.directory(folder, 0o755);
        folders.insert(folder.to_owned());
    }
    archive.character("dev/console", 0o600, 5, 1);
    archive.character("dev/null", 0o666, 1, 3);
    archive.file("bin/busybox", 0o755, &busybox);
    archive.file("etc/passwd", 0o644, PASSWD.as_bytes());
    archive.file("etc/group", 0o644, GROUP.as_bytes());
    archive.file("etc/hosts", 0o644, format!("127.0.0.1 localhost {}\n", guest.hostname).as_bytes());
    for module in &modules {
        archive.file(&format!("modules/{}.ko", module.name), 0o644, &module.object);
    }
    for file in &guest.files {
        for (at, _) in file.path.match_indices('/').skip(1) {
            let parent = file.path[1..at].to_owned();
            if folders.insert(parent.clone()) {
                archive.directory(&parent, 0o755);
            }
        }
        archive.file(&file.path, file.mode, &file.content);
    }
    archive.file("script", 0o755, guest.script.as_bytes());
    archive.file("init", 0o755, init(guest, network, &modules).as_bytes());
    compress(&archive.finish())
}

fn modules(guest: &Guest, network: bool) -> Result<Vec<Module>, VmError> {
    let mut wanted: Vec<&str> = guest.modules.iter().map(String::as_str).collect();
    if guest.disk != Disk::None {
        wanted.extend(DISK_MODULES);
    }
    if network || !guest.forwards.is_empty() {
        wanted.extend(NETWORK_MODULES);
    }
    match &guest.kernel.modules {
        Some(folder) if !wanted.is_empty() => Index::of(folder)?.load_order(&wanted),
        _ => Ok(Vec::new()),
    }
}

fn init(guest: &Guest, network: Option<(&Network, u32)>, modules: &[Module]) -> String {
    let load: Vec<String> = modules
        .iter()
        .map(|module| {
            let parameters = match (module.name.as_str(), guest.disk) {
                // irqmode 2: a timer of the guest completes the requests.
                ("null_blk", Disk::Memory { mib }) => {
                    let gb = mib.div_ceil(1024);
                    format!(" memory_backed=1 gb={gb} bs=4096 irqmode=2 completion_nsec=500000 nr_devices=1")
                }
                _ => String::new(),
            };
            format!("insmod /modules/{}.ko{parameters}", module.name)
        })
        .collect();
    let disk = match guest.disk {
        Disk::None => String::new(),
        Disk::Memory { mib } => format!(
            "mke2fs -q -b 4096 /dev/nullb0 {} >/dev/null && mount -t ext4 /dev/nullb0 /scratch && chmod 1777 /scratch \
             || echo 'no disk: this kernel lacks null_blk or ext4'",
            u64::from(mib) * 1024
        ),
    };
    let address = match network {
        Some((_, number)) => {
            format!(
                "export VM_NUMBER={number}\nip link set eth0 up && ip addr add {}/24 dev eth0",
                Network::address(number)
            )
        }
        None if !guest.forwards.is_empty() => {
            "ip link set eth0 up && ip addr add 10.0.2.15/24 dev eth0 && ip route add default via 10.0.2.2".into()
        }
        None => String::new(),
    };
    INIT.replace("@HOSTNAME@", &guest.hostname)
        .replace("@MODULES@", &load.join("\n"))
        .replace("@DISK@", &disk)
        .replace("@NETWORK@", &address)
        .replace("@FETCH@", &guest.fetch.join(" "))
}

/// Compresses without a time stamp, so that the same input gives the same bytes.
fn compress(bytes: &[u8]) -> Result<Vec<u8>, VmError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let done = encoder.write_all(bytes).and_then(|()| encoder.finish());
    done.map_err(VmError::file("compress", "the initramfs"))
}
