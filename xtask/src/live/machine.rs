//! Measures what else used the machine during a test: CPU time of other processes and time stolen by the host, read
//! from /proc/stat (proc_stat(5)).

use std::fmt;
use std::time::Duration;

/// USER_HZ, which is 100 on every architecture on which these tests run.
const TICKS: f64 = 100.0;

/// CPU times since boot, ticks.
pub struct Look {
    busy: u64,
    steal: u64,
    /// CPU time of those children of this process that have ended.
    children: u64,
}

/// CPU time of other processes and time stolen by the host, s, and the duration of the test.
#[derive(Default)]
pub struct Disturbance {
    others_s: f64,
    steal_s: f64,
    wall_s: f64,
}

impl Disturbance {
    /// Returns true if other processes used more than a twentieth of one CPU, or the host stole more than a hundredth.
    /// Unknown values count as undisturbed.
    pub fn is_any(&self) -> bool {
        self.others_s > self.wall_s / 20.0 || self.steal_s > self.wall_s / 100.0
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "other processes ran {:.2} s and the host stole {:.2} s in {:.2} s",
            self.others_s, self.steal_s, self.wall_s
        )
    }
}

pub fn look() -> Look {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let own = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let (busy, steal) = of_all(&stat);
    Look { busy, steal, children: of_children(&own) }
}

/// Returns the sum of user, nice, system, interrupt and softirq time, and the steal time.
fn of_all(stat: &str) -> (u64, u64) {
    let line = stat.lines().next().unwrap_or_default();
    let figures: Vec<u64> = line.split_ascii_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let at = |n: usize| figures.get(n).copied().unwrap_or(0);
    (at(0) + at(1) + at(2) + at(5) + at(6), at(7))
}

/// Returns the sum of cutime and cstime.
fn of_children(stat: &str) -> u64 {
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    after.split_ascii_whitespace().skip(13).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// Returns the difference from `before`. A child of a test that was not waited for counts as another process.
pub fn since(before: &Look, wall: Duration) -> Disturbance {
    let now = look();
    let (busy, own) = (now.busy.saturating_sub(before.busy), now.children.saturating_sub(before.children));
    Disturbance {
        others_s: busy.saturating_sub(own) as f64 / TICKS,
        steal_s: now.steal.saturating_sub(before.steal) as f64 / TICKS,
        wall_s: wall.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_where_proc_has_them() {
        assert_eq!(of_all("cpu  1 2 4 800 900 8 16 32 0 0\ncpu0 1"), (31, 32));
        assert_eq!(of_children("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 100 200 20 0"), 300);
    }
}
