//! Fetches without a network: from files, `file://` addresses and local repositories.

use punctual_kbuild::fetch::{Origin, Proof, Request, SourceManifest};
use punctual_kbuild::{KbuildError, fetch};
use punctual_testing::kbuild::has;
use punctual_vm::Cache;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn request(origin: Origin, out: &Path) -> Request {
    Request {
        origin,
        keyring: None,
        sign: None,
        sums: None,
        unsigned: false,
        patch: None,
        patch_sign: None,
        out: out.to_owned(),
    }
}

fn fetched(request: &Request) -> Result<SourceManifest, KbuildError> {
    fetch(request, &Cache::at(request.out.join("cache")), &mut |_| {})
}

/// Copies the fixtures into a folder that tests may modify; returns the request for their tarball.
fn published(folder: &Path, out: &Path) -> Request {
    for name in ["linux-6.12.9.tar.xz", "linux-6.12.9.tar.sign", "sha256sums.asc"] {
        fs::copy(fixture(name), folder.join(name)).unwrap();
    }
    let url = format!("file://{}/linux-6.12.9.tar.xz", folder.display());
    Request { keyring: Some(fixture("keyring.gpg")), ..request(Origin::Tarball { url }, out) }
}

const TOOLS: [&str; 5] = ["curl", "gpgv", "xz", "tar", "sha256sum"];

#[test]
#[ignore = "live: xz, gpgv, curl"]
fn a_signed_tarball_is_unpacked_and_noted() {
    if !has(&TOOLS) {
        return;
    }
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let request = published(folder.path(), out.path());
    let manifest = fetched(&request).unwrap();
    assert_eq!(manifest.release.to_string(), "6.12.9");
    assert!(matches!(&manifest.proof, Proof::Signed { tree_key, .. } if tree_key.len() == 40));
    assert_eq!(manifest.sha256.as_ref().unwrap().len(), 64);
    assert!(manifest.tree.join("Makefile").is_file());
    // The same request finds the source; a different one is refused.
    fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(fetched(&request).unwrap(), manifest);
    let other = Request { origin: Origin::Tree { path: "/x".into() }, ..request };
    assert!(fetched(&other).unwrap_err().to_string().contains("give a new folder with --out"));
}

#[test]
#[ignore = "live: xz, gpgv, curl"]
fn a_part_goes_on_where_it_broke_off() {
    if !has(&TOOLS) {
        return;
    }
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let request = published(folder.path(), out.path());
    let whole = fs::read(fixture("linux-6.12.9.tar.xz")).unwrap();
    let download = out.path().join("download");
    fs::create_dir_all(&download).unwrap();
    // Partial files from almost nothing to everything.
    for length in [1, whole.len() / 2, whole.len() - 1, whole.len()] {
        fs::write(download.join("linux-6.12.9.tar.xz.part"), &whole[..length]).unwrap();
        let mut said = Vec::new();
        let cache = Cache::at(out.path().join("cache"));
        fetch(&request, &cache, &mut |line| said.push(line.to_owned())).unwrap();
        assert!(said.iter().any(|line| line.ends_with(&format!("resuming after {length} bytes"))), "{said:?}");
        for name in ["manifest.json", "download/linux-6.12.9.tar.xz"] {
            fs::remove_file(out.path().join(name)).unwrap();
        }
    }
}

#[test]
#[ignore = "live: xz, gpgv, curl"]
fn what_is_not_signed_or_was_changed_leaves_no_tree() {
    if !has(&TOOLS) {
        return;
    }
    type Spoil = fn(&Path, &mut Request);
    let faults: [(&str, Spoil); 5] = [
        ("sha256sums.asc", |folder, _| fs::remove_file(folder.join("sha256sums.asc")).unwrap()),
        ("linux-6.12.9.tar.sign", |folder, _| fs::remove_file(folder.join("linux-6.12.9.tar.sign")).unwrap()),
        ("not in the keyring", |_, request| request.keyring = Some(fixture("stranger.gpg"))),
        ("--keyring", |_, request| request.keyring = None),
        ("SHA-256", |folder, _| {
            let path = folder.join("linux-6.12.9.tar.xz");
            let mut bytes = fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&path, bytes).unwrap();
        }),
    ];
    for (said, spoil) in faults {
        let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut request = published(folder.path(), out.path());
        spoil(folder.path(), &mut request);
        let error = fetched(&request).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
        assert!(!out.path().join("tree").exists() && !out.path().join("manifest.json").exists(), "{said}");
        assert!(
            !out.path().join("download/linux-6.12.9.tar.xz").exists(),
            "{said}: a refused file would be refused for ever"
        );
    }
}

