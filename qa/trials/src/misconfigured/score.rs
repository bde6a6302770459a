//! Compares what changed with what was to change.

use super::Wanted;
use super::table::{Flips, Plant, Table, state};
use punctual_model::State;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

type Audit = BTreeMap<String, (State, String)>;

/// The kernel complains of a busy host, too (`hrtimer: interrupt took …`): it counts only for plants about it.
const OF_HOST: &str = "sched-latency-warn";

pub struct Score {
    pub kernel: String,
    pub plant: String,
    pub flipped: Flips,
    expected: Flips,
    /// Sentences of unexpected changes.
    says: BTreeMap<String, String>,
    /// Rules that were not as before after undoing.
    left: Flips,
    /// What the plant's fix did not restore, or its undoing changed.
    unmended: Vec<String>,
    /// Rules that differ between two audits of the ground itself.
    flickering: Vec<String>,
    /// Nothing was recorded, or not all.
    missing: Option<String>,
}

impl Score {
    pub fn is_right(&self) -> bool {
        self.missing.is_none()
            && self.flipped == self.expected
            && self.left.is_empty()
            && self.unmended.is_empty()
            && self.flickering.is_empty()
    }
}

impl Score {
    /// Reads the recordings of the boot `home` of the ground and, if the plant has one, of its own.
    fn compare(&mut self, folder: &Path, home: &str, plant: &Plant, stayed: &[String]) -> Result<(), String> {
        let counts_host = self.expected.contains_key(OF_HOST);
        let differing = |before: &Audit, after: &Audit| -> Flips {
            differing(before, after).into_iter().filter(|(rule, _)| counts_host || rule != OF_HOST).collect()
        };
        let read = |boot: &str, name: &str, when: &str| audit(&folder.join(boot).join(format!("{name}.{when}.audit")));
        let own = if plant.boot.is_empty() { home } else { &plant.name };
        let (first, before) = (read(home, "ground", "first")?, read(home, "ground", "second")?);
        let planted = read(own, &plant.name, "planted")?;
        self.flickering = differing(&first, &before).into_keys().collect();
        let is_news = |rule: &String| !stayed.contains(rule);
        self.flipped = differing(&before, &planted).into_iter().filter(|(rule, _)| is_news(rule)).collect();
        let says = |rule: &String| planted.get(rule).map(|(_, says)| (rule.clone(), says.clone()));
        self.says = self.flipped.keys().filter_map(says).collect();
        if plant.boot.is_empty() {
            let left = differing(&before, &read(own, &plant.name, "undone")?);
            let may_stay = |rule: &String| stayed.contains(rule) || plant.stays.contains(rule);
            self.left = left.into_iter().filter(|(rule, _)| !may_stay(rule)).collect();
        }
        if !plant.mends.is_empty() {
            let (fixed, unfixed) = (read(own, &plant.name, "fixed")?, read(own, &plant.name, "unfixed")?);
            let mut open = self.expected.clone();
            open.retain(|rule, _| !plant.mends.contains(rule));
            let mut wrong = |what: &str, flips: Flips| {
                let texts = flips.into_iter().map(|(rule, (from, to))| format!("{what} {rule} {from:?} {to:?}"));
                self.unmended.extend(texts);
            };
            let after_fix = differing(&before, &fixed).into_iter().filter(|(rule, to)| open.get(rule) != Some(to));
            wrong("fixed:", after_fix.filter(|(rule, _)| is_news(rule)).collect());
            wrong("fix undone:", differing(&planted, &unfixed));
            let values = |when: &str| {
                let path = folder.join(own).join(format!("{}.{when}.values", plant.name));
                fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))
            };
            if values("planted")? != values("unfixed")? {
                self.unmended.push(format!("fix undone: {} not as before, byte for byte", plant.files));
            }
        }
        Ok(())
    }
}

pub fn all(table: &Table, kernels: &[&str], wanted: &Wanted) -> Result<Vec<Score>, String> {
    let mut scores = Vec::new();
    for kernel in kernels {
        for plant in table.plants.iter().filter(|plant| wanted.has(plant, kernel)) {
            scores.push(one(table, kernel, plant, &wanted.score.as_ref().unwrap_or(&wanted.out).join(kernel))?);
        }
    }
    Ok(scores)
}

fn one(table: &Table, kernel: &str, plant: &Plant, folder: &Path) -> Result<Score, String> {
    let ground = table.ground(plant)?;
    let parts = table.parts(ground);
    let of_plant = parts.iter().find(|(_, plants)| plants.iter().any(|other| other.name == plant.name));
    let before = of_plant.into_iter().flat_map(|(_, plants)| plants).take_while(|other| other.name != plant.name);
    // What an earlier plant of this boot changed permanently does not count.
    let stayed: Vec<String> =
        before.filter(|other| other.is_for(kernel)).flat_map(|other| other.stays.iter().cloned()).collect();
    let home = of_plant.or(parts.first()).map(|(name, _)| name.clone()).unwrap_or_default();
    let expected = plant.flips_on(kernel)?;
    let mut score = Score {
        kernel: kernel.to_owned(),
        plant: plant.name.clone(),
        flipped: Flips::new(),
        expected,
        says: BTreeMap::new(),
        left: Flips::new(),
        unmended: Vec::new(),
        flickering: Vec::new(),
        missing: None,
    };
    if let Err(why) = score.compare(folder, &home, plant, &stayed) {
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

/// Lines `"id": "…",`, `"state": …`, `"summary": …` in this order.
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
        let _ = writeln!(out, "{} {}", score.kernel, score.plant);
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
        for what in &score.unmended {
            let _ = writeln!(out, "  {what}");
        }
        if !score.flickering.is_empty() {
            let _ = writeln!(out, "  flickering without a plant: {}", score.flickering.join(", "));
        }
    }
    let right = scores.iter().filter(|score| score.is_right()).count();
    let _ = writeln!(out, "{right} of {} plants flip exactly their rules", scores.len());
    out
}

/// The tables of docs/misconfigured.md: the grounds, then a line per plant and a column per kernel.
pub fn markdown(table: &Table, kernels: &[&str], scores: &[Score]) -> String {
    let mut out = String::new();
    for ground in &table.grounds {
        let options = if ground.audit.is_empty() { String::new() } else { format!(" (`{}`)", ground.audit) };
        let _ = writeln!(out, "- *{}*: {}{options}", ground.name, ground.about);
    }
    let rules = "---|".repeat(kernels.len());
    let _ = writeln!(out, "\n| plant | on | flips | {} |\n|---|---|---|{rules}", kernels.join(" | "));
    for plant in &table.plants {
        let of = |kernel: &&str| scores.iter().find(|s| s.plant == plant.name && s.kernel == **kernel);
        let found: Vec<Option<&Score>> = kernels.iter().map(of).collect();
        let cell = |score: &Option<&Score>| match score {
            None => "–",
            Some(score) if score.is_right() => "right",
            Some(score) if score.missing.is_some() => "not run",
            Some(_) => "**wrong**",
        };
        let cells: Vec<&str> = found.iter().map(cell).collect();
        let why = if plant.why.is_empty() { String::new() } else { format!(": {}", plant.why) };
        let flips = flips(&found);
        let _ = writeln!(out, "| {} | {} | {flips}{why} | {} |", plant.name, plant.ground, cells.join(" | "));
    }
    out
}

/// What a plant was to flip: `mem-swap PASS→WARN`, with `or` where kernels differ.
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
