//! Tests with a real sshd on a high port: strict host key checking, quoted words, and files and commands over a
//! connection that breaks.

use punctual_model::Argv;
use punctual_remote::{Job, Remote, RemoteError, fetch, upload};
use punctual_testing::sshd::Sshd;
use std::fs;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

/// Starts sshd. If that fails, prints a message and returns `None`, and the test is skipped.
fn sshd() -> Option<Sshd> {
    let found = Sshd::start();
    if let Err(why) = &found {
        eprintln!("not tested: {why}: apt-get install openssh-server");
    }
    found.ok()
}

#[test]
#[ignore = "live: sshd, ssh"]
fn an_unknown_host_key_is_refused_with_the_command_to_type() {
    let Some(sshd) = sshd() else { return };
    fs::write(sshd.folder().join("known_hosts"), "").unwrap();
    let error = sshd.link().who().unwrap_err().to_string();
    assert!(error.contains("host key is not known") && error.contains("ssh -p"), "{error}");
}

#[test]
#[ignore = "live: sshd, ssh"]
fn a_changed_host_key_is_refused() {
    let Some(sshd) = sshd() else { return };
    sshd.make_key("other");
    let other = fs::read_to_string(sshd.folder().join("other.pub")).unwrap();
    fs::write(sshd.folder().join("known_hosts"), format!("[127.0.0.1]:{} {other}", sshd.port)).unwrap();
    let error = sshd.link().who().unwrap_err().to_string();
    assert!(error.contains("has changed") && error.contains("ssh-keygen -R"), "{error}");
}

#[test]
#[ignore = "live: sshd, ssh"]
fn words_arrive_as_they_are() {
    let Some(sshd) = sshd() else { return };
    let link = sshd.link();
    let words = ["printf", "%s|", "a b", "it's", "$(touch /tmp/x)", "", "`id`", "a\nb", "*", "\\", "\"q\"", ";exit 1"];
    let job = Job::new("words");
    job.start(&link, &Argv::new(words), false).unwrap();
    let ended = job.wait(&link, PATIENCE).unwrap();
    assert_eq!((ended.code, ended.out), (0, words[2..].iter().map(|word| format!("{word}|")).collect::<String>()));
    job.remove(&link).unwrap();
}

#[test]
#[ignore = "live: sshd, ssh"]
fn a_file_comes_whole_over_a_link_that_is_cut_at_twenty_points() {
    let Some(sshd) = sshd() else { return };
    let path = sshd.folder().join("kernel.tar");
    let bytes: Vec<u8> = (0_u32..6 << 20).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fs::write(&path, &bytes).unwrap();
    // Each connection, except for the last ones, breaks after a different number of bytes.
    let (proxy, cuts) = sshd.cutting(20, 9_000_000);
    let there = upload(&proxy, &path)
        .unwrap_or_else(|error| panic!("{error}; {} cuts", cuts.load(std::sync::atomic::Ordering::SeqCst)));
    assert_eq!(fs::read(sshd.home().join(&there)).unwrap(), bytes);
    // The file exists, so it is not sent again, even over a connection that breaks.
    assert_eq!(upload(&sshd.link(), &path).unwrap(), there);
    fs::remove_file(sshd.home().join(&there)).unwrap();
}

#[test]
#[ignore = "live: sshd, ssh"]
fn a_part_that_was_damaged_there_is_sent_again() {
    let Some(sshd) = sshd() else { return };
    let path = sshd.folder().join("kernel.deb");
    fs::write(&path, vec![5; 9 << 20]).unwrap();
    let there = sshd.home().join(upload(&sshd.link(), &path).unwrap());
    let mut half = fs::read(&there).unwrap();
    half.truncate(8 << 20);
    half[5 << 20] = 6;
    fs::write(there.with_file_name(format!("{}.part", there.file_name().unwrap().to_string_lossy())), half).unwrap();
    fs::remove_file(&there).unwrap();
    upload(&sshd.link(), &path).unwrap();
    assert_eq!(fs::read(&there).unwrap(), vec![5; 9 << 20]);
    fs::remove_file(&there).unwrap();
}

#[test]
#[ignore = "live: sshd, ssh"]
fn a_command_outlives_the_link_and_its_run_comes_back() {
    let Some(sshd) = sshd() else { return };
    let (proxy, _) = sshd.cutting(6, 6_000);
    let job = Job::new(&format!("run-{}", sshd.port));
    let line = "mkdir \"$0\"; head -c 300000 /dev/zero > \"$0/hist\"; sleep 3; echo said; exit 3";
    let start = || job.start(&proxy, &Argv::new(["sh", "-c", line, "{job}/run"]), false);
    // Although it is started again after a lost connection, the job runs once.
    start().unwrap();
    start().unwrap();
    let ended = job.wait(&proxy, PATIENCE).unwrap();
    assert_eq!((ended.code, ended.out.as_str(), ended.complaint.as_str()), (3, "said\n", ""));
    let to = sshd.folder().join("here/run");
    fetch(&proxy, &job, &to).unwrap();
    assert_eq!(fs::read(to.join("hist")).unwrap().len(), 300_000);
    job.remove(&sshd.link()).unwrap();
}

#[test]
#[ignore = "live: sshd, ssh"]
fn a_program_for_another_processor_is_refused() {
    let Some(sshd) = sshd() else { return };
    let program = sshd.folder().join("arm");
    let mut elf = fs::read("/proc/self/exe").unwrap();
    elf[18] = if elf[18] == 183 { 62 } else { 183 };
    fs::write(&program, elf).unwrap();
    let error = Remote::with_program(&sshd.link(), &program).unwrap_err();
    assert!(matches!(error, RemoteError::Refused(_)) && error.to_string().contains("--binary"), "{error}");
    fs::write(&program, "#!/bin/sh\n").unwrap();
    assert!(Remote::with_program(&sshd.link(), &program).unwrap_err().to_string().contains("is no program"));
}
