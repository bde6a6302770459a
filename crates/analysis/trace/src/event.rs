//! One event model for every trace.

use crate::flags::Flags;
use crate::words::{Comm, Name, Symbol, Task, TaskState};

/// One event of a trace, whatever format it came in.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Time on the trace's own clock in nanoseconds ([`crate::TraceInfo::clock`], [`crate::TraceInfo::time`]). Text is in
    /// microseconds ([`crate::TraceInfo::resolution_ns`]): cut by the kernel, rounded by trace-cmd. It never decreases until a [`Kind::Restart`].
    pub t_ns: u64,
    /// The CPU that recorded it.
    pub cpu: u32,
    /// The task that was current there, if the line or record says so. 0 is the idle task.
    pub tid: Option<i32>,
    /// The name of that task, if known. Never identify a task by it.
    pub comm: Option<Comm>,
    /// Interrupts off, reschedule wanted, context and depths, if recorded.
    pub flags: Option<Flags>,
    /// What happened.
    pub kind: Kind,
}

/// What happened. Names are those of the kernel's events (Documentation/trace/events.rst, include/trace/events/).
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// sched_switch: `next` gets the CPU that `prev` had.
    SchedSwitch { prev: Task, prev_state: TaskState, next: Task },
    /// sched_waking: somebody calls try_to_wake_up for `task`; this is the earliest sign of a wakeup.
    SchedWaking { task: Task, target_cpu: Option<u32> },
    /// sched_wakeup: `task` is runnable on `target_cpu`. Also the line `0:120:R + [001] 208: 19:R x` of wakeup tracers.
    SchedWakeup { task: Task, target_cpu: Option<u32> },
    /// sched_wakeup_new: a task that was just forked.
    SchedWakeupNew { task: Task, target_cpu: Option<u32> },
    /// sched_migrate_task.
    SchedMigrate { task: Task, from_cpu: u32, to_cpu: u32 },
    /// sched_pi_setprio: priority inheritance changed `task` (its `prio` here is the old one).
    PiSetprio { task: Task, new_prio: i32 },
    /// sched_stat_runtime: CPU time charged to the task since the last charge.
    StatRuntime { tid: i32, comm: Option<Comm>, runtime_ns: u64 },
    /// sched_stat_wait, _sleep, _blocked, _iowait: how long the task was in that state.
    StatDelay { what: Delay, tid: i32, comm: Option<Comm>, delay_ns: u64 },
    /// sched_process_fork.
    Fork { parent_tid: i32, child_tid: i32, child_comm: Option<Comm> },
    /// sched_process_exit: the tid may be reused from here on.
    Exit { task: Task },
    /// task_rename or sched_process_exec: a task's name changes.
    Rename { tid: i32, new: Option<Comm> },
    /// irq_handler_entry.
    IrqEntry { irq: u32, name: Option<Name> },
    /// irq_handler_exit.
    IrqExit { irq: u32, handled: Option<bool> },
    /// softirq_raise; numbers as in include/linux/interrupt.h (1 TIMER, 3 NET_RX, 7 SCHED, 8 HRTIMER, 9 RCU).
    SoftirqRaise { vec: u32 },
    /// softirq_entry.
    SoftirqEntry { vec: u32 },
    /// softirq_exit.
    SoftirqExit { vec: u32 },
    /// An x86 system vector begins (irq_vectors), or an Arm inter-processor interrupt (ipi_entry).
    VectorEntry { vector: Vector, number: Option<u32> },
    /// The same ends.
    VectorExit { vector: Vector, number: Option<u32> },
    /// hrtimer_start. `timer` identifies the timer within the trace only (text holds hashes). Times are of the timer's own
    /// clock, CLOCK_MONOTONIC for nearly all.
    HrtimerStart { timer: u64, function: Option<Symbol>, expires_ns: i64, softexpires_ns: Option<i64> },
    /// hrtimer_expire_entry: its callback begins; `now_ns` is the timer clock's time then.
    HrtimerExpireEntry { timer: u64, function: Option<Symbol>, now_ns: Option<i64> },
    /// hrtimer_expire_exit.
    HrtimerExpireExit { timer: u64 },
    /// hrtimer_cancel.
    HrtimerCancel { timer: u64 },
    /// cpu_idle: entering `state`, or leaving (`None`). `cpu` may differ from the recording CPU.
    CpuIdle { state: Option<u32>, cpu: u32 },
    /// cpu_frequency.
    CpuFrequency { khz: u32, cpu: u32 },
    /// ipi_send_cpu, ipi_send_cpumask, ipi_raise: an inter-processor interrupt is sent; `target` is `None` for a mask that
    /// could not be read.
    IpiSend { target: Option<CpuMask>, what: Option<Symbol> },
    /// nmi_handler: a non-maskable interrupt was handled in `delta_ns`.
    NmiHandler { handler: Option<Symbol>, delta_ns: i64, handled: Option<i32> },
    /// preempt_disable.
    PreemptDisable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// preempt_enable.
    PreemptEnable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// irq_disable.
    IrqDisable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// irq_enable.
    IrqEnable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// One line of the timerlat tracer: `#count context irq timer_latency 1234 ns`.
    Timerlat { count: u64, context: TimerlatContext, latency_ns: u64 },
    /// One line of the osnoise tracer (Documentation/trace/osnoise-tracer.rst), boxed because it is long and rare.
    Osnoise(Box<OsnoiseSample>),
    /// One line of the hwlat tracer.
    Hwlat { count: u64, inner_us: u64, outer_us: u64, at_ns: Option<u64>, nmi_count: Option<u32>, gaps: Option<u32> },
    /// osnoise:irq_noise, softirq_noise, nmi_noise, thread_noise: net of what interrupted them.
    Noise { source: NoiseSource, start_ns: u64, duration_ns: u64 },
    /// osnoise:sample_threshold.
    SampleThreshold { start_ns: u64, duration_ns: u64, interference: u64 },
    /// A write to trace_marker, or trace_printk.
    Print { text: Box<str> },
    /// A line of the function tracer.
    Function { function: Symbol, parent: Option<Symbol> },
    /// A kernel stack recorded after the event before it on this CPU, innermost first.
    Stack { frames: Box<[Symbol]> },
    /// sys_enter, sys_enter_*.
    SysEnter { nr: Option<i64>, name: Option<Name>, args: Box<[u64]> },
    /// sys_exit, sys_exit_*.
    SysExit { nr: Option<i64>, name: Option<Name>, ret: i64 },
    /// page_fault_user, page_fault_kernel.
    PageFault { address: u64, user: bool },
    /// contention_begin: the current task waits for `lock`; flags as in include/trace/events/lock.h.
    ContentionBegin { lock: u64, flags: Option<u32> },
    /// contention_end.
    ContentionEnd { lock: u64 },
    /// Events of this CPU were lost before this moment; how many, if known.
    LostEvents { count: Option<u64> },
    /// A new trace begins here (several were pasted, or time went back): forget all state. `cpu` means nothing.
    Restart,
    /// Any other event. `body` only with [`crate::Options::bodies`].
    Other { name: Name, body: Option<Box<str>> },
}

