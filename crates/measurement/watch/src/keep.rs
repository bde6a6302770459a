//! Which run directories stay.

use crate::options::Keep;
use punctual_directory::{Dir, Error, Kind};

pub(crate) const RUNS: &str = "runs";

/// Names of our run directories in `out`, the oldest first; other entries are ignored.
pub(crate) fn segments(out: &Dir) -> Vec<String> {
    let entries = out.dir(RUNS).and_then(|runs| runs.entries()).unwrap_or_default();
    let folders = entries.into_iter().filter(|(_, kind)| *kind == Kind::Directory);
    folders.filter_map(|(name, _)| name.into_os_string().into_string().ok()).filter(|n| is_ours(n)).collect()
}

/// `20261122T205244Z`, perhaps with a number behind it.
fn is_ours(name: &str) -> bool {
    let (stamp, rest) = name.split_at_checked(16).unwrap_or((name, "?"));
    let pattern = stamp.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    pattern && (rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())))
}

/// Deletes the oldest until those besides the newest take at most `keep`; returns how many.
///
/// # Errors
/// One could not be deleted; older ones are.
pub(crate) fn tidy(out: &Dir, keep: Keep) -> Result<u64, Error> {
    let names = segments(out);
    if names.is_empty() {
        return Ok(0);
    }
    let runs = out.dir(RUNS)?;
    let sizes: Vec<u64> = names.iter().map(|name| runs.dir(name).map_or(0, |run| run.bytes())).collect();
    let too_many = match keep {
        Keep::Count(count) => names.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX)),
        Keep::Bytes(bytes) => {
            let mut sum = 0u64;
            let fitting = sizes.iter().rev().take_while(|size| {
                sum = sum.saturating_add(**size);
                sum <= bytes
            });
            names.len() - fitting.count().max(1).min(names.len())
        }
    };
    for name in names.iter().take(too_many) {
        runs.remove_all(name)?;
    }
    Ok(too_many as u64)
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
