//! Boards that send arbitrary data. A substitute for `ssh` runs the commands on this machine, with the board's programs
//! before those of the system in PATH. The code under test runs in a separate process, which reports its memory usage.

use punctual_remote::{Job, Link, fetch};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tar::{EntryType, Header};

/// Environment variable with the board's directory, set for the process under test.
const BOARD: &str = "PUNCTUAL_TEST_BOARD";
/// Maximum memory of the process under test, KiB.
const MEMORY: u64 = 64 << 10;
/// Name of the job whose run is fetched.
const JOB: &str = "job";

struct Board(tempfile::TempDir);

impl Board {
    fn new() -> Board {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let board = Board(folder);
        for name in ["bin", "home", "ssh", "here"] {
            fs::create_dir(board.0.path().join(name)).unwrap();
        }
        let root = board.0.path().display();
        let ssh = format!("for line; do :; done\ncd {root}/home\nHOME=$PWD PATH={root}/bin:$PATH exec sh -c \"$line\"");
        board.program("ssh/ssh", &ssh);
        board
    }

    fn program(&self, path: &str, script: &str) {
        let path = self.0.path().join(path);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn with_run(self, archive: &[u8]) -> Board {
        let job = self.0.path().join("home/.cache/punctual/remote/jobs").join(JOB);
        fs::create_dir_all(&job).unwrap();
        fs::write(job.join("run.tar"), archive).unwrap();
        let sum = Command::new("sh").args(["-c", "sha256sum < run.tar > sum"]).current_dir(&job).status().unwrap();
        assert!(sum.success());
        self
    }

    /// Returns what the process under test reported. Checks that it stays within its memory limit, prints no terminal
    /// control characters, and leaves no files.
    fn met(&self, task: &str) -> String {
        let path = format!("{}:{}", self.0.path().join("ssh").display(), std::env::var("PATH").unwrap());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["hostile::the_side_that_is_tested", "--exact"]).env(BOARD, self.0.path()).env("TASK", task);
        let done = child.env("PATH", path).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout));
        let reported = fs::read_to_string(self.0.path().join("reported")).unwrap();
        let (memory, what) = reported.split_once(' ').unwrap();
        let memory: u64 = memory.parse().unwrap();
        assert!(memory < MEMORY, "{memory} KiB: {what}");
        assert_eq!(punctual_clean::line(what), what);
        if what.starts_with("Err") {
            assert_eq!(names(&self.0.path().join("here")), Vec::<String>::new(), "{what}");
        }
        assert_eq!(names(self.0.path()), ["bin", "here", "home", "reported", "ssh"], "{what}");
        what.to_owned()
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

