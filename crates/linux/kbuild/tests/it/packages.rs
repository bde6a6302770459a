use punctual_kbuild::check::Outcome;
use punctual_kbuild::package::{Job, Manifest, Packaged, Stage};
use punctual_kbuild::{KbuildError, build, image, package};
use punctual_kernel::config::make::REQUESTED;
use punctual_testing::kbuild::{Tree, has};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: [&str; 3] = ["make", "gzip", "sed"];

fn packaged(tree: &Tree, into: &str, deb: bool) -> Result<Packaged, KbuildError> {
    let out = tree.0.path().join("out");
    let board = punctual_kernel::board("raspberry-pi-3-64").unwrap();
    let into = tree.0.path().join(into);
    let job = Job { build: out, board: Some(board), source: None, into, deb, headers: false };
    package(&job, &mut |_| {})
}

fn built() -> Tree {
    let tree = Tree::default();
    let out = tree.configured("out");
    fs::write(out.join(REQUESTED), "CONFIG_EXPERT=y\nCONFIG_PREEMPT_RT=y\nCONFIG_SPI_BCM2835=m\n").unwrap();
    build(&tree.job(&out), &mut |_| {}, &mut |_| {}).unwrap();
    tree
}

#[test]
#[ignore = "live: make, dpkg-deb"]
fn a_package_is_whole_and_twice_the_same() {
    if !has(&TOOLS) {
        return;
    }
    let tree = built();
    let (one, two) = (packaged(&tree, "one", true).unwrap(), packaged(&tree, "two", true).unwrap());
    assert!(one.checks.iter().all(|check| check.outcome == Outcome::Pass), "{:#?}", one.checks);
    assert_eq!(one.files.len(), 4);
    for (a, b) in one.files.iter().zip(&two.files) {
        assert_eq!(fs::read(a).unwrap(), fs::read(b).unwrap(), "{}", a.display());
    }
    let manifest: Manifest = serde_json::from_slice(&fs::read(&one.files[0]).unwrap()).unwrap();
    assert_eq!(manifest, one.manifest);
    assert_eq!(manifest.version.as_deref(), Some("#1 SMP PREEMPT_RT Sun Nov 06 08:49:37 UTC 1994"));
    let tree = "usr/lib/linux-image-6.12.9-punctual-rt/broadcom/bcm2837-rpi-3-b.dtb";
    assert!(manifest.boot.iter().any(|path| path == tree), "{:?}", manifest.boot);
    assert!(manifest.files.iter().all(|file| !file.path.ends_with("/build")), "links of this machine");
    if has(&["dpkg-deb"]) {
        let said = Command::new("dpkg-deb").arg("-c").arg(&one.files[2]).output().unwrap();
        let listed = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(said.status.success() && listed.contains("boot/vmlinuz-6.12.9-punctual-rt"), "{listed}");
    }
}

#[test]
#[ignore = "live: make"]
fn what_fails_a_check_is_not_packaged() {
    if !has(&TOOLS) {
        return;
    }
    let tree = Tree::default();
    let out = tree.configured("out");
    // make builds a kernel that does not match its name and configuration.
    fs::write(out.join("real-time"), "PREEMPT_DYNAMIC").unwrap();
    build(&tree.job(&out), &mut |_| {}, &mut |_| {}).unwrap();
    let done = packaged(&tree, "into", false).unwrap();
    let failed: Vec<&str> =
        done.checks.iter().filter(|c| c.outcome == Outcome::Fail).map(|check| check.id.as_str()).collect();
    assert_eq!(failed, ["preempt-rt"]);
    assert!(done.files.is_empty() && !tree.0.path().join("into/manifest.json").exists());
    let unknown: Vec<&str> =
        done.checks.iter().filter(|c| c.outcome == Outcome::Unknown).map(|check| check.id.as_str()).collect();
    assert_eq!(unknown, ["requested"], "the requested options were not saved");
}

#[test]
fn a_build_that_did_not_end_is_not_packaged() {
    let tree = Tree::default();
    tree.configured("out");
    let error = packaged(&tree, "into", false).unwrap_err();
    assert!(error.is_usage() && error.to_string().contains("punctual kernel build"), "{error}");
}

