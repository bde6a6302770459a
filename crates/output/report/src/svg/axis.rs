#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    log: bool,
    lo: f64,
    hi: f64,
    /// Positions of `lo` and `hi`, pixels.
    px: (f64, f64),
}

impl Scale {
    pub fn linear(lo: f64, hi: f64, px: (f64, f64)) -> Scale {
        Scale { log: false, lo, hi: if hi > lo { hi } else { lo + 1.0 }, px }
    }

    /// Creates a logarithmic scale; `lo` and `hi` must be above zero.
    pub fn log(lo: f64, hi: f64, px: (f64, f64)) -> Scale {
        let lo = lo.max(1e-300);
        Scale { log: true, lo, hi: if hi > lo { hi } else { lo * 10.0 }, px }
    }

    /// Returns the position of a value; values outside the scale are clamped to the edge.
    pub fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value.max(1e-300) / self.lo).ln() / (self.hi / self.lo).ln(),
            false => (value - self.lo) / (self.hi - self.lo),
        };
        self.px.0 + share.clamp(0.0, 1.0) * (self.px.1 - self.px.0)
    }

    pub fn holds(&self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    pub fn ends(&self) -> (f64, f64) {
        (self.lo, self.hi)
    }

    pub fn pixels(&self) -> (f64, f64) {
        self.px
    }

    pub fn is_log(&self) -> bool {
        self.log
    }

    /// Returns the positions of 2, 3 … 9 in every decade of a logarithmic scale.
    pub fn between_decades(&self) -> Vec<f64> {
        if !self.log {
            return Vec::new();
        }
        let decades = self.lo.log10().floor() as i32..=self.hi.log10().floor() as i32;
        let values = decades.flat_map(|e| (2..10).map(move |f| f64::from(f) * 10f64.powi(e)));
        values.filter(|v| self.holds(*v)).map(|v| self.at(v)).collect()
    }

    /// Returns about `wanted` round values; on a logarithmic scale the decades, with 2 and 5 if there are few.
    pub fn ticks(&self, wanted: usize) -> Vec<f64> {
        match self.log {
            true => self.log_ticks(wanted),
            false => self.linear_ticks(wanted),
        }
    }

    fn linear_ticks(&self, wanted: usize) -> Vec<f64> {
        let step = nice_above((self.hi - self.lo) / wanted.max(1) as f64);
        let first = (self.lo / step).ceil() as i64;
        let last = (self.hi / step + 1e-9).floor() as i64;
        (first..=last).take(100).map(|n| n as f64 * step).collect()
    }

    fn log_ticks(&self, wanted: usize) -> Vec<f64> {
        let (first, last) = (self.lo.log10().floor() as i32, self.hi.log10().ceil() as i32);
        let decades = (self.hi / self.lo).log10();
        let factors: &[f64] = if decades * 3.0 <= wanted as f64 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let every = ((last - first) as usize).div_ceil(wanted.max(1) * 2).max(1) as i32;
        let exponents = (first..=last).filter(|e| e.rem_euclid(every) == 0);
        let all = exponents.flat_map(|e| factors.iter().map(move |f| f * 10f64.powi(e)));
        all.filter(|v| *v >= self.lo * (1.0 - 1e-9) && *v <= self.hi * (1.0 + 1e-9)).collect()
    }
}

/// Returns the smallest of 1, 2, 5 × 10ⁿ that is at least `x`.
pub fn nice_above(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return 1.0;
    }
    let decade = 10f64.powi(x.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0].into_iter().find(|f| f * decade >= x * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * decade
}

/// Returns the largest of 1, 2, 5 × 10ⁿ that is at most `x`.
pub fn nice_below(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return 1.0;
    }
    let decade = 10f64.powi(x.log10().floor() as i32);
    let factor = [10.0, 5.0, 2.0, 1.0].into_iter().find(|f| f * decade <= x * (1.0 + 1e-9));
    factor.unwrap_or(1.0) * decade
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit {
    pub name: &'static str,
    pub ns: f64,
}

impl Unit {
    pub fn for_latency(ns: f64) -> Unit {
        match ns {
            x if x < 2e3 => Unit { name: "ns", ns: 1.0 },
            x if x < 2e6 => Unit { name: "µs", ns: 1e3 },
            x if x < 2e9 => Unit { name: "ms", ns: 1e6 },
            _ => Unit { name: "s", ns: 1e9 },
        }
    }

    pub fn for_run(ns: f64) -> Unit {
        match ns / 1e9 {
            s if s <= 300.0 => Unit { name: "s", ns: 1e9 },
            s if s <= 4.0 * 3600.0 => Unit { name: "min", ns: 60e9 },
            s if s <= 4.0 * 86_400.0 => Unit { name: "h", ns: 3600e9 },
            _ => Unit { name: "days", ns: 86_400e9 },
        }
    }
}

/// Formats up to three decimals, without trailing zeros.
pub fn plain(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() || text == "-0" { "0".into() } else { text.into() }
}

/// Formats a count as a tick label: `1`, `100`, `10k`, `1M`.
pub fn short_count(value: f64) -> String {
    match value {
        v if v >= 1e9 => format!("{}G", plain(v / 1e9)),
        v if v >= 1e6 => format!("{}M", plain(v / 1e6)),
        v if v >= 1e3 => format!("{}k", plain(v / 1e3)),
        v => plain(v),
    }
}

/// Formats a latency as a tick label on a logarithmic axis: `10 µs`, `1 ms`.
pub fn short_latency(ns: f64) -> String {
    match ns {
        x if x < 999.5 => format!("{} ns", plain(x)),
        x if x < 999.5e3 => format!("{} µs", plain(x / 1e3)),
        x if x < 999.5e6 => format!("{} ms", plain(x / 1e6)),
        x => format!("{} s", plain(x / 1e9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        assert_eq!(Scale::linear(0.0, 93.0, (0.0, 1.0)).ticks(5), [0.0, 20.0, 40.0, 60.0, 80.0]);
        assert_eq!(Scale::log(0.5, 2_000.0, (0.0, 1.0)).ticks(5), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Scale::log(2.0, 60.0, (0.0, 1.0)).ticks(6), [2.0, 5.0, 10.0, 20.0, 50.0]);
    }

    #[test]
    fn values_outside_stay_on_the_edge() {
        let scale = Scale::log(1.0, 100.0, (10.0, 30.0));
        assert_eq!([0.0, 1.0, 10.0, 1e9].map(|v| scale.at(v)), [10.0, 10.0, 20.0, 30.0]);
        assert_eq!(Scale::linear(5.0, 5.0, (0.0, 10.0)).at(5.0), 0.0);
    }

    #[test]
    fn round_neighbours() {
        assert_eq!([1.0, 1.1, 21.0, 99.0, 0.03].map(nice_above), [1.0, 2.0, 50.0, 100.0, 0.05]);
        assert_eq!([1.0, 4.9, 21.0, 99.0].map(nice_below), [1.0, 2.0, 20.0, 50.0]);
        assert_eq!([10e3, 1e6, 250.0].map(short_latency), ["10 µs", "1 ms", "250 ns"]);
        assert_eq!([1.0, 100e3, 2e6].map(short_count), ["1", "100k", "2M"]);
    }
}
