//! Registers processes that measure on this machine or change it
//! (docs/adr/0034-nobody-changes-the-machine-under-a-proof.md).

use crate::args::Command;
use crate::refusal::Refusal;
use punctual_journal::register::{Does, Register, at_work};
use punctual_machine::{Live, Machine};
use punctual_units::CpuList;

/// Registers a measuring command until the returned value is dropped. Returns `None` for other commands, and for
/// `prove`, `measure` and `tune`, which register themselves.
pub fn measuring(command: &Command) -> Option<Register> {
    let cpus = match command {
        Command::Watch(args) if args.shown().is_none() => args.cpus.clone(),
        Command::Cyclictest(args) if !args.words.iter().any(|word| word == "--help" || word == "-h") => None,
        Command::Events(args) if !args.list => None,
        Command::Sched(args) if !args.list && args.experiment.is_some() => None,
        Command::Bound(args) if args.file.is_none() => args.cpus.clone(),
        Command::Selftest(_) | Command::Bench(_) => None,
        _ => return None,
    };
    let online = || Live::new().read("/sys/devices/system/cpu/online").text().and_then(|text| text.parse().ok());
    let cpus: CpuList = cpus.or_else(online).unwrap_or_default();
    // A process that cannot register still measures; `prove` then finds it by name.
    let register = Register::enter(&Does::Measures(cpus.clone())).ok()?;
    for other in register.others() {
        match &other.does {
            Does::Measures(its) if its.and(&cpus).is_empty() => {}
            Does::Measures(its) => message!("{other} also measures on CPU {its}"),
            Does::Changes | Does::WouldChange => message!("{other} changes this machine"),
        }
    }
    Some(register)
}

/// Registers this process as one that changes the machine, until the returned value is dropped.
///
/// # Errors
/// Another process is measuring and `anyway` is false.
pub fn changing(anyway: bool) -> Result<Option<Register>, Refusal> {
    // Registered before looking, so that a measurement that starts now sees this process.
    let mut register = Register::enter(&Does::WouldChange);
    let others = register.as_ref().map_or_else(|_| at_work(), Register::others);
    for other in others {
        match &other.does {
            Does::Measures(cpus) if !anyway => {
                return Err(Refusal::environment(format!(
                    "{other} measures on CPU {cpus}; nothing was changed: wait for it or end it, or add --while-measuring, which makes \
                     its result inconclusive"
                )));
            }
            Does::Measures(cpus) => message!("{other} measures on CPU {cpus}: its result becomes inconclusive"),
            Does::Changes => message!("{other} also changes this machine: waiting for it where needed"),
            Does::WouldChange => {}
        }
    }
    if let Ok(register) = &mut register {
        register.changes().map_err(Refusal::environment)?;
    }
    if let Err(e) = &register {
        message!("cannot announce the change to measuring processes: {e}");
    }
    Ok(register.ok())
}

pub fn is_measured() -> bool {
    at_work().iter().any(|other| matches!(other.does, Does::Measures(_)))
}
