//! Maps the fields of binary events to [`Kind`]s: one row per event.

use super::format::{EventFormat, Slot};
use super::page::Layout;
use super::symbols::Symbols;
use crate::event::{CpuMask, Delay, Kind, NoiseSource, OsnoiseSample, TimerlatContext, Vector};
use crate::text::{Names, reason_of, vector_of};
use crate::words::{Comm, Symbol, Task, TaskState};

pub(super) const SLOTS: usize = 8;

/// Builds an event from a record; returns `None` if a field is missing or exceeds the record.
type Make = fn(&mut Fields<'_>) -> Option<Kind>;

pub(super) struct Plan {
    slots: [Slot; SLOTS],
    make: Make,
    /// The vector or the system call that the event's name contains, if any.
    subject: Option<Vector>,
    letters: Vec<(u64, u8)>,
}

pub(super) struct Fields<'a> {
    pub record: &'a [u8],
    pub layout: &'a Layout,
    pub plan: &'a Plan,
    pub names: &'a mut Names,
    pub symbols: &'a mut Symbols,
}

/// Name of the event, the fields that its function reads, and the function.
const ROWS: &[(&str, &[&str], Make)] = &[
    (
        "sched_switch",
        &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
        switch,
    ),
    ("sched_waking", WAKE, |f| f.wake().map(|(task, target_cpu)| Kind::SchedWaking { task, target_cpu })),
    ("sched_wakeup", WAKE, |f| f.wake().map(|(task, target_cpu)| Kind::SchedWakeup { task, target_cpu, by: None })),
    ("sched_wakeup_new", WAKE, |f| f.wake().map(|(task, target_cpu)| Kind::SchedWakeupNew { task, target_cpu })),
    ("sched_migrate_task", &["comm", "pid", "prio", "orig_cpu", "dest_cpu"], |f| {
        Some(Kind::SchedMigrate { task: f.task()?, from_cpu: f.u32(3)?, to_cpu: f.u32(4)? })
    }),
    ("sched_pi_setprio", &["comm", "pid", "oldprio", "newprio"], |f| {
        Some(Kind::PiSetprio { task: f.task()?, new_prio: f.i32(3)? })
    }),
    ("sched_stat_runtime", &["comm", "pid", "runtime"], |f| {
        Some(Kind::StatRuntime { tid: f.i32(1)?, comm: f.comm(0), runtime_ns: f.u64(2)? })
    }),
    ("sched_stat_wait", STAT, |f| f.stat(Delay::Wait)),
    ("sched_stat_sleep", STAT, |f| f.stat(Delay::Sleep)),
    ("sched_stat_blocked", STAT, |f| f.stat(Delay::Blocked)),
    ("sched_stat_iowait", STAT, |f| f.stat(Delay::Iowait)),
    ("sched_process_fork", &["parent_pid", "child_comm", "child_pid"], |f| {
        Some(Kind::Fork { parent_tid: f.i32(0)?, child_comm: f.comm(1), child_tid: f.i32(2)? })
    }),
    ("sched_process_exit", &["comm", "pid", "prio"], |f| Some(Kind::Exit { task: f.task()? })),
    ("sched_process_exec", &["pid"], |f| Some(Kind::Rename { tid: f.i32(0)?, new: None })),
    ("task_rename", &["pid", "newcomm"], |f| Some(Kind::Rename { tid: f.i32(0)?, new: f.comm(1) })),
    ("irq_handler_entry", &["irq", "name"], |f| Some(Kind::IrqEntry { irq: f.u32(0)?, name: f.name(1) })),
    ("irq_handler_exit", &["irq", "ret"], |f| {
        Some(Kind::IrqExit { irq: f.u32(0)?, handled: f.i32(1).map(|ret| ret != 0) })
    }),
    ("softirq_raise", &["vec"], |f| Some(Kind::SoftirqRaise { vec: f.u32(0)? })),
    ("softirq_entry", &["vec"], |f| Some(Kind::SoftirqEntry { vec: f.u32(0)? })),
    ("softirq_exit", &["vec"], |f| Some(Kind::SoftirqExit { vec: f.u32(0)? })),
    ("ipi_send_cpu", &["cpu", "callback"], |f| {
        Some(Kind::IpiSend { target: f.u32(0).map(CpuMask::One), what: f.symbol(1) })
    }),
    ("ipi_send_cpumask", &["cpumask", "callback"], |f| Some(Kind::IpiSend { target: f.mask(0), what: f.symbol(1) })),
    ("ipi_raise", &["target_cpus"], |f| Some(Kind::IpiSend { target: f.mask(0), what: None })),
    ("hrtimer_start", &["hrtimer", "function", "expires", "softexpires"], |f| {
        let softexpires_ns = f.i64(3);
        Some(Kind::HrtimerStart { timer: f.u64(0)?, function: f.symbol(1), expires_ns: f.i64(2)?, softexpires_ns })
    }),
    ("hrtimer_expire_entry", &["hrtimer", "function", "now"], |f| {
        Some(Kind::HrtimerExpireEntry { timer: f.u64(0)?, function: f.symbol(1), now_ns: f.i64(2) })
    }),
    ("hrtimer_expire_exit", &["hrtimer"], |f| Some(Kind::HrtimerExpireExit { timer: f.u64(0)? })),
    ("hrtimer_cancel", &["hrtimer"], |f| Some(Kind::HrtimerCancel { timer: f.u64(0)? })),
    ("cpu_idle", &["state", "cpu_id"], |f| {
        let state = f.u32(0)?;
        Some(Kind::CpuIdle { state: (state != u32::MAX).then_some(state), cpu: f.u32(1)? })
    }),
    ("cpu_frequency", &["state", "cpu_id"], |f| Some(Kind::CpuFrequency { khz: f.u32(0)?, cpu: f.u32(1)? })),
    ("nmi_handler", &["handler", "delta_ns", "handled"], |f| {
        Some(Kind::NmiHandler { handler: f.symbol(0), delta_ns: f.i64(1)?, handled: f.i32(2) })
    }),
    ("preempt_disable", OFFSETS, |f| Some(Kind::PreemptDisable { caller: f.offset(0), parent: f.offset(1) })),
    ("preempt_enable", OFFSETS, |f| Some(Kind::PreemptEnable { caller: f.offset(0), parent: f.offset(1) })),
    ("irq_disable", OFFSETS, |f| Some(Kind::IrqDisable { caller: f.offset(0), parent: f.offset(1) })),
    ("irq_enable", OFFSETS, |f| Some(Kind::IrqEnable { caller: f.offset(0), parent: f.offset(1) })),
    ("page_fault_user", &["address"], |f| Some(Kind::PageFault { address: f.u64(0)?, user: true })),
    ("page_fault_kernel", &["address"], |f| Some(Kind::PageFault { address: f.u64(0)?, user: false })),
    ("contention_begin", &["lock_addr", "flags"], |f| Some(Kind::ContentionBegin { lock: f.u64(0)?, flags: f.u32(1) })),
    ("contention_end", &["lock_addr"], |f| Some(Kind::ContentionEnd { lock: f.u64(0)? })),
    ("sys_enter", &["id", "args"], |f| Some(Kind::SysEnter { nr: Some(f.i64(0)?), name: None, args: f.words(1, 6) })),
    ("sys_exit", &["id", "ret"], |f| Some(Kind::SysExit { nr: Some(f.i64(0)?), name: None, ret: f.i64(1)? })),
    ("timerlat", &["seqnum", "context", "timer_latency"], timerlat),
    (
        "osnoise",
        &["runtime", "noise", "max_sample", "hw_count", "nmi_count", "irq_count", "softirq_count", "thread_count"],
        osnoise,
    ),
    ("hwlat", &["seqnum", "duration", "outer_duration", "tv_sec", "tv_nsec", "nmi_count", "count"], hwlat),
    ("irq_noise", &["start", "duration", "vector", "desc"], |f| {
        let source = NoiseSource::Irq { vector: f.u32(2)?, name: f.name(3) };
        Some(Kind::Noise { source, start_ns: f.u64(0)?, duration_ns: f.u64(1)? })
    }),
    ("softirq_noise", &["start", "duration", "vector"], |f| {
        let source = NoiseSource::Softirq { vec: f.u32(2)? };
        Some(Kind::Noise { source, start_ns: f.u64(0)?, duration_ns: f.u64(1)? })
    }),
    ("nmi_noise", &["start", "duration"], |f| {
        Some(Kind::Noise { source: NoiseSource::Nmi, start_ns: f.u64(0)?, duration_ns: f.u64(1)? })
    }),
    ("thread_noise", &["start", "duration", "pid", "comm"], |f| {
        let source = NoiseSource::Thread { tid: f.i32(2)?, comm: f.comm(3) };
        Some(Kind::Noise { source, start_ns: f.u64(0)?, duration_ns: f.u64(1)? })
    }),
    ("sample_threshold", &["start", "duration", "interference"], |f| {
        Some(Kind::SampleThreshold { start_ns: f.u64(0)?, duration_ns: f.u64(1)?, interference: f.u64(2)? })
    }),
    ("print", &["buf"], |f| {
        let text = f.bytes(0)?.split(|b| *b == 0).next()?.trim_ascii_end();
        let text = String::from_utf8_lossy(text.get(..text.len().min(1024))?);
        Some(Kind::Print { text: text.into() })
    }),
    ("function", &["ip", "parent_ip"], |f| Some(Kind::Function { function: f.symbol(0)?, parent: f.symbol(1) })),
    ("kernel_stack", &["caller", "size"], |f| {
        let most = f.u32(1).map_or(64, |n| n.min(128));
        let frames = f.words(0, most as usize);
        Some(Kind::Stack { frames: frames.iter().map(|address| f.symbols.get(*address)).collect() })
    }),
    ("wakeup", TRACER, |f| {
        f.tracer().map(|(by, _, task, cpu)| Kind::SchedWakeup { task, target_cpu: Some(cpu), by: Some(by) })
    }),
    ("context_switch", TRACER, |f| {
        f.tracer().map(|(prev, prev_state, next, _)| Kind::SchedSwitch { prev, prev_state, next })
    }),
];

