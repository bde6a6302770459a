//! Selects the fixes of the audit that can be tried.

use crate::search::Candidate;
use punctual_audit::{Context, Rules};
use punctual_fix::{Request, RulePlan, System, UnknownRule, armed, look, removes_protection};
use punctual_machine::Machine;
use punctual_model::{Finding, State};

/// Rules whose fixes change the conditions of the measurement, so that blocks with and without them are not comparable,
/// each with the reason for the user.
const NEVER: &[(&str, &str)] = &[
    ("iso-present", "the measuring threads would have to move into the partition: apply it, then tune"),
    ("cpu-smt", "it removes measured CPUs: apply it, then tune"),
];

pub struct Wanted<'a> {
    pub rules: &'a Rules,
    /// The machine to audit.
    pub machine: &'a dyn Machine,
    /// The same machine, for changing it.
    pub sys: &'a dyn System,
    /// Profile and CPUs of the audit.
    pub context: &'a Context,
    /// Rules to try, even if their fix interrupts a service. If empty, all rules with FAIL or WARN are tried.
    pub ids: &'a [String],
    /// Also tries fixes that interrupt a service or take resources from other programs.
    pub disruptive: bool,
    /// Makes fixes that help persistent across reboots.
    pub persist: bool,
    /// Settings other than latency settings that a user-supplied profile may change. An empty name permits removing the
    /// last protection against runaway real-time threads even if no watchdog is armed.
    pub i_know: &'a [String],
}

/// A fix that can be tried.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub candidate: Candidate,
    pub on_trial: RulePlan,
    /// The fix to apply if it helps, including persistent files if they are requested.
    pub to_stay: RulePlan,
}

#[derive(Clone, Debug, Default)]
pub struct Chosen {
    pub prepared: Vec<Prepared>,
    /// Rules that are not tried, each with the reason.
    pub not_tried: Vec<(String, String)>,
}

impl Wanted<'_> {
    /// Selects the fixes to try from these findings. Also returns the rules that are not tried, each with the reason.
    ///
    /// # Errors
    /// A rule named by the user is not among the findings.
    pub fn choose(&self, findings: &[Finding]) -> Result<Chosen, UnknownRule> {
        let is_open = |finding: &&Finding| matches!(finding.state, State::Fail | State::Warn);
        let ids: Vec<String> = match (self.ids, self.disruptive) {
            ([], true) => findings.iter().filter(is_open).map(|finding| finding.id.clone()).collect(),
            (ids, _) => ids.to_vec(),
        };
        if ids.is_empty() && self.disruptive {
            // Without open findings the list of names would be empty, which would select all rules.
            return Ok(Chosen::default());
        }
        let on_trial = self.plan(&ids, false, findings)?;
        let to_stay = if self.persist { self.plan(&ids, true, findings)? } else { on_trial.clone() };
        let mut chosen = Chosen::default();
        for rule in on_trial {
            match self.why_not(&rule) {
                Some(why) => chosen.not_tried.push((rule.rule, why)),
                None => {
                    let stays = to_stay.iter().find(|other| other.rule == rule.rule).unwrap_or(&rule).clone();
                    let candidate = Candidate { rule: rule.rule.clone(), what: self.what(&rule) };
                    chosen.prepared.push(Prepared { candidate, on_trial: rule, to_stay: stays });
                }
            }
        }
        Ok(chosen)
    }

    fn plan(&self, ids: &[String], persist: bool, findings: &[Finding]) -> Result<Vec<RulePlan>, UnknownRule> {
        let Wanted { rules, machine, sys, context, i_know, .. } = *self;
        let request = Request { rules, machine, sys, context, pid: None, ids, persist, i_know, boot: None };
        Ok(request.plan(findings)?.rules)
    }

    fn why_not(&self, rule: &RulePlan) -> Option<String> {
        if let Some((_, why)) = NEVER.iter().find(|(name, _)| *name == rule.rule) {
            return Some((*why).to_owned());
        }
        if rule.steps.is_empty() {
            let why =
                rule.manual.join("; ").replace(&format!("--fix {}", rule.rule), "name the rule, or use --disruptive");
            return Some(if why.is_empty() { "it cannot be applied while the system runs".to_owned() } else { why });
        }
        let is_known = self.i_know.iter().any(String::is_empty);
        if !is_known && rule.steps.iter().any(removes_protection) && armed(self.sys).is_none() {
            let why = "removes the protection against a runaway real-time thread, and no hardware watchdog is armed: add --i-know";
            return Some(why.to_owned());
        }
        let looked: Vec<Result<bool, String>> =
            rule.steps.iter().map(|step| look(self.sys, step).map(|change| change.is_some())).collect();
        if looked.iter().any(|step| matches!(step, Ok(true))) {
            return None;
        }
        let why = looked.into_iter().find_map(Result::err);
        Some(why.unwrap_or_else(|| "already in effect".to_owned()))
    }

    /// Summarizes the changes of a fix in one line.
    fn what(&self, rule: &RulePlan) -> String {
        let changes = rule.steps.iter().filter_map(|step| look(self.sys, step).ok().flatten());
        let all: Vec<String> = changes.map(|change| change.to_string()).collect();
        match all.get(..SHOWN) {
            Some(first) if all.len() > SHOWN => format!("{}, and {} more", first.join(", "), all.len() - SHOWN),
            _ => all.join(", "),
        }
    }
}

const SHOWN: usize = 3;
