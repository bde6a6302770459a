//! Reads /proc/stat, /proc/vmstat and cpufreq statistics: counters of the whole machine, and steal time by CPU.

use punctual_units::CpuId;

/// Counters of /proc/stat (proc_stat(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Steal time by CPU, in USER_HZ ticks.
    pub steal_ticks: Vec<(CpuId, u64)>,
    /// Time in which tasks ran (user, nice, system) by CPU, in USER_HZ ticks.
    pub busy_ticks: Vec<(CpuId, u64)>,
    /// Context switches of all CPUs since boot.
    pub context_switches: Option<u64>,
}

impl Stat {
    pub fn parse(text: &str) -> Stat {
        let mut stat = Stat::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("ctxt") => stat.context_switches = words.next().and_then(|w| w.parse().ok()),
                Some(cpu) => {
                    // The first three numbers are the time of tasks, the eighth is the steal time. The line `cpu` without
                    // a number has the sums over all CPUs.
                    let id = cpu.strip_prefix("cpu").and_then(|n| n.parse().ok()).map(CpuId);
                    let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
                    if let (Some(id), [user, nice, system, _, _, _, _, steal, ..]) = (id, ticks.as_slice()) {
                        stat.steal_ticks.push((id, *steal));
                        stat.busy_ticks.push((id, user.saturating_add(*nice).saturating_add(*system)));
                    }
                }
                None => {}
            }
        }
        stat
    }

    pub fn steal_of(&self, cpu: CpuId) -> Option<u64> {
        self.steal_ticks.iter().find(|(c, _)| *c == cpu).map(|(_, ticks)| *ticks)
    }
}

pub(crate) fn vmstat(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal_and_switches_are_found() {
        let text =
            "cpu  1 2 3 4 5 6 7 80 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu3 0 0 0 0 0 0 0 72 0 0\nintr 5\nctxt 991\n";
        let stat = Stat::parse(text);
        assert_eq!(stat.steal_of(CpuId(3)), Some(72));
        assert_eq!(stat.busy_ticks, [(CpuId(0), 6), (CpuId(3), 0)]);
        assert_eq!(stat.steal_of(CpuId(1)), None);
        assert_eq!(stat.context_switches, Some(991));
        assert_eq!(Stat::parse("cpu0 1\nctxt\n\n"), Stat::default());
    }

    #[test]
    fn vmstat_matches_whole_names() {
        let text = "pgfault_x 1\npgfault 42\npgmajfault 7\n";
        assert_eq!(vmstat(text, "pgfault"), Some(42));
        assert_eq!(vmstat(text, "pgmaj"), None);
    }
}
