//! Converts events to `FtraceEvent`s (protos/perfetto/trace/ftrace/ftrace_event.proto and the files next to it).

use crate::proto::Message;
use punctual_trace::{Event, Kind, Task, TaskState, Vector};

/// Field numbers common to all `FtraceEvent`s. The fast path of trace_processor requires these fields first, in this
/// order.
const TIMESTAMP: u32 = 1;
const PID: u32 = 2;

/// Converts the event, at `t` and caused by the task `by`. Returns `None` if Perfetto has no message for it.
pub fn event(event: &Event, t: u64, by: Option<i32>) -> Option<Message> {
    let (field, body) = body(&event.kind)?;
    let mut message = Message::default();
    message.uint(TIMESTAMP, t);
    if let Some(by) = by.and_then(|by| u64::try_from(by).ok()) {
        message.uint(PID, by);
    }
    message.message(field, &body);
    Some(message)
}

/// Returns the field number in `FtraceEvent` and the message of the event; `None` if Perfetto has no message for it.
fn body(kind: &Kind) -> Option<(u32, Message)> {
    let known = match kind {
        Kind::SchedSwitch { prev, prev_state, next } => (4, switch(prev, *prev_state, next)),
        Kind::SchedWakeup { task, target_cpu, .. } => (17, waking(task, *target_cpu)),
        Kind::SchedWaking { task, target_cpu } => (20, waking(task, *target_cpu)),
        Kind::SchedWakeupNew { task, target_cpu } => (114, waking(task, *target_cpu)),
        Kind::SchedMigrate { task, from_cpu, to_cpu } => {
            let mut message = thread(task, [1, 2, 3]);
            message.uint(4, u64::from(*from_cpu));
            message.uint(5, u64::from(*to_cpu));
            (491, message)
        }
        Kind::PiSetprio { task, new_prio } => {
            let mut message = thread(task, [1, 4, 3]);
            message.int(2, (*new_prio).into());
            (353, message)
        }
        Kind::Exit { task } => (238, thread(task, [1, 2, 4])),
        Kind::Rename { tid, new: Some(new) } => {
            let mut message = Message::default();
            message.int(1, (*tid).into());
            message.text(3, &new.to_string());
            (236, message)
        }
        _ => return interrupt(kind).or_else(|| timer(kind)).or_else(|| other(kind)),
    };
    Some(known)
}

fn switch(prev: &Task, prev_state: TaskState, next: &Task) -> Message {
    let mut message = thread(prev, [1, 2, 3]);
    message.int(4, state(prev_state));
    message.append(&thread(next, [5, 6, 7]));
    message
}

fn waking(task: &Task, target_cpu: Option<u32>) -> Message {
    let mut message = thread(task, [1, 2, 3]);
    if let Some(cpu) = target_cpu {
        message.uint(5, cpu.into());
    }
    message
}

fn thread(task: &Task, [comm, pid, prio]: [u32; 3]) -> Message {
    let mut message = Message::default();
    if let Some(name) = task.comm {
        message.text(comm, &name.to_string());
    }
    message.int(pid, task.tid.into());
    if let Some(value) = task.prio {
        message.int(prio, value.into());
    }
    message
}

/// Returns the task state bits of Linux 4.4, which trace_processor assumes if a trace names no kernel (task_state.cc).
/// Files written by this module never name one, so these bits are correct for events of every kernel.
fn state(state: TaskState) -> i64 {
    match state.letter {
        b'R' if state.preempted => 0x800,
        b'R' => 0,
        b'S' => 0x1,
        b'D' => 0x2,
        b'T' => 0x4,
        b't' => 0x8,
        b'X' => 0x10,
        b'Z' => 0x20,
        b'x' => 0x40,
        b'K' => 0x80,
        b'W' => 0x100,
        b'P' => 0x200,
        b'N' => 0x400,
        b'I' => 0x402,
        // The value that Perfetto's own converter writes for an unknown state.
        _ => 0xffff,
    }
}

fn interrupt(kind: &Kind) -> Option<(u32, Message)> {
    let mut message = Message::default();
    let field = match kind {
        Kind::IrqEntry { irq, name } => {
            message.uint(1, (*irq).into());
            if let Some(name) = name {
                message.text(2, name);
            }
            36
        }
        Kind::IrqExit { irq, handled } => {
            message.uint(1, (*irq).into());
            if let Some(handled) = handled {
                message.uint(2, (*handled).into());
            }
            37
        }
        Kind::SoftirqEntry { vec } | Kind::SoftirqExit { vec } | Kind::SoftirqRaise { vec } => {
            message.uint(1, (*vec).into());
            match kind {
                Kind::SoftirqEntry { .. } => 24,
                Kind::SoftirqExit { .. } => 25,
                _ => 26,
            }
        }
        Kind::VectorEntry { vector: Vector::LocalTimer, number } => {
            vector(&mut message, *number);
            559
        }
        Kind::VectorExit { vector: Vector::LocalTimer, number } => {
            vector(&mut message, *number);
            560
        }
        _ => return None,
    };
    Some((field, message))
}

fn vector(message: &mut Message, number: Option<u32>) {
    if let Some(number) = number {
        message.uint(1, number.into());
    }
}

fn timer(kind: &Kind) -> Option<(u32, Message)> {
    let mut message = Message::default();
    let field = match kind {
        Kind::HrtimerStart { timer, expires_ns, softexpires_ns, .. } => {
            message.uint(1, *timer);
            message.int(3, *expires_ns);
            if let Some(soft) = softexpires_ns {
                message.int(4, *soft);
            }
            551
        }
        Kind::HrtimerCancel { timer } => {
            message.uint(1, *timer);
            552
        }
        Kind::HrtimerExpireEntry { timer, now_ns, .. } => {
            message.uint(1, *timer);
            if let Some(now) = now_ns {
                message.int(2, *now);
            }
            553
        }
        Kind::HrtimerExpireExit { timer } => {
            message.uint(1, *timer);
            554
        }
        _ => return None,
    };
    Some((field, message))
}

fn other(kind: &Kind) -> Option<(u32, Message)> {
    let mut message = Message::default();
    let field = match kind {
        Kind::CpuIdle { state, cpu } => {
            // Leaving idle is encoded as PWR_EVENT_EXIT, -1 (include/trace/events/power.h).
            message.uint(1, state.unwrap_or(u32::MAX).into());
            message.uint(2, (*cpu).into());
            13
        }
        Kind::CpuFrequency { khz, cpu } => {
            message.uint(1, (*khz).into());
            message.uint(2, (*cpu).into());
            11
        }
        Kind::Print { text } => {
            message.text(2, text);
            3
        }
        _ => return None,
    };
    Some((field, message))
}
