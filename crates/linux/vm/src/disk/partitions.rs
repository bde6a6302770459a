//! A GUID partition table with two entries (UEFI specification 2.10, chapter 5): the loader's partition and the root.

use flate2::Crc;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const SECTOR: u64 = 512;
const MIB: u64 = 1 << 20;
/// Bytes for 128 entries of 128 bytes, which all readers expect.
const ENTRIES: usize = 128 * 128;
const ENTRY: usize = 128;
/// C12A7328-F81F-11D2-BA4B-00A0C93EC93B, an EFI system partition; the first three parts are little-endian.
const ESP: [u8; 16] = [0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b];
/// 0FC63DAF-8483-4772-8E79-3D69D8477DE4, a Linux file system.
const LINUX: [u8; 16] =
    [0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4];

/// Positions of the parts of a disk image in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub disk: u64,
    /// Start of the second partition in bytes; the first one lies between 1 MiB and this position.
    pub root: u64,
}

impl Layout {
    /// Creates a layout from sizes in MiB.
    pub fn of(esp_mib: u64, root_mib: u64) -> Layout {
        let root = MIB + esp_mib * MIB;
        Layout { disk: root + root_mib * MIB + MIB, root }
    }

    pub fn root_bytes(&self) -> u64 {
        self.disk - MIB - self.root
    }

    /// Sets the file's size and writes both copies of the table.
    pub fn write(&self, disk: &File) -> io::Result<()> {
        disk.set_len(self.disk)?;
        let last = self.disk / SECTOR - 1;
        let entries = self.entries();
        disk.write_all_at(&self.protective(), 0)?;
        disk.write_all_at(&self.header(1, last, 2, &entries), SECTOR)?;
        disk.write_all_at(&entries, 2 * SECTOR)?;
        let spare = last - ENTRIES as u64 / SECTOR;
        disk.write_all_at(&entries, spare * SECTOR)?;
        disk.write_all_at(&self.header(last, 1, spare, &entries), last * SECTOR)
    }

    fn entries(&self) -> Vec<u8> {
        let root_end = self.root + self.root_bytes();
        let mut bytes = entry(ESP, 1, MIB, self.root, "ESP");
        bytes.extend(entry(LINUX, 2, self.root, root_end, "root"));
        bytes.resize(ENTRIES, 0);
        bytes
    }

    fn protective(&self) -> Vec<u8> {
        let mut bytes = vec![0; 446];
        let sectors = u32::try_from(self.disk / SECTOR - 1).unwrap_or(u32::MAX);
        bytes.extend([0x00, 0x00, 0x02, 0x00, 0xee, 0xff, 0xff, 0xff]);
        bytes.extend(1u32.to_le_bytes());
        bytes.extend(sectors.to_le_bytes());
        bytes.resize(510, 0);
        bytes.extend([0x55, 0xaa]);
        bytes
    }

    fn header(&self, mine: u64, other: u64, table: u64, entries: &[u8]) -> Vec<u8> {
        let made = |sum: u32| {
            let mut bytes = b"EFI PART\0\0\x01\0".to_vec();
            bytes.extend(92u32.to_le_bytes());
            bytes.extend(sum.to_le_bytes());
            bytes.extend([0; 4]);
            let first = 2 + ENTRIES as u64 / SECTOR;
            let last = self.disk / SECTOR - 2 - ENTRIES as u64 / SECTOR;
            for place in [mine, other, first, last] {
                bytes.extend(place.to_le_bytes());
            }
            bytes.extend(identity(0));
            bytes.extend(table.to_le_bytes());
            for number in [(ENTRIES / ENTRY) as u32, ENTRY as u32, crc(entries)] {
                bytes.extend(number.to_le_bytes());
            }
            bytes
        };
        made(crc(&made(0)))
    }
}

fn entry(kind: [u8; 16], number: u8, start: u64, end: u64, name: &str) -> Vec<u8> {
    let mut bytes = kind.to_vec();
    bytes.extend(identity(number));
    bytes.extend((start / SECTOR).to_le_bytes());
    bytes.extend((end / SECTOR - 1).to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(name.encode_utf16().flat_map(u16::to_le_bytes));
    bytes.resize(ENTRY, 0);
    bytes
}

/// Returns a fixed identifier in the form of a random one (RFC 9562, version 4). It need not be unique, because a guest
/// has only one partitioned disk.
fn identity(number: u8) -> [u8; 16] {
    let mut bytes = *b"punctual\x40lab-\0\0\0";
    bytes[7] = 0x40;
    bytes[8] = 0x80;
    bytes[15] = number;
    bytes
}

fn crc(bytes: &[u8]) -> u32 {
    let mut sum = Crc::new();
    sum.update(bytes);
    sum.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_copies_hold_the_same_table() {
        let file = tempfile::tempfile().unwrap();
        let layout = Layout::of(32, 100);
        layout.write(&file).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 134 * MIB);
        let read = |at: u64, length: usize| {
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, at).unwrap();
            bytes
        };
        let last = layout.disk / SECTOR - 1;
        for (mine, other) in [(1, last), (last, 1)] {
            let mut header = read(mine * SECTOR, 92);
            let word = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap());
            assert_eq!((word(24), word(32)), (mine, other));
            let entries = read(word(72) * SECTOR, ENTRIES);
            assert_eq!(crc(&entries).to_le_bytes(), header[88..92]);
            assert_eq!(entries[32..40], 2048u64.to_le_bytes());
            assert_eq!(entries[128 + 32..128 + 40], (layout.root / SECTOR).to_le_bytes());
            let sum: [u8; 4] = header[16..20].try_into().unwrap();
            header[16..20].fill(0);
            assert_eq!(crc(&header).to_le_bytes(), sum);
        }
        assert_eq!(read(510, 2), [0x55, 0xaa]);
    }
}
