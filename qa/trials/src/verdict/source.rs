//! Simulates a machine's disturbances event by event, and the late episodes that the engine would record.

use punctual_model::EPISODE_GAP;
use punctual_stats::SplitMix64;

/// Number of late releases of one event.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    Constant(u64),
    /// Geometric distribution with this mean, at most `most`.
    Geometric {
        mean: f64,
        most: u64,
    },
    /// `most` in this share of the events, and `usual` in the others.
    Mixed {
        usual: u64,
        most: u64,
        share: f64,
    },
    /// Pareto distribution from 1 with this exponent, at most `most`.
    Pareto {
        exponent: f64,
        most: u64,
    },
}

impl Sizes {
    pub fn most(self) -> u64 {
        match self {
            Sizes::Constant(most)
            | Sizes::Geometric { most, .. }
            | Sizes::Mixed { most, .. }
            | Sizes::Pareto { most, .. } => most,
        }
    }

    /// Returns a random size, by inverting the probability of exceeding a size.
    fn draw(self, random: &mut SplitMix64) -> u64 {
        let u = random.uniform();
        let at_most = |size: f64, most: u64| (size as u64).clamp(1, most);
        match self {
            Sizes::Constant(size) => size,
            Sizes::Geometric { mean, most } => at_most(1.0 + u.ln() / (-1.0 / mean).ln_1p(), most),
            Sizes::Mixed { usual, most, share } => {
                if u < share {
                    most
                } else {
                    usual
                }
            }
            Sizes::Pareto { exponent, most } => at_most(u.powf(-1.0 / exponent), most),
        }
    }

    pub fn mean(self) -> f64 {
        // The sum of P(size ≥ s) is the mean.
        let sum = |most: u64, beyond: &dyn Fn(f64) -> f64| (1..=most).map(|s| beyond(s as f64)).sum();
        match self {
            Sizes::Constant(size) => size as f64,
            Sizes::Geometric { mean, most } => sum(most, &|s| (1.0 - 1.0 / mean).powf(s - 1.0)),
            Sizes::Mixed { usual, most, share } => (1.0 - share) * usual as f64 + share * most as f64,
            Sizes::Pareto { exponent, most } => sum(most, &|s| s.powf(-exponent)),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Arrivals {
    /// An event begins with the same probability at each release outside of an event.
    Random,
    /// Events begin at a fixed interval of this many releases, starting at a random phase. One late release may be
    /// missing.
    Every(u64),
}

/// A machine, described by its events and the share of releases that they make late.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    pub sizes: Sizes,
    pub arrivals: Arrivals,
    /// Within an event, one in this many releases is late.
    pub every: u64,
    pub share: f64,
}

/// A disturbance: the release at which it begins, the number of late releases, and the distance between them.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub start: u64,
    late: u64,
    every: u64,
}

impl Event {
    /// Returns the event's last late release.
    fn last(&self) -> u64 {
        self.start + (self.late - 1) * self.every
    }

    /// Returns the number of releases until the event's episode has ended.
    pub fn ended(&self) -> u64 {
        self.last() + 1 + EPISODE_GAP
    }
}

impl Source {
    pub fn events(self, random: SplitMix64) -> Events {
        let mean = self.sizes.mean();
        // Mean number of releases between the end of an event and the start of the next one.
        let pause = mean / self.share - ((mean - 1.0) * self.every as f64 + 1.0);
        let mut events = Events { source: self, random, pause, at: 0 };
        if let Arrivals::Every(period) = self.arrivals {
            events.at = (events.random.uniform() * period as f64) as u64;
        }
        events
    }
}

/// Events in time order. The sequence is endless if the share is above 0.
pub struct Events {
    source: Source,
    random: SplitMix64,
    pause: f64,
    /// The first release at which the next event may begin.
    at: u64,
}

impl Iterator for Events {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let Source { sizes, arrivals, every, share } = self.source;
        if share <= 0.0 {
            return None;
        }
        match arrivals {
            Arrivals::Random => {
                // Geometric with mean `pause`: an exponential value, rounded down.
                let pause = -self.random.uniform().ln() / (1.0 / self.pause).ln_1p();
                let event = Event { start: self.at + pause as u64, late: sizes.draw(&mut self.random), every };
                self.at = event.last() + 1;
                Some(event)
            }
            Arrivals::Every(period) => loop {
                let start = self.at;
                self.at += period;
                if self.random.uniform() < share * period as f64 / sizes.mean() {
                    return Some(Event { start, late: sizes.draw(&mut self.random), every });
                }
            },
        }
    }
}

