//! Interprets preempt counts (include/linux/preempt.h).

use super::number_after;
use super::stack::function;

/// Bits of disabled preemption, softirqs, hard interrupts and NMIs.
const LEVELS: u32 = 0x00ff_ffff;
/// Flags of preemption itself: PREEMPT_NEED_RESCHED, and PREEMPT_ACTIVE up to Linux 4.1.
const FLAGS: u32 = !LEVELS;

/// Parses `scheduling while atomic: job/82/0x00010000`, earlier `job/0x00010000/82`, or `preempt_count: 10002`.
fn count(shown: &str, own: &[&str]) -> Option<u32> {
    let hex = |digits: &str| {
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        u32::from_str_radix(digits.get(..end)?, 16).ok()
    };
    let of_line = shown.split_once("while atomic: ").and_then(|(_, rest)| hex(rest.split_once("/0x")?.1));
    of_line.or_else(|| own.iter().find_map(|line| hex(line.split_once("preempt_count: ")?.1)))
}

/// True for a count below zero.
fn is_negative(count: u32) -> bool {
    const MOST: u32 = 1 << 16;
    count.wrapping_neg() <= MOST && count > 0
}

/// Returns the context that a report of atomic sleep counts.
pub(super) fn context(shown: &str, own: &[&str]) -> Option<&'static str> {
    let value = |key: &str| own.iter().find_map(|line| number_after(line, key));
    let count = count(shown, own).filter(|count| !is_negative(*count));
    let (irqs_off, is_atomic) = (value("irqs_disabled(): "), value("in_atomic(): "));
    let [irqs_off, is_atomic] = [irqs_off, is_atomic].map(|value| value.is_some_and(|value| value > 0.0));
    Some(match count.unwrap_or(0) {
        count if count & 0x00f0_0000 != 0 => "NMI",
        count if count & 0x000f_0000 != 0 => "hard interrupt",
        count if count & 0x100 != 0 => "softirq",
        count if count & 0xfe00 != 0 => "bottom halves disabled",
        count if count & 0xff != 0 => "preemption disabled",
        // in_atomic() is true for any count above 0.
        _ if irqs_off && is_atomic && count.is_none() => "interrupts disabled, and a preempt count above 0",
        _ if irqs_off => "interrupts disabled",
        _ if value("RCU nest depth: ").is_some_and(|depth| depth > 0.0) => "read-side section of RCU",
        _ if is_atomic => "preemption disabled",
        _ => return None,
    })
}

/// Returns the function that disabled interrupts, from lockdep's `hardirqs last disabled at (120): lock_it+0x2/0x8`, if they were not
/// enabled later.
pub(super) fn disabled(context: &str, own: &[&str]) -> Option<String> {
    let last = |what: &str| {
        let key = format!("{what} at (");
        own.iter()
            .filter(|line| line.contains("hardirqs last"))
            .find_map(|line| Some((number_after(line, &key)?, *line)))
    };
    let ((off, line), enabled) = (last("disabled")?, last("enabled"));
    let is_off = context.starts_with("interrupts disabled") && enabled.is_some_and(|(on, _)| on < off);
    let by = function(line.rsplit_once("): ")?.1).filter(|_| is_off)?;
    Some(format!(", last in {by}"))
}

/// Returns what a report means whose count shows neither a lock nor an interrupt: the count itself is wrong.
pub(super) fn unbalanced(shown: &str, own: &[&str]) -> Option<&'static str> {
    let of_schedule = shown.contains("scheduling while atomic");
    let count = count(shown, own)?;
    match count {
        _ if is_negative(count) => Some(
            "the preempt count of the current thread is below 0: more was enabled than was disabled, in code that the report does not name; it does not show a sleep with a lock held",
        ),
        0 | 0x8000_0000 if of_schedule => Some(
            "the preempt count is 0, one less than the scheduler itself sets: preemption was enabled once too often, in code that the report does not name; nobody is shown asleep with a lock held or in an interrupt",
        ),
        _ if of_schedule && count & LEVELS == 0 && count & FLAGS != 0 => Some(
            "the preempt count has only flags of preemption itself (PREEMPT_ACTIVE): it shows no spinlock held and no interrupt, so this is most likely a nested reschedule; no duration was measured",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    #[test]
    fn counts_that_no_lock_explains_are_no_sleep_in_atomic_context() {
        let low = of(
            "BUG: scheduling while atomic: swapper/3/0/0x00000000\nCall Trace:\n schedule_idle+0x3c/0x70\n do_idle+0x2/0x4\n",
        );
        assert!(low.contains("preemption was enabled once too often") && !low.contains("tried to sleep"), "{low}");
        let flags = of("BUG: scheduling while atomic: job/0x20000000/29\n");
        assert!(flags.contains("no spinlock held and no interrupt") && !flags.contains("context:"), "{flags}");
        let negative = of("BUG: scheduling while atomic: job/29/0xfffffffe\n");
        assert!(negative.contains("is below 0") && !negative.contains("context: NMI"), "{negative}");
        let held = of("BUG: scheduling while atomic: job/29/0x00000002\n");
        assert!(held.contains("tried to sleep") && held.ends_with("context: preemption disabled"), "{held}");
    }

    #[test]
    fn a_sleeping_function_has_its_context() {
        let report = |line: &str| {
            of(&format!(
                "BUG: sleeping function called from invalid context at kernel/a.c:1\n{line}, pid: 7, name: job\n"
            ))
        };
        let off = report("in_atomic(): 0, irqs_disabled(): 128, non_block: 0");
        assert!(off.contains("context: interrupts disabled"), "{off}");
        let both = report("in_atomic(): 1, irqs_disabled(): 1, non_block: 0");
        assert!(both.contains("context: interrupts disabled, and a preempt count above 0"), "{both}");
        let by = "in_atomic(): 0, irqs_disabled(): 128\nhardirqs last  enabled at (10): [<ffffffff81>] f+0x1/0x2\nhardirqs last disabled at (11): hold (a.c:?)\nBUG";
        assert!(report(by).contains("context: interrupts disabled, last in hold"), "{}", report(by));
        let on = by.replace("(10)", "(12)");
        assert!(report(&on).ends_with("context: interrupts disabled"), "{}", report(&on));
        let rcu = report("in_atomic(): 0, irqs_disabled(): 0, RCU nest depth: 1, expected: 0");
        assert!(rcu.contains("context: read-side section of RCU"), "{rcu}");
    }
}
