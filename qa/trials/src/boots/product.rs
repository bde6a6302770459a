//! Tests the program's own trial boot: one that is kept, one that is not, and two that break. The boot after a trial
//! must be the old one, and the files prepared for the trial must be removed completely.

use super::{Bench, boot_of, expect};
use punctual_vm::DiskBoot;
use std::time::Instant;

/// Shell commands for the old boot: the program must report that the trial is over, change nothing, and remove its
/// files.
const BACK: &str = "grep -q punctual.trial /proc/cmdline && exit 10
    said=$(punctual audit --fix \"$rule\" --persist 2>&1)
    [ $? = 4 ] || exit 11
    echo \"$said\"
    echo \"$said\" | grep -q 'failed and the machine fell back' || exit 12
    grep -q . /var/lib/punctual/trial || exit 13";

/// One trial: what is done in each boot after the trial was armed, and whether the trial boot breaks.
struct Case {
    name: &'static str,
    /// Shell commands that run after the trial has been armed, in the same boot.
    then: &'static str,
    boots: &'static [&'static str],
    /// True if the trial boot ends in a panic before any step runs.
    breaks: bool,
}

const CASES: [Case; 4] = [
    Case {
        name: "kept",
        then: "true",
        boots: &[
            "grep -q punctual.trial /proc/cmdline || exit 10
             punctual audit --fix \"$rule\" --persist
             [ -f $own ] && [ ! -e /boot/grub/custom.cfg ] && [ ! -e /var/lib/punctual/trial ]",
            "grep -q punctual.trial /proc/cmdline && exit 10; grep -qw \"$word\" /proc/cmdline && undo && same",
            "grep -qw \"$word\" /proc/cmdline && exit 10; same",
        ],
        breaks: false,
    },
    Case {
        name: "not kept",
        then: "true",
        boots: &["grep -q punctual.trial /proc/cmdline && grep -qw \"$word\" /proc/cmdline", "$back; undo && same"],
        breaks: false,
    },
    Case {
        name: "the first process fails on the parameter",
        then: "sed -i \"/^mount -o remount,rw/i case \\$(cat /proc/cmdline) in *$word*) exit 1;; esac\" /usr/sbin/init; sync",
        boots: &["$back; undo && same"],
        breaks: true,
    },
    Case {
        name: "init=/bin/false appended to the armed entry",
        then: "cp -p /boot/grub/custom.cfg /root/custom.cfg
            sed -i 's|^\\([[:space:]]*linux[[:space:]].*\\)|\\1 init=/bin/false|' /boot/grub/custom.cfg; sync",
        // Another program has changed the file, so it stays until the words are removed.
        boots: &["$back; undo; [ $? = 1 ] || exit 14; cp -p /root/custom.cfg /boot/grub/custom.cfg; undo && same"],
        breaks: true,
    },
];

pub fn run(bench: &Bench) -> Result<String, String> {
    let mut said = Vec::new();
    for (number, case) in (1..).zip(&CASES) {
        let begun = Instant::now();
        let figures =
            one(bench, &format!("product-trial-{number}"), case).map_err(|why| format!("{}: {why}", case.name))?;
        said.push(format!("\n        {}: {figures}, {:.0} s", case.name, begun.elapsed().as_secs_f64()));
    }
    Ok(said.concat())
}

fn one(bench: &Bench, name: &str, case: &Case) -> Result<String, String> {
    let guest = bench.guest(name)?;
    let (rule, word) = (bench.rule.as_deref().unwrap_or_default(), &bench.word);
    let script = |text: &str| {
        let text = text.replace("$back", BACK);
        bench.step(&format!("rule='{rule}'\nword='{word}'\n{text}"))
    };
    let arm = format!("list > /root/before; punctual audit --fix \"$rule\" --persist --trial && {{ {}\n}}", case.then);
    let steps: Vec<_> = std::iter::once(arm.as_str()).chain(case.boots.iter().copied()).map(script).collect();
    let boots = bench.whole(name, &guest, &steps)?;
    let trial = boots.get(1).ok_or("there was only one boot")?;
    let old = |boot: &DiskBoot| boot.command_line.clone();
    let (first, last) = (boot_of(&boots, 1)?, boot_of(&boots, steps.len())?);
    expect(old(first).is_some() && old(first) == old(last), format!("{:?} at last", last.command_line))?;
    let panic = trial.panic.as_ref().map(|line| line.rsplit("not syncing: ").next().unwrap_or(line));
    match (case.breaks, panic) {
        (true, Some(panic)) if trial.step.is_none() => {
            Ok(format!("{panic}; returned automatically, undone to the byte"))
        }
        (false, None) if trial.has(word) => Ok(format!("up, {} boots, undone to the byte", boots.len())),
        _ => Err(format!("the trial: {:?}, step {:?}, {panic:?}", trial.command_line, trial.step)),
    }
}
