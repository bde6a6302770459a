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

/// Options of a run. The defaults are those of cyclictest.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `-a`: CPUs for the threads; all CPUs if none are given.
    pub affinity: Affinity,
    /// `-A USEC`: the threads start at a common time plus an offset, which increases by this value from thread to
    /// thread.
    pub aligned: Option<Nanos>,
    /// `--secaligned [USEC]`: the threads start at a full second plus this offset.
    pub secaligned: Option<Nanos>,
    /// `-b USEC`: ends the run at the first latency above this value.
    pub breaktrace: Option<Nanos>,
    /// `--tracemark`: at the latency that ends the run, writes a mark to the kernel's trace and stops the trace.
    pub tracemark: bool,
    /// `-c 1`: uses CLOCK_REALTIME instead of CLOCK_MONOTONIC.
    pub realtime_clock: bool,
    /// `--deepest-idle-state`: deepest permitted idle state; -1 permits only polling.
    pub deepest_idle_state: Option<i32>,
    /// Value to hold in /dev/cpu_dma_latency, µs; `None` if it is not opened.
    pub dma_latency: Option<i32>,
    /// The option that prevents /dev/cpu_dma_latency from being held: `--laptop` or `--default-system`.
    pub not_held: Option<&'static str>,
    /// `-d`: difference between the intervals of consecutive threads.
    pub distance: Nanos,
    /// `-D`: duration.
    pub duration: Option<Nanos>,
    /// `-F`: named pipe for statistics.
    pub fifo: Option<PathBuf>,
    /// `-h`: number of histogram bins, one per unit of time.
    pub histogram: Option<usize>,
    /// `-H`: adds a histogram column for all threads together.
    pub hist_of_all: bool,
    /// `--histfile`: file for the histogram.
    pub histfile: Option<PathBuf>,
    /// `-i`: interval of the first thread.
    pub interval: Nanos,
    /// `--json`: file for the results in JSON.
    pub json: Option<PathBuf>,
    /// `-l`: number of cycles; the first thread to reach it ends the run.
    pub loops: Option<u64>,
    /// `--mainaffinity`: CPUs for the main thread.
    pub main_affinity: Option<Affinity>,
    /// `-m`: locks memory with mlockall(2).
    pub mlockall: bool,
    /// `-M`: refreshes the display only when a maximum changes.
    pub refresh_on_max: bool,
    /// `-N`: uses nanoseconds everywhere.
    pub nsecs: bool,
    /// `-o`: with `-v`, prints only the largest of each group of this many samples.
    pub oscope: u64,
    /// `-p`: priority of the first thread.
    pub priority: Option<u8>,
    /// `--policy`: scheduling policy.
    pub policy: Option<Policy>,
    /// `--priospread`: the priority decreases by 1 from each thread to the next.
    pub priospread: bool,
    /// `-q`: prints only a summary at the end.
    pub quiet: bool,
    /// `-r`: uses relative timers.
    pub relative: bool,
    /// `-R`: prints the resolution of the clock.
    pub resolution: bool,
    /// `-s`: uses nanosleep(2), or with `-x` setitimer(2).
    pub system: bool,
    /// `-S`: one thread per CPU, bound to it, all with the same priority.
    pub smp: bool,
    /// `--spike`: logs every latency above this value.
    pub spike: Option<Nanos>,
    /// `--spike-nodes`: maximum number of logged spikes.
    pub spike_nodes: usize,
    /// `--smi`: counts system management interrupts.
    pub smi: bool,
    /// `-t`: number of threads; 0 means one per CPU.
    pub threads: Option<u32>,
    /// `-v`: prints every sample.
    pub verbose: bool,
    /// `-x`: uses POSIX timers.
    pub posix_timers: bool,
    /// `--format-version`: version of rt-tests whose text format is used.
    pub format: FormatVersion,
    /// Command-line arguments, which the JSON file repeats.
    pub words: Vec<String>,
    /// Warnings printed before the run.
    pub warnings: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Affinity {
    /// The threads are not bound to CPUs.
    #[default]
    None,
    /// Thread N is bound to the Nth CPU.
    All,
    /// The threads are bound to these CPUs in turn.
    These(CpuList),
    /// The threads are bound in turn to the CPUs that this expression selects.
    Named(CpuExpression),
}

/// A list of CPUs in the syntax of numa_parse_cpustring(3), with `!`, `+` or `all`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuExpression {
    /// True for `!`: all CPUs except these.
    pub is_inverted: bool,
    /// True for `+`: number 0 is the first CPU that this process may use.
    pub is_relative: bool,
    /// The listed CPUs; `None` for `all`.
    pub list: Option<CpuList>,
}

/// Version of the text format. The versions differ in the histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FormatVersion {
    /// Up to 2.4: every row is printed, followed by a line with totals.
    #[default]
    V2_4,
    /// 2.10: only rows with samples are printed, without totals.
    V2_10,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    Run(Box<Options>),
    /// `--help` was given.
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
    /// Returns advice for `-smp -p 80`, which is parsed as `-s -m -p -p`: the priority would be 0, and 80 would be
    /// ignored.
    fn bundle(&self) -> &'static str {
        let is_trap = self.words.iter().any(|word| word == "-smp");
        if is_trap { ": -smp is read as -s -m -p; write --smp or -S, then -m -p N" } else { "" }
    }

    fn check(&mut self) -> Result<(), UsageError> {
        let refuse = |what: &str| Err(UsageError(what.to_owned()));
        if self.interval == Nanos::ZERO {
            return refuse("-i 0 is not a valid interval: cyclictest would never sleep");
        }
        if self.oscope > 1 && !self.verbose {
            return refuse("-o selects from the output of -v: give both");
        }
        if self.aligned.is_some() && self.secaligned.is_some() {
            return refuse("-A and --secaligned exclude each other");
        }
        if self.histfile.is_some() && self.histogram.is_none() {
            return refuse("--histfile needs -h N (number of bins)");
        }
        if self.tracemark && self.breaktrace.is_none() {
            return refuse("--tracemark needs -b USEC (latency at which to mark)");
        }
        if self.deepest_idle_state.is_some() && self.not_held.is_some() {
            return refuse("--deepest-idle-state and --laptop or --default-system exclude each other");
        }
        let is_rt = |policy: Policy| matches!(policy, Policy::Fifo | Policy::Rr);
        match (self.policy, self.priority.filter(|priority| *priority > 0)) {
            (None, None) => self.warnings.push(
                "no priority (-p 1 to 99): this measures the wakeups of an ordinary thread, which says nothing about \
                 real-time ones"
                    .into(),
            ),
            (Some(policy), Some(_)) if !is_rt(policy) => {
                return refuse("--policy other, batch and idle have no priority: omit -p, or use --policy fifo");
            }
            (Some(policy), None) if is_rt(policy) => {
                return refuse("--policy fifo and rr need a priority: -p 1 to 99");
            }
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
