//! Regression tests for inputs that fuzzing found (`cargo trials fuzz boot`).

use crate::common;

use common::{Tree, tree};
use punctual_boot::{Change, Plan, change, current, detect};

fn files(files: &[(&str, &str)]) -> Tree {
    Tree(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect())
}

fn planned(tree: &Tree, add: &[&str]) -> Plan {
    change(tree, &detect(tree).unwrap(), &asked(add))
}

/// Returns a change that has not been checked, such as a caller may construct.
fn asked(add: &[&str]) -> Change {
    Change { add: add.iter().map(|word| (*word).to_owned()).collect(), remove: Vec::new() }
}

/// Applies a change. Checks that the same change then plans nothing.
fn once(mut tree: Tree, add: &[&str]) -> Vec<String> {
    let plan = planned(&tree, add);
    assert!(plan.refused.is_empty() && !plan.edits.is_empty(), "{plan:?}");
    plan.edits.iter().for_each(|edit| tree.edit(edit));
    let again = planned(&tree, add);
    assert!(again.refused.is_empty() && again.edits.is_empty(), "{again:?}");
    let now = current(&tree, &detect(&tree).unwrap()).unwrap().configured;
    assert_eq!(now, plan.after);
    now
}

#[test]
fn an_empty_append_keeps_its_keyword() {
    for end in ["", "\n", " \n"] {
        let tree = files(&[("/boot/extlinux.conf", &format!("LABEL a\nAPPEND{end}"))]);
        assert_eq!(once(tree, &["isolcpus=2-3"]), ["isolcpus=2-3"]);
    }
}

#[test]
fn a_word_asked_for_twice_is_there_once() {
    for name in ["jetson-extlinux", "pi-os-bookworm", "arch-systemd-boot", "debian-12-grub"] {
        let words = once(tree(name), &["isolcpus=2-3", "x", "isolcpus=\"2-3\"", "x"]);
        assert_eq!(words.iter().filter(|word| word.starts_with("isolcpus")).count(), 1, "{name}: {words:?}");
    }
}

#[test]
fn an_entry_without_a_kernel_is_not_taken_for_the_default() {
    let entry = |kernel: &str| format!("title T\n{kernel}options ro\n");
    let tree = files(&[
        ("/boot/grub2/grub.cfg", ""),
        ("/boot/loader/entries/a.conf", &entry("linux /vmlinuz\n")),
        ("/boot/loader/entries/z.conf", &entry("")),
    ]);
    assert_eq!(once(tree, &["isolcpus=2-3"]), ["ro", "isolcpus=2-3"]);
}

#[test]
fn a_default_to_fall_back_to_is_refused() {
    let entry = "title T\nlinux /vmlinuz\noptions ro\n";
    let env = "# GRUB Environment Block\nsaved_entry=x-rescue\n";
    let both = [("/boot/loader/entries/a.conf", entry), ("/boot/loader/entries/x-rescue.conf", entry)];
    for loader in [("/boot/grub2/grubenv", env), ("/boot/loader/loader.conf", "default x-rescue.conf\n")] {
        let tree = files(&[both[0], both[1], loader]);
        let plan = planned(&tree, &["isolcpus=2-3"]);
        assert!(plan.steps().is_empty() && plan.trial.is_none(), "{plan:?}");
        assert!(plan.refused[0].why.contains("x-rescue.conf boots by default"), "{:?}", plan.refused);
    }
}

#[test]
fn deployments_without_a_number_are_refused() {
    let mut tree = tree("fedora-coreos-ostree");
    let path = "/boot/loader/entries/ostree-1.conf";
    let text = tree.text(path).replace("version 1", "version one");
    tree.0.insert(path.to_owned(), text.into_bytes());
    let plan = planned(&tree, &["isolcpus=2-3"]);
    assert!(plan.refused.first().is_some_and(|refusal| refusal.why.contains("is not a number")), "{plan:?}");
}

/// Removing the last word may leave white space, but must not remove white space of another line.
#[test]
fn the_last_word_of_a_pi_goes_and_a_word_comes() {
    for blank in ["", " ", "\r\r\u{b}", "\u{c}"] {
        let line = format!("{blank}console=serial0{blank}\n");
        let mut tree = files(&[("/boot/firmware/config.txt", ""), ("/boot/firmware/cmdline.txt", &line)]);
        let none = Change { add: Vec::new(), remove: vec!["console".into()] };
        let plan = change(&tree, &detect(&tree).unwrap(), &none);
        assert!(plan.refused.is_empty() && plan.after.is_empty(), "{line:?}: {plan:?}");
        plan.edits.iter().for_each(|edit| tree.edit(edit));
        assert_eq!(once(tree, &["isolcpus=2-3"]), ["isolcpus=2-3"], "{line:?}");
    }
}
