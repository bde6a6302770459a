//! Roles of the columns of a table, from their names or as given by the user.

/// What the numbers in a column of a table mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Role {
    /// Lower edge of a bin.
    Bin,
    /// Number of samples of one thread in the bin of the row.
    Count,
    /// One latency per row.
    Sample,
    Min,
    Mean,
    Max,
    /// CPU to which the row belongs.
    Cpu,
    /// Ignored, for example a sequence number or a time.
    Skip,
}

/// A role, and the length of its unit in ns if the name states the unit.
pub(super) type Column = (Role, Option<f64>);

/// Columns given with `--columns`: `bin:us,count…`, `skip,sample:ns`. `…` or `...` repeats the last column.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    columns: Vec<Column>,
    repeats: bool,
}

impl std::str::FromStr for Columns {
    type Err = String;

    fn from_str(text: &str) -> Result<Columns, String> {
        let (list, repeats) = match text.strip_suffix('…').or_else(|| text.strip_suffix("...")) {
            Some(list) => (list, true),
            None => (text, false),
        };
        let columns = list.split(',').map(|one| given(one.trim())).collect::<Result<Vec<_>, _>>()?;
        let any = |wanted: &[Role]| columns.iter().any(|(role, _)| wanted.contains(role));
        if any(&[Role::Bin]) != any(&[Role::Count]) {
            return Err("a histogram has a column `bin` and columns `count`: for example bin:us,count…".into());
        }
        if !any(&[Role::Bin, Role::Sample, Role::Max]) {
            return Err("no column is bin, sample or max: for example skip,sample:us".into());
        }
        Ok(Columns { columns, repeats })
    }
}

fn given(text: &str) -> Result<Column, String> {
    let (name, unit) = text.split_once(':').map_or((text, None), |(name, unit)| (name, Some(unit)));
    let role = match name {
        "bin" => Role::Bin,
        "count" => Role::Count,
        "sample" | "latency" => Role::Sample,
        "min" => Role::Min,
        "mean" | "avg" => Role::Mean,
        "max" => Role::Max,
        "cpu" => Role::Cpu,
        "skip" | "-" | "" => Role::Skip,
        _ => return Err(format!("`{name}` is not one of bin, count, sample, min, mean, max, cpu, skip")),
    };
    let unit =
        unit.map(|unit| unit_of(unit).ok_or_else(|| format!("`{unit}` is not one of ns, us, ms, s"))).transpose()?;
    Ok((role, unit))
}

impl Columns {
    /// Returns the roles for a table of this width; `None` if it has a different number of columns.
    pub(super) fn roles(&self, wide: usize) -> Option<Vec<Column>> {
        let mut roles = self.columns.clone();
        let last = roles.last().copied()?;
        while self.repeats && roles.len() < wide {
            roles.push(last);
        }
        (roles.len() == wide).then_some(roles)
    }
}

/// Returns the length of a unit in ns, by its name.
fn unit_of(word: &str) -> Option<f64> {
    Some(match word {
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" | "nanos" => 1.0,
        "us" | "usec" | "usecs" | "µs" | "μs" | "microsecond" | "microseconds" | "micros" => 1e3,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millis" => 1e6,
        "s" | "sec" | "secs" | "second" | "seconds" => 1e9,
        _ => return None,
    })
}

/// Splits a name into words: `latency_us`, `Bins (us)`, `wakeupLatency[ns]`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            words.push(String::new());
        } else if c.is_uppercase() && small {
            words.push(c.to_lowercase().collect());
        } else if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        } else {
            words.push(c.to_lowercase().collect());
        }
        small = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns true for the name of a CPU or thread column: `core1`, `cpu 0`, `t3`.
