//! Finds CPUs and threads that wait for a lock which they hold themselves.

use super::stack::{frames, registers};

/// Detects that an interrupt waits for a spinlock that the code which it interrupted has just taken, or is about to release: the
/// register of the first argument (x86: RDI) has the same address in both.
pub(super) fn relock(lines: &[&str]) -> Option<String> {
    let starts: Vec<usize> =
        (0..lines.len()).filter(|n| lines.get(*n).is_some_and(|line| registers(line).is_some())).collect();
    let [top, interrupted, ..] = starts.as_slice() else { return None };
    let of = |from: usize, to: usize| {
        let own = lines.get(from..to)?;
        let lock = own.iter().find_map(|line| line.split_once("RDI: ")?.1.split_whitespace().next())?;
        Some((own, registers(own.first()?)?, u64::from_str_radix(lock, 16).ok()?))
    };
    let end = starts.get(2).copied().unwrap_or(lines.len());
    let ((above, waits, wanted), (_, at, lock)) = (of(*top, *interrupted)?, of(*interrupted, end)?);
    let is_nmi = above.iter().any(|line| line.trim_end().ends_with("</NMI>"));
    let ends = above.iter().any(|line| ["</IRQ>", "</NMI>"].iter().any(|mark| line.trim_end().ends_with(mark)));
    (ends && wanted == lock && waits.contains("spin_lock")).then_some(())?;
    let code = format!("the code that it interrupted, in {at}, has the same address in RDI ({lock:x})");
    match () {
        () if at.contains("slowpath") => {
            Some(format!("; {code}: both wait for that lock, and who holds it is not shown"))
        }
        // Interrupts are on there only before the lock is taken, or after it is released.
        () if at.contains("spin") && at.contains("_irq") && !is_nmi => {
            Some(format!("; {code}: who holds that lock is not shown"))
        }
        () if at.contains("spin") => {
            Some(format!("; {code}: most likely that code holds the lock, so that the CPU waits for itself"))
        }
        () => None,
    }
}

/// Detects a thread that waits for the rtnl mutex below a function that is only called with it held (`ASSERT_RTNL`,
/// net/core/dev.c and rtnetlink.c).
pub(super) fn rtnl(lines: &[&str]) -> Option<String> {
    const HOLDERS: [&str; 8] = [
        "do_setlink",
        "__dev_open",
        "__dev_close",
        "__dev_change_flags",
        "dev_change_flags",
        "register_netdevice",
        "unregister_netdevice_many",
        "rollback_registered_many",
    ];
    let mut names = frames(lines, None).frames.into_iter();
    names.find(|name| name == "rtnl_lock")?;
    let holder = names.find(|name| HOLDERS.contains(&name.as_str()))?;
    Some(format!(
        ": it waits there for the rtnl mutex, and its own caller {holder} runs with that mutex held: most likely it waits for itself"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn of(text: &str) -> String {
        said(text).unwrap_or_default()
    }

    #[test]
    fn a_cpu_that_waits_for_itself_has_one_address_twice() {
        let log = "watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [irq/16-usb:53]\nCPU: 2 PID: 53 Comm: irq/16-usb\nRIP: 0010:native_queued_spin_lock_slowpath+0x61/0x1d0\n\
                   RDX: 0000000000000000 RSI: 0000000000000000 RDI: ffff9ee8116b4658\nCall Trace:\n <IRQ>\n _raw_spin_lock_irqsave+0x95/0xa0\n queue_it+0x88/0x107 [usb]\n \
                   __hrtimer_run_queues+0xac/0x440\n </IRQ>\n asm_sysvec_apic_timer_interrupt+0x12/0x20\nRIP: 0010:_raw_spin_trylock+0x18/0x40\n\
                   RSP: 0018:ffffbc494138bda8 EFLAGS: 00000246\nRDX: 0000000000000001 RSI: 0000000000000000 RDI: ffff9ee8116b4658\n handle_it+0x3d/0x70 [usb]\n irq_thread+0x105/0x1c0\n";
        let said = of(log);
        assert!(
            said.contains("queue_it, a timer callback, on top of _raw_spin_trylock ← handle_it ← irq_thread; the"),
            "{said}"
        );
        assert!(said.contains("; the code that it interrupted, in _raw_spin_trylock, has the same address in RDI (ffff9ee8116b4658): most likely that code holds the lock"), "{said}");
        let other = log.replacen("ffff9ee8116b4658", "ffff9ee8116b4a68", 1);
        assert!(!of(&other).contains("waits for itself") && !of(&other).contains("same address"), "{}", of(&other));
        for at in ["_raw_spin_unlock_irqrestore", "_raw_spin_lock_irq"] {
            let said = of(&log.replace("_raw_spin_trylock", at));
            assert!(said.contains("who holds that lock is not shown") && !said.contains("waits for itself"), "{said}");
        }
        let both = log.replace("_raw_spin_trylock", "native_queued_spin_lock_slowpath");
        assert!(of(&both).contains("who holds it is not shown"), "{}", of(&both));
    }

    #[test]
    fn a_thread_that_needs_rtnl_twice_waits_for_itself() {
        let log = "INFO: task ip:60 blocked for more than 120 seconds.\nCall Trace:\n schedule+0x1/0x2\n __mutex_lock+0x1/0x2\n rtnl_lock+0x1/0x2\n nic_resume+0x1/0x2 [nic]\n \
                   nic_open+0x1/0x2 [nic]\n __dev_open+0x1/0x2\n do_setlink+0x1/0x2\n";
        let said = of(log);
        assert!(said.contains("the rtnl mutex, and its own caller __dev_open runs with that mutex held: most likely it waits for itself"), "{said}");
        let work = log
            .replace(" __dev_open+0x1/0x2\n do_setlink+0x1/0x2", " process_one_work+0x1/0x2")
            .replace("ip:60", "kworker/0:1:60");
        assert!(of(&work).contains("whose holder is unknown"), "{}", of(&work));
        let beside = format!(
            "{work}NMI backtrace for cpu 1\nCPU: 1 PID: 61 Comm: ip\nCall Trace:\n do_setlink+0x1/0x2\n rtnl_newlink+0x1/0x2\n"
        );
        assert!(of(&beside).contains("whose holder is unknown"), "{}", of(&beside));
        let after = log.replace(" rtnl_lock+0x1/0x2\n", "").replace("do_setlink", "rtnl_lock");
        assert!(of(&after).contains("whose holder is unknown"), "{}", of(&after));
    }
}
