use super::*;
use proptest::prelude::*;
use punctual_directory::Whose;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use tar::{Builder, EntryType, Header};

const FEW: Limits = Limits { bytes: 1 << 20, entries: 20, depth: 3, name: 100 };

/// Adds an entry that may be invalid, so that [`Builder`] would refuse to write it.
fn add(out: &mut Vec<u8>, name: &[u8], kind: EntryType, size: u64, content: &[u8]) {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o6777);
    header.set_uid(4242);
    header.set_gid(4242);
    if let Some(gnu) = header.as_gnu_mut() {
        gnu.linkname[..11].copy_from_slice(b"/etc/passwd");
        gnu.set_real_size(size);
        gnu.set_device_major(1);
        gnu.set_device_minor(3);
    }
    header.set_cksum();
    out.extend(header.as_bytes());
    out.extend(content);
    out.resize(out.len().next_multiple_of(512), 0);
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    add(&mut out, name.as_bytes(), EntryType::Regular, content.len() as u64, content);
    out
}

fn ended(mut entries: Vec<u8>) -> Vec<u8> {
    entries.resize(entries.len() + 1024, 0);
    entries
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

/// Creates an empty directory to unpack into, and next to it a file that no archive may change.
fn staging() -> (tempfile::TempDir, Dir) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    let dir = Dir::create(&folder.path().join("in"), Whose::Results).unwrap();
    (folder, dir)
}

fn nothing_outside(folder: &tempfile::TempDir) {
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(fs::read_to_string(folder.path().join("secret")).unwrap(), "secret");
}

fn refusal(archive: &[u8], limits: Limits) -> String {
    let (folder, dir) = staging();
    let error = unpack(archive, &dir, limits).unwrap_err();
    nothing_outside(&folder);
    assert!(!error.is_environment(), "{error}");
    let error = error.to_string();
    assert_eq!(error, punctual_clean::line(&error));
    error
}

#[test]
fn a_run_arrives_with_our_modes_plain_and_packed() {
    let mut archive = Vec::new();
    add(&mut archive, b"./", EntryType::Directory, 0, b"");
    add(&mut archive, b"./run/", EntryType::Directory, 0, b"");
    archive.extend(file("run/run.json", b"{}"));
    archive.extend(file("run/hist/0-idle.json", &[7; 1000]));
    add(&mut archive, b"run/empty", EntryType::Directory, 0, b"");
    for archive in [ended(archive.clone()), archive.clone(), gzip(&ended(archive))] {
        let (folder, dir) = staging();
        unpack(&archive[..], &dir, FEW).unwrap();
        nothing_outside(&folder);
        assert_eq!(dir.read("run/run.json", 9).unwrap(), b"{}");
        assert_eq!(dir.read("run/hist/0-idle.json", 9999).unwrap(), [7; 1000]);
        assert!(dir.path().join("run/empty").is_dir());
        let own = fs::metadata(folder.path()).unwrap();
        for (name, mode) in [("run", 0o755), ("run/run.json", 0o644)] {
            let there = fs::metadata(dir.path().join(name)).unwrap();
            assert_eq!(there.permissions().mode() & 0o7777 & !mode, 0, "{name}");
            assert_eq!(std::os::unix::fs::MetadataExt::uid(&there), std::os::unix::fs::MetadataExt::uid(&own));
        }
    }
}

#[test]
fn long_names_of_both_kinds_are_read() {
    let name = format!("run/{}", "n".repeat(200));
    let limits = Limits { name: 300, ..FEW };
    let mut gnu = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(1);
    gnu.append_data(&mut header, &name, &b"x"[..]).unwrap();
    let mut pax = Builder::new(Vec::new());
    pax.append_pax_extensions([("mtime", &b"1.5"[..]), ("path", name.as_bytes())]).unwrap();
    let mut archive = pax.into_inner().unwrap();
    archive.truncate(1024);
    archive.extend(file("short", b"x"));
    for archive in [gnu.into_inner().unwrap(), archive] {
        let (_folder, dir) = staging();
        unpack(&archive[..], &dir, limits).unwrap();
        assert_eq!(dir.read(&name, 1).unwrap(), b"x");
        assert!(refusal(&archive, FEW).contains("more than 100 bytes"));
    }
}

