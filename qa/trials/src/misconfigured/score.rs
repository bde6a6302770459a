//! Compares the rules whose state changed with those whose state should change.

use super::Wanted;
use super::table::{Flips, Injection, Table, state};
use punctual_model::State;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

type Audit = BTreeMap<String, (State, String)>;

/// Rules whose state also depends on how busy the host is: through messages of the kernel (`hrtimer: interrupt took
/// …`), and through the guest's load, which includes tasks that wait for its slow CPUs. Each of these rules counts only
/// for injections that are about it.
const OF_HOST: [&str; 2] = ["housekeeping-enough", "sched-latency-warn"];

pub struct Score {
    pub kernel: String,
    pub injection: String,
    pub flipped: Flips,
    expected: Flips,
    /// Summaries of the rules that changed unexpectedly.
    says: BTreeMap<String, String>,
    /// Rules whose state after undoing differs from the state before the injection.
    left: Flips,
    /// Values that the injection's fix did not restore, or that the undo of the fix did not change back.
    unfixed: Vec<String>,
    /// Rules that differ between two audits of the unchanged setup.
    flickering: Vec<String>,
    /// Why the recording is missing or incomplete; `None` if it is complete.
    missing: Option<String>,
}

impl Score {
    pub fn is_right(&self) -> bool {
        self.missing.is_none()
            && self.flipped == self.expected
            && self.left.is_empty()
            && self.unfixed.is_empty()
            && self.flickering.is_empty()
    }
}

impl Score {
    /// Reads the recordings of the boot `home` of the setup and, if the injection has a boot of its own, also those of
    /// that boot.
    fn compare(&mut self, folder: &Path, home: &str, injection: &Injection, stayed: &[String]) -> Result<(), String> {
        let expected = self.expected.clone();
        let counts = |rule: &String| expected.contains_key(rule) || !OF_HOST.contains(&rule.as_str());
        let differing = |before: &Audit, after: &Audit| -> Flips {
            differing(before, after).into_iter().filter(|(rule, _)| counts(rule)).collect()
        };
        let read = |boot: &str, name: &str, when: &str| audit(&folder.join(boot).join(format!("{name}.{when}.audit")));
        let own = if injection.boot.is_empty() { home } else { &injection.name };
        let (first, before) = (read(home, "ground", "first")?, read(home, "ground", "second")?);
        let injected = read(own, &injection.name, "injected")?;
        self.flickering = differing(&first, &before).into_keys().collect();
        let is_news = |rule: &String| !stayed.contains(rule);
        self.flipped = differing(&before, &injected).into_iter().filter(|(rule, _)| is_news(rule)).collect();
        let says = |rule: &String| injected.get(rule).map(|(_, says)| (rule.clone(), says.clone()));
        self.says = self.flipped.keys().filter_map(says).collect();
        if injection.boot.is_empty() {
            let left = differing(&before, &read(own, &injection.name, "undone")?);
            let may_stay = |rule: &String| stayed.contains(rule) || injection.stays.contains(rule);
            self.left = left.into_iter().filter(|(rule, _)| !may_stay(rule)).collect();
        }
        if !injection.fixes.is_empty() {
            let (fixed, unfixed) = (read(own, &injection.name, "fixed")?, read(own, &injection.name, "unfixed")?);
            let mut open = self.expected.clone();
            open.retain(|rule, _| !injection.fixes.contains(rule));
            let mut wrong = |what: &str, flips: Flips| {
                let texts = flips.into_iter().map(|(rule, (from, to))| format!("{what} {rule} {from:?} {to:?}"));
                self.unfixed.extend(texts);
            };
            let after_fix = differing(&before, &fixed).into_iter().filter(|(rule, to)| open.get(rule) != Some(to));
            wrong("fixed:", after_fix.filter(|(rule, _)| is_news(rule)).collect());
            wrong("fix undone:", differing(&injected, &unfixed));
            let values = |when: &str| {
                let path = folder.join(own).join(format!("{}.{when}.values", injection.name));
                fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
            };
            if values("injected")? != values("unfixed")? {
                self.unfixed.push(format!("after undoing the fix, {} is not byte-for-byte as before", injection.files));
            }
        }
        Ok(())
    }
}

pub fn all(table: &Table, kernels: &[&str], wanted: &Wanted) -> Result<Vec<Score>, String> {
    let mut scores = Vec::new();
    for kernel in kernels {
        for injection in table.injections.iter().filter(|injection| wanted.has(injection, kernel)) {
            scores.push(one(table, kernel, injection, &wanted.score.as_ref().unwrap_or(&wanted.out).join(kernel))?);
        }
    }
    Ok(scores)
}

