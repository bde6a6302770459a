use punctual_machine::{KernelConfig, Listing, Live, Machine, READ_LIMIT, Read, facts, facts_with};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Instant;

fn tree() -> (tempfile::TempDir, Live) {
    let folder = tempfile::tempdir().unwrap();
    let live = Live::under(folder.path());
    (folder, live)
}

#[test]
fn absent_and_known_are_told_apart() {
    let (folder, live) = tree();
    fs::write(folder.path().join("file"), "text\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    assert_eq!(live.read("/file").text(), Some("text"));
    assert_eq!(live.read("/empty"), Read::Known(vec![]));
    assert_eq!(live.read("/other"), Read::Absent);
    assert_eq!(live.read("/file/below"), Read::Absent);
    assert_eq!(live.list("/"), Listing::Known(vec!["empty".into(), "file".into()]));
    assert_eq!(live.list("/file"), Listing::Absent);
    assert_eq!(live.read("file"), Read::Failed(22));
}

#[test]
fn what_could_block_is_not_opened() {
    let (folder, live) = tree();
    let fifo = folder.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket")).unwrap();
    assert_eq!(live.read("/fifo"), Read::Failed(6));
    assert_eq!(live.read("/socket"), Read::Failed(6));
    assert_eq!(live.read("/"), Read::Failed(21));
    assert_eq!(Live::new().read("/dev/null"), Read::Failed(6));
}

#[test]
fn a_file_beyond_the_limit_is_read_in_parts_only() {
    let (folder, live) = tree();
    let mut content = vec![b'x'; READ_LIMIT];
    fs::write(folder.path().join("most"), &content).unwrap();
    content.extend(b"needle");
    fs::write(folder.path().join("more"), &content).unwrap();
    assert!(live.read("/most").bytes().is_some_and(|b| b.len() == READ_LIMIT));
    assert_eq!(live.read("/more"), Read::Failed(27));
    assert_eq!(live.read_part("/more", READ_LIMIT as u64, 100), Read::Known(b"needle".to_vec()));
    assert_eq!(live.read_part("/more", 0, 2), Read::Known(b"xx".to_vec()));
    assert_eq!(live.read_part("/more", 1 << 40, 2), Read::Known(vec![]));
    assert_eq!(live.read_part("/none", 0, 2), Read::Absent);
}

#[test]
fn links_do_not_lead_out_of_the_tree() {
    let (folder, live) = tree();
    fs::create_dir(folder.path().join("etc")).unwrap();
    fs::write(folder.path().join("etc/os-release"), "PRETTY_NAME=\"inside\"\n").unwrap();
    symlink("/etc/os-release", folder.path().join("absolute")).unwrap();
    symlink("../../../../../../etc/os-release", folder.path().join("etc/upward")).unwrap();
    assert_eq!(live.read("/absolute").text(), Some("PRETTY_NAME=\"inside\""));
    assert_eq!(live.read("/etc/upward").text(), Some("PRETTY_NAME=\"inside\""));
    assert_eq!(facts(&live).os.as_deref(), Some("inside"));
}

#[test]
fn a_refused_file_is_denied() {
    let (folder, live) = tree();
    let path = folder.path().join("secret");
    fs::write(&path, "1").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read it, so there is nothing to test.
    if fs::read(&path).is_err() {
        assert_eq!(live.read("/secret"), Read::Denied);
    }
}

#[test]
fn an_empty_machine_has_no_facts() {
    let (_folder, live) = tree();
    assert_eq!(facts(&live), punctual_model::MachineFacts::default());
    assert_eq!(KernelConfig::read(&live).unwrap_err().tried.len(), 1);
}

#[test]
fn this_machine_has_facts() {
    let live = Live::new();
    let start = Instant::now();
    let facts = facts(&live);
    let taken = start.elapsed();
    assert!(facts.kernel_release.is_some() && facts.architecture.is_some() && facts.memory_bytes.is_some());
    let listed = std::path::Path::new("/sys/devices/system/cpu/online").exists();
    assert_eq!(facts.cpus_online.is_some_and(|cpus| !cpus.is_empty()), listed);
    println!("facts took {taken:?}");
    let start = Instant::now();
    let config = KernelConfig::read(&live);
    println!("config took {:?}: {:?}", start.elapsed(), config.as_ref().map(KernelConfig::path));
    println!("{:#?}", facts_with(&live, config.as_ref().ok()));
}
