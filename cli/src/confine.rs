//! Commands that only read what others wrote give up everything else first, by landlock(7).

use crate::args::Command;
use crate::refusal::Refusal;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    path_beneath_rules,
};
use std::path::{Path, PathBuf};

/// Kernels with later ones than Linux 6.2's know these rights, too; those with earlier ones have fewer (`CompatLevel::BestEffort`).
const RIGHTS: ABI = ABI::V3;

/// What a command reads, and what it makes.
#[derive(Debug, Default)]
pub struct Needs {
    reads: Vec<PathBuf>,
    makes: Vec<PathBuf>,
}

impl Needs {
    /// Of a command that only reads what it is given; `None` of any other.
    pub fn of(command: &Command) -> Option<Needs> {
        let makes = |paths: &[&Option<PathBuf>]| paths.iter().copied().flatten().cloned().collect();
        match command {
            Command::Report(args) => Some(Needs { reads: args.run.clone(), makes: makes(&[&args.out]) }),
            Command::Import(args) => Some(Needs { reads: args.files.clone(), makes: vec![args.out.clone()] }),
            // An experiment measures.
            Command::Compare(args) if args.experiment.is_none() => {
                let reads = args.groups.iter().chain(&args.vs).cloned().collect();
                Some(Needs { reads, makes: makes(&[&args.out]) })
            }
            // Without a file it looks at this machine.
            Command::Explain(args) if !args.hardware => {
                let reads = vec![args.file.clone()?];
                Some(Needs { reads, makes: makes(&[&args.html, &args.perfetto, &args.bundle]) })
            }
            _ => None,
        }
    }

    /// From here on this process and its children can open nothing but what is named: to be read what it reads, to be written the
    /// folders of what it makes. On a kernel without landlock (before 5.13, or not in its `lsm=`) nothing changes.
    ///
    /// # Errors
    /// landlock_restrict_self(2) was refused though landlock is there; then the command must not go on.
    pub fn confine(&self) -> Result<(), Refusal> {
        self.restrict().map_err(|e| {
            Refusal::environment(format!("it cannot be confined to the files it was given: landlock(7): {e}"))
        })
    }

    fn restrict(&self) -> Result<(), RulesetError> {
        let read = AccessFs::from_read(RIGHTS) & !AccessFs::Execute;
        let made = AccessFs::WriteFile
            | AccessFs::RemoveFile
            | AccessFs::RemoveDir
            | AccessFs::MakeReg
            | AccessFs::MakeDir
            | AccessFs::Refer
            | AccessFs::Truncate;
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(RIGHTS))?
            .create()?
            .add_rules(path_beneath_rules(&self.reads, read))?
            .add_rules(path_beneath_rules(self.makes.iter().filter_map(|path| there(path)), read | made))?
            .restrict_self()?;
        Ok(())
    }
}

/// The folder that a path is to be made in, or the nearest above it that is there.
fn there(path: &Path) -> Option<&Path> {
    let named = |folder: &'_ Path| folder.as_os_str().is_empty();
    path.ancestors().skip(1).map(|folder| if named(folder) { Path::new(".") } else { folder }).find(|f| f.is_dir())
}
