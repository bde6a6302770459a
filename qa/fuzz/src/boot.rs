//! Fuzzes the reader of boot loader files: the detected boot loaders, their parameters, and the steps of a change.

use punctual_boot::{Chain, Change, Kind, Plan, change, current, detect, trial_word};
use punctual_machine::{Machine, Read, Recorded};
use punctual_model::Edit;
use std::fs;
use std::path::Path;

/// Marks the start of a file in an input. The file's path follows, preceded by `!` if the file may not be read.
const FILE: &str = "== ";

/// Changes that are requested if an input contains none.
const CHANGES: [(&str, &str); 3] =
    [("isolcpus=2-3 nohz_full=2-3", ""), ("threadirqs", "quiet splash"), ("", "console")];

pub const WORDS: &[&str] = &[
    "=",
    "\"",
    "'",
    "\\",
    "$",
    "`",
    ";",
    "#",
    "[all]",
    "[pi4]",
    "[tryboot]",
    "\n",
    "\r\n",
    "\t",
    "{",
    "}",
    "== /boot/loader/entries/a.conf\n",
    "== !/proc/cmdline\n",
    "== !/boot/loader/entries/a.conf\n",
    "== /boot/firmware/autoboot.txt\n",
    "!",
    "options ",
    "linux ",
    "initrd ",
    "APPEND ",
    "LABEL ",
    "DEFAULT ",
    "GRUB_CMDLINE_LINUX",
    "GRUB_CMDLINE_LINUX_DEFAULT=",
    "kernelopts=",
    "menuentry ",
    "submenu ",
    "set default=",
    "extraargs=",
    "cmdline=",
    "os_prefix=",
    "include ",
    "isolcpus=2-3",
    "nohz_full=2-3",
    "quiet",
    "console=tty1",
    "punctual.trial=",
    "panic=10",
    " -- ",
    "root=",
    "\u{feff}",
    "\0",
];

/// Returns every root directory of crates/system/boot as a single text.
pub fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/system/boot/tests/roots");
    let mut roots: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    roots.sort();
    roots
        .iter()
        .map(|root| {
            let mut seed = b"isolcpus=2-3 nohz_full=2-3 | quiet\n".to_vec();
            add(root, root, &mut seed);
            seed
        })
        .collect()
}

fn add(root: &Path, at: &Path, seed: &mut Vec<u8>) {
    let mut paths: Vec<_> = fs::read_dir(at).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(root, &path, seed);
        } else if let Ok(inner) = path.strip_prefix(root) {
            seed.extend(format!("{FILE}/{}\n", inner.display()).bytes());
            seed.extend(fs::read(&path).unwrap_or_default());
        }
    }
}

fn read(input: &[u8]) -> (Recorded, Option<Change>) {
    let mut machine = Recorded::default();
    let mut open: Option<(String, Vec<u8>)> = None;
    let mut set = |(path, content): (String, Vec<u8>)| match path.strip_prefix('!') {
        Some(path) => machine.set(path, Read::Denied),
        None => machine.set(&path, Read::Known(content)),
    };
    let (first, rest) = input.split_at(input.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1));
    for line in rest.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(FILE.as_bytes()) {
            Some(path) => {
                open.take().into_iter().for_each(&mut set);
                open = Some((String::from_utf8_lossy(path).trim_end().to_owned(), Vec::new()));
            }
            None => open.iter_mut().for_each(|(_, content)| content.extend(line)),
        }
    }
    open.into_iter().for_each(&mut set);
    let first = String::from_utf8_lossy(first).into_owned();
    let (add, remove) = first.split_once('|').unwrap_or((first.as_str(), ""));
    (machine, Change::parse(add.trim(), remove.trim()).ok().filter(|change| !change.is_empty()))
}

/// Requests the changes in an input. Panics if an invariant is violated. Returns the number of words and steps.
pub fn execute(input: &[u8]) -> u64 {
    let (machine, own) = read(input);
    let Ok(chain) = detect(&machine) else { return 1 };
    assert!(!chain.evidence.is_empty());
    let known = current(&machine, &chain).map_or(0, |current| {
        let _ = current.drift();
        current.configured.len() as u64
    });
    let fixed = CHANGES.iter().filter_map(|(add, remove)| Change::parse(add, remove).ok());
    let asked = own.into_iter().chain(fixed);
    4 + known + asked.map(|asked| check(&machine, &chain, &asked)).sum::<u64>()
}

fn check(machine: &Recorded, chain: &Chain, asked: &Change) -> u64 {
    let plan = &change(machine, chain, asked);
    let steps = plan.steps();
    if !plan.refused.is_empty() {
        assert!(steps.is_empty() && plan.trial.is_none(), "refused, but planned anyway: {plan:?}");
        assert!(plan.refused.iter().all(|refusal| !refusal.why.is_empty()));
        return 1;
    }
    plan.edits.iter().for_each(|edit| file(machine, edit));
    if let Some(trial) = &plan.trial {
        trial.edits.iter().for_each(|edit| file(machine, edit));
        assert!(trial.words.contains(&trial_word(asked)), "a trial that cannot be recognised: {trial:?}");
    }
    if !plan.edits.is_empty() && plan.commands.is_empty() {
        twice(machine, asked, plan);
    }
    steps.len() as u64
}

/// Checks that an edited file belongs to the boot loader or to the program that generates its files, has an acceptable
/// size, and is not an existing file that cannot be read.
fn file(machine: &Recorded, edit: &Edit) {
    let path = edit.path.to_string_lossy();
    let read = machine.read(&path);
    assert!(matches!(read, Read::Known(_) | Read::Absent), "{path} is {read:?}, but is planned anyway");
    let is_there = ["/boot/", "/etc/", "/efi/", "/extlinux/"].iter().any(|folder| path.starts_with(folder));
    assert!(is_there && !path.split('/').any(|part| part == ".."), "{path}");
    assert!(edit.new.as_ref().is_none_or(|new| new.len() < 1 << 20), "{path}");
}

/// Checks that after applying the plan the machine has the change, and making the change again has no effect.
fn twice(machine: &Recorded, asked: &Change, plan: &Plan) {
    let mut after = machine.clone();
    for edit in &plan.edits {
        let read = edit.new.clone().map_or(Read::Absent, Read::Known);
        after.set(&edit.path.to_string_lossy(), read);
    }
    let Ok(chain) = detect(&after) else { panic!("the chain is no longer detected") };
    let (again, kind) = (change(&after, &chain, asked), chain.kind);
    // Texts outside the message do not distinguish findings.
    assert!(again.edits.is_empty(), "{kind:?}: applying it twice has an effect");
    // Until the reboot, Armbian's script may be the source of a word that the running kernel has.
    assert!(again.refused.is_empty() || kind == Kind::Armbian, "{kind:?}: applied, then refused");
    let is_so = current(&after, &chain).is_ok_and(|now| sorted(&now.configured) == sorted(&plan.after));
    assert!(is_so, "{kind:?}: the configuration differs from the plan");
}

fn sorted(words: &[String]) -> Vec<&str> {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.sort_unstable();
    words
}
