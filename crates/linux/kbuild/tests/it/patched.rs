//! Applies published real-time patches to sources: a small patch, signed for the tests of `punctual-kernel`, and a
//! branch of which only one release fits.

use punctual_kbuild::fetch::{Origin, Request, SourceManifest};
use punctual_kbuild::{KbuildError, fetch};
use punctual_testing::kbuild::has;
use punctual_vm::Cache;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

const TOOLS: [&str; 5] = ["git", "gpgv", "patch", "xz", "curl"];
const PATCH: &str = "patch-6.6.147-rt77.patch";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernel/tests/fixtures").join(name)
}

fn git(folder: &Path, words: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words);
    let output = git.output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A branch with the releases 6.6.146 to 6.6.148, the folder of published patches, and a folder for the source.
struct Place {
    at: TempDir,
    /// The last commit of each release.
    commits: Vec<String>,
}

impl Place {
    fn new() -> Place {
        let at = tempfile::tempdir().unwrap();
        let folder = at.path().join("linux");
        fs::create_dir_all(folder.join("kernel")).unwrap();
        git(&folder, &["init", "-q", "-b", "rpi-6.6.y"]);
        git(&folder, &["config", "uploadpack.allowFilter", "true"]);
        git(&folder, &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        fs::copy(fixture("patch/softirq.c"), folder.join("kernel/softirq.c")).unwrap();
        let mut commits = Vec::new();
        for sublevel in [146, 147, 148] {
            let makefile = format!("VERSION = 6\nPATCHLEVEL = 6\nSUBLEVEL = {sublevel}\n");
            fs::write(folder.join("Makefile"), makefile).unwrap();
            for more in ["merge", "board"] {
                fs::write(folder.join("file"), format!("{sublevel} {more}")).unwrap();
                git(&folder, &["add", "-A"]);
                git(&folder, &["commit", "-q", "-m", more]);
            }
            commits.push(git(&folder, &["rev-parse", "HEAD"]));
        }
        fs::create_dir_all(at.path().join("rt/older")).unwrap();
        for name in [format!("{PATCH}.xz"), format!("{PATCH}.sign")] {
            fs::copy(fixture("patch").join(&name), at.path().join("rt").join(&name)).unwrap();
        }
        fs::copy(fixture("rt-6.6.html"), at.path().join("rt/index.html")).unwrap();
        fs::copy(fixture("rt-6.6-older.html"), at.path().join("rt/older/index.html")).unwrap();
        Place { at, commits }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.at.path().join(name)
    }

    fn request(&self, patch: &str, release: Option<&str>) -> Request {
        let url = format!("file://{}", self.path("linux").display());
        let release = release.map(|text| text.parse().unwrap());
        Request {
            origin: Origin::Git { url, reference: "rpi-6.6.y".into(), commit: None, release },
            keyring: Some(fixture("patch/keyring.gpg")),
            sign: None,
            sums: None,
            unsigned: true,
            patch: Some(patch.to_owned()),
            patch_sign: None,
            out: self.path("source"),
        }
    }

    /// Returns the folder of patches as a URL.
    fn folder(&self) -> String {
        format!("file://{}/", self.path("rt").display())
    }
}

fn fetched(request: &Request) -> Result<SourceManifest, KbuildError> {
    fetch(request, &Cache::at(request.out.join("cache")), &mut |_| {})
}

fn softirq(manifest: &SourceManifest) -> String {
    fs::read_to_string(manifest.tree.join("kernel/softirq.c")).unwrap()
}

#[test]
#[ignore = "live: xz, gpgv, git, patch, curl"]
fn of_a_branch_the_newest_release_with_a_signed_patch_is_taken_and_patched() {
    if !has(&TOOLS) {
        return;
    }
    let place = Place::new();
    let request = place.request(&place.folder(), None);
    let manifest = fetched(&request).unwrap();
    assert_eq!(manifest.release.to_string(), "6.6.147", "6.6.148 is newer and has no patch");
    assert_eq!(manifest.commit.as_ref(), Some(&place.commits[1]));
    let patch = manifest.patch.clone().unwrap();
    assert_eq!((patch.patched.as_str(), patch.files, patch.moved), ("6.6.147-rt77", 2, 0));
    assert_eq!((patch.key.len(), patch.sha256.len()), (40, 64));
    assert!(softirq(&manifest).contains("line 15 under PREEMPT_RT\n"));
    assert_eq!(fs::read_to_string(manifest.tree.join("localversion-rt")).unwrap(), "-rt77\n");
    // The same request finds the source; without the patch it is a different source.
    assert_eq!(fetched(&request).unwrap(), manifest);
    let error = fetched(&Request { patch: None, ..request }).unwrap_err().to_string();
    assert!(error.contains("with the patch of file://") && error.contains("--out"), "{error}");
}

#[test]
#[ignore = "live: xz, gpgv, git, patch, curl"]
fn a_patch_that_is_named_by_its_file_decides_the_release() {
    if !has(&TOOLS) {
        return;
    }
    let place = Place::new();
    let file = place.path("rt").join(format!("{PATCH}.xz")).display().to_string();
    let manifest = fetched(&place.request(&file, None)).unwrap();
    assert_eq!((manifest.release.to_string().as_str(), manifest.patch.unwrap().from), ("6.6.147", file));
}

#[test]
#[ignore = "live: xz, gpgv, git, patch, curl"]
fn a_release_without_its_own_patch_is_refused_before_anything_is_fetched() {
    if !has(&TOOLS) {
        return;
    }
    let place = Place::new();
    let file = place.path("rt").join(format!("{PATCH}.xz")).display().to_string();
    let error = fetched(&place.request(&file, Some("6.6.148"))).unwrap_err();
    assert!(error.is_verdict() && error.to_string().contains("fits 6.6.147 exactly"), "{error}");
    let error = fetched(&place.request(&place.folder(), Some("6.6.148"))).unwrap_err();
    assert!(error.to_string().contains("no published patch fits 6.6.148 exactly"), "{error}");
    let tarball = Origin::Tarball { url: "https://nowhere.invalid/linux-6.6.146.tar.xz".into() };
    let error = fetched(&Request { origin: tarball, ..place.request(&file, None) }).unwrap_err();
    assert!(error.to_string().contains("but the tree is 6.6.146"), "{error}");
    assert!(!place.path("source/tree").exists() && !place.path("source/download").exists());
}

#[test]
#[ignore = "live: xz, gpgv, git, patch, curl"]
fn what_is_not_signed_or_does_not_fit_leaves_no_source_and_the_same_again_goes_through_once_it_does() {
    if !has(&TOOLS) {
        return;
    }
    let place = Place::new();
    let request = place.request(&place.folder(), None);
    let stranger = Request { keyring: Some(fixture("patch/stranger.gpg")), ..request.clone() };
    let error = fetched(&stranger).unwrap_err();
    assert!(error.is_verdict() && error.to_string().contains("not in the keyring"), "{error}");
    assert!(!place.path("source/manifest.json").exists());
    // The file differs from the patch's context: patch(1) alone would accept it with a fuzz of 1.
    let linux = place.path("linux");
    let other = fs::read_to_string(linux.join("kernel/softirq.c")).unwrap().replace("line 12\n", "line twelve\n");
    git(&linux, &["checkout", "-q", "-b", "other", &place.commits[1]]);
    fs::write(linux.join("kernel/softirq.c"), other).unwrap();
    git(&linux, &["commit", "-qam", "other"]);
    let Origin::Git { url, .. } = request.origin.clone() else { unreachable!() };
    let changed = Origin::Git { url, reference: "other".into(), commit: None, release: None };
    let error = fetched(&Request { origin: changed, ..request.clone() }).unwrap_err();
    assert!(error.is_verdict() && error.to_string().contains("does not fit the tree exactly (fuzz 0)"), "{error}");
    assert!(!place.path("source/manifest.json").exists());
    // A half-patched tree, as left by a kill, is removed.
    fs::write(place.path("source/tree/kernel/softirq.c"), "half\n").unwrap();
    fs::write(place.path("source/tree/localversion-rt"), "-rt77\n").unwrap();
    let manifest = fetched(&request).unwrap();
    assert!(softirq(&manifest).contains("line 15 under PREEMPT_RT\n"));
}

#[test]
fn a_patch_needs_keys_and_a_source_of_our_own() {
    let place = tempfile::tempdir().unwrap();
    let request = Request {
        origin: Origin::Tree { path: place.path().to_owned() },
        keyring: None,
        sign: None,
        sums: None,
        unsigned: false,
        patch: Some("patch-6.6.147-rt77.patch.xz".into()),
        patch_sign: None,
        out: place.path().join("out"),
    };
    let error = fetched(&request).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("never changed"), "{error}");
    let tarball = Origin::Tarball { url: "linux-6.6.147.tar.xz".into() };
    let error = fetched(&Request { origin: tarball, ..request.clone() }).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("--keyring"), "{error}");
    let misnamed = Request { keyring: Some("k".into()), patch: Some("rt.patch".into()), ..request };
    let tarball = Origin::Tarball { url: "linux-6.6.147.tar.xz".into() };
    let error = fetched(&Request { origin: tarball, ..misnamed }).unwrap_err().to_string();
    assert!(error.contains("patch-A.B.C-rtN.patch"), "{error}");
}
