//! Opens events and their ring buffers on every CPU, and returns the records in chronological order.

use crate::record::{self, LOST, RAW, REGS_MASK, REGS_USER, Record, SAMPLE_TYPE, STACK_USER};
use punctual_uapi::{Error, PerfAttr, PerfEvent, PerfRing};
use punctual_units::CpuList;
use std::collections::HashMap;
use std::ffi::CStr;
use std::os::fd::AsFd;

// Bits of `flags` of struct perf_event_attr.
const DISABLED: u64 = 1;
const INHERIT: u64 = 1 << 1;
const EXEC_MAPPINGS: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCKID: u64 = 1 << 25;
const CONTEXT_SWITCH: u64 = 1 << 26;
/// PERF_FORMAT_ID, PERF_FORMAT_LOST (Linux 6.0).
const FORMAT_ID: u64 = 1 << 2;
const FORMAT_LOST: u64 = 1 << 4;
const CLOCK_MONOTONIC: i32 = 1;
const SOFTWARE: u32 = 1;
const TRACEPOINT: u32 = 2;
const BREAKPOINT: u32 = 5;
const SW_DUMMY: u64 = 9;
/// HW_BREAKPOINT_X: the breakpoint is hit when the instruction is executed.
const EXECUTE: u32 = 4;

/// Fill level, as a share of the buffer, above which kernels before 6.0 may have lost records that they have not yet
/// reported.
const NEARLY_FULL: f64 = 0.9;

/// The kind of event to observe.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Creation, exit, renaming and context switches of threads, and executable mappings.
    Tasks,
    /// A software event, `PERF_COUNT_SW_*`.
    Software(u64),
    /// The tracepoint with this ID.
    Tracepoint(u64),
    /// Execution of the instruction at this address, detected by a debug register.
    Breakpoint { address: u64 },
}

#[derive(Clone, Copy, Debug)]
pub struct Spec {
    pub source: Source,
    /// Maximum number of bytes of the user stack to copy with each record; 0 copies neither stack nor registers.
    pub stack: u32,
    /// Tag that is returned with each record of the event.
    pub tag: u32,
    /// Filter by the fields of a tracepoint ([`PerfEvent::set_filter`]); records that it excludes are not written.
    pub filter: Option<&'static CStr>,
}

/// The threads to observe.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// A thread that is about to call execve(2), and all threads that it creates. Recording begins at the exec.
    Starting(i32),
    /// These threads, and all threads that they create from now on.
    Threads(&'a [i32]),
    /// These threads only.
    Only(&'a [i32]),
    /// All threads of the machine.
    All,
}

/// The ring buffer of a CPU to which an event is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// For records whose loss makes the observation incomplete; losses are counted.
    Main,
    /// For records whose loss is acceptable; losses are not counted.
    Spare,
}

/// Identifies the events that one call of [`Observer::open`] opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(u32);

struct Ring {
    ring: PerfRing,
    owner: usize,
}

struct Opened {
    handle: Handle,
    event: PerfEvent,
    buffer: Buffer,
}

struct Cpu {
    number: i32,
    events: Vec<Opened>,
    main: Option<Ring>,
    spare: Option<Ring>,
}

/// Open events. Dropping the observer closes all of them.
pub struct Observer {
    cpus: Vec<Cpu>,
    ring_bytes: usize,
    tags: HashMap<u64, (u32, u64)>,
    next: u32,
    has_lost_format: bool,
    /// Number of records that the kernel reported as lost in LOST records; used without PERF_FORMAT_LOST.
    lost_records: u64,
    /// Number of records lost by events that are now closed.
    lost_closed: u64,
    /// True if a buffer was nearly full at least once.
    was_nearly_full: bool,
    /// Records drained but not yet returned.
    bytes: Vec<u8>,
    index: Vec<(u64, usize, usize)>,
    /// Time at which the previous drain began, CLOCK_MONOTONIC, ns. Older records are complete on all CPUs.
    safe_until: u64,
}

impl Observer {
    /// Creates an observer without events. Each CPU gets a buffer of `ring_bytes` when its first event is opened.
    pub fn new(cpus: &CpuList, ring_bytes: usize) -> Observer {
        let cpu = |cpu: punctual_units::CpuId| Cpu {
            number: cpu.0.cast_signed(),
            events: Vec::new(),
            main: None,
            spare: None,
        };
        Observer {
            cpus: cpus.iter().map(cpu).collect(),
            ring_bytes,
            tags: HashMap::new(),
            next: 0,
            has_lost_format: true,
            lost_records: 0,
            lost_closed: 0,
            was_nearly_full: false,
            bytes: Vec::new(),
            index: Vec::new(),
            safe_until: 0,
        }
    }

