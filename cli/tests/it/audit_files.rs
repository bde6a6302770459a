//! Tests `audit --config FILE…`, and `--for FILE` with files of other programs, as scripts use them.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn punctual(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_punctual")).args(words).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

fn state<'v>(document: &'v Value, id: &str) -> &'v str {
    let findings = document["result"]["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["id"] == id).unwrap_or_else(|| panic!("{id}"))["state"].as_str().unwrap()
}

fn fixture(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/system/audit/tests").join(path);
    path.to_str().unwrap().to_owned()
}

/// A temporary directory with files.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Files {
        Files(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path: PathBuf = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

#[test]
fn a_configuration_alone_decides_the_exit_code() {
    let passes = punctual(&["audit", "--json", "--config", &fixture("configs/rt.config")]);
    assert_eq!(passes.status.code(), Some(0), "{}", String::from_utf8_lossy(&passes.stdout));
    let document = json(&passes);
    assert_eq!(
        document["result"]["findings"].as_array().unwrap().len(),
        punctual_audit::Rules::embedded().iter().count()
    );
    assert_eq!((state(&document, "kernel-preempt-rt"), state(&document, "mem-swap")), ("PASS", "SKIP"));
    assert!(document["result"]["machine"].as_str().unwrap().contains("rt.config (kernel configuration)"));
    let fails = punctual(&["audit", "--config", &fixture("configs/stock.config")]);
    assert_eq!(fails.status.code(), Some(1));
    let text = String::from_utf8(fails.stdout).unwrap();
    // Without the command line it is unknown whether preempt= changes the default.
    assert!(text.contains("1 UNKNOWN: kernel-preempt-dynamic") && !text.contains(" on CPU :"), "{text}");
}

#[test]
fn what_a_command_line_does_not_decide_is_said_and_the_next_command_is_about_it() {
    let files = Files::new();
    let line = files.write("saved line", "isolcpus=2-3 nohz_full=2-3 idel=poll\n");
    let out = punctual(&["audit", "--config", &format!("cmdline:{line}"), "--for", "busy-poll"]);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("`idel=poll` is not a parameter of Linux") && text.contains("; idle is"), "{text}");
    assert!(text.contains("\nNOT JUDGED  ") && text.contains(" rules need more than these files"), "{text}");
    let next = format!("punctual audit --config 'cmdline:{line}' --for busy-poll --full");
    assert!(text.contains(&next), "{text}");
}

#[test]
fn evidence_names_the_file_that_was_given() {
    let config = fixture("configs/stock.config");
    let document = json(&punctual(&["audit", "--json", "--config", &config]));
    let findings = document["result"]["findings"].as_array().unwrap();
    let lockdep = findings.iter().find(|finding| finding["id"] == "kconfig-lockdep").unwrap();
    assert_eq!(lockdep["evidence"][0]["source"], config);
    assert!(!String::from_utf8_lossy(document["result"].to_string().as_bytes()).contains("/proc/config.gz CONFIG_"));
}

#[test]
fn several_files_are_one_machine() {
    let files = Files::new();
    let line = files.write("cmdline.txt", "console=tty1 root=/dev/mmcblk0p2 rootwait nohz_full=3\n");
    let config_txt = files.write("config.txt", "dtparam=audio=on\n[all]\narm_freq=2500\n");
    let config = fixture("configs/stock.config");
    let words = ["audit", "--json", "--config", &config, "--config", &line, "--config", &config_txt];
    let document = json(&punctual(&words));
    assert_eq!(state(&document, "kconfig-nohz-inert"), "FAIL");
    assert_eq!(state(&document, "rpi-overclock"), "INFO");
}

