//! Decodes the kernel's records (include/uapi/linux/perf_event.h, enum perf_event_type).

/// Registers needed to unwind a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Regs {
    pub ip: u64,
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
    /// Link register; 0 on x86.
    pub lr: u64,
}

#[cfg(target_arch = "x86_64")]
mod arch {
    /// BP, SP, IP: arch/x86/include/uapi/asm/perf_regs.h.
    pub const MASK: u64 = 1 << 6 | 1 << 7 | 1 << 8;
    pub const COUNT: usize = 3;
    pub fn regs(words: [u64; COUNT]) -> super::Regs {
        super::Regs { fp: words[0], sp: words[1], ip: words[2], lr: 0 }
    }
}

#[cfg(target_arch = "aarch64")]
mod arch {
    /// X29, LR, SP, PC: arch/arm64/include/uapi/asm/perf_regs.h.
    pub const MASK: u64 = 1 << 29 | 1 << 30 | 1 << 31 | 1 << 32;
    pub const COUNT: usize = 4;
    pub fn regs(words: [u64; COUNT]) -> super::Regs {
        super::Regs { fp: words[0], lr: words[1], sp: words[2], ip: words[3] }
    }
}

#[cfg(target_arch = "arm")]
mod arch {
    /// FP, SP, LR, PC: arch/arm/include/uapi/asm/perf_regs.h.
    pub const MASK: u64 = 1 << 11 | 1 << 13 | 1 << 14 | 1 << 15;
    pub const COUNT: usize = 4;
    pub fn regs(words: [u64; COUNT]) -> super::Regs {
        super::Regs { fp: words[0], sp: words[1], lr: words[2], ip: words[3] }
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "arm")))]
mod arch {
    pub const MASK: u64 = 0;
    pub const COUNT: usize = 0;
    pub fn regs(_: [u64; COUNT]) -> super::Regs {
        super::Regs::default()
    }
}

pub(crate) use arch::MASK as REGS_MASK;

/// PERF_SAMPLE_* bits. They are the same for every event, so that each record has the common fields at a fixed distance
/// from its start or end.
pub(crate) const SAMPLE_TYPE: u64 = IDENTIFIER | TID | TIME | ADDR | CPU;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const ADDR: u64 = 1 << 3;
const CPU: u64 = 1 << 7;
pub(crate) const RAW: u64 = 1 << 10;
pub(crate) const REGS_USER: u64 = 1 << 12;
pub(crate) const STACK_USER: u64 = 1 << 13;
const IDENTIFIER: u64 = 1 << 16;

/// Thread, time and CPU of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    pub pid: i32,
    pub tid: i32,
    /// CLOCK_MONOTONIC, ns.
    pub time: u64,
    pub cpu: u32,
    /// ID of the event that produced the record.
    pub id: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample<'a> {
    pub meta: Meta,
    /// Faulting address, for page faults.
    pub address: u64,
    /// Raw fields, for tracepoints.
    pub raw: &'a [u8],
    pub regs: Option<Regs>,
    /// Copy of the user stack, from `regs.sp` upwards; shorter than requested if the stack ends.
    pub stack: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    Fork {
        meta: Meta,
        pid: i32,
        tid: i32,
        parent: i32,
        parent_tid: i32,
    },
    Exit {
        meta: Meta,
        pid: i32,
        tid: i32,
    },
    Comm {
        meta: Meta,
        pid: i32,
        tid: i32,
        name: &'a [u8],
        is_exec: bool,
    },
    /// An executable mapping.
    Mmap {
        meta: Meta,
        pid: i32,
        start: u64,
        length: u64,
        offset: u64,
        path: &'a [u8],
    },
    Switch {
        meta: Meta,
        is_out: bool,
        is_preempted: bool,
    },
    Sample(u32, Sample<'a>),
}

const HEADER: usize = 8;
/// Size of the trailer of every record except samples, bytes: pid, tid, time, cpu, identifier.
const TRAILER: usize = 32;

