use crate::plan::{conditions, ignored, kept, misfit};
use crate::probes::kernel::release;
use crate::reading::{Gap, Reading};
use crate::rule::{Action, Case, Fix, Gate, NOT_HERE, Need, ON_WSL, Rule, SUPPORTED, When, line};
use crate::say;
use crate::sight::{Notes, Sight};
use crate::truth::Truth;
use punctual_model::{Finding, Severity, State};
use std::collections::BTreeMap;

const GAPS_SHOWN: usize = 3;

struct Outcome {
    state: State,
    summary: String,
    is_case: bool,
    /// Fix of the deciding case, if it has one.
    fix: Option<Fix>,
}

/// Evaluates a rule. The result is SKIP if the severity disables the rule.
pub(crate) fn judge(rule: &Rule, severity: Severity, sight: &Sight) -> Finding {
    let profile = sight.context.profile;
    let mut bench = Bench { rule, sight, readings: BTreeMap::new(), notes: Notes::default() };
    let skip = |summary: String| Outcome { state: State::Skip, summary, is_case: false, fix: None };
    let outcome = match (severity, rule.needs.iter().find(|need| !sight.offers(**need))) {
        (Severity::Off, _) => skip(format!("disabled for {profile}")),
        (_, Some(need)) => skip(Need::missing(*need).to_owned()),
        _ => bench.decide(),
    };
    let calls_for_fix = matches!(outcome.state, State::Fail | State::Warn | State::Unknown) && outcome.is_case;
    Finding {
        id: rule.id.clone(),
        group: rule.group.title().to_owned(),
        severity,
        state: outcome.state,
        summary: titled(rule.title.trim(), &outcome.summary),
        evidence: bench.notes.into_evidence(),
        why: rule.reason(sight.sources, profile),
        fix: calls_for_fix.then(|| advice(rule, sight, outcome.fix.as_ref().unwrap_or(&rule.fix))).flatten(),
    }
}

/// Puts the title before the sentence, unless the sentence begins with it.
fn titled(title: &str, sentence: &str) -> String {
    let rest =
        sentence.get(..title.len()).filter(|begin| begin.eq_ignore_ascii_case(title)).and(sentence.get(title.len()..));
    match rest {
        Some(rest) if !rest.starts_with(|c: char| c.is_alphanumeric() || c == '-' || c == '=') => {
            format!("{title}{rest}")
        }
        _ => format!("{title}: {sentence}"),
    }
}

/// Returns the line of a fix. If one of its command-line changes has no effect on this kernel, the line ends with the
/// reason; if this kernel is unknown, it ends with the kernels that have the parameters.
fn advice(rule: &Rule, sight: &Sight, fix: &Fix) -> Option<String> {
    // If the file to write does not exist, the fix is what takes effect at the next boot.
    let actions = if lacks_file(sight, &fix.now) && !fix.persist.is_empty() { &fix.persist } else { fix.first() };
    let line = line(actions)?;
    let inert = actions.iter().find_map(|action| {
        let added = action.added().find_map(|word| misfit(sight, word).filter(|misfit| misfit.is_certain));
        let removed = || action.removed().find_map(|name| kept(sight, name));
        added.or_else(removed).or_else(|| rule.changes_line(action).then(|| ignored(sight)).flatten())
    });
    let needs: Vec<String> = actions.iter().flat_map(Action::added).flat_map(|word| conditions(sight, word)).collect();
    Some(match inert {
        Some(misfit) => format!("{line}{NOT_HERE}{})", misfit.why),
        None if !needs.is_empty() => format!("{line}{SUPPORTED}{})", needs.join(", ")),
        None if actions.iter().any(|action| rule.changes_line(action)) && is_wsl(sight) => format!("{line}{ON_WSL}"),
        None => line,
    })
}

fn is_wsl(sight: &Sight) -> bool {
    sight.text("/proc/sys/kernel/osrelease", &mut Notes::default()).is_ok_and(|release| release.contains("microsoft"))
}

/// Returns true if an action writes a file of the scheduler's debug folder, which the configuration leaves out:
/// kernel/sched/build_utility.c includes debug.c only with SCHED_DEBUG, up to Linux 6.14.
fn lacks_file(sight: &Sight, actions: &[Action]) -> bool {
    let is_off = |option| sight.option(option, &mut Notes::default()).is_ok_and(|value| value.text() == "n");
    let is_old = || release(sight, &mut Notes::default()).is_ok_and(|(major, minor, _)| (major, minor) < (6, 15));
    let is_below =
        |folder| actions.iter().any(|action| matches!(action, Action::Write { file, .. } if file.starts_with(folder)));
    is_below("/sys/kernel/debug/sched/") && (is_off("DEBUG_FS") || (is_off("SCHED_DEBUG") && is_old()))
}

/// A rule and its readings. Files are read only when a condition or a sentence needs them.
struct Bench<'a> {
    rule: &'a Rule,
    sight: &'a Sight<'a>,
    readings: BTreeMap<&'a str, Reading>,
    notes: Notes,
}

struct Step<'a> {
    state: State,
    say: &'a str,
}

