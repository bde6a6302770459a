//! Reads CPU time and memory of this process from /proc.

use punctual_model::WatchCost;
use punctual_units::CpuList;
use std::fs;

/// Returns CPU time and resident memory of this process. The CPU time includes child processes that it has waited for.
pub(crate) fn cost() -> WatchCost {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let pages = fs::read_to_string("/proc/self/statm").ok().and_then(|text| resident(&text));
    WatchCost {
        cpu_ns: ticks(&stat).map(|ticks| ticks * tick_ns),
        rss_bytes: pages.map(|pages| pages * rustix::param::page_size() as u64),
    }
}

/// Returns the sum of utime, stime, cutime and cstime, fields 14 to 17 (proc_pid_stat(5)). The second field, in
/// parentheses, may contain any characters.
fn ticks(stat: &str) -> Option<u64> {
    let rest = stat.rsplit_once(')')?.1;
    let fields: Vec<u64> = rest.split_whitespace().skip(11).take(4).map_while(|word| word.parse().ok()).collect();
    (fields.len() == 4).then(|| fields.iter().sum())
}

/// Returns the number of resident pages, the second field of statm.
fn resident(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

pub(crate) fn online() -> Option<CpuList> {
    fs::read_to_string("/sys/devices/system/cpu/online").ok()?.trim().parse().ok()
}

pub(crate) fn boot_id() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_does_not_matter() {
        let stat = "7 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0";
        assert_eq!(ticks(stat), Some(11 + 12 + 13 + 14));
        assert_eq!(ticks("7 (a) S 1 2"), None);
        assert_eq!(resident("500 321 7"), Some(321));
        assert_eq!(resident("x"), None);
    }

    #[test]
    fn this_process_costs_something() {
        let cost = cost();
        assert!(cost.rss_bytes > Some(100_000) && cost.cpu_ns.is_some());
    }
}
