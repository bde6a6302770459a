//! Kills the program's fix, trial boot and undo with SIGKILL at random moments, on a copy of the guest's disk and with
//! its grub-mkconfig: a run takes seconds, so hundreds are possible. Also tests undo after another program has changed
//! the same files in the meantime.

use super::place::{Place, Tree, difference, length};
use super::{Bench, expect};
use crate::random::random;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

const PROGRAM: &str = "/tmp/punctual";
const JOURNAL: &str = "/var/lib/punctual/changes/journal";
const MENU: &str = "/boot/grub/grub.cfg";
const DEFAULTS: &str = "/etc/default/grub";
const OWN: &str = "/etc/default/grub.d/60-punctual.cfg";
const DRAFTS: [&str; 2] = ["boot/grub/grub.cfg.punctual", "boot/grub/grub.cfg.punctual.new"];
const UNDO: &[&str] = &[PROGRAM, "undo"];

/// The copy of the disk, its original state, and the rule that is fixed in it.
struct Tried<'a> {
    place: &'a Place,
    rule: &'a str,
    word: &'a str,
    before: Tree,
}

#[derive(Default)]
struct Met {
    /// Number of kills that hit a running process.
    within: u32,
    /// Number of kills that also killed the process's children.
    family: u32,
    /// Number of kills after which something below /etc or /boot was changed.
    changed: u32,
    /// Number of kills after which a draft of the menu was left, complete or not.
    draft: u32,
    over: u32,
}

pub fn run(bench: &Bench) -> Result<String, String> {
    let (Some(program), Some(rule)) = (&bench.program, &bench.rule) else {
        return Err("it needs --punctual FILE --rule ID --word PARAMETER".into());
    };
    let folder = bench.folder.join("chroot");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let place = Place::new(bench.image.path(), &folder, program)?;
    let before = place.tree()?;
    let tried = Tried { place: &place, rule, word: &bench.word, before };
    let [fix, undo] = tried.usual(&tried.fix(&[]))?;
    let [trial, _] = tried.usual(&tried.fix(&["--trial"]))?;
    for (name, longest) in [("fix", fix), ("trial", trial), ("undo", undo)] {
        let met = tried.kills(name, longest, bench.kills)?;
        // Printed immediately, because hundreds of them take a while.
        println!("        {name} ({:.2} s): {}", longest.as_secs_f64(), met.sentence());
    }
    println!("        every byte, mode, owner and time below /etc and /boot as before ({} paths)", tried.before.len());
    Ok(format!("\n        {}\n        {}", tried.edited()?, tried.updated()?))
}

impl Met {
    fn sentence(&self) -> String {
        format!(
            "{} kills within it ({} with its children), {} of them after a change, {} while a draft of the menu was there; \
             {} more after its end",
            self.within, self.family, self.changed, self.draft, self.over
        )
    }
}

