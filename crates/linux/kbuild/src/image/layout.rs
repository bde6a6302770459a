//! A master boot record with two partitions, as read by the firmware of every Raspberry Pi.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

pub const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;
/// Partition type of FAT32 with logical block addresses.
const FAT: u8 = 0x0c;
const LINUX: u8 = 0x83;
/// Disk signature; the root partition's name is PARTUUID=70756e63-02.
const IDENTITY: u32 = 0x7075_6e63;

/// Layout of the disk, as byte offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Size of the disk: a power of two, as QEMU requires of SD cards.
    pub disk: u64,
    /// Start of the first partition.
    pub boot: u64,
    /// Start of the second partition, and end of the first.
    pub root: u64,
}

impl Layout {
    /// Returns a disk of 512 MiB, with 124 MiB for the firmware, kernels and device trees.
    pub fn usual() -> Layout {
        Layout { disk: 512 * MIB, boot: 4 * MIB, root: 128 * MIB }
    }

    /// Sets the file's size and writes the partition table.
    pub fn write(&self, disk: &File) -> io::Result<()> {
        disk.set_len(self.disk)?;
        let mut record = vec![0; 440];
        record.extend(IDENTITY.to_le_bytes());
        record.extend([0, 0]);
        record.extend(entry(FAT, self.boot, self.root));
        record.extend(entry(LINUX, self.root, self.disk));
        record.resize(510, 0);
        record.extend([0x55, 0xaa]);
        disk.write_all_at(&record, 0)
    }
}

pub fn root_name() -> String {
    format!("PARTUUID={IDENTITY:08x}-02")
}

fn entry(kind: u8, start: u64, end: u64) -> Vec<u8> {
    // The obsolete cylinder, head and sector fields get the values for "use the logical address".
    let mut bytes = vec![0, 0xfe, 0xff, 0xff, kind, 0xfe, 0xff, 0xff];
    for number in [start / SECTOR, (end - start) / SECTOR] {
        bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_both_partitions() {
        let file = tempfile::tempfile().unwrap();
        let layout = Layout::usual();
        layout.write(&file).unwrap();
        let mut record = [0; 512];
        file.read_exact_at(&mut record, 0).unwrap();
        let number = |at: usize| u64::from(u32::from_le_bytes(record[at..at + 4].try_into().unwrap()));
        assert_eq!((record[446 + 4], number(446 + 8) * SECTOR), (FAT, layout.boot));
        assert_eq!((number(446 + 8) + number(446 + 12)) * SECTOR, layout.root);
        assert_eq!((number(462 + 8) + number(462 + 12)) * SECTOR, file.metadata().unwrap().len());
        assert!(layout.disk.is_power_of_two() && record[510..] == [0x55, 0xaa]);
        assert_eq!(root_name(), "PARTUUID=70756e63-02");
    }
}
