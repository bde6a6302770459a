//! Tries parameters, most of which break the boot, in one boot each, and tests that the boot after it is the old one.

use super::{Bench, expect};
use punctual_vm::{DiskBoot, Ending};
use std::time::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comes {
    /// The trial boots: its step finds the parameter, and the next boot does not have it.
    Up,
    /// The trial fails, and the machine returns to the old boot automatically.
    Back,
}

/// The parameters, the expected outcome, and the reason.
const TRIALS: [(&str, Comes, &str); 7] = [
    ("skew_tick=1 panic=10", Comes::Up, "harmless"),
    ("init=/nonexistent panic=5", Comes::Up, "Debian's initramfs uses /sbin/init instead"),
    ("init=/bin/false panic=5", Comes::Back, "the first process ends"),
    ("rdinit=/nonexistent panic=5", Comes::Back, "no initramfs: the kernel finds no root"),
    ("root=/dev/none panic=5", Comes::Back, "the initramfs finds no root"),
    ("module_blacklist=virtio_blk panic=5", Comes::Back, "the initramfs finds no disk"),
    ("mem=48M panic=5", Comes::Back, "too little memory"),
];

pub fn run(bench: &Bench) -> Result<String, String> {
    let mut said = Vec::new();
    let mut wrong = Vec::new();
    for (number, (words, comes, why)) in (1..).zip(TRIALS) {
        let begun = Instant::now();
        let (truth, detail) = one(bench, &format!("trial-{number}"), words)?;
        let seconds = begun.elapsed().as_secs_f64();
        let line = format!("\n        {words}: {truth} ({why}{detail}), {seconds:.0} s");
        let right =
            matches!((comes, truth), (Comes::Up, "up, then the old one") | (Comes::Back, "returned automatically"));
        if !right {
            wrong.push(words);
        }
        said.push(line);
    }
    match wrong.is_empty() {
        true => Ok(said.concat()),
        false => Err(format!("not as expected: {}{}", wrong.join("; "), said.concat())),
    }
}

/// Arms the trial. The next step runs in the boot that follows: in the trial if it succeeds, otherwise in the old boot.
fn one(bench: &Bench, name: &str, words: &str) -> Result<(&'static str, String), String> {
    let guest = bench.guest(name)?;
    let word = words.split(' ').next().unwrap_or_default();
    let after = bench
        .step(&format!("grep -qw '{word}' /proc/cmdline && exit 0; grub-editenv $env list; undo; same && mark same"));
    let steps = [bench.step(&format!("list > /root/before; trial '{words}'")), after.clone(), after];
    let run = guest.run(&steps, None).map_err(|e| e.to_string())?;
    bench.keep(name, &run);
    let mut boots = run.boots;
    let mut hung = "";
    if run.ending == Ending::Hung {
        // A power cycle.
        hung = ", by power cycle";
        let again = guest.run(&steps[1..2], None).map_err(|e| e.to_string())?;
        bench.keep(&format!("{name}-again"), &again);
        boots.extend(again.boots);
    }
    let trial = boots.get(1).ok_or_else(|| format!("{words}: only one boot"))?;
    let next = boots.get(2).ok_or_else(|| format!("{words}: no boot after the trial"))?;
    let old = boots.first().and_then(|boot| boot.command_line.clone());
    expect(next.command_line == old, format!("{words}: {:?} after the trial", next.command_line))?;
    let same = |boot: &DiskBoot| boot.marks.iter().any(|mark| mark == "same");
    expect(boots.iter().any(same), format!("{words}: /etc and /boot are not as before"))?;
    let panic = trial.panic.as_ref().map_or(String::new(), |line| format!("; {}", cut(line)));
    let truth = match (trial.has(word), trial.command_line.is_some(), hung) {
        (true, ..) => "up, then the old one",
        (false, true, _) => return Err(format!("{words}: the boot after arming was an ordinary one")),
        (false, false, "") => "returned automatically",
        _ => "hung, back after a reset",
    };
    Ok((truth, panic))
}

fn cut(line: &str) -> String {
    let text = line.split_once("Kernel panic - not syncing: ").map_or(line, |(_, text)| text);
    text.chars().take(60).collect()
}
