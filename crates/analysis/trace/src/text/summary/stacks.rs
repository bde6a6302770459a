//! Parses times summed per stack, as printed by bcc's offcputime, offwaketime and wakeuptime.

use super::EVENTS;
use crate::text::scan::text;

/// True for functions by which a thread that could run loses its CPU.
fn preempts(frame: &str) -> bool {
    const PARTS: [&str; 6] = [
        "preempt_schedule",
        "exit_to_user",
        "prepare_exit_to_usermode",
        "prepare_return_to_usermode",
        "do_notify_resume",
        "irqentry_exit",
    ];
    PARTS.iter().any(|part| frame.contains(part))
}

/// True for interrupt entry functions; a wakeup that occurs within one is not made by the current thread.
fn interrupts(frame: &str) -> bool {
    const PARTS: [&str; 11] = [
        "el0_irq",
        "el1_irq",
        "64_irq",
        "__irq_svc",
        "__irq_usr",
        "handle_irq",
        "irq_event",
        "do_IRQ",
        "common_interrupt",
        "apic_timer_interrupt",
        "asm_sysvec",
    ];
    PARTS.iter().any(|part| frame.contains(part))
}

/// Formats where a thread lost the CPU, from its frames, innermost first: `preempted in f ← g` or `asleep in f ← g`.
fn off(frames: &[&str]) -> Option<String> {
    const FRAMES: usize = 3;
    let bare = |frame: &str| frame.split("+0x").next().unwrap_or(frame).to_owned();
    let frames: Vec<&str> = frames.iter().map(|frame| without_address(frame)).filter(|frame| *frame != "--").collect();
    let is_switch = |frame: &str| {
        let frame = bare(frame);
        frame.contains("schedule") || frame.starts_with("finish_task") || frame.contains("__sched_text_start")
    };
    let at = frames.iter().take_while(|frame| is_switch(frame) || preempts(frame)).count();
    let is_preempted = frames.get(..at)?.iter().any(|frame| preempts(frame));
    let own = frames.iter().filter(|frame| !is_switch(frame) && !preempts(frame));
    let own: Vec<String> = own.take(FRAMES).map(|frame| text(frame.as_bytes(), 64)).collect();
    let how = if is_preempted { "preempted while it could run, " } else { "" };
    (!own.is_empty()).then(|| format!("{how}in {}", own.join(" ← ")))
}

/// Returns the function of `ffffffff810a9581 finish_task_switch`, with which older versions print frames.
fn without_address(frame: &str) -> &str {
    const DIGITS: usize = 8;
    let is_address = |word: &str| word.len() >= DIGITS && word.bytes().all(|b| b.is_ascii_hexdigit());
    frame.split_once(' ').filter(|(word, _)| is_address(word)).map_or(frame, |(_, function)| function.trim())
}

const SUMS: &str = "time in which a thread waits for work counts too";

/// Parses the stacks of bcc's offcputime: frames, `-  name (tid)` and the sum of µs in a line each.
pub(super) fn offcpu(head: &str) -> Option<(String, &'static str)> {
    let mut frames: Vec<&str> = Vec::new();
    let mut who = None;
    let mut worst: Option<(u64, String)> = None;
    for line in head.lines() {
        let word = line.trim();
        if word.is_empty() {
            (frames, who) = (Vec::new(), None);
        } else if let Some(named) = word.strip_prefix("- ").filter(|name| name.ends_with(')')) {
            who = Some(named.trim());
        } else if let (Some(who), Ok(us)) = (who, word.parse::<u64>()) {
            if worst.as_ref().is_none_or(|(most, _)| us > *most)
                && let Some(off) = off(&frames)
            {
                let who = text(who.as_bytes(), 40);
                worst = Some((us, format!("offcputime (the largest sum is {us} µs, of {who}, {off}; {SUMS})")));
            }
        } else {
            frames.push(word);
        }
    }
    worst.map(|(_, what)| (what, EVENTS))
}

/// Parses the folded stacks of bcc's offcputime -f: `app;main+0x9 [app];-;sys_nanosleep;schedule;finish_task_switch 82`.
pub(super) fn folded(head: &str) -> Option<(String, &'static str)> {
    let row = |line: &str| {
        let (stack, us) = line.trim().rsplit_once(' ')?;
        let us: u64 = us.parse().ok()?;
        let mut frames: Vec<&str> = stack.split(';').collect();
        let who = frames.first().copied().filter(|_| frames.len() > 2)?;
        frames.last().filter(|leaf| leaf.starts_with("finish_task_switch") || leaf.ends_with("schedule"))?;
        // Frames of user space come first.
        let from = frames.iter().position(|frame| matches!(*frame, "-" | "--")).map_or(1, |at| at + 1);
        frames.drain(..from);
        frames.reverse();
        Some((us, text(who.as_bytes(), 32), off(&frames)?))
    };
    let (us, who, off) = head.lines().filter_map(row).max()?;
    Some((format!("folded stacks of offcputime (the largest sum is {us} µs, of {who}, {off}; {SUMS})"), EVENTS))
}

/// Parses bcc's wakeuptime and offwaketime: `target:`, `waker:`, their stacks, and a sum in µs. offwaketime has the
/// waker's stack first, and `--` between the two.
pub(super) fn wakers(head: &str) -> Option<(String, &'static str)> {
    let (mut waker, mut target) = (None, None);
    let mut frames: Vec<&str> = Vec::new();
    let mut worst: Option<(u64, String)> = None;
    for line in head.lines().map(str::trim) {
        if let Some(who) = line.strip_prefix("waker:") {
            waker = Some(who.trim());
        } else if let Some(who) = line.strip_prefix("target:") {
            target = Some(who.trim());
        } else if let (Some(from), Some(to), Ok(us)) = (waker, target, line.parse::<u64>()) {
            if worst.as_ref().is_none_or(|(most, _)| us > *most) {
                let (from, to) = (text(from.as_bytes(), 40), text(to.as_bytes(), 40));
                let mut stacks = frames.split(|frame| frame.starts_with("--"));
                let (of_waker, of_target) = (stacks.next().unwrap_or_default(), stacks.next().unwrap_or_default());
                let by = match of_waker.iter().any(|frame| interrupts(frame)) {
                    true => {
                        let last = of_waker.iter().find(|frame| is_handler(frame));
                        let at = last.map(|frame| format!(" ({})", text(frame.as_bytes(), 64))).unwrap_or_default();
                        format!("an interrupt{at}, which came while {from} was current, woke it")
                    }
                    false => format!("{from} woke it"),
                };
                let said = match off(of_target) {
                    Some(off) if off.starts_with("preempted") => format!(
                        "{to} was off the CPU for {us} µs in all, {off}, so it was not blocked; the entry also names a wakeup: {by}"
                    ),
                    Some(off) => format!("{to} was blocked for {us} µs in all, {off}, until {by}"),
                    None => format!("{to} was off the CPU for {us} µs in all until {by}"),
                };
                worst = Some((us, said));
            }
            (waker, target) = (None, None);
            frames.clear();
        } else if !line.is_empty() {
            frames.push(line);
        }
    }
    let (_, what) = worst?;
    Some((format!("wakeuptime or offwaketime (the largest sum: {what}; sums do not show single delays)"), EVENTS))
}

/// True for a driver's own interrupt handler: not the kernel's entries and flow handlers, nor what wakes a thread.
fn is_handler(frame: &str) -> bool {
    (frame.contains("_intr") || frame.contains("irq_handler") || frame.contains("_isr") || frame.contains("interrupt"))
        && !interrupts(frame)
        && !frame.contains("gic_")
}
