use super::{Case, Commons, Fix, Rule};
use crate::{Profile, say};
use punctual_model::{Severity, State};
use std::collections::BTreeMap;

/// The source key of unverified general knowledge.
const UNCHECKED: &str = "K";

pub(crate) type Sources = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct RuleError {
    pub file: String,
    /// Line number, counting from 1.
    pub line: usize,
    pub message: String,
}

pub(crate) fn parse_sources(file: &str, text: &str) -> Result<Sources, RuleError> {
    toml::from_str(text).map_err(|error| malformed(file, text, &error))
}

pub(crate) fn parse(file: &str, text: &str, sources: &Sources, commons: &Commons) -> Result<Rule, RuleError> {
    let rule: Rule = toml::from_str(text).map_err(|error| malformed(file, text, &error))?;
    let stem = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".toml");
    let error = |near: &str, message| RuleError { file: file.into(), line: line_with(text, near), message };
    if rule.id != stem {
        return Err(error("id =", format!("the id `{}` is not the file's name", rule.id)));
    }
    match check(&rule, sources, commons) {
        Err(Mistake { near, message }) => Err(error(&near, message)),
        Ok(()) => Ok(rule),
    }
}

pub(crate) fn check(rule: &Rule, sources: &Sources, commons: &Commons) -> Result<(), Mistake> {
    check_identity(rule)?;
    check_sources(rule, sources)?;
    check_commons(rule, commons)?;
    check_conditions(rule)?;
    check_gates(rule)?;
    check_cases(rule)?;
    check_sentences(rule)?;
    check_fix(rule)
}

pub(crate) fn parse_commons(file: &str, text: &str) -> Result<Commons, RuleError> {
    toml::from_str(text).map_err(|error| malformed(file, text, &error))
}

pub(crate) fn malformed(file: &str, text: &str, error: &toml::de::Error) -> RuleError {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or("");
    RuleError { file: file.into(), line: before.matches('\n').count() + 1, message: error.message().to_owned() }
}

/// An error in a rule, and a word of the rule's text that is close to the error.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub near: String,
    pub message: String,
}

fn mistake(near: &str, message: impl Into<String>) -> Result<(), Mistake> {
    Err(Mistake { near: near.to_owned(), message: message.into() })
}

fn line_with(text: &str, word: &str) -> usize {
    text.lines().position(|line| line.contains(word)).map_or(1, |at| at + 1)
}

fn check_identity(rule: &Rule) -> Result<(), Mistake> {
    if rule.why.trim().is_empty() || rule.title.trim().is_empty() {
        return mistake("id =", "a rule needs a title and `why`");
    }
    Ok(())
}

fn check_commons(rule: &Rule, commons: &Commons) -> Result<(), Mistake> {
    match rule.only_if.iter().find(|name| !commons.contains_key(*name)) {
        Some(name) => mistake("only_if", format!("`{name}` is not in gates.toml")),
        None => Ok(()),
    }
}

fn check_sources(rule: &Rule, sources: &Sources) -> Result<(), Mistake> {
    if rule.sources.is_empty() {
        return mistake("sources", "a rule needs sources");
    }
    let keys = rule.sources.iter().chain(rule.opinions.iter().flat_map(|opinion| &opinion.sources));
    if let Some(key) = keys.into_iter().find(|key| !sources.contains_key(*key)) {
        return mistake(key, format!("`{key}` is not in sources.toml"));
    }
    let worst = rule.severity_for.values().chain([&rule.severity]).max();
    if rule.sources.iter().all(|key| key == UNCHECKED) && worst > Some(&Severity::Info) {
        return mistake("severity", "with an unchecked source (K) the severity is at most info");
    }
    Ok(())
}

fn check_conditions(rule: &Rule) -> Result<(), Mistake> {
    let conditions = rule.applies.iter().map(|gate| &gate.when).chain(rule.cases.iter().map(|case| &case.when));
    match conditions.flat_map(|when| when.keys()).find(|name| !rule.reads.contains(name)) {
        Some(name) => mistake(&format!("{name} ="), format!("`{name}` is not among the rule's reads")),
        None => Ok(()),
    }
}

