//! Reads the runs that the command line names, in groups.

use super::args::CompareArgs;
use crate::import;
use punctual_compare::Side;
use punctual_model::Recording;
use punctual_units::Arrange;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

pub struct Group {
    name: String,
    folder: Option<String>,
    runs: Vec<(String, Recording)>,
    own_boots: bool,
}

/// Runs with their paths.
type Runs = Vec<(PathBuf, Recording)>;

/// Reads all groups. Several groups are read in parallel.
pub fn read(args: &CompareArgs) -> Result<Vec<Group>, String> {
    let lists: Vec<Vec<PathBuf>> = match args.vs.is_empty() {
        true => args.groups.iter().map(|one| vec![one.clone()]).collect(),
        false => vec![args.groups.clone(), args.vs.clone()],
    };
    if args.names.len() > lists.len() {
        return Err(format!(
            "{} names for {} groups: give --name at most once per group",
            args.names.len(),
            lists.len()
        ));
    }
    let read: Vec<Runs> = std::thread::scope(|scope| {
        let begin = |list| std::thread::Builder::new().spawn_scoped(scope, move || group(list, args));
        let threads: Vec<_> = lists.iter().map(|list| (list, begin(list))).collect();
        let joined = threads.into_iter().map(|(list, thread)| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("reading ended early".into())),
            // If no thread can be started, the groups are read one after the other.
            Err(_) => group(list, args),
        });
        joined.collect::<Result<_, String>>()
    })?;
    let names = names(args, &lists, &read);
    Ok(lists.iter().zip(read).zip(names).map(|((list, runs), name)| named(list, runs, name, args.own_boots)).collect())
}

pub fn sides(groups: &[Group]) -> Vec<Side<'_>> {
    let mut all = Vec::with_capacity(groups.len());
    for group in groups {
        let runs = group.runs.iter().map(|(name, recording)| (name.clone(), recording)).collect();
        all.push(Side { name: group.name.clone(), folder: group.folder.clone(), runs, own_boots: group.own_boots });
    }
    all
}

fn named(list: &[PathBuf], runs: Runs, name: String, own_boots: bool) -> Group {
    // A command for a single run names its own directory, not the one that contains it.
    let folder = match (list, runs.as_slice()) {
        ([_], [(run, _)]) => Some(run).filter(|run| run.is_dir()),
        ([only], _) => Some(only).filter(|only| only.is_dir()),
        _ => None,
    };
    let folder = folder.map(|folder| folder.display().to_string());
    Group { name, folder, runs: runs.into_iter().map(|(path, r)| (last_name(&path), r)).collect(), own_boots }
}

fn last_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

fn group(list: &[PathBuf], args: &CompareArgs) -> Result<Runs, String> {
    let mut runs = Vec::new();
    for path in list {
        match path.is_dir() {
            true => runs.extend(folder(path, args)?),
            false => runs.push((path.clone(), file(path, args)?)),
        }
    }
    Ok(runs)
}

fn file(path: &Path, args: &CompareArgs) -> Result<Recording, String> {
    let path_of = std::slice::from_ref;
    let mut read = import::recording(path_of(&path.to_path_buf()), None, &args.given).map_err(|refusal| {
        message!("{}", refusal.message);
        format!("{} cannot be compared", path.display())
    })?;
    punctual_compare::without_files(&mut read);
    Ok(read)
}

/// Reads a run directory, or all run directories or importable files in a directory, ordered by name.
fn folder(path: &Path, args: &CompareArgs) -> Result<Runs, String> {
    if is_run(path) {
        return Ok(vec![(path.to_path_buf(), run(path)?)]);
    }
    let failed = |e: std::io::Error| format!("cannot read {}: {e}", path.display());
    let (mut folders, mut files) = (Vec::new(), Vec::new());
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?.path();
        match last_name(&entry).starts_with('.') {
            _ if is_run(&entry) => folders.push(entry),
            false if entry.is_file() => files.push(entry),
            _ => {}
        }
    }
    if folders.is_empty() && files.is_empty() {
        return Err(format!(
            "{} is not a run directory and contains neither runs nor files; name a run, or a directory of runs",
            path.display()
        ));
    }
    folders.arrange_by_key(|p| by_number(&last_name(p)));
    files.arrange_by_key(|p| by_number(&p.file_stem().unwrap_or_default().to_string_lossy()));
    match folders.is_empty() {
        true => files.into_iter().map(|f| file(&f, args).map(|r| (f, r))).collect(),
        false => folders.into_iter().map(|f| run(&f).map(|r| (f, r))).collect(),
    }
}

/// Returns a sort key with which `boot-2` comes before `boot-10`.
fn by_number(name: &str) -> (String, u64, String) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = name.get(stem.len()..).and_then(|digits| digits.parse().ok()).unwrap_or(0);
    (stem.to_owned(), number, name.to_owned())
}

fn is_run(path: &Path) -> bool {
    path.join("run.json").is_file() || path.join("segments").is_dir()
}

fn run(path: &Path) -> Result<Recording, String> {
    let mut recording = punctual_rundir::read_brief(path).map_err(|e| e.to_string())?;
    recording.damage.iter().for_each(|damage| message!("{}: {damage}", path.display()));
    punctual_compare::without_files(&mut recording);
    Ok(recording)
}

/// Returns the names of the groups: the given names; otherwise the kernel releases if each group has exactly one
/// release, which no other group has; otherwise the file names of the arguments, with as much of their paths as is
/// needed to distinguish them.
fn names(args: &CompareArgs, lists: &[Vec<PathBuf>], read: &[Runs]) -> Vec<String> {
    let paths: Vec<&Path> = lists.iter().filter_map(|list| common(list)).collect();
    let short: Vec<String> = paths.iter().map(|p| last_name(p)).collect();
    let plain = if differ(&short) { short } else { paths.iter().map(|p| p.display().to_string()).collect() };
    let releases: Option<Vec<String>> = read.iter().map(release).collect();
    let found = releases.filter(|all| differ(all)).unwrap_or(plain);
    found.into_iter().enumerate().map(|(n, name)| args.names.get(n).cloned().unwrap_or(name)).collect()
}

/// Returns the folder that contains all runs of a group, or its only run.
fn common(list: &[PathBuf]) -> Option<&Path> {
    let (first, others) = list.split_first()?;
    let named = |folder: &&Path| folder.file_name().is_some();
    let folder = first.parent().filter(named).filter(|_| !others.is_empty());
    let is_shared = |folder: &&Path| others.iter().all(|other| other.parent() == Some(folder));
    Some(folder.filter(is_shared).unwrap_or(first))
}

fn differ(names: &[String]) -> bool {
    names.iter().collect::<BTreeSet<_>>().len() == names.len()
}

/// Returns the kernel release that all runs of a group share, if there is one.
fn release(runs: &Runs) -> Option<String> {
    let releases: BTreeSet<Option<String>> = runs.iter().map(|(_, r)| r.run.machine.kernel_release.clone()).collect();
    match releases.len() {
        1 => releases.into_iter().next().flatten(),
        _ => None,
    }
}
