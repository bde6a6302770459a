//! The programs of the cases, by seed, and what is left out in the second run of each.

use punctual_stats::SplitMix64;

/// What delays the victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A more urgent thread of another program.
    Other,
    /// A more urgent thread of the same program.
    Own,
    /// A thread of the same priority in another program.
    Peer,
    /// Processes of another program, each of which works once.
    Spawned,
    /// A thread without real-time priority, as the victim is.
    Ordinary,
    /// A less urgent thread that holds a mutex: no interval is expected, as for the next one.
    Lock,
    /// A more urgent thread of another program, which also delays a less urgent one that holds a mutex.
    Inverted,
    /// Timers of another program that expire at the same time, in the timer interrupt (not on PREEMPT_RT). A thread
    /// releases the victim.
    Timers,
}

/// Number of cases of each kind among 30.
const KINDS: [(Kind, usize); 8] = [
    (Kind::Other, 8),
    (Kind::Own, 7),
    (Kind::Peer, 4),
    (Kind::Spawned, 3),
    (Kind::Ordinary, 3),
    (Kind::Lock, 1),
    (Kind::Inverted, 1),
    (Kind::Timers, 3),
];
/// Periods of the victim, µs.
const PERIODS: [f64; 5] = [2_000.0, 4_000.0, 5_000.0, 10_000.0, 20_000.0];

pub struct Case {
    pub number: usize,
    pub kind: Kind,
    pub kernel: &'static str,
    /// Sources of the measured program without the culprit.
    app: Vec<String>,
    /// Source of the culprit.
    culprit: String,
}

impl Case {
    /// Returns the case with this number: always the same for a seed.
    pub fn new(seed: u64, number: usize) -> Case {
        let mut random = SplitMix64::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let mut within = |from: f64, to: f64| from + (to - from) * random.uniform();
        let kind = kind(number);
        let period = PERIODS[(within(0.0, PERIODS.len() as f64) as usize).min(PERIODS.len() - 1)];
        let how = match kind {
            Kind::Lock | Kind::Inverted => "lock",
            Kind::Timers => "fed",
            _ => "run",
        };
        let scheduling = if kind == Kind::Ordinary { "n0" } else { "f50" };
        let own = period * within(0.05, 0.25);
        let tail = if within(0.0, 1.0) < 0.35 { 0.0 } else { own * within(0.02, 0.2) };
        let mut app = vec![thread("victim", scheduling, [period, own, tail, 0.0], how)];
        if within(0.0, 1.0) < 0.5 && kind != Kind::Ordinary {
            let scheduling = if within(0.0, 1.0) < 0.5 { "f60" } else { "f90" };
            let (every, offset) = (period * within(0.4, 3.0), period * within(0.0, 1.0));
            app.push(thread("mid", scheduling, [every, every * within(0.03, 0.15), 0.0, offset], "run"));
        }
        if kind == Kind::Timers {
            app.push(thread("feeder", "f95", [period, 0.0, 0.0, 0.0], "feed"));
        }
        if kind == Kind::Inverted {
            app.push(thread("low", "f40", [2.3 * period, 0.3 * period, 0.0, 0.5 * period], how));
        }
        let every = period * within(1.2, 8.0);
        let work = (0.35 * every).min(period * within(0.1, 1.2));
        let tail = if within(0.0, 1.0) < 0.5 { 0.0 } else { 0.1 * work };
        let hog = |scheduling, how| thread("hog", scheduling, [every, work, tail, 0.3 * period], how);
        let culprit = match kind {
            Kind::Other | Kind::Own | Kind::Inverted => hog("f80", "run"),
            Kind::Peer => hog("f50", "run"),
            Kind::Spawned => hog("f80", "fork"),
            Kind::Ordinary => hog("n-15", "run"),
            Kind::Lock => hog("f40", "lock"),
            // A timer takes about 5 µs.
            Kind::Timers => format!("timers,{:.0},{every:.0}", work.min(1_000.0) / 5.0),
        };
        let kernel = if kind == Kind::Timers { "stock@6.12" } else { "rt@6.12" };
        Case { number, kind, kernel, app, culprit }
    }

    pub fn name(&self) -> String {
        format!("{:02}", self.number)
    }

    /// Returns the arguments of the measured program and of the one beside it, each with a seed of its own.
    pub fn programs(&self, has_culprit: bool) -> (String, Option<String>) {
        let seed = 2 * self.number + usize::from(has_culprit);
        let (inside, beside) = match (has_culprit, self.kind) {
            (false, _) => (None, None),
            (true, Kind::Own | Kind::Lock) => (Some(&self.culprit), None),
            (true, _) => (None, Some(format!("{seed} {}", self.culprit))),
        };
        let sources: Vec<&str> = self.app.iter().chain(inside).map(String::as_str).collect();
        (format!("{seed} {}", sources.join(" ")), beside)
    }

    /// Returns the start of the name under which the culprit is left out.
    pub fn culprit(&self) -> &'static str {
        match self.kind {
            Kind::Timers => "local_timer",
            _ => "hog",
        }
    }
}

fn kind(number: usize) -> Kind {
    let all = KINDS.iter().flat_map(|(kind, count)| std::iter::repeat_n(*kind, *count));
    all.cycle().nth(number).unwrap_or(Kind::Other)
}

fn thread(name: &str, scheduling: &str, [period, work, tail, offset]: [f64; 4], how: &str) -> String {
    format!("thread,{name},{scheduling},{period:.0},{work:.0},{tail:.0},{offset:.0},{how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_programs() {
        let all = |seed| (0..30).map(|n| format!("{:?}", Case::new(seed, n).programs(true))).collect::<Vec<_>>();
        assert_eq!(all(1), all(1));
        assert_ne!(all(1), all(2));
    }

    #[test]
    fn only_the_culprit_is_left_out() {
        for case in (0..30).map(|n| Case::new(1, n)) {
            let (with, beside) = case.programs(true);
            let (without, nothing) = case.programs(false);
            let sources = |text: &str| text.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(nothing, None);
            match beside {
                Some(_) => assert_eq!(sources(&with), sources(&without)),
                None => assert_eq!(sources(&with).split_last().map(|(_, rest)| rest.to_vec()), Some(sources(&without))),
            }
        }
    }
}
