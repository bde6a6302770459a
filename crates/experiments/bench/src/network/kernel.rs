//! Reads the kernel's counters: CPU time by kind, and interrupts.

use crate::axis::Measured;
use std::fs;

/// Counters of /proc/stat (proc_stat(5)) at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    /// Clock ticks of all CPUs: user, nice, system, idle, iowait, irq, softirq, steal.
    ticks: [u64; 8],
    interrupts: u64,
    net_rx: u64,
}

impl Counters {
    pub fn read() -> Option<Counters> {
        parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    pub fn since(&self, before: &Counters) -> Counters {
        Counters {
            // iowait can decrease (proc_stat(5)).
            ticks: std::array::from_fn(|n| self.ticks[n].saturating_sub(before.ticks[n])),
            interrupts: self.interrupts.saturating_sub(before.interrupts),
            net_rx: self.net_rx.saturating_sub(before.net_rx),
        }
    }

    /// Adds measured values: shares of the time of all CPUs, and interrupts per image. Shares are omitted for runs of
    /// less than a second, for which ticks are too coarse.
    pub fn add_to(&self, of: &str, images: u64, measured: &mut Measured) {
        let [user, nice, system, _, _, irq, softirq, steal] = self.ticks;
        let all: u64 = self.ticks.iter().sum();
        if all >= 100 {
            let share = |ticks: u64| ticks as f64 / all as f64;
            measured.figure(of, "CPUs busy", "share", share(user + nice + system + irq + softirq));
            measured.figure(of, "CPUs in interrupts", "share", share(irq + softirq));
            measured.figure(of, "CPUs stolen", "share", share(steal));
        } else {
            measured
                .notes
                .push("CPU share: the run is too short for the kernel's 10 ms ticks; use a longer --duration".into());
        }
        let each = |n: u64| n as f64 / images.max(1) as f64;
        measured.figure(of, "interrupts", "per image", each(self.interrupts));
        measured.figure(of, "NET_RX softirqs", "per image", each(self.net_rx));
    }
}

fn parse(text: &str) -> Option<Counters> {
    let line = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
    let numbers = |name: &str| -> Option<Vec<u64>> { line(name)?.split_whitespace().map(|w| w.parse().ok()).collect() };
    let ticks: [u64; 8] = numbers("cpu")?.get(..8)?.try_into().ok()?;
    let softirqs = numbers("softirq")?;
    // Order of the values: sum, HI, TIMER, NET_TX, NET_RX (include/linux/interrupt.h).
    let net_rx = *softirqs.get(4)?;
    // The first number is the sum of the others.
    let interrupts = line("intr")?.split_whitespace().next()?.parse().ok()?;
    Some(Counters { ticks, interrupts, net_rx })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str =
        "cpu  1 2 3 4 5 6 7 8 0 0\ncpu0 9 9 9 9 9 9 9 9 0 0\nintr 77 1 2\nctxt 5\nsoftirq 50 1 2 30 40 5\n";

    #[test]
    fn counters_are_found_and_what_is_missing_is_none() {
        let ticks = [1, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(parse(STAT), Some(Counters { ticks, interrupts: 77, net_rx: 40 }));
        for missing in ["cpu ", "intr", "softirq"] {
            assert_eq!(parse(&STAT.replace(missing, "x")), None, "{missing}");
        }
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_short_time_has_no_shares() {
        let mut measured = Measured::default();
        parse(STAT).unwrap().add_to("a", 10, &mut measured);
        assert!(measured.figures.iter().all(|f| f.unit == "per image") && measured.notes.len() == 1);
    }
}
