use std::fs;
use std::path::{Path, PathBuf};

const DEEPEST: usize = 12;
/// Maximum number of visited entries, which limits a search of `/`.
const MOST_ENTRIES: usize = 1_000_000;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Run directories, sorted by path.
    pub runs: Vec<PathBuf>,
    /// Directories that were not searched, each with the reason.
    pub notes: Vec<String>,
}

/// Returns true if this directory looks like a run directory. If the run was killed early, it contains only
/// `segments/`.
pub fn is_run(folder: &Path) -> bool {
    folder.join("run.json").is_file() || folder.join("segments").is_dir()
}

/// Returns the directory itself if it is a run, otherwise all run directories below it. Links are not followed, and run
/// directories are not searched for others.
pub fn runs_below(folder: &Path) -> Found {
    let mut found = Found::default();
    let mut entries = 0;
    let mut open = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = open.pop() {
        if is_run(&folder) {
            found.runs.push(folder);
            continue;
        }
        if depth == DEEPEST {
            found.notes.push(format!("{}: too deep; not searched further", folder.display()));
            continue;
        }
        let listed = match fs::read_dir(&folder) {
            Ok(listed) => listed,
            Err(e) => {
                found.notes.push(format!("cannot read {}: {e}", folder.display()));
                continue;
            }
        };
        for entry in listed.flatten() {
            entries += 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), depth + 1));
            }
        }
        if entries > MOST_ENTRIES {
            found.notes.push(format!("more than {MOST_ENTRIES} files: the others were not searched"));
            break;
        }
    }
    found.runs.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_and_not_entered() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for run in ["b/run", "a", "a/inner"] {
            fs::create_dir_all(at(run)).unwrap();
            fs::write(at(run).join("run.json"), "{}").unwrap();
        }
        fs::create_dir_all(at("killed/segments")).unwrap();
        fs::create_dir_all(at("other")).unwrap();
        std::os::unix::fs::symlink(place.path(), at("other/loop")).unwrap();
        assert_eq!(runs_below(place.path()).runs, [at("a"), at("b/run"), at("killed")]);
        assert_eq!(runs_below(&at("a")).runs, [at("a")]);
        let missing = runs_below(&at("nothing"));
        assert!(missing.runs.is_empty() && missing.notes[0].contains("cannot read"), "{missing:?}");
    }
}
