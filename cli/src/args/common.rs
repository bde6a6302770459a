//! Options that several commands share.

use clap::{Args, ValueEnum};
use punctual_model::Alignment;
use punctual_proof::When;
use punctual_remote::Target;
use punctual_units::Nanos;
use std::path::PathBuf;

#[derive(Args, Debug, Clone, Copy, Default)]
pub struct OutputArgs {
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
    /// Print nothing on standard output: the exit code is the result
    #[arg(short, long)]
    pub quiet: bool,
}

impl OutputArgs {
    /// Returns the options with `--json` removed if `--quiet` is given, which takes precedence.
    pub fn quiet_first(self) -> OutputArgs {
        OutputArgs { json: self.json && !self.quiet, ..self }
    }
}

#[derive(Args, Clone, Debug, Default)]
pub struct KnownArgs {
    /// Allow disabling RT throttling and the fair server without an armed hardware watchdog. With NAME, which may be
    /// repeated: allow a profile file to change this kernel parameter, sysctl or file, although it is not a known
    /// latency setting
    #[arg(long, value_name = "NAME", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub i_know: Vec<String>,
}

impl KnownArgs {
    /// Returns true if the option was given without a name.
    pub fn is_without_watchdog(&self) -> bool {
        self.i_know.iter().any(String::is_empty)
    }
}

#[derive(Args, Clone, Debug, Default)]
pub struct TargetArgs {
    /// Run on this machine over OpenSSH; its host key must be known [default: the local machine]
    #[arg(long, value_name = "ssh://USER@HOST")]
    pub target: Option<Target>,
    /// The punctual binary for the target's CPU [default: the running one]
    #[arg(long, value_name = "FILE", requires = "target")]
    pub binary: Option<PathBuf>,
    /// ssh configuration file to use instead of yours (ssh -F)
    #[arg(long, value_name = "FILE", requires = "target")]
    pub ssh_config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AlignmentArg {
    /// Release all threads at the same instant
    Aligned,
    /// Spread the releases evenly over one period
    Staggered,
}

impl From<AlignmentArg> for Alignment {
    fn from(a: AlignmentArg) -> Alignment {
        match a {
            AlignmentArg::Aligned => Alignment::Aligned,
            AlignmentArg::Staggered => Alignment::Staggered,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhenArg {
    /// Trace if this machine allows it; otherwise the report states why not
    Auto,
    /// Refuse to measure without a trace
    Always,
    /// Do not trace
    Never,
}

impl From<WhenArg> for When {
    fn from(when: WhenArg) -> When {
        match when {
            WhenArg::Auto => When::Auto,
            WhenArg::Always => When::Always,
            WhenArg::Never => When::Never,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EventsArg {
    /// Events needed to trace a delay to its cause
    Minimal,
    /// Also thread exits, expired timers and frequency changes
    Full,
    /// Also kernel stacks, which show the functions that disabled interrupts or preemption; adds about 5 µs to each
    /// latency
    Stacks,
}

/// Formats that `import` reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportFormat {
    /// Text output of cyclictest, or the status lines of cyclicdeadline or jitterdebugger
    Cyclictest,
    /// JSON output of rt-tests or jitterdebugger
    Json,
    /// Columns of numbers: a histogram, one latency per row, or minima and maxima over time
    Csv,
    /// Text output of rtla timerlat, osnoise or hwnoise
    Rtla,
    /// jitterdebugger's samples.raw
    JitterdebuggerRaw,
    /// CSV output of the N-queens benchmark
    Nqueens,
    /// Text output of any other supported tool
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum UnitArg {
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

/// Properties of an imported file that the user states because the file does not contain them.
#[derive(Args, Debug, Clone, Default)]
pub struct GivenArgs {
    /// Read the file in this format instead of detecting it
    #[arg(long = "input-format", visible_alias = "from", value_enum, value_name = "FORMAT")]
    pub input_format: Option<ImportFormat>,
    /// Unit of the file's values [default: the file's own, else us, with a note]
    #[arg(long, value_enum)]
    pub unit: Option<UnitArg>,
    /// Columns of a table: bin, count, sample, min, mean, max, cpu, skip, each with :ns, :us, :ms or :s where
    /// needed; … repeats the last one. For example bin:us,count… or skip,sample:us
    #[arg(long, value_name = "COLUMNS")]
    pub columns: Option<punctual_import::Columns>,
    /// Period of the measuring threads, if the file does not state it; used to limit the number of skipped periods
    #[arg(long, value_name = "TIME")]
    pub period: Option<Nanos>,
    /// Board on which the file was measured, for example raspberry-pi-4b: adds the published latencies of that board to
    /// the report
    #[arg(long, value_name = "BOARD", value_parser = known_board)]
    pub board: Option<&'static punctual_references::Board>,
}

fn known_board(named: &str) -> Result<&'static punctual_references::Board, String> {
    crate::references::known(named)
}
