//! Reads interrupts, softirqs, inter-processor interrupts, page faults, locks and system calls in text traces.

use super::names::Names;
use super::scan::{field, find, hex, number, signed, skip_spaces, split, trim, whole, whole_i32, word};
use crate::event::{CpuMask, Kind, Vector};
use crate::words::Symbol;

/// Parses an event; see [`super::sched::read`] for the result.
pub(crate) fn read(name: &[u8], s: &[u8], names: &mut Names) -> Option<Option<Kind>> {
    Some(match name {
        b"irq_handler_entry" => {
            irq(s).map(|irq| Kind::IrqEntry { irq, name: split(s, b"name=").map(|(_, name)| names.get(trim(name))) })
        }
        b"irq_handler_exit" => irq(s)
            .map(|irq| Kind::IrqExit { irq, handled: field(s, b"ret").map(|ret| ret != b"unhandled" && ret != b"0") }),
        b"softirq_raise" => vec(s).map(|vec| Kind::SoftirqRaise { vec }),
        b"softirq_entry" => vec(s).map(|vec| Kind::SoftirqEntry { vec }),
        b"softirq_exit" => vec(s).map(|vec| Kind::SoftirqExit { vec }),
        b"ipi_send_cpu" => Some(send(s, field(s, b"cpu").and_then(whole).map(CpuMask::One), names)),
        b"ipi_send_cpumask" => Some(send(s, field(s, b"cpumask").and_then(list), names)),
        b"ipi_raise" => Some(raise(s, names)),
        b"ipi_entry" => Some(Kind::VectorEntry { vector: reason(s, names), number: None }),
        b"ipi_exit" => Some(Kind::VectorExit { vector: reason(s, names), number: None }),
        b"nmi_handler" => nmi(s, names),
        b"preempt_disable" => {
            Some(Kind::PreemptDisable { caller: sym(s, b"caller", names), parent: sym(s, b"parent", names) })
        }
        b"preempt_enable" => {
            Some(Kind::PreemptEnable { caller: sym(s, b"caller", names), parent: sym(s, b"parent", names) })
        }
        b"irq_disable" => Some(Kind::IrqDisable { caller: sym(s, b"caller", names), parent: sym(s, b"parent", names) }),
        b"irq_enable" => Some(Kind::IrqEnable { caller: sym(s, b"caller", names), parent: sym(s, b"parent", names) }),
        b"page_fault_user" => fault(s).map(|address| Kind::PageFault { address, user: true }),
        b"page_fault_kernel" => fault(s).map(|address| Kind::PageFault { address, user: false }),
        b"contention_begin" => hex(s).map(|(lock, rest)| Kind::ContentionBegin { lock, flags: contention(trim(rest)) }),
        b"contention_end" => hex(s).map(|(lock, _)| Kind::ContentionEnd { lock }),
        b"sys_enter" => enter(s),
        b"sys_exit" => exit(s),
        _ => return others(name, s, names),
    })
}

fn others(name: &[u8], s: &[u8], names: &mut Names) -> Option<Option<Kind>> {
    if let Some(call) = name.strip_prefix(b"sys_enter_") {
        let args = s.split(|b| *b == b',').take(6).map_while(argument).collect();
        return Some(Some(Kind::SysEnter { nr: None, name: Some(names.get(call)), args }));
    }
    if let Some(call) = name.strip_prefix(b"sys_exit_") {
        let ret = signed_or_hex(s.strip_prefix(b"ret:").map(skip_spaces).unwrap_or(s));
        return Some(ret.map(|ret| Kind::SysExit { nr: None, name: Some(names.get(call)), ret }));
    }
    let (vector, entry) = match (name.strip_suffix(b"_entry"), name.strip_suffix(b"_exit")) {
        (Some(vector), _) => (vector, true),
        (_, Some(vector)) => (vector, false),
        _ => return None,
    };
    let known = vector_of(vector, names);
    let Some(number) = s.strip_prefix(b"vector=").and_then(whole) else {
        // The line is truncated before its number. Other events whose names end in `_entry` are read elsewhere.
        return (s.is_empty() && !matches!(known, Vector::Other(_))).then_some(None);
    };
    let number = Some(number);
    Some(Some(match entry {
        true => Kind::VectorEntry { vector: known, number },
        false => Kind::VectorExit { vector: known, number },
    }))
}

pub(crate) fn vector_of(name: &[u8], names: &mut Names) -> Vector {
    match name {
        b"local_timer" => Vector::LocalTimer,
        b"reschedule" => Vector::Reschedule,
        b"call_function" => Vector::CallFunction,
        b"call_function_single" => Vector::CallFunctionSingle,
        b"irq_work" => Vector::IrqWork,
        _ => Vector::Other(names.get(name)),
    }
}

/// Parses the reason of an inter-processor interrupt, which Arm kernels print in parentheses (arch/arm64/kernel/smp.c,
/// `ipi_types`).
fn reason(s: &[u8], names: &mut Names) -> Vector {
    reason_of(trim(s).strip_prefix(b"(").and_then(|s| s.strip_suffix(b")")).unwrap_or(s), names)
}

pub(crate) fn reason_of(reason: &[u8], names: &mut Names) -> Vector {
    match reason {
        b"Rescheduling interrupts" => Vector::Reschedule,
        b"Function call interrupts" => Vector::CallFunction,
        b"Single function call interrupts" => Vector::CallFunctionSingle,
        b"IRQ work interrupts" => Vector::IrqWork,
        b"Timer broadcast interrupts" => Vector::LocalTimer,
        other => Vector::Other(names.get(other)),
    }
}

