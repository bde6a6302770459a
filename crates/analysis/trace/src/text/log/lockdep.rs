//! Interprets reports of lockdep (kernel/locking/lockdep.c).

use super::stack::function;
use super::text;

/// Returns the name of a lock, its wait types, and the function that acquires it, from
/// `ffff88801acfabd8 (&queue->lock){....}-{3:3}, at: wake+0x26/0x60`.
fn lock(line: &str) -> Option<(String, &str, Option<String>)> {
    let (before, rest) = line.split_once("){")?;
    let name = before.split_once('(')?.1;
    let types = rest.split_once("-{").and_then(|(_, rest)| rest.split('}').next()).unwrap_or_default();
    let at = rest.split_once("at: ").and_then(|(_, at)| function(at));
    Some((text(name.as_bytes(), 64), types, at))
}

/// Returns which thread took which lock, and which locks it already held or which lock it must not be nested with.
pub(super) fn locks(lines: &[&str]) -> String {
    const MOST: usize = 4;
    const ACTS: [(&str, &str); 5] = [
        (" is trying to lock", "tried to take"),
        (" is trying to acquire", "tried to take"),
        (" is trying to release lock", "released"),
        (" just changed the state of lock", "took"),
        (" takes:", "took"),
    ];
    let at = |key: &str| lines.iter().position(|line| line.contains(key));
    let found = ACTS.iter().find_map(|(key, act)| Some((at(key)?, *key, *act)));
    let nested = nested(lines).unwrap_or_default();
    let Some((wanted, key, act)) = found else {
        return if nested.is_empty() { "; the lock is unknown".to_owned() } else { nested };
    };
    let first = lines.get(wanted).copied().unwrap_or_default();
    // `job/7 [HC0[0]:SC0[0]:HE1:SE1] takes:`
    let who = first.split(key).next().map(|before| before.split(" [HC").next().unwrap_or(before));
    let who = who.and_then(|who| who.split_whitespace().next_back());
    let who = who.map_or_else(|| "a thread".to_owned(), |who| text(who.as_bytes(), 40));
    let released = || {
        let name = first.split_once(key)?.1.split_once('(')?.1.split_once(')')?.0;
        Some((text(name.as_bytes(), 64), "", lines.get(wanted + 1).and_then(|line| function(line))))
    };
    let taken = lines.get(wanted + 1).and_then(|line| lock(line));
    let named = if act == "released" { released() } else { taken };
    let Some((name, types, place)) = named else {
        return format!("; {who} {act} it{nested}");
    };
    let place = place.map(|place| format!(" in {place}")).unwrap_or_default();
    // Wait type 2 is a raw spinlock (include/linux/lockdep_types.h).
    let is_numbered = |line: &&&str| {
        line.contains("#0: ") || line.split_once('#').is_some_and(|(_, n)| n.starts_with(|c: char| c.is_ascii_digit()))
    };
    let raw = lines.iter().filter(is_numbered).filter_map(|line| lock(line)).filter(|(_, types, _)| *types == "2:2");
    let raw: Vec<String> = raw.map(|(name, ..)| name).take(MOST).collect();
    let held = at("already holding").and_then(|n| lock(lines.get(n + 1)?)).map(|(name, ..)| name);
    let held = match held {
        Some(held) => format!(", holding {held}"),
        None if types.ends_with('3') && !raw.is_empty() => format!(", holding the raw spinlocks {}", raw.join(", ")),
        None => String::new(),
    };
    let other = function_below(lines, "state was registered at");
    let other = other.map(|other| format!("; its other use is in {other}")).unwrap_or_default();
    format!("; {who} {act} {name}{place}{held}{other}{nested}")
}

