//! Commands that only read what others wrote give up everything else first, by landlock(7).

use crate::compare::args::CompareArgs;
use crate::explain::args::ExplainArgs;
use crate::import::args::ImportArgs;
use crate::report::args::ReportArgs;
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
    /// Of `report`.
    pub fn report(args: &ReportArgs) -> Needs {
        Needs { reads: args.run.clone(), makes: args.out.iter().cloned().collect() }
    }

    /// Of `import`.
    pub fn import(args: &ImportArgs) -> Needs {
        Needs { reads: args.files.clone(), makes: vec![args.out.clone()] }
    }

    /// Of `compare`; `None` where it runs an experiment.
    pub fn compare(args: &CompareArgs) -> Option<Needs> {
        let reads = args.groups.iter().chain(&args.vs).cloned().collect();
        args.experiment.is_none().then(|| Needs { reads, makes: args.out.iter().cloned().collect() })
    }

    /// Of `explain`; `None` where it looks at this machine.
    pub fn explain(args: &ExplainArgs) -> Option<Needs> {
        let makes = [&args.html, &args.perfetto, &args.bundle].into_iter().flatten().cloned().collect();
        let reads = vec![args.file.clone()?];
        (!args.hardware).then_some(Needs { reads, makes })
    }

    /// From here on this process and its children can open nothing but what is named: to be read what it reads, to be written the
    /// folders of what it makes. On a kernel without landlock (before 5.13, or not in its `lsm=`) nothing changes.
    ///
    /// # Errors
    /// landlock_restrict_self(2) was refused though landlock is there; then the command must not go on.
    pub fn confine(&self) -> Result<(), String> {
        self.restrict().map_err(|e| format!("it cannot be confined to the files it was given: landlock(7): {e}"))
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
