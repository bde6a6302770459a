//! Groups runs by boot, because boots are the samples of a comparison.

use crate::Side;
use crate::known::place;
use punctual_model::{Event, Recording, Series};
use punctual_stats::{median, pairs_for_interval};

/// Minimum number of boots per side. With fewer, no interval at 95 % exists.
pub const LEAST_BOOTS: u64 = 4;
const MINUTE_NS: u64 = 60_000_000_000;
/// Maximum difference between starting temperatures that count as equal, °C.
const EQUAL: f64 = 3.0;

/// The runs of one boot.
pub(crate) struct Boot<'a> {
    pub name: String,
    pub runs: Vec<&'a Recording>,
    /// Start of the boot's first run, ns since 1970.
    started: Option<u64>,
}

/// All boots of a side, in the order of their runs.
pub(crate) struct Boots<'a> {
    pub all: Vec<Boot<'a>>,
    /// True if it is known which runs share a boot.
    pub is_known: bool,
}

/// Boot time of the machine, in minutes. An emulated machine is booted for each run.
#[derive(Clone, Copy, PartialEq)]
enum Booted {
    Each,
    At(u64),
    Unknown,
}

fn booted(recording: &Recording, own_boots: bool) -> Booted {
    match recording.run.started {
        _ if own_boots || recording.run.virtual_time.is_some() => Booted::Each,
        Some(started) => Booted::At(started.real_ns.saturating_sub(started.boot_ns) / MINUTE_NS),
        None => Booted::Unknown,
    }
}

/// Returns true if two runs of one machine are of one boot. The boot times may differ by a minute, because the wall clock
/// may be slewed between runs.
fn is_same(a: Booted, b: Booted) -> bool {
    matches!((a, b), (Booted::At(a), Booted::At(b)) if a.abs_diff(b) <= 1)
}

impl<'a> Boots<'a> {
    pub fn of(side: &Side<'a>) -> Boots<'a> {
        let mut all: Vec<(Booted, Boot<'a>)> = Vec::new();
        for (name, recording) in &side.runs {
            let at = booted(recording, side.own_boots);
            let started = recording.run.started.map(|s| s.real_ns);
            match all.iter_mut().find(|(other, _)| is_same(at, *other)) {
                Some((_, boot)) => {
                    boot.name = format!("{}, {name}", boot.name);
                    boot.runs.push(recording);
                    boot.started = boot.started.min(started);
                }
                None => all.push((at, Boot { name: name.clone(), runs: vec![*recording], started })),
            }
        }
        let is_known = all.iter().all(|(at, _)| *at != Booted::Unknown);
        Boots { all: all.into_iter().map(|(_, boot)| boot).collect(), is_known }
    }

    /// Returns for each boot the median of this value over the runs that have it.
    pub fn values(&self, value: impl Fn(&Recording) -> Option<f64>) -> Vec<Option<f64>> {
        let of = |boot: &Boot| median(&boot.runs.iter().filter_map(|r| value(r)).collect::<Vec<f64>>());
        self.all.iter().map(of).collect()
    }

    pub fn is_enough(&self) -> bool {
        self.is_known && self.all.len() as u64 >= LEAST_BOOTS
    }
}

/// The groups of runs, by boot, from which all rows are computed.
pub(crate) struct Groups<'a> {
    pub sides: &'a [Side<'a>],
    pub boots: Vec<Boots<'a>>,
    /// For each side after the first: pairs of boot indices, if both sides were booted alternately.
    pub pairs: Vec<Option<Vec<(usize, usize)>>>,
    /// For each side after the first: true if the runs of both sides started at about the same temperature.
    pub began_alike: Vec<bool>,
}

