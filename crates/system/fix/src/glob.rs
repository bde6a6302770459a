//! Finds paths that match a pattern with `*`, which stands for any text within one component.

use crate::system::System;
use std::path::{Path, PathBuf};

/// Maximum number of paths per pattern: the idle states of 1,000 CPUs.
const MAX: usize = 16 << 10;

/// Returns the existing paths, sorted by name as in a shell. A pattern without `*` is returned as it is, whether the
/// path exists or not.
pub fn expand(sys: &dyn System, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if !part.contains('*') {
            found.iter_mut().for_each(|path| path.push(part));
            continue;
        }
        let below = |folder: &PathBuf| {
            let names = sys.list(folder).unwrap_or_default();
            names.into_iter().filter(|name| fits(part, name)).map(|name| folder.join(name)).collect::<Vec<_>>()
        };
        found = found.iter().flat_map(below).take(MAX).collect();
    }
    if pattern.contains('*') {
        found.retain(|path| is_there(sys, path));
    }
    found
}

fn is_there(sys: &dyn System, path: &Path) -> bool {
    sys.look(path).is_ok()
}

/// Returns true if a name matches a pattern. As in a shell, `*` does not match a leading dot.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