const WAKE: &[&str] = &["comm", "pid", "prio", "target_cpu"];
/// Places in the kernel, as offsets from its symbol _stext (include/trace/events/preemptirq.h).
const OFFSETS: &[&str] = &["caller_offs", "parent_offs"];
const STAT: &[&str] = &["comm", "pid", "delay"];
const TRACER: &[&str] = &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio", "next_cpu"];

impl Plan {
    pub(super) fn new(format: &EventFormat, names: &mut Names) -> Option<Plan> {
        let name = format.name.as_str();
        if let Some((_, fields, make)) = ROWS.iter().find(|(row, ..)| *row == name) {
            let letters = if name == "sched_switch" { format.letters() } else { Vec::new() };
            return Some(Plan { slots: slots(format, fields), make: *make, subject: None, letters });
        }
        let named = |vector, fields: &[&str], make| {
            Some(Plan { slots: slots(format, fields), make, subject: Some(vector), letters: Vec::new() })
        };
        match (name.strip_prefix("sys_enter_"), name.strip_prefix("sys_exit_")) {
            (Some(call), _) => return named(Vector::Other(names.get(call.as_bytes())), &["__syscall_nr", "nr"], enter),
            (_, Some(call)) => {
                return named(Vector::Other(names.get(call.as_bytes())), &["__syscall_nr", "nr", "ret"], exit);
            }
            _ => {}
        }
        match name {
            "ipi_entry" => return named(Vector::Reschedule, &["reason"], |f| f.reason().map(|v| entry(v, None))),
            "ipi_exit" => return named(Vector::Reschedule, &["reason"], |f| f.reason().map(|v| leave(v, None))),
            _ => {}
        }
        if !format.slot("vector").present() {
            return None;
        }
        let vector = |name: &str, names: &mut Names| vector_of(name.as_bytes(), names);
        match (name.strip_suffix("_entry"), name.strip_suffix("_exit")) {
            (Some(name), _) => named(vector(name, names), &["vector"], |f| Some(entry(f.subject()?, f.u32(0)))),
            (_, Some(name)) => named(vector(name, names), &["vector"], |f| Some(leave(f.subject()?, f.u32(0)))),
            _ => None,
        }
    }

