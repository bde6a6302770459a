use super::*;
use proptest::prelude::*;

fn tar_of(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, kind, bytes) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_entry_type(*kind);
        let name = &mut header.as_old_mut().name;
        name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_cksum();
        builder.append(&header, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

const HEAD: &str = r#"{"schema":"punctual.snapshot/1","tool_version":"0","asked":["/a"],"folders":[],"denied":[],
    "failed":{}}"#;

#[test]
fn a_snapshot_reads_as_the_machine_did() {
    let mut machine = Recorded::default();
    machine.set("/proc/a", Read::Known(b"1\n".to_vec()));
    machine.set("/proc/7/stat", Read::Known(b"x".to_vec()));
    machine.set("/sys/x", Read::Denied);
    machine.set("/sys/y", Read::Failed(5));
    let patterns = ["/proc", "/proc/a", "/proc/*/stat", "/sys/x", "/sys/y", "/gone"].map(str::to_owned);
    let taken = Snapshot::take(&machine, &patterns);
    let mut bytes = Vec::new();
    Snapshot::write(&taken, &patterns, &mut bytes).unwrap();
    let back = Snapshot::read(bytes.as_slice()).unwrap();
    for path in ["/proc/a", "/proc/7/stat", "/sys/x", "/sys/y", "/gone"] {
        assert_eq!(back.read(path), machine.read(path), "{path}");
    }
    assert_eq!(back.list("/proc"), machine.list("/proc"));
    // A path that the snapshot does not cover is unknown.
    assert_eq!(back.read("/etc/other"), Read::Failed(61));
}

#[test]
fn hostile_files_are_refused() {
    use tar::EntryType;
    let file = EntryType::Regular;
    let big = vec![0; READ_LIMIT + 1];
    for (path, kind, bytes) in [
        ("/etc/passwd", file, &b"x"[..]),
        ("files/../x", file, b"x"),
        ("files/a/../../x", file, b"x"),
        ("other/x", file, b"x"),
        ("files/x", EntryType::Symlink, b""),
        ("files/x", EntryType::Link, b""),
        ("files/x", EntryType::Char, b""),
        ("files/x", EntryType::Fifo, b""),
        ("files/big", file, &big),
    ] {
        let bytes = tar_of(&[(MANIFEST, file, HEAD.as_bytes()), (path, kind, bytes)]);
        assert!(matches!(Snapshot::read(bytes.as_slice()), Err(SnapshotError::Hostile { .. })), "{path}");
    }
    let good = tar_of(&[(MANIFEST, file, HEAD.as_bytes()), ("files/a", file, b"1")]);
    assert_eq!(Snapshot::read(good.as_slice()).unwrap().read("/a").text(), Some("1"));
    assert!(Snapshot::read(&b"rubbish"[..]).is_err());
    let none = tar_of(&[("files/a", file, b"1")]);
    assert!(matches!(Snapshot::read(none.as_slice()), Err(SnapshotError::Malformed(_))));
}

#[test]
fn what_identifies_the_machine_is_taken_out() {
    let mut machine = Recorded::default();
    machine.set("/proc/7/exe", Read::Known(b"/home/alice/robot/arm".to_vec()));
    machine.set("/proc/8/exe", Read::Known(b"/usr/sbin/multipathd".to_vec()));
    machine.set("/proc/sys/kernel/hostname", Read::Known(b"robot7\n".to_vec()));
    machine.set("/proc/cpuinfo", Read::Known(b"model name : X\nSerial\t\t: 10000000deadbeef\n".to_vec()));
    machine.set(
        "/dev/kmsg",
        Read::Known(
            b"6,0,0,-;Linux\n6,1,1,-;usb SerialNumber: 77\n6,2,2,-;hrtimer: robot70 on robot7, robot7\n".to_vec(),
        ),
    );
    let taken = Snapshot::take(&machine, &["/proc/cpuinfo".into(), "/dev/kmsg".into(), "/proc/*/exe".into()]);
    let clean = Snapshot::scrubbed(taken, &machine, &["hrtimer:".to_owned()]);
    let text = |path: &str| clean.read(path).text().unwrap().to_owned();
    assert!(!text("/proc/cpuinfo").contains("deadbeef") && text("/proc/cpuinfo").contains("model name : X"));
    assert_eq!((text("/proc/7/exe"), text("/proc/8/exe")), ("arm".to_owned(), "/usr/sbin/multipathd".to_owned()));
    assert_eq!(text("/dev/kmsg"), "6,0,0,-;Linux\n6,2,2,-;hrtimer: robot70 on «host», «host»");
}

proptest! {
    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = Snapshot::read(bytes.as_slice());
    }

    #[test]
    fn a_damaged_snapshot_is_answered(at in 0usize..2048, byte: u8) {
        let file = tar::EntryType::Regular;
        let mut bytes = tar_of(&[(MANIFEST, file, HEAD.as_bytes()), ("files/a", file, b"1")]);
        if let Some(old) = bytes.get_mut(at) {
            *old = byte;
        }
        let _ = Snapshot::read(bytes.as_slice());
    }
}
