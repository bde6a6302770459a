//! What is audited: this machine, a tree of files, a snapshot or bare files, and what it is for. `audit`, `audit --fix` and `tune`
//! share it.

pub mod args;
mod config;
mod profile;

pub use config::name_sources;
pub use profile::profile;

use crate::refusal::Refusal;
use args::SubjectArgs;
use punctual_audit::{Context, Rules};
use punctual_machine::{Given, Live, Machine, Recorded, Snapshot};
use punctual_units::{CpuList, Scheduling};
use std::path::Path;

/// A machine to audit.
pub struct Subject {
    pub machine: Box<dyn Machine>,
    pub name: String,
    /// What it is for.
    pub context: Context,
    /// The bare files that stand for it.
    pub given: Option<Given>,
}

/// Opens what the options name, and adds the rules of a user's own profile.
pub fn look(args: &SubjectArgs, rules: &mut Rules) -> Result<Subject, Refusal> {
    let given = config::given(&args.config)?;
    let (machine, name): (Box<dyn Machine>, String) = match (&args.root, &args.snapshot) {
        _ if let Some(given) = &given => (Box::new(given.clone()), config::names(given)),
        (Some(root), _) if root.is_dir() => (Box::new(Live::under(root)), root.display().to_string()),
        (Some(root), _) => return Err(Refusal::usage(format!("{} is no folder", root.display()))),
        (_, Some(file)) => (Box::new(open(file)?), file.display().to_string()),
        _ => (Box::new(Live::new()), "this machine".to_owned()),
    };
    let (profile, notes) = profile(&args.profile, rules, machine.as_ref())?;
    notes.iter().for_each(|note| say!("not checked: {note}"));
    let context = Context {
        scheduling: Scheduling::Fifo { priority: args.priority },
        cpus: args.cpus.clone().unwrap_or_else(|| cpus(machine.as_ref())),
        profile,
    };
    Ok(Subject { machine, name, context, given })
}

fn open(file: &Path) -> Result<Recorded, Refusal> {
    let shown = file.display();
    let opened = std::fs::File::open(file).map_err(|e| Refusal::usage(format!("cannot read {shown}: {e}")))?;
    Snapshot::read(opened).map_err(|e| Refusal::usage(format!("{shown}: {e}")))
}

/// The isolated CPUs, else all that are online.
pub fn cpus(machine: &dyn Machine) -> CpuList {
    let list = |path: &str| machine.read(path).text().and_then(|text| text.parse::<CpuList>().ok()).unwrap_or_default();
    let isolated = list("/sys/devices/system/cpu/isolated");
    if isolated.is_empty() { list("/sys/devices/system/cpu/online") } else { isolated }
}