const FORK: u32 = 7;
const EXIT: u32 = 4;
const COMM: u32 = 3;
const MMAP2: u32 = 10;
const SAMPLE: u32 = 9;
pub(crate) const LOST: u32 = 2;
const SWITCH: u32 = 14;

/// Reads the numbers of a record one after another.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(first)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn i32(&mut self) -> Option<i32> {
        self.u32().map(u32::cast_signed)
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }
}

pub(crate) fn kind_of(record: &[u8]) -> Option<(u32, u16)> {
    let mut reader = Reader(record);
    let kind = reader.u32()?;
    Some((kind, u16::from_ne_bytes(reader.take(2)?.try_into().ok()?)))
}

/// Reads thread, time and CPU of a record of any type.
pub(crate) fn meta(record: &[u8]) -> Option<Meta> {
    let (kind, _) = kind_of(record)?;
    if kind == SAMPLE {
        let mut reader = Reader(record.get(HEADER..)?);
        let id = reader.u64()?;
        let (pid, tid, time, _address, cpu) =
            (reader.i32()?, reader.i32()?, reader.u64()?, reader.u64()?, reader.u32()?);
        return Some(Meta { pid, tid, time, cpu, id });
    }
    let at = record.len().checked_sub(TRAILER).filter(|at| *at >= HEADER)?;
    let mut reader = Reader(&record[at..]);
    let (pid, tid, time, cpu, _) = (reader.i32()?, reader.i32()?, reader.u64()?, reader.u32()?, reader.u32()?);
    Some(Meta { pid, tid, time, cpu, id: reader.u64()? })
}

/// Returns the number of records that the kernel could not write, from a LOST record.
pub(crate) fn lost(record: &[u8]) -> Option<u64> {
    let mut reader = Reader(record.get(HEADER..)?);
    reader.u64()?;
    reader.u64()
}

/// Decodes a record of an event with this tag and sample type; `None` for types that are not used and truncated
/// records.
pub(crate) fn parse(record: &[u8], tag: u32, sample_type: u64) -> Option<Record<'_>> {
    let (kind, misc) = kind_of(record)?;
    let meta = meta(record)?;
    let mut reader = Reader(record.get(HEADER..)?);
    match kind {
        SAMPLE => sample(reader, meta, sample_type).map(|sample| Record::Sample(tag, sample)),
        FORK | EXIT => {
            let (pid, parent, tid, parent_tid) = (reader.i32()?, reader.i32()?, reader.i32()?, reader.i32()?);
            Some(match kind {
                FORK => Record::Fork { meta, pid, tid, parent, parent_tid },
                _ => Record::Exit { meta, pid, tid },
            })
        }
        COMM => {
            let (pid, tid) = (reader.i32()?, reader.i32()?);
            let name = text(reader.0.get(..reader.0.len().checked_sub(TRAILER)?)?);
            Some(Record::Comm { meta, pid, tid, name, is_exec: misc & 1 << 13 != 0 })
        }
        MMAP2 => {
            let (pid, _tid) = (reader.i32()?, reader.i32()?);
            let (start, length, offset) = (reader.u64()?, reader.u64()?, reader.u64()?);
            // Skips maj, min, ino, ino_generation (or a build ID), prot and flags.
            reader.take(24 + 8)?;
            let path = text(reader.0.get(..reader.0.len().checked_sub(TRAILER)?)?);
            Some(Record::Mmap { meta, pid, start, length, offset, path })
        }
        SWITCH => Some(Record::Switch { meta, is_out: misc & 1 << 13 != 0, is_preempted: misc & 1 << 14 != 0 }),
        _ => None,
    }
}