/// Recorded counts of one cell, which is one CPU in one phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    pub released: u64,
    pub episodes: u64,
    pub late: u64,
    pub longest: u64,
    pub open: u64,
}

/// The late episodes of the events, in time order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Track {
    last: Option<Event>,
    episodes: u64,
    /// Number of late releases of all events before the last one.
    late: u64,
    /// Longest episode before the last one.
    longest: u64,
    /// First release of the last episode, and number of its late releases in the events before the last.
    first: u64,
    before: u64,
}

impl Track {
    pub fn push(&mut self, event: Event) {
        let goes_on = self.last.is_some_and(|last| event.start - last.last() <= EPISODE_GAP);
        if let Some(last) = self.last {
            self.late += last.late;
            self.before += last.late;
            self.longest = self.longest.max(last.last() - self.first + 1);
        }
        if !goes_on {
            self.episodes += 1;
            self.first = event.start;
            self.before = 0;
        }
        self.last = Some(event);
    }

    /// Returns the counts after this many releases, which must include the first release of the last event.
    pub fn at(&self, released: u64) -> Counts {
        let Some(last) = self.last else { return Counts { released, ..Counts::default() } };
        let late = ((released - 1 - last.start) / last.every + 1).min(last.late);
        let until = last.start + (late - 1) * last.every;
        Counts {
            released,
            episodes: self.episodes,
            late: self.late + late,
            longest: self.longest.max(until - self.first + 1),
            open: if released - (until + 1) < EPISODE_GAP { self.before + late } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of late releases is as requested, and the episodes have the sizes of the events.
    #[test]
    fn as_many_are_late_as_asked() {
        let all = [
            (Sizes::Constant(8), 1),
            (Sizes::Geometric { mean: 8.0, most: 80 }, 1),
            (Sizes::Mixed { usual: 1, most: 71, share: 0.1 }, 1),
            (Sizes::Pareto { exponent: 1.5, most: 200 }, 1),
            (Sizes::Constant(200), 5),
        ];
        for (sizes, every) in all {
            let source = Source { sizes, arrivals: Arrivals::Random, every, share: 1e-3 };
            let mut track = Track::default();
            let mut end = 0;
            for event in source.events(SplitMix64::new(5)).take(40_000) {
                track.push(event);
                end = event.ended();
            }
            let counts = track.at(end);
            let share = counts.late as f64 / counts.released as f64;
            assert!((share / 1e-3 - 1.0).abs() < 0.05, "{sizes:?} {share}");
            assert!(counts.episodes > 35_000 && counts.longest > (sizes.most() - 1) * every, "{counts:?}");
        }
    }

    #[test]
    fn an_episode_is_open_until_ten_releases_were_in_time() {
        let mut track = Track::default();
        track.push(Event { start: 100, late: 3, every: 5 });
        assert_eq!(track.at(101), Counts { released: 101, episodes: 1, late: 1, longest: 1, open: 1 });
        assert_eq!(track.at(120), Counts { released: 120, episodes: 1, late: 3, longest: 11, open: 3 });
        assert_eq!(track.at(121), Counts { released: 121, episodes: 1, late: 3, longest: 11, open: 0 });
        track.push(Event { start: 120, late: 1, every: 1 });
        assert_eq!(track.at(121), Counts { released: 121, episodes: 1, late: 4, longest: 21, open: 4 });
        track.push(Event { start: 131, late: 1, every: 1 });
        assert_eq!(track.at(200), Counts { released: 200, episodes: 2, late: 5, longest: 21, open: 0 });
    }
}
