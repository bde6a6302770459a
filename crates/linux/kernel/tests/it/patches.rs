//! Signatures and dry runs with the real programs, on a small patch signed for these tests. A test reports if a program
//! is not installed.

use punctual_kernel::patch::{self, PatchError, apply, signature};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/patch").join(name)
}

fn has(programs: &[&str]) -> bool {
    let missing: Vec<&&str> = programs.iter().filter(|p| Command::new(p).arg("--version").output().is_err()).collect();
    if !missing.is_empty() {
        eprintln!("not tested: {missing:?} not installed");
    }
    missing.is_empty()
}

fn unpacked() -> Vec<u8> {
    patch::unpack(&fixture("patch-6.6.147-rt77.patch.gz")).unwrap()
}

fn tree(content: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("kernel")).unwrap();
    fs::write(folder.path().join("kernel/softirq.c"), content).unwrap();
    fs::write(folder.path().join("Makefile"), "VERSION = 6\nPATCHLEVEL = 6\nSUBLEVEL = 147\n").unwrap();
    folder
}

fn source() -> String {
    fs::read_to_string(fixture("softirq.c")).unwrap()
}

#[test]
#[ignore = "live: xz"]
fn xz_and_gz_hold_the_same_patch_and_damage_is_reported() {
    if !has(&["xz"]) {
        return;
    }
    assert_eq!(patch::unpack(&fixture("patch-6.6.147-rt77.patch.xz")).unwrap(), unpacked());
    let folder = tempfile::tempdir().unwrap();
    for end in ["xz", "gz"] {
        let mut bytes = fs::read(fixture(&format!("patch-6.6.147-rt77.patch.{end}"))).unwrap();
        bytes.truncate(bytes.len() - 9);
        let cut = folder.path().join(end);
        fs::write(&cut, bytes).unwrap();
        assert!(matches!(patch::unpack(&cut), Err(PatchError::Damaged { .. })), "{end}");
    }
    fs::write(folder.path().join("empty"), "").unwrap();
    assert!(patch::unpack(&folder.path().join("empty")).unwrap_err().to_string().contains("it is empty"));
}

#[test]
#[ignore = "live: xz"]
fn what_unpacks_to_more_than_any_patch_is_refused() {
    if !has(&["xz"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("zeros"), folder.path().join("zeros.xz"));
    fs::File::create(&plain).unwrap().set_len(100 << 20).unwrap();
    let out = Command::new("xz").args(["-0", "-c"]).arg(&plain).output().unwrap();
    fs::write(&packed, out.stdout).unwrap();
    assert!(patch::unpack(&packed).unwrap_err().to_string().contains("larger than 64 MiB"));
    assert!(patch::unpack(&plain).unwrap_err().to_string().contains("larger than 64 MiB"));
}

#[test]
#[ignore = "live: gpgv"]
fn a_signature_holds_for_the_unpacked_patch_only() {
    if !has(&["gpgv"]) {
        return;
    }
    let (sign, keyring) = (fixture("patch-6.6.147-rt77.patch.sign"), fixture("keyring.gpg"));
    let check = |content: &[u8], keyring: &Path| signature::detached("patch", content, &sign, keyring);
    assert_eq!(check(&unpacked(), &keyring).unwrap().len(), 40);
    let mut other = unpacked();
    other[0] ^= 1;
    assert!(check(&other, &keyring).unwrap_err().to_string().contains("the file was changed or damaged"));
    let stranger = check(&unpacked(), &fixture("stranger.gpg")).unwrap_err().to_string();
    assert!(stranger.contains("not in the keyring"), "{stranger}");
    let none = check(&unpacked(), &fixture("no-such-keyring.gpg")).unwrap_err();
    assert!(matches!(none, PatchError::Signature { .. }), "{none}");
    let no_sign = signature::detached("patch", &unpacked(), &fixture("softirq.c"), &keyring).unwrap_err();
    assert!(matches!(no_sign, PatchError::Signature { .. }), "{no_sign}");
}

#[test]
#[ignore = "live: gpgv"]
fn only_what_is_signed_counts_of_the_list_of_sums() {
    if !has(&["gpgv", "sha256sum"]) {
        return;
    }
    let keyring = fixture("keyring.gpg");
    let (sums, _) = signature::clearsigned("sums", &fixture("sha256sums.asc"), &keyring).unwrap();
    for end in ["xz", "gz"] {
        signature::listed(&fixture(&format!("patch-6.6.147-rt77.patch.{end}")), &sums).unwrap();
    }
    assert!(signature::listed(&fixture("softirq.c"), &sums).unwrap_err().to_string().contains("no such file"));
    let folder = tempfile::tempdir().unwrap();
    let changed = folder.path().join("patch-6.6.147-rt77.patch.xz");
    fs::write(&changed, "x").unwrap();
    assert!(signature::listed(&changed, &sums).unwrap_err().to_string().contains("SHA-256 differs"));

    let text = fs::read_to_string(fixture("sha256sums.asc")).unwrap();
    let forged = folder.path().join("forged.asc");
    let line = format!("{}  softirq.c\n", "0".repeat(64));
    fs::write(&forged, format!("{line}{text}{line}")).unwrap();
    // Lines around the signed text do not count as signed.
    if let Ok((signed, _)) = signature::clearsigned("sums", &forged, &keyring) {
        assert!(!signed.contains("softirq.c"));
    }
    fs::write(&forged, text.replacen("patch-6.6.147", "patch-6.6.148", 1)).unwrap();
    assert!(matches!(signature::clearsigned("sums", &forged, &keyring), Err(PatchError::Signature { .. })));
}

#[test]
#[ignore = "live: patch"]
fn a_dry_run_takes_what_fits_exactly_and_changes_nothing() {
    if !has(&["patch"]) {
        return;
    }
    let tree = tree(&source());
    assert_eq!(apply::dry_run(tree.path(), &unpacked()).unwrap(), apply::Fits { files: 2, moved: 0 });
    assert_eq!(fs::read_to_string(tree.path().join("kernel/softirq.c")).unwrap(), source());
    assert_eq!(fs::read_dir(tree.path()).unwrap().count(), 2);
}

#[test]
#[ignore = "live: patch"]
fn what_fits_with_fuzz_only_is_refused() {
    if !has(&["patch"]) {
        return;
    }
    // The outermost context line differs, which patch(1) accepts with its default fuzz of 2.
    let near = tree(&source().replace("line 12\n", "line twelve\n"));
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &unpacked()).unwrap();
    let lax =
        Command::new("patch").args(["-p1", "--dry-run", "-d"]).arg(near.path()).arg("-i").arg(file.path()).output();
    let lax = lax.unwrap();
    assert!(lax.status.success() && String::from_utf8_lossy(&lax.stdout).contains("fuzz 1"), "{lax:?}");
    let error = apply::dry_run(near.path(), &unpacked()).unwrap_err().to_string();
    assert!(error.contains("FAILED at"), "{error}");
}

