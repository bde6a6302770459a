//! Implements `kernel patch`, which finds or checks a published real-time patch.

use super::args::PatchArgs;
use super::inputs::text_file;
use crate::exit;
use crate::finish::Answer;
use crate::refusal::Refusal;
use crate::terminal::harmless;
use punctual_kernel::patch::{self, PatchError, apply, index, signature};
use punctual_kernel::{PatchResult, Release};
use std::path::{Path, PathBuf};

const LARGEST_INDEX: usize = 4 << 20;

pub fn run(args: &PatchArgs) -> Result<Answer, Refusal> {
    match (&args.file, &args.index, &args.tree) {
        (Some(file), _, Some(tree)) => checked(args, file, tree),
        (None, Some(page), _) => found(args, page),
        _ => Err(Refusal::usage("name the source with --tree")),
    }
}

/// A patch that does not apply or has a bad signature is a failed check. A patch that cannot be checked at all is an
/// error of the environment.
impl From<PatchError> for Refusal {
    fn from(error: PatchError) -> Refusal {
        let code = match error {
            PatchError::Program(_) => exit::ENVIRONMENT,
            PatchError::Name(_) | PatchError::NoTree(_) | PatchError::LookInOlder(_) => exit::USAGE,
            _ => exit::FAILED,
        };
        Refusal::new(code, error)
    }
}

fn release(args: &PatchArgs) -> Result<Release, Refusal> {
    match (&args.release, &args.tree) {
        (Some(release), _) => Ok(*release),
        (None, Some(tree)) => Ok(patch::tree_release(tree)?),
        (None, None) => Err(Refusal::usage("name a release or the source: --release or --tree")),
    }
}

fn found(args: &PatchArgs, page: &Path) -> Result<Answer, Refusal> {
    let release = release(args)?;
    let page = index::read(&text_file(page, LARGEST_INDEX)?);
    let older = match &args.older {
        Some(older) => Some(index::read(&text_file(older, LARGEST_INDEX)?)),
        None => None,
    };
    let found = index::find(release, &page, older.as_ref())?;
    let base = format!("https://cdn.kernel.org/pub/linux/kernel/projects/rt/{}", release.series);
    let text = || format!("{} fits {release}\n{base}/{}\n{base}/{}\n", found.patched, found.path, found.sign);
    let result = || PatchResult::Found { release, found: &found, base: &base };
    Ok(Answer::new(args.output, 0, result, || harmless(&text())))
}

fn checked(args: &PatchArgs, file: &Path, tree: &Path) -> Result<Answer, Refusal> {
    let keyring = args.keyring.as_ref().ok_or_else(|| Refusal::usage("name the keys with --keyring"))?;
    let name = file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let patched = patch::patch_of_name(&name)?;
    let release = patch::tree_release(tree)?;
    patch::fits(patched, release)?;
    let sums_by = match &args.sums {
        Some(sums) => {
            let (text, key) = signature::clearsigned(&sums.display().to_string(), sums, keyring)?;
            signature::listed(file, &text)?;
            Some(key)
        }
        None => None,
    };
    let content = patch::unpack(file)?;
    let sign = args.sign.clone().unwrap_or_else(|| beside(file));
    let key = signature::detached(&name, &content, &sign, keyring)?;
    let fits = apply::dry_run(tree, &content)?;
    let sums = if sums_by.is_some() { ", its SHA-256 matches the list" } else { "" };
    let moved = match fits.moved {
        0 => String::new(),
        n => format!("{n} hunks apply with an offset: the source is not the released {release}\n"),
    };
    let text = format!(
        "{name} is for {release}, the release of the source\nsigned by {key}{sums}\n{} files change, every hunk applies with its whole \
         context (fuzz 0); nothing was changed\n{moved}",
        fits.files
    );
    let result = || PatchResult::Checked {
        patch: patched,
        release,
        signed_by: &key,
        sums_signed_by: sums_by.as_deref(),
        files: fits.files,
        hunks_moved: fits.moved,
    };
    Ok(Answer::new(args.output, 0, result, || harmless(&text)))
}

/// Returns the path of the default signature file, `patch-A.B.C-rtN.patch.sign`.
fn beside(file: &Path) -> PathBuf {
    let packed = file.extension().is_some_and(|end| end == "xz" || end == "gz");
    if packed { file.with_extension("sign") } else { file.with_extension("patch.sign") }
}
