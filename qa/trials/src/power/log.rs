//! Reads the log of a disk's writes (Documentation/admin-guide/device-mapper/log-writes.rst), and computes what
//! survives a power cut.

use punctual_stats::SplitMix64;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::{fs, io};

/// WRITE_LOG_MAGIC of drivers/md/dm-log-writes.c.
const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1;
const FUA: u64 = 1 << 1;
const DISCARD: u64 = 1 << 2;
/// Size of the unit that a disk writes atomically, bytes.
pub const BLOCK: usize = 4096;

type Block = Box<[u8; BLOCK]>;

pub enum Entry {
    /// Byte offset on the disk, and the location of the written bytes in the log; without a location, zeros are
    /// written.
    Write {
        at: u64,
        length: u64,
        bytes: Option<Range<usize>>,
        is_forced: bool,
    },
    Flush,
}

pub struct WriteLog {
    bytes: Vec<u8>,
    pub entries: Vec<Entry>,
}

/// All non-zero blocks of a disk.
#[derive(Clone, Default)]
pub struct Image(BTreeMap<u64, Block>);

impl WriteLog {
    pub fn read(path: &Path) -> Result<WriteLog, String> {
        let bytes = fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        parse(bytes).ok_or_else(|| format!("{}: no log of writes", path.display()))
    }

    /// Returns the bytes that a logged write put on the disk.
    pub fn content(&self, entry: &Entry) -> &[u8] {
        match entry {
            Entry::Write { bytes: Some(range), .. } => &self.bytes[range.clone()],
            _ => &[],
        }
    }

    fn apply(&self, entry: &Entry, image: &mut Image, mut keeps: impl FnMut() -> bool) {
        let Entry::Write { at, length, is_forced, .. } = entry else { return };
        let (content, end) = (self.content(entry), at + length);
        let mut from = *at;
        while from < end {
            let (number, inside) = (from / BLOCK as u64, (from % BLOCK as u64) as usize);
            let part = (BLOCK - inside).min((end - from) as usize);
            if *is_forced || keeps() {
                let block = image.0.entry(number).or_insert_with(|| Box::new([0; BLOCK]));
                let of_write = (from - at) as usize;
                match content.get(of_write..of_write + part) {
                    Some(bytes) => block[inside..inside + part].copy_from_slice(bytes),
                    None => block[inside..inside + part].fill(0),
                }
            }
            from += part as u64;
        }
    }

    /// Calls `each` with the contents of the disk if the power is cut directly after each of these entries, in order:
    /// everything written before the last flush, and each block of later writes with the probability that is given with
    /// the entry.
    pub fn cut(
        &self,
        base: Image,
        cuts: &[(usize, f64)],
        random: &mut SplitMix64,
        mut each: impl FnMut(usize, Image) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut durable, mut unflushed) = (base, 0);
        for (number, entry) in self.entries.iter().enumerate() {
            if matches!(entry, Entry::Flush) {
                self.entries[unflushed..number].iter().for_each(|entry| self.apply(entry, &mut durable, || true));
                unflushed = number;
            }
            for (which, (_, kept)) in cuts.iter().enumerate().filter(|(_, (at, _))| *at == number) {
                let mut left = durable.clone();
                for entry in &self.entries[unflushed..=number] {
                    self.apply(entry, &mut left, || random.uniform() < *kept);
                }
                each(which, left)?;
            }
        }
        Ok(())
    }
}

fn parse(bytes: Vec<u8>) -> Option<WriteLog> {
    let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let sector = u32::from_le_bytes(bytes.get(24..28)?.try_into().ok()?) as usize;
    if word(0)? != MAGIC || sector < 512 {
        return None;
    }
    let (mut entries, mut at) = (Vec::new(), sector);
    while let (Some(first), Some(count), Some(flags)) = (word(at), word(at + 8), word(at + 16)) {
        let length = count * sector as u64;
        let data = at + sector..(at + sector).checked_add(length as usize)?;
        at += sector;
        if flags & FLUSH != 0 {
            entries.push(Entry::Flush);
        }
        if count > 0 {
            let is_discard = flags & DISCARD != 0;
            // If the emulator was killed, the log may end within a write.
            if !is_discard && data.end > bytes.len() {
                break;
            }
            at = if is_discard { at } else { data.end };
            let is_forced = flags & FUA != 0;
            let range = (!is_discard).then_some(data);
            entries.push(Entry::Write { at: first * sector as u64, length, bytes: range, is_forced });
        }
    }
    Some(WriteLog { bytes, entries })
}

impl Image {
    pub fn read(path: &Path) -> io::Result<Image> {
        let bytes = fs::read(path)?;
        let blocks = bytes.as_chunks::<BLOCK>().0.iter().enumerate();
        let blocks = blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0));
        Ok(Image(blocks.map(|(number, block)| (number as u64, Box::new(*block))).collect()))
    }

    /// Writes the image as a sparse file.
    pub fn write(&self, path: &Path, length: u64) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let file = fs::File::create(path)?;
        file.set_len(length)?;
        self.0.iter().try_for_each(|(number, block)| file.write_all_at(&block[..], number * BLOCK as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(first: u64, count: u64, flags: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = [first, count, flags, 0].map(u64::to_le_bytes).concat();
        bytes.resize(512, 0);
        bytes.extend(data);
        bytes
    }

    fn log(entries: &[Vec<u8>]) -> WriteLog {
        let mut bytes = [MAGIC, 1, entries.len() as u64, 512].map(u64::to_le_bytes).concat();
        bytes.resize(512, 0);
        bytes.extend(entries.concat());
        parse(bytes).unwrap()
    }

    /// Returns the byte in each of four sectors after a cut that follows this entry.
    fn after(log: &WriteLog, cut: usize, kept: f64) -> Vec<u8> {
        let mut found = Vec::new();
        let each = |_: usize, image: Image| {
            let byte = |sector: u64| {
                image.0.get(&(sector * 512 / BLOCK as u64)).map_or(0, |block| block[(sector * 512) as usize % BLOCK])
            };
            found = [0, 1, 8, 9].map(byte).to_vec();
            Ok(())
        };
        log.cut(Image::default(), &[(cut, kept)], &mut SplitMix64::new(1), each).unwrap();
        found
    }

    #[test]
    fn what_was_flushed_stays_and_what_was_not_may_be_lost() {
        let log = log(&[
            entry(0, 1, 0, &[1; 512]),
            entry(0, 0, FLUSH, &[]),
            entry(1, 8, 0, &[2; 8 * 512]),
            entry(9, 1, FUA, &[3; 512]),
            entry(0, 8, DISCARD, &[]),
        ]);
        assert_eq!(log.entries.len(), 5);
        assert_eq!(after(&log, 0, 0.0), [0, 0, 0, 0], "not flushed");
        assert_eq!(after(&log, 1, 0.0), [1, 0, 0, 0]);
        assert_eq!(after(&log, 2, 1.0), [1, 2, 2, 0], "over two blocks");
        assert_eq!(after(&log, 3, 0.0), [1, 0, 0, 3], "forced");
        assert_eq!(after(&log, 4, 1.0), [0, 0, 2, 3], "discarded");
    }

    #[test]
    fn a_log_that_ends_within_a_write_is_read_to_there() {
        let mut cut = entry(1, 8, 0, &[2; 4096]);
        cut.truncate(1000);
        assert_eq!(log(&[entry(0, 1, 0, &[1; 512]), cut]).entries.len(), 1);
        assert!(parse(vec![0; 600]).is_none());
    }
}