impl Tried<'_> {
    fn fix(&self, more: &[&'static str]) -> Vec<&str> {
        let words = [PROGRAM, "audit", "--look-again", "0s", "--persist", "--fix", self.rule];
        words.iter().chain(more).copied().collect()
    }

    fn good(&self, words: &[&str]) -> Result<String, String> {
        let done = self.place.output(words)?;
        let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        expect(done.status.success(), format!("{words:?} ended with {}:\n{said}", done.status))?;
        Ok(said)
    }

    fn same(&self) -> Result<(), String> {
        let differs = difference(&self.before, &self.place.tree()?);
        expect(differs.is_empty(), format!("not as before:\n{}", differs.join("\n")))
    }

    /// Returns the usual duration of fix and of undo: the median of five.
    fn usual(&self, fix: &[&str]) -> Result<[Duration; 2], String> {
        let mut times = (0..5).map(|_| self.whole(fix)).collect::<Result<Vec<_>, String>>()?;
        let mut median = |which: usize| {
            times.sort_by_key(|time| time[which]);
            times[2][which]
        };
        Ok([median(0), median(1)])
    }

    /// Runs fix and undo without a kill. Returns how long each takes.
    fn whole(&self, fix: &[&str]) -> Result<[Duration; 2], String> {
        let begun = Instant::now();
        let said = self.good(fix)?;
        let fixed = begun.elapsed();
        expect(self.same().is_err(), format!("{fix:?} changed nothing:\n{said}"))?;
        let begun = Instant::now();
        self.good(UNDO)?;
        let undone = begun.elapsed();
        self.same()?;
        Ok([fixed, undone])
    }

    fn kills(&self, name: &str, longest: Duration, number: u32) -> Result<Met, String> {
        let mut met = Met::default();
        // Other work on the machine changes the duration, so some of the kills come too late.
        for i in 0..3 * number {
            if met.within == number {
                break;
            }
            let fix = self.fix(if name == "trial" { &["--trial"] } else { &[] });
            let words = if name == "undo" { UNDO } else { &fix };
            if name == "undo" {
                self.good(&fix)?;
            }
            let is_alone = i % 4 < 2;
            let after = self.kill(words, (longest, is_alone, i % 2 == 1), &mut met)?;
            let undone = self.good(UNDO).and_then(|_| self.same());
            undone.map_err(|why| format!("{name}, kill {i} after {after:?}, alone: {is_alone}: {why}"))?;
        }
        Ok(met)
    }

    /// Starts the program and kills it, alone or with its children. Half of the kills come after the first record in
    /// the journal.
    fn kill(
        &self,
        words: &[&str],
        (longest, is_alone, is_late): (Duration, bool, bool),
        met: &mut Met,
    ) -> Result<Duration, String> {
        let journal = self.place.at(JOURNAL);
        let first = length(&journal);
        let begun = Instant::now();
        let mut child = self.place.command(words).process_group(0).spawn().map_err(|e| format!("nsenter: {e}"))?;
        while is_late && length(&journal) == first && begun.elapsed() < longest {
            sleep(Duration::from_micros(200));
        }
        sleep(longest.saturating_sub(begun.elapsed()).mul_f64(1.05 * random()));
        let after = begun.elapsed();
        let is_over = child.try_wait().map_err(|e| e.to_string())?.is_some();
        end(&mut child, is_alone)?;
        if is_over {
            met.over += 1;
            return Ok(after);
        }
        let now = self.place.tree()?;
        met.within += 1;
        met.family += u32::from(!is_alone);
        met.changed += u32::from(now != self.before);
        met.draft += u32::from(DRAFTS.iter().any(|draft| now.contains_key(*draft)));
        Ok(after)
    }

    /// Tests that undo leaves a file which the user has edited after the fix, and reports that.
    fn edited(&self) -> Result<String, String> {
        self.good(&self.fix(&[]))?;
        let path = self.place.at(OWN);
        let ours = std::fs::read(&path).map_err(|e| format!("{OWN}: {e}"))?;
        let theirs = [ours.as_slice(), b"GRUB_TIMEOUT=3\n"].concat();
        std::fs::write(&path, &theirs).map_err(|e| format!("{OWN}: {e}"))?;
        let done = self.place.output(UNDO)?;
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let names_it = said.contains(&format!("{OWN}: was changed since by somebody else: left"));
        let shows_it = said.contains("+GRUB_TIMEOUT=3");
        expect(
            done.status.code() == Some(1) && names_it && shows_it,
            format!("undo ended with {}:\n{said}", done.status),
        )?;
        expect(std::fs::read(&path).is_ok_and(|now| now == theirs), "the edited file was changed")?;
        std::fs::write(&path, ours).map_err(|e| format!("{OWN}: {e}"))?;
        self.good(UNDO)?;
        self.same()?;
        Ok(format!(
            "{OWN} edited between fix and undo: left, reported, exit code 1; after the edit is removed, as before"
        ))
    }

    /// Tests that undo removes only this program's changes after the distribution's package has changed its own file
    /// and regenerated the menu, as its maintainer scripts do.
    fn updated(&self) -> Result<String, String> {
        self.good(&self.fix(&[]))?;
        let update = format!("sed -i 's/^GRUB_TIMEOUT=.*/GRUB_TIMEOUT=3/' {DEFAULTS} && update-grub");
        self.good(&["sh", "-c", &update])?;
        self.good(UNDO)?;
        let menu = std::fs::read_to_string(self.place.at(MENU)).map_err(|e| format!("{MENU}: {e}"))?;
        expect(!menu.contains(self.word), format!("{MENU} still has {}", self.word))?;
        expect(!self.place.at(OWN).exists(), format!("{OWN} is still there"))?;
        let script = format!(
            "grep -q '^GRUB_TIMEOUT=3' {DEFAULTS} && grep -q 'timeout=3' {MENU} && cp {MENU} /tmp/menu && update-grub && cmp {MENU} /tmp/menu"
        );
        self.good(&["sh", "-c", &script])?;
        let others = difference(&self.before, &self.place.tree()?);
        let is_theirs = |line: &&String| !line.starts_with(&DEFAULTS[1..]) && !line.starts_with(&MENU[1..]);
        let ours: Vec<&String> = others.iter().filter(is_theirs).collect();
        expect(ours.is_empty(), format!("besides theirs: {ours:?}"))?;
        Ok(format!(
            "{DEFAULTS} changed and the menu regenerated in between: both kept, {} removed, the menu equals that of update-grub",
            self.word
        ))
    }
}

fn end(child: &mut Child, is_alone: bool) -> Result<(), String> {
    let group = rustix::process::Pid::from_child(child);
    let _ = child.kill();
    if !is_alone {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    child.wait().map(drop).map_err(|e| e.to_string())
}
