//! Commands that only read what others wrote give up everything else first, by landlock(7).

use crate::args::Command;
use crate::refusal::Refusal;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};
use punctual_audit::Profile;
use std::path::{Path, PathBuf};

/// Linux 6.12's: files, TCP ports, devices, signals and abstract sockets. Kernels with earlier ones know fewer
/// (`CompatLevel::BestEffort`).
const RIGHTS: ABI = ABI::V6;

/// What a command reads, and what it makes.
#[derive(Debug, Default)]
pub struct Needs {
    /// Files, and directories with all beneath.
    pub reads: Vec<PathBuf>,
    /// New files.
    pub files: Vec<PathBuf>,
    /// New directories, read back.
    pub directories: Vec<PathBuf>,
    /// A database, with the journals beside it.
    pub databases: Vec<PathBuf>,
}

impl Needs {
    /// Of a command that only reads what it is given; `None` of any other.
    pub fn of(command: &Command) -> Option<Needs> {
        let files = |paths: &[&Option<PathBuf>]| paths.iter().copied().flatten().cloned().collect();
        match command {
            Command::Report(args) => {
                Some(Needs { reads: args.run.clone(), files: files(&[&args.out]), ..Needs::default() })
            }
            Command::Import(args) => {
                Some(Needs { reads: args.files.clone(), directories: vec![args.out.clone()], ..Needs::default() })
            }
            // An experiment measures.
            Command::Compare(args) if args.experiment.is_none() => {
                let reads = args.groups.iter().chain(&args.vs).cloned().collect();
                Some(Needs { reads, files: files(&[&args.out]), ..Needs::default() })
            }
            // Without a file it looks at this machine.
            Command::Explain(args) if !args.hardware => {
                let reads = vec![args.file.clone()?];
                Some(Needs { reads, files: files(&[&args.html, &args.perfetto, &args.bundle]), ..Needs::default() })
            }
            Command::Watch(args) => Some(Needs { reads: vec![args.shown()?.to_owned()], ..Needs::default() }),
            // A profile in a file names others, anywhere.
            Command::Audit(args) if !args.fix.is_wanted() && args.subject.profile.parse::<Profile>().is_ok() => {
                let subject = &args.subject;
                let given = subject.root.iter().chain(&subject.snapshot).cloned();
                let reads: Vec<PathBuf> = given.chain(subject.config_files().map(PathBuf::from)).collect();
                (!reads.is_empty()).then(|| Needs { reads, ..Needs::default() })
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
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        // A file gets its name by a rename within its folder, which removes another name there. Nothing else of the folder is read.
        let file =
            AccessFs::ReadDir | AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile | AccessFs::Truncate;
        let directory = read | file | AccessFs::MakeDir | AccessFs::RemoveDir | AccessFs::Refer;
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(RIGHTS))?
            .handle_access(AccessNet::from_all(RIGHTS))?
            .scope(Scope::from_all(RIGHTS))?
            .create()?
            .add_rules(path_beneath_rules(self.reads.iter().filter(|path| path.is_file() || path.is_dir()), read))?
            .add_rules(path_beneath_rules(folders(&self.files), file))?
            .add_rules(path_beneath_rules(folders(&self.directories), directory))?
            .add_rules(path_beneath_rules(folders(&self.databases), read | file))?
            .restrict_self()?;
        Ok(())
    }
}

fn folders(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    paths.iter().filter_map(|path| there(path))
}

/// The folder that a path is to be made in, or the nearest above it that is there.
fn there(path: &Path) -> Option<&Path> {
    let named = |folder: &'_ Path| folder.as_os_str().is_empty();
    path.ancestors().skip(1).map(|folder| if named(folder) { Path::new(".") } else { folder }).find(|f| f.is_dir())
}
