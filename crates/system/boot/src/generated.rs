//! Configurations that the shell of a generator sources, including punctual's drop-in.

use crate::dropin::{DropIn, Spec};
use crate::plan::{Plan, Refusal, Stop};
use crate::read::{BootError, text, unclear};
use crate::shell::Shell;
use crate::words::{is_same, means, rewrite, words};
use crate::{Change, length};
use punctual_machine::Machine;
use punctual_model::Edit;

pub(crate) struct Generated<'s> {
    spec: &'s Spec,
    wanted: &'s [&'s str],
    /// Path and content of each file, in the order in which they are sourced, without punctual's drop-in.
    files: Vec<(String, String)>,
    before: usize,
    pub own: Option<DropIn>,
}

impl<'s> Generated<'s> {
    pub fn read(
        view: &dyn Machine,
        spec: &'s Spec,
        wanted: &'s [&'s str],
        files: Vec<(String, String)>,
        before: usize,
    ) -> Result<Generated<'s>, BootError> {
        let own = match text(view, spec.path)? {
            Some(text) => Some(
                DropIn::parse(&text, spec)
                    .ok_or_else(|| unclear(spec.path, "was edited manually: delete it or change it yourself"))?,
            ),
            None => None,
        };
        Ok(Generated { spec, wanted, files, before, own })
    }

    /// Evaluates the files with `own` as punctual's drop-in.
    pub fn shell(&self, own: Option<&DropIn>) -> Result<Shell<'s>, BootError> {
        let mut shell = Shell::new(self.wanted);
        for (n, (path, text)) in self.files.iter().enumerate() {
            if n == self.before {
                self.apply(&mut shell, own);
            }
            shell.source(path, text)?;
        }
        if self.before == self.files.len() {
            self.apply(&mut shell, own);
        }
        Ok(shell)
    }

    fn apply(&self, shell: &mut Shell, own: Option<&DropIn>) {
        let (Some(own), Some((last, others))) = (own, self.spec.variables.split_last()) else { return };
        for name in others {
            let value = own.filtered(shell.value(name));
            shell.set(name, value);
        }
        let value = own.extended(shell.value(last), self.spec);
        shell.set(last, value);
    }

    pub fn line(&self, shell: &Shell) -> String {
        let mut values: Vec<String> = self.spec.variables.iter().map(|name| shell.value(name).to_owned()).collect();
        if let Some(last) = values.last_mut().filter(|value| value.is_empty()) {
            self.spec.default.clone_into(last);
        }
        values.retain(|value| !value.trim().is_empty());
        values.join(" ")
    }

    pub fn words(&self, shell: &Shell) -> Vec<String> {
        words(&self.line(shell))
    }

    pub fn sources(&self) -> Vec<String> {
        let own = self.own.iter().map(|_| self.spec.path.to_owned());
        self.files.iter().map(|(path, _)| path.clone()).chain(own).collect()
    }

    /// Plans a change. The plan is empty if nothing changes.
    pub fn change(&self, view: &dyn Machine, change: &Change) -> Result<Plan, Stop> {
        let old = self.own.clone().unwrap_or_default();
        let (base, now) = (self.shell(None)?, self.shell(self.own.as_ref())?);
        let line = self.line(&now);
        let target = words(&rewrite(&line, change)?);
        let before = words(&line);
        let mut plan = Plan::words(before, target.clone());
        if is_same_set(&plan.before, &target) {
            plan.after.clone_from(&plan.before);
            plan.back = Change::default();
            return Ok(plan);
        }
        let new = old.changed(&self.words(&base), &target, change);
        if let Some(refusal) = self.hindrance(&base, &new) {
            return Err(refusal.into());
        }
        let reached = self.words(&self.shell(Some(&new).filter(|new| !new.is_empty()))?);
        if !is_same_set(&reached, &target) {
            return Err(self.unreached(&reached, &target, change).into());
        }
        plan.notes.extend(length::check(view, &plan.before, &reached)?);
        plan.after = reached;
        plan.edits.push(match new.is_empty() {
            true => Edit::remove(self.spec.path),
            false => Edit::write(self.spec.path, new.text(self.spec)),
        });
        Ok(plan)
    }

    fn hindrance(&self, base: &Shell, new: &DropIn) -> Option<Refusal> {
        for name in self.spec.variables {
            let place = base.place(name).unwrap_or("the configuration");
            let value = base.value(name);
            let all: Vec<&str> = crate::words::ranges(value).into_iter().filter_map(|range| value.get(range)).collect();
            if all.contains(&"--") {
                let hand =
                    format!("{place}: {name} has `--`, and words after it go to init: put the parameters before it");
                return Some(Refusal::by_hand("the command line contains `--`", hand));
            }
            let is_open = !value.matches('"').count().is_multiple_of(2);
            let has_blank = all.iter().any(|word| word.contains(char::is_whitespace));
            if is_open || (has_blank && !new.remove.is_empty()) {
                return Some(Refusal::by_hand(
                    "a value has blanks in quotes",
                    format!("{place}: change {name} manually"),
                ));
            }
        }
        None
    }

    fn unreached(&self, reached: &[String], target: &[String], change: &Change) -> Refusal {
        let lost = target.iter().find(|word| !reached.iter().any(|r| is_same(r, word)));
        let kept = reached.iter().find(|word| !target.iter().any(|t| is_same(t, word)));
        let word = lost.or(kept).cloned().unwrap_or_default();
        let lines =
            self.files.iter().flat_map(|(path, text)| text.lines().enumerate().map(move |(n, line)| (path, n, line)));
        let names_it = |line: &str| {
            let is_ours = self.spec.variables.iter().any(|name| line.trim_start().starts_with(&format!("{name}=")));
            let patterns = change.remove.iter().chain(&change.add).chain(std::iter::once(&word));
            is_ours
                && (lost.is_some()
                    || words(&line.replace(['"', '\''], " "))
                        .iter()
                        .any(|w| patterns.clone().any(|p| means(p, w) || p == w)))
        };
        let culprit = lines.filter(|(_, _, line)| names_it(line)).last();
        let why = match lost {
            Some(word) => {
                format!("`{word}` would be lost: a file sourced after {} sets the variable again", self.spec.path)
            }
            None => format!("`{word}` would stay"),
        };
        match culprit {
            Some((path, n, line)) => Refusal::by_hand(why, format!("{path}, line {}: `{}`", n + 1, line.trim())),
            None => Refusal::new(why),
        }
    }
}

fn is_same_set(one: &[String], other: &[String]) -> bool {
    let count = |list: &[String], word: &String| list.iter().filter(|w| is_same(w, word)).count();
    one.len() == other.len() && one.iter().all(|word| count(one, word) == count(other, word))
}