#[test]
#[ignore = "live: make"]
fn a_finished_build_without_a_release_is_an_error_that_names_file_and_command() {
    if !has(&TOOLS) {
        return;
    }
    let tree = built();
    let note = tree.0.path().join("out/punctual-build.json");
    let whole = fs::read_to_string(&note).unwrap();
    for release in ["null", "\"\"", "\"../../etc\""] {
        let without = whole.replace("\"6.12.9-punctual-rt\"", release);
        assert_ne!(whole, without);
        fs::write(&note, without).unwrap();
        let error = packaged(&tree, "into", true).unwrap_err();
        assert!(matches!(error, KbuildError::Bad { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.contains("out/punctual-build.json") && said.contains("punctual kernel build --tree "), "{said}");
        assert!(!tree.0.path().join("into").exists(), "something was written");
    }
    // The command in the message fixes it.
    build(&tree.job(&tree.0.path().join("out")), &mut |_| {}, &mut |_| {}).unwrap();
    assert!(!packaged(&tree, "into", true).unwrap().files.is_empty());
}

fn card(tree: &Tree, done: &Packaged, name: &str, firmware: Option<PathBuf>) -> Result<Vec<String>, KbuildError> {
    let busybox = tree.0.path().join("busybox");
    fs::write(&busybox, "a program\n").unwrap();
    let stage = Stage { root: done.stage.clone(), release: done.manifest.release.clone() };
    let job = image::Job {
        stage: &stage,
        board: punctual_kernel::board("raspberry-pi-3-64").unwrap(),
        busybox: busybox.clone(),
        firmware,
        script: Some(busybox),
        epoch: 784_111_777,
        path: tree.0.path().join(name),
    };
    image::write(&job, &mut |_| {})
}

/// Returns debugfs's description of a file in the second partition.
fn stat(path: &Path, file: &str) -> String {
    let debugfs =
        ["/usr/sbin/debugfs", "/sbin/debugfs"].into_iter().find(|p| Path::new(p).is_file()).unwrap_or("debugfs");
    let disk = format!("{}?offset={}", path.display(), 128 << 20);
    let output = Command::new(debugfs).args(["-R", &format!("stat {file}"), &disk]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "live: make, mke2fs, debugfs"]
fn a_card_has_the_kernel_where_the_firmware_looks_and_a_root() {
    if !has(&TOOLS) || !(Path::new("/usr/sbin/mke2fs").is_file() || Path::new("/sbin/mke2fs").is_file()) {
        eprintln!("not tested: cards need make and mke2fs");
        return;
    }
    let tree = built();
    let done = packaged(&tree, "into", false).unwrap();
    let notes = card(&tree, &done, "card.img", None).unwrap();
    assert!(notes[0].contains("--firmware"), "{notes:?}");
    let path = tree.0.path().join("card.img");
    assert_eq!(path.metadata().unwrap().len(), 512 << 20);
    let read = |name: &str| image::read(&path, name).unwrap();
    assert_eq!(read("kernel8.img"), fs::read(tree.0.path().join("out/arch/arm64/boot/Image.gz")).unwrap());
    assert_eq!(read("bcm2837-rpi-3-b.dtb"), b"tree\n");
    let config = String::from_utf8(read("config.txt")).unwrap();
    assert!(
        config.contains("arm_64bit=1\nkernel=kernel8.img\n")
            && config.contains("[pi3]\ndevice_tree=bcm2837-rpi-3-b.dtb\n")
    );
    assert!(String::from_utf8(read("cmdline.txt")).unwrap().contains("root=PARTUUID=70756e63-02 "));
    for file in ["/bin/busybox", "/etc/punctual-boot", "/lib/modules/6.12.9-punctual-rt/kernel/usbhid.ko", "/dev"] {
        let said = stat(&path, file);
        assert!(said.contains("User:     0   Group:     0"), "{file}: {said}");
    }
    assert!(stat(&path, "/etc/punctual-boot").contains("Mode:  0755"));
}

#[test]
#[ignore = "live: make"]
fn a_card_that_could_not_boot_is_not_written() {
    if !has(&TOOLS) {
        return;
    }
    let tree = built();
    let done = packaged(&tree, "into", false).unwrap();
    let empty = tree.0.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let error = card(&tree, &done, "card.img", Some(empty)).unwrap_err().to_string();
    assert!(error.contains("start*.elf"), "{error}");
    let config = done.stage.join("boot/config-6.12.9-punctual-rt");
    fs::write(&config, punctual_testing::kbuild::CONFIG.replace("CONFIG_EXT4_FS=y", "CONFIG_EXT4_FS=m")).unwrap();
    let error = card(&tree, &done, "card.img", None).unwrap_err().to_string();
    assert!(error.contains("not built in: EXT4_FS"), "{error}");
    let left: Vec<_> = fs::read_dir(tree.0.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("card")), "{left:?}");
}