impl<'a> Groups<'a> {
    pub fn of(sides: &'a [Side<'a>]) -> Groups<'a> {
        let boots: Vec<Boots> = sides.iter().map(Boots::of).collect();
        let mut groups = Groups { sides, boots, pairs: Vec::new(), began_alike: Vec::new() };
        if let Some((first, others)) = groups.boots.split_first() {
            groups.pairs = others.iter().map(|other| in_turns(&first.all, &other.all)).collect();
            groups.began_alike = others.iter().map(|other| began_alike(first, other)).collect();
        }
        groups
    }

    /// Returns true if all runs are of one boot of one machine.
    pub fn is_one_boot(&self) -> bool {
        let mut all = self.sides.iter().flat_map(|side| side.runs.iter().map(|(_, run)| (*run, side.own_boots)));
        let Some((first, own_boots)) = all.next() else { return false };
        let machine = |r: &Recording| (r.run.host.clone(), r.run.machine.kernel_release.clone());
        let start = booted(first, own_boots);
        all.all(|(run, own_boots)| is_same(start, booted(run, own_boots)) && machine(run) == machine(first))
    }

    /// Returns true if the first side and the `k`-th other have enough boots for a judgement.
    pub fn is_judged(&self, k: usize) -> bool {
        [0, k + 1].into_iter().all(|n| self.boots.get(n).is_some_and(Boots::is_enough))
    }

    /// Returns the pairs of the first side and the `k`-th other, if there are enough for an interval.
    pub fn pairs(&self, k: usize, confidence: f64) -> Option<&[(usize, usize)]> {
        let pairs = self.pairs.get(k)?.as_deref()?;
        (pairs.len() as u64 >= pairs_for_interval(confidence)?).then_some(pairs)
    }

    /// Returns the names of the runs whose boot is unknown.
    pub fn unknown(&self) -> Vec<String> {
        let of = |side: &'a Side<'a>| {
            let unknown = side.runs.iter().filter(|(_, r)| booted(r, side.own_boots) == Booted::Unknown);
            unknown.map(|(name, _)| place(side, name))
        };
        self.sides.iter().flat_map(of).collect()
    }
}

/// Returns pairs of successive boots, one of each side, if all boots form such pairs: A B B A …
fn in_turns(a: &[Boot], b: &[Boot]) -> Option<Vec<(usize, usize)>> {
    let of = |boots: &[Boot], side: bool| {
        let one = |(n, boot): (usize, &Boot)| boot.started.map(|at| (at, side, n));
        boots.iter().enumerate().map(one).collect::<Option<Vec<_>>>()
    };
    let mut all = of(a, false)?;
    all.extend(of(b, true)?);
    all.sort_unstable();
    let pair = |two: &[(u64, bool, usize)]| match two {
        [(_, false, a), (_, true, b)] | [(_, true, b), (_, false, a)] => Some((*a, *b)),
        _ => None,
    };
    all.chunks(2).map(pair).collect()
}

fn began_alike(a: &Boots, b: &Boots) -> bool {
    let [a, b] = [a, b].map(|boots| boots.values(starting).into_iter().collect::<Option<Vec<f64>>>());
    let medians = a.zip(b).and_then(|(a, b)| median(&a).zip(median(&b)));
    medians.is_some_and(|(a, b)| (a - b).abs() <= EQUAL)
}

/// Returns the temperature of the hottest sensor at the start of the run, °C.
fn starting(recording: &Recording) -> Option<f64> {
    celsius(recording).next().or_else(|| heats(recording).next()?.points.first().copied())
}

/// Returns the temperature of the hottest sensor during a run, °C: median over time.
pub(crate) fn during(recording: &Recording) -> Option<f64> {
    median(&celsius(recording).collect::<Vec<f64>>())
}

fn celsius(recording: &Recording) -> impl Iterator<Item = f64> {
    recording.events.iter().filter_map(|event| match event {
        Event::Context(context) => context.temperatures.iter().map(|t| t.value).max().map(|milli| milli as f64 / 1e3),
        _ => None,
    })
}

const CELSIUS: &str = "°C";

pub(crate) fn is_heat(series: &Series) -> bool {
    series.unit == CELSIUS
}

/// Returns the series of a benchmark, run by this program or imported.
pub(crate) fn all_series(recording: &Recording) -> impl Iterator<Item = &Series> {
    let imported = recording.run.import.iter().flat_map(|import| &import.series);
    imported.chain(recording.bench.iter().flat_map(|bench| &bench.series))
}

fn heats(recording: &Recording) -> impl Iterator<Item = &Series> {
    all_series(recording).filter(|s| is_heat(s))
}
