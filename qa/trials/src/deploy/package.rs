//! Packages the distribution's kernel with what a guest needs, either intact or damaged.

use super::cases::{Case, Injection};
use crate::guests;
use punctual_vm::Arch;
use std::fs;
use std::path::{Path, PathBuf};

/// The kernel to package. Its series differs from those of the image's own kernels, whose files already exist in the
/// image.
const KERNEL: &str = "rt@6.1";
/// Folders with the modules that a guest with virtio needs.
const MODULES: [&str; 13] = [
    "kernel/drivers/virtio",
    "kernel/drivers/block/virtio_blk",
    "kernel/drivers/net/virtio_net",
    "kernel/drivers/net/net_failover",
    "kernel/net/core",
    "kernel/drivers/watchdog/i6300esb",
    "kernel/fs/ext4",
    "kernel/fs/jbd2",
    "kernel/fs/mbcache",
    "kernel/lib",
    "kernel/crypto/crc32c",
    "kernel/arch/x86/crypto/crc",
    "modules.",
];

pub fn kernel(case: &Case) -> Result<Vec<u8>, String> {
    let (kernel, _) = guests::kernel(KERNEL, Arch::Amd64)?;
    let missing = || format!("{} has no modules or release", kernel.name);
    let (modules, release) = (kernel.modules.clone().ok_or_else(missing)?, kernel.release.clone().ok_or_else(missing)?);
    let modules = if modules.ends_with(&release) { modules } else { modules.join("lib/modules").join(&release) };
    let mut tar = tar::Builder::new(Vec::new());
    let mut image = read(&kernel.image)?;
    if case.injection == Injection::Loops {
        loops(&mut image)?;
    }
    add(&mut tar, &format!("boot/vmlinuz-{release}"), &image)?;
    if let Some(config) = &kernel.config {
        add(&mut tar, &format!("boot/config-{release}"), &read(config)?)?;
    }
    let mut folders = vec![modules.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?.flatten() {
            let path = entry.path();
            let name = path.strip_prefix(&modules).unwrap_or(&path).display().to_string();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && is_wanted(case, &name) => {
                    add(&mut tar, &format!("lib/modules/{release}/{name}"), &read(&path)?)?;
                }
                _ => {}
            }
        }
    }
    tar.into_inner().map_err(|e| e.to_string())
}

fn is_wanted(case: &Case, name: &str) -> bool {
    let is_out = matches!(case.injection, Injection::Without(part) if name.contains(part));
    !is_out && MODULES.iter().any(|start| name.starts_with(start))
}

fn read(path: &PathBuf) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn add(tar: &mut tar::Builder<Vec<u8>>, name: &str, content: &[u8]) -> Result<(), String> {
    let mut header = tar::Header::new_gnu();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append_data(&mut header, Path::new(name), content).map_err(|e| format!("{name}: {e}"))
}

/// Overwrites the places at which the firmware or GRUB enters an image with `cli; jmp .`: the entry point in the PE
/// header, and the handover entry after the real-mode part (Documentation/arch/x86/boot.rst: setup_sects at 0x1f1,
/// handover_offset at 0x264; 512 bytes further for 64 bits).
fn loops(image: &mut [u8]) -> Result<(), String> {
    let number = |image: &[u8], at: usize| {
        let bytes = image.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes.map(|bytes| u32::from_le_bytes(bytes) as usize).ok_or("the image is truncated")
    };
    let setup = (usize::from(*image.get(0x1f1).ok_or("the image is truncated")?) + 1) * 512;
    let pe = number(image, 0x3c)?;
    let entries = [
        number(image, pe + 0x28)?,
        setup + number(image, 0x264)?,
        setup + number(image, 0x264)? + 512,
        setup + 0x200,
        setup,
    ];
    for entry in entries {
        image.get_mut(entry..entry + 3).ok_or("an entry lies beyond the image")?.copy_from_slice(&[0xfa, 0xeb, 0xfe]);
    }
    Ok(())
}
