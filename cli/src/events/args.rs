use crate::args::common::OutputArgs;
use clap::{Args, ValueEnum};
use punctual_events::{Faults, GpioWire, Test};
use punctual_loads::LoadSpec;
use punctual_units::{Nanos, Priority};
use std::path::PathBuf;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendArg {
    /// This kernel, through punctual-rt
    Posix,
    /// Simulated events in virtual time, to test the suite itself
    Mock,
    /// Xenomai 3 (alchemy), through an adapter built here
    Xenomai,
    /// EVL (Xenomai 4), through an adapter built here
    Evl,
    /// RTAI (LXRT), through an adapter built here
    Rtai,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatArg {
    /// A table
    Text,
    /// One document with every value
    Json,
}

#[derive(Args, Debug)]
pub struct EventsArgs {
    /// Tests to run, by name (see --list) [default: all]
    #[arg(value_name = "TEST", value_parser = test)]
    pub tests: Vec<Test>,
    /// Environment to test
    #[arg(short, long, value_enum, default_value_t = BackendArg::Posix)]
    pub backend: BackendArg,
    /// Total time of those tests whose length is not fixed, divided equally: 10s, 5m
    #[arg(short = 'D', long, value_name = "TIME", default_value = "10s")]
    pub duration: Nanos,
    /// List the tests and the delivery promises of their event sources, and exit
    #[arg(long)]
    pub list: bool,
    /// Priority of the receivers, 5 to 98; the priority of the senders is one higher
    #[arg(short, long, visible_alias = "prio", value_name = "N", default_value = "80", value_parser = priority)]
    pub priority: Priority,
    /// CPU of the receivers [default: any]
    #[arg(long, value_name = "N")]
    pub cpu: Option<u32>,
    /// An event that is received later than this counts as late [default: the interval of the test]
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<Nanos>,
    #[arg(long, value_name = "LOAD", num_args = 1.., value_parser = punctual_loads::parse, help = loads_help())]
    pub under: Vec<LoadSpec>,
    /// GPIO line that drives another line: CHIP:OUT,IN (connected by a wire), or sim (gpio-sim)
    #[arg(long, value_name = "WIRE")]
    pub gpio: Option<GpioWire>,
    /// Unused serial port, switched to its loopback mode: /dev/ttyS1
    #[arg(long, value_name = "PORT")]
    pub serial: Option<String>,
    /// With the mock backend: faults to inject in each test, for example drop=3,delay=1
    #[arg(long, value_name = "FAULTS", default_value = "", hide = true)]
    pub faults: Faults,
    /// With the mock backend: seed that selects the events to which faults are applied
    #[arg(long, value_name = "N", default_value_t = 1, hide = true)]
    pub seed: u64,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = FormatArg::Text)]
    pub format: FormatArg,
    /// Run directory to create [default: ./punctual-runs/<time>-events-<backend>]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputArgs,
}

fn loads_help() -> String {
    let mut loads = punctual_loads::defaults(false);
    loads.retain(|name| *name != "idle");
    format!("Loads to run beside all tests, together: {}, or cmd:'ANY COMMAND'", loads.join(", "))
}

fn test(name: &str) -> Result<Test, String> {
    punctual_events::find(name).ok_or_else(|| {
        let names: Vec<&str> = punctual_events::TESTS.iter().map(|test| test.name).collect();
        format!("no such test; available: {}", names.join(", "))
    })
}

/// Parses the priority of the receivers. Senders have a priority one higher, and threads of the order tests one up to
/// four lower.
fn priority(text: &str) -> Result<Priority, String> {
    let priority: u8 = text.parse().map_err(|_| "4 to 98".to_owned())?;
    let known = (5..=98).contains(&priority).then(|| Priority::try_from(priority).ok()).flatten();
    known.ok_or_else(|| {
        "5 to 98: senders have a priority one higher, threads of the order tests up to four lower".into()
    })
}
