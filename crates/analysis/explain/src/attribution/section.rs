//! Where a CPU was with interrupts or preemption off: by functions of a function trace, and by stacks.

use super::cpu::{Cpu, push};
use punctual_trace::{Context, Event, Flags, Kind, Symbol};

/// Shorter times between two functions name no section, ns.
const LEAST: u64 = 20_000;
/// Frames named, the innermost first.
const FRAMES: usize = 3;

/// A stretch of time of one CPU, and the functions that were active in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub from: u64,
    pub to: u64,
    /// `in isolate_lru_folios ← shrink_inactive_list`, or `last traced in` if the next function is called from elsewhere.
    pub place: String,
    /// Interrupts were off at its beginning and its end.
    pub irqs_off: bool,
}

/// The last function of a function trace.
#[derive(Clone, Debug)]
pub(super) struct Traced {
    t: u64,
    function: Symbol,
    parent: Option<Symbol>,
    irqs_off: bool,
    hard: bool,
}

/// Ends the section that the function before began, and begins another.
pub(super) fn function(cpu: &mut Cpu, event: &Event) {
    if let Some(before) = cpu.traced.take()
        && event.t_ns.saturating_sub(before.t) >= LEAST
        && let Some(section) = between(before, event)
    {
        push(&mut cpu.sections, section);
    }
    if let Kind::Function { function, parent } = &event.kind {
        let (function, parent) = (function.clone(), parent.clone());
        let hard = event.flags.and_then(|flags| flags.context).is_some_and(Context::is_hard);
        cpu.traced = Some(Traced { t: event.t_ns, function, parent, irqs_off: off(event.flags), hard });
    }
}

/// `None`: after a function of an interrupt, which has ended since.
fn between(before: Traced, event: &Event) -> Option<Section> {
    let frames = [Some(&before.function), before.parent.as_ref()];
    let named = chain(frames.into_iter().flatten().filter_map(name));
    // What calls the next function is where it was until then.
    let inside = matches!(&event.kind, Kind::Function { parent: Some(parent), .. } if *parent == before.function);
    let place = match (inside, before.hard) {
        (true, _) => format!("in {named}"),
        (false, false) => format!("last traced in {named}"),
        (false, true) => return None,
    };
    (!named.is_empty()).then(|| Section {
        from: before.t,
        to: event.t_ns,
        place,
        irqs_off: before.irqs_off && off(event.flags),
    })
}

/// In a thread: an interrupt has its own flags.
fn off(flags: Option<Flags>) -> bool {
    flags.is_some_and(|flags| flags.irqs_off == Some(true) && flags.context.is_some_and(|context| !context.is_hard()))
}

pub(super) fn name(symbol: &Symbol) -> Option<&str> {
    match symbol {
        Symbol::Name(name) => Some(name),
        Symbol::Address(_) => None,
    }
}

/// Without offsets: `foo+0x12/0x80 [module]` is `foo [module]`.
fn bare(name: &str) -> String {
    let (function, rest) = name.split_once('+').unwrap_or((name, ""));
    match rest.find('[') {
        Some(at) => format!("{function} {}", &rest[at..]),
        None => function.trim().to_owned(),
    }
}

fn chain<'s>(frames: impl Iterator<Item = &'s str>) -> String {
    frames.take(FRAMES).map(bare).collect::<Vec<_>>().join(" ← ")
}

/// What was interrupted: the frames after the entry of the innermost interrupt, whose own come first.
pub(super) fn interrupted<'s>(frames: impl IntoIterator<Item = &'s str>) -> Option<String> {
    let names: Vec<&str> = frames.into_iter().collect();
    let is_entry = |frame: &&&str| is_entry(&bare(frame));
    let below = names.iter().skip_while(|frame| !is_entry(frame)).skip_while(is_entry);
    // From user space nothing of the kernel was interrupted.
    let kernel = below.take_while(|frame| !is_entry(frame));
    let named = chain(kernel.copied());
    (!named.is_empty()).then_some(named)
}

/// Entries of interrupts, by architecture: arch/x86/entry, arch/arm64/kernel/entry.S, arch/arm/kernel/entry-armv.S,
/// arch/riscv/kernel/entry.S, arch/powerpc/kernel.
pub(super) fn is_entry(frame: &str) -> bool {
    const EXACT: [&str; 14] = [
        "apic_timer_interrupt",
        "ret_from_intr",
        "common_interrupt",
        "reschedule_interrupt",
        "__irq_svc",
        "__irq_usr",
        "el1_irq",
        "el0_irq",
        "handle_exception",
        "ret_from_exception",
        "decrementer_common",
        "hardware_interrupt_common",
        "smp_apic_timer_interrupt",
        "el1_interrupt",
    ];
    let entry = |prefix| frame.starts_with(prefix);
    EXACT.contains(&frame)
        || entry("asm_sysvec_")
        || entry("asm_common_interrupt")
        || entry("el1h_64_irq")
        || entry("el0t_64_irq")
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