/// Returns the lock that interrupts take, and the one that is taken with them enabled, of
/// `HARDIRQ-safe -> HARDIRQ-unsafe lock order`, with the functions that take them.
fn nested(lines: &[&str]) -> Option<String> {
    let line = |key: &str| lines.iter().position(|line| line.contains(key));
    let name = |at: usize| lines.get(at..)?.iter().take(3).find_map(|line| lock(line)).map(|(name, ..)| name);
    let safe = line("-irq-safe lock:").or_else(|| line("took another,"))?;
    let kind = if lines.get(safe)?.contains("SOFTIRQ") { "softirqs" } else { "interrupts" };
    let by = |key: &str| function_below(lines, key).map(|by| format!(" in {by}")).unwrap_or_default();
    if lines.get(safe)?.contains("took another,") {
        let inner = name(safe + 1)?;
        return Some(format!("; inside it {inner} was taken, which elsewhere is taken with {kind} enabled"));
    }
    let unsafe_at = line("-irq-unsafe lock:")?;
    let (outer, inner) = (name(safe + 1)?, name(unsafe_at + 1)?);
    let (taken, enabled) = (by("-irq-safe at:"), by("-irq-unsafe at:"));
    Some(format!(
        "; {kind} take {outer}{taken}, and {inner}, which is nested in it, is taken with {kind} enabled{enabled}"
    ))
}

/// Returns the first function below a line that is not one of locking itself.
fn function_below(lines: &[&str], key: &str) -> Option<String> {
    const NEAR: usize = 12;
    const LOCKING: [&str; 10] = [
        "lock_acquire",
        "spin_lock",
        "read_lock",
        "write_lock",
        "mutex_lock",
        "down_read",
        "down_write",
        "mark_lock",
        "mark_usage",
        "register_lock_class",
    ];
    let at = lines.iter().position(|line| line.contains(key))?;
    let is_locking = |name: &String| LOCKING.iter().any(|part| name.contains(part));
    lines.get(at + 1..)?.iter().take(NEAR).filter_map(|line| function(line)).find(|name| !is_locking(name))
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    #[test]
    fn an_order_that_an_interrupt_can_invert() {
        let text = "WARNING: HARDIRQ-safe -> HARDIRQ-unsafe lock order detected\njob/45 [HC0[0]:SC0[0]:HE0:SE1] is trying to acquire:\nffff1 \
                    (&chip->lock){+.+.}-{2:2}, at: chip_map+0xf8/0x8d8\n\nand this task is already holding:\nffff2 (&desc_lock){-.-.}-{2:2}, at: \
                    setup+0x1/0x2\nwhich would create a new lock dependency:\n (&desc_lock){-.-.}-{2:2} -> (&chip->lock){+.+.}-{2:2}\n\nbut this new \
                    dependency connects a HARDIRQ-irq-safe lock:\n (&desc_lock){-.-.}-{2:2}\n\n... which became HARDIRQ-irq-safe at:\n  \
                    lock_acquire+0xec/0x368\n  _raw_spin_lock+0x60/0x88\n  handle_edge+0x30/0x178\n\nto a HARDIRQ-irq-unsafe lock:\n \
                    (&chip->lock){+.+.}-{2:2}\n\n... which became HARDIRQ-irq-unsafe at:\n...\n  lock_acquire+0xec/0x368\n  chip_alloc+0x1/0x2\n";
        let said = of(text);
        assert!(said.contains("no deadlock and no delay was observed; job/45 tried to take &chip->lock in chip_map, holding &desc_lock"), "{said}");
        assert!(said.contains("interrupts take &desc_lock in handle_edge, and &chip->lock, which is nested in it, is taken with interrupts enabled in chip_alloc"), "{said}");
    }

    #[test]
    fn a_state_that_differs_between_uses() {
        let text = "WARNING: inconsistent lock state\ninconsistent {HARDIRQ-ON-W} -> {IN-HARDIRQ-W} usage.\nirq/9-x/7 [HC1[1]:SC0[0]:HE0:SE1] \
                    takes:\nffff1 (&q->lock){?.+.}-{2:2}, at: poll+0x1/0x9\n{HARDIRQ-ON-W} state was registered at:\n  lock_acquire+0x1/0x9\n  \
                    open_q+0x1/0x9\n";
        assert!(of(text).contains("; irq/9-x/7 took &q->lock in poll; its other use is in open_q"), "{}", of(text));
        let released = "WARNING: bad unlock balance detected!\njob/7 is trying to release lock (&q->lock) at:\n[<ffffffff81>] \
                        put+0x1/0x9\nbut there are no more locks to release!\n";
        assert!(of(released).contains("; job/7 released &q->lock in put"), "{}", of(released));
    }
}