    /// Opens an event on each CPU for each thread. Threads that have ended are skipped.
    ///
    /// # Errors
    ///
    /// See [`PerfEvent::open`] and [`PerfRing::map`]; after an error no event remains open.
    pub fn open(&mut self, spec: &Spec, target: Target, buffer: Buffer, is_enabled: bool) -> Result<Handle, Error> {
        let handle = Handle(self.next);
        self.next += 1;
        let one = match target {
            Target::Starting(tid) => [tid],
            Target::All | Target::Threads(_) | Target::Only(_) => [-1],
        };
        let threads = match target {
            Target::Threads(threads) | Target::Only(threads) => threads,
            Target::Starting(_) | Target::All => &one,
        };
        for cpu in 0..self.cpus.len() {
            for tid in threads {
                match self.open_one(spec, target, *tid, cpu, buffer, is_enabled, handle) {
                    Err(error)
                        if error.errno() == Some(rustix::io::Errno::SRCH.raw_os_error()) && threads.len() > 1 => {}
                    Err(error) => {
                        self.close(handle);
                        return Err(error);
                    }
                    Ok(()) => {}
                }
            }
        }
        Ok(handle)
    }

    #[expect(clippy::too_many_arguments, reason = "the body of `open`")]
    fn open_one(
        &mut self,
        spec: &Spec,
        target: Target,
        tid: i32,
        cpu: usize,
        buffer: Buffer,
        is_enabled: bool,
        handle: Handle,
    ) -> Result<(), Error> {
        let mut attr = attr(spec, self.ring_bytes);
        attr.flags |= match target {
            Target::Starting(_) if is_enabled => DISABLED | INHERIT | ENABLE_ON_EXEC,
            Target::Starting(_) => DISABLED | INHERIT,
            Target::Threads(_) if is_enabled => INHERIT,
            Target::Threads(_) => INHERIT | DISABLED,
            Target::Only(_) | Target::All if is_enabled => 0,
            Target::Only(_) | Target::All => DISABLED,
        };
        let number = self.cpus[cpu].number;
        if !self.has_lost_format {
            attr.read_format = FORMAT_ID;
        }
        let event = match PerfEvent::open(&attr, tid, number) {
            Err(e) if self.has_lost_format && e.errno() == Some(rustix::io::Errno::INVAL.raw_os_error()) => {
                attr.read_format = FORMAT_ID;
                let event = PerfEvent::open(&attr, tid, number)?;
                self.has_lost_format = false;
                event
            }
            other => other?,
        };
        if let Some(filter) = spec.filter {
            event.set_filter(filter)?;
        }
        let id = match self.has_lost_format {
            true => event.read::<3>()?[1],
            false => event.read::<2>()?[1],
        };
        let cpu = &mut self.cpus[cpu];
        let ring = match buffer {
            Buffer::Main => &mut cpu.main,
            Buffer::Spare => &mut cpu.spare,
        };
        match ring {
            Some(ring) => event.write_to(&cpu.events[ring.owner].event)?,
            None => *ring = Some(Ring { ring: PerfRing::map(&event, self.ring_bytes)?, owner: cpu.events.len() }),
        }
        self.tags.insert(id, (spec.tag, attr.sample_type));
        cpu.events.push(Opened { handle, event, buffer });
        Ok(())
    }

    /// Stops or continues the events, also of threads that inherited them.
    pub fn enable(&mut self, handle: Handle, is_on: bool) {
        for opened in self.cpus.iter().flat_map(|cpu| &cpu.events).filter(|opened| opened.handle == handle) {
            // Stopping and continuing an open event cannot fail.
            let _ = opened.event.enable(is_on);
        }
    }

    /// Closes the events. Those that own a ring buffer are only stopped, because other events still write to it.
    pub fn close(&mut self, handle: Handle) {
        let has_lost_format = self.has_lost_format;
        for cpu in &mut self.cpus {
            let owners: Vec<usize> = [&cpu.main, &cpu.spare].into_iter().flatten().map(|ring| ring.owner).collect();
            let mut at = cpu.events.len();
            while at > 0 {
                at -= 1;
                if cpu.events[at].handle != handle {
                    continue;
                }
                if owners.contains(&at) {
                    // Stopping an open event cannot fail.
                    let _ = cpu.events[at].event.enable(false);
                    continue;
                }
                let closed = cpu.events.remove(at);
                self.lost_closed += lost_of(&closed, has_lost_format);
                [&mut cpu.main, &mut cpu.spare].into_iter().flatten().for_each(|ring| {
                    if ring.owner > at {
                        ring.owner -= 1;
                    }
                });
            }
        }
    }

    /// Returns the number of records that the kernel could not write into the main buffers.
    pub fn lost(&self) -> u64 {
        match self.has_lost_format {
            true => {
                self.cpus.iter().flat_map(|cpu| &cpu.events).map(|one| lost_of(one, true)).sum::<u64>()
                    + self.lost_closed
            }
            // The kernel reports the last losses only with the next record.
            false => self.lost_records + u64::from(self.was_nearly_full && self.lost_records == 0),
        }
    }