fn one(table: &Table, kernel: &str, injection: &Injection, folder: &Path) -> Result<Score, String> {
    let ground = table.ground(injection)?;
    let parts = table.parts(ground);
    let part = parts.iter().find(|(_, injections)| injections.iter().any(|other| other.name == injection.name));
    let before =
        part.into_iter().flat_map(|(_, injections)| injections).take_while(|other| other.name != injection.name);
    // Permanent changes by earlier injections of this boot do not count.
    let stayed: Vec<String> =
        before.filter(|other| other.is_for(kernel)).flat_map(|other| other.stays.iter().cloned()).collect();
    let home = part.or(parts.first()).map(|(name, _)| name.clone()).unwrap_or_default();
    let expected = injection.flips_on(kernel)?;
    let mut score = Score {
        kernel: kernel.to_owned(),
        injection: injection.name.clone(),
        flipped: Flips::new(),
        expected,
        says: BTreeMap::new(),
        left: Flips::new(),
        unfixed: Vec::new(),
        flickering: Vec::new(),
        missing: None,
    };
    if let Err(why) = score.compare(folder, &home, injection, &stayed) {
        score.missing = Some(why);
    }
    Ok(score)
}

fn differing(before: &Audit, after: &Audit) -> Flips {
    let pair = |(rule, (old, _)): (&String, &(State, String))| {
        let (new, _) = after.get(rule)?;
        (old != new).then(|| (rule.clone(), (*old, *new)))
    };
    before.iter().filter_map(pair).collect()
}

/// Parses lines `"id": "…",`, `"state": …`, `"summary": …` in this order.
fn audit(path: &Path) -> Result<Audit, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut audit = Audit::new();
    let (mut id, mut found) = (String::new(), None);
    for line in text.lines() {
        let Some((key, value)) = line.trim().trim_end_matches(',').split_once(": ") else { continue };
        let value: String = serde_json::from_str(value).map_err(|e| format!("{}: {e}", path.display()))?;
        match (key, found) {
            ("\"id\"", _) => id = value,
            ("\"state\"", _) => found = Some(state(&value)?),
            (_, Some(known)) => {
                audit.insert(std::mem::take(&mut id), (known, value));
                found = None;
            }
            _ => {}
        }
    }
    match audit.len() {
        200.. => Ok(audit),
        few => Err(format!("{}: only {few} rules", path.display())),
    }
}

pub fn text(scores: &[Score]) -> String {
    let mut out = String::new();
    for score in scores.iter().filter(|score| !score.is_right()) {
        let _ = writeln!(out, "{} {}", score.kernel, score.injection);
        if let Some(why) = &score.missing {
            let _ = writeln!(out, "  {why}");
            continue;
        }
        for (rule, (from, to)) in score.flipped.iter().filter(|(rule, to)| score.expected.get(*rule) != Some(to)) {
            let says = score.says.get(rule).map_or("", String::as_str);
            let _ = writeln!(out, "  flipped  {rule} {from:?} {to:?}: {says}");
        }
        for (rule, (from, to)) in score.expected.iter().filter(|(rule, to)| score.flipped.get(*rule) != Some(to)) {
            let _ = writeln!(out, "  expected {rule} {from:?} {to:?}");
        }
        for (rule, (from, to)) in &score.left {
            let _ = writeln!(out, "  not undone {rule} {from:?} {to:?}");
        }
        for what in &score.unfixed {
            let _ = writeln!(out, "  {what}");
        }
        if !score.flickering.is_empty() {
            let _ = writeln!(out, "  flickering without an injection: {}", score.flickering.join(", "));
        }
    }
    let right = scores.iter().filter(|score| score.is_right()).count();
    let _ = writeln!(out, "{right} of {} injections flip exactly their rules", scores.len());
    out
}

/// Returns the tables of docs/misconfigured.md: the setups, then one line per injection with one column per kernel.
pub fn markdown(table: &Table, kernels: &[&str], scores: &[Score]) -> String {
    let mut out = String::new();
    for ground in &table.grounds {
        let options = if ground.audit.is_empty() { String::new() } else { format!(" (`{}`)", ground.audit) };
        let _ = writeln!(out, "- *{}*: {}{options}", ground.name, ground.about);
    }
    let rules = "---|".repeat(kernels.len());
    let _ = writeln!(out, "\n| injection | on | flips | {} |\n|---|---|---|{rules}", kernels.join(" | "));
    for injection in &table.injections {
        let of = |kernel: &&str| scores.iter().find(|s| s.injection == injection.name && s.kernel == **kernel);
        let found: Vec<Option<&Score>> = kernels.iter().map(of).collect();
        let cell = |score: &Option<&Score>| match score {
            None => "–",
            Some(score) if score.is_right() => "right",
            Some(score) if score.missing.is_some() => "not run",
            Some(_) => "**wrong**",
        };
        let cells: Vec<&str> = found.iter().map(cell).collect();
        let why = if injection.why.is_empty() { String::new() } else { format!(": {}", injection.why) };
        let flips = flips(&found);
        let _ = writeln!(out, "| {} | {} | {flips}{why} | {} |", injection.name, injection.ground, cells.join(" | "));
    }
    out
}

/// Returns the expected changes of an injection, `mem-swap PASS→WARN`, joined by `or` if kernels differ.
fn flips(found: &[Option<&Score>]) -> String {
    let mut flips: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (rule, (from, to)) in found.iter().flatten().flat_map(|score| &score.expected) {
        let text = format!("{from:?}→{to:?}").to_uppercase();
        let seen = flips.entry(rule).or_default();
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    let texts: Vec<String> = flips.iter().map(|(rule, how)| format!("{rule} {}", how.join(" or "))).collect();
    texts.join(", ")
}
