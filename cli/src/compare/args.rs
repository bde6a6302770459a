//! Options of `compare`.

use crate::args::common::{GivenArgs, OutputArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Each argument is a group: a run directory, a directory of several (the boots of one kernel) or of files \
                        that `import` reads, or one such file. With --vs there are two groups, of several arguments each. Every group is \
                        compared with the first.\n\n\
                        The boot is the sample: runs of one boot count as one, and with fewer than four boots \
                        in a group nothing is judged.\n\n\
                        Exit codes: 0 compared, 1 worse (with --fail-if-worse), 2 not comparable or wrong usage, 3 \
                        not judged: too few boots, problems, or no value known for both.\n\nExamples:\n  punctual compare before after\n  punctual compare --last 2\n  punctual compare stock-kernel/ rt-kernel/ --fail-if-worse"
)]
pub struct CompareArgs {
    /// Groups to compare; with --vs, the runs of the first group; with --experiment, two kernels
    #[arg(required_unless_present_any = ["experiment", "last"], value_name = "RUN|DIR|FILE")]
    pub groups: Vec<PathBuf>,
    /// Compare the newest N runs of ./punctual-runs, the oldest of them first
    #[arg(long, value_name = "N", conflicts_with_all = ["groups", "vs", "experiment"], value_parser = clap::value_parser!(u8).range(2..=26))]
    pub last: Option<u8>,
    /// Runs of the second group
    #[arg(long, num_args = 1.., value_name = "RUN|DIR|FILE")]
    pub vs: Vec<PathBuf>,
    /// Names of the groups, in order [default: the kernel releases where they differ, else names of directories and
    /// files]
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// State that each run was measured in a boot of its own; files of other tools do not record this
    #[arg(long)]
    pub own_boots: bool,
    /// Exit with 1 if any value of a later group is significantly worse than in the first group
    #[arg(long)]
    pub fail_if_worse: bool,
    /// Compare two kernels (releases as `uname -r` prints them) over several boots in the order A B B A …, in this
    /// directory: plans the boots, measures the running kernel if its turn has come, prints which kernel to boot next,
    /// and compares once all boots are measured. To continue, type the same command without the kernels
    #[arg(long, value_name = "DIR", conflicts_with_all = ["vs", "names"], help_heading = "Experiments")]
    pub experiment: Option<PathBuf>,
    /// Number of boots of each kernel. With six, a signed-rank test can show a difference at 5 %; with eight, it shows
    /// a difference of 20 % if boots vary by 3 %
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "experiment", help_heading = "Experiments")]
    pub pairs: u32,
    /// Boot both kernels in QEMU (the kernels are given as for `punctual lab compare`)
    #[arg(long, requires = "experiment", hide = true)]
    pub lab: bool,
    /// After --: options of `punctual measure`, the same for each boot
    #[arg(last = true, value_name = "OPTIONS", requires = "experiment", help_heading = "Experiments")]
    pub measure: Vec<String>,
    /// Show everything instead of one screen
    #[arg(long)]
    pub full: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
    /// Write to this new file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten, next_help_heading = "With other tools' files")]
    pub given: GivenArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// Text for a terminal
    Text,
    /// One self-contained page with graphs
    Html,
    /// One document with every value
    Json,
}