    pub(super) fn make(
        &self,
        record: &[u8],
        layout: &Layout,
        names: &mut Names,
        symbols: &mut Symbols,
    ) -> Option<Kind> {
        (self.make)(&mut Fields { record, layout, plan: self, names, symbols })
    }
}

fn slots(format: &EventFormat, fields: &[&str]) -> [Slot; SLOTS] {
    let mut slots = [Slot::default(); SLOTS];
    for (slot, field) in slots.iter_mut().zip(fields) {
        *slot = format.slot(field);
    }
    slots
}

fn entry(vector: Vector, number: Option<u32>) -> Kind {
    Kind::VectorEntry { vector, number }
}

fn leave(vector: Vector, number: Option<u32>) -> Kind {
    Kind::VectorExit { vector, number }
}

fn switch(f: &mut Fields<'_>) -> Option<Kind> {
    let prev = f.task()?;
    let next = Task { comm: f.comm(4), tid: f.i32(5)?, prio: f.i32(6) };
    Some(Kind::SchedSwitch { prev, prev_state: f.state(f.i64(3)?), next })
}

fn enter(f: &mut Fields<'_>) -> Option<Kind> {
    let Vector::Other(name) = f.subject()? else { return None };
    let nr = f.i64(0).or_else(|| f.i64(1));
    // The arguments follow the number, one word each, under varying names.
    let start = if f.layout.long == 4 { 12 } else { 16 };
    let args = f.record.get(start..).unwrap_or_default().chunks_exact(f.layout.long).take(6);
    let args = args.filter_map(|word| f.layout.long(word, 0)).collect();
    Some(Kind::SysEnter { nr, name: Some(name), args })
}

