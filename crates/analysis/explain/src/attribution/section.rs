//! Finds the place of a CPU with interrupts or preemption off: by functions of a function trace, and by stacks.

use super::cpu::{Cpu, push};
use punctual_trace::{Context, Event, Flags, Kind, Name, RETURN, Symbol, is_interrupt_entry};

/// Minimum time between two functions for which a section is named, ns.
const LEAST: u64 = 20_000;
/// Number of frames named, innermost first.
const FRAMES: usize = 4;

pub(super) const CALL_ENDED: &str = "until the end of a system call";

/// A period of time on one CPU, and the functions that were active during it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub from: u64,
    pub to: u64,
    /// `in isolate_lru_folios ← shrink_inactive_list`, or `last traced in` if the next function is called from elsewhere.
    pub place: String,
    pub off: Off,
}

/// Which of interrupts and preemption are disabled in a section, and the evidence for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Off {
    /// Interrupts are disabled, according to the flags of the functions at the beginning and at the end of the section.
    Irqs,
    /// Interrupts are disabled, if the interrupt recorded at this time arrived right after an instruction that enables
    /// interrupts.
    IrqsReleased {
        at: u64,
        sure: bool,
    },
    /// Nothing is disabled: the interrupt arrived while user code ran.
    User,
    /// Unknown: this thread was interrupted in time, and remained current.
    Woken {
        tid: i32,
    },
    /// Preemption was disabled: the next thread got the CPU only when it was enabled again.
    Preemption,
    Unknown,
}

/// A line of a function trace.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    pub t: u64,
    pub tid: Option<i32>,
    pub function: Symbol,
    pub parent: Option<Symbol>,
    pub flags: Option<Flags>,
    /// True if lines after this one are omitted.
    pub last: bool,
    /// True if an event other than a function followed this line.
    ended: bool,
    /// Time at which the surrounding system call or interrupt returned.
    pub returned: Option<u64>,
}

impl Traced {
    pub fn context(&self) -> Option<Context> {
        self.flags.and_then(|flags| flags.context)
    }
}

/// Ends the section that the previous function began, and begins another one.
pub(super) fn function(cpu: &mut Cpu, event: &Event) {
    if let Some(before) = cpu.traced.back().filter(|before| !before.last && !before.ended)
        && event.t_ns.saturating_sub(before.t) >= LEAST
        && let Some(section) = between(before, event)
    {
        push(&mut cpu.sections, section);
    }
    if let Kind::Function { function, parent } = &event.kind {
        let (function, parent) = (function.clone(), parent.clone());
        let (t, tid, flags) = (event.t_ns, event.tid, event.flags);
        push(&mut cpu.traced, Traced { t, tid, function, parent, flags, last: false, ended: false, returned: None });
    } else if let Some(last) = cpu.traced.back_mut() {
        last.ended = true;
        if matches!(&event.kind, Kind::Other { name, .. } if &**name == RETURN) {
            last.returned.get_or_insert(event.t_ns);
        }
    }
}

/// Returns the section; `None` after a function of an interrupt that has ended since.
fn between(before: &Traced, event: &Event) -> Option<Section> {
    let frames = [Some(&before.function), before.parent.as_ref()];
    let named = chain(frames.into_iter().flatten().filter_map(name));
    // The caller of the next function ran until then.
    let inside = matches!(&event.kind, Kind::Function { parent: Some(parent), .. } if *parent == before.function);
    let hard = before.context().is_some_and(Context::is_hard);
    let place = match (inside, hard) {
        (true, _) => format!("in {named}"),
        (false, false) => format!("last traced in {named}"),
        (false, true) => return None,
    };
    let off = if off(before.flags) && off(event.flags) { Off::Irqs } else { Off::Unknown };
    (!named.is_empty()).then_some(Section { from: before.t, to: event.t_ns, place, off })
}

