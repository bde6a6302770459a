use crate::body::{Action, Body};
use crate::error::SpecError;
use punctual_units::{CpuList, Nanos, Policy, Scheduling};
use punctual_workloads::Kind;
use serde::Deserialize;

pub const MOST_THREADS: usize = 64;
/// Maximum duration of an experiment in seconds.
const LONGEST_S: f64 = 3600.0;

#[derive(Clone, Debug, PartialEq)]
pub struct Spec {
    pub name: String,
    /// Description of what the experiment shows.
    pub about: String,
    pub repetitions: u32,
    /// Time after which the threads end even if their work is not done. `None` means three times the prediction, plus
    /// two seconds.
    pub at_most: Option<Nanos>,
    /// Parts of an imported file that have no effect here.
    pub notes: Vec<String>,
    pub threads: Vec<Thread>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    pub name: String,
    pub scheduling: Scheduling,
    pub cpus: Place,
    pub workload: Kind,
    /// Release time relative to the start of the experiment.
    pub offset: Nanos,
    pub amount: Amount,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The CPU of the experiment (`--cpu`).
    Pinned,
    /// Any CPU that the process may use.
    Free,
    Cpus(CpuList),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Amount {
    /// An amount of work, as a multiple of the experiment's scale (`--scale`), that is done without a break.
    Scaled(f64),
    Body(Body),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    about: String,
    #[serde(default = "one")]
    repetitions: u32,
    at_most_s: Option<f64>,
    threads: Vec<FileThread>,
}

fn one() -> u32 {
    1
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileThread {
    name: String,
    policy: String,
    priority: Option<u8>,
    nice: Option<i8>,
    runtime_ms: Option<f64>,
    deadline_ms: Option<f64>,
    period_ms: Option<f64>,
    cpu: String,
    workload: String,
    amount: f64,
    #[serde(default)]
    offset_ms: f64,
}

impl Spec {
    /// Parses TOML. `source` names the text in error messages.
    ///
    /// # Errors
    /// [`SpecError::Form`] if the text is not valid.
    pub fn parse(source: &str, text: &str) -> Result<Spec, SpecError> {
        let wrong = |why: String| SpecError::Form { name: source.into(), why };
        let file: File = toml::from_str(text).map_err(|e| wrong(e.to_string().trim_end().into()))?;
        let threads = file
            .threads
            .iter()
            .map(|thread| thread.read().map_err(|why| wrong(format!("thread `{}`: {why}", thread.name))));
        let at_most = file.at_most_s.map(|s| length("at_most_s", s, 1e9)).transpose().map_err(wrong)?;
        let spec = Spec {
            name: file.name,
            about: file.about,
            repetitions: file.repetitions,
            at_most,
            notes: Vec::new(),
            threads: threads.collect::<Result<_, _>>()?,
        };
        spec.checked().map_err(wrong)
    }

    pub(crate) fn checked(self) -> Result<Spec, String> {
        if self.threads.is_empty() || self.threads.len() > MOST_THREADS {
            return Err(format!("{} threads; must be 1 to {MOST_THREADS}", self.threads.len()));
        }
        if !(1..=1000).contains(&self.repetitions) {
            return Err(format!("{} repetitions; must be 1 to 1000", self.repetitions));
        }
        let twice = |n: &usize| self.threads[..*n].iter().any(|thread| thread.name == self.threads[*n].name);
        match (0..self.threads.len()).find(twice) {
            Some(n) => Err(format!("two threads are named `{}`", self.threads[n].name)),
            None => Ok(self),
        }
    }
}

impl FileThread {
    fn read(&self) -> Result<Thread, String> {
        let workload: Kind = self.workload.parse().map_err(|e| format!("{e}"))?;
        if !(self.amount > 0.0 && self.amount <= 1000.0) {
            return Err(format!("amount = {}; must be more than 0 and at most 1000", self.amount));
        }
        Ok(Thread {
            name: self.name.clone(),
            scheduling: self.scheduling()?,
            cpus: place(&self.cpu)?,
            workload,
            offset: length("offset_ms", self.offset_ms, 1e6)?,
            amount: match workload {
                // The thread sleeps as long as another workload would run.
                Kind::Sleep | Kind::Canny | Kind::CannyIo | Kind::Busy | Kind::Nqueens => Amount::Scaled(self.amount),
            },
        })
    }

    fn scheduling(&self) -> Result<Scheduling, String> {
        let policy: Policy = self.policy.parse().map_err(|e| format!("{e}"))?;
        let budget = [("runtime_ms", self.runtime_ms), ("period_ms", self.period_ms)];
        let unwanted = match policy {
            Policy::Fifo | Policy::Rr => self.nice.map(|_| "nice"),
            Policy::Other | Policy::Batch => self.priority.map(|_| "priority"),
            Policy::Idle | Policy::Deadline => self.priority.map(|_| "priority").or(self.nice.map(|_| "nice")),
        };
        let unwanted = unwanted.or(budget
            .into_iter()
            .chain([("deadline_ms", self.deadline_ms)])
            .find_map(|(key, value)| value.filter(|_| policy != Policy::Deadline).map(|_| key)));
        if let Some(key) = unwanted {
            return Err(format!("{policy} does not use {key}"));
        }
        let priority = || {
            let number = self.priority.ok_or_else(|| format!("{policy} needs a priority"))?;
            number.try_into().map_err(|e| format!("{e}"))
        };
        let nice = self.nice.unwrap_or(0);
        if !(-20..=19).contains(&nice) {
            return Err(format!("nice = {nice}; must be -20 to 19"));
        }
        Ok(match policy {
            Policy::Fifo => Scheduling::Fifo { priority: priority()? },
            Policy::Rr => Scheduling::Rr { priority: priority()? },
            Policy::Other => Scheduling::Other { nice },
            Policy::Batch => Scheduling::Batch { nice },
            Policy::Idle => Scheduling::Idle,
            Policy::Deadline => self.deadline()?,
        })
    }

    fn deadline(&self) -> Result<Scheduling, String> {
        let needed = |key, value: Option<f64>| value.ok_or_else(|| format!("SCHED_DEADLINE needs {key}"));
        let runtime = needed("runtime_ms", self.runtime_ms)?;
        let period = needed("period_ms", self.period_ms)?;
        let deadline = self.deadline_ms.unwrap_or(period);
        if !(runtime > 0.0 && runtime <= deadline && deadline <= period) {
            return Err(
                "runtime_ms must be more than 0, deadline_ms at least runtime_ms, and period_ms at least deadline_ms"
                    .into(),
            );
        }
        let [runtime_ns, deadline_ns, period_ns] = [runtime, deadline, period].map(|ms| length("period_ms", ms, 1e6));
        Ok(Scheduling::Deadline { runtime_ns: runtime_ns?, deadline_ns: deadline_ns?, period_ns: period_ns? })
    }
}

fn place(text: &str) -> Result<Place, String> {
    match text {
        "pinned" => Ok(Place::Pinned),
        "free" => Ok(Place::Free),
        list => {
            let cpus: CpuList = list
                .parse()
                .map_err(|e| format!("cpu = \"{list}\": {e}; \"pinned\" and \"free\" are also possible"))?;
            if cpus.is_empty() {
                Err("cpu = \"\": must be \"pinned\", \"free\" or a list of CPUs such as \"0-3,8\"".into())
            } else {
                Ok(Place::Cpus(cpus))
            }
        }
    }
}

/// Converts `value`, given in units of `unit` nanoseconds, to a duration.
fn length(key: &str, value: f64, unit: f64) -> Result<Nanos, String> {
    match (0.0..=LONGEST_S * 1e9 / unit).contains(&value) {
        true => Ok(Nanos((value * unit).round() as u64)),
        false => Err(format!("{key} = {value}; must be between 0 and 1 hour")),
    }
}

impl Thread {
    /// Returns the thread's body if an amount of 1 stands for `scale` of CPU time.
    pub fn body(&self, scale: Nanos) -> Body {
        match &self.amount {
            Amount::Body(body) => body.clone(),
            Amount::Scaled(amount) => {
                let length = Nanos((scale.0 as f64 * amount) as u64);
                match self.workload {
                    Kind::Sleep => Body { actions: vec![Action::Sleep(length)], loops: Some(1) },
                    _ => Body::run(length),
                }
            }
        }
    }
}
