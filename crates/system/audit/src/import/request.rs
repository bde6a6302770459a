//! A request from another program's profile, and the rule that checks it.

use super::SOURCE;
use crate::rule::Rule;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub(super) struct Request {
    /// Suffix of the rule's id: `sysctl-vm.swappiness`.
    pub id: String,
    pub group: &'static str,
    /// The setting as written in the profile: `vm.swappiness = 10`.
    pub what: String,
    /// Place of the setting in the profile: `realtime/tuned.conf, line 12`.
    pub whence: String,
    pub reads: Value,
    pub cases: Vec<Value>,
    pub only_if: Vec<&'static str>,
    pub fix: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Want {
    OneOf(Vec<String>),
    AtLeast(i64),
    AtMost(i64),
}

impl Want {
    pub fn is(text: impl Into<String>) -> Want {
        Want::OneOf(vec![text.into()])
    }

    fn test(&self) -> Value {
        match self {
            Want::OneOf(texts) => json!({ "present": true, "one_of": texts }),
            Want::AtLeast(number) => json!({ "present": true, "min": number }),
            Want::AtMost(number) => json!({ "present": true, "max": number }),
        }
    }

    pub fn show(&self) -> String {
        match self {
            Want::OneOf(texts) => texts.first().cloned().unwrap_or_default(),
            Want::AtLeast(number) => format!("at least {number}"),
            Want::AtMost(number) => format!("at most {number}"),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub id: String,
    pub group: &'static str,
    pub what: String,
    pub whence: String,
}

/// Returns a request for a single value; `absent` is the state and the sentence if the value does not exist.
pub(super) fn one(origin: Origin, mut read: Value, want: &Want, absent: (&str, String)) -> Request {
    if !matches!(want, Want::OneOf(_))
        && let Some(read) = read.as_object_mut().filter(|read| read.contains_key("file"))
    {
        read.insert("as".to_owned(), json!("integer"));
    }
    let said = sentence(&origin.what);
    let mut cases = vec![case(json!({ "value": want.test() }), "PASS", format!("as in the profile: {said}"))];
    if let (Want::OneOf(texts), true) = (want, read.get("file").is_some()) {
        // A file with choices lists all of them, with the current one in brackets.
        let marked = texts.iter().map(|text| json!({ "value": { "present": true, "contains": format!("[{text}]") } }));
        cases.extend(marked.map(|when| case(when, "PASS", format!("as in the profile: {said}"))));
    }
    cases.push(case(json!({ "value": { "present": false } }), absent.0, sentence(&absent.1)));
    let wrong = format!("the profile sets {said}, but it is {{value}}");
    cases.push(case(json!({ "value": { "present": true } }), "FAIL", wrong));
    cases.push(unknown(&said));
    Request::new(origin, json!({ "value": read }), cases)
}

/// Returns a request for each of several values; `none` is the state and the sentence if no value exists.
pub(super) fn every(origin: Origin, read: Value, want: &Want, none: (&str, String)) -> Request {
    let said = sentence(&origin.what);
    let pass = || format!("as in the profile: {said}");
    let all = |test: Value| json!({ "values": { "present": true, "all": test } });
    let mut cases = vec![case(all(want.test()), "PASS", pass())];
    if let Want::OneOf(texts) = want {
        let marked = texts.iter().map(|text| all(json!({ "contains": format!("[{text}]") })));
        cases.extend(marked.map(|when| case(when, "PASS", pass())));
    }
    cases.push(case(json!({ "values": { "present": false } }), none.0, sentence(&none.1)));
    cases.push(case(json!({ "values": { "empty": true } }), none.0, sentence(&none.1)));
    let wrong = format!("the profile sets {said}, but it is: {{values}}");
    cases.push(case(json!({ "values": { "empty": false } }), "FAIL", wrong));
    cases.push(unknown(&said));
    Request::new(origin, json!({ "values": read }), cases)
}

fn case(when: Value, state: &str, say: String) -> Value {
    json!({ "when": when, "state": state, "say": say })
}

fn unknown(said: &str) -> Value {
    json!({ "state": "UNKNOWN", "say": format!("this could not be checked: {said}") })
}

/// Replaces the braces in a text from the profile, because in a sentence text in braces is a placeholder for a value
/// that is read.
fn sentence(text: &str) -> String {
    text.replace('{', "(").replace('}', ")")
}

impl Request {
    fn new(origin: Origin, reads: Value, cases: Vec<Value>) -> Request {
        let Origin { id, group, what, whence } = origin;
        Request { id, group, what, whence, reads, cases, only_if: Vec::new(), fix: manual("set it as in the profile") }
    }

    pub fn only_if(mut self, condition: &'static str) -> Request {
        self.only_if.push(condition);
        self
    }

    /// Sets the fix: `action` if the value contains no characters special to a shell, otherwise a sentence.
    pub fn fix(mut self, value: &str, when: &str, action: Value) -> Request {
        self.fix = if is_plain(value) {
            json!({ when: [action], "undo": "the previous value" })
        } else {
            manual(&format!("set it as in the profile: {}", self.what))
        };
        self
    }

    pub fn by_hand(mut self, what: &str) -> Request {
        self.fix = manual(what);
        self
    }

    pub fn id(&self, prefix: &str) -> String {
        let fine = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
        let id: String = self.id.trim_matches('/').chars().map(fine).take(LONGEST).collect();
        format!("{prefix}-{id}")
    }

    pub fn into_rule(self, id: String) -> Result<Rule, String> {
        let rule = json!({
            "id": id,
            "title": shorten(&self.what),
            "group": self.group,
            "severity": "medium",
            "why": format!("The profile requests it: {} ({})", shorten(&self.what), self.whence),
            "sources": [SOURCE],
            "only_if": self.only_if,
            "reads": self.reads,
            "case": self.cases,
            "fix": self.fix,
        });
        serde_json::from_slice(rule.to_string().as_bytes()).map_err(|error| error.to_string())
    }
}

pub(super) fn unchecked(prefix: &str, name: &str, notes: &[String]) -> Option<Rule> {
    let count = notes.len();
    let listed: String = sentence(&notes.join("; ")).chars().take(LONGEST_NOTE).collect();
    let rule = json!({
        "id": format!("{prefix}-not-checked"),
        "title": "Settings of the profile that are not checked",
        "group": "kernel",
        "severity": "info",
        "why": format!("Settings that cannot be checked are listed, so that they are not assumed to be right ({})", sentence(name)),
        "sources": [SOURCE],
        "case": [{ "state": "INFO", "say": format!("{count} of the profile's settings are not checked: {listed}") }],
        "fix": { "none": "check it manually" },
    });
    serde_json::from_slice(rule.to_string().as_bytes()).ok()
}

const LONGEST: usize = 100;

const LONGEST_TITLE: usize = 120;

/// Maximum length, in characters, of the notes listed in a rule's sentence; the caller gets all notes.
const LONGEST_NOTE: usize = 2000;

fn shorten(text: &str) -> String {
    let shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect();
    if shown.trim().is_empty() { "a request without words".to_owned() } else { shown }
}

fn manual(what: &str) -> Value {
    json!({ "now": [{ "manual": what }], "undo": "the previous value" })
}

/// Returns true if the text can be pasted into a shell: fixes are shown as commands to copy.
fn is_plain(text: &str) -> bool {
    let fine = |c: char| c.is_ascii_alphanumeric() || " _.,:=+-/*".contains(c);
    !text.is_empty() && text.chars().all(fine)
}
