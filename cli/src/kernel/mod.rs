//! Implements `kernel`, which chooses, builds and deploys a kernel for a board.

pub mod args;
mod build;
mod configure;
mod deploy;
#[cfg(test)]
mod deploy_documents;
mod fetch;
pub mod inputs;
mod package;
mod patch;
mod plan;
mod preflight;
mod remote;

use crate::args::common::OutputArgs;
use crate::finish::finish;
use args::KernelCommand;
use std::process::ExitCode;

pub fn run(command: &KernelCommand) -> ExitCode {
    match command {
        KernelCommand::Plan(args) => finish("kernel-plan", args.output, plan::run(args)),
        KernelCommand::Preflight(args) => finish("kernel-preflight", args.output, preflight::run(args)),
        KernelCommand::Patch(args) => finish("kernel-patch", args.output, patch::run(args)),
        KernelCommand::Configure(args) => finish("kernel-configure", args.output, configure::run(args)),
        KernelCommand::Fetch(args) => finish("kernel-fetch", args.output, fetch::run(args)),
        KernelCommand::Build(args) => finish("kernel-build", args.output, build::run(args)),
        KernelCommand::Package(args) => finish("kernel-package", args.output, package::run(args)),
        KernelCommand::Deploy(args) => finish("kernel-deploy", args.output, deploy::deploy(args)),
        KernelCommand::Verify(args) => finish("kernel-verify", args.output, deploy::verify(args)),
        KernelCommand::Commit(args) => finish("kernel-commit", args.output, deploy::commit(args)),
        KernelCommand::Rollback(args) => finish("kernel-rollback", args.output, deploy::rollback(args)),
        KernelCommand::Status(args) => finish("kernel-status", args.output, deploy::status(args)),
        KernelCommand::Guard => finish("kernel-guard", OutputArgs::default(), deploy::guard()),
    }
}
