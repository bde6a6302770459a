//! Parses the command line as cyclictest does with getopt_long(3).

mod gone;
mod reading;
mod values;

#[cfg(test)]
pub(crate) use reading::is_known;
pub use reading::parse;

use punctual_units::{CpuList, Nanos, Policy};
use std::ffi::OsString;
use std::path::PathBuf;

/// The defaults are those of cyclictest.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `-a`: CPUs to use in turn; all if none is named.
    pub affinity: Affinity,
    /// `-A USEC`: all threads start together, each with this offset from the previous one.
    pub aligned: Option<Nanos>,
    /// `--secaligned [USEC]`: the threads start at a full second plus this offset.
    pub secaligned: Option<Nanos>,
    /// `-b USEC`: stop at the first latency above this.
    pub breaktrace: Option<Nanos>,
    /// `--tracemark`: mark and stop the kernel's trace at that point.
    pub tracemark: bool,
    /// `-c 1`: CLOCK_REALTIME instead of CLOCK_MONOTONIC.
    pub realtime_clock: bool,
    /// `--deepest-idle-state`: -1 allows only polling.
    pub deepest_idle_state: Option<i32>,
    /// The value to hold in /dev/cpu_dma_latency, µs; `None`: it is not held.
    pub dma_latency: Option<i32>,
    /// The reason why it is not held: `--laptop`, `--default-system`.
    pub not_held: Option<&'static str>,
    /// `-d`: difference between the intervals of consecutive threads.
    pub distance: Nanos,
    /// `-D`.
    pub duration: Option<Nanos>,
    /// `-F`: a named pipe for statistics.
    pub fifo: Option<PathBuf>,
    /// `-h`: bins of a histogram, one per unit of time.
    pub histogram: Option<usize>,
    /// `-H`: with a column for all threads together.
    pub hist_of_all: bool,
    /// `--histfile`.
    pub histfile: Option<PathBuf>,
    /// `-i`.
    pub interval: Nanos,
    /// `--json`.
    pub json: Option<PathBuf>,
    /// `-l`: cycles of the first thread to reach them.
    pub loops: Option<u64>,
    /// `--mainaffinity`.
    pub main_affinity: Option<Affinity>,
    /// `-m`.
    pub mlockall: bool,
    /// `-M`.
    pub refresh_on_max: bool,
    /// `-N`: nanoseconds everywhere.
    pub nsecs: bool,
    /// `-o`: with `-v`, print only the largest of this many samples.
    pub oscope: u64,
    /// `-p`.
    pub priority: Option<u8>,
    /// `--policy`.
    pub policy: Option<Policy>,
    /// `--priospread`: each thread one level below the previous one.
    pub priospread: bool,
    /// `-q`.
    pub quiet: bool,
    /// `-r`.
    pub relative: bool,
    /// `-R`.
    pub resolution: bool,
    /// `-s`: nanosleep(2), or setitimer(2) with `-x`.
    pub system: bool,
    /// `-S`.
    pub smp: bool,
    /// `--spike`: log every latency above this.
    pub spike: Option<Nanos>,
    /// `--spike-nodes`: maximum number of logged spikes.
    pub spike_nodes: usize,
    /// `--smi`.
    pub smi: bool,
    /// `-t`: 0 means one per CPU.
    pub threads: Option<u32>,
    /// `-v`.
    pub verbose: bool,
    /// `-x`: POSIX timers.
    pub posix_timers: bool,
    /// `--format-version`: version of rt-tests whose text format is printed.
    pub format: FormatVersion,
    /// The arguments, for the JSON file.
    pub words: Vec<String>,
    /// Printed before the run.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// Not pinned.
    #[default]
    None,
    /// Thread N is pinned to the Nth CPU.
    All,
    /// Pinned to these CPUs in turn.
    These(CpuList),
    /// Pinned in turn to the CPUs that this selects among those of the machine.
    Named(CpuExpression),
}