/// Creates a repository whose commits set the release in the Makefile to three values, each followed by a commit
/// without a change of release.
fn repository(folder: &Path) -> Vec<String> {
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(folder).args(["-c", "user.name=t", "-c", "user.email=t@example.org"]).args(words);
        let output = git.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    git(&["init", "-q", "-b", "rpi-6.1.y"]);
    git(&["config", "uploadpack.allowFilter", "true"]);
    git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let mut commits = Vec::new();
    for sublevel in [7, 8, 9] {
        fs::write(folder.join("Makefile"), format!("VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = {sublevel}\n")).unwrap();
        for more in ["merge", "board"] {
            fs::write(folder.join("file"), format!("{sublevel} {more}")).unwrap();
            git(&["add", "-A"]);
            git(&["commit", "-q", "-m", more]);
        }
        commits.push(git(&["rev-parse", "HEAD"]));
    }
    commits
}

fn of_git(folder: &Path, commit: Option<&str>, release: Option<&str>, out: &Path) -> Request {
    let url = format!("file://{}", folder.display());
    let (commit, release) = (commit.map(str::to_owned), release.map(|r| r.parse().unwrap()));
    request(Origin::Git { url, reference: "rpi-6.1.y".into(), commit, release }, out)
}

#[test]
#[ignore = "live: git"]
fn a_release_of_a_branch_is_its_newest_commit() {
    if !has(&["git"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let commits = repository(folder.path());
    for (release, commit) in [("6.1.9", &commits[2]), ("6.1.8", &commits[1]), ("6.1.7", &commits[0])] {
        let out = tempfile::tempdir().unwrap();
        let request = Request { unsigned: true, ..of_git(folder.path(), None, Some(release), out.path()) };
        let manifest = fetched(&request).unwrap();
        assert_eq!((manifest.commit.as_ref(), manifest.release.to_string().as_str()), (Some(commit), release));
        assert!(matches!(manifest.proof, Proof::None { .. }));
    }
    let out = tempfile::tempdir().unwrap();
    let request = Request { unsigned: true, ..of_git(folder.path(), None, Some("6.1.6"), out.path()) };
    let error = fetched(&request).unwrap_err().to_string();
    assert!(error.contains("was never at 6.1.6") && !out.path().join("tree").exists(), "{error}");
}

#[test]
#[ignore = "live: git"]
fn a_branch_is_taken_only_where_it_is_named_exactly_or_said_to_be_unsigned() {
    if !has(&["git"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let commits = repository(folder.path());
    let out = tempfile::tempdir().unwrap();
    let error = fetched(&of_git(folder.path(), None, None, out.path())).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("--unsigned"), "{error}");
    assert!(!out.path().join("tree").exists());
    let manifest = fetched(&of_git(folder.path(), Some(&commits[1]), None, out.path())).unwrap();
    assert_eq!((manifest.proof, manifest.commit), (Proof::NamedCommit, Some(commits[1].clone())));
    let bad = tempfile::tempdir().unwrap();
    for commit in ["--upload-pack=x", "abc"] {
        assert!(fetched(&of_git(folder.path(), Some(commit), None, bad.path())).unwrap_err().is_usage());
    }
}

#[test]
fn a_tree_of_ones_own_is_noted_and_not_copied() {
    let (folder, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let origin = || Origin::Tree { path: folder.path().to_owned() };
    assert!(fetched(&request(origin(), out.path())).unwrap_err().to_string().contains("Makefile"));
    fs::write(folder.path().join("Makefile"), "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\n").unwrap();
    let manifest = fetched(&request(origin(), out.path())).unwrap();
    assert_eq!(manifest.tree, folder.path());
    assert!(!out.path().join("tree").exists());
}