fn is_numbered(words: &[String]) -> bool {
    let joined = words.concat();
    let rest = ["cpu", "core", "thread", "thr", "t", "c"].iter().find_map(|name| joined.strip_prefix(name));
    rest.is_some_and(|rest| !rest.is_empty() && rest.len() <= 4 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// Returns the role implied by a name; `None` if it is unknown.
fn named(name: &str) -> Option<Column> {
    let words = words(name);
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let unit = words.iter().rev().find_map(|word| unit_of(word));
    let role = match () {
        () if has(&["bin", "bins", "bucket", "edge"]) => Role::Bin,
        () if has(&["count", "counts", "samples", "occurrences", "frequency", "freq", "hits"])
            || is_numbered(&words) =>
        {
            Role::Count
        }
        () if has(&["min", "minimum", "smallest"]) => Role::Min,
        () if has(&["avg", "mean", "average"]) => Role::Mean,
        () if has(&["max", "maximum", "worst", "largest"]) => Role::Max,
        () if has(&["latency", "latencies", "jitter", "lat", "delay", "wakeup", "lateness", "overshoot"]) => {
            Role::Sample
        }
        () if has(&["cpu", "core"]) => Role::Cpu,
        () if has(&[
            "seq",
            "index",
            "idx",
            "i",
            "no",
            "nr",
            "iteration",
            "cycle",
            "id",
            "sample",
            "timestamp",
            "time",
            "ts",
            "date",
            "t",
            "loop",
        ]) =>
        {
            Role::Skip
        }
        () => return None,
    };
    Some((role, unit))
}

/// Returns the roles of columns with these names; `None` if the names do not determine them.
pub(super) fn of_names(names: &[String]) -> Option<Vec<Column>> {
    let columns: Vec<Option<Column>> = names.iter().map(|name| named(name)).collect();
    let is = |at: usize, wanted: Role| columns.get(at).copied().flatten().is_some_and(|(role, _)| role == wanted);
    let (_, rest) = columns.split_first()?;
    // Before columns of counts, the first column is the bin, even if it is named `time`, `latency (ms)` or `us`.
    let first = words(names.first()?);
    let unit = first.iter().find_map(|word| unit_of(word));
    let bin = is(0, Role::Bin) || is(0, Role::Sample) || unit.is_some() || first.iter().any(|word| word == "time");
    if bin && !rest.is_empty() && (1..columns.len()).all(|at| is(at, Role::Count)) {
        return Some([(Role::Bin, unit)].into_iter().chain(rest.iter().map(|_| (Role::Count, None))).collect());
    }
    let any = |wanted: &[Role]| columns.iter().flatten().any(|(role, _)| wanted.contains(role));
    // A bin without counts, or counts without a bin, are not a histogram, and have no other meaning.
    if any(&[Role::Bin, Role::Count]) || !any(&[Role::Sample, Role::Max]) {
        return None;
    }
    let of_extremes = any(&[Role::Max]);
    Some(
        columns
            .into_iter()
            .map(|column| match column {
                // A column `latency` in addition to minimum and maximum is the most recent latency.
                Some((Role::Sample, _)) if of_extremes => (Role::Skip, None),
                Some(column) => column,
                None => (Role::Skip, None),
            })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(header: &str) -> Option<Vec<Column>> {
        of_names(&header.split(',').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn names_tell_roles_and_units() {
        let histogram = |unit| Some(vec![(Role::Bin, unit), (Role::Count, None), (Role::Count, None)]);
        assert_eq!(of("Bins (us),cpu0,cpu1"), histogram(Some(1e3)));
        assert_eq!(of("time,core1,core2"), histogram(None));
        assert_eq!(of("latency (ms),count"), Some(vec![(Role::Bin, Some(1e6)), (Role::Count, None)]));
        assert_eq!(of("seq,latency_us"), Some(vec![(Role::Skip, None), (Role::Sample, Some(1e3))]));
        assert_eq!(of("wakeupLatency[ns]"), Some(vec![(Role::Sample, Some(1.0))]));
        assert_eq!(of("t,min_us,avg_us,max_us").map(|c| c.len()), Some(4));
        for unlike in ["time,iteration,size,seconds,microseconds", "bin,size", "a,b", "name,count", "seq,count"] {
            assert_eq!(of(unlike), None, "{unlike}");
        }
    }

    #[test]
    fn columns_as_given() {
        let columns: Columns = "bin:us,count…".parse().unwrap();
        assert_eq!(columns.roles(3), Some(vec![(Role::Bin, Some(1e3)), (Role::Count, None), (Role::Count, None)]));
        assert_eq!("skip,sample:ns".parse::<Columns>().unwrap().roles(3), None);
        for bad in ["", "bin:us", "count", "bin:fortnight,count", "size"] {
            assert!(bad.parse::<Columns>().is_err(), "{bad}");
        }
    }
}
