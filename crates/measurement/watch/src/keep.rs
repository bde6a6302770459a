//! Selects the run directories to keep and deletes the others.

use crate::budget::Kept;
use crate::options::Keep;
use punctual_directory::{Dir, Error, Kind};

pub(crate) const RUNS: &str = "runs";

/// Returns the names of the watch's run directories in `out`, oldest first. Other entries are ignored.
pub(crate) fn segments(out: &Dir) -> Vec<String> {
    let entries = out.dir(RUNS).and_then(|runs| runs.entries()).unwrap_or_default();
    let folders = entries.into_iter().filter(|(_, kind)| *kind == Kind::Directory);
    let mut names: Vec<String> =
        folders.filter_map(|(name, _)| name.into_os_string().into_string().ok()).filter(|n| is_ours(n)).collect();
    names.sort_by_key(|name| place(name));
    names
}

/// Returns the sort key of a name: its time stamp and the number after it, in the order in which [`new_name`] assigns
/// them.
fn place(name: &str) -> (String, u64) {
    let (stamp, number) = name.split_once('-').unwrap_or((name, "1"));
    (stamp.to_owned(), number.parse().unwrap_or(u64::MAX))
}

/// Returns the name for a run directory that begins at `stamp` (`20261122T205244Z`). It sorts after all others: if the
/// clock was set back, it is the latest existing stamp with a number.
pub(crate) fn new_name(out: &Dir, stamp: &str) -> String {
    match segments(out).last().map(|newest| place(newest)) {
        Some((newest, number)) if newest.as_str() >= stamp => format!("{RUNS}/{newest}-{}", number.saturating_add(1)),
        _ => format!("{RUNS}/{stamp}"),
    }
}

/// Returns true for names of the form `20261122T205244Z`, with or without a number after it.
fn is_ours(name: &str) -> bool {
    let (stamp, rest) = name.split_at_checked(16).unwrap_or((name, "?"));
    let pattern = stamp.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    pattern && (rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())))
}

/// Deletes the oldest run directories until the others are within `keep`. Returns the number of deleted ones. The
/// newest directory, and those with the trace of a CPU's current maximum, are never deleted.
///
/// # Errors
/// A directory could not be deleted. Older ones have been deleted.
pub(crate) fn tidy(out: &Dir, keep: Keep) -> Result<u64, Error> {
    let names = segments(out);
    let Some((_, older)) = names.split_last() else { return Ok(0) };
    let runs = out.dir(RUNS)?;
    let size = |name: &String| runs.dir(name).map_or(0, |run| run.bytes());
    let (mut count, mut bytes) = (names.len() as u64, names.iter().map(size).sum::<u64>());
    let current = Kept::found(out).current_runs();
    let mut deleted = 0;
    for name in older.iter().filter(|name| !current.contains(&format!("{RUNS}/{name}"))) {
        let fits = match keep {
            Keep::Count(most) => count <= most,
            Keep::Bytes(most) => bytes <= most,
        };
        if fits {
            break;
        }
        bytes -= size(name);
        runs.remove_all(name)?;
        (count, deleted) = (count - 1, deleted + 1);
    }
    Ok(deleted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(sizes: &[usize]) -> (tempfile::TempDir, Dir) {
        let folder = tempfile::tempdir().unwrap();
        for (n, size) in sizes.iter().enumerate() {
            let run = folder.path().join(RUNS).join(format!("20261122T20524{n}Z"));
            fs::create_dir_all(run.join("hist")).unwrap();
            fs::write(run.join("hist/0.json"), vec![0; *size]).unwrap();
        }
        fs::create_dir_all(folder.path().join(RUNS).join("my own notes")).unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        (folder, dir)
    }

    #[test]
    fn the_oldest_are_deleted_and_nobody_elses() {
        let (folder, dir) = folder(&[10, 10, 10, 10]);
        assert_eq!(tidy(&dir, Keep::Count(3)).unwrap(), 1);
        assert_eq!(segments(&dir), ["20261122T205241Z", "20261122T205242Z", "20261122T205243Z"]);
        assert_eq!(tidy(&dir, Keep::Bytes(25)).unwrap(), 1);
        assert_eq!(tidy(&dir, Keep::Bytes(20)).unwrap(), 0);
        assert!(folder.path().join(RUNS).join("my own notes").exists());
    }

    #[test]
    fn the_newest_stays_however_large_it_is() {
        let (_folder, dir) = folder(&[10, 5000]);
        assert_eq!(tidy(&dir, Keep::Bytes(100)).unwrap(), 1);
        assert_eq!(segments(&dir), ["20261122T205241Z"]);
    }

    #[test]
    fn a_clock_that_is_set_back_makes_no_new_run_directory_an_old_one() {
        let (folder, dir) = folder(&[10, 10]);
        let mut made = Vec::new();
        for stamp in
            ["19700101T000007Z", "19700101T000007Z", "20261122T205241Z", "20261122T205242Z", "20991231T000000Z"]
        {
            let name = new_name(&dir, stamp);
            fs::create_dir(folder.path().join(&name)).unwrap();
            made.push(name.trim_start_matches("runs/").to_owned());
        }
        let again = ["20261122T205241Z-2", "20261122T205241Z-3", "20261122T205241Z-4"];
        assert_eq!(made, [&again[..], &["20261122T205242Z", "20991231T000000Z"]].concat());
        assert_eq!(segments(&dir)[2..], made);
        for n in 1..12 {
            let name = new_name(&dir, "20261122T205242Z");
            assert_eq!(name, format!("runs/20991231T000000Z-{}", n + 1));
            fs::create_dir(folder.path().join(&name)).unwrap();
        }
        assert_eq!(tidy(&dir, Keep::Count(2)).unwrap(), 16);
        assert_eq!(segments(&dir), ["20991231T000000Z-11", "20991231T000000Z-12"]);
    }

    #[test]
    fn names_that_only_look_like_ours_are_not() {
        for name in ["20261122T205244Z", "20261122T205244Z-2"] {
            assert!(is_ours(name), "{name}");
        }
        for name in
            ["", "20261122T205244", "20261122T205244Zx", "2026112xT205244Z", "20261122T205244Z-x", "ä261122T205244Zäää"]
        {
            assert!(!is_ours(name), "{name}");
        }
    }
}
