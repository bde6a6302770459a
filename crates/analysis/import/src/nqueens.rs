//! Times and temperatures of the N-queens benchmark (lemariva/rPI-Tests):
//! `time,queen,threads,solutions,seconds,microseconds,cpu_temp,gpu_temp`, one row per batch.

use crate::Options;
use crate::block::{Found, Loss};
use crate::number;
use crate::tools::{self, Line, Taken};
use punctual_model::{LostKind, Series};
use std::collections::BTreeMap;

const MOST_GROUPS: usize = 64;

#[derive(Default)]
pub(crate) struct Reader {
    columns: BTreeMap<String, usize>,
    groups: BTreeMap<(u64, u64), Group>,
    first_s: Option<u64>,
    last_s: Option<u64>,
    unreadable: u64,
    solutions: Option<u64>,
    other_solutions: u64,
}

struct Group {
    time: Series,
    temperatures: [Series; 2],
}

impl Group {
    fn new(n: u64, processes: u64) -> Group {
        let plural = if processes == 1 { "process" } else { "processes" };
        let of = format!("N-queens, N = {n}, {processes} {plural}");
        let series = |name: &str, unit: &str| Series::new(of.clone(), name, unit);
        Group {
            time: series("time of a batch", "s"),
            temperatures: [series("CPU temperature after it", "°C"), series("GPU temperature after it", "°C")],
        }
    }
}

impl Reader {
    fn field<'a>(&self, fields: &[&'a str], name: &str) -> Option<&'a str> {
        fields.get(*self.columns.get(name)?).copied()
    }

    fn row(&mut self, fields: &[&str]) -> Option<()> {
        let whole = |name: &str| number::whole(self.field(fields, name)?);
        let (n, processes) = (whole("queen")?, whole("threads")?);
        let (seconds, micros) = (whole("seconds")?, whole("microseconds")?);
        let temperature = |name: &str| self.field(fields, name).and_then(number::signed);
        let temperatures = [temperature("cpu_temp"), temperature("gpu_temp")];
        let (at, solutions) = (whole("time"), whole("solutions"));
        if micros >= 1_000_000 || (self.groups.len() >= MOST_GROUPS && !self.groups.contains_key(&(n, processes))) {
            return None;
        }
        let group = self.groups.entry((n, processes)).or_insert_with(|| Group::new(n, processes));
        // The second column has the microseconds beyond whole seconds.
        group.time.push(seconds as f64 + micros as f64 / 1e6);
        for (series, value) in group.temperatures.iter_mut().zip(temperatures) {
            value.into_iter().for_each(|v| series.push(v));
        }
        (self.first_s, self.last_s) = (self.first_s.or(at), at.or(self.last_s));
        self.other_solutions += u64::from(self.solutions.is_some() && self.solutions != solutions);
        self.solutions = self.solutions.or(solutions);
        Some(())
    }
}

impl tools::Reader for Reader {
    fn line(&mut self, line: &Line) -> Taken {
        if self.columns.is_empty() && !line.text.contains("queen") {
            return Taken::No;
        }
        let fields: Vec<&str> = line.text.split([',', ';']).map(str::trim).collect();
        if fields.contains(&"queen") && fields.contains(&"seconds") {
            self.columns = fields.iter().take(64).enumerate().map(|(at, name)| ((*name).to_owned(), at)).collect();
            return Taken::Yes;
        }
        if self.columns.is_empty() || fields.len() < 2 {
            return Taken::No;
        }
        match self.row(&fields) {
            Some(()) => Taken::Yes,
            None => {
                self.unreadable += 1;
                Taken::Unreadable
            }
        }
    }

    fn finish(self: Box<Self>, _: &Options) -> Option<Found> {
        let mut found = Found { format: "nqueens".into(), tool: Some("rPI-Tests".into()), ..Found::default() };
        let ns = |s: Option<u64>| s.and_then(|s| s.checked_mul(1_000_000_000));
        // Timestamps are taken at the end of a batch.
        (found.started_real_ns, found.ended_real_ns) = (ns(self.first_s), ns(self.last_s));
        for group in self.groups.into_values() {
            let all = [group.time].into_iter().chain(group.temperatures);
            found.series.extend(all.filter(|s| s.count > 0));
        }
        if self.unreadable > 0 {
            let text = "rows could not be read";
            found.lost.push(Loss::problem(LostKind::Unreadable, Some(self.unreadable), text));
        }
        if self.other_solutions > 0 {
            let text = "rows have a different number of solutions than the first row";
            found.lost.push(Loss::reported(LostKind::Disagreement, Some(self.other_solutions), text));
        }
        found.has_figures().then_some(found)
    }
}
