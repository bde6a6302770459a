use std::ffi::OsString;
use std::path::PathBuf;

/// Returns the path of the history: `--db`, otherwise `$PUNCTUAL_HISTORY`, otherwise `/var/lib/punctual/history.db`
/// for root, and `punctual/history.db` below `$XDG_STATE_HOME` or `~/.local/state` for other users (XDG Base
/// Directory Specification 0.8, which requires relative paths to be ignored). `None` if even `$HOME` is not set.
pub fn place(named: Option<PathBuf>, variable: impl Fn(&str) -> Option<OsString>, root: bool) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(named) = named.or_else(|| set("PUNCTUAL_HISTORY")) {
        return Some(named);
    }
    if root {
        return Some("/var/lib/punctual/history.db".into());
    }
    let state = set("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let state = state.or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("punctual/history.db"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_named() {
        let with = |set: &'static [(&str, &str)]| {
            move |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v))
        };
        let home = with(&[("HOME", "/home/a")]);
        assert_eq!(place(Some("x".into()), home, true), Some("x".into()));
        assert_eq!(place(None, home, false), Some("/home/a/.local/state/punctual/history.db".into()));
        assert_eq!(place(None, home, true), Some("/var/lib/punctual/history.db".into()));
        let all = with(&[("HOME", "/home/a"), ("XDG_STATE_HOME", "/s"), ("PUNCTUAL_HISTORY", "")]);
        assert_eq!(place(None, all, false), Some("/s/punctual/history.db".into()));
        let relative = with(&[("HOME", "/home/a"), ("XDG_STATE_HOME", "s")]);
        assert_eq!(place(None, relative, false), Some("/home/a/.local/state/punctual/history.db".into()));
        assert_eq!(place(None, with(&[("PUNCTUAL_HISTORY", "h.db")]), true), Some("h.db".into()));
        assert_eq!(place(None, with(&[]), false), None);
    }
}
