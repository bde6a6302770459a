//! Runs commands that write a file under another name, so that the file is replaced only by a complete draft.

use crate::act::execute;
use crate::change::Kept;
use crate::files;
use crate::system::{System, is_absent};
use punctual_model::{Argv, Draft};
use std::io;

/// Runs a command. If it writes a draft, checks the draft and puts it in place of the file. It can be called again
/// after an interruption.
///
/// # Errors
/// What failed, as a sentence; the file is unchanged.
pub(crate) fn run(sys: &dyn System, argv: &Argv, draft: Option<&Draft>, entry: u64) -> Result<(), String> {
    let Some(draft) = draft else { return execute(sys, argv) };
    let failed = |e: io::Error| format!("{}: {e}", draft.draft.display());
    clean(sys, draft).map_err(failed)?;
    let made = execute(sys, argv).and_then(|()| check(sys, draft)).and_then(|()| take(sys, draft, entry));
    let cleaned = clean(sys, draft).map_err(failed);
    made.and(cleaned)
}

/// Removes the files that an interrupted run left.
pub(crate) fn clean(sys: &dyn System, draft: &Draft) -> io::Result<()> {
    for path in std::iter::once(&draft.draft).chain(&draft.leftovers) {
        match sys.look(path).and_then(|_| sys.remove(path)) {
            Err(e) if !is_absent(&e) => return Err(e),
            _ => {}
        }
    }
    Ok(())
}

fn check(sys: &dyn System, draft: &Draft) -> Result<(), String> {
    let Some(argv) = &draft.check else { return Ok(()) };
    let ran = match sys.run(argv) {
        Err(e) if is_absent(&e) => return Ok(()),
        other => other.map_err(|e| format!("{}: {e}", argv.line()))?,
    };
    match ran.code {
        Some(0) => Ok(()),
        _ => Err(format!("{} rejects the new file, so that file is not used: {}", argv.line(), ran.complaint)),
    }
}

/// Gives the draft mode and owner of the file, and puts it in place of the file.
fn take(sys: &dyn System, draft: &Draft, entry: u64) -> Result<(), String> {
    let failed = |e: io::Error| format!("{}: {e}", draft.path.display());
    let made = files::kept(sys, &draft.draft).map_err(|e| format!("{}: {e}", draft.draft.display()))?;
    let content = made.as_ref().and_then(Kept::bytes).filter(|content| !content.is_empty());
    let (Some(made), Some(content)) = (made, content) else {
        return Err(format!("{} is empty or missing", draft.draft.display()));
    };
    let old = files::kept(sys, &draft.path).map_err(failed)?;
    if old.as_ref().is_some_and(|old| old.is_same_as(&made)) {
        return Ok(());
    }
    let has = |content: &[u8]| String::from_utf8_lossy(content).contains(&draft.needs);
    if old.as_ref().and_then(Kept::bytes).is_some_and(|old| has(&old)) && !has(&content) {
        let (needs, old) = (draft.needs.trim(), draft.path.display());
        return Err(format!("{} lacks `{needs}`, which {old} has, so the new file is not used", draft.draft.display()));
    }
    let mut attributes = old.map_or(made.attributes, |old| old.attributes);
    attributes.modified = None;
    files::check_folders(sys, &draft.path).map_err(failed)?;
    files::put(sys, &draft.path, Some(&Kept::new(&content, attributes)), entry).map_err(failed)
}
