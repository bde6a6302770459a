//! Who else measures on this machine, or changes it (docs/adr/0034-nobody-changes-the-machine-under-a-proof.md).

use crate::args::Command;
use crate::refusal::Refusal;
use punctual_journal::register::{Does, Register, at_work};
use punctual_machine::{Live, Machine};
use punctual_units::CpuList;

/// Enters a command that measures, until the result is dropped. `prove`, `measure` and `tune` enter themselves.
pub fn measuring(command: &Command) -> Option<Register> {
    let cpus = match command {
        Command::Watch(args) if args.shown().is_none() => args.cpus.clone(),
        Command::Cyclictest(args) if !args.words.iter().any(|word| word == "--help" || word == "-h") => None,
        Command::Events(args) if !args.list => None,
        Command::Sched(args) if !args.list && args.experiment.is_some() => None,
        Command::Selftest(_) | Command::Bench(_) => None,
        _ => return None,
    };
    let online = || Live::new().read("/sys/devices/system/cpu/online").text().and_then(|text| text.parse().ok());
    let cpus: CpuList = cpus.or_else(online).unwrap_or_default();
    // What cannot enter measures all the same; `prove` then finds it by its name.
    let register = Register::enter(&Does::Measures(cpus.clone())).ok()?;
    for other in register.others() {
        match &other.does {
            Does::Measures(its) if its.and(&cpus).is_empty() => {}
            Does::Measures(its) => say!("{other} measures on CPU {its}, too"),
            Does::Changes | Does::WouldChange => say!("{other} changes this machine"),
        }
    }
    Some(register)
}

/// Enters this process as one that changes the machine, until the result is dropped.
///
/// # Errors
/// A process measures, and that is not to be disturbed (`anyway`).
pub fn changing(anyway: bool) -> Result<Option<Register>, Refusal> {
    // Before the look: one that begins to measure sees this one then.
    let mut register = Register::enter(&Does::WouldChange);
    let others = register.as_ref().map_or_else(|_| at_work(), Register::others);
    for other in others {
        match &other.does {
            Does::Measures(cpus) if !anyway => {
                return Err(Refusal::environment(format!(
                    "{other} measures on CPU {cpus}; nothing was changed: wait for it or end it, or say --while-measuring, which makes \
                     its result inconclusive"
                )));
            }
            Does::Measures(cpus) => say!("{other} measures on CPU {cpus}: its result becomes inconclusive"),
            Does::Changes => say!("{other} changes this machine, too: waiting for it where needed"),
            Does::WouldChange => {}
        }
    }
    if let Ok(register) = &mut register {
        register.changes().map_err(Refusal::environment)?;
    }
    if let Err(e) = &register {
        say!("measurements are not told that the machine changes: {e}");
    }
    Ok(register.ok())
}

/// Does any process measure now?
pub fn is_measured() -> bool {
    at_work().iter().any(|other| matches!(other.does, Does::Measures(_)))
}