impl<'a> Bench<'a> {
    /// Chooses the first step whose condition holds. The condition of an earlier undecided step might hold too, so the
    /// result is valid only if all these steps have the same state.
    fn decide(&mut self) -> Outcome {
        let mut gaps: Vec<Gap> = Vec::new();
        let mut open: Vec<State> = Vec::new();
        let rule = self.rule;
        let commons = rule.only_if.iter().map(|name| (Step { state: State::Skip, say: "" }, Condition::Common(name)));
        let gates =
            rule.applies.iter().map(|gate| (Step { state: State::Skip, say: &gate.otherwise }, Condition::Not(gate)));
        let cases = rule.cases_for(self.sight.context.profile);
        let cases = cases.map(|case| (Step { state: case.state, say: &case.say }, Condition::Case(case)));
        for (mut step, condition) in commons.chain(gates).chain(cases) {
            match self.holds(&condition, &mut step) {
                Truth::No => {}
                Truth::Open(more) => {
                    gaps.extend(more);
                    open.push(step.state);
                }
                Truth::Yes if open.iter().all(|state| *state == step.state) && !is_undecided(step.state, &gaps) => {
                    return Outcome {
                        state: step.state,
                        summary: self.sentence(step.say),
                        is_case: true,
                        fix: condition.fix().cloned(),
                    };
                }
                Truth::Yes => break,
            }
        }
        undecided(&gaps)
    }

    fn holds(&mut self, condition: &Condition<'a>, step: &mut Step<'a>) -> Truth {
        match condition {
            Condition::Common(name) => {
                let (truth, otherwise) = self.sight.common(name, &mut self.notes);
                step.say = otherwise;
                !truth
            }
            Condition::Not(gate) => !self.all(&gate.when),
            Condition::Case(case) => self.all(&case.when),
        }
    }

    /// Evaluates all tests of a condition; stops reading at the first test that fails.
    fn all(&mut self, when: &'a When) -> Truth {
        let parts = when.iter().map(|(name, test)| {
            let truth = test.of(self.reading(name));
            let is_optional = self.rule.reads.get(name).is_some_and(|read| read.optional);
            if is_optional && matches!(truth, Truth::Open(_)) { Truth::No } else { truth }
        });
        Truth::all(parts)
    }

    /// Returns a reading, which is made on first use. That its name exists was checked when the rules were loaded.
    fn reading(&mut self, name: &'a str) -> &Reading {
        let (rule, sight, notes) = (self.rule, self.sight, &mut self.notes);
        self.readings.entry(name).or_insert_with(|| match rule.reads.get(name) {
            Some(read) => sight.reading(read, notes),
            None => Reading::gap(Gap::new(name, crate::reading::Cause::Absent)),
        })
    }

    fn sentence(&mut self, sentence: &'a str) -> String {
        let context = self.sight.context;
        let filled = say::names(sentence).unwrap_or_default().into_iter().map(|name| match name {
            "scheduling" => context.scheduling.to_string(),
            "cpus" => context.cpus.to_string(),
            "profile" => context.profile.to_string(),
            name => self.reading(name).show(),
        });
        let mut filled = filled.collect::<Vec<_>>().into_iter();
        say::fill(sentence.trim(), |_| filled.next().unwrap_or_default())
    }
}

/// A gate decides if its condition fails, a case decides if its condition holds.
enum Condition<'a> {
    Common(&'a str),
    Not(&'a Gate),
    Case(&'a Case),
}

impl Condition<'_> {
    fn fix(&self) -> Option<&Fix> {
        match self {
            Condition::Case(case) => case.fix.as_ref(),
            _ => None,
        }
    }
}

/// Returns true for a case that reports UNKNOWN because of gaps; a file that was not given does not count.
fn is_undecided(state: State, gaps: &[Gap]) -> bool {
    state == State::Unknown && gaps.iter().any(Gap::is_not_given)
}

fn undecided(gaps: &[Gap]) -> Outcome {
    if gaps.iter().any(Gap::is_not_given) {
        let left_out = gaps.iter().filter(|gap| gap.is_not_given() || gap.is_left_out());
        let not_given: Vec<String> = left_out.map(|gap| gap.source.clone()).collect();
        let summary = format!("{}{}", Finding::NOT_GIVEN, first_of(not_given, ", "));
        return Outcome { state: State::Skip, summary, is_case: false, fix: None };
    }
    let state = if gaps.iter().any(Gap::is_blocked) { State::Blocked } else { State::Unknown };
    let reasons = first_of(gaps.iter().map(Gap::describe), "; ");
    let reasons = if reasons.is_empty() { "no case of the rule applies".to_owned() } else { reasons };
    Outcome { state, summary: format!("not decided: {reasons}"), is_case: false, fix: None }
}

fn first_of(texts: impl IntoIterator<Item = String>, between: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    for text in texts {
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    let more = shown.len().saturating_sub(GAPS_SHOWN);
    shown.truncate(GAPS_SHOWN);
    if more > 0 {
        shown.push(format!("and {more} more"));
    }
    shown.join(between)
}
