//! `cargo trials`: trials of the tool, each in a directory with its script and its scorer. They take too long for CI,
//! or need a machine with little other load.

#![forbid(unsafe_code)]

mod app;
mod attack;
mod bench;
mod boots;
mod bounds;
mod built;
mod cases;
mod chains;
mod configs;
mod corpus;
mod decide;
mod deploy;
#[cfg(test)]
mod documented;
mod faults;
mod fleet;
mod fuzz;
mod gpio_kernel;
mod guests;
mod hangs;
mod injected;
mod integrations;
mod kill;
mod kill_fix;
mod lab;
mod misconfigured;
mod pi;
mod power;
mod random;
mod rtla;
mod scarce;
mod sections;
mod side_by_side;
mod simulate;
mod soak;
mod tune;
mod unchanged;
mod verdict;
mod watch;
mod without;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Try punctual in guests, together with other programs, and for hours
///
/// Most trials run the release build: cargo build --release. The help of a trial lists its other requirements.
#[derive(Debug, Parser)]
#[command(name = "cargo trials", bin_name = "cargo trials", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    trial: Trial,
}

#[derive(Debug, Subcommand)]
enum Trial {
    App(app::Wanted),
    Attack(attack::Wanted),
    Chains(chains::Wanted),
    Corpus(corpus::Wanted),
    Injected(injected::Wanted),
    Misconfigured(misconfigured::Wanted),
    Scarce(scarce::Wanted),
    Bounds(bounds::Wanted),
    Sections(sections::Wanted),
    SideBySide(side_by_side::Wanted),
    Tune(tune::Wanted),
    Unchanged(unchanged::Wanted),
    Verdict(verdict::Wanted),
    Decide(decide::Wanted),
    Faults(faults::Wanted),
    Hangs(hangs::Wanted),
    Kill(kill::Wanted),
    KillFix(kill_fix::Wanted),
    Fuzz(fuzz::Wanted),
    Watch(watch::Wanted),
    Without(without::Wanted),
    Lab(lab::Wanted),
    Boots(boots::Wanted),
    Deploy(deploy::Wanted),
    Pi(pi::Wanted),
    Power(power::Wanted),
    Rtla(rtla::Wanted),
    GpioKernel(gpio_kernel::Wanted),
    Configs(configs::Wanted),
    Fleet(fleet::Wanted),
    Integrations(integrations::Wanted),
    #[command(subcommand)]
    Bench(bench::Wanted),
    Soak(soak::Wanted),
}

impl Trial {
    fn run(self) -> Result<(), String> {
        match self {
            Trial::App(wanted) => app::run(&wanted),
            Trial::Attack(wanted) => attack::run(&wanted),
            Trial::Chains(wanted) => chains::run(&wanted),
            Trial::Corpus(wanted) => corpus::run(&wanted),
            Trial::Injected(wanted) => injected::run(&wanted),
            Trial::Scarce(wanted) => scarce::run(&wanted),
            Trial::Bounds(wanted) => bounds::run(&wanted),
            Trial::Sections(wanted) => sections::run(&wanted),
            Trial::Misconfigured(wanted) => misconfigured::run(&wanted),
            Trial::SideBySide(wanted) => side_by_side::run(&wanted),
            Trial::Tune(wanted) => tune::run(&wanted),
            Trial::Unchanged(wanted) => unchanged::run(&wanted),
            Trial::Verdict(wanted) => verdict::run(&wanted),
            Trial::Decide(wanted) => decide::run(&wanted),
            Trial::Faults(wanted) => faults::run(&wanted),
            Trial::Hangs(wanted) => hangs::run(&wanted),
            Trial::Kill(wanted) => kill::run(wanted),
            Trial::KillFix(wanted) => kill_fix::run(&wanted),
            Trial::Fuzz(wanted) => fuzz::run(&wanted),
            Trial::Watch(wanted) => watch::run(&wanted),
            Trial::Without(wanted) => without::run(&wanted),
            Trial::Lab(wanted) => lab::run(&wanted),
            Trial::Boots(wanted) => boots::run(wanted),
            Trial::Deploy(wanted) => deploy::run(wanted),
            Trial::Pi(wanted) => pi::run(&wanted),
            Trial::Power(wanted) => power::run(&wanted),
            Trial::Rtla(wanted) => rtla::run(&wanted),
            Trial::GpioKernel(wanted) => gpio_kernel::run(&wanted),
            Trial::Configs(wanted) => configs::run(&wanted),
            Trial::Fleet(wanted) => fleet::run(&wanted),
            Trial::Integrations(wanted) => integrations::run(&wanted),
            Trial::Bench(wanted) => bench::run(&wanted),
            Trial::Soak(wanted) => soak::run(&wanted),
        }
    }
}

fn main() -> ExitCode {
    xtask::exit_code(Arguments::parse().trial.run())
}
