use super::point::Point;
use super::stage::Stage;
use std::fmt;

pub struct Tally(Vec<Point>);

impl Tally {
    pub fn new(points: Vec<Point>) -> Tally {
        Tally(points)
    }

    pub fn add(&mut self, point: Point) {
        self.0.push(point);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn failures(&self) -> usize {
        self.count(|point| point.failed.is_some())
    }

    fn count(&self, what: impl Fn(&Point) -> bool) -> usize {
        self.0.iter().filter(|point| what(point)).count()
    }

    fn most(&self, what: impl Fn(&Point) -> f64) -> f64 {
        self.0.iter().map(what).fold(0.0, f64::max)
    }

    pub fn short(&self) -> String {
        let (points, failed) = (self.len(), self.failures());
        let lost = self.most(|point| point.lost);
        format!("{points} kills, {failed} failed, at most {lost:.1} s of samples lost")
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for stage in Stage::ALL {
            let failed = self.count(|point| point.stage == stage && point.failed.is_some());
            writeln!(f, "{:>5}  {stage}; {failed} failed", self.count(|point| point.stage == stage))?;
        }
        writeln!(f, "{:>5}  with a trace instance, removed by the next start", self.count(|point| point.traced))?;
        writeln!(f, "{:>5}  in the middle of a window of the trace", self.count(|point| point.half_window))?;
        writeln!(f, "{:>5}  in runs of 14 s", self.count(|point| point.long))?;
        let gone = self.most(|point| point.gone_after);
        writeln!(f, "{}; no process survived for longer than {gone:.2} s", self.short())
    }
}