/// The state whose length a sched_stat event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Runnable, waiting for the CPU.
    Wait,
    /// Interruptible sleep.
    Sleep,
    /// Uninterruptible sleep.
    Blocked,
    /// Waiting for a device.
    Iowait,
}

/// System interrupts that are no device's: x86 vectors (arch/x86/include/asm/trace/irq_vectors.h) and Arm IPIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vector {
    /// local_timer: the CPU's timer interrupt, T1 of a wakeup on x86.
    LocalTimer,
    /// reschedule.
    Reschedule,
    /// call_function.
    CallFunction,
    /// call_function_single.
    CallFunctionSingle,
    /// irq_work.
    IrqWork,
    /// Any other, by the event's name without `_entry`, or by Arm's reason.
    Other(Name),
}

/// A set of CPUs an interrupt is sent to, up to the 64 lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMask {
    /// One CPU.
    One(u32),
    /// CPUs 0–63 as bits; higher ones are not kept.
    Low64(u64),
}

/// Who reported a timerlat latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerlatContext {
    /// The timer interrupt.
    Irq,
    /// The kernel thread.
    Thread,
    /// The user-space thread's return.
    User,
}

/// Whose noise an osnoise event measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoiseSource {
    /// A hard interrupt: vector number and description.
    Irq { vector: u32, name: Option<Name> },
    /// A softirq.
    Softirq { vec: u32 },
    /// A non-maskable interrupt.
    Nmi,
    /// A thread.
    Thread { tid: i32, comm: Option<Comm> },
}

/// One summary line of the osnoise tracer: a period of its workload on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsnoiseSample {
    /// Length of the period, µs.
    pub runtime_us: u64,
    /// Noise in it, µs.
    pub noise_us: u64,
    /// Longest single noise, µs.
    pub max_sample_us: u64,
    /// Noise without any interference counted: the hardware's or the hypervisor's.
    pub hw_count: u64,
    /// Non-maskable interrupts.
    pub nmi_count: u64,
    /// Interrupts.
    pub irq_count: u64,
    /// Softirqs.
    pub softirq_count: u64,
    /// Threads.
    pub thread_count: u64,
}
