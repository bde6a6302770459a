//! A published real-time patch for a source before 6.12: it must be for exactly that release, signed, and apply with
//! fuzz 0; otherwise it is refused.
//!
//! The request names its file, or the folder in which kernel.org publishes a series' patches
//! (https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/, older patches in `older/`). If it names a folder, the
//! release of the tree decides which patch is used.

use super::{Request, download};
use crate::KbuildError;
use punctual_kernel::patch::index::{self, Index};
use punctual_kernel::patch::{self, apply, patch_of_name, signature};
use punctual_kernel::{Patched, Release};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a page in bytes; kernel.org's pages have a few hundred kilobytes.
const LARGEST_PAGE: u64 = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Patch {
    /// The requested file or folder.
    pub from: String,
    /// Release with its patch, for example `6.6.147-rt77`.
    pub patched: String,
    pub key: String,
    /// Checksum of the compressed patch.
    pub sha256: String,
    pub files: usize,
    /// Number of hunks that apply with full context, but at lines other than those stated in the patch.
    pub moved: usize,
}

/// A requested patch whose source has not been fetched yet.
pub struct Wanted<'r> {
    from: &'r str,
    keyring: &'r Path,
    folder: PathBuf,
    source: Source<'r>,
}

enum Source<'r> {
    File { patched: Patched, sign: Option<&'r str> },
    Folder { page: Index, older: Option<Index> },
}

impl<'r> Wanted<'r> {
    /// Fetches the pages of a folder. Returns `None` if no patch is requested.
    pub fn open(request: &'r Request, out: &Path, report: &mut dyn FnMut(&str)) -> Result<Option<Self>, KbuildError> {
        let Some(from) = request.patch.as_deref() else { return Ok(None) };
        if matches!(request.origin, super::Origin::Tree { .. }) {
            let said = "an existing tree is never changed: fetch it with --url or --git to have it patched";
            return Err(KbuildError::Usage(said.to_owned()));
        }
        let keyring = request.keyring.as_deref().ok_or_else(|| {
            KbuildError::Usage(
                "a patch is used only if it is signed: give the keys with --keyring (gpg --export KEY > FILE)"
                    .to_owned(),
            )
        })?;
        let folder = out.join("download");
        let source = match from.ends_with('/') {
            false => {
                let name = from.rsplit('/').next().unwrap_or(from);
                Source::File { patched: patch_of_name(name)?, sign: request.patch_sign.as_deref() }
            }
            true => {
                let page = index::read(&page(from, &folder.join("rt-index.html"), report)?);
                let older = match page.has_older {
                    true => Some(page_of_older(from, &folder, report)?),
                    false => None,
                };
                Source::Folder { page, older }
            }
        };
        let wanted = Wanted { from, keyring, folder, source };
        wanted.named(request)?;
        Ok(Some(wanted))
    }

    /// Checks that there is a patch for the requested release, or for the one in the tarball's name, before 150 MB are
    /// downloaded.
    fn named(&self, request: &Request) -> Result<(), KbuildError> {
        let of_url = |url: &str| {
            let name = url.rsplit('/').next()?.strip_prefix("linux-")?;
            name.split(".tar").next()?.parse::<Release>().ok()
        };
        let release = match &request.origin {
            super::Origin::Tarball { url } => of_url(url),
            super::Origin::Git { release, .. } => *release,
            _ => None,
        };
        release.map_or(Ok(()), |release| self.of(release).map(drop))
    }

    /// Returns true if there is a patch for exactly this release.
    pub fn has(&self, release: Release) -> bool {
        match &self.source {
            Source::File { patched, .. } => patched.release == release,
            Source::Folder { page, older } => {
                page.releases().chain(older.iter().flat_map(Index::releases)).any(|found| found == release)
            }
        }
    }

    fn of(&self, release: Release) -> Result<(Patched, String, String), KbuildError> {
        match &self.source {
            Source::File { patched, sign } => {
                patch::fits(*patched, release)?;
                let stem = self.from.strip_suffix(".xz").or_else(|| self.from.strip_suffix(".gz")).unwrap_or(self.from);
                Ok((*patched, self.from.to_owned(), sign.map_or_else(|| format!("{stem}.sign"), str::to_owned)))
            }
            Source::Folder { page, older } => {
                let found = index::find(release, page, older.as_ref())?;
                let whole = |path: &str| format!("{}{path}", self.from);
                Ok((found.patched, whole(&found.path), whole(&found.sign)))
            }
        }
    }

    /// Applies the patch to a fresh tree.
    ///
    /// # Errors
    /// There is no patch for exactly this release, its signature is invalid, or a hunk does not fit. In these cases the
    /// tree is unchanged.
    pub fn apply(&self, tree: &Path, report: &mut dyn FnMut(&str)) -> Result<Patch, KbuildError> {
        let (patched, file, sign) = self.of(patch::tree_release(tree)?)?;
        let sign = download::anew(&sign, &self.folder, report)?;
        let packed = download::anew(&file, &self.folder, report)?;
        report(&format!("checking the signature of {}", packed.display()));
        let content = patch::unpack(&packed)?;
        let key = signature::detached(&packed.display().to_string(), &content, &sign, self.keyring)?;
        let sha256 = crate::sha256(&packed)?;
        report(&format!("applying {patched} with fuzz 0"));
        let fits = apply::apply(tree, &content)?;
        let from = self.from.to_owned();
        Ok(Patch { from, patched: patched.to_string(), key, sha256, files: fits.files, moved: fits.moved })
    }
}

fn page_of_older(base: &str, folder: &Path, report: &mut dyn FnMut(&str)) -> Result<Index, KbuildError> {
    Ok(index::read(&page(&format!("{base}older/"), &folder.join("rt-older.html"), report)?))
}

/// Downloads the index page of a folder from the server, or reads `index.html` of a saved copy.
fn page(base: &str, to: &Path, report: &mut dyn FnMut(&str)) -> Result<String, KbuildError> {
    let is_served = base.starts_with("https://") || base.starts_with("http://");
    let path = match (is_served, base.strip_prefix("file://")) {
        (true, _) => {
            download::page(base, to, report)?;
            to.to_owned()
        }
        (false, local) => Path::new(local.unwrap_or(base)).join("index.html"),
    };
    let length = path.metadata().map_err(KbuildError::file("read", &path))?.len();
    if length > LARGEST_PAGE {
        return Err(KbuildError::bad(
            &path,
            format!("{length} bytes are not a list of patches: give the folder with --patch"),
        ));
    }
    let bytes = fs::read(&path).map_err(KbuildError::file("read", &path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
