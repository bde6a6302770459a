//! Resolves arguments that several `lab` commands share.

use super::args::{GuestArgs, ProofArgs};
use crate::exit;
use crate::prove;
use crate::refusal::Refusal;
use crate::run_directory::numbered;
use punctual_lab::{LabError, LabOptions, guest_program};
use punctual_model::Claim;
use punctual_vm::{Arch, Cache, Kernel, KernelSpec, Machine, Qemu, VmError, shift_of_mips};
use std::path::PathBuf;
use std::time::Duration;

/// Returns the kernel, and the machine model on which it boots.
pub fn kernel(spec: &KernelSpec, guest: &GuestArgs, cache: &Cache) -> Result<(Kernel, Machine), LabError> {
    let arch = guest.machine.map(Machine::arch).or(Arch::host()).unwrap_or(Arch::Amd64);
    // Fails before anything large is downloaded, if QEMU is missing.
    Qemu::find(guest.machine.unwrap_or(Machine::usual(arch)))?;
    let mut kernel = Kernel::resolve(spec, arch, cache)?;
    if let Some(folder) = &guest.modules {
        kernel.modules = Some(folder.clone());
    }
    let machine = guest.machine.unwrap_or(Machine::usual(kernel.arch));
    Ok((kernel, machine))
}

pub fn limit(guest: &GuestArgs) -> Result<Duration, LabError> {
    let limit = Duration::from_nanos(guest.timeout.0);
    match limit < Duration::from_secs(1) {
        true => Err(LabError::Usage(format!("--timeout {}: too short for a boot; the minimum is 1s", guest.timeout))),
        false => Ok(limit),
    }
}

/// Returns what each guest does for `prove`, `compare` and `bisect`.
pub fn options(spec: &KernelSpec, args: &ProofArgs, cache: &Cache) -> Result<LabOptions, LabError> {
    let (kernel, machine) = kernel(spec, &args.guest, cache)?;
    with_kernel(kernel, machine, args)
}

pub fn with_kernel(kernel: Kernel, machine: Machine, args: &ProofArgs) -> Result<LabOptions, LabError> {
    let program = guest_program(args.guest_program.as_deref(), kernel.arch)?;
    let loads = prove::loads(&args.loads, &punctual_loads::defaults(false));
    let mut options = LabOptions::new(kernel, machine, program, loads);
    options.shift = shift_of_mips(args.mips)?;
    options.cpus = args.guest.cpus;
    options.memory_mib = args.guest.memory;
    options.duration = args.duration;
    options.warmup = args.warmup;
    options.period = args.period;
    options.priority = args.priority;
    options.deadline = args.deadline;
    options.append = args.guest.append.clone();
    options.busybox = args.guest.busybox.clone();
    options.limit = limit(&args.guest)?;
    if !args.claims.is_empty() || args.deadline.is_some() {
        options.claims = args.claims.clone();
        if let Some(deadline) = args.deadline {
            options.claims.extend([Claim::max(deadline), Claim::none_missed()]);
        }
    }
    Ok(options)
}

pub fn jobs(args: &ProofArgs) -> usize {
    args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

pub fn default_out(what: &str) -> PathBuf {
    numbered(&format!("lab-{what}"))
}

impl From<LabError> for Refusal {
    fn from(error: LabError) -> Refusal {
        let code = match &error {
            LabError::Vm(VmError::Panicked { .. } | VmError::TimedOut { .. } | VmError::Stopped { .. }) => exit::FAILED,
            error if error.is_usage() => exit::USAGE,
            _ => exit::ENVIRONMENT,
        };
        Refusal::new(code, error)
    }
}