/// True if interrupts are off outside of a hard interrupt, which has its own flags.
fn off(flags: Option<Flags>) -> bool {
    flags.is_some_and(|flags| flags.irqs_off == Some(true) && flags.context.is_some_and(|context| !context.is_hard()))
}

pub(super) fn name(symbol: &Symbol) -> Option<&str> {
    match symbol {
        Symbol::Name(name) => Some(name),
        Symbol::Address(_) => None,
    }
}

/// Returns the function that kthread() called (kernel/kthread.c), from a stack, innermost frame first.
pub(super) fn kthread(frames: &[Symbol]) -> Option<Name> {
    let at = frames.iter().rposition(|frame| name(frame) == Some("kthread"))?;
    match frames.get(at.checked_sub(1)?)? {
        Symbol::Name(name) => Some(Name::clone(name)),
        Symbol::Address(_) => None,
    }
}

/// Removes offsets: `foo+0x12/0x80 [module]` becomes `foo [module]`.
pub(super) fn bare(name: &str) -> String {
    let (function, rest) = name.split_once('+').unwrap_or((name, ""));
    match rest.find('[') {
        Some(at) => format!("{function} {}", &rest[at..]),
        None => function.trim().to_owned(),
    }
}

fn chain<'s>(frames: impl Iterator<Item = &'s str>) -> String {
    frames.take(FRAMES).map(bare).collect::<Vec<_>>().join(" ← ")
}

/// Returns the names of the interrupted functions.
pub(super) fn interrupted<'s>(frames: impl IntoIterator<Item = &'s str>) -> Option<String> {
    let names: Vec<String> = frames.into_iter().map(bare).collect();
    let first = punctual_trace::interrupted(&names.iter().map(|name| Some(name.as_str())).collect::<Vec<_>>())?;
    // An interrupt in user space did not interrupt any kernel function.
    let kernel = names.iter().skip(first).take_while(|name| !is_interrupt_entry(name));
    let named = chain(kernel.map(String::as_str));
    (!named.is_empty()).then_some(named)
}

/// True if a place begins with a function that only enables interrupts at its end.
pub(super) fn releases(place: &str) -> bool {
    let first = place.split(" ← ").next().unwrap_or_default();
    first.ends_with("_unlock_irq") || first.ends_with("_unlock_irqrestore")
}

/// The event before a stack, to which the stack belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Before {
    #[default]
    Other,
    /// The expiry of a timer: when it was due, and when its interrupt began.
    Expiry { due: u64, irq: u64 },
    /// A thread that was woken takes the CPU.
    Switch { woken: u64 },
}

/// Returns the section at whose end a stack was recorded.
pub(super) fn ended(before: Before, event: &Event, frames: &[Symbol]) -> Option<Section> {
    let t_ns = event.t_ns;
    let names = || frames.iter().filter_map(name);
    match before {
        Before::Expiry { due, irq } if irq.saturating_sub(due) >= LEAST => {
            if names().next_back().is_some_and(|last| is_interrupt_entry(&bare(last))) {
                return Some(Section { from: due, to: irq, place: String::new(), off: Off::User });
            }
            let place = interrupted(names())?;
            let sure = releases(&place);
            Some(Section {
                from: due,
                to: irq,
                place: format!("in {place}"),
                off: Off::IrqsReleased { at: t_ns, sure },
            })
        }
        Before::Expiry { irq, .. } => {
            let place = interrupted(names())?;
            let off = Off::Woken { tid: event.tid? };
            Some(Section { from: irq, to: u64::MAX, place: format!("when it was woken in {place}"), off })
        }
        Before::Switch { woken } if t_ns.saturating_sub(woken) >= LEAST => {
            let (place, off) = preempted(names())?;
            Some(Section { from: woken, to: t_ns, place, off })
        }
        _ => None,
    }
}