    /// Returns the number of losses of which the main buffers told so far. It is cheaper than [`Observer::lost`], and smaller
    /// while nothing is written after a loss.
    pub fn lost_so_far(&self) -> u64 {
        self.lost_records
    }

    /// Returns descriptors for poll(2), which are readable when a buffer is a quarter full.
    pub fn descriptors(&self) -> impl Iterator<Item = std::os::fd::BorrowedFd<'_>> {
        self.cpus.iter().flat_map(|cpu| {
            let owner = |ring: &Option<Ring>| ring.as_ref().map(|ring| cpu.events[ring.owner].event.as_fd());
            [owner(&cpu.main), owner(&cpu.spare)].into_iter().flatten()
        })
    }

    /// Reads all buffers and passes their records to `each` in chronological order. `now` is the current time,
    /// CLOCK_MONOTONIC, ns. Records newer than the start of the previous call are held back, because another CPU may
    /// still be writing older ones, unless `is_last` is set.
    pub fn drain(&mut self, now: u64, is_last: bool, mut each: impl FnMut(Record)) {
        for cpu in &mut self.cpus {
            for (ring, is_main) in [(&mut cpu.main, true), (&mut cpu.spare, false)] {
                let Some(ring) = ring else { continue };
                let (bytes, index, lost) = (&mut self.bytes, &mut self.index, &mut self.lost_records);
                let filled = ring.ring.drain(|record| {
                    if record::kind_of(record).is_some_and(|(kind, _)| kind == LOST) {
                        *lost += if is_main { record::lost(record).unwrap_or(1) } else { 0 };
                        return;
                    }
                    if let Some(meta) = record::meta(record) {
                        index.push((meta.time, bytes.len(), record.len()));
                        bytes.extend_from_slice(record);
                    }
                });
                self.was_nearly_full |= is_main && filled > NEARLY_FULL;
            }
        }
        self.index.sort_by_key(|(time, ..)| *time);
        let until = if is_last { u64::MAX } else { self.safe_until };
        let ready = self.index.partition_point(|(time, ..)| *time < until);
        for (_, at, length) in &self.index[..ready] {
            let record = &self.bytes[*at..at + length];
            let id = record::meta(record).map_or(0, |meta| meta.id);
            let (tag, sample_type) = self.tags.get(&id).copied().unwrap_or_default();
            if let Some(parsed) = record::parse(record, tag, sample_type) {
                each(parsed);
            }
        }
        self.keep_from(ready);
        self.safe_until = now;
    }

    /// Removes the first `ready` records, which were passed to the caller.
    fn keep_from(&mut self, ready: usize) {
        let mut bytes = Vec::with_capacity(self.index[ready..].iter().map(|(.., length)| length).sum());
        let mut index = Vec::with_capacity(self.index.len() - ready);
        for (time, at, length) in &self.index[ready..] {
            index.push((*time, bytes.len(), *length));
            bytes.extend_from_slice(&self.bytes[*at..at + length]);
        }
        (self.bytes, self.index) = (bytes, index);
    }
}

fn lost_of(opened: &Opened, has_lost_format: bool) -> u64 {
    match opened.buffer {
        Buffer::Main if has_lost_format => opened.event.read::<3>().map_or(0, |values| values[2]),
        _ => 0,
    }
}

fn attr(spec: &Spec, ring_bytes: usize) -> PerfAttr {
    let (kind, config) = match spec.source {
        Source::Tasks => (SOFTWARE, SW_DUMMY),
        Source::Software(which) => (SOFTWARE, which),
        Source::Tracepoint(id) => (TRACEPOINT, id),
        Source::Breakpoint { .. } => (BREAKPOINT, 0),
    };
    let is_traced = matches!(spec.source, Source::Tracepoint(_));
    let mut attr = PerfAttr {
        kind,
        config,
        sample_period: if matches!(spec.source, Source::Tasks) { 0 } else { 1 },
        sample_type: SAMPLE_TYPE | if is_traced { RAW } else { 0 },
        read_format: FORMAT_ID | FORMAT_LOST,
        flags: WATERMARK | SAMPLE_ID_ALL | USE_CLOCKID,
        wakeup: (ring_bytes / 4) as u32,
        clockid: CLOCK_MONOTONIC,
        ..PerfAttr::default()
    };
    match spec.source {
        Source::Tasks => attr.flags |= EXEC_MAPPINGS | MMAP2 | COMM | COMM_EXEC | TASK | CONTEXT_SWITCH,
        Source::Breakpoint { address } => {
            attr.bp_type = EXECUTE;
            attr.config1 = address;
            attr.config2 = size_of::<usize>() as u64;
        }
        _ => {}
    }
    if spec.stack > 0 && REGS_MASK != 0 {
        attr.sample_type |= REGS_USER | STACK_USER;
        attr.sample_regs_user = REGS_MASK;
        attr.sample_stack_user = spec.stack;
    }
    attr
}
