//! Checks what the page on containers (docs/guide/containers.md) states about privileges, with podman and a root file
//! system that contains only this program.

use super::common;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns standard output and error of `punctual` in a container with these options.
fn contained(root: &Path, options: &[&str], words: &[&str]) -> String {
    let mut podman = Command::new("podman");
    // podman's default limits may exceed what this machine permits.
    podman.args(["run", "--rm", "--network=host", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024"]);
    let output = podman.args(options).arg("--rootfs").arg(root).arg("/bin/punctual").args(words).output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
#[ignore = "live: root, podman, timing"]
fn the_rights_that_the_page_names_are_enough_in_a_container() {
    if !common::may_be_real_time() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    for folder in ["bin", "tmp", "proc", "sys", "dev", "etc", "run"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    fs::copy(env!("CARGO_BIN_EXE_punctual"), place.path().join("bin/punctual")).unwrap();
    let measured =
        |out: &str, options: &[&str]| contained(place.path(), options, &["measure", "-D", "1s", "--out", out]);
    let without = measured("/tmp/a", &[]);
    assert!(without.contains("INCONCLUSIVE  real-time scheduling was refused"), "{without}");
    let rights = ["--cap-add=sys_nice,ipc_lock"];
    let with = measured("/tmp/b", &rights);
    // On a kernel with RT_GROUP_SCHED, a cgroup v1 group has no real-time budget by default.
    let budget = Path::new("/sys/fs/cgroup/cpu/cpu.rt_runtime_us").exists();
    if budget {
        assert!(with.contains("real-time scheduling was refused"), "{with}");
        let with = measured("/tmp/c", &["--cap-add=sys_nice,ipc_lock", "--cpu-rt-runtime=100000"]);
        assert!(with.contains(" at FIFO 90, "), "{with}");
    } else {
        assert!(with.contains(" at FIFO 90, "), "{with}");
    }
    let audit = contained(place.path(), &rights, &["audit"]);
    assert!(audit.contains("virt-container: ") && audit.contains(" BLOCKED (permission or lockdown)"), "{audit}");
}
