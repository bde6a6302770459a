//! The event model shared by all trace formats.

use crate::flags::Flags;
use crate::words::{Comm, Name, Symbol, Task, TaskState};

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Nanoseconds of the trace's own clock ([`crate::TraceInfo::clock`], [`crate::TraceInfo::time`]). Text traces have
    /// microseconds ([`crate::TraceInfo::resolution_ns`]): truncated by the kernel, rounded by trace-cmd. Never
    /// decreases until a [`Kind::Restart`].
    pub t_ns: u64,
    pub cpu: u32,
    /// The task that was current on that CPU, if recorded. 0 is the idle task.
    pub tid: Option<i32>,
    /// The name of the current task, if known. It does not identify the task: see [`Comm`].
    pub comm: Option<Comm>,
    pub flags: Option<Flags>,
    pub kind: Kind,
}

/// The name of [`Kind::Other`] for the return of a system call or an interrupt, in the latency tracer of 2.6 (`< (0)`).
pub const RETURN: &str = "return";

/// An event. The variants are named after the kernel's events (Documentation/trace/events.rst, include/trace/events/).
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// sched_switch: the CPU passes from `prev` to `next`.
    SchedSwitch { prev: Task, prev_state: TaskState, next: Task },
    /// sched_waking: try_to_wake_up() is called for `task`, the earliest sign of a wakeup.
    SchedWaking { task: Task, target_cpu: Option<u32> },
    /// sched_wakeup: `task` is runnable on `target_cpu`. Also the line `0:120:R + [001] 208: 19:R x` of the wakeup
    /// tracers.
    SchedWakeup { task: Task, target_cpu: Option<u32>, by: Option<Task> },
    /// sched_wakeup_new: `task` was just forked.
    SchedWakeupNew { task: Task, target_cpu: Option<u32> },
    /// sched_migrate_task: `task` is moved to another CPU.
    SchedMigrate { task: Task, from_cpu: u32, to_cpu: u32 },
    /// sched_pi_setprio: priority inheritance changed `task`, whose `prio` here is the old one.
    PiSetprio { task: Task, new_prio: i32 },
    /// sched_stat_runtime: CPU time charged since the last charge.
    StatRuntime { tid: i32, comm: Option<Comm>, runtime_ns: u64 },
    /// sched_stat_wait, _sleep, _blocked, _iowait: time that a thread spent in this state.
    StatDelay { what: Delay, tid: i32, comm: Option<Comm>, delay_ns: u64 },
    /// sched_process_fork: a thread created another one.
    Fork { parent_tid: i32, child_tid: i32, child_comm: Option<Comm> },
    /// sched_process_exit: from here on the tid may be reused.
    Exit { task: Task },
    /// task_rename or sched_process_exec: a thread has a new name.
    Rename { tid: i32, new: Option<Comm> },
    /// irq_handler_entry: a handler of interrupt `irq` begins.
    IrqEntry { irq: u32, name: Option<Name> },
    /// irq_handler_exit: the handler ends.
    IrqExit { irq: u32, handled: Option<bool> },
    /// softirq_raise; `vec` as in include/linux/interrupt.h (1 TIMER, 3 NET_RX, 7 SCHED, 8 HRTIMER, 9 RCU).
    SoftirqRaise { vec: u32 },
    /// softirq_entry: the softirq's handler begins.
    SoftirqEntry { vec: u32 },
    /// softirq_exit: the softirq's handler ends.
    SoftirqExit { vec: u32 },
    /// Entry of an x86 system vector (irq_vectors) or of an Arm inter-processor interrupt (ipi_entry).
    VectorEntry { vector: Vector, number: Option<u32> },
    /// Exit from an x86 system vector or an Arm inter-processor interrupt.
    VectorExit { vector: Vector, number: Option<u32> },
    /// hrtimer_start. `timer` identifies the timer within this trace only (text traces print a hash). Times are of the
    /// timer's own clock, usually CLOCK_MONOTONIC.
    HrtimerStart { timer: u64, function: Option<Symbol>, expires_ns: i64, softexpires_ns: Option<i64> },
    /// hrtimer_expire_entry: the callback begins; `now_ns` is the time of the timer's clock.
    HrtimerExpireEntry { timer: u64, function: Option<Symbol>, now_ns: Option<i64> },
    /// hrtimer_expire_exit: the callback ends.
    HrtimerExpireExit { timer: u64 },
    /// hrtimer_cancel: the timer is removed from its queue, also when it expires.
    HrtimerCancel { timer: u64 },
    /// cpu_idle: the CPU enters idle state `state`, or leaves the idle state (`None`). `cpu` may differ from the
    /// recording CPU.
    CpuIdle { state: Option<u32>, cpu: u32 },
    /// cpu_frequency: `cpu` changes to this frequency.
    CpuFrequency { khz: u32, cpu: u32 },
    /// ipi_send_cpu, ipi_send_cpumask, ipi_raise. `target` is `None` for a mask that cannot be read.
    IpiSend { target: Option<CpuMask>, what: Option<Symbol> },
    /// nmi_handler: a handler of an NMI ran for `delta_ns`.
    NmiHandler { handler: Option<Symbol>, delta_ns: i64, handled: Option<i32> },
    /// preempt_disable: preemption is disabled.
    PreemptDisable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// preempt_enable: preemption is enabled again.
    PreemptEnable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// irq_disable: interrupts are disabled.
    IrqDisable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// irq_enable: interrupts are enabled again.
    IrqEnable { caller: Option<Symbol>, parent: Option<Symbol> },
    /// A line of the timerlat tracer: `#count context irq timer_latency 1234 ns`.
    Timerlat { count: u64, context: TimerlatContext, latency_ns: u64 },
    /// A line of the osnoise tracer (Documentation/trace/osnoise-tracer.rst). Boxed because it is large and rare.
    Osnoise(Box<OsnoiseSample>),
    /// A line of the hwlat tracer.
    Hwlat { count: u64, inner_us: u64, outer_us: u64, at_ns: Option<u64>, nmi_count: Option<u32>, gaps: Option<u32> },
    /// osnoise:irq_noise, softirq_noise, nmi_noise, thread_noise: an interruption; `duration_ns` excludes nested ones.
    Noise { source: NoiseSource, start_ns: u64, duration_ns: u64 },
    /// osnoise:sample_threshold: the workload detected noise above its threshold.
    SampleThreshold { start_ns: u64, duration_ns: u64, interference: u64 },
    /// A write to trace_marker, or trace_printk().
    Print { text: Box<str> },
    /// A line of the function tracer.
    Function { function: Symbol, parent: Option<Symbol> },
    /// The kernel stack of the preceding event on this CPU, innermost frame first.
    Stack { frames: Box<[Symbol]> },
    /// sys_enter, sys_enter_*: a system call begins.
    SysEnter { nr: Option<i64>, name: Option<Name>, args: Box<[u64]> },
    /// sys_exit, sys_exit_*: a system call returns `ret`.
    SysExit { nr: Option<i64>, name: Option<Name>, ret: i64 },
    /// page_fault_user, page_fault_kernel: a page fault in user or kernel mode.
    PageFault { address: u64, user: bool },
    /// contention_begin: the current task waits for `lock`; flags as in include/trace/events/lock.h.
    ContentionBegin { lock: u64, flags: Option<u32> },
    /// contention_end: the wait for `lock` is over.
    ContentionEnd { lock: u64 },
    /// Events of this CPU before this one were lost. `None` if their number is unknown.
    LostEvents { count: Option<u64> },
    /// A new trace begins (several were pasted together, or time decreased): all state is invalid. `cpu` has no
    /// meaning.
    Restart,
    /// Any other event; `body` only with [`crate::Options::bodies`].
    Other { name: Name, body: Option<Box<str>> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// Runnable, waiting for a CPU.
    Wait,
    /// Interruptible sleep.
    Sleep,
    /// Uninterruptible sleep.
    Blocked,
    /// Waiting for I/O.
    Iowait,
}