/// A list of CPUs as numa_parse_cpustring(3) reads it, with `!`, `+` or `all`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuExpression {
    /// `!`: all except these.
    pub is_inverted: bool,
    /// `+`: 0 is the first CPU that this process may use.
    pub is_relative: bool,
    /// `None`: `all`.
    pub list: Option<CpuList>,
}

/// The versions differ in the histogram's format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatVersion {
    /// Up to 2.4: every row is printed, and a line with totals.
    #[default]
    V2_4,
    /// 2.10: only rows with samples are printed, and no totals.
    V2_10,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Run(Box<Options>),
    /// `--help`.
    Help,
}

/// Maximum size of the histogram, as in rt-tests (HIST_MAX).
const HIST_MAX: usize = 1_000_000;

fn defaults(words: &[OsString]) -> Options {
    Options {
        affinity: Affinity::None,
        aligned: None,
        secaligned: None,
        breaktrace: None,
        tracemark: false,
        realtime_clock: false,
        deepest_idle_state: None,
        dma_latency: Some(0),
        not_held: None,
        distance: Nanos::from_micros(500),
        duration: None,
        fifo: None,
        histogram: None,
        hist_of_all: false,
        histfile: None,
        interval: Nanos::from_micros(1000),
        json: None,
        loops: None,
        main_affinity: None,
        mlockall: false,
        refresh_on_max: false,
        nsecs: false,
        oscope: 1,
        priority: None,
        policy: None,
        priospread: false,
        quiet: false,
        relative: false,
        resolution: false,
        system: false,
        smp: false,
        spike: None,
        spike_nodes: 1024,
        smi: false,
        threads: None,
        verbose: false,
        posix_timers: false,
        format: FormatVersion::default(),
        words: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        warnings: Vec::new(),
    }
}

impl Options {
    /// `-smp -p 80` is parsed as `-s -m -p -p`: the priority would be 0, and the 80 ignored.
    fn bundle(&self) -> &'static str {
        let is_trap = self.words.iter().any(|word| word == "-smp");
        if is_trap { ": -smp is read as -s -m -p; write --smp or -S, then -m -p N" } else { "" }
    }

    fn check(&mut self) -> Result<(), UsageError> {
        let refuse = |what: &str| Err(UsageError(what.to_owned()));
        if self.interval == Nanos::ZERO {
            return refuse("-i 0 is no interval: cyclictest would never sleep");
        }
        if self.oscope > 1 && !self.verbose {
            return refuse("-o chooses from what -v prints: give both");
        }
        if self.aligned.is_some() && self.secaligned.is_some() {
            return refuse("-A and --secaligned exclude each other");
        }
        if self.histfile.is_some() && self.histogram.is_none() {
            return refuse("--histfile needs -h N: how many bins");
        }
        if self.tracemark && self.breaktrace.is_none() {
            return refuse("--tracemark needs -b USEC: when to mark");
        }
        if self.deepest_idle_state.is_some() && self.not_held.is_some() {
            return refuse("--deepest-idle-state and --laptop or --default-system exclude each other");
        }
        let is_rt = |policy: Policy| matches!(policy, Policy::Fifo | Policy::Rr);
        match (self.policy, self.priority.filter(|priority| *priority > 0)) {
            (None, None) => self.warnings.push(
                "no priority (-p 1 to 99): what is measured is how late an ordinary thread wakes, which says nothing about \
                 real-time ones"
                    .into(),
            ),
            (Some(policy), Some(_)) if !is_rt(policy) => {
                return refuse("--policy other, batch and idle have no priority: leave -p out, or say --policy fifo");
            }
            (Some(policy), None) if is_rt(policy) => return refuse("--policy fifo and rr need a priority: -p 1 to 99"),
            _ => {}
        }
        if self.histogram.is_some() && self.words.iter().any(|word| word.starts_with("-d")) {
            self.warnings.push("-d is ignored with a histogram: all threads have the same interval".into());
            self.distance = Nanos::ZERO;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