/// Parses `(flags=RT|WRITE)`, include/trace/events/lock.h; `None` if truncated, or for an unknown word.
fn contention(s: &[u8]) -> Option<u32> {
    const WORDS: [&[u8]; 6] = [b"SPIN", b"READ", b"WRITE", b"RT", b"PERCPU", b"MUTEX"];
    let words = s.strip_prefix(b"(flags=")?.strip_suffix(b")")?;
    let bit = |word: &[u8]| WORDS.iter().position(|known| *known == word).map(|at| 1u32 << at);
    match words {
        b"" | b"0x0" => Some(0),
        _ => words.split(|b| *b == b'|').try_fold(0, |all, word| Some(all | bit(word)?)),
    }
}

fn irq(s: &[u8]) -> Option<u32> {
    u32::try_from(number(s.strip_prefix(b"irq=")?)?.0).ok()
}

fn vec(s: &[u8]) -> Option<u32> {
    u32::try_from(number(s.strip_prefix(b"vec=")?)?.0).ok()
}

fn sym(s: &[u8], key: &[u8], names: &mut Names) -> Option<Symbol> {
    field(s, key).filter(|f| !f.is_empty()).map(|f| names.symbol(f))
}

fn send(s: &[u8], target: Option<CpuMask>, names: &mut Names) -> Kind {
    Kind::IpiSend { target, what: sym(s, b"callback", names) }
}

/// Parses `target_mask=00000000,00000002 (Rescheduling interrupts)`.
fn raise(s: &[u8], names: &mut Names) -> Kind {
    let target = field(s, b"target_mask").and_then(|mask| {
        mask.split(|b| *b == b',').try_fold(0u64, |all, part| Some(all << 32 | hex(part)?.0)).map(CpuMask::Low64)
    });
    let what = find(s, b" (").and_then(|at| s.get(at + 2..)?.strip_suffix(b")")).map(|r| Symbol::Name(names.get(r)));
    Kind::IpiSend { target, what }
}

/// Parses a CPU list such as `0-1,3`.
fn list(s: &[u8]) -> Option<CpuMask> {
    let mut mask = 0u64;
    for part in s.split(|b| *b == b',') {
        let (low, rest) = number(part)?;
        let high = rest.strip_prefix(b"-").and_then(number).map_or(low, |(high, _)| high);
        for cpu in low..=high.min(63) {
            mask |= 1u64.checked_shl(u32::try_from(cpu).ok()?).unwrap_or(0);
        }
    }
    Some(CpuMask::Low64(mask))
}

/// Parses `perf_event_nmi_handler() delta_ns: 1234 handled: 1`.
fn nmi(s: &[u8], names: &mut Names) -> Option<Kind> {
    let (handler, rest) = split(s, b"() delta_ns: ")?;
    let (delta_ns, rest) = signed(rest)?;
    let handled = rest.strip_prefix(b" handled: ").and_then(|h| whole_i32(word(h).0));
    Some(Kind::NmiHandler { handler: Some(names.symbol(handler)), delta_ns, handled })
}

fn fault(s: &[u8]) -> Option<u64> {
    field(s, b"address").and_then(hex).map(|(address, _)| address)
}

/// Parses `NR 202 (7f00, 80, 2, 0, 0, 0)`.
fn enter(s: &[u8]) -> Option<Kind> {
    let (nr, rest) = signed(s.strip_prefix(b"NR ")?)?;
    let args = skip_spaces(rest).strip_prefix(b"(")?;
    let args = args.split(|b| *b == b',').take(6).map_while(|a| hex(skip_spaces(a)).map(|(a, _)| a)).collect();
    Some(Kind::SysEnter { nr: Some(nr), name: None, args })
}

/// Parses `NR 202 = 0`.
fn exit(s: &[u8]) -> Option<Kind> {
    let (nr, rest) = signed(s.strip_prefix(b"NR ")?)?;
    Some(Kind::SysExit { nr: Some(nr), name: None, ret: signed(rest.strip_prefix(b" = ")?)?.0 })
}

/// Parses `uaddr: 0x7f00` or `op: 80`: always hexadecimal in the kernel's syscall events.
fn argument(s: &[u8]) -> Option<u64> {
    hex(skip_spaces(split(s, b": ")?.1)).map(|(value, _)| value)
}

fn signed_or_hex(s: &[u8]) -> Option<i64> {
    match s.strip_prefix(b"0x") {
        Some(_) => hex(s).map(|(value, _)| value as i64),
        None => signed(s).map(|(value, _)| value),
    }
}

/// Parses syscall events, which the kernel prints without a colon: `sys_futex(uaddr: 7f00, op: 80)` and `sys_futex ->
/// 0x0`.
pub(crate) fn syscall(body: &[u8], names: &mut Names) -> Option<Kind> {
    let call = body.strip_prefix(b"sys_")?;
    if let Some((call, ret)) = split(call, b" -> ") {
        return Some(Kind::SysExit { nr: None, name: Some(names.get(call)), ret: signed_or_hex(ret)? });
    }
    let (call, args) = split(call, b"(")?;
    let args = args.split(|b| *b == b',').take(6).map_while(argument).collect();
    Some(Kind::SysEnter { nr: None, name: Some(names.get(call)), args })
}
