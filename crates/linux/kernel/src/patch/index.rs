//! The published index: a page of https://cdn.kernel.org/pub/linux/kernel/projects/rt/X.Y/ and the page of its folder
//! `older/`.
//!
//! A page lists files as links (nginx's fancyindex and autoindex, Apache's mod_autoindex): only the targets of the
//! links are read, and of these only plain file names.

use super::{PatchError, patch_of_name};
use crate::{Patched, Release, Series};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Packing {
    /// The xz-compressed patch, which is preferred because it is smaller.
    Xz,
    Gz,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Index {
    patches: BTreeMap<Patched, Vec<Packing>>,
    signed: Vec<Patched>,
    /// True if the page links to a folder `older/`.
    pub has_older: bool,
    /// True if the page links to a `sha256sums.asc`.
    pub has_sums: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Found {
    pub patched: Patched,
    pub path: String,
    /// File name of the signature, which is over the uncompressed patch.
    pub sign: String,
    /// True if the patch is in `older/`.
    pub is_older: bool,
}

/// Reads the links to patches and ignores everything else.
pub fn read(page: &str) -> Index {
    let mut index = Index::default();
    for target in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        match target.strip_prefix("./").unwrap_or(target) {
            "older/" => index.has_older = true,
            "sha256sums.asc" => index.has_sums = true,
            name if name.contains('/') => {}
            name => index.add(name),
        }
    }
    index
}

impl Index {
    fn add(&mut self, name: &str) {
        if let Some(patch) = name.strip_suffix(".sign").and_then(|stem| patch_of_name(stem).ok()) {
            self.signed.push(patch);
            return;
        }
        let packing = if name.ends_with(".xz") {
            Packing::Xz
        } else if name.ends_with(".gz") {
            Packing::Gz
        } else {
            return;
        };
        if let Ok(patch) = patch_of_name(name) {
            self.patches.entry(patch).or_default().push(packing);
        }
    }

    pub fn newest(&self, series: Option<Series>) -> Option<Patched> {
        self.patches.keys().rev().find(|p| series.is_none_or(|s| p.release.series == s)).copied()
    }

    pub fn releases(&self) -> impl Iterator<Item = Release> + '_ {
        self.patches.keys().filter(|patch| self.signed.contains(patch)).map(|patch| patch.release)
    }

    fn exact(&self, release: Release) -> Option<(Patched, Packing)> {
        let (patch, packings) = self.patches.iter().rev().find(|(p, _)| p.release == release)?;
        packings.iter().min().map(|packing| (*patch, *packing))
    }

    fn found(&self, release: Release, folder: &str) -> Option<Result<Found, PatchError>> {
        let (patched, packing) = self.exact(release)?;
        let end = if packing == Packing::Xz { "xz" } else { "gz" };
        let path = format!("{folder}patch-{patched}.patch.{end}");
        Some(match self.signed.contains(&patched) {
            false => Err(PatchError::Unsigned(path)),
            true => {
                let sign = format!("{folder}patch-{patched}.patch.sign");
                Ok(Found { patched, path, sign, is_older: !folder.is_empty() })
            }
        })
    }
}

/// Finds the patch for exactly this release: on the series' page, otherwise on the page of the older patches.
///
/// # Errors
/// There is none (the nearest patches are named), the older page is missing, or the patch is not signed.
pub fn find(release: Release, page: &Index, older: Option<&Index>) -> Result<Found, PatchError> {
    if let Some(found) = page.found(release, "") {
        return found;
    }
    if let Some(found) = older.and_then(|older| older.found(release, "older/")) {
        return found;
    }
    if older.is_none() && page.has_older {
        return Err(PatchError::LookInOlder(release));
    }
    let all = || page.patches.keys().chain(older.into_iter().flat_map(|o| o.patches.keys()));
    let same = |p: &&Patched| p.release.series == release.series;
    let below = all().filter(same).filter(|p| p.release < release).max();
    let above = all().filter(same).filter(|p| p.release > release).min();
    let near: Vec<String> = below.into_iter().chain(above).map(Patched::to_string).collect();
    let near = if near.is_empty() { String::new() } else { format!(" (the nearest: {})", near.join(" and ")) };
    Err(PatchError::NoMatch { release, near })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = include_str!("../../tests/fixtures/rt-6.6.html");
    const OLDER: &str = include_str!("../../tests/fixtures/rt-6.6-older.html");

    fn at(release: &str) -> Result<Found, PatchError> {
        find(release.parse().unwrap(), &read(PAGE), Some(&read(OLDER)))
    }

    #[test]
    fn the_exact_release_is_found_also_among_older_ones() {
        let found = at("6.6.147").unwrap();
        assert_eq!((found.path.as_str(), found.is_older), ("patch-6.6.147-rt77.patch.xz", false));
        assert_eq!(found.sign, "patch-6.6.147-rt77.patch.sign");
        let older = at("6.6.78").unwrap();
        assert_eq!((older.path.as_str(), older.is_older), ("older/patch-6.6.78-rt51.patch.xz", true));
        assert_eq!(at("6.6").unwrap().path, "older/patch-6.6-rt15.patch.xz");
    }

    #[test]
    fn gz_is_taken_where_there_is_no_xz() {
        assert_eq!(at("6.6.30").unwrap().path, "older/patch-6.6.30-rt30.patch.gz");
    }

    #[test]
    fn another_sublevel_is_no_match_and_the_nearest_are_named() {
        let error = at("6.6.100").unwrap_err().to_string();
        assert!(
            error.contains("no published patch fits 6.6.100 exactly (the nearest: 6.6.78-rt51 and 6.6.147-rt77)"),
            "{error}"
        );
        assert!(at("6.7.1").unwrap_err().to_string().contains("fits 6.7.1 exactly: unpack"));
    }

    #[test]
    fn what_was_not_looked_at_is_not_absent() {
        let error = find("6.6.78".parse().unwrap(), &read(PAGE), None).unwrap_err();
        assert!(matches!(error, PatchError::LookInOlder(_)), "{error}");
    }

    #[test]
    fn a_patch_without_signature_is_refused() {
        assert!(matches!(at("6.6.20"), Err(PatchError::Unsigned(_))));
    }

    #[test]
    fn the_newest_is_by_number() {
        assert_eq!(read(PAGE).newest(None).unwrap().to_string(), "6.6.147-rt77");
        assert_eq!(read(OLDER).newest(None).unwrap().to_string(), "6.6.78-rt51");
        assert_eq!(read(PAGE).newest(Some("6.1".parse().unwrap())), None);
        assert!(read(PAGE).has_sums && read(PAGE).has_older && !read(OLDER).has_older);
    }

    #[test]
    fn only_releases_with_a_signed_patch_are_named() {
        let older: Vec<String> = read(OLDER).releases().map(|release| release.to_string()).collect();
        assert!(older.contains(&"6.6.78".to_owned()) && !older.contains(&"6.6.20".to_owned()), "{older:?}");
    }

    #[test]
    fn links_elsewhere_are_left_alone() {
        let page = "<a href=\"../patch-6.6.1-rt1.patch.xz\"><a href=\"https://x/patch-6.6.2-rt1.patch.xz\"><a href='patch-6.6.3-rt1.patch.xz'>";
        assert_eq!(read(page), Index::default());
    }

    proptest! {
        #[test]
        fn any_page_is_answered(page in ".*", name in "[a-z0-9.\"/-]{0,40}") {
            let index = read(&format!("{page}<a href=\"{name}\">{page}"));
            let _ = find("6.6.1".parse().unwrap(), &index, None);
        }
    }
}
