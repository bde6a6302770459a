//! Implements `lab`, which runs kernels in QEMU.

pub mod args;
mod bisect;
mod boot;
mod compare;
#[cfg(test)]
mod documents;
mod guests;
mod progress;
mod prove;

use crate::finish::finish;
use args::LabCommand;
use std::process::ExitCode;

pub fn run(command: &LabCommand) -> ExitCode {
    match command {
        LabCommand::Boot(args) => finish("lab boot", args.output, boot::run(args)),
        LabCommand::Prove(args) => finish("lab prove", args.proof.output, prove::run(args)),
        LabCommand::Bisect(args) => finish("lab bisect", args.proof.output, bisect::run(args)),
        LabCommand::Compare(args) => finish("lab compare", args.proof.output, compare::run(args)),
    }
}