fn exit(f: &mut Fields<'_>) -> Option<Kind> {
    let Vector::Other(name) = f.subject()? else { return None };
    Some(Kind::SysExit { nr: f.i64(0).or_else(|| f.i64(1)), name: Some(name), ret: f.i64(2)? })
}

fn timerlat(f: &mut Fields<'_>) -> Option<Kind> {
    let context = match f.i32(1)? {
        0 => TimerlatContext::Irq,
        1 => TimerlatContext::Thread,
        2 => TimerlatContext::User,
        _ => return None,
    };
    Some(Kind::Timerlat { count: f.u64(0)?, context, latency_ns: f.u64(2)? })
}

fn osnoise(f: &mut Fields<'_>) -> Option<Kind> {
    Some(Kind::Osnoise(Box::new(OsnoiseSample {
        runtime_us: f.u64(0)?,
        noise_us: f.u64(1)?,
        max_sample_us: f.u64(2)?,
        hw_count: f.u64(3)?,
        nmi_count: f.u64(4)?,
        irq_count: f.u64(5)?,
        softirq_count: f.u64(6)?,
        thread_count: f.u64(7)?,
    })))
}

fn hwlat(f: &mut Fields<'_>) -> Option<Kind> {
    let at_ns = f.u64(3).and_then(|s| s.checked_mul(1_000_000_000)?.checked_add(f.u64(4)?));
    let (nmi_count, gaps) = (f.u32(5), f.u32(6));
    Some(Kind::Hwlat { count: f.u64(0)?, inner_us: f.u64(1)?, outer_us: f.u64(2)?, at_ns, nmi_count, gaps })
}