fn check_gates(rule: &Rule) -> Result<(), Mistake> {
    let mut names = rule.applies.iter().flat_map(|gate| gate.when.keys());
    match names.find(|name| rule.reads.get(name).is_some_and(|read| read.optional)) {
        Some(name) => mistake(
            &format!("{name} ="),
            format!("`{name}` is optional and therefore cannot decide if the rule applies"),
        ),
        None => Ok(()),
    }
}

fn check_cases(rule: &Rule) -> Result<(), Mistake> {
    for case in &rule.cases {
        if matches!(case.state, State::Blocked) {
            return mistake("BLOCKED", "BLOCKED results from unreadable files: no case may set it");
        }
        let from_nothing = !case.when.is_empty() && !case.when.values().any(super::Test::needs_something);
        if case.state == State::Pass && from_nothing {
            return mistake(&case.say, "the absence of something is not enough for PASS");
        }
    }
    let last = rule.cases.last();
    if !last.is_some_and(|case| case.when.is_empty() && case.profiles.is_empty()) {
        return mistake("[[case]]", "the last case must have neither condition nor profiles");
    }
    let unreachable =
        |(at, case): (usize, &Case)| at + 1 < rule.cases.len() && case.when.is_empty() && case.profiles.is_empty();
    match rule.cases.iter().enumerate().find(|pair| unreachable(*pair)) {
        Some((_, case)) => mistake(&case.say, "cases after one that always holds are never reached"),
        None => Ok(()),
    }
}

fn check_sentences(rule: &Rule) -> Result<(), Mistake> {
    let sentences: Vec<&str> = rule
        .applies
        .iter()
        .map(|gate| gate.otherwise.as_str())
        .chain(rule.cases.iter().map(|case| case.say.as_str()))
        .collect();
    for sentence in &sentences {
        let unknown = |name: &&str| !rule.reads.contains(name) && !say::CONTEXT.contains(name);
        match say::names(sentence) {
            None => return mistake(sentence, "a brace is not closed"),
            Some(names) => {
                if let Some(name) = names.iter().find(|name| unknown(name)) {
                    return mistake(sentence, format!("`{{{name}}}` is not among the rule's reads"));
                }
            }
        }
    }
    let used = |name: &str| {
        let in_condition = rule.applies.iter().map(|g| &g.when).chain(rule.cases.iter().map(|c| &c.when));
        let in_sentence = sentences.iter().any(|s| say::names(s).is_some_and(|names| names.contains(&name)));
        in_sentence || in_condition.into_iter().any(|when| when.contains(name))
    };
    match rule.reads.keys().find(|name| !used(name)) {
        Some(name) => mistake(&format!("{name} ="), format!("`{name}` is read but never used")),
        None => Ok(()),
    }
}

fn check_fix(rule: &Rule) -> Result<(), Mistake> {
    let fixes: Vec<&Fix> = rule.fixes().collect();
    let alike = |one: &Fix, other: &&Fix| one.line() == other.line() && one != *other;
    if fixes.iter().enumerate().any(|(at, one)| fixes.iter().skip(at + 1).any(|other| alike(one, other))) {
        return mistake("fix =", "two fixes of the rule have the same text");
    }
    rule.fixes().try_for_each(check_one_fix)
}

fn check_one_fix(fix: &Fix) -> Result<(), Mistake> {
    let does = !fix.now.is_empty() || !fix.persist.is_empty();
    if does == fix.none.is_some() {
        return mistake("[fix]", "a fix needs an action, or a reason in `none`");
    }
    if does && fix.undo.is_none() {
        return mistake("[fix]", "a fix needs `undo`, the state that undoing it restores");
    }
    Ok(())
}

impl Rule {
    pub(crate) fn cases_for(&self, profile: Profile) -> impl Iterator<Item = &Case> {
        self.cases.iter().filter(move |case| case.is_for(profile))
    }
}