#[test]
fn useless_files_are_usage_with_what_to_type() {
    let files = Files::new();
    let empty = files.write("empty", "");
    let binary = files.write("binary", [0xff_u8, 0, 1, 2]);
    let large = files.write("large", vec![b'#'; (4 << 20) + 1]);
    let odd = files.write("odd", "hello world\n");
    let said_wrongly = format!("kconfig:{odd}");
    let config = fixture("configs/rt.config");
    let folder = files.0.path().to_str().unwrap();
    for (words, part) in [
        (vec![empty.as_str()], "is empty: give a kernel's .config"),
        (vec![&binary], "is not a text file"),
        (vec![&large], "larger than 4 MiB"),
        (vec![&odd], "--config cmdline:"),
        (vec![&said_wrongly], "CONFIG_HZ=250"),
        (vec![folder], "is a directory"),
        (vec!["/no/such/file"], "cannot read /no/such/file"),
        (vec![&config, &config], "are both kernel configuration"),
    ] {
        let words: Vec<&str> = ["audit"].into_iter().chain(words.iter().flat_map(|word| ["--config", word])).collect();
        let output = punctual(&words);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(part) && output.stdout.is_empty(), "{words:?}: {said}");
    }
    assert_eq!(punctual(&["audit", "--config", &config, "--root", "/"]).status.code(), Some(2));
}

#[test]
fn a_tuned_profile_is_checked_with_what_it_includes() {
    let files = Files::new();
    files.write("parent/tuned.conf", "[main]\nsummary=x\n[sysctl]\nvm.stat_interval=10\n");
    files.write("child-variables.conf", "isolated_cores=2-3\n");
    let text = "[main]\ninclude=parent\n[variables]\ninclude=/no/such/folder/vars.conf\n[sysctl]\nvm.swappiness=10\n\
                [bootloader]\ncmdline_x=+isolcpus=2-3\n[script]\nscript=x.sh\n";
    let profile = files.write("child/tuned.conf", text);
    files.write("root/proc/cmdline", "ro isolcpus=2-3\n");
    files.write("root/proc/sys/vm/swappiness", "60\n");
    files.write("root/proc/sys/vm/stat_interval", "10\n");
    let root = files.0.path().join("root");
    let root = root.to_str().unwrap();
    let output = punctual(&["audit", "--json", "--for", &profile, "--root", root]);
    let document = json(&output);
    assert_eq!(document["result"]["profile"], "dedicated-core");
    for (id, wanted) in [
        ("tuned-cmdline-isolcpus", "PASS"),
        ("tuned-sysctl-vm.stat_interval", "PASS"),
        ("tuned-sysctl-vm.swappiness", "FAIL"),
        ("tuned-not-checked", "INFO"),
    ] {
        assert_eq!(state(&document, id), wanted, "{id}");
    }
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("not checked: [script] script = x.sh") && said.contains("vars.conf"), "{said}");
    // A profile can also be given by its directory.
    let folder = Path::new(&profile).parent().unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        state(&json(&punctual(&["audit", "--json", "--for", &folder, "--root", root])), "tuned-cmdline-isolcpus"),
        "PASS"
    );
}

#[test]
fn an_rt_conf_file_is_checked() {
    let files = Files::new();
    let line = files.write("cmdline", "root=/dev/sda1 ro isolcpus=2-3 nohz=off\n");
    let document = json(&punctual(&["audit", "--json", "--for", &fixture("profiles/rt-conf.yaml"), "--config", &line]));
    assert_eq!(state(&document, "rt-conf-cmdline-isolcpus"), "PASS");
    assert_eq!(state(&document, "rt-conf-cmdline-nohz"), "FAIL");
    assert_eq!(state(&document, "rt-conf-irq-my-wireless"), "SKIP");
}

#[test]
fn mistakes_in_profiles_are_named_with_their_place() {
    let files = Files::new();
    for (name, text, part) in [
        ("a.yaml", "kernel-cmdline:\n  parameters: x\n", "a.yaml:2:15: "),
        ("b.conf", "[main]\nword\n", "b.conf:2:1: "),
        ("c.toml", "extends = \"nothing\"\n", "c.toml:1:11: "),
    ] {
        let output = punctual(&["audit", "--for", &files.write(name, text)]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(part), "{said}");
    }
}
