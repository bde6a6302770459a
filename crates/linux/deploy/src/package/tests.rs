use super::*;
use crate::hash;

fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn image() -> Vec<u8> {
    let mut bytes = vec![0; 0x300];
    bytes[0x202..0x206].copy_from_slice(b"HdrS");
    bytes
}

fn module(magic: &str) -> Vec<u8> {
    format!("\x7fELF....license=GPL\0vermagic={magic}\0name=x\0").into_bytes()
}

fn kernel(root: &Path) {
    write(root, "boot/vmlinuz-6.12.9-rt1", &image());
    write(root, "boot/config-6.12.9-rt1", b"CONFIG_PREEMPT_RT=y\n");
    write(root, "lib/modules/6.12.9-rt1/kernel/a.ko", &module("6.12.9-rt1 SMP preempt_rt mod_unload "));
}

fn manifest(root: &Path) {
    let all = files(root).unwrap();
    let listed: Vec<_> = all
        .iter()
        .map(|path| {
            let name = path.strip_prefix(root).unwrap().display().to_string();
            serde_json::json!({ "path": name, "sha256": hash::of_file(path).unwrap(), "size": 1 })
        })
        .collect();
    let whole = serde_json::json!({ "schema": "x/1", "release": "6.12.9-rt1", "version": "#1 PREEMPT_RT", "arch": "x86_64",
        "files": listed, "more": { "of": "it" } });
    write(root, "manifest.json", whole.to_string().as_bytes());
}

#[test]
#[ignore = "live: gzip"]
fn a_folder_and_a_tarball_are_the_same_kernel() {
    let (home, staging) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = home.path().join("k");
    kernel(&root);
    manifest(&root);
    let folder = Package::open(&root, staging.path()).unwrap();
    assert_eq!((folder.release.as_str(), folder.arch), ("6.12.9-rt1", Some("x86_64")));
    assert_eq!(folder.version.as_deref(), Some("#1 PREEMPT_RT"));
    let tar = home.path().join("k.tar.gz");
    let done = std::process::Command::new("tar").arg("-czf").arg(&tar).arg("-C").arg(&root).arg(".").status().unwrap();
    assert!(done.success());
    let packed = Package::open(&tar, staging.path()).unwrap();
    assert_eq!(packed.sum, folder.sum);
    drop(packed);
    assert_eq!(fs::read_dir(staging.path()).unwrap().count(), 0);
}

#[test]
fn a_file_that_differs_from_its_sum_is_named() {
    let (home, staging) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    kernel(home.path());
    manifest(home.path());
    write(home.path(), "boot/config-6.12.9-rt1", b"CONFIG_PREEMPT_RT=n\n");
    let error = Package::open(home.path(), staging.path()).unwrap_err().to_string();
    assert!(error.contains("boot/config-6.12.9-rt1 does not match its checksum"), "{error}");
    kernel(home.path());
    write(home.path(), "lib/modules/6.12.9-rt1/kernel/b.ko", b"x");
    assert!(Package::open(home.path(), staging.path()).unwrap_err().to_string().contains("b.ko is not listed"));
    fs::remove_file(home.path().join("lib/modules/6.12.9-rt1/kernel/b.ko")).unwrap();
    fs::remove_file(home.path().join("lib/modules/6.12.9-rt1/kernel/a.ko")).unwrap();
    assert!(Package::open(home.path(), staging.path()).unwrap_err().to_string().contains("a.ko is listed but missing"));
}

#[test]
fn what_is_no_kernel_is_said_to_be_none() {
    let staging = tempfile::tempdir().unwrap();
    let none = tempfile::tempdir().unwrap();
    assert!(Package::open(none.path(), staging.path()).unwrap_err().to_string().contains("no lib/modules"));
    write(none.path(), "lib/modules/../x", b"x");
    write(none.path(), "lib/modules/hello/a.ko", b"x");
    assert!(Package::open(none.path(), staging.path()).unwrap_err().to_string().contains("not a kernel release"));
    write(none.path(), "file", b"this is no archive");
    assert!(Package::open(&none.path().join("file"), staging.path()).is_err());
    write(none.path(), "deb", b"!<arch>\ndebian-binary broken");
    assert!(Package::open(&none.path().join("deb"), staging.path()).is_err());
    assert!(Package::open(&none.path().join("absent"), staging.path()).is_err());
}

#[test]
fn modules_of_another_kernel_are_named() {
    let root = tempfile::tempdir().unwrap();
    kernel(root.path());
    let folder = root.path().join("lib/modules/6.12.9-rt1");
    let magic = |is_rt| wrong_modules(&folder, "6.12.9-rt1", is_rt).unwrap();
    assert_eq!((magic(Some(true)).looked_at, magic(Some(true)).wrong), (1, Vec::new()));
    assert_eq!(magic(Some(false)).wrong.len(), 1);
    write(&folder, "kernel/b.ko", &module("6.12.8-rt1 SMP preempt_rt "));
    write(&folder, "kernel/c.ko", b"nothing");
    let found = magic(Some(true));
    assert_eq!(
        (found.wrong.as_slice(), found.unknown.as_slice()),
        (&[("b.ko".to_owned(), "6.12.8-rt1 SMP preempt_rt ".to_owned())][..], &["c.ko".to_owned()][..])
    );
}

#[test]
fn a_script_is_no_image() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), "script", b"#!/bin/sh\n");
    assert_eq!(arch_of_image(&home.path().join("script")).unwrap(), None);
}