fn sample<'a>(mut reader: Reader<'a>, meta: Meta, sample_type: u64) -> Option<Sample<'a>> {
    reader.take(24)?;
    let address = reader.u64()?;
    reader.take(8)?;
    let mut raw: &[u8] = &[];
    if sample_type & RAW != 0 {
        let size = reader.u32()? as usize;
        raw = reader.take(size)?;
    }
    let mut regs = None;
    if sample_type & REGS_USER != 0 && reader.u64()? != 0 {
        let mut words = [0; arch::COUNT];
        for word in &mut words {
            *word = reader.u64()?;
        }
        regs = Some(arch::regs(words));
    }
    let mut stack: &[u8] = &[];
    if sample_type & STACK_USER != 0 {
        let size = reader.u64()? as usize;
        if size > 0 {
            let copied = reader.take(size)?;
            let used = reader.u64()? as usize;
            stack = copied.get(..used)?;
        }
    }
    Some(Sample { meta, address, raw, regs, stack })
}

fn text(padded: &[u8]) -> &[u8] {
    padded.split(|byte| *byte == 0).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let mut out = kind.to_ne_bytes().to_vec();
        out.extend(misc.to_ne_bytes());
        out.extend(((HEADER + body.len()) as u16).to_ne_bytes());
        out.extend(body);
        out
    }

    fn trailer() -> Vec<u8> {
        let mut out = Vec::new();
        [7u32, 8].iter().for_each(|n| out.extend(n.to_ne_bytes()));
        out.extend(1_000u64.to_ne_bytes());
        [3u32, 0].iter().for_each(|n| out.extend(n.to_ne_bytes()));
        out.extend(99u64.to_ne_bytes());
        out
    }

    const META: Meta = Meta { pid: 7, tid: 8, time: 1_000, cpu: 3, id: 99 };

    #[test]
    fn a_name_and_a_switch_are_read() {
        let mut body = [7i32.to_ne_bytes(), 8i32.to_ne_bytes()].concat();
        body.extend(b"control\0");
        body.extend(trailer());
        let bytes = record(COMM, 1 << 13, &body);
        assert_eq!(
            parse(&bytes, 0, 0),
            Some(Record::Comm { meta: META, pid: 7, tid: 8, name: b"control", is_exec: true })
        );
        let bytes = record(SWITCH, 3 << 13, &trailer());
        assert_eq!(parse(&bytes, 0, 0), Some(Record::Switch { meta: META, is_out: true, is_preempted: true }));
    }

    #[test]
    fn a_sample_has_its_fields_registers_and_stack() {
        let mut body = 99u64.to_ne_bytes().to_vec();
        [7u32, 8].iter().for_each(|n| body.extend(n.to_ne_bytes()));
        [1_000u64, 0xfa].iter().for_each(|n| body.extend(n.to_ne_bytes()));
        [3u32, 0].iter().for_each(|n| body.extend(n.to_ne_bytes()));
        body.extend(4u32.to_ne_bytes());
        body.extend([1, 2, 3, 4]);
        body.extend(2u64.to_ne_bytes());
        (0..arch::COUNT as u64).for_each(|n| body.extend((100 + n).to_ne_bytes()));
        body.extend(16u64.to_ne_bytes());
        body.extend([5; 16]);
        body.extend(8u64.to_ne_bytes());
        let bytes = record(SAMPLE, 0, &body);
        let Some(Record::Sample(5, sample)) = parse(&bytes, 5, SAMPLE_TYPE | RAW | REGS_USER | STACK_USER) else {
            panic!()
        };
        assert_eq!(
            (sample.meta, sample.address, sample.raw, sample.stack),
            (META, 0xfa, &[1, 2, 3, 4][..], &[5; 8][..])
        );
        assert!(sample.regs.is_some());
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(kind in 0u32..18, misc: u16, body in prop::collection::vec(any::<u8>(), 0..200), types: u64) {
            let bytes = record(kind, misc, &body);
            let _ = (parse(&bytes, 1, types), meta(&bytes), lost(&bytes));
            let _ = parse(&body, 1, types);
        }
    }
}
