//! Uses landlock(7) to give up all file access that a command does not need, before the command reads untrusted input.
//! Only for commands that do no more than read files and write their result.

use crate::args::Command;
use crate::refusal::Refusal;
use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError,
    Scope, path_beneath_rules,
};
use punctual_audit::Profile;
use std::path::{Path, PathBuf};

/// Landlock ABI of Linux 6.12: files, TCP ports, devices, signals and abstract sockets. Older kernels enforce the
/// subset that they support (`CompatLevel::BestEffort`).
const RIGHTS: ABI = ABI::V6;

/// Files that a command reads and creates.
#[derive(Debug, Default)]
pub struct Needs {
    /// Files to read, and directories to read with everything below them.
    pub reads: Vec<PathBuf>,
    /// Files to create.
    pub files: Vec<PathBuf>,
    /// Directories to create and to read back.
    pub directories: Vec<PathBuf>,
    /// Databases to read and write, together with their journals.
    pub databases: Vec<PathBuf>,
}

impl Needs {
    /// Returns the files that a command needs; `None` for a command that does more than read files and write its
    /// result.
    pub fn of(command: &Command) -> Option<Needs> {
        let files = |paths: &[&Option<PathBuf>]| paths.iter().copied().flatten().cloned().collect();
        match command {
            Command::Report(args) => {
                Some(Needs { reads: args.run.clone(), files: files(&[&args.out]), ..Needs::default() })
            }
            Command::Import(args) => {
                Some(Needs { reads: args.files.clone(), directories: vec![args.out.clone()], ..Needs::default() })
            }
            // With --experiment the command measures.
            Command::Compare(args) if args.experiment.is_none() => {
                let reads = args.groups.iter().chain(&args.vs).cloned().collect();
                Some(Needs { reads, files: files(&[&args.out]), ..Needs::default() })
            }
            Command::References(args) => Some(Needs { reads: args.files(), ..Needs::default() }),
            Command::Bound(args) => Some(Needs { reads: vec![args.file.clone()?], ..Needs::default() }),
            // Without a file the command examines this machine.
            Command::Explain(args) if !args.hardware => {
                let file = args.file.as_ref()?;
                // The facts beside a trace of a run, and the run.
                let run = file.parent().and_then(Path::parent).filter(|run| run.join("run.json").is_file());
                let beside = [file.with_extension("json")].into_iter().chain(run.map(Path::to_owned));
                let reads = beside.chain([file.clone()]).collect();
                Some(Needs { reads, files: files(&[&args.html, &args.perfetto, &args.bundle]), ..Needs::default() })
            }
            Command::Watch(args) => Some(Needs { reads: vec![args.shown()?.to_owned()], ..Needs::default() }),
            // A profile file may name other files anywhere.
            Command::Audit(args) if !args.fix.is_wanted() && args.subject.profile.parse::<Profile>().is_ok() => {
                let subject = &args.subject;
                let given = subject.root.iter().chain(&subject.snapshot).cloned();
                let reads: Vec<PathBuf> = given.chain(subject.config_files().map(PathBuf::from)).collect();
                (!reads.is_empty()).then(|| Needs { reads, ..Needs::default() })
            }
            _ => None,
        }
    }

    /// Confines this process and its children: they can open only what the command reads, and the directories in which
    /// it creates files. Has no effect on a kernel without landlock (before 5.13, or if `lsm=` does not list it).
    ///
    /// # Errors
    /// landlock_restrict_self(2) failed on a kernel that has landlock. The command must not continue.
    pub fn confine(&self) -> Result<(), Refusal> {
        self.restrict()
            .map_err(|e| Refusal::environment(format!("cannot confine the command to its files: landlock(7): {e}")))
    }

    fn restrict(&self) -> Result<(), RulesetError> {
        let read = AccessFs::ReadFile | AccessFs::ReadDir;
        // A new file gets its name by a rename within its directory, which may replace another file there. Nothing else
        // in the directory can be read.
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

/// Returns the directory in which a path is to be created, or its nearest existing ancestor.
fn there(path: &Path) -> Option<&Path> {
    let named = |folder: &'_ Path| folder.as_os_str().is_empty();
    path.ancestors().skip(1).map(|folder| if named(folder) { Path::new(".") } else { folder }).find(|f| f.is_dir())
}