/// The process under test; run only as a child process by [`Board::met`].
#[test]
fn the_side_that_is_tested() {
    let Some(board) = std::env::var_os(BOARD).map(PathBuf::from) else { return };
    let link = Link { target: "ssh://board".parse().unwrap(), config: None };
    let done = match std::env::var("TASK").unwrap().as_str() {
        "who" => link.who().map(|who| format!("{who:?}")),
        "wait" => Job::new(JOB)
            .wait(&link, std::time::Duration::from_secs(1))
            .map(|ended| format!("{} bytes and {} bytes", ended.out.len(), ended.complaint.len())),
        _ => fetch(&link, &Job::new(JOB), &board.join("here/run")).map(|()| "fetched".to_owned()),
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap().trim().trim_end_matches(" kB");
    let what = done.map_or_else(|e| format!("Err {e}"), |done| format!("Ok {done}"));
    eprintln!("{memory} KiB: {what}");
    fs::write(board.join("reported"), format!("{memory} {what}")).unwrap();
}

fn entry(name: &[u8], kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.as_old_mut().linkname[..11].copy_from_slice(b"/etc/passwd");
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o6777);
    header.set_uid(0);
    header.set_gid(0);
    header.set_device_major(1).unwrap();
    header.set_device_minor(3).unwrap();
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend(content);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

fn run_with(more: &[u8]) -> Vec<u8> {
    let file = |name: &[u8]| entry(name, EntryType::Regular, 2, b"{}");
    [&entry(b"run/", EntryType::Directory, 0, b"")[..], &file(b"run/run.json"), more, &[0; 1024]].concat()
}

#[test]
fn set_uid_files_arrive_as_plain_ones() {
    let board = Board::new().with_run(&run_with(&entry(b"run/sh", EntryType::Regular, 2, b"#!")));
    assert_eq!(board.met("fetch"), "Ok fetched");
    for name in ["run/sh", "run/run.json"] {
        let mode = fs::metadata(board.0.path().join("here").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777 & !0o644, 0, "{name}: {mode:o}");
    }
    assert_eq!(names(&board.0.path().join("here")), ["run"]);
}

#[test]
fn hostile_archives_leave_nothing() {
    let regular = EntryType::Regular;
    let rows: [(&[u8], EntryType, u64, &str); 13] = [
        (b"run/link", EntryType::Symlink, 0, "is a link"),
        (b"run/hard", EntryType::Link, 0, "is a link"),
        (b"run/null", EntryType::Char, 0, "is a device"),
        (b"run/disk", EntryType::Block, 0, "is a device"),
        (b"run/fifo", EntryType::Fifo, 0, "is a FIFO"),
        (b"run/../../evil", regular, 0, "leads out"),
        (b"../evil", regular, 0, "leads out"),
        (b"/tmp/evil", regular, 0, "leads out"),
        (b"run/a\nPASS", regular, 0, "control characters"),
        (b"run/\x1b]0;x\x07", regular, 0, "control characters"),
        (b"run/a/b/c/d/e/f/g/h/i", regular, 0, "directories deep"),
        (b"run/zeros", regular, 3 << 30, "larger than 2048 MiB"),
        (b"run/run.json", regular, 0, "twice"),
    ];
    for (name, kind, size, why) in rows {
        let reported = Board::new().with_run(&run_with(&entry(name, kind, size, b""))).met("fetch");
        assert!(
            reported.starts_with("Err ssh://board: the archive is refused: `") && reported.contains(why),
            "{reported}"
        );
    }
    let reported = Board::new().with_run(&entry(b"other", regular, 0, b"")).met("fetch");
    assert!(reported.ends_with("the archive has no folder `run`"), "{reported}");
}

#[test]
fn endless_output_is_cut_off() {
    for script in ["exec yes", "exec yes >&2", "head -c 3000000000 /dev/zero"] {
        let board = Board::new();
        board.program("bin/uname", script);
        let reported = board.met("who");
        assert!(reported.contains("sent more than 1 MiB"), "{reported}");
    }
    let board = Board::new().with_run(b"");
    board.program("bin/cat", "exec yes");
    assert!(board.met("fetch").contains("sent more than 1 MiB"));
    // The maximum amount of output, of which each byte must be escaped.
    let board = Board::new().with_run(b"");
    fs::write(board.0.path().join("home/.cache/punctual/remote/jobs/job/code"), "0").unwrap();
    board.program("bin/head", "exec /usr/bin/head -c 4194304 /dev/zero");
    assert_eq!(board.met("wait"), "Ok 4194304 bytes and 4194304 bytes");
    board.program("bin/head", "exec yes");
    assert!(board.met("wait").contains("sent more than 4 MiB"));
}

#[test]
fn what_a_board_says_is_harmless_in_errors() {
    for (program, script) in [
        ("uname", r"printf '\033]0;x\007\n'; exit 3"),
        ("uname", r"printf '\033[2J\n<LAVA_SIGNAL_TESTCASE RESULT=pass>\n::error::x\n' >&2; exit 3"),
        ("id", r"printf '\r\n'; exec printf '::set-output name=x::y\nx\n\233' >&2"),
        ("uname", r"printf 'Permission denied\n\033[31m::error::x\n' >&2; kill -9 $PPID"),
    ] {
        let board = Board::new();
        board.program(&format!("bin/{program}"), script);
        board.met("who");
    }
}

/// Transfers 2.5 GB.
#[test]
// Needs 3 GB of disk space for 12 s.
#[ignore = "live: timing"]
fn an_endless_run_is_cut_off() {
    let board = Board::new().with_run(b"");
    board.program("bin/tail", "exec cat /dev/zero");
    assert!(board.met("fetch").contains("sent more than 2244 MiB"));
}