/// Returns the place where a thread lost the CPU: where preemption was enabled again, or (`preempt=none` and
/// `voluntary`) its next scheduling point. `None` at the end of an interrupt, when nothing was off.
fn preempted<'s>(frames: impl Iterator<Item = &'s str>) -> Option<(String, Off)> {
    let tracing = |frame: &&str| {
        const PREFIXES: [&str; 6] = ["__traceiter_", "trace_", "ftrace_", "__ftrace_", "__trace_", "probe_wakeup_"];
        let frame = bare(frame);
        PREFIXES.iter().any(|prefix| frame.starts_with(prefix)) || matches!(&*frame, "__schedule" | "schedule")
    };
    let mut frames = frames.skip_while(tracing).peekable();
    let first = bare(frames.peek()?);
    if first.starts_with("preempt_schedule") {
        if first == "preempt_schedule_irq" {
            return None;
        }
        let named = chain(frames.skip_while(|frame| bare(frame).starts_with("preempt_schedule")));
        return (!named.is_empty()).then(|| (format!("in {named}"), Off::Preemption));
    }
    if first == "__cond_resched" {
        let named = chain(frames.skip(1));
        return (!named.is_empty()).then(|| (format!("until a scheduling point in {named}"), Off::Unknown));
    }
    let user = first.starts_with("exit_to_user_mode")
        || first.starts_with("syscall_exit_to_user_mode")
        || first.starts_with("irqentry_exit_to_user_mode")
        || first == "do_notify_resume";
    let call = user && frames.any(|frame| bare(frame).starts_with("do_syscall") || bare(frame).starts_with("el0_svc"));
    call.then(|| (CALL_ENDED.to_owned(), Off::Unknown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemption_came_on_again_where_the_thread_was_switched_out() {
        let at = |frames: &[&'static str]| preempted(frames.iter().copied());
        let rt =
            ["__schedule", "preempt_schedule_common", "preempt_schedule_thunk", "_raw_spin_unlock", "hold [module]"];
        assert_eq!(at(&rt), Some(("in _raw_spin_unlock ← hold [module]".into(), Off::Preemption)));
        assert_eq!(
            at(&["__schedule", "preempt_schedule_irq", "irqentry_exit", "asm_sysvec_apic_timer_interrupt", "f"]),
            None
        );
        let voluntary = ["__schedule", "__cond_resched", "shrink_list", "kswapd"];
        assert_eq!(at(&voluntary), Some(("until a scheduling point in shrink_list ← kswapd".into(), Off::Unknown)));
        let call =
            ["__schedule", "schedule", "exit_to_user_mode_loop", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"];
        assert_eq!(at(&call), Some(("until the end of a system call".into(), Off::Unknown)));
        assert_eq!(at(&["__schedule", "schedule", "do_nanosleep"]), None);
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn what_was_interrupted_lies_behind_the_entry() {
        let x86 = [
            "timerlat_irq",
            "hrtimer_interrupt+0x10/0x20",
            "asm_sysvec_apic_timer_interrupt+0x16/0x20",
            "foo+0x1/0x2",
            "bar",
        ];
        assert_eq!(interrupted(x86).as_deref(), Some("foo ← bar"));
        let arm = [
            "arch_timer_handler_virt",
            "el1_interrupt",
            "el1h_64_irq_handler",
            "el1h_64_irq",
            "foo [module]",
            "el0_svc",
        ];
        assert_eq!(interrupted(arm).as_deref(), Some("foo [module] ← el0_svc"));
        assert_eq!(interrupted(["timerlat_irq", "asm_sysvec_apic_timer_interrupt"]), None);
        assert_eq!(interrupted(["schedule", "do_nanosleep"]), None);
        let on_the_way_out = [
            "hrtimer_interrupt",
            "asm_sysvec_apic_timer_interrupt",
            "preempt_schedule_irq",
            "irqentry_exit",
            "asm_sysvec_reschedule_ipi",
            "hold",
            "vfs_write",
        ];
        assert_eq!(interrupted(on_the_way_out).as_deref(), Some("hold ← vfs_write"));
    }
}