#[test]
#[ignore = "live: patch"]
fn what_is_moved_is_counted_and_what_is_there_or_foreign_is_refused() {
    if !has(&["patch"]) {
        return;
    }
    let moved = tree(&format!("new line\n{}", source()));
    assert_eq!(apply::dry_run(moved.path(), &unpacked()).unwrap().moved, 1);
    let done = tree(&source().replace("line 15\n", "line 15 under PREEMPT_RT\n"));
    assert!(matches!(apply::dry_run(done.path(), &unpacked()), Err(PatchError::Rejected(_))));
    assert!(matches!(apply::dry_run(tempfile::tempdir().unwrap().path(), &unpacked()), Err(PatchError::Rejected(_))));
    assert!(matches!(apply::dry_run(moved.path(), b"this is no patch\n"), Err(PatchError::Rejected(_))));
}

#[test]
#[ignore = "live: patch"]
fn what_fits_is_applied_and_what_does_not_leaves_the_tree_as_it_was() {
    if !has(&["patch"]) {
        return;
    }
    let good = tree(&source());
    assert_eq!(apply::apply(good.path(), &unpacked()).unwrap().files, 2);
    assert!(fs::read_to_string(good.path().join("kernel/softirq.c")).unwrap().contains("line 15 under PREEMPT_RT\n"));
    assert!(matches!(patch::tree_release(good.path()), Err(PatchError::AlreadyPatched(_))));
    let near = source().replace("line 12\n", "line twelve\n");
    let bad = tree(&near);
    assert!(matches!(apply::apply(bad.path(), &unpacked()), Err(PatchError::Rejected(_))));
    assert_eq!(fs::read_to_string(bad.path().join("kernel/softirq.c")).unwrap(), near);
    assert_eq!(fs::read_dir(bad.path().join("kernel")).unwrap().count(), 1, "no .rej, no .orig");
}

#[test]
fn release_and_patch_of_a_tree_are_known() {
    let tree = tree(&source());
    assert_eq!(patch::tree_release(tree.path()).unwrap().to_string(), "6.6.147");
    fs::write(tree.path().join("localversion-rt"), "-rt77\n").unwrap();
    assert!(matches!(patch::tree_release(tree.path()), Err(PatchError::AlreadyPatched(_))));
    assert!(
        patch::tree_release(Path::new("/nowhere")).unwrap_err().to_string().contains("cannot read /nowhere/Makefile")
    );
}