#[test]
fn what_is_no_file_and_no_folder_is_refused_and_named() {
    for (kind, why) in [
        (EntryType::Symlink, "link"),
        (EntryType::Link, "link"),
        (EntryType::GNULongLink, "link"),
        (EntryType::Char, "device"),
        (EntryType::Block, "device"),
        (EntryType::Fifo, "FIFO"),
        (EntryType::GNUSparse, "sparse"),
        (EntryType::XGlobalHeader, "neither"),
        (EntryType::new(b'V'), "neither"),
    ] {
        let mut archive = file("run/run.json", b"{}");
        add(&mut archive, b"run/evil", kind, 0, b"");
        archive.extend(file("run/evil/x", b"x"));
        let error = refusal(&ended(archive), FEW);
        assert!(error.contains("run/evil") && error.contains(why), "{error}");
    }
}

#[test]
fn hostile_names_are_refused() {
    for name in [
        &b"../secret"[..],
        b"run/../../secret",
        b"/etc/cron.d/x",
        b"//x",
        b"..",
        b"run/x\ny",
        b"run/\x1b[2J",
        b"run/\xc2\x9b2J",
        b"run/\xe2\x80\xaegnp",
        b"run/\xff",
        b"a/b/c/d",
        b"",
        b".",
    ] {
        let mut archive = Vec::new();
        add(&mut archive, name, EntryType::Regular, 1, b"x");
        let error = refusal(&ended(archive), FEW);
        assert!(error.contains("is refused: `"), "{error}");
    }
}

#[test]
fn limits_hold() {
    let many: Vec<u8> = (0..21).flat_map(|n| file(&format!("f{n}"), b"")).collect();
    assert!(refusal(&ended(many), FEW).contains("more than 20 files"));
    // Limits apply to a stated size, to the bytes sent, and to the compressed archive.
    let mut said = Vec::new();
    add(&mut said, b"big", EntryType::Regular, 3 << 30, b"");
    assert!(refusal(&said, FEW).contains("`big` makes the archive larger than 1 MiB"));
    let halves = [file("a", &vec![0; 600 << 10]), file("b", &vec![0; 600 << 10])].concat();
    assert!(refusal(&gzip(&halves), FEW).contains("`b` makes the archive"));
    // Endless empty entries.
    let mut nothing = Vec::new();
    add(&mut nothing, b"./", EntryType::Directory, 0, b"");
    refusal(&nothing.repeat(8192), FEW);
    let behind = [ended(file("a", b"x")), vec![0; 3 << 20]].concat();
    assert!(refusal(&gzip(&behind), FEW).contains("longer than 2 MiB"));
}

#[test]
fn folders_that_no_entry_names_count_and_a_file_is_no_folder() {
    let each_in_its_own: Vec<u8> = (0..11).flat_map(|n| file(&format!("run/{n}/x"), b"1")).collect();
    assert!(refusal(&ended(each_in_its_own), FEW).contains("one of more than 20 files"));
    let beneath = [file("run/a", b"1"), file("run/a/b", b"2")].concat();
    let why = refusal(&ended(beneath), FEW);
    assert!(why.contains("run/a/b") && why.contains("beneath a file"), "{why}");
    let (_folder, dir) = staging();
    let both = [gzip(&file("run/a", b"1")), gzip(&ended(file("run/b", b"2")))].concat();
    unpack(&both[..], &dir, FEW).unwrap();
    assert_eq!(dir.read("run/b", 9).unwrap(), b"2");
}

#[test]
fn what_is_damaged_is_refused() {
    let whole = ended(file("a", &[1; 2000]));
    let mut sum = gzip(&whole);
    let at = sum.len() - 6;
    sum[at] ^= 1;
    let twice = [file("a", b"x"), ended(file("a", b"y"))].concat();
    assert!(refusal(&twice, FEW).contains("`a` occurs twice"));
    let beneath = [file("a", b"x"), ended(file("a/b", b"y"))].concat();
    let (_folder, dir) = staging();
    assert!(unpack(&beneath[..], &dir, FEW).is_err());
    for damaged in [&whole[..1000], &sum, &gzip(&whole)[..40], b"", b"hello", &[0; 4096]] {
        refusal(damaged, FEW);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_stay_inside(bytes in prop::collection::vec(any::<u8>(), 0..2048), name in "[a./\\\\]{1,12}") {
        let (folder, dir) = staging();
        let _ = unpack(&[file(&name, b"x"), bytes].concat()[..], &dir, FEW);
        nothing_outside(&folder);
    }
}
