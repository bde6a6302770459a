use punctual_journal::{Journal, tracefs};
use punctual_tracefs::{Config, Instance, MINIMAL, Tracefs};
use std::fs;

#[test]
#[ignore = "live: root, tracefs"]
fn an_instance_is_made_in_it_and_written_down_by_its_name_and_no_mount_table_changes() {
    let mounts = || fs::read_to_string("/proc/self/mountinfo").unwrap();
    let before = mounts();
    let root = tracefs::own().unwrap();
    assert_eq!(tracefs::own().unwrap(), root);
    let home = tempfile::tempdir().unwrap();
    let config = Config { events: MINIMAL, buffer_kb: Some(512), tracer: None, stacks: None };
    let made = Instance::create(&Tracefs::at(root), &Journal::at(home.path().join("j")), &config).unwrap();
    let folder = made.folder().to_owned();
    assert!(folder.starts_with(root) && folder.join("trace_clock").exists());
    // A child process finds the mount by the same path.
    let seen = std::process::Command::new("test").arg("-d").arg(&folder).status().unwrap();
    let entry = fs::read_dir(home.path().join("j")).unwrap().next().unwrap().unwrap().path();
    let written = fs::read_to_string(entry).unwrap();
    assert_eq!(mounts(), before);
    made.remove().unwrap();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let undo = format!(r#"[{{"undo":"remove_in_tracefs","path":"instances/{name}"}}]"#);
    assert!(seen.success() && written.contains(&undo) && !written.contains("/proc/"), "{written}");
    assert!(!folder.exists() && root.join("instances").exists());
    assert_eq!(mounts(), before);
}