impl Fields<'_> {
    fn slot(&self, n: usize) -> Slot {
        self.plan.slots.get(n).copied().unwrap_or_default()
    }

    fn u64(&self, n: usize) -> Option<u64> {
        self.slot(n).unsigned(self.record, self.layout)
    }

    fn i64(&self, n: usize) -> Option<i64> {
        self.slot(n).signed(self.record, self.layout)
    }

    /// Reads a 32-bit number of either sign: −1 becomes `u32::MAX`.
    fn u32(&self, n: usize) -> Option<u32> {
        let value = self.i64(n)?;
        u32::try_from(value).ok().or(i32::try_from(value).ok().map(|v| v as u32))
    }

    fn i32(&self, n: usize) -> Option<i32> {
        let value = self.i64(n)?;
        i32::try_from(value).ok().or(u32::try_from(value).ok().map(|v| v as i32))
    }

    fn bytes(&self, n: usize) -> Option<&[u8]> {
        self.slot(n).bytes(self.record, self.layout)
    }

    fn comm(&self, n: usize) -> Option<Comm> {
        self.bytes(n).map(Comm::new).filter(|comm| !comm.as_bytes().is_empty())
    }

    fn name(&mut self, n: usize) -> Option<crate::words::Name> {
        let slot = self.slot(n);
        let bytes = slot.bytes(self.record, self.layout)?;
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Some(self.names.get(bytes.get(..end)?))
    }

    fn symbol(&mut self, n: usize) -> Option<Symbol> {
        self.u64(n).map(|address| self.symbols.get(address))
    }

    fn offset(&mut self, n: usize) -> Option<Symbol> {
        self.i64(n).map(|offset| self.symbols.at_offset(offset))
    }

    fn subject(&self) -> Option<Vector> {
        self.plan.subject.clone()
    }

    /// Reads words of the kernel's size from a field to the end of the record, without padding.
    fn words(&self, n: usize, most: usize) -> Box<[u64]> {
        let tail = self.slot(n).tail(self.record).unwrap_or_default();
        let words = tail.chunks_exact(self.layout.long).take(most).filter_map(|word| self.layout.long(word, 0));
        let end = if self.layout.long == 4 { u64::from(u32::MAX) } else { u64::MAX };
        words.take_while(|word| *word != end).collect()
    }

    fn mask(&self, n: usize) -> Option<CpuMask> {
        self.layout.u64(self.bytes(n)?, 0).map(CpuMask::Low64)
    }

    fn reason(&mut self) -> Option<Vector> {
        // The field is the address of a string in the kernel; only text traces name the interrupt.
        Some(match self.name(0) {
            Some(reason) => reason_of(reason.as_bytes(), self.names),
            None => Vector::Other(self.names.get(b"ipi")),
        })
    }

    fn task(&self) -> Option<Task> {
        Some(Task { comm: self.comm(0), tid: self.i32(1)?, prio: self.i32(2) })
    }

    fn wake(&self) -> Option<(Task, Option<u32>)> {
        Some((self.task()?, self.u32(3)))
    }

    fn stat(&self, what: Delay) -> Option<Kind> {
        Some(Kind::StatDelay { what, tid: self.i32(1)?, comm: self.comm(0), delay_ns: self.u64(2)? })
    }

    fn state(&self, bits: i64) -> TaskState {
        let bits = bits as u64;
        if bits == 0 {
            return TaskState { letter: b'R', preempted: false };
        }
        let letters = &self.plan.letters;
        let listed = letters.iter().fold(0, |all, (mask, _)| all | mask);
        let letter = letters.iter().find(|(mask, _)| bits & mask != 0).map(|(_, letter)| *letter);
        let preempted = !letters.is_empty() && bits & !listed != 0;
        TaskState { letter: letter.unwrap_or(if preempted { b'R' } else { b'?' }), preempted }
    }

    /// Reads records of the wakeup tracers, whose states are indices into "RSDTtXZPI".
    fn tracer(&self) -> Option<(Task, TaskState, Task, u32)> {
        let letter = b"RSDTtXZPI".get(usize::try_from(self.u64(2)?).ok()?).copied().unwrap_or(b'?');
        let prev = Task { tid: self.i32(0)?, comm: None, prio: self.i32(1) };
        let next = Task { tid: self.i32(3)?, comm: None, prio: self.i32(4) };
        Some((prev, TaskState { letter, preempted: false }, next, self.u32(5)?))
    }
}
