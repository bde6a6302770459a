//! The programs whose figures are compared.

use super::Job;
use punctual_stats::SplitMix64;

pub struct Case {
    pub about: String,
    /// The program and its arguments, without the path of the log.
    program: String,
    /// The value that is compared: of a thread, or of a chain.
    pub response: String,
    pub period_us: u64,
    /// True if the log has the CPU times of this thread.
    pub has_cpu: bool,
}

impl Case {
    pub fn job(&self, number: usize) -> Job {
        Job { name: format!("case-{number}"), program: self.program.clone(), claim: format!("{} < 10s", self.response) }
    }
}

/// Releases, period and work of the threads, us; `late` and `behind` have long cycles (truth.c).
const THREADS: [(&str, u64, u64); 10] = [
    ("sleep", 200, 50),
    ("sleep", 1_000, 200),
    ("sleep", 5_000, 2_000),
    ("sleep", 100_000, 20_000),
    ("timerfd", 500, 100),
    ("timerfd", 10_000, 1_000),
    ("epoll", 1_000, 300),
    ("posix", 2_000, 400),
    ("late", 2_000, 400),
    ("behind", 2_000, 400),
];
/// Numbers of threads of the chains, their period, and the work of each thread, us.
const CHAINS: [(u64, u64, u64); 5] = [(2, 2_000, 60), (3, 2_000, 60), (4, 2_000, 60), (5, 2_000, 60), (6, 2_000, 60)];

/// Returns the cases; with a seed those that it draws, with periods of 0.2 to 100 ms.
pub fn cases(seed: Option<u64>) -> Vec<Case> {
    let mut random = seed.map(SplitMix64::new);
    let mut within = |usual: u64, from: f64, to: f64| match &mut random {
        Some(random) => (from * (to / from).powf(random.uniform())) as u64,
        None => usual,
    };
    let mut all = Vec::new();
    for (mode, period, work) in THREADS {
        // A long cycle of 2.5 periods, after which the others catch up.
        let shortest = if matches!(mode, "late" | "behind") { 1_000.0 } else { 200.0 };
        let period = within(period, shortest, 100_000.0);
        let work = within(work, 0.05 * period as f64, 0.4 * period as f64);
        all.push(Case {
            about: format!("{mode}, {period} us, work {work} us"),
            program: format!("truth {mode} {period} {work} 80"),
            response: "response(truth)".into(),
            period_us: period,
            has_cpu: true,
        });
    }
    for (number, period, work) in CHAINS {
        let number = within(number, 2.0, 6.99);
        let period = within(period, 1_000.0, 20_000.0);
        let work = within(work, 20.0, 60.0);
        let stages: Vec<String> = (0..number).map(|stage| format!("stage-{stage}")).collect();
        all.push(Case {
            about: format!("chain of {number}, {period} us, work {work} us"),
            program: format!("stages {number} {period} {work}"),
            response: format!("chain({})", stages.join(" > ")),
            period_us: period,
            has_cpu: false,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_cases_again_within_the_limits() {
        let drawn = |seed| cases(Some(seed)).into_iter().map(|case| case.program).collect::<Vec<_>>();
        assert_eq!(drawn(7), drawn(7));
        assert_ne!(drawn(7), drawn(8));
        for case in (0..50).flat_map(|seed| cases(Some(seed))) {
            assert!((200..=100_000).contains(&case.period_us), "{}", case.about);
            let stages = case.response.matches("stage-").count();
            assert!(case.has_cpu && stages == 0 || (2..=6).contains(&stages), "{}", case.about);
        }
        let usual: Vec<String> = cases(None).into_iter().map(|case| case.program).collect();
        assert_eq!(
            (usual.len(), usual[0].as_str(), usual[14].as_str()),
            (15, "truth sleep 200 50 80", "stages 6 2000 60")
        );
    }
}