/// Interrupts without a device: x86 system vectors (arch/x86/include/asm/trace/irq_vectors.h) and Arm IPIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vector {
    /// The interrupt of the CPU's local timer, with which a timer-driven wakeup begins on x86.
    LocalTimer,
    Reschedule,
    CallFunction,
    CallFunctionSingle,
    IrqWork,
    /// The event's name without `_entry`, or the reason that Arm kernels state.
    Other(Name),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuMask {
    One(u32),
    /// CPUs 0–63 as bits; higher ones are dropped.
    Low64(u64),
}

/// The place where timerlat measured a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerlatContext {
    Irq,
    Thread,
    /// On return to the user-space thread.
    User,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoiseSource {
    Irq { vector: u32, name: Option<Name> },
    Softirq { vec: u32 },
    Nmi,
    Thread { tid: i32, comm: Option<Comm> },
}

/// A summary line of the osnoise tracer: one period of its workload on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OsnoiseSample {
    pub runtime_us: u64,
    pub noise_us: u64,
    pub max_sample_us: u64,
    /// Number of noise occurrences without interference, which are caused by hardware or hypervisor.
    pub hw_count: u64,
    pub nmi_count: u64,
    pub irq_count: u64,
    pub softirq_count: u64,
    pub thread_count: u64,
}
