mod condition;

use crate::Rules;
use crate::rule::{Action, Rule};

impl Rules {
    pub fn explain(&self, id: &str) -> Option<String> {
        let rule = self.get(id)?;
        let mut out = format!("### {} ({})\n\n{}\n\n", rule.title, rule.id, rule.why.trim());
        let severities: Vec<String> = crate::Profile::ALL
            .iter()
            .map(|(profile, name)| (self.severity(rule, *profile), name))
            .filter(|(severity, _)| *severity != rule.severity)
            .map(|(severity, name)| format!("{name} {}", format!("{severity:?}").to_lowercase()))
            .collect();
        let severity = format!("{:?}", rule.severity).to_lowercase();
        let others = if severities.is_empty() { String::new() } else { format!(" ({})", severities.join(", ")) };
        out.push_str(&format!("- group: {}\n- severity: {severity}{others}\n", rule.group.title()));
        self.add_conditions(rule, &mut out);
        self.add_outcomes(rule, &mut out);
        let of = |keys: &[String]| {
            let texts = keys.iter().filter_map(|key| self.source(key).map(|text| format!("{key}: {text}")));
            texts.collect::<Vec<_>>().join("; ")
        };
        out.push_str(&format!("- sources: {}\n", of(&rule.sources)));
        for opinion in &rule.opinions {
            let followers: Vec<String> = opinion.followed_by.iter().map(ToString::to_string).collect();
            let followers =
                if followers.is_empty() { String::new() } else { format!("; followed by {}", followers.join(", ")) };
            out.push_str(&format!("- opinion: {} ({}{followers})\n", opinion.says, of(&opinion.sources)));
        }
        add_fix(rule, &mut out);
        Some(out)
    }

    fn add_conditions(&self, rule: &Rule, out: &mut String) {
        let mut paths = self.paths(rule);
        paths.sort_unstable();
        paths.dedup();
        out.push_str(&format!("- reads: {}\n", paths.iter().map(|p| format!("`{p}`")).collect::<Vec<_>>().join(", ")));
        for (name, read) in rule.reads.iter() {
            out.push_str(&format!("  - {name}: {}\n", condition::source(&read.source)));
        }
        let shared = rule.only_if.iter().filter_map(|name| self.commons.get(name)).map(|common| &common.otherwise);
        let own = rule.applies.iter().map(|gate| &gate.otherwise);
        let needs = rule.needs.iter().map(|need| need.missing().to_owned());
        let skips: Vec<String> = needs.chain(shared.chain(own).cloned()).collect();
        if !skips.is_empty() {
            out.push_str(&format!("- skipped: {}\n", skips.join("; ")));
        }
    }

    fn add_outcomes(&self, rule: &Rule, out: &mut String) {
        for case in &rule.cases {
            let profiles: Vec<String> = case.profiles.iter().map(ToString::to_string).collect();
            let only = if profiles.is_empty() { String::new() } else { format!(" (for {})", profiles.join(", ")) };
            let state = format!("{:?}", case.state).to_uppercase();
            let when = match case.when.is_empty() {
                true => "otherwise".to_owned(),
                false => format!("if {}", condition::text(&case.when)),
            };
            out.push_str(&format!("- {state}{only} {when}: {}\n", case.say));
            if let Some(line) = case.fix.as_ref().and_then(crate::Fix::line) {
                out.push_str(&format!("  - fix: {line}\n"));
            }
        }
    }
}

fn add_fix(rule: &Rule, out: &mut String) {
    let lines = |actions: &[Action]| actions.iter().map(Action::line).collect::<Vec<_>>().join("; ");
    let fix = &rule.fix;
    let parts = [
        ("no fix", fix.none.clone()),
        ("fix now", (!fix.now.is_empty()).then(|| lines(&fix.now))),
        ("permanent fix", (!fix.persist.is_empty()).then(|| lines(&fix.persist))),
        ("undo", fix.undo.clone()),
        ("risk", fix.risk.clone()),
        ("disruptive", fix.disruptive.then(|| "it disturbs running programs".to_owned())),
    ];
    for (name, text) in parts {
        if let Some(text) = text {
            out.push_str(&format!("- {name}: {text}\n"));
        }
    }
}
